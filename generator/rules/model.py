"""The rules as one of the models: asked as any other, and answering without network, always the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from generator.models.base import Reply, Request, Usage, Value
from generator.replies import Assessment, OraclesReply, PlanReply, Ruling, TasksReply
from generator.rules.compose import write_oracle
from generator.rules.forms import FORMS
from generator.rules.libraries import write_libraries, write_oracles, write_tasks
from generator.rules.lint import Kind, lint
from generator.rules.readings import Reading
from mango_trace.errors import UnknownNameError
from mango_trace.oracle import AtomicTask, FineGrainedOracle, Libraries, link, parse_oracle, parse_oracles
from mango_trace.oracle.document import FrozenModel
from mango_trace.scene.bddl import Problem
from mango_trace.scene.model import Scene

_NAME: Final = "rules-1"


class RulesModel:
    """Answers the questions of all roles by rules.

    Args:
        scenes: Scene and BDDL by the name of the task: a question brings only what any model is told.
    """

    def __init__(self, scenes: Mapping[str, tuple[Scene, Problem]]) -> None:
        self._scenes = scenes

    @property
    def name(self) -> str:
        """Name with version."""
        return _NAME

    def ask(self, request: Request[Value]) -> Reply[Value]:
        """See :meth:`generator.models.base.LanguageModel.ask`.

        Raises:
            UnknownNameError: A question that there are no rules for, or a task whose scene is not known.
            InstructionError: An instruction is not understood, or does not fit the scene.
        """
        started = time.monotonic()
        answers: dict[str, Callable[[Mapping[str, Any]], BaseModel]] = {
            "tasks.write": self._tasks,
            "tasks.assess.atomicity": _atomicity,
            "tasks.assess.redundancy": self._redundancy,
            "tasks.assess.repetition": _repetition,
            "tasks.judge": _rule_by_issues,
            "oracles.write": self._oracles,
            "oracles.assess.hacker": _hacker,
            "oracles.judge.library": _rule_by_issues,
            "plan.write": self._plan,
            "plan.assess.logic": self._logic,
            "plan.assess.compliance": self._compliance,
            "plan.assess.grounding": _grounding,
            "plan.judge": _rule_by_issues,
        }
        if request.task not in answers:
            raise UnknownNameError("question with rules", request.task, answers)
        value = answers[request.task](request.inputs)
        text = value.model_dump_json(by_alias=True, exclude_none=True)
        usage = Usage(calls=1, seconds=time.monotonic() - started)
        return Reply(request.reply.model_validate_json(text), text, usage)

    def _tasks(self, inputs: Mapping[str, Any]) -> BaseModel:
        existing = _tasks_in(inputs.get("existing", []))
        there = {task.id for task in existing}
        needed = [
            task for task in write_tasks(inputs["instructions"], _reading(inputs)) if task.id not in there
        ]
        return TasksReply.model_validate({"atomic_tasks": _data([*existing, *needed])})

    def _redundancy(self, inputs: Mapping[str, Any]) -> BaseModel:
        """Whether a library has what the instructions need, and nothing that neither they nor it need."""
        needed = {task.id for task in write_tasks(inputs["instructions"])}
        kept = {task["id"] for task in inputs.get("existing", [])}
        there = {task["id"] for task in inputs["library"]}
        return _assessment(
            [f"no instruction needs task {name!r}" for name in sorted(there - needed - kept)]
            + [f"task {name!r} is missing" for name in sorted(needed - there)]
        )

    def _oracles(self, inputs: Mapping[str, Any]) -> BaseModel:
        return OraclesReply.model_validate(
            {"atomic_oracles": _data(write_oracles(_tasks_in([inputs["task"]]), _reading(inputs)))}
        )

    def _plan(self, inputs: Mapping[str, Any]) -> BaseModel:
        oracle = self._written(inputs)
        return PlanReply.model_validate(oracle.model_dump(mode="json", exclude_defaults=True))

    def _logic(self, inputs: Mapping[str, Any]) -> BaseModel:
        """Whether an oracle orders its actions as the rules would."""
        wanted, given = _shape(self._written(inputs)), _shape(_oracle_in(inputs))
        return _assessment([] if wanted == given else [f"actions and order must be {wanted}, not {given}"])

    def _compliance(self, inputs: Mapping[str, Any]) -> BaseModel:
        """Whether everything that the instruction says is monitored."""
        scene, problem = self._scene(inputs)
        found = lint(inputs["instruction"], scene, problem, _oracle_in(inputs))
        return _assessment([finding.text for finding in found if finding.kind is Kind.CLAUSE_WITHOUT_MONITOR])

    def _written(self, inputs: Mapping[str, Any]) -> FineGrainedOracle:
        scene, problem = self._scene(inputs)
        libraries, reading = _libraries_in(inputs), _reading(inputs)
        return write_oracle(inputs["instruction"], scene, problem, libraries, reading)

    def _scene(self, inputs: Mapping[str, Any]) -> tuple[Scene, Problem]:
        task = str(inputs["scene"]["task"])
        if task not in self._scenes:
            raise UnknownNameError("task with a scene", task, self._scenes)
        return self._scenes[task]


def _rule_by_issues(inputs: Mapping[str, Any]) -> BaseModel:
    """A judge without an opinion of its own: what anybody found wrong must be changed."""
    issues = [issue for found in inputs.get("assessments", {}).values() for issue in found["issues"]]
    wrong = [*inputs.get("problems", []), *issues]
    return Ruling(accepted=not wrong, corrections=wrong, justification="by what was found")


def _atomicity(inputs: Mapping[str, Any]) -> BaseModel:
    """The rules know which tasks are one change of the world; of others they cannot say it."""
    return _assessment(
        [
            f"the rules do not know task {task['id']!r}"
            for task in inputs["library"]
            if task["id"] not in FORMS
        ]
    )


def _repetition(inputs: Mapping[str, Any]) -> BaseModel:
    """Two tasks with the same postconditions are one."""
    first: dict[tuple[str, ...], str] = {}
    issues = []
    for task in inputs["library"]:
        other = first.setdefault(tuple(task["postconditions"]), task["id"])
        if other != task["id"]:
            issues.append(f"task {task['id']!r} says what {other!r} says")
    return _assessment(issues)


def _hacker(inputs: Mapping[str, Any]) -> BaseModel:
    """What recognises the end of a task less surely than the rules would can be fooled."""
    task = _tasks_in([inputs["task"]])
    if task[0].id not in FORMS:
        return _assessment([f"the rules do not know task {task[0].id!r}"])
    given = [oracle["expression"] for oracle in inputs["oracles"]]
    lacking = [
        one["oracle_id"]
        for one in _data(write_oracles(task, _reading(inputs)))
        if one["expression"] not in given
    ]
    return _assessment([f"nothing says what {name!r} of the rules says" for name in lacking])


def _grounding(inputs: Mapping[str, Any]) -> BaseModel:
    """Whether all parameters are names of the scene."""
    scene = inputs["scene"]
    known = {item["name"] for item in (*scene["objects"], *scene["regions"])} | set(scene["hands"])
    named = [
        name for step in _oracle_in(inputs).plan for action in step.actions for name in action.parameters
    ]
    return _assessment([f"the scene has no {name!r}" for name in dict.fromkeys(named) if name not in known])


def _assessment(issues: Sequence[str]) -> Assessment:
    return Assessment(issues=list(issues), justification="by rules", score=10.0 if not issues else 5.0)


def _shape(oracle: FineGrainedOracle) -> list[object]:
    """Order and names of an oracle's actions."""
    return [
        oracle.execution_mode,
        *([step.execution_mode, *(action.action_id for action in step.actions)] for step in oracle.plan),
    ]


def _data(entries: Sequence[FrozenModel]) -> list[dict[str, Any]]:
    return [entry.model_dump(mode="json", by_alias=True, exclude_none=True) for entry in entries]


def _tasks_in(entries: Sequence[Mapping[str, Any]]) -> tuple[AtomicTask, ...]:
    return tuple(AtomicTask.model_validate(entry, strict=False) for entry in entries)


def _libraries_in(inputs: Mapping[str, Any]) -> Libraries:
    """The libraries that a question brings; those of the rules where a study leaves one out."""
    if "tasks" not in inputs:
        return write_libraries([inputs["instruction"]], _reading(inputs))
    tasks = _tasks_in(inputs["tasks"])
    if "oracles" not in inputs:
        return link(tasks, write_oracles(tasks, _reading(inputs)), source="rules")
    text = json.dumps({"atomic_oracles": inputs["oracles"]})
    return link(tasks, parse_oracles(text, "question"), source="question")


def _reading(inputs: Mapping[str, Any]) -> Reading:
    return Reading(inputs.get("reading", Reading.DEFAULT))


def _oracle_in(inputs: Mapping[str, Any]) -> FineGrainedOracle:
    return parse_oracle(PlanReply.model_validate(inputs["oracle"]).model_dump_json(), "question")
