"""Chance in reports: false alarms and power.

Reports on models for which the right answer is known: each draw generates new training rows and held-out rows. A *false
alarm* is a model that is no better than a constant and passes `accuracy`, a group with no worse results that needs
review in `groups`, or leaves without a difference that need review in `separation`. The model has 8 leaves, and no
guarantee unless stated. Rows of the same unit are equal. *Fitted to noise*: private trees of ε = 3, trained on random
labels.

{chance_alarms}

With a real effect: a gain of 5 percentage points over the constant (5 % of its squared error for numbers); a group with
results 5 points worse; right guesses of membership from class and leaf. `pass` of `separation` is a false support if
the guesses are above 55 %.

{chance_power}

All rates are in [results/chance.csv](results/chance.csv). Cases that are in the file are kept.
"""

import csv
from collections import Counter
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
from measure import RESULTS

import hedgerow as hr
from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import SOFTWARE, PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.report import Report
from hedgerow.schema import Literal

NULL_DRAWS, POWER_DRAWS = 150, 60
ATTRIBUTES = {name: hr.Boolean() for name in ("a", "b", "c")}
PRIVATE = PrivacyCard((Charge("draw", Fraction(1), mechanism="exponential"),), noise="OpenDP", software=SOFTWARE)
EXACT = PrivacyCard.none("learned without privacy")
COSTS = {"no": {"yes": 1}, "yes": {"no": 4}}
CHECKS = ("accuracy", "groups", "separation")
FILE = RESULTS / "chance.csv"


@dataclass(frozen=True)
class Case:
    """What is true of a model on all rows, and the tables that are drawn."""

    name: str
    train: int = 400
    test: int = 400
    groups: int = 2
    unit_rows: int = 1  # at most; each unit has from 1 to so many rows
    label: str = "classes"
    gain: float = 0.0  # in accuracy over the constant, or as a share of its error
    deficit: float = 0.0  # in accuracy of one group below the constant
    guesses: float = 0.5  # right ones of membership from class and leaf
    has_column: bool = True  # the column of the unit
    has_train: bool = True  # the training rows, besides the held-out ones
    is_private: bool = False
    is_fitted: bool = False  # learned from the training rows, whose labels are noise

    @property
    def is_null(self):
        return not (self.gain or self.deficit or self.guesses > 0.5)


NULLS = (
    Case("independent rows"),
    Case("one group", groups=1),
    Case("20 groups", 2000, 2000, 20),
    Case("100 groups", groups=100),
    Case("few held-out rows", 4000, 200),
    Case("few training rows", 200, 4000),
    Case("few rows", 60, 60),
    Case("held-out rows alone, balanced classes", groups=5, label="balanced", has_train=False),
    Case("units of up to 6 rows", 1000, 1000, 5, 6),
    Case("units of up to 6 rows, without their column", 1000, 1000, 5, 6, has_column=False),
    Case("units of up to 40 rows", 1000, 1000, 5, 40),
    Case("costs", 1000, 400, 5, label="costs"),
    Case("numbers", 1000, 400, 5, label="numbers"),
    Case("skewed numbers", 1000, 400, 5, label="skewed"),
    Case("skewed numbers, few rows", 200, 60, label="skewed"),
    Case("with a guarantee", 1000, 400, 5, is_private=True),
    Case("fitted to noise", 1000, 400, 5, is_fitted=True),
    Case("fitted to noise, with a guarantee", 1000, 400, 5, is_fitted=True, is_private=True),
)
POWER = (
    *(Case("gain", 1000, rows, gain=0.05) for rows in (400, 1000, 2000)),
    Case("gain, numbers", 1000, 1000, label="numbers", gain=0.05),
    Case("gain, units of up to 6 rows", 1000, 4000, 2, 6, gain=0.05),
    *(Case("deficit of one group", 1000, 2 * rows, deficit=0.05) for rows in (1000, 2000)),
    *(Case("deficit of one group", 1000, 20 * rows, 20, deficit=0.05) for rows in (1000, 3000)),
    Case("right guesses", 2000, 2000, guesses=0.525),
    *(Case("right guesses", rows, rows, guesses=0.55) for rows in (400, 1000, 2000)),
    *(Case("right guesses", rows, rows, guesses=0.6) for rows in (100, 200, 400)),
    Case("right guesses, units of up to 6 rows", 2000, 2000, 2, 6, guesses=0.6),
)
COLUMNS = [field.name for field in fields(Case)]


def main():
    for case in (*NULLS, *POWER):
        if described(case) not in [{name: row[name] for name in COLUMNS} for row in recorded()]:
            append(measured(case, NULL_DRAWS if case.is_null else POWER_DRAWS))


def recorded():
    if not FILE.exists():
        return []
    with FILE.open(newline="") as file:
        return list(csv.DictReader(file))


def append(row):
    rows = [*recorded(), row]
    with FILE.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(row, flush=True)


def described(case):
    return {name: str(getattr(case, name)) for name in COLUMNS}


