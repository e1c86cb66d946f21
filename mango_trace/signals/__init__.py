"""Signals: what predicates read, as arrays over time."""

from mango_trace.signals.base import ContactRows, GeomGroup, Part, Signals
from mango_trace.signals.batch import TraceStates
from mango_trace.signals.mujoco_signals import BatchSignals, SceneKinematics
from mango_trace.signals.validity import Validity, check_states, quaternion_starts

__all__ = [
    "BatchSignals",
    "ContactRows",
    "GeomGroup",
    "Part",
    "SceneKinematics",
    "Signals",
    "TraceStates",
    "Validity",
    "check_states",
    "quaternion_starts",
]
