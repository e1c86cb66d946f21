"""Phrases mean what they describe in the scene, or nothing, or too much; each is told apart."""

from __future__ import annotations

import pytest

from generator.rules.errors import AmbiguousError, InstructionError, NoReferentError
from generator.rules.grammar import parse_instruction
from generator.rules.grounding import Grounding
from generator.rules.placement import Placement
from generator.rules.units import units_of
from tests.generator.rules.scenes import kitchen


def thing(phrase: str) -> str:
    [clause] = parse_instruction(f"pick up {phrase}")
    return Grounding(*kitchen()).one(clause.objects[0])


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("the plate", "plate_1"),
        ("the white mug", "porcelain_mug_1"),
        ("the yellow and white mug", "white_yellow_mug_1"),
        ("the yellow mug", "white_yellow_mug_1"),
        ("the ramekin", "porcelain_ramekin_1"),
        ("the stove", "flat_stove_1"),
        ("the cabinet", "wooden_cabinet_1"),
        ("the cabinet shelf", "two_layer_shelf_1"),
        ("the top drawer", "wooden_cabinet_1_top_region"),
        ("the cabinet's bottom drawer", "wooden_cabinet_1_bottom_region"),
        ("the top layer of the drawer", "wooden_cabinet_1_top_region"),
        ("the door of the microwave", "microwave_1"),
        ("the left compartment of the caddy", "desk_caddy_1_left_contain_region"),
        ("the left mug", "white_yellow_mug_1"),
        ("the mug on the right", "porcelain_mug_1"),
        ("the bowl in the top drawer of the cabinet", "black_bowl_3"),
        ("the bowl on the stove", "black_bowl_4"),
        ("the bowl from the plate", "black_bowl_5"),
        ("the bowl next to the ramekin", "black_bowl_1"),
        ("the bowl next to the white mug", "black_bowl_2"),
        ("the bowl between both mugs", "black_bowl_5"),
        ("the mug to the right of the plate", "white_yellow_mug_1"),
    ],
)
def test_phrases(phrase: str, name: str) -> None:
    assert thing(phrase) == name


def test_all_that_fit_are_listed() -> None:
    with pytest.raises(AmbiguousError) as caught:
        thing("the bowl")
    assert caught.value.candidates == tuple(f"black_bowl_{number}" for number in range(1, 6))
    assert str(caught.value).startswith("'the bowl' could be any of black_bowl_1, black_bowl_2")


@pytest.mark.parametrize(
    ("phrase", "message"),
    [
        ("the banana", "'the banana': nothing in the scene is called so; there are: basket_1"),
        ("the red bowl", "'the red bowl': nothing in the scene is called so"),
        ("the mug on the stove", "none of porcelain_mug_1, white_yellow_mug_1 starts there"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(phrase: str, message: str) -> None:
    with pytest.raises(NoReferentError) as caught:
        thing(phrase)
    assert message in str(caught.value)


def test_a_bowl_in_a_drawer_is_in_the_cabinet_but_not_on_it() -> None:
    placement = Placement(*kitchen())
    assert placement.select("in", ["black_bowl_3", "black_bowl_4"], ["wooden_cabinet_1"]) == ("black_bowl_3",)
    assert placement.select("on", ["black_bowl_3", "black_bowl_4"], ["wooden_cabinet_1"]) == ()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("left", ("black_bowl_1",)),
        ("right", ("black_bowl_2",)),
        ("front", ("black_bowl_1", "black_bowl_2")),  # as far to the front: nothing decides
        ("middle", ("black_bowl_1", "black_bowl_2")),  # two have no middle
    ],
)
def test_sides(kind: str, names: tuple[str, ...]) -> None:
    assert Placement(*kitchen()).select(kind, ["black_bowl_1", "black_bowl_2"], []) == names


def test_between_is_near_the_line_between() -> None:
    placement = Placement(*kitchen())
    bowls = ["black_bowl_1", "black_bowl_2"]
    assert placement.select("between", bowls, ["plate_1", "porcelain_ramekin_1"]) == ("black_bowl_1",)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("put the plate on the plate", "cannot be put on or in itself"),
        ("pick up the stove", "cannot be moved; what can be: black_bowl_1"),
        ("open the plate", "plate_1 has no rule for 'open'; what has: wooden_cabinet_1, microwave_1"),
        ("turn on the microwave", "no rule for 'turnon'; what has: flat_stove_1"),
        (
            "put the plate in the cabinet",
            "could be any of wooden_cabinet_1_top_region, wooden_cabinet_1_bottom",
        ),
        (
            "put the plate in the stove",
            "has no region that holds something; there are: flat_stove_1_cook_region",
        ),
        ("put the plate under the microwave", "microwave_1 has no layer there"),
        ("put the white mug to the left of the plate", "no region is left of plate_1"),
        ("put the white mug next to the plate", "is no place to put something; there are: back"),
        ("put both mugs and the plate in the basket", "could be any of porcelain_mug_1"),
        ("put both plates in the basket", "only plate_1 fits"),
    ],
)
def test_what_cannot_be_done_is_refused(instruction: str, message: str) -> None:
    with pytest.raises(InstructionError) as caught:
        units_of(parse_instruction(instruction), Grounding(*kitchen()))
    assert message in str(caught.value)
