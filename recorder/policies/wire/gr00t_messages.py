"""GR00T's messages: msgpack with numpy arrays as the bytes of an ``.npy`` file.

An array is ``{"__ndarray_class__": True, "as_npy": bytes}``; the form is that of
``gr00t.policy.server_client.MsgSerializer``.
"""

from __future__ import annotations

import io
import math
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy

from recorder.errors import PolicyReplyError
from recorder.policies.wire import packing

_KINDS: Final = "biuf"
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def pack(message: Any) -> bytes:
    """Encode a message of maps, lists, texts, numbers and arrays.

    Raises:
        TypeError: Something in it has no place in a message.
        ValueError: An array of objects.
    """
    return packing.pack(message, _encode)


def unpack(data: bytes) -> Any:
    """Decode a message; its arrays are read-only.

    Args:
        data: What came over the wire.

    Raises:
        PolicyReplyError: It is no such message; or it holds an array of another kind than booleans and
            numbers, or one whose bytes do not fill its shape.
    """
    return packing.unpack(data, _decode)


def _encode(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__} cannot be sent")
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return {"__ndarray_class__": True, "as_npy": file.getvalue()}


def _decode(value: dict[Any, Any]) -> Any:
    return _array(value.get("as_npy")) if "__ndarray_class__" in value else value


def _array(data: Any) -> np.ndarray:
    """Read an ``.npy`` file after its header was checked: numpy would trust the shape that it claims."""
    if not isinstance(data, bytes):
        raise PolicyReplyError(f"an array comes as {type(data).__name__}")
    file = io.BytesIO(data)
    try:
        shape, fortran, dtype = _HEADERS[npy.read_magic(file)](file)
    except Exception as error:  # the header is a text that numpy parses
        raise PolicyReplyError(f"an array has no .npy header: {type(error).__name__}: {error}") from error
    if dtype.kind not in _KINDS:
        raise PolicyReplyError(f"an array has the type {dtype}; numbers and booleans are taken")
    left = len(data) - file.tell()
    if any(size < 0 for size in shape) or math.prod(shape) * dtype.itemsize != left:
        raise PolicyReplyError(f"an array of shape {shape} and type {dtype} comes with {left} bytes")
    flat = np.frombuffer(data, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if fortran else "C")
