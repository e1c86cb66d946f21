"""Workers end with the process that they work for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

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
    except FileNotFoundError:
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
    assert done.stderr.rstrip().rpartition("\n")[2].startswith("RuntimeError: no process can be started")
    assert "if __name__ == '__main__':" in done.stderr.rstrip().rpartition("\n")[2]
