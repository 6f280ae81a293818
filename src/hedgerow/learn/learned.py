"""Results of learners: rules or tests with counts, labels or probabilities, from which a model is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hedgerow.learn.search.lattice import Stop, Take
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.models.leaf import Leaf
from hedgerow.models.points import AttributePoints
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.models.tree import Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema.candidates import Antecedent
from hedgerow.schema.schema import Schema
from hedgerow.tally import Counts, Tally
from hedgerow.text.messages import number_of


@dataclass(frozen=True, eq=False)
class LearnedList:
    """The rules of a list."""

    antecedents: Sequence[Antecedent]  # those of the rules, without the default rule
    counts: Counts | None = None  # rows of each class in each rule, the default rule last
    values: Sequence[int] | None = None  # the value of each rule, the default rule last: a class, or what `loss` has
    loss: Loss | None = None  # the loss by which the values were drawn. None where they are classes.

    def model(self, schema: Schema, card: PrivacyCard) -> RuleList:
        """Return the rule list."""
        rules: list[Rule] = []
        for i, antecedent in enumerate([*self.antecedents, ()]):
            counts, value = (None if each is None else each[i] for each in (self.counts, self.values))
            leaf = _leaf(counts, value, self.loss, schema)
            rules.append(Rule(antecedent, leaf.counts, leaf.label, leaf.probabilities))
        return RuleList(schema, tuple(rules), card)


@dataclass(frozen=True, eq=False)
class LearnedTree:
    """The tests of a tree."""

    space: Space  # the tests there are
    # The tests taken, and the values of the leaves where they were drawn: classes, or what `loss` has
    tree: Take | Stop
    counts: Iterable[Any] | None = None  # rows of each class in each leaf, the rows that satisfy a test first
    loss: Loss | None = None  # the loss by which the values were drawn. None where they are classes.

    def model(self, schema: Schema, card: PrivacyCard) -> Tree:
        """Return the tree."""
        return Tree(schema, self._node(self.tree, None if self.counts is None else iter(self.counts)), card)

    def _node(self, part: Take | Stop, counts: Iterator[Any] | None) -> Split | Leaf:
        if isinstance(part, Stop):
            return _leaf(None if counts is None else next(counts), part.value, self.loss, self.space.candidates.schema)
        (literal,) = self.space.antecedents[part.option]
        return Split(literal, self._node(part.caught, counts), self._node(part.left, counts))


def _leaf(counts: Any, value: int | None, loss: Loss | None, schema: Schema) -> Leaf:
    """Return a leaf of released counts, of a drawn value, or of both."""
    released = None if counts is None else tuple(map(int, counts))
    if value is None:
        return Leaf(released)
    if loss is None or not loss.draws_probabilities:
        return Leaf(released, schema.target.values[value])
    return Leaf(released, schema.target.values[loss.labels[value]], loss.values[value])


@dataclass(frozen=True, eq=False)
class LearnedScorecard:
    """Points that add up."""

    # Points by bin of each attribute that is used: one column for two classes, or one for each class
    points: Mapping[int, Any]
    base: Any  # the points that every row starts with
    unit: float  # the log-odds of one point
    error: float | None  # the standard error of a row's log-odds by the noise of the releases

    def model(self, schema: Schema, card: PrivacyCard) -> Scorecard:
        """Return the scorecard, without attributes whose points are all 0."""
        parts = tuple(
            AttributePoints(schema.names[attribute], tuple(map(tuple, points.tolist())))
            for attribute, points in sorted(self.points.items())
            if points.any()
        )
        return Scorecard(schema, tuple(map(int, self.base)), parts, self.unit, self.error, card)


LEAF_SHARE = Fraction(1, 5)
"""The share of a model's epsilon for its leaf counts."""


def release_leaf_counts(tally: Tally, antecedents: Sequence[Antecedent], gate: Gate, epsilon: Fraction) -> Counts:
    """Release the histogram of rule and class, shape ``(n_rules, n_classes)``, the default rule last."""
    what = f"counts of {number_of(len(antecedents) + 1, 'rule')} by class"
    return _release_counts(tally, lambda: tally.leaf_counts(antecedents).ravel(), gate, epsilon, what)


def release_tree_counts(tally: Tally, space: Space, tree: Take | Stop, gate: Gate, epsilon: Fraction) -> Counts:
    """Release the histogram of leaf and class, shape ``(n_leaves, n_classes)``, the rows that satisfy a test first."""
    return _release_counts(
        tally,
        lambda: np.concatenate(list(leaf_totals(tally, space, tree))),
        gate,
        epsilon,
        "counts of the leaves by class",
    )


def _release_counts(tally: Tally, query: Callable[[], Counts], gate: Gate, epsilon: Fraction, purpose: str) -> Counts:
    """Release counts by leaf and class.

    The leaves of a model partition the rows, so one added row changes one count by one: ℓ1 sensitivity 1 for all counts
    together, and one charge of ε for them all (docs/mathematics.md, fact 2; parallel composition).
    """
    noisy = gate.release(DiscreteLaplace(epsilon), query, purpose=purpose)
    return np.array(noisy, dtype=np.int64).reshape(-1, tally.schema.target.n_levels)


def divided(tally: Tally, space: Space, option: int) -> tuple[tuple[int, Tally], tuple[int, Tally]]:
    """Return both branches of an option with their rows."""
    antecedent = space.antecedents[option]
    return (CAUGHT, tally.within(antecedent)), (LEFT, tally.without(antecedent))


def leaf_totals(tally: Tally, space: Space, tree: Take | Stop) -> Iterator[Counts]:
    """Yield the rows of each class in each leaf, the rows that satisfy a test first. Exact, private."""
    if isinstance(tree, Stop):
        yield tally.total()
        return
    (_, caught), (_, left) = divided(tally, space, tree.option)
    yield from leaf_totals(caught, space, tree.caught)
    yield from leaf_totals(left, space, tree.left)
