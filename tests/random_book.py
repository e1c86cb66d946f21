"""Verdict databases with random rows: several tasks, oracles, evaluators, orders, labellers and samples."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mango_trace.verdicts import VerdictDatabase
from tests.book import EVALUATOR, GOAL, ORACLE, Book

OTHER_EVALUATOR = "2/test"
_OUTCOMES = ("passed", "failed", "failed", "undetermined", "error")
_TRUTHS = ("false", "true", "true", "undetermined")
_CALLS = ("in(bowl, drawer)", "inside(bowl, drawer)", "released(bowl)", "on(bowl, plate)")
_REASONS = ("never_true", "too_early", "undone", "wrong_order", "invariant", None)
_PLAN = (("pick_up", ["bowl"]), ("place_in", ["bowl", "drawer"]), ("pick_up", ["bowl"]))
_TASKS = ("task_a", "task_b", "task_c")


class RandomBook(Book):
    """Rows that agree with each other no more than the tables ask for."""

    def __init__(self, path: Path, seed: int, n_traces: int = 60) -> None:
        super().__init__(path)
        self.random = random.Random(seed)
        pick = self.random.choice
        self.by_task = {"task_a": [ORACLE, "b" * 64], "task_b": ["c" * 64], "task_c": []}
        self.oracle("b" * 64, "task_a")
        self.oracle("c" * 64, "task_b")
        self.oracle("d" * 64, "unused")
        for oracle in (GOAL, ORACLE, "b" * 64, "c" * 64):
            for action in (-1, 0, 1, 2):
                for position, call in enumerate(self.random.sample(_CALLS, 2)):
                    self.monitor(oracle, action, position, call, negate=pick((True, False)))
        orders = ("report", "strict") if seed % 2 else ("report",)
        evaluators = (EVALUATOR, OTHER_EVALUATOR) if seed % 3 else (EVALUATOR,)
        for number in range(n_traces):
            self._trace(f"t{number:04}", evaluators, orders)

    def _trace(self, name: str, evaluators: Sequence[str], orders: Sequence[str]) -> None:
        pick, chance = self.random.choice, self.random.random
        task = pick(_TASKS)
        suite = pick(("libero_10", "libero_10", "libero_90"))
        n_states = pick((51, 101))
        self.trace(
            name,
            task=task, task_index=_TASKS.index(task), suite=suite,
            benchmark="libero" if suite == "libero_10" else "other",
            policy=pick(("pi", "act")), policy_version=pick(("1", "1", "")),
            seed=pick((0, 1)), episode=pick(range(4)), init_state_id=pick((0, 1, 2, None)),
            initial_state=pick(("start", "other")), fault=pick((None, None, "drop")),
            n_states=n_states, n_steps=n_states - 1, warmup_steps=pick((0, 0, 5)),
            horizon=pick((100, 300)), longest_demonstration=pick((None, 80, 200)),
            ended=pick(("terminated", "truncated", "truncated", "error")),
            ended_error=pick((None, "boom")), live_success=pick((None, True, False)),
            live_first_success=pick((None, 10, 40)), source_label=pick((None, True, False)),
            mujoco_recorded=pick((None, "3.3.7", "3.3.7")), status=pick(("ok",) * 9 + ("error",)),
            status_error=pick((None, "torn")), undetermined_states=pick((None, 0, 3)),
            problems=pick(([], ["odd"], None)), premise_violations=pick(([], [], ["on(a, b)"], None)),
        )  # fmt: skip
        for evaluator in evaluators:
            if chance() < 0.9:
                self.end(
                    name, pick(_OUTCOMES), pick(_OUTCOMES[:4]), evaluator=evaluator,
                    first_success=pick((None, 5, 40)), lag_states=pick((None, 0, 2)),
                    intervals=pick((True, False)), error=pick((None, "bad")),
                )  # fmt: skip
            for oracle in self.by_task[task]:
                for order in orders:
                    if chance() < 0.85:
                        self._verdict(name, oracle, evaluator, order)
            if chance() < 0.8:
                for call in _CALLS:
                    self._truth(name, call, evaluator, n_states)
        for place in range(pick((0, 0, 1, 2, 3))):
            action = pick((*_PLAN, (None, None), ("push", ["door"])))
            self.label(
                name, action[0], action[1], who=pick(("injected", "ann", "ben")), position=place,
                state=pick((None, -1, 3, 40, 90, 200)), failure_class=pick((None, "drop", "miss")),
                verified=pick((None, True, False)),
            )  # fmt: skip
        for sample in ("paper", "mine"):
            if chance() < 0.4:
                self.sample(sample, **{name: pick(("early", "late"))})

    def _verdict(self, name: str, oracle: str, evaluator: str, order: str) -> None:
        pick = self.random.choice
        first = pick((None, 0, 1, 2))
        values: dict[str, Any] = {"evaluator": evaluator, "order_mode": order}
        self.verdict(
            name, pick(_OUTCOMES), oracle, **values, n_actions=3, completed=pick(range(4)),
            first_failed=first, first_failed_action=None if first is None else f"action {first}",
            failed_set=pick(([], [0], [1, 2])), stopped_at=pick((None, 7)), reason=pick(_REASONS),
            passed_at=pick((None, 5, 40)), violations=pick((0, 1)), error=pick((None, "bad")),
            hold=pick((10, 10, 0)), intervals=pick((True, False)),
            **{key: pick(_OUTCOMES[:4]) for key in ("once", "at_end", "held_k", "sequential", "any_order")},
        )  # fmt: skip
        if self.random.random() < 0.9:
            for index, (action, parameters) in enumerate(_PLAN):
                self.action(
                    name, index, pick(("completed", "failed", "not_reached", "undetermined")), oracle=oracle,
                    **values, action_id=action, parameters=parameters, step=index + 1,
                    completed_at=pick((None, 5, 20, 33)), ordering_violation=pick((None, True, False)),
                )  # fmt: skip

    def _truth(self, name: str, call: str, evaluator: str, n_states: int) -> None:
        cuts = sorted({0, n_states, *self.random.sample(range(1, n_states), 2)})
        for first, stop in itertools.pairwise(cuts):
            row = {"trace_id": name, "monitor": call, "evaluator": evaluator}
            truth = self.random.choice(_TRUTHS)
            self.rows.add("intervals", {**row, "first_state": first, "last_state": stop - 1, "truth": truth})

    def close(self) -> Path:
        """Write everything, as two finished runs."""
        with VerdictDatabase(self.path) as database:
            earlier = database.start_run(OTHER_EVALUATOR, "3.3.7", "report")
            database.finish_run(earlier, 0, 0)
        return super().close()
