"""Exact membership risk of a draw: the most powerful attack on each row, and trade-off curves, without shadow fits."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import nan
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd

from hedgerow.audit.attack_record import AttackMeasure, AttackResult
from hedgerow.audit.attack_subject import AttackSubject, order_digest
from hedgerow.audit.exact.outcomes import Cells, DrawOutcomes, repeated
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.inference.membership import PRIVATE
from hedgerow.audit.plot import risk_curve
from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.learn.base import Specification
from hedgerow.learn.blocks import DrawProbabilities
from hedgerow.learn.contract import TallyEstimator, specification_of
from hedgerow.learn.inputs import check_learnable
from hedgerow.learn.objectives import OBJECTIVE
from hedgerow.learn.rule_lists import PrivateRuleListClassifier, PrivateRuleListRegressor
from hedgerow.learn.search.outside import MOST_WEIGHT
from hedgerow.learn.searches import SearchSpecification, draw_probabilities
from hedgerow.learn.trees import PrivateTreeClassifier, PrivateTreeRegressor
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import column_of
from hedgerow.text.axes import Axes
from hedgerow.text.messages import describe_argument

Drawn = PrivateTreeClassifier | PrivateRuleListClassifier | PrivateTreeRegressor | PrivateRuleListRegressor
"""The estimators whose model is drawn from all."""


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff:
    """The ROC curve of the best test between two known distributions over finitely many outcomes (Neyman and Pearson).

    **Private** where the distributions are.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The corners of the curve, from (0, 0) to (1, 1): it is straight between them. True positives are outcomes taken
        as those of the first distribution that are its own.

    References
    ----------
    Dong, Roth and Su, *Gaussian Differential Privacy*, JRSS-B 2022, Section 2, for the trade-off function
    ``1 - tpr(fpr)``.

    Examples
    --------
    >>> curve = TradeOff.of(np.array([0.3, 0.7]), np.array([0.2, 0.8]))
    >>> float(round(curve.advantage, 3)), float(round(curve.tpr_at(0.1), 3))
    (0.1, 0.15)
    """

    fpr: Floats
    tpr: Floats

    @classmethod
    def of(cls, one: Floats, other: Floats) -> Self:
        """Return the curve of two distributions, as chances of the same outcomes, each of shape ``(n_outcomes,)``."""
        kept = (one > 0) | (other > 0)
        one, other = one[kept], other[kept]
        with np.errstate(divide="ignore"):
            order = np.argsort(-(np.log(one) - np.log(other)), kind="stable")
        tpr, fpr = (np.minimum(np.cumsum([0.0, *chances[order]]), 1.0) for chances in (one, other))
        tpr[-1] = fpr[-1] = 1.0
        return cls(fpr, tpr)

    @property
    def advantage(self) -> float:
        """The largest difference of true and false positive rate, which is the total variation."""
        return float((self.tpr - self.fpr).max())

    def tpr_at(self, fpr: float) -> float:
        """Return the true positive rate of the best test with this false positive rate, from 0 to 1."""
        if isinstance(fpr, bool) or not isinstance(fpr, Real) or not 0 <= fpr <= 1:
            raise ArgumentError(f"fpr must be between 0 and 1, got {describe_argument(fpr)}.")
        # where the curve rises at once, the upper of two corners counts
        corners = np.flatnonzero(np.append(np.diff(self.fpr) > 0, True))
        return float(np.interp(fpr, self.fpr[corners], self.tpr[corners]))

    def __repr__(self) -> str:
        return f"<TradeOff of {len(self.fpr)} corners; private where its distributions are>"


def exact_membership(estimator: Drawn, X: Any, y: Any, *, others: tuple[Any, Any] | None = None) -> "ExactMembership":
    """Compute what the best membership inference attack on one private fit gains, for every row of a table.

    The attacker knows the learner, all its parameters, the schema, and **all other rows**, sees the released model, and
    decides whether the row was in the table. A draw has a normaliser, so the likelihood ratio of every model is known
    (docs/attacks.md has the theorem): nothing is sampled, no model is fitted, and no attack on this one release does
    better that has nothing else, such as the time that a fit took. Neighbouring tables differ by one row.

    **The result is private**: an exact function of the rows, for the curator's eyes only. Nothing is charged, and
    nothing is released.

    Parameters
    ----------
    estimator : PrivateTreeClassifier, PrivateRuleListClassifier, PrivateTreeRegressor or PrivateRuleListRegressor
        The plan, with any objective and any costs: an unfitted estimator whose model is drawn as a whole
        (``search="exact"``, or "auto" where it chooses so). `random_state` and `budget` are not used.
    X, y : frame or array of shape (n_rows, n_attributes), and series or array of shape (n_rows,)
        The rows of the table, and their labels, or numbers.
    others : tuple of X and y, optional
        Rows that are not in the table, whose risk in joining it is computed too: they come after the table's.

    Raises
    ------
    ValueError
        If a parameter is out of range, a value does not fit the schema, the search is greedy, in several blocks or too
        large, there are too many outcomes, the schema is taken from the data, or it has a unit of privacy, or a weight
        and means are released.
    TypeError
        If the estimator is of another kind.

    References
    ----------
    Neyman and Pearson, *On the Problem of the Most Efficient Tests of Statistical Hypotheses*, 1933. Baker, *Trainable
    Grammars for Speech Recognition*, 1979, for the inside-outside algorithm.

    Examples
    --------
    >>> import hedgerow as hr
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    >>> y = X[:, 0] ^ (np.arange(100) == 7)  # one row has the other label
    >>> found = exact_membership(hr.PrivateTreeClassifier(epsilon=0.05, max_depth=1), X, y)
    >>> found.error_probability[[0, 7]].round(3), found.advantage[[0, 7]].round(4)  # never above tanh(ε/4) = .0125
    (array([0.197, 0.805]), array([0.0078, 0.008 ]))
    """
    learner = drawn_learner(estimator)
    cells = cells_of(learner, X, y, None if others is None else LabelledRows.of_pair("others", others))
    rows = LabelledRows.of(X, y)
    found = _measured(estimator, draw_probabilities(learner, cells.tally), cells)
    order = order_digest(rows, learner.schema if isinstance(learner.schema, Schema) else None)
    return replace(found, subject=AttackSubject.of(estimator, rows, uses_seed=False), order=order)


def drawn_learner(estimator: object) -> SearchSpecification:
    """Return the learner of an estimator that may draw its model from all; TypeError for another estimator."""
    learner = specification_of(estimator) if isinstance(estimator, TallyEstimator | Specification) else None
    if isinstance(learner, SearchSpecification):
        return learner
    problem = f"expected a private tree or rule list, got {type(estimator).__name__}"
    raise ArgumentTypeError(f"{problem}: only a draw from all models has an exact likelihood ratio.")


def cells_of(learner: SearchSpecification, X: Any, y: Any, others: LabelledRows | None) -> Cells:
    """Encode rows and others by the learner's schema, which has to be public."""
    rows = LabelledRows.of(X, y)
    learner.check_public()
    if not len(rows) + (0 if others is None else len(others)):
        raise ArgumentError("expected one row or more, in the table or in others, got none.")
    return Cells.of(rows, others, _declared_schema(learner, rows))


