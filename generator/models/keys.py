"""Keys: read from the environment, handed to an SDK, shown nowhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import final

from generator.errors import MissingKeyError


@final
class Key:
    """A key that no repr, pickle or message shows.

    Args:
        value: The key.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @classmethod
    def read(cls, variable: str, model: str, environment: Mapping[str, str] = os.environ) -> Key:
        """Read a key from the environment.

        Args:
            variable: Name of the variable.
            model: The model that needs it, for the message.
            environment: Where to look.

        Raises:
            MissingKeyError: If it is not set or empty.
        """
        value = environment.get(variable, "").strip()
        if not value:
            raise MissingKeyError(variable, model)
        return cls(value)

    def reveal(self) -> str:
        """The key itself, for an SDK."""
        return self._value

    def redact(self, text: str) -> str:
        """Take the key out of foreign text: some servers repeat it in what they complain about."""
        return text.replace(self._value, "[key]")

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled; read it from the environment where it is needed")
