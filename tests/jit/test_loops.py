"""Loops do what their plain functions do, and take nothing else than what they say."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from numba.core.errors import TypingError

from mango_trace.jit import Axes, inlined, inner, keeping, loop
from mango_trace.signals.validity import _sound

LIMIT = 3.0

Floats = Annotated[npt.NDArray[np.float64], Axes(1)]


class Pair(NamedTuple):
    weights: Floats
    offset: float


@inner
def weighted(value, weight):
    return value * weight


@inlined
def beyond(value):
    return value > LIMIT


@loop
def fill(
    values: Annotated[npt.NDArray[np.float64], Axes(2)],
    pair: Pair,
    mask: Annotated[npt.NDArray[np.bool_], Axes(1)],
    halve: bool,
    divisor: float,
    bytes_: Annotated[npt.NDArray[np.uint8], Axes(1, written=True)],
    found: Annotated[npt.NDArray[np.float64], Axes(1, written=True)],
) -> int:
    """A loop of everything that loops take."""
    count = 0
    for row in range(values.shape[0]):
        if not mask[row]:
            continue
        total = pair.offset
        for column in range(values.shape[1]):
            total += weighted(values[row, column], pair.weights[column])
        found[row] = (total / 2 if halve else total) / divisor
        bytes_[row] = 7
        count += beyond(total)
    return count


@loop
def is_beyond(value: float) -> bool:
    return beyond(value)


@loop
def beyond_both(first: float, second: float) -> bool:
    return is_beyond(first) and is_beyond(second)


@loop
def allocates(n: int) -> int:
    return len(np.empty(n))


@loop
def tangent(angle: float) -> bool:
    return math.tan(angle) > 1


@loop
def raises(n: int) -> int:
    if n > 1:
        raise ValueError
    return n


def arguments(seed, divisor=0.3):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, 9, 2)
    return (
        rng.normal(size=(rows, columns)),
        Pair(rng.normal(size=columns), 1.5),
        rng.integers(0, 2, rows).astype(bool),
        bool(seed % 2),
        divisor,
        np.zeros(rows, np.uint8),
        np.full(rows, np.nan),
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_loop_gives_what_the_plain_function_gives(seed):
    compiled, plain = arguments(seed), arguments(seed)
    assert fill(*compiled) == fill.__wrapped__(*plain)
    for place in (5, 6):
        assert compiled[place].tobytes() == plain[place].tobytes()


def test_a_division_by_zero_gives_what_numpy_gives():
    given = arguments(4, divisor=0.0)
    fill(*given)
    assert np.isinf(given[6][given[2]]).all()
    assert given[2].any()


def test_truth_values_come_back_as_such_and_loops_call_loops():
    assert is_beyond(4.0) is True
    assert is_beyond(3.0) is False
    assert beyond_both(4.0, 5) is True
    assert beyond_both(4.0, 2.0) is False


STARTS, TIME, QPOS = np.zeros(1, np.intp), np.arange(3.0), np.ones((3, 4))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            (STARTS, np.arange(3), QPOS),
            "time must be an array of float64 with 1 axes, in C order, not of int64",
        ),
        ((STARTS, TIME.astype(">f8"), QPOS), "time must be"),
        ((STARTS.astype(np.int32), TIME, QPOS), "quaternions must be"),
        ((STARTS, TIME, QPOS[0]), "qpos must be"),
        ((STARTS, TIME, QPOS.T), "qpos must be"),
        ((STARTS, TIME[::2], QPOS), "time must be"),
        ((STARTS, np.frombuffer(bytes(25), np.uint8)[1:].view(np.float64), QPOS), "time must be"),
        ((STARTS, TIME.tolist(), QPOS), "time must be an array of float64 with 1 axes, in C order, not list"),
        ((STARTS, TIME), "3 arguments, not 2"),
    ],
)
def test_arrays_of_another_kind_are_refused(wrong, message):
    assert _sound(STARTS, TIME, QPOS)
    with pytest.raises(TypeError, match=re.escape(message)):
        _sound(*wrong)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (1, (np.zeros(4), 1.5), "pair must be Pair, not tuple"),
        (1, Pair(np.zeros((4, 4)), 1.5), "pair.weights must be"),
        (4, "half", "no number"),
        (3, 0.5, "no number"),
        (5, np.frombuffer(bytes(4), np.uint8), "bytes_ must be a writable array"),
    ],
)
def test_other_arguments_are_refused(place, value, message):
    given = list(arguments(4))
    given[place] = value
    with pytest.raises(TypeError, match=re.escape(message)):
        fill(*given)


def test_a_loop_that_allocates_is_refused():
    with pytest.raises(TypingError, match="empty"):
        allocates(1)


def test_a_loop_that_calls_what_may_be_missing_later_is_refused():
    with pytest.raises(TypeError, match="tangent calls tan, "):
        tangent(1.0)


def test_an_error_in_a_loop_is_never_overlooked():
    assert raises(1) == 1
    with pytest.raises(RuntimeError, match="raises raised an error"):
        raises(2)


PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from mango_trace.jit import keeping
keeping._folders = lambda: (Path(sys.argv[1], "compiled"),)  # and not what this machine has already
from mango_trace.signals.validity import _sound
print(_sound(np.zeros(1, np.intp), np.arange(3.0), np.ones((3, 4))), "numba" in sys.modules)
"""


def start(cache: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(cache)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate()
    assert process.returncode == 0
    return out.strip()


def test_one_process_compiles_the_next_does_without_numba(tmp_path):
    assert said(start(tmp_path)) == "True True"
    assert said(start(tmp_path)) == "True False"


def test_two_processes_compile_at_once(tmp_path):
    both = [start(tmp_path), start(tmp_path)]
    assert [said(process) for process in both] == ["True True"] * 2
    assert [path.suffix for path in tmp_path.glob("*/*")] == [".loop"]
    assert said(start(tmp_path)) == "True False"


def test_what_cannot_be_used_is_compiled_again(tmp_path, monkeypatch):
    assert said(start(tmp_path)) == "True True"
    (path,) = tmp_path.glob("*/*.loop")
    monkeypatch.setattr(keeping, "_folders", lambda: (path.parent,))
    whole = keeping.load(path.stem)
    for broken in (b"", b"no object file", whole[: len(whole) // 2]):  # whose checksums are right
        keeping.save(path.stem, broken)
        assert keeping.load(path.stem) == broken
        assert said(start(tmp_path)) == "True True"
        assert said(start(tmp_path)) == "True False"
    path.write_bytes(path.read_bytes()[:-1])
    assert said(start(tmp_path)) == "True True"


def test_without_a_compiler_the_plain_function_runs(tmp_path):
    """numba's own switch, for a debugger."""
    assert said(start(tmp_path, NUMBA_DISABLE_JIT="1")) == "True False"
    assert not list(tmp_path.glob("*/*"))


def test_what_a_process_has_in_memory_is_what_its_code_is_kept_for(monkeypatch):
    """Its sources may have changed on disk since it read them."""
    from mango_trace.jit import loops
    from mango_trace.jit.signature import Signature

    def first(number: int) -> int:
        return number + LIMIT

    def second(number: int) -> int:
        return number - LIMIT

    monkeypatch.setitem(globals(), "LIMIT", 1)
    before = loops._fingerprint(first, Signature(first))
    assert loops._fingerprint(first, Signature(first)) == before
    assert loops._fingerprint(second, Signature(second)) != before
    monkeypatch.setitem(globals(), "LIMIT", 2)
    assert loops._fingerprint(first, Signature(first)) != before
