"""Tables that differ by one row, chosen to be as revealing as can be, and what is compared of what is released of them.

Every release runs as users run it: public calls, noise from a cryptographic generator, no seed. Histograms with shared
noise are released by their mechanism alone, whose answers say more than a scorecard made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hedgerow as hr
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.models import Rule, RuleList
from hedgerow.models.model import Model
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema

SCHEMA = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (False, True)))
NARROW = Schema({"a": Boolean()}, Label("y", (False, True)))
BINS = Schema({"a": Boolean(missing="bin"), "b": Boolean(missing="bin")})
NUMBER = Schema({"n": Integer(0, 3, cuts=())})
ASKED = RuleList(
    SCHEMA,
    (Rule((Literal("a", "true"),), label=True), Rule((), label=False)),
    PrivacyCard.none("made up", software="hedgerow"),
)
Draw = Callable[[Any, Any], Hashable]


@dataclass(frozen=True, eq=False)
class Pair:
    """A table, and the same with one row more.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The columns of the larger table. Its last row is the one that was added.
    y : ndarray of shape (n_rows,)
        The labels.
    """

    X: NDArray[Any]
    y: NDArray[np.bool_]

    @classmethod
    def of(cls, *rows: tuple[bool, bool, bool]) -> Pair:
        """Return the pair of a table whose rows are (a, b, label)."""
        table = np.array(rows, dtype=bool)
        return cls(table[:, :2], table[:, 2])

    @property
    def sides(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Both tables with their labels, the smaller first."""
        return (self.X[:-1], self.y[:-1]), (self.X, self.y)


_PLAIN, _ODD = (False, False, False), (True, False, True)
PAIRS = {
    "none and one": Pair.of(_ODD),
    # the sixth is alone in its class and in its leaf: it alone says which split is pure
    "five and six": Pair.of(*[_PLAIN] * 5, _ODD),
    # wrong for all who get the first one wrong: a model that errs on both is rarer by e^ε
    "one class: one and two": Pair.of(_PLAIN, _PLAIN),
    # all splits are pure before; the impurity rises by 2 rows less 2/21, of at most 2
    "one class: twenty and another": Pair.of(*[_PLAIN] * 20, _ODD),
    # the impurity as a share rises from 0 to 1/2, the most there is
    "one class: one and another": Pair.of(_PLAIN, _ODD),
}


def numbers(*values: int) -> Pair:
    """Return the pair of a table of one column of whole numbers."""
    return Pair(np.array(values)[:, np.newaxis], np.zeros(len(values), dtype=bool))


NUMBERS = {
    "no value and one": numbers(0),
    # before, the cut points are 1 and 1 but for one draw in a hundred; after, 1 and 2 as often
    "eleven values and twelve": numbers(*[1] * 5, *[2] * 6, 3),
    "five values and another": numbers(0, 0, 1, 1, 1, 3),
}


def fits(estimator: Any) -> Callable[[Pair], Draw]:
    """Return what fits an estimator, to as many columns as its schema has, and reduces its model.

    To the conditions of its leaves, the charges on its card, the labels where those were drawn, and, where counts are
    released, whether that of the added row's class in its leaf, and the sum of all others, are above those of the
    smaller table.
    """
    width = len(estimator.schema)

    def of(pair: Pair) -> Draw:
        truths: dict[tuple[str, ...], tuple[NDArray[np.int64], tuple[int, int]]] = {}

        def draw(X: Any, y: Any) -> Hashable:
            fitted = estimator.fit(X[:, :width], y)
            model = fitted.tree_ if hasattr(fitted, "tree_") else fitted.rule_list_
            charges = tuple((charge.purpose, charge.epsilon, charge.mechanism) for charge in model.privacy.charges)
            # shares beside counts follow from these: they would only make outcomes finer
            leaves = tuple((leaf.label, None if leaf.counts else leaf.probabilities) for leaf in model.leaves)
            drawn = model.conditions, charges, leaves
            if not model.has_counts:
                return drawn
            if model.conditions not in truths:
                truths[model.conditions] = _truth(model, pair)
            before, own = truths[model.conditions]
            more = np.array([leaf.counts for leaf in model.leaves]) - before
            return *drawn, bool(more[own] > 0), bool(more.sum() - more[own] > 0)

        return draw

    return of


