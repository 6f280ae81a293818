"""docs/marginals.md: accuracy by bins, of benchmarks/results/bins.csv, and how exact products of whole numbers are."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import numpy as np

from hedgerow.marginals.log_odds import SPREADS, USUAL
from hedgerow.marginals.oracle.rowwise.arithmetic import affine
from hedgerow.studies.expril.problems import PROBLEMS
from tests.docs.page import Page, records

PAGE = "docs/marginals.md"
WIDEST = 256  # inputs of a layer of the paper's network


BINS = ("auto", "2", "3", "4", "6", "8", "12", "16")


def check(page: Page) -> None:
    by_bins(page)
    page.says(f"from {SPREADS[0]:g} to {SPREADS[-1]:g} and {USUAL:g} beforehand")
    assert len(SPREADS) == 6
    page.given("in 20 runs with the same noise", "| problem | default | 2 | 3 | 4 | 6 | 8 | 12 | 16 |")
    rng = np.random.default_rng(0)
    rows, weights = rng.uniform(-1, 1, (8, WIDEST)), rng.uniform(-1, 1, (WIDEST, 3))
    found = affine(rows, weights, np.zeros(3))
    errors = [
        abs(Fraction(found[i, j]) - sum(Fraction(x) * Fraction(w) for x, w in zip(row, weight, strict=True)))
        for i, row in enumerate(rows)
        for j, weight in enumerate(weights.T)
    ]
    page.says("to some {} binary digits", str(int(-log2(max(errors)))))


def by_bins(page: Page) -> None:
    """Accuracies, the default's with its standard error; and no fixed number of bins is more than that above it."""
    rows = {(row["problem"], row["bins"]): row for row in records("benchmarks/results/bins.csv")}
    for problem in PROBLEMS:
        found = [100 * float(rows[problem, bins]["accuracy"]) for bins in BINS]
        error = 100 * float(rows[problem, "auto"]["se"])
        page.row(problem, f"{found[0]:.1f} ± {error:.1f}", *(f"{one:.1f}" for one in found[1:]))
        assert found[0] >= max(found) - error
