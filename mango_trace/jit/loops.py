"""The decorators: of what Python calls, and of what loops call."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from ctypes import byref, c_int64, create_string_buffer
from functools import wraps
from threading import Lock
from types import FunctionType, NoneType
from typing import Any, Final, TypeVar

import numpy as np

from mango_trace.jit.keeping import load, save
from mango_trace.jit.linking import link
from mango_trace.jit.signature import Part, Signature

Function = TypeVar("Function", bound=Callable[..., Any])

_callable: Final[dict[Callable[..., Any], Part]] = {}
"""What loops may call."""
_compiling: Final = Lock()
_unused: Final = create_string_buffer(16)
"""Where numba's functions put what they return or raise; loops do neither."""


def inner(function: Function) -> Function:
    """Mark a function that loops call."""
    _callable[function] = Part(function)
    return function


def inlined(function: Function) -> Function:
    """As :func:`inner`, and put the body of the function in place of each call: for inner loops."""
    _callable[function] = Part(function, inlined=True)
    return function


def loop(function: Function) -> Function:
    """Compile a function when it is first called, or take the machine code that is kept on disk.

    It is called with positional arguments, and raises ``TypeError`` if they are not what its annotations say.
    """
    native: Callable[..., Any] | None = None

    @wraps(function)
    def call(*arguments: Any) -> Any:
        nonlocal native
        if native is None:
            with _compiling:
                native = native or _native(function)
        return native(arguments)

    _callable[call] = Part(function)  # by other loops, that is
    return call  # type: ignore[return-value]  # it takes and gives the same


def _native(function: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Any]:
    """The machine code of a loop, as a function of all its arguments."""
    if int(os.environ.get("NUMBA_DISABLE_JIT") or 0):
        return lambda arguments: function(*arguments)
    signature = Signature(function)
    code, pack = _linked(function, signature), signature.pack
    gives = None if signature.gives is NoneType else signature.gives

    def native(arguments: tuple[Any, ...]) -> Any:
        words, result = pack(arguments), c_int64()
        if code(_unused, _unused, byref(result), words, words, words):
            raise RuntimeError(f"{function.__qualname__} raised an error, which no loop may do")
        return gives and gives(result.value)

    return native


def _linked(function: Callable[..., Any], signature: Signature) -> Callable[..., int]:
    """What is kept of a loop if it can be used, else what the compiler makes of it now."""
    symbol = f"{function.__module__}.{function.__qualname__}"
    name = f"{symbol}-{_fingerprint(function, signature)}"
    kept = load(name)
    if kept is not None:
        try:
            return link(kept, symbol)
        except RuntimeError:  # is replaced below
            pass
    from mango_trace.jit.building import object_code

    made = object_code(function, signature, _callable, symbol)
    code = link(made, symbol)
    save(name, made)
    return code


def _fingerprint(function: Callable[..., Any], signature: Signature) -> str:
    """Digest of what is compiled, as it is in this process: its sources may have changed since."""
    digest = hashlib.sha256(repr(signature.parameters).encode())
    waiting, seen = [function], set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        code = one.__code__
        digest.update(repr((code.co_code, code.co_consts, code.co_names)).encode())
        for name in code.co_names:
            value = one.__globals__.get(name)
            if isinstance(value, FunctionType) and value in _callable:
                waiting.append(_callable[value].function)
            elif isinstance(value, (int, float, np.generic)):
                digest.update(repr((name, value)).encode())
    return digest.hexdigest()[:16]
