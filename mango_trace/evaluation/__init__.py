"""Evaluating traces: from datasets and oracles to verdicts."""

from mango_trace.evaluation.oracle_files import OracleSet, load_oracles
from mango_trace.evaluation.run import EvaluationSummary, evaluate
from mango_trace.evaluation.shard import EVALUATOR, Options

__all__ = ["EVALUATOR", "EvaluationSummary", "Options", "OracleSet", "evaluate", "load_oracles"]
