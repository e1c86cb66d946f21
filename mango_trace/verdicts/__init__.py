"""Verdicts in DuckDB: the database and its tables."""

from mango_trace.verdicts.database import VerdictDatabase, open_read_only
from mango_trace.verdicts.tables import TABLES, Rows

__all__ = ["TABLES", "Rows", "VerdictDatabase", "open_read_only"]
