"""The program as a process of its own."""

from __future__ import annotations

import subprocess
import sys

from mango_trace.evaluation import evaluate
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
