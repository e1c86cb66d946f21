"""Oracles: the documents, compiling them against a scene, judging traces with them."""

from mango_trace.oracle.compile import (
    CompiledAction,
    CompiledMonitor,
    CompiledOracle,
    Group,
    Names,
    compile_oracle,
)
from mango_trace.oracle.library import (
    AtomicOracle,
    AtomicTask,
    Expression,
    Libraries,
    link,
    parse_oracles,
    parse_tasks,
    read_oracles,
    read_tasks,
    sniff,
)
from mango_trace.oracle.model import (
    Action,
    FineGrainedOracle,
    Handle,
    Monitor,
    Step,
    parse_oracle,
    read_oracle,
)
from mango_trace.oracle.semantics import (
    ActionResult,
    Judgement,
    Termination,
    judge,
    termination,
)
from mango_trace.oracle.settled import judge_settled

__all__ = [
    "Action",
    "ActionResult",
    "AtomicOracle",
    "AtomicTask",
    "CompiledAction",
    "CompiledMonitor",
    "CompiledOracle",
    "Expression",
    "FineGrainedOracle",
    "Group",
    "Handle",
    "Judgement",
    "Libraries",
    "Monitor",
    "Names",
    "Step",
    "Termination",
    "compile_oracle",
    "judge",
    "judge_settled",
    "link",
    "parse_oracle",
    "parse_oracles",
    "parse_tasks",
    "read_oracle",
    "read_oracles",
    "read_tasks",
    "sniff",
    "termination",
]
