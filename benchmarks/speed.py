"""Speed of counting and of greedy fits.

The baseline of the fit works like the code of SSRL's authors: it evaluates every candidate's mask over the rows at
every position. The baseline of counting is a plain GROUP BY of the same columns by pandas.

{speed}
"""

import resource
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pandas as pd
from measure import median_seconds, report

import hedgerow as hr
from hedgerow.learn.greedy import grow, private_choice
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner, Repeated
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.gini import SENSITIVITY, Gini
from hedgerow.privacy.noise import PermuteAndFlip, SecureNoise
from hedgerow.schema import Candidates


def adult():
    """Return the 48,842 × 20 booleans of adult_binary without gender and age."""
    data = hr.datasets.load("adult_binary").without_sensitive()
    return data.frame.to_numpy().astype(bool), data.labels.to_numpy().astype(bool)


def row_by_row_fit(X, y, candidates):
    """Fit as SSRL's authors do, with the same mechanism: masks over rows for every candidate at every position."""

    class Rows:
        def __init__(self, X, y):
            self.X, self.y, self.schema = X, y, candidates.schema

        def mask(self, antecedent):
            mask = np.ones(len(self.X), dtype=bool)
            for literal in antecedent:
                mask &= self.X[:, self.schema.names.index(literal.attribute)] == (literal.operator == "true")
            return mask

        def total(self):
            return np.bincount(self.y, minlength=2)

        def class_counts(self, candidates):
            return np.array([np.bincount(self.y[self.mask(a)], minlength=2) for a in candidates])

        def without(self, antecedent):
            left = ~self.mask(antecedent)
            return Rows(self.X[left], self.y[left])

    choice = PlannedRelease("rule_choice", PermuteAndFlip(Fraction(1, 5), SENSITIVITY))
    runner = ReleaseRunner((Repeated((choice,), 4),), Gate(Budget(1), SecureNoise()))
    choose = private_choice(runner, Gini())
    return grow(Rows(X, y.astype(int)), candidates, 4, choose)


def ten_million():
    """Count ten million rows of 20 booleans in this process, and print seconds and peak memory."""
    rng = np.random.default_rng(0)
    n, share = 10_000_000, rng.random(20) ** 2
    X = np.empty((n, 20), dtype=bool)
    for start in range(0, n, 500_000):
        X[start : start + 500_000] = rng.random((500_000, 20)) < share
    y = rng.random(n) < 0.3
    start = time.perf_counter()
    hr.Tally.count(X, y)
    seconds = time.perf_counter() - start
    print(f"{seconds:.2f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f}")


def main():
    X, y = adult()
    tally = hr.Tally.count(X, y)
    candidates = Candidates.of(tally.schema, 2)
    classifier = hr.PrivateRuleListClassifier(1.0, search="greedy", max_literals=2)
    frame = pd.DataFrame(X).assign(y=y)
    count = median_seconds(lambda: hr.Tally.count(X, y), 21)
    group = median_seconds(lambda: frame.groupby(list(frame), observed=True).size(), 7)
    fit = median_seconds(lambda: classifier.fit_tally(tally), 21)
    whole = median_seconds(lambda: classifier.fit(X, y), 21)
    naive = median_seconds(lambda: row_by_row_fit(X, y, candidates), 3)
    child = subprocess.run([sys.executable, __file__, "ten-million"], capture_output=True, text=True, check=True)
    seconds, memory = child.stdout.split()
    shape = f"{len(X):,} × {X.shape[1]} (adult_binary)"
    rows = [
        ("tally", shape, f"{1e3 * count:.1f} ms", "50 ms", f"pandas GROUP BY {1e3 * group:.1f} ms"),
        ("private fit of a tally", f"{len(candidates)} candidates, K = 5", f"{1e3 * fit:.1f} ms", "20 ms",
         f"row by row {1e3 * naive:.0f} ms"),
        ("tally and private fit", shape, f"{1e3 * whole:.1f} ms", "", ""),
        ("tally", "10,000,000 × 20", f"{seconds} s", "15 s", ""),
        ("peak memory of it", "10,000,000 × 20", f"{memory} GiB", "4 GB", "the table itself is 0.19 GiB"),
    ]  # fmt: skip
    report("speed", [dict(zip(("what", "size", "median", "goal", "twin"), row, strict=True)) for row in rows])


if __name__ == "__main__":
    ten_million() if sys.argv[1:] == ["ten-million"] else main()
