"""The tables of PDR and EXPRIL that the docs cite are those of the raw runs beside them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from studies.expril.problems import PROBLEMS
from studies.pdr import tables
from studies.pdr.runs import COMPACT, DATASETS, LISTS, PRIVATE, TREES
from studies.results import summary
from tests.docs.page import ROOT

STUDIES = ROOT / "docs" / "studies"
PDR = [(kind, dataset) for kind in (TREES, LISTS, COMPACT, PRIVATE) for dataset in DATASETS]


def written(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def same(found: str, file: Path) -> None:
    """Assert that two tables hold the same, sums of floats in another order apart."""
    item, other = (pd.read_csv(source) for source in (io.StringIO(found), file))
    pd.testing.assert_frame_equal(item, other, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_means_of_expril_are_those_of_its_runs(name):
    runs = pd.read_csv(STUDIES / "expril" / f"{name}-runs.csv.gz").drop(columns="records")
    assert np.array_equal(np.unique(runs["run"]), np.arange(100))
    same(written(pd.DataFrame(summary(runs))), STUDIES / "expril" / f"{name}.csv")


@pytest.mark.parametrize(("kind", "dataset"), PDR)
def test_means_and_claims_of_pdr_are_those_of_its_runs(kind, dataset):
    runs = pd.read_csv(STUDIES / "pdr" / f"{kind}-{dataset}-runs.csv.gz").drop(columns=["run", "records"])
    same(written(tables.means(runs)), STUDIES / "pdr" / f"{kind}-{dataset}.csv")
    if kind != PRIVATE:
        file = STUDIES / "pdr" / f"{kind}-{dataset}-claims.csv"
        assert written(tables.claims_of(runs, kind, dataset)) == file.read_text(encoding="utf-8")