def _measured(estimator: Drawn, draw: DrawProbabilities, cells: Cells) -> "ExactMembership":
    levels, target = cells.levels, cells.tally.schema.target
    is_member = np.arange(len(levels)) < cells.n_members
    outcomes = DrawOutcomes.of(draw, cells.patterns, levels, is_member, cells.steps)
    is_wrong = np.array(draw.loss.labels) != levels[:, None]
    inside, outside = outcomes.membership(levels)
    now = np.exp(outcomes.inside(levels))[is_member]
    right = float((now * ~is_wrong[is_member]).sum(axis=1).mean()) if cells.n_members else nan
    lost = now * draw.loss.by_value.T[levels[is_member]] / draw.loss.steps
    options = ["none", *(" and ".join(map(str, option)) for option in draw.options)]
    first = pd.Series(draw.chances.first, options, name="chance")
    uses = pd.Series(draw.chances.uses, options[1:], name="uses")
    return ExactMembership(
        learner=str(estimator),
        epsilon=float(estimator.epsilon or 0),
        weight=whole_weight(draw, cells.tally.schema),
        epsilon_of_counts=float(draw.counts_epsilon),
        loss=draw.score,
        error_probability=(np.exp(outcomes.without) * is_wrong).sum(axis=1),
        advantage=np.abs(inside - outside).sum(axis=1) / 2,  # the total variation
        realised_loss=outcomes.largest_ratio(levels),
        label_advantage=np.max([outcomes.label_distance(levels, other) for other in range(target.n_levels)], axis=0),
        inside=inside,
        outside=outside,
        expected_accuracy=right if target.as_number is None else nan,
        expected_loss=float(lost.sum(axis=1).mean()) if cells.n_members else nan,
        first_options=first.sort_values(ascending=False, kind="stable"),
        mean_uses=uses.sort_values(ascending=False, kind="stable"),
    )


