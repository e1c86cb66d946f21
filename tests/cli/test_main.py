"""The program as a process of its own."""

from __future__ import annotations

import subprocess
import sys

from mango_trace.evaluation import evaluate
from mango_trace.startup import only_judge
from mango_trace.verdicts import Rows
from mango_trace.workers import each
from tests.evaluation.tables import tables_of
from tests.synthetic import make_dataset, write_oracles

PROGRAM = """
import sys
from mango_trace.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(sorted({"numba", "pandas", "pyarrow", "scipy"} & set(sys.modules)))
"""


def test_what_a_short_command_spares_itself_changes_no_verdict(tmp_path):
    """Once loops are compiled, numba, SciPy and pandas are not imported, and the tables are the same."""
    import pandas
    import scipy

    assert pandas.__version__
    assert scipy.__version__
    root, oracles = make_dataset(tmp_path, 6), write_oracles(tmp_path / "oracles")
    evaluate([root], [oracles], tmp_path / "here.duckdb")
    arguments = ["evaluate", str(root), "--oracles", str(oracles), "--db", str(tmp_path / "there.duckdb")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "['pyarrow']"
    assert tables_of(tmp_path / "there.duckdb") == tables_of(tmp_path / "here.duckdb")


def imported(_: object) -> list[str]:
    return sorted({"pandas", "pyarrow", "scipy"} & set(sys.modules))


def imported_by_rows(_: object) -> list[str]:
    rows = Rows()
    rows.add("samples", {"sample": "all"})
    rows.to_arrow()
    return imported(None)


def imported_by_another(_: object) -> list[str]:
    import pandas
    import scipy.linalg

    assert scipy.linalg.norm([3.0, 4.0]) == pandas.Series([5.0])[0]
    return imported(None)


def test_a_worker_that_only_judges_spares_what_pyarrow_would_import_and_others_get_what_they_ask_for():
    def told(work, begin=only_judge):
        return dict(each(work, ["item"], 1, begin))["item"]

    assert told(imported_by_rows) == ["pyarrow"]
    assert told(imported_by_rows, None) == ["pandas", "pyarrow"]
    assert told(imported_by_another) == ["pandas", "pyarrow", "scipy"]
