"""What makes comparisons of recorded runs wrong, found before anything is compared."""

from mango_trace.doctor.findings import ADVICE, Finding, Kind
from mango_trace.doctor.run import Report, examine

__all__ = ["ADVICE", "Finding", "Kind", "Report", "examine"]
