"""What a loop takes and gives, as its annotations say, and its arguments as machine code reads them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Final, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

_CONTIGUOUS_AND_ALIGNED: Final = 0x0001 | 0x0100
_WRITABLE: Final = 0x0400
"""Bits of ``ndarray.flags.num``."""


@dataclass(frozen=True, slots=True)
class Axes:
    """What an annotation of an array says beside its type: ``Annotated[npt.NDArray[np.float64], Axes(2)]``.

    Attributes:
        count: Number of axes; the array is in C order.
        written: Whether the loop writes to it.
    """

    count: int
    written: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """An array that a loop takes: the address of its numbers, then its shape, a word each."""

    name: str
    dtype: np.dtype[Any]
    axes: int
    flags: int

    def __str__(self) -> str:
        """What it must be."""
        kind = "a writable array" if self.flags & _WRITABLE else "an array"
        return f"{self.name} must be {kind} of {self.dtype} with {self.axes} axes, in C order"

    @property
    def words(self) -> int:
        """How many words it takes."""
        return 1 + self.axes

    def read(self, value: object) -> tuple[int, ...]:
        """Words of an array.

        Raises:
            TypeError: If the loop cannot take it.
        """
        if type(value) is not np.ndarray:
            raise TypeError(f"{self}, not {type(value).__name__}")
        if value.dtype != self.dtype or value.ndim != self.axes or value.flags.num & self.flags != self.flags:
            raise TypeError(f"{self}, not of {value.dtype}, shape {value.shape}, strides {value.strides}")
        return _address(value), *value.shape


@dataclass(frozen=True, slots=True)
class Number:
    """A number that a loop takes: a word."""

    name: str
    kind: type

    @property
    def words(self) -> int:
        """How many words it takes."""
        return 1


Value: TypeAlias = Array | Number


@dataclass(frozen=True, slots=True)
class Group:
    """A named tuple that a loop takes: the words of its fields."""

    name: str
    kind: type[tuple[Any, ...]]
    fields: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A function that loops may call.

    Attributes:
        function: The plain function.
        inlined: Whether its body takes the place of each call.
    """

    function: Callable[..., Any]
    inlined: bool = False


class Signature:
    """What a loop takes and gives.

    Args:
        function: The loop.

    Attributes:
        parameters: What it takes.
        gives: Type of what it gives.

    Raises:
        TypeError: If no loop can take or give what the annotations say.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        hints = get_type_hints(function, include_extras=True)
        self.gives: type = hints.pop("return")
        self.parameters = tuple(_parameter(name, hint) for name, hint in hints.items())
        if self.gives not in (NoneType, int, bool):
            raise TypeError(f"a loop gives None, an int or a bool, not {self.gives}")
        self._has_groups = any(isinstance(one, Group) for one in self.parameters)
        values = [value for one in self.parameters for value in _values(one)]
        self._arrays = [value if isinstance(value, Array) else None for value in values]
        self._words = struct.Struct("=" + "".join(map(_format, values)))

    def pack(self, arguments: Sequence[Any]) -> bytes:
        """Words of arguments, which must live as long as their words are used.

        Raises:
            TypeError: If the loop cannot take them.
        """
        if len(arguments) != len(self.parameters):
            raise TypeError(f"takes {len(self.parameters)} arguments, not {len(arguments)}")
        values = self._fields(arguments) if self._has_groups else arguments
        words: list[Any] = []
        for value, array in zip(values, self._arrays, strict=False):
            if array is None:
                words.append(value)
            else:
                words.extend(array.read(value))
        try:
            return self._words.pack(*words)
        except struct.error as error:
            raise TypeError(f"something is no number of the type that it must be: {error}") from None

    def _fields(self, arguments: Sequence[Any]) -> list[Any]:
        values: list[Any] = []
        for argument, parameter in zip(arguments, self.parameters, strict=True):
            if not isinstance(parameter, Group):
                values.append(argument)
            elif type(argument) is parameter.kind:
                values.extend(argument)
            else:
                raise TypeError(
                    f"{parameter.name} must be {parameter.kind.__name__}, not {type(argument).__name__}"
                )
        return values


def _quick_address(array: npt.NDArray[Any]) -> int:
    """Where the numbers of an array are: what numpy's C interface has first in an array."""
    return ctypes.c_size_t.from_address(id(array) + object.__basicsize__).value


def _sure_address(array: npt.NDArray[Any]) -> int:
    """The same, in five times the time."""
    return array.ctypes.data


_PROBE: Final = np.zeros(1)
_address: Final = _quick_address if _quick_address(_PROBE) == _sure_address(_PROBE) else _sure_address


def _parameter(name: str, hint: Any) -> Value | Group:
    if get_origin(hint) is Annotated:
        array, axes = get_args(hint)
        flags = _CONTIGUOUS_AND_ALIGNED | (_WRITABLE if axes.written else 0)
        scalar = get_args(get_args(array)[1])[0]
        return Array(name, np.dtype(scalar), axes.count, flags)
    if hint in (int, float, bool):
        return Number(name, hint)
    if isinstance(hint, type) and issubclass(hint, tuple):
        fields = get_type_hints(hint, include_extras=True)
        found = [_parameter(f"{name}.{field}", one) for field, one in fields.items()]
        values = tuple(one for one in found if not isinstance(one, Group))
        if len(values) == len(fields):
            return Group(name, hint, values)
    raise TypeError(f"{name}: a loop takes no {hint}")


def _values(parameter: Value | Group) -> tuple[Value, ...]:
    return parameter.fields if isinstance(parameter, Group) else (parameter,)


def _format(value: Value) -> str:
    if isinstance(value, Array):
        return "q" * (1 + value.axes)
    return "d" if value.kind is float else "q"
