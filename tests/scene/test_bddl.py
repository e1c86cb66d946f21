"""BDDL: a goal is read as the benchmark reads it, or refused with its position (O-15)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mango_trace.errors import BddlError
from mango_trace.scene.bddl import Literal, Rectangle, parse_bddl

FILE = """(define (problem libero_kitchen)
  (:domain robosuite)
  (:language Put the BOWL on the plate)
  (:obj_of_interest bowl_1 plate_1)
  (:init (On bowl_1 table_bowl_region) (Open cabinet_1_top_region))
  (:goal {goal})
)
"""


def goal(text: str) -> tuple[Literal, ...]:
    return parse_bddl(FILE.format(goal=text), "task.bddl").goal


def test_instruction_premises_goal_and_objects_are_read():
    problem = parse_bddl(FILE.format(goal="(And (On bowl_1 plate_1) (Close cabinet_1_top_region))"))
    assert problem.name == "libero_kitchen"
    assert problem.instruction == "put the bowl on the plate"
    assert problem.initial == (
        Literal("on", ("bowl_1", "table_bowl_region")),
        Literal("open", ("cabinet_1_top_region",)),
    )
    assert problem.goal == (
        Literal("on", ("bowl_1", "plate_1")),
        Literal("close", ("cabinet_1_top_region",)),
    )
    assert problem.objects_of_interest == ("bowl_1", "plate_1")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_and_lines_end_where_they_do_for_the_benchmark(end):
    """Which opens files with universal newlines: a lone carriage return ends a comment too."""
    text = f"(define (problem p) ; one{end}(:goal ; two{end}(On a b)) ; three \x0b \x85 \u2028 (x{end})"
    assert parse_bddl(text).goal == (Literal("on", ("a", "b")),)
    with pytest.raises(BddlError) as caught:
        parse_bddl(f"(define{end}(problem p){end}(:goal (On a b))))")
    assert (caught.value.line, caught.value.column) == (3, 18)


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        # The first closes the file's own parenthesis one line early.
        ("(On akita_black_bowl_2 plate_1))", 7, 1, "unexpected ')' after the end"),
        ("And (Turnon flat_stove_1) (On a b))", 7, 1, "unexpected ')' after the end"),
        ("(And (On a b) (On c d)", 1, 1, "this '(' is never closed"),
    ],
)
def test_three_malformed_goals_that_were_published_are_refused_with_their_position(
    text, line, column, message
):
    with pytest.raises(BddlError) as caught:
        goal(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"task.bddl:{line}:{column}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["", "(And)", "()", "(And ())", "on a b", "((On a b))", "(And On a b)"])
def test_an_empty_or_shapeless_goal_is_never_an_empty_conjunction(text):
    with pytest.raises(BddlError):
        goal(text)


@pytest.mark.parametrize(
    "text", ["(On)", "(On a b c)", "(Not (On a b))", "(And (Or (On a b)))", "(On (a) b)"]
)
def test_a_condition_has_one_or_two_names(text):
    with pytest.raises(BddlError, match="a condition is a predicate with one or two names"):
        goal(text)


def test_a_single_condition_needs_no_and():
    assert goal("(Open drawer)") == goal("(And (Open drawer))") == (Literal("open", ("drawer",)),)


def test_everything_is_read_in_lower_case():
    assert goal("(AND (oN Bowl_1 PLATE_1))") == (Literal("on", ("bowl_1", "plate_1")),)


def test_comments_and_white_space_change_nothing():
    assert goal("; (And)\n(And ;)))\n\t(On a\r\n b);(\n)") == (Literal("on", ("a", "b")),)


def test_the_first_goal_counts_and_a_file_without_one_is_refused():
    with pytest.raises(BddlError, match=r"no \(:goal"):
        parse_bddl("(define (problem x))")


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "the file is empty"), ("; only words", "is empty"), ("x", "expected '('"), ("(a) (b)", "after")],
)
def test_what_is_no_nested_list_is_refused(text, message):
    with pytest.raises(BddlError, match=re.escape(message)):
        parse_bddl(text)


def test_depth_is_bounded():
    with pytest.raises(BddlError, match="nested deeper than 64"):
        parse_bddl("(" * 100_000)
    with pytest.raises(BddlError, match="1:65: nested deeper"):
        parse_bddl("(" * 65 + ")" * 65)


def test_a_long_file_is_read_in_one_go():
    goals = " ".join(f"(On a_{index} b)" for index in range(20_000))
    assert len(goal(f"(And {goals})")) == 20_000


@given(st.text(alphabet="() ;\nab:Ad", max_size=80))
def test_any_text_is_read_or_refused_with_a_position_inside_it(text):
    try:
        read, where = parse_bddl(text).goal, (1, 1)
    except BddlError as error:
        read, where = (), (error.line, error.column)
    lines = text.split("\n")
    assert 1 <= where[0] <= len(lines)
    assert 1 <= where[1] <= len(lines[where[0] - 1]) + 1
    assert read == () or text.lower().count("(") >= 2


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["On", "In", "Open"]),
            st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=2),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_writing_a_goal_and_reading_it_is_the_identity(conditions):
    text = " ".join(f"({name} {' '.join(arguments)})" for name, arguments in conditions)
    assert goal(f"(And {text})") == tuple(
        Literal(name.lower(), tuple(arguments)) for name, arguments in conditions
    )


def test_rectangles_are_read_and_regions_without_one_left_out():
    regions = """(:regions
      (bowl_region (:target table) (:ranges ((-0.1 0.2 0.1 0.4))) (:yaw_rotation ((0.0 0.0))))
      (top_side (:target cabinet_1))
      (two (:target table) (:ranges ((0 0 1 1) (2 2 3 3))))
      (short (:target table) (:ranges ((0 0 1))))
      (words (:target table) (:ranges ((a b c d))))
      (endless (:target table) (:ranges ((0 0 1 inf))))
      (nowhere (:ranges ((0 0 1 1)))))
      (:init"""
    problem = parse_bddl(FILE.format(goal="(On bowl_1 plate_1)").replace("(:init", regions))
    [rectangle] = problem.rectangles
    assert rectangle == Rectangle("table_bowl_region", (-0.1, 0.2), (0.1, 0.4))
    assert rectangle.center == pytest.approx((0.0, 0.3))
    assert parse_bddl(FILE.format(goal="(On bowl_1 plate_1)")).rectangles == ()


@pytest.mark.libero
def test_every_libero_file_has_the_goal_that_libero_reads():
    libero = pytest.importorskip("libero.libero")
    from libero.libero.envs.bddl_utils import robosuite_parse_problem

    folder = Path(libero.get_libero_path("bddl_files"))
    suites = ("libero_spatial", "libero_object", "libero_goal", "libero_90", "libero_10")
    count = 0
    for path in (path for suite in suites for path in sorted((folder / suite).glob("*.bddl"))):
        theirs = robosuite_parse_problem(str(path))
        ours = parse_bddl(path.read_text(), path.name)
        goals = [(item.predicate, *item.arguments) for item in ours.goal]
        assert goals == [tuple(state) for state in theirs["goal_state"]], path
        premises = [(item.predicate, *item.arguments) for item in ours.initial]
        assert premises == [tuple(state) for state in theirs["initial_state"]], path
        assert ours.instruction.split() == list(theirs["language_instruction"]), path
        assert ours.name == theirs["problem_name"]
        assert list(ours.objects_of_interest) == theirs["obj_of_interest"]
        ranges = {name: region["ranges"] for name, region in theirs["regions"].items() if region["ranges"]}
        assert {one.region: [[*one.low, *one.high]] for one in ours.rectangles} == ranges, path
        count += 1
    assert count == 130
