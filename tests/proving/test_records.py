"""Proofs are kept beside their oracles."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from mango_trace.cli.main import cli
from mango_trace.errors import SpecificationError
from mango_trace.evaluation.oracle_files import load_oracles
from mango_trace.oracle import read_oracle
from mango_trace.proving import prove, read_proofs, record_of, write_proofs
from mango_trace.shipped import shipped
from tests.reference import reference_oracles
from tests.synthetic import TASK, make_dataset, oracle_document, write_oracles


@pytest.fixture(scope="module")
def proof(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    (found,) = prove(make_dataset(folder, 4), [write_oracles(folder / "oracles", oracle_document())]).proofs
    return found


def test_written_then_read_is_the_same_and_others_stay(proof, tmp_path):
    one = record_of(proof, evaluator="1/test", traces="runs")
    other = one.model_copy(update={"oracle": "another"})
    write_proofs(tmp_path, [other])
    write_proofs(tmp_path, [one])
    assert read_proofs(tmp_path) == tuple(sorted((one, other), key=lambda record: record.oracle))
    assert one.mutation_score == proof.score == 1.0
    assert one.digest == proof.digest


def test_a_folder_of_oracles_is_judged_without_its_proofs(proof, tmp_path):
    write_oracles(tmp_path / "oracles", oracle_document())
    before = load_oracles([tmp_path / "oracles"])
    write_proofs(tmp_path / "oracles", [record_of(proof, evaluator="1/test", traces="runs")])
    assert load_oracles([tmp_path / "oracles"]) == before


def test_what_is_damaged_is_named_and_not_overwritten(proof, tmp_path):
    (tmp_path / "proofs.json").write_text('{"version": 1, "proofs": [{"oracle": 3}]}')
    with pytest.raises(SpecificationError, match=r"proofs\.0\.oracle"):
        write_proofs(tmp_path, [record_of(proof, evaluator="1/test", traces="runs")])
    assert "3" in (tmp_path / "proofs.json").read_text()


def test_prove_keeps_what_it_shows_when_asked(tmp_path):
    root = make_dataset(tmp_path, 4)
    oracles = write_oracles(tmp_path / "oracles", oracle_document())
    arguments = ["prove", str(oracles), "--on", str(root)]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert read_proofs(tmp_path / "oracles") == ()
    assert CliRunner().invoke(cli, [*arguments, "--save"]).exit_code == 0
    (record,) = read_proofs(tmp_path / "oracles")
    assert (record.oracle, record.outcome, record.mutation_score) == (TASK, "proven", 1.0)
    assert json.loads((tmp_path / "oracles" / "proofs.json").read_text())["version"] == 1


def test_what_comes_along_is_about_the_oracles_that_come_along():
    folder = shipped("oracles") / "libero" / "libero_10"
    records = {record.oracle: record for record in read_proofs(folder)}
    digests = {path.stem: read_oracle(path).digest for path in reference_oracles()}
    assert {name: record.digest for name, record in records.items()} == digests
    assert len(records) == 10
    assert all(record.outcome == "proven" for record in records.values())
    assert sum(record.mutants for record in records.values()) == 6006
    assert all(record.mutation_score == 1.0 for record in records.values())
