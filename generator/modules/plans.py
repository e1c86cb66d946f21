"""Module III: from an instruction, the libraries and a scene to its oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from generator.modules.oracles import Oracles, catalogue_as_data, oracles_as_data
from generator.modules.tasks import Tasks, as_data
from generator.modules.variant import WHOLE, Variant
from generator.negotiation import Feedback, Outcome, Round, negotiate
from generator.replies import Assessment, PlanReply, Ruling
from generator.team import Team
from mango_trace.errors import SpecificationError
from mango_trace.oracle import FineGrainedOracle, compile_oracle, link, parse_oracle
from mango_trace.predicates.catalogue import CATALOGUE
from mango_trace.scene.model import Scene

ASSESSORS: Final = ("logic", "compliance", "grounding")

Evidence = Callable[[FineGrainedOracle], Sequence[str]]
"""What recorded traces say against an oracle; nothing if they bear it out."""


def write_plan(
    team: Team,
    instruction: str,
    scene: Scene,
    tasks: Tasks,
    oracles: Oracles,
    *,
    evidence: Evidence | None = None,
    variant: Variant = WHOLE,
    progress: Callable[[int, Round[FineGrainedOracle]], None] | None = None,
) -> Outcome[FineGrainedOracle]:
    """Write the oracle of one instruction.

    Args:
        team: Who is asked.
        instruction: What the robot is told.
        scene: Objects, regions and hands that there are.
        tasks: Library of atomic tasks; empty where the variant has none.
        oracles: Library of atomic oracles; empty where the variant has none.
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
        reply = team.ask("plan.write", inputs, PlanReply)
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
        progress=progress,
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
