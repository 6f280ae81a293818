"""docs/marginals.md: the prior of a scorecard, its bins, and how exact products of whole numbers are."""

from __future__ import annotations

from fractions import Fraction
from math import log2

import numpy as np

from hedgerow.boundary.arithmetic import affine
from hedgerow.marginals.log_odds import SPREADS, USUAL
from tests.docs.numbers.benchmarks_two_way_tables import rows as two_way_tables
from tests.docs.page import Page, records, short

PAGE = "docs/marginals.md"
WIDEST = 256  # inputs of a layer of the paper's network
BINS = ("2", "3", "4", "6", "8", "12", "16")


def check(page: Page) -> None:
    page.says(f"from {SPREADS[0]:g} to {SPREADS[-1]:g} and {USUAL:g} beforehand")
    assert len(SPREADS) == 6
    check_bins(page)
    check_two_way_tables(page)
    rng = np.random.default_rng(0)
    rows, weights = rng.uniform(-1, 1, (8, WIDEST)), rng.uniform(-1, 1, (WIDEST, 3))
    found = affine(rows, weights, np.zeros(3))
    errors = [
        abs(Fraction(found[i, j]) - sum(Fraction(x) * Fraction(w) for x, w in zip(row, weight, strict=True)))
        for i, row in enumerate(rows)
        for j, weight in enumerate(weights.T)
    ]
    page.says("to some {} binary digits", str(int(-log2(max(errors)))))


def check_bins(page: Page) -> None:
    found = {(row["problem"], row["bins"]): row for row in records("benchmarks/results/bins.csv")}
    page.given("seven problems, 20 runs", *(f"| {bins} bins" for bins in BINS if int(bins) > 12))
    for problem in dict.fromkeys(problem for problem, _ in found):
        default = found[problem, "auto"]
        each = [short(float(found[problem, bins]["accuracy"]), 3) for bins in BINS]
        page.row(problem, f"{short(float(default['accuracy']), 3)} ± {short(float(default['se']), 3)}", *each)
    less = {key: float(row["default less it"]) for key, row in found.items()}
    worst = min(less, key=lambda key: less[key])
    sizes = [short(value, 4) for value in (-less[worst], float(found[worst]["se of that"]))]
    page.says("at most {} below any fixed number of bins: ± {} by run, {} bins on {}", *sizes, worst[1], worst[0])
    page.says("Two bins cost up to {}", short(max(less[key] for key in less if key[1] == "2"), 3))


def check_two_way_tables(page: Page) -> None:
    learners = ("tree, noisy tables", "quadratic, noisy tables", "scorecard")
    found = [short(float(two_way_tables()[1.0, learner]["AUROC"]), 3) for learner in learners]
    page.says("the AUROC is {} with a tree of tables and {} with all, at the best, and {} of", *found)
