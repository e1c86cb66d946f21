"""A writer that is forked, or worked with beside others, shares nothing but the dataset."""

from __future__ import annotations

from mango_trace.store import Dataset, verify_dataset
from tests.killing import run_script

SCRIPT = """
    import os, sys
    from pathlib import Path
    from mango_trace.store import DatasetWriter
    from tests.killing import fork
    from tests.synthetic import make_package, make_trace

    package = make_package()
    with DatasetWriter(Path(sys.argv[1])) as writer:
        writer.add_scene(package)
        writer.add(make_trace(package, 40, 0))

        def work(first):
            for seed in range(first, first + 5):
                writer.add(make_trace(package, 40 + first, seed))
            writer.close()

        children = [fork(lambda first=first: work(first)) for first in (10, 20, 30)]
        for seed in (1, 2):
            writer.add(make_trace(package, 40, seed))
        assert not any(os.waitpid(child, 0)[1] for child in children)
        writer.add(make_trace(package, 40, 3))
"""


def test_forks_of_a_writer_write_segments_of_their_own(tmp_path):
    run_script(SCRIPT, tmp_path / "d")
    dataset = Dataset(tmp_path / "d")
    assert dataset.problems == []
    expected = {0, 1, 2, 3} | {first + i for first in (10, 20, 30) for i in range(5)}
    assert sorted(r.metadata.episode for r in dataset.records) == sorted(expected)
    assert len({r.segment for r in dataset.records}) == 4
    assert [check for check in verify_dataset(dataset) if check.problem] == []
