"""Traces that other programs wrote: one reader a file format, one way to store them.

A reader gives episodes as their file holds them (:mod:`recorder.importing.episode`). What all of them need
is apart: models of other machines are mended (``model_text``), get a meaning (``scenes``), and become
traces (``storing``).
"""

from recorder.importing.run import FileReport, ImportReport, import_files

__all__ = ["FileReport", "ImportReport", "import_files"]
