"""How a request becomes text: ours, and apart from it the data, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mango_trace.errors import UsageError


def data_part(inputs: Mapping[str, Any]) -> str:
    """Write the inputs as JSON, in their order.

    They are a part of their own in every request. Whatever an instruction or a name says, it stays inside a
    JSON string.

    Raises:
        UsageError: If they are no JSON data.
    """
    try:
        text = json.dumps(dict(inputs), ensure_ascii=False, allow_nan=False)
        text.encode()  # half a surrogate pair is no Unicode and cannot be sent
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the inputs of a request are JSON data: {error}") from error
    return text
