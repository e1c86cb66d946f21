"""In which order the units of an instruction are to be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generator.rules.units import Unit
from mango_trace.oracle.model import Mode


@dataclass(frozen=True, slots=True)
class Group:
    """Units that become one step.

    Attributes:
        units: Their indices.
        mode: How their actions follow each other.
    """

    units: tuple[int, ...]
    mode: Mode


def groups_of(units: Sequence[Unit]) -> tuple[Mode, tuple[Group, ...]]:
    """Order units by what depends on what.

    An oracle has two levels only. Where all units hang together, each layer of the order becomes a step;
    otherwise what hangs together becomes one, and the steps may be done in any order. Several units of one
    layer may be done in any order too, so that no right way of doing it is refused, even if that lets an
    object be put down before it is picked up.

    Args:
        units: The units in order.

    Returns:
        How the steps follow each other, and the steps.
    """
    layers: list[int] = []
    for index, unit in enumerate(units):
        before = [layers[other] + 1 for other in range(index) if depends(unit, units[other])]
        layers.append(max(before, default=0))
    chains = _connected(units)
    if len(chains) > 1:
        return "any_order", tuple(
            Group(chain, _mode(len({layers[index] for index in chain}) == len(chain))) for chain in chains
        )
    steps = [
        tuple(index for index in range(len(units)) if layers[index] == layer) for layer in sorted({*layers})
    ]
    return "sequential", tuple(Group(step, _mode(len(step) == 1)) for step in steps)


def depends(later: Unit, earlier: Unit) -> bool:
    """Whether a unit needs that an earlier one is done.

    Args:
        later: The unit.
        earlier: One that the instruction names before it.
    """
    if later.thing == earlier.thing or later.phase > earlier.phase:
        return True
    if later.place and later.place.anchor == earlier.thing and earlier.moves:
        return True
    if earlier.place and earlier.place.anchor == later.thing and later.moves:
        return True
    return _is_door_of(later, earlier) or _is_door_of(earlier, later)


def _is_door_of(operated: Unit, placed: Unit) -> bool:
    """Whether one opens or closes what the other puts something into."""
    return (
        operated.verb in ("open", "close")
        and placed.place is not None
        and placed.place.task_id == "place_in"
        and operated.thing in (placed.place.target, placed.place.anchor)
    )


def _connected(units: Sequence[Unit]) -> list[tuple[int, ...]]:
    """What hangs together, in the order of its first unit."""
    chains: list[tuple[int, ...]] = []
    for index, unit in enumerate(units):
        joined = [chain for chain in chains if any(depends(unit, units[other]) for other in chain)]
        merged = (*sorted(other for chain in joined for other in chain), index)
        chains = [*(chain for chain in chains if chain not in joined), merged]
    return sorted(chains)


def _mode(is_ordered: bool) -> Mode:
    return "sequential" if is_ordered else "any_order"
