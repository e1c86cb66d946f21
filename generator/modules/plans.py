"""Module III: from an instruction, the libraries and a scene to its oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from generator.modules.oracles import Oracles, catalogue_as_data, oracles_as_data
from generator.modules.parallel import each
from generator.modules.tasks import Tasks, as_data
from generator.modules.variant import WHOLE, Variant
from generator.negotiation import Feedback, Outcome, negotiate
from generator.progress import Progress, one_at_a_time, rounds_of
from generator.replies import Assessment, PlanReply, Ruling
from generator.team import Team
from mango_trace.errors import MangoTraceError, SpecificationError
from mango_trace.oracle import FineGrainedOracle, compile_oracle, link, parse_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.model import Scene

ASSESSORS: Final = ("logic", "compliance", "grounding")

Evidence = Callable[[FineGrainedOracle], Sequence[str]]
"""What recorded traces say against an oracle; nothing if they bear it out."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction that an oracle is wanted for.

    Attributes:
        name: Its name.
        text: What the robot is told.
        scene: Objects, regions and hands that there are.
        evidence: Asks recorded traces about an oracle that compiles.
    """

    name: str
    text: str
    scene: Scene
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """What came of one instruction of many; one of outcome and error is there.

    Attributes:
        instruction: The instruction.
        outcome: What came of its negotiation.
        error: Why there was none to the end.
    """

    instruction: Instruction
    outcome: Outcome[FineGrainedOracle] | None = None
    error: MangoTraceError | None = None


def write_plans(
    team: Team,
    instructions: Iterable[Instruction],
    tasks: Tasks,
    oracles: Oracles,
    *,
    variant: Variant = WHOLE,
    progress: Progress | None = None,
) -> Iterator[PlanOutcome]:
    """Write the oracles of many instructions, as many at once as the team may.

    Neither their order nor how many are written at once changes what comes of one. What goes wrong with one
    ends no other.

    Args:
        team: Who is asked.
        instructions: The instructions.
        tasks: Library of atomic tasks; empty where the variant has none.
        oracles: Library of atomic oracles; empty where the variant has none.
        variant: What takes part.
        progress: Called after each round, with the name of the instruction.

    Yields:
        The outcomes in the order of the instructions.
    """
    told = one_at_a_time(progress)

    def write(one: Instruction) -> PlanOutcome:
        try:
            found = write_plan(
                team,
                one.text,
                one.scene,
                tasks,
                oracles,
                name=one.name,
                evidence=one.evidence,
                variant=variant,
                progress=told,
            )
        except MangoTraceError as error:
            return PlanOutcome(one, error=error)
        return PlanOutcome(one, found)

    return each(team, write, instructions)


def write_plan(
    team: Team,
    instruction: str,
    scene: Scene,
    tasks: Tasks,
    oracles: Oracles,
    *,
    name: str = "",
    evidence: Evidence | None = None,
    variant: Variant = WHOLE,
    progress: Progress | None = None,
) -> Outcome[FineGrainedOracle]:
    """Write the oracle of one instruction.

    Args:
        team: Who is asked.
        instruction: What the robot is told.
        scene: Objects, regions and hands that there are.
        tasks: Library of atomic tasks; empty where the variant has none.
        oracles: Library of atomic oracles; empty where the variant has none.
        name: What progress calls it; the scene's task if it is empty.
        evidence: Asks recorded traces about an oracle that compiles.
        variant: What takes part.
        progress: Called after each round.

    Returns:
        The outcome; an accepted oracle compiles against the scene, and traces do not refute it.

    Raises:
        ModelError: A model could not be asked.
    """
    about: dict[str, Any] = {"instruction": instruction, "scene": scene_as_data(scene)}
    if variant.task_library:
        about["tasks"] = as_data(tasks)
    if variant.oracle_library:
        about["oracles"] = oracles_as_data(oracles)
    else:
        about["catalogue"] = catalogue_as_data(CATALOGUE)
    libraries = (
        link(tasks, oracles, source="libraries") if variant.task_library and variant.oracle_library else None
    )
    shown: dict[str, list[str]] = {}

    def write(feedback: Feedback[FineGrainedOracle]) -> tuple[FineGrainedOracle | None, Sequence[str]]:
        inputs = dict(about)
        if feedback.previous is not None:
            inputs["previous"] = feedback.previous.model_dump(mode="json", exclude_defaults=True)
        if feedback.instructions:
            inputs["corrections"] = list(feedback.instructions)
        reply = team.ask("plan.write", inputs, PlanReply, feedback.turn)
        try:
            return parse_oracle(reply.model_dump_json(), "reply"), ()
        except SpecificationError as error:
            return None, tuple(map(str, error.problems))

    def check(candidate: FineGrainedOracle) -> Sequence[str]:
        problems = (
            [] if candidate.instruction == instruction else ["instruction: must be the one that was given"]
        )
        if not variant.reliability:
            return problems
        try:
            compile_oracle(candidate, scene, CATALOGUE, libraries, name="reply")
        except SpecificationError as error:
            return [*problems, *map(str, error.problems)]
        if evidence is not None and not problems:
            shown[candidate.digest] = list(evidence(candidate))
            problems += shown[candidate.digest]
        return problems

    def assess(aspect: str, candidate: FineGrainedOracle) -> Assessment:
        return team.ask(f"plan.assess.{aspect}", {**about, "oracle": _as_data(candidate)}, Assessment)

    def judge(
        candidate: FineGrainedOracle, assessments: Mapping[str, Assessment], problems: Sequence[str]
    ) -> Ruling:
        inputs = {
            **about,
            "oracle": _as_data(candidate),
            "assessments": {name: found.model_dump() for name, found in assessments.items()},
            "problems": list(problems),
            "evidence": shown.get(candidate.digest, []),
        }
        return team.ask("plan.judge", inputs, Ruling)

    return negotiate(
        write,
        check,
        {aspect: partial(assess, aspect) for aspect in ASSESSORS} if variant.assessors else {},
        judge if variant.judge else None,
        budget=variant.rounds[3],
        progress=rounds_of(progress, "III", name or scene.task),
    )


def scene_as_data(scene: Scene) -> dict[str, Any]:
    """Names of a scene by kind, as a model is told of them."""
    return {
        "task": scene.task,
        "objects": [{"name": item.name, "category": item.category} for item in scene.objects],
        "regions": [
            {"name": region.name, "part_of": region.parent or region.surface} for region in scene.regions
        ],
        "hands": [hand.name for hand in scene.hands],
    }


def _as_data(oracle: FineGrainedOracle) -> dict[str, Any]:
    return oracle.model_dump(mode="json", exclude_defaults=True)
