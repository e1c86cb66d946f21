"""Policies that the recorder can run."""

from recorder.policies.base import EpisodeContext, FaultLabel, Policy
from recorder.policies.scripted import Fault, ScriptedPolicy, applicable_faults
from recorder.policies.simple import NoopPolicy, RandomPolicy, ReplayPolicy

__all__ = [
    "EpisodeContext",
    "Fault",
    "FaultLabel",
    "NoopPolicy",
    "Policy",
    "RandomPolicy",
    "ReplayPolicy",
    "ScriptedPolicy",
    "applicable_faults",
]
