"""Workers end with the process that they work for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import takewhile
from pathlib import Path

from mango_trace.workers import each

SCRIPT = """
import os, time
from mango_trace.workers import worker_pool

if __name__ == "__main__":
    pool = worker_pool(2)
    print(*{pool.submit(os.getpid).result() for _ in range(20)}, flush=True)
    time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between opening and reading
        return False


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert workers
    assert all(map(alive, workers))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))


def work(folder: Path, item: str) -> str:
    """Leave a file each time; die of it the first time, or each time, if the item says so."""
    tries = folder / f"{item}.tries"
    with tries.open("a") as file:
        file.write(f"{os.getpid()}\n")
    if item.startswith("always") or (item.startswith("once") and tries.read_text().count("\n") == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    return item.upper()


def test_what_was_out_when_a_process_was_killed_is_done_again_and_nothing_is_lost(tmp_path):
    # No two that kill are out at the same time: one would be begun first when it is done again.
    items = ["a", "once-b", "c", "d", "e", "always-f", "g", "h", "i", "once-j", "k", "l", "always-m", "n"]
    found = list(each(partial(work, tmp_path), items, 2, at_once=3))
    assert sorted(item for item, _ in found) == sorted(items)
    assert {item: result for item, result in found if result != item.upper()} == {
        "always-f": None,
        "always-m": None,
    }


def test_items_are_taken_when_they_are_given_out(tmp_path):
    seen: list[str] = []
    items = takewhile(lambda _: "c" not in seen, "abcdefghijklmnop")
    for item, _ in each(partial(work, tmp_path), items, 1, at_once=2):
        seen.append(item)
    assert "c" in seen
    assert len(seen) <= 5


def sleep(item: float) -> int:
    time.sleep(item)
    return os.getpid()


def test_closed_early_it_ends_its_processes_whatever_they_do():
    found = each(sleep, [0.0, 600.0, 600.0], 1)
    pid = next(found)[1]
    assert pid is not None
    assert alive(pid)
    found.close()
    deadline = time.monotonic() + 60
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)


UNGUARDED = """
from mango_trace.workers import each

print(list(each(abs, [1, 2, 3], workers=2)))
"""


def test_a_script_that_its_own_processes_would_run_again_is_told(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    # Python may say more when it exits, of semaphores of the processes that were ended.
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("RuntimeError: no process")]
    assert "if __name__ == '__main__':" in told
