"""openpi's messages: msgpack with numpy arrays as maps of bytes keys.

An array is ``{b"__ndarray__": True, b"data", b"dtype", b"shape"}``, a numpy number
``{b"__npgeneric__": True, b"data", b"dtype"}``; the form is that of ``openpi_client.msgpack_numpy``.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np

from mango_trace.errors import quote
from recorder.errors import PolicyReplyError
from recorder.policies.wire import packing

_DTYPE: Final = re.compile(r"[<>|=][biuf](1|2|4|8|16)")
_KINDS: Final = "biuf"
_MOST_AXES: Final = 32


def pack(message: Any) -> bytes:
    """Encode a message of maps, lists, texts, numbers and arrays.

    Raises:
        TypeError: Something in it has no place in a message, e.g. an array of objects.
    """
    return packing.pack(message, _encode)


def unpack(data: bytes) -> Any:
    """Decode a message; its arrays are read-only views of it.

    Args:
        data: What came over the wire.

    Raises:
        PolicyReplyError: It is no such message; or it holds an array of another kind than booleans and
            numbers, or one whose bytes do not fill its shape.
    """
    return packing.unpack(data, _decode)


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind not in _KINDS:
        raise TypeError(f"an array of type {value.dtype} cannot be sent")
    if isinstance(value, np.ndarray):
        return {
            b"__ndarray__": True,
            b"data": value.tobytes(),
            b"dtype": value.dtype.str,
            b"shape": value.shape,
        }
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _decode(value: dict[Any, Any]) -> Any:
    if b"__ndarray__" in value:
        return _array(value)
    if b"__npgeneric__" in value:
        number = value.get(b"data")
        if not isinstance(number, bool | int | float):
            raise PolicyReplyError(f"a numpy number holds {quote(str(number))}")
        try:
            return _dtype(value).type(number)
        except OverflowError as error:
            raise PolicyReplyError(f"a numpy number does not fit its type: {error}") from error
    return value


def _array(value: dict[Any, Any]) -> np.ndarray:
    dtype, data, shape = _dtype(value), value.get(b"data"), value.get(b"shape")
    sizes = shape if isinstance(shape, list) else None
    if sizes is None or len(sizes) > _MOST_AXES or not all(type(n) is int and n >= 0 for n in sizes):
        raise PolicyReplyError(f"an array has the shape {quote(str(shape))}")
    if not isinstance(data, bytes) or len(data) != math.prod(sizes) * dtype.itemsize:
        found = f"{len(data)} bytes" if isinstance(data, bytes) else type(data).__name__
        raise PolicyReplyError(f"an array of shape {tuple(sizes)} and type {dtype} comes with {found}")
    return np.frombuffer(data, dtype).reshape(sizes)


def _dtype(value: dict[Any, Any]) -> np.dtype[Any]:
    text = value.get(b"dtype")
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise PolicyReplyError(f"an array has the type {quote(str(text))}; numbers and booleans are taken")
    try:
        return np.dtype(text)
    except TypeError as error:
        raise PolicyReplyError(f"an array has the type {quote(text)}, which numpy does not know") from error