def measured(case, draws):
    """Return how often each check has each status, and how often there is a false alarm on a sheet."""
    counts = Counter()
    for seed in range(draws):
        board = Report.of(**drawn(case, np.random.default_rng([seed, case.train, case.test]))).board
        statuses = {check.key: check.status for check in board.checks if check.key in CHECKS}
        counts.update(statuses.items())
        counts["alarm"] += statuses["accuracy"] == "pass" or "review" in (statuses["groups"], statuses["separation"])
    shown = {
        f"{key} {status}": counts[key, status] / draws for key in CHECKS for status in ("pass", "review", "not_run")
    }
    return described(case) | {"draws": draws} | shown | {"false alarm": counts["alarm"] / draws if case.is_null else ""}


def drawn(case, rng):
    """Return the arguments of `Report.of` for one draw."""
    unit = None if case.unit_rows == 1 else hr.Unit("person", case.unit_rows)
    schema = hr.Schema(ATTRIBUTES, LABELS[case.label], unit=unit)
    train, test = (sample(case, rng, rows, side) for rows, side in ((case.train, 1), (case.test, -1)))
    card = PRIVATE if case.is_private else EXACT
    root = root_of(schema)
    if case.is_fitted:
        seed = int(rng.integers(2**31))
        root = hr.PrivateTreeClassifier(3, schema=schema, max_depth=2, random_state=seed).fit(*train).tree_.root
    costs = {"costs": COSTS} if case.label == "costs" else {}
    return {"model": Tree(schema, root, card), "test": test, "by": ["ward"], **costs} | (
        {"train": train} if case.has_train else {}
    )


LABELS = {
    "classes": hr.Label("y", ("no", "yes")),
    "balanced": hr.Label("y", ("no", "yes")),
    "costs": hr.Label("y", ("no", "yes")),
    "numbers": hr.Number("y", 0, 100, 8),
    "skewed": hr.Number("y", 0, 100, 8),
}


def root_of(schema):
    """Return the root of a tree with 8 leaves, which decides by the first attribute alone."""
    said = (56.25, 43.75) if isinstance(schema.label, hr.Number) else ("yes", "no")

    def inner(label):
        ends = [Split(Literal("c", "true"), Leaf(label=label), Leaf(label=label)) for _ in range(2)]
        return Split(Literal("b", "true"), *ends)

    return Split(Literal("a", "true"), *map(inner, said))


def sample(case, rng, rows, side):
    """Return a table and its labels: whole units, the last of them cut off."""
    whose = np.repeat(np.arange(rows), rng.integers(1, case.unit_rows + 1, rows))[:rows]
    n = int(whose.max()) + 1
    ward = rng.integers(case.groups, size=n)
    a, y = TRUTHS[case.label](case, rng, n, ward == 0, side)
    X = pd.DataFrame({"a": a, "b": rng.random(n) < 0.5, "c": rng.random(n) < 0.5, "ward": ward})
    X["ward"] = "w" + X["ward"].astype(str)
    if case.unit_rows > 1 and case.has_column:
        X["person"] = [f"{side} {k}" for k in range(n)]
    return X.iloc[whose].reset_index(drop=True), pd.Series(y[whose], name="y")


def classes(case, rng, n, is_first, side):
    """Return the first attribute, which half of the rows have, and classes: a half of these and a fifth of others."""
    ill = rng.random(n) < 0.35
    more = (case.gain - case.deficit * is_first) / 2 + side * (case.guesses - 0.5) * np.where(ill, 0.35, -0.65)
    with_a = np.where(ill, (0.25 + more) / 0.35, (0.25 - more) / 0.65)
    with_a = np.where(case.is_fitted, 0.5, with_a)
    return rng.random(n) < with_a, np.where(ill, "yes", "no")


def balanced(case, rng, n, is_first, side):  # noqa: ARG001 -- the signature of all truths
    return rng.random(n) < 0.5, np.where(rng.random(n) < 0.5, "yes", "no")


def costly(case, rng, n, is_first, side):  # noqa: ARG001
    """Return classes for which the decision "no" costs the same as the model's decision."""
    a = rng.random(n) < 0.5
    return a, np.where(rng.random(n) < np.where(a, 0.4, 0.2), "yes", "no")


def numbers(case, rng, n, is_first, side, noise=lambda rng, n: rng.normal(0, 10, n)):  # noqa: ARG001
    """Return numbers whose groups are half as far apart as the model predicts, so that the mean is as good."""
    a = rng.random(n) < 0.5
    return a, np.where(a, 1, -1) * (3.125 + case.gain * 8.8) + 50 + noise(rng, n)


def skew(rng, n):
    return 5 * (rng.lognormal(0, 1, n) - np.exp(0.5))


TRUTHS = {
    "classes": classes,
    "balanced": balanced,
    "costs": costly,
    "numbers": numbers,
    "skewed": partial(numbers, noise=skew),
}

if __name__ == "__main__":
    main()