def scorecards(estimator: Any) -> Callable[[Pair], Draw]:
    """Return what fits a scorecard, reduced to its points, the side on which its base is, and its unit to a tenth."""
    width = len(estimator.schema)

    def draw(X: Any, y: Any) -> Hashable:
        card = estimator.fit(X[:, :width], y).scorecard_
        return card.base > (0,), tuple((part.attribute, part.points) for part in card.parts), round(card.unit, 1)

    return lambda _: draw


def _truth(model: Model, pair: Pair) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Return the smaller table's rows by leaf and class, and the leaf and class of the added row."""
    leaves, codes = model.apply(pair.X[:, : len(model.schema)]), pair.y.astype(np.int64)
    counts = np.zeros((len(model), 2), dtype=np.int64)
    np.add.at(counts, (leaves[:-1], codes[:-1]), 1)
    return counts, (int(leaves[-1]), int(codes[-1]))


def cuts(epsilon: float) -> Callable[[Pair], Draw]:
    """Return what learns two cut points between 0 and 3."""

    def draw(X: Any, y: Any) -> Hashable:  # noqa: ARG001 -- a schema is learned without labels
        return hr.Schema.learn(X, NUMBER, epsilon=epsilon, bins=3)["n"].cuts

    return lambda _: draw


def answers(X: Any, y: Any, budget: hr.Budget | None, release: str = "counts") -> NDArray[np.int64]:
    """Return all counts of three answers of an oracle: the rows, and the errors of a constant and of a rule list."""
    oracle = hr.Oracle(X, y, budget, 3, classes=(False, True), release=release)
    rows: Any = oracle.marginals(BINS)
    errors: list[Any] = [oracle.error_marginals(BINS, asked) for asked in (Always(True), ASKED)]
    return np.concatenate([rows.rows, *(part for result in errors for part in (result.wrong, result.right))])


def shared(epsilon: float) -> Callable[[Pair], Draw]:
    """Return what releases histograms with shared noise, reduced to how much nearer they are to the larger table."""
    mechanism = SharedHistograms(Fraction(epsilon), (2, 2))
    release, grid = mechanism.build(), mechanism.grid

    def of(pair: Pair) -> Draw:
        smaller, larger = (grid * by_class(*side) for side in pair.sides)

        def draw(X: Any, y: Any) -> Hashable:
            noisy = np.rint(np.array(release(by_class(X, y))) * grid).astype(np.int64)
            return mechanism.distance(smaller, noisy) - mechanism.distance(larger, noisy)

        return draw

    return of


def by_class(X: NDArray[Any], y: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rows by class, in each class by the bins of two booleans."""
    return np.array([[(X[y == label, i] == value).sum() for i in (0, 1) for value in (0, 1)] for label in (0, 1)])


def counted(epsilon: float) -> Callable[[Pair], Draw]:
    """Return what asks for counts, reduced to how much nearer each answer is to the larger table's than the smaller's.

    An answer's distance is the largest of an attribute's, summed over kinds of counts, as shared noise measures it.
    """

    def of(pair: Pair) -> Draw:
        smaller, larger = (answers(*side, None).reshape(-1, 2, 3) for side in pair.sides)

        def draw(X: Any, y: Any) -> Hashable:
            noisy = answers(X, y, hr.Budget(epsilon)).reshape(-1, 2, 3)
            rows, *errors = (_gauges(noisy - smaller) - _gauges(noisy - larger)).tolist()
            return rows, errors[0] + errors[1], errors[2] + errors[3]

        return draw

    return of


def _gauges(changes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest change in ℓ1 of an attribute, for each kind of counts: ``(n_kinds, n_attributes, n_bins)``."""
    return np.abs(changes).sum(axis=2).max(axis=1)


def gaussian(epsilon: float, delta: float) -> Callable[[Pair], Draw]:
    """Return what asks for counts with Gaussian noise, reduced to the sum of those that the row changes, by steps."""

    def of(pair: Pair) -> Draw:
        before, after = (answers(*side, None) for side in pair.sides)

        def draw(X: Any, y: Any) -> Hashable:
            above = answers(X, y, hr.Budget(epsilon, delta), "gaussian") - before
            moved = above[before != after]
            return int(np.clip(moved.sum(), -6, 12)), bool(above.sum() > moved.sum())

        return draw

    return of
