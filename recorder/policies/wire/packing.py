"""msgpack, as all served policies speak it; how arrays are put into it is each protocol's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack

from recorder.errors import PolicyReplyError


def pack(message: Any, encode: Callable[[Any], Any]) -> bytes:
    """Encode a message of maps, lists, texts, numbers and arrays.

    Args:
        message: The message.
        encode: Turns an array into what msgpack knows; raises ``TypeError`` for anything else.

    Raises:
        TypeError: Something in it has no place in a message.
    """
    packed: bytes = msgpack.packb(message, default=encode)
    return packed


def unpack(data: bytes, decode: Callable[[dict[Any, Any]], Any]) -> Any:
    """Decode a message.

    Args:
        data: What came over the wire.
        decode: Turns a map into the array that it stands for, or leaves it as it is.

    Raises:
        PolicyReplyError: It is no such message, or ``decode`` says so of an array in it.
    """
    try:
        return msgpack.unpackb(data, object_hook=decode)
    except PolicyReplyError:
        raise
    except Exception as error:  # msgpack raises ValueErrors, TypeErrors and classes of its own
        raise PolicyReplyError(f"no msgpack message: {type(error).__name__}: {error}") from error
