"""Writing oracles by rules: no model, no network, the same answer every time.

An instruction is parsed into clauses (:mod:`~generator.rules.grammar`), their phrases are looked up in the
scene (:mod:`~generator.rules.grounding`), and each clause becomes actions made of a library's atomic oracles
(:mod:`~generator.rules.compose`).
"""

from generator.rules.compose import write_oracle
from generator.rules.grammar import parse_instruction
from generator.rules.libraries import write_libraries, write_oracles, write_tasks
from generator.rules.lint import Finding, Kind, count_kinds, lint
from generator.rules.readings import Reading

__all__ = [
    "Finding",
    "Kind",
    "Reading",
    "count_kinds",
    "lint",
    "parse_instruction",
    "write_libraries",
    "write_oracle",
    "write_oracles",
    "write_tasks",
]
