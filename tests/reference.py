"""The oracles that come along."""

from __future__ import annotations

from pathlib import Path

from mango_trace.evaluation.oracle_files import PROOFS
from mango_trace.shipped import shipped


def reference_oracles() -> list[Path]:
    """Files of the ten oracles of LIBERO_10, sorted."""
    folder = shipped("oracles") / "libero" / "libero_10"
    return sorted(path for path in folder.glob("*.json") if path.name != PROOFS)
