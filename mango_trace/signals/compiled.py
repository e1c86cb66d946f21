"""Compiling loops over states to machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile a function of numbers and arrays when it is first called, and keep the result on disk.

    Arithmetic stays IEEE's, in the order it is written in: no reassociation, no contraction. A division
    by zero gives what numpy gives.
    """
    kept: Function = njit(cache=True, nogil=True, error_model="numpy")(function)
    return kept
