"""Random trees and rule lists of any size on boolean attributes, whose text a reader can follow by hand."""

import re
from fractions import Fraction

import numpy as np

from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import NO_NOISE, PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Boolean, Label, Literal, Number, Schema

NAMES = tuple(f"x{place}" for place in range(12))
CLASSES = ("no", "yes", "unsure")
ATTRIBUTES = {name: Boolean() for name in NAMES}
SCHEMA = Schema(ATTRIBUTES, Label("y", CLASSES))
OF_NUMBERS = Schema(ATTRIBUTES, Number("days", 0, 32, 2))


def counted(epsilon: str) -> PrivacyCard:
    """Return the card of a model whose leaves were counted with noise."""
    noise = DiscreteLaplace(Fraction(epsilon)).record
    charges = (
        Charge("draw", Fraction(1)),
        Charge(Fact("leaf_counts", of="leaves"), Fraction(epsilon), mechanism=noise),
    )
    return PrivacyCard(charges, noise="OpenDP", software="hedgerow")


REWORDED = Charge(Fact("leaf_counts", of="leaves"), Fraction(1), mechanism="geometric")
CARDS = {
    "noisy": counted("1/5"),
    "nearly exact": counted("5"),
    "unknown": PrivacyCard((REWORDED,), noise="OpenDP", software="hedgerow"),
    "exact": PrivacyCard.none("example"),
    "uncounted": PrivacyCard((Charge("draw", Fraction(1)),), noise=NO_NOISE, software="hedgerow"),
}


def leaf(rng: np.random.Generator, kind: str, few: float, schema: Schema = SCHEMA) -> Leaf:
    levels = schema.target.values
    if kind == "uncounted":
        return Leaf(label=levels[rng.integers(len(levels))])
    counts = rng.integers(-8, 9, len(levels)) if rng.random() < few else rng.integers(0, 300, len(levels))
    counts = np.maximum(counts, 0) if kind == "exact" else counts
    if schema.target.as_number is None:
        return drawn_leaf(counts, levels) if counts.sum() % 2 else Leaf(tuple(counts.tolist()))
    held = np.maximum(counts, 0)
    return Leaf(tuple(counts.tolist()), mean=float(held @ np.array(levels) / max(held.sum(), 1)))


def drawn_leaf(counts: np.ndarray, classes: tuple[str, ...]) -> Leaf:
    """Return a leaf with counts, and with probabilities that are none of their shares."""
    weights = np.abs(counts[::-1]) + 1.0
    label = classes[int(weights.argmax())]
    return Leaf(tuple(counts.tolist()), label, tuple((weights / weights.sum()).tolist()))


def tree(seed: int, n_leaves: int, kind: str, *, few: float = 0.7, schema: Schema = SCHEMA) -> Tree:
    rng = np.random.default_rng(seed)

    def node(n: int) -> Split | Leaf:
        if n == 1:
            return leaf(rng, kind, few, schema)
        n_true = int(rng.integers(max(1, n // 4), max(2, n - n // 4)))
        test = Literal(NAMES[rng.integers(len(NAMES))], ("true", "false")[rng.integers(2)])
        return Split(test, node(n_true), node(n - n_true))

    return Tree(schema, node(n_leaves), CARDS[kind])


def rule_list(seed: int, n_rules: int, kind: str, *, few: float = 0.7, schema: Schema = SCHEMA) -> RuleList:
    rng = np.random.default_rng(seed)

    def antecedent() -> tuple[Literal, ...]:
        names = rng.choice(NAMES, rng.integers(1, 4), replace=False).tolist()
        return tuple(Literal(name, ("true", "false")[rng.integers(2)]) for name in names)

    rules = [Rule.of(antecedent(), leaf(rng, kind, few, schema)) for _ in range(n_rules - 1)]
    return RuleList(schema, (*rules, Rule.of((), leaf(rng, kind, few, schema))), CARDS[kind])


def rows(seed: int, size: int = 64) -> list[dict[str, bool]]:
    drawn = np.random.default_rng(seed).integers(0, 2, (size, len(NAMES))).astype(bool)
    return [dict(zip(NAMES, row.tolist(), strict=True)) for row in drawn]


def lines_of(text: str) -> list[str]:
    """Return the lines of the leaves, without remarks and caveats."""
    return re.split(r"\n\(|\n\n", text)[0].split("\n")
