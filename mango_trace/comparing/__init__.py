"""Policies against each other: pairs, intervals, tests and the number of rollouts that they need."""

from mango_trace.comparing.compare import compare_policies
from mango_trace.comparing.episodes import Question
from mango_trace.comparing.pairing import ALLOWABLE, Obstacle
from mango_trace.comparing.result import Comparison, Terms

__all__ = ["ALLOWABLE", "Comparison", "Obstacle", "Question", "Terms", "compare_policies"]
