"""Waypoint controller on privileged simulator state, with injectable faults and their ground truth."""

from recorder.policies.scripted.errors import (
    FaultNotApplicableError,
    FaultSyntaxError,
    ScriptedPlanMissingError,
    ScriptedPolicyError,
)
from recorder.policies.scripted.faults import FAULT_KINDS, Fault, applicable_faults
from recorder.policies.scripted.plans import PLANS
from recorder.policies.scripted.policy import ScriptedPolicy

__all__ = [
    "FAULT_KINDS",
    "PLANS",
    "Fault",
    "FaultNotApplicableError",
    "FaultSyntaxError",
    "ScriptedPlanMissingError",
    "ScriptedPolicy",
    "ScriptedPolicyError",
    "applicable_faults",
]