def whole_weight(draw: DrawProbabilities, schema: Schema) -> float:
    """Return the weight of a loss of 1 of a row of the largest weight, if rows have weights."""
    if schema.weight is not None and draw.counts_epsilon:
        raise ArgumentError("expected release_means=False where rows have weights, got True.")
    weight = float(draw.weight) * schema.steps
    if weight > MOST_WEIGHT:
        raise ArgumentError(f"the weight must be {MOST_WEIGHT} at most, got {weight:.6g}; use a smaller epsilon.")
    return weight


def _declared_schema(learner: SearchSpecification, rows: LabelledRows) -> Schema:
    schema = learner.schema
    if isinstance(schema, Schema) and schema.unit is not None:
        raise ArgumentError(
            "expected a schema without a unit: a fit draws some rows of each unit at random, and here all rows count. "
            "Keep max_rows rows of each, divide epsilon by max_rows, and leave out the unit: "
            "dataclasses.replace(schema, unit=None)."
        )
    if schema is None:
        schema = boolean_schema(rows.table.column_names, rows.labels)
        check_learnable(learner, schema)
    if not isinstance(schema, Schema) or schema.no_guarantee:
        got = "one that voids the guarantee" if isinstance(schema, Schema) else "'from-data'"
        problem = f"expected a public schema, got {got}: a domain taken from the rows discloses"
        raise ArgumentError(f"{problem} more of them than this audit measures; declare a schema.")
    return schema


