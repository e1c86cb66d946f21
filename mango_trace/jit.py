"""Compiling loops over states to machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def jit(function: Function) -> Function:
    """Compile a function of numbers and arrays when it is first called, and keep the result on disk.

    Arithmetic stays IEEE's, in the order it is written in: no reassociation, no contraction. A division
    by zero gives what numpy gives.
    """
    kept: Function = njit(cache=True, nogil=True, error_model="numpy")(function)
    return kept


def jit_inline(function: Function) -> Function:
    """As :func:`jit`, and put the body of the function in place of each call: for inner loops."""
    kept: Function = njit(cache=True, nogil=True, error_model="numpy", inline="always")(function)
    return kept
