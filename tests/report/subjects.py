"""Models, tables and records that reports are made of in tests."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import SOFTWARE, PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema

SCHEMA = Schema({"age": Integer(0, 99, cuts=(30, 60)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
CHARGES = (Charge("draw of a tree", Fraction(1, 2), mechanism="exponential"), Charge("counts", Fraction(1, 2)))
CARD = PrivacyCard(CHARGES, noise="OpenDP", software=SOFTWARE, notes=("columns are public",))
OF_COUNTS = Charge(Fact("leaf_counts", of="leaves"), Fraction(1, 2), mechanism=DiscreteLaplace(Fraction(1, 2)).record)
COUNTED = replace(CARD, charges=(CHARGES[0], OF_COUNTS))  # states the noise on the counts, which CARD does not


def a_tree(card: PrivacyCard = CARD, *, counts: tuple[tuple[int, int], ...] = ((4, 30), (50, 1), (-2, 0))) -> Tree:
    """Return a tree: over 60; else smokers; else the others. By default its counts are noisy."""
    old, smoker = Literal("age", ">", (60,)), Literal("smoker", "true", ())
    inner = Split(smoker, Leaf(counts[1]), Leaf(counts[2]))
    return Tree(SCHEMA, Split(old, Leaf(counts[0]), inner), card)


def without_privacy(counts: tuple[tuple[int, int], ...] = ((3, 30), (40, 12), (25, 0))) -> Tree:
    """Return a tree with exact counts and no guarantee: a leaf that is pure, and one with few of a class."""
    return a_tree(PrivacyCard.none("learned without privacy"), counts=counts)


def no_guarantee_reason() -> PrivacyCard:
    """Return a card that was charged and has no guarantee."""
    return replace(CARD, no_guarantee="seeded noise")


def a_table() -> tuple[pd.DataFrame, pd.Series]:
    """Return 90 rows: 30 of each age group, of whom a third smokes; the old are ill but for three."""
    age = np.repeat([20, 45, 80], 30)
    smoker = np.arange(90) % 3 == 0
    ill = np.where((age > 60) & (np.arange(90) % 10 != 0), "yes", "no")
    return pd.DataFrame({"age": age, "smoker": smoker}), pd.Series(ill, name="ill")


def rows_of(counts: tuple[tuple[int, int], ...]) -> tuple[pd.DataFrame, pd.Series]:
    """Return rows that fill the leaves of the tree: those over 60, then smokers, then the others, by class."""
    ages, smokers = (80, 20, 20), (False, True, False)
    rows = [
        (age, smoker, label)
        for age, smoker, both in zip(ages, smokers, counts, strict=True)
        for label, n in zip(("no", "yes"), both, strict=True)
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["age", "smoker", "ill"])
    return frame.drop(columns="ill"), frame["ill"]


def overfitted() -> tuple[DecisionTreeClassifier, Schema]:
    """Return a tree of 86 leaves, 31 of them of one row, grown by scikit-learn, with its schema."""
    values = np.repeat(np.arange(86), np.where(np.arange(86) < 31, 1, 3)).reshape(-1, 1)
    schema = Schema({"code": Integer(0, 999, cuts=())}, Label("y", (0, 1)))
    return DecisionTreeClassifier(random_state=0).fit(values, values[:, 0] % 2), schema


# A table whose bounds and deciles were declared from its rows, as `wage_tree` does by default.
WAGES = np.append(np.random.default_rng(0).lognormal(7.7, 0.4, 999).astype(int) + 401, 31847)
LOWEST_WAGE = int(WAGES.min())
DECILES = tuple(int(sorted(WAGES)[100 * i]) for i in range(1, 10))
WAGE_ROWS = pd.DataFrame({"wage": WAGES}), pd.Series(np.where(WAGES > 3000, "yes", "no"), name="left")


def wage_tree(card: PrivacyCard, low: int = LOWEST_WAGE, high: int = 31847, cuts: tuple[int, ...] = DECILES) -> Tree:
    """Return a tree on the wage, with one split at the last of the cut points."""
    schema = Schema({"wage": Integer(low, high, cuts=cuts)}, Label("left", ("no", "yes")))
    return Tree(schema, Split(Literal("wage", ">", (cuts[-1],)), Leaf((30, 70)), Leaf((600, 300))), card)
