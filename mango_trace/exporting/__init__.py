"""Verdicts and traces in formats of other programs."""

from mango_trace.exporting.lerobot import export_lerobot
from mango_trace.exporting.robomimic import export_robomimic
from mango_trace.exporting.selection import Exported, Only
from mango_trace.exporting.tables import TABLES, export_tables

__all__ = ["TABLES", "Exported", "Only", "export_lerobot", "export_robomimic", "export_tables"]
