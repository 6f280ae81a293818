"""Rows of `census.py`, made as files and counted without files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.docs.page import ROOT

pytest.importorskip("duckdb")

CHECK = """
import census, hedgerow as hr, ibis, numpy as np, sys
files = census.make(sys.argv[1], 2_000)
tally = hr.Tally.from_table(ibis.duckdb.connect().read_parquet(files), census.schema())
some, other = tally.bins_and_counts(), census.counted(2_000)
orders = [np.lexsort(bins.T) for bins, _ in (some, other)]
print([bool(np.array_equal(a[orders[0]], b[orders[1]])) for a, b in zip(some, other, strict=True)])
"""


def test_counted_patterns_are_those_of_the_rows(tmp_path):
    command = [sys.executable, "-c", CHECK, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[True, True]"
