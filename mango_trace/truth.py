"""Three-valued truth over time: false, undetermined, true.

A truth array is ``uint8`` with the values 0 (false), 1 (undetermined) and 2 (true), so that
Kleene's *and* is the minimum, *or* the maximum and *not* the mirror image; every operation is one
vectorised call.
"""

from __future__ import annotations

from functools import reduce
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Truth: TypeAlias = npt.NDArray[np.uint8]
"""Truth values, one for each state: shape ``(..., T)``, values 0, 1, 2."""

Mask: TypeAlias = npt.NDArray[np.bool_]
"""Plain two-valued array, shape ``(..., T)``."""

FALSE: Final = np.uint8(0)
UNDETERMINED: Final = np.uint8(1)
TRUE: Final = np.uint8(2)

NAMES: Final = ("false", "undetermined", "true")
"""Name of each truth value, by its number."""


def from_bool(values: npt.ArrayLike, known: npt.ArrayLike | None = None) -> Truth:
    """Turn two-valued values into truth.

    Args:
        values: Booleans, shape ``(..., T)``.
        known: Where the value is known, same shape; elsewhere the result is undetermined.
            ``None`` means everywhere.

    Returns:
        Truth of the same shape.

    >>> from_bool([True, False, True], known=[True, True, False]).tolist()
    [2, 0, 1]
    """
    truth = np.asarray(values, dtype=np.bool_).astype(np.uint8) << np.uint8(1)
    if known is not None:
        truth = np.where(np.asarray(known, dtype=np.bool_), truth, UNDETERMINED)
    return truth


def all_of(*truths: Truth) -> Truth:
    """Kleene conjunction.

    >>> all_of(from_bool([True, True]), np.array([1, 2], np.uint8)).tolist()
    [1, 2]
    """
    return np.asarray(reduce(np.minimum, truths), dtype=np.uint8)


def any_of(*truths: Truth) -> Truth:
    """Kleene disjunction."""
    return np.asarray(reduce(np.maximum, truths), dtype=np.uint8)


def negate(truth: Truth) -> Truth:
    """Kleene negation."""
    return np.asarray(TRUE - truth, dtype=np.uint8)


def surely(truth: Truth) -> Mask:
    """States where it is true whatever the undetermined ones are."""
    return np.asarray(truth == TRUE)


def possibly(truth: Truth) -> Mask:
    """States where it is true, or could be."""
    return np.asarray(truth != FALSE)
