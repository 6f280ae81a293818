"""docs/marginals.md: the prior of a scorecard, and how exact products of whole numbers are."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import numpy as np

from hedgerow.marginals.log_odds import SPREADS, USUAL
from hedgerow.marginals.oracle.rowwise.arithmetic import affine
from tests.docs.page import Page

PAGE = "docs/marginals.md"
WIDEST = 256  # inputs of a layer of the paper's network


def check(page: Page) -> None:
    page.says(f"from {SPREADS[0]:g} to {SPREADS[-1]:g} and {USUAL:g} beforehand")
    assert len(SPREADS) == 6
    rng = np.random.default_rng(0)
    rows, weights = rng.uniform(-1, 1, (8, WIDEST)), rng.uniform(-1, 1, (WIDEST, 3))
    found = affine(rows, weights, np.zeros(3))
    errors = [
        abs(Fraction(found[i, j]) - sum(Fraction(x) * Fraction(w) for x, w in zip(row, weight, strict=True)))
        for i, row in enumerate(rows)
        for j, weight in enumerate(weights.T)
    ]
    page.says("to some {} binary digits", str(int(-log2(max(errors)))))