@dataclass(frozen=True, eq=False, repr=False)
class ExactMembership(AttackResult):
    """The exact membership risk of one private draw for each row. **Private**: a function of the rows.

    Arrays have the shape ``(n_rows,)``, the table's rows first, then the others. Rounding changes chances by about the
    number of rows times the weight times 2⁻⁵⁰ of themselves, and an advantage by about 2⁻⁵⁰ more.

    Attributes
    ----------
    learner, loss : str
        The estimator, with its parameters; the objective, and what a loss of 1 is.
    epsilon : float
        The privacy loss of the whole model, which bounds what every row risks. What cut points that were learned from
        the same rows cost is not in it, nor in any number here: the schema is taken as given.
    weight, epsilon_of_counts : float
        The weight of a loss of 1 in the draw, the share of ε that it spends less what is kept for rounding; the share
        of the counts, or sums, of leaves that are released too, 0 where none are.
    error_probability : ndarray of shape (n_rows,)
        The chance that a model drawn without the row has another label for it; of a number, another level.
    advantage : ndarray of shape (n_rows,)
        The largest difference of true and false positive rate of any attack: the total variation.
    realised_loss : ndarray of shape (n_rows,)
        The privacy loss of the row: the largest log-likelihood ratio, with the row over without it, either way.
    label_advantage : ndarray of shape (n_rows,)
        The advantage of an attacker who knows all but the row's label, or level: one of two, with the worst other one.
    inside, outside : ndarray of shape (n_rows, n_outcomes)
        The chances of all outcomes that a test needs, in releases with and without the row.
    expected_accuracy, expected_loss : float
        Of the table's rows, by a model drawn from them, on average; NaN without rows, and the accuracy for numbers.
    first_options, mean_uses : Series
        The exact chance of each rule or test to be the first one ("none": a model without any), and how often each is
        in a model that is drawn, on average, before those that decide nothing are left out; the largest first.
    order : str or None
        A digest of the table's rows in their order, by which reports find the groups of rows.
    """

    kind = "exact-membership"
    learner: str
    epsilon: float
    weight: float
    epsilon_of_counts: float
    loss: str
    error_probability: Floats
    advantage: Floats
    realised_loss: Floats
    label_advantage: Floats
    inside: Floats
    outside: Floats
    expected_accuracy: float
    expected_loss: float
    first_options: pd.Series
    mean_uses: pd.Series
    order: str | None = None

    def __len__(self) -> int:
        return len(self.advantage)

    @property
    def advantage_bound(self) -> float:
        """The advantage that ε alone permits: ``tanh(ε / 2)``, for the worst table, row and mechanism."""
        return float(np.tanh(self.epsilon / 2))

    @property
    def draw_bound(self) -> float:
        """The largest advantage that a draw of weight w, with counts or not, allows; ``tanh(w / 4)`` without.

        docs/attacks.md has the derivation. Sums of a number's levels at the same share allow no more.
        """
        w, counts = self.weight, self.epsilon_of_counts
        if counts >= w:
            return float(np.tanh(counts / 2))
        either = np.expm1(-(w + counts) / 2) ** 2 / (-np.expm1(-w) * (1 + np.exp(-counts)))
        return float(max(np.tanh(w / 4), either))

    def trade_off(self, row: int, n_models: int = 1) -> TradeOff:
        """Return the ROC curve of the best attack on one row, by its place; `ValueError` if there is no such row.

        With `n_models`, of the best attack that sees as many independent fits, each for `epsilon`.
        """
        if check_integer("row", row, 0) >= len(self):
            raise ArgumentError(f"expected a row from 0 to {len(self) - 1}, got {describe_argument(row)}.")
        chances = np.column_stack([self.inside[row], self.outside[row]])
        return TradeOff.of(*repeated(chances, check_integer("n_models", n_models, 1)).T)

    def joint_advantage(self, n_models: int) -> Floats:
        """Return the advantage, ``(n_rows,)``, of the best attack that sees as many independent fits as `n_models`."""
        check_integer("n_models", n_models, 1)
        kinds, places = np.unique(np.stack([self.inside, self.outside], axis=2), axis=0, return_inverse=True)
        each = [np.abs(np.diff(repeated(kind, n_models))).sum() / 2 for kind in kinds]
        return np.array(each)[places.reshape(-1)]

    def worst(self, n: int = 10) -> pd.DataFrame:
        """Return the rows with the largest advantage, the largest first, with their place as index."""
        check_integer("n", n, 1)
        return self.to_frame().iloc[np.argsort(-self.advantage, kind="stable")[:n]]

    def by_group(self, groups: Any) -> pd.DataFrame:
        """Return rows, and mean and largest advantage, of each group, the largest first; `groups` has one a row."""
        names = column_of(groups, "groups")
        if len(names) != len(self):
            raise ArgumentError("expected as many groups as rows, got another number.")
        if names.missing is not None and names.missing.any():
            raise DomainError("some groups are missing; give these rows a group of their own.", column=names.name)
        groups = pd.Series(self.advantage).groupby(names.present())
        each = pd.DataFrame({"rows": groups.size(), "mean advantage": groups.mean(), "largest advantage": groups.max()})
        return each.sort_values(by="largest advantage", ascending=False, kind="stable")

    def to_frame(self) -> pd.DataFrame:
        """Return all numbers, one row a row."""
        names = "error_probability", "advantage", "realised_loss", "label_advantage"
        return pd.DataFrame({name: getattr(self, name) for name in names})

    @property
    def _method(self) -> str:
        return "the best attack on each row, computed"

    def _measures(self) -> Iterator[AttackMeasure]:
        yield AttackMeasure("advantage", float(self.advantage.max()))
        yield AttackMeasure("privacy_loss", float(self.realised_loss.max()))
        yield AttackMeasure("label_advantage", float(self.label_advantage.max()))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the distribution of the rows' advantage beside what ε alone would allow, and return the axes."""
        caption = f"{self.learner}: exact advantage of the best attack on each of {len(self):,} rows. {PRIVATE}"
        return risk_curve(self.advantage, self.draw_bound, self.advantage_bound, caption, ax)

    def __str__(self) -> str:
        median, most = np.median(self.advantage), self.advantage.max()
        fit = f"mean loss  {self.expected_loss:.4f} expected on the table's rows ({self.loss})"
        if self.loss == OBJECTIVE:
            fit = f"accuracy   {self.expected_accuracy:.4f} expected on the table's rows"
        return "\n".join(
            [
                f"learner    {self.learner}",
                f"advantage  median {median:.4g}, largest {most:.4g} of {len(self):,} rows "
                f"(a draw's bound {self.draw_bound:.4g}, that of epsilon {self.advantage_bound:.4g})",
                f"loss       largest {self.realised_loss.max():.4g} of epsilon = {self.epsilon:g}",
                f"label      largest advantage on a label {self.label_advantage.max():.4g}",
                fit,
                PRIVATE,
            ]
        )

    def __repr__(self) -> str:
        return f"<ExactMembership of {len(self)} rows; private>"
