"""The benchmark of sizes runs on the smallest table, and does not repeat what it has recorded."""

from __future__ import annotations

import csv
import subprocess
import sys

import pytest

from tests.docs.page import ROOT

LEARNERS = ("tree", "scorecard", "CART")


@pytest.mark.statistics
def test_it_records_sizes_and_scores_once(tmp_path):
    file = tmp_path / "runs.csv"
    # In a process of its own, as `measure` limits threads.
    command = [sys.executable, "readability.py", "iris", "--splits", "1", "--epsilons", "1", "--to", str(file)]
    for expected in (3, 0):
        done = subprocess.run(
            [*command, "--learners", *LEARNERS], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True
        )
        assert len(done.stdout.splitlines()) == expected
    with file.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    private = [row for row in rows if row["learner"] in ("tree", "scorecard")]
    assert [row["learner"] for row in private] == ["tree", "scorecard"]
    tree, card = private
    assert 1 <= float(tree["supported leaves"]) <= float(tree["leaves"]) <= 32
    assert float(card["bins of a number"]) >= 1
    assert tree["attributes"] == card["leaves"] == ""
    assert all(0.2 < float(row["accuracy"]) <= 1 for row in rows)
    curve = [float(row["leaves"]) for row in rows if row["learner"] == "CART" and row["setting"].isdigit()]
    assert curve == sorted(curve)
    assert curve[0] == 2
