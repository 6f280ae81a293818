"""Exact membership risk of a draw: the success of the best attack on each row, computed without shadow models."""

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
"""Estimators that draw their model from all models of the search space."""


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff:
    """ROC curve of the most powerful test between two discrete distributions (Neyman and Pearson).

    **Private** if the distributions are.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The corners of the curve, from (0, 0) to (1, 1), which is linear between them. The first distribution is the
        positive class.

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
    def of(cls, positive: Floats, negative: Floats) -> Self:
        """Return the curve of two distributions over the same outcomes, each of shape ``(n_outcomes,)``."""
        possible = (positive > 0) | (negative > 0)
        positive, negative = positive[possible], negative[possible]
        with np.errstate(divide="ignore"):
            order = np.argsort(-(np.log(positive) - np.log(negative)), kind="stable")
        tpr, fpr = (np.minimum(np.cumsum([0.0, *chances[order]]), 1.0) for chances in (positive, negative))
        tpr[-1] = fpr[-1] = 1.0
        return cls(fpr, tpr)

    @property
    def advantage(self) -> float:
        """The largest difference between true and false positive rate: the total variation distance."""
        return float((self.tpr - self.fpr).max())

    def tpr_at(self, fpr: float) -> float:
        """Return the true positive rate of the best test with this false positive rate, from 0 to 1."""
        if isinstance(fpr, bool) or not isinstance(fpr, Real) or not 0 <= fpr <= 1:
            raise ArgumentError(f"fpr must be between 0 and 1, got {describe_argument(fpr)}.")
        # At a vertical step of the curve, the upper corner counts.
        corners = np.flatnonzero(np.append(np.diff(self.fpr) > 0, True))
        return float(np.interp(fpr, self.fpr[corners], self.tpr[corners]))

    def __repr__(self) -> str:
        return f"<TradeOff of {len(self.fpr)} corners; private if its distributions are>"


def exact_membership(estimator: Drawn, X: Any, y: Any, *, others: tuple[Any, Any] | None = None) -> "ExactMembership":
    """Compute the success of the best membership inference attack on a private fit, for every row of a table.

    The attacker knows the learner, its parameters, the schema and **all other rows**, sees the released model, and
    decides whether the row was in the table. The normaliser of a draw is known, and so is the likelihood ratio of every
    model (docs/attacks.md has the theorem). Nothing is sampled, and no model is fitted. No attack that sees only this
    release succeeds more often. Attacks that also observe something else, such as the duration of the fit, are not
    covered. Neighbouring tables differ by one row.

    **The result is private**: an exact function of the rows, for the curator's eyes only. Nothing is released, so no
    budget is charged.

    Parameters
    ----------
    estimator : PrivateTreeClassifier, PrivateRuleListClassifier, PrivateTreeRegressor or PrivateRuleListRegressor
        An unfitted estimator whose model is drawn as a whole: ``search="exact"``, or "auto" if it selects this search.
        All objectives and costs are supported. `random_state` and `budget` are not used.
    X, y : frame or array of shape (n_rows, n_attributes), and series or array of shape (n_rows,)
        The rows of the table, and their labels or numbers.
    others : tuple of X and y, optional
        Rows outside of the table. Their risk in joining it is computed too, and follows the risks of the table's rows.

    Raises
    ------
    ValueError
        If a parameter is out of range, or a value does not fit the schema. If the search is greedy, uses several blocks
        or is too large, or if there are too many outcomes. If the schema is taken from the data or has a unit of
        privacy, or if it has a weight and means are released.
    TypeError
        If the estimator is of another type.

    References
    ----------
    Neyman and Pearson, *On the Problem of the Most Efficient Tests of Statistical Hypotheses*, 1933. Baker, *Trainable
    Grammars for Speech Recognition*, 1979, for the inside-outside algorithm.

    Examples
    --------
    >>> import hedgerow as hr
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    >>> y = X[:, 0] ^ (np.arange(100) == 7)  # one row has the other label
    >>> risk = exact_membership(hr.PrivateTreeClassifier(epsilon=0.05, max_depth=1), X, y)
    >>> risk.error_probability[[0, 7]].round(3), risk.advantage[[0, 7]].round(4)  # never above tanh(ε/4) = .0125
    (array([0.197, 0.805]), array([0.0078, 0.008 ]))
    """
    learner = drawn_learner(estimator)
    cells = cells_of(learner, X, y, None if others is None else LabelledRows.of_pair("others", others))
    rows = LabelledRows.of(X, y)
    risk = _measured(estimator, draw_probabilities(learner, cells.tally), cells)
    order = order_digest(rows, learner.schema if isinstance(learner.schema, Schema) else None)
    return replace(risk, subject=AttackSubject.of(estimator, rows, uses_seed=False), order=order)


def drawn_learner(estimator: object) -> SearchSpecification:
    """Return the learner of an estimator that may draw its model from all models; TypeError for other estimators."""
    learner = specification_of(estimator) if isinstance(estimator, TallyEstimator | Specification) else None
    if isinstance(learner, SearchSpecification):
        return learner
    problem = f"estimator must be a private tree or rule list, got {type(estimator).__name__}"
    raise ArgumentTypeError(f"{problem}; exact likelihood ratios are known only for draws from all models.")


def cells_of(learner: SearchSpecification, X: Any, y: Any, others: LabelledRows | None) -> Cells:
    """Encode the table and other rows by the learner's schema, which must be public."""
    rows = LabelledRows.of(X, y)
    learner.check_public()
    if not len(rows) + (0 if others is None else len(others)):
        raise ArgumentError("expected at least one row in X or in the additional rows, got none.")
    return Cells.of(rows, others, _declared_schema(learner, rows))


def _measured(estimator: Drawn, draw: DrawProbabilities, cells: Cells) -> "ExactMembership":
    levels, target = cells.levels, cells.tally.schema.target
    is_member = np.arange(len(levels)) < cells.n_members
    outcomes = DrawOutcomes.of(draw, cells.patterns, levels, is_member, cells.steps)
    is_wrong = np.array(draw.loss.labels) != levels[:, None]
    inside, outside = outcomes.membership(levels)
    values = np.exp(outcomes.inside(levels))[is_member]
    accuracy = float((values * ~is_wrong[is_member]).sum(axis=1).mean()) if cells.n_members else nan
    losses = values * draw.loss.by_value.T[levels[is_member]] / draw.loss.steps
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
        advantage=np.abs(inside - outside).sum(axis=1) / 2,  # the total variation distance
        realised_loss=outcomes.largest_ratio(levels),
        label_advantage=np.max([outcomes.label_distance(levels, other) for other in range(target.n_levels)], axis=0),
        inside=inside,
        outside=outside,
        expected_accuracy=accuracy if target.as_number is None else nan,
        expected_loss=float(losses.sum(axis=1).mean()) if cells.n_members else nan,
        first_options=first.sort_values(ascending=False, kind="stable"),
        mean_uses=uses.sort_values(ascending=False, kind="stable"),
        is_errors=draw.loss.is_errors and target.as_number is None,
    )


def whole_weight(draw: DrawProbabilities, schema: Schema) -> float:
    """Return the draw's weight for a loss of 1; if rows have weights, for a row with the largest weight."""
    if schema.weight is not None and draw.counts_epsilon:
        raise ArgumentError("release_means=True is not supported if rows have weights; set release_means=False.")
    weight = float(draw.weight) * schema.steps
    if weight > MOST_WEIGHT:
        problem = f"the weight of the draw must be at most {MOST_WEIGHT} for exact risks, got {weight:.6g}"
        raise ArgumentError(f"{problem}; use a smaller epsilon.")
    return weight


def _declared_schema(learner: SearchSpecification, rows: LabelledRows) -> Schema:
    schema = learner.schema
    if isinstance(schema, Schema) and schema.unit is not None:
        raise ArgumentError(
            "schemas with a unit of privacy are not supported: a fit samples rows of each unit, and this audit uses "
            "all rows. Keep max_rows rows of each unit, divide epsilon by max_rows, and remove the unit: "
            "dataclasses.replace(schema, unit=None)."
        )
    if schema is None:
        schema = boolean_schema(rows.table.column_names, rows.labels)
        check_learnable(learner, schema)
    if not isinstance(schema, Schema) or schema.no_guarantee:
        origin = "a schema that voids the guarantee" if isinstance(schema, Schema) else "'from-data'"
        problem = f"expected a public schema, got {origin}; bounds and values taken from the rows disclose more"
        raise ArgumentError(f"{problem} than this audit measures. Declare a schema.")
    return schema


@dataclass(frozen=True, eq=False, repr=False)
class ExactMembership(AttackResult):
    """Exact membership risk of each row in a private draw. **Private**: a function of the rows.

    Arrays have the shape ``(n_rows,)``: the table's rows, then the additional rows. The relative rounding error of
    probabilities is about the number of rows times the weight times 2⁻⁵⁰. The rounding error of an advantage is about
    2⁻⁵⁰ larger.

    Attributes
    ----------
    learner, loss : str
        The estimator with its parameters; the objective, with the meaning of a loss of 1.
    epsilon : float
        The privacy loss of the whole model, which bounds the risk of every row. The schema is taken as given: cut
        points learned from the same rows have a cost of their own, which no number here includes.
    weight, epsilon_of_counts : float
        The weight of a loss of 1 in the draw: its share of ε, less a reserve for rounding. The share of ε for released
        counts or sums of leaves; 0 if they are not released.
    error_probability : ndarray of shape (n_rows,)
        The probability that a model drawn without the row predicts a different label for it (for numbers, a different
        level).
    advantage : ndarray of shape (n_rows,)
        The largest difference between true and false positive rate of any attack: the total variation distance.
    realised_loss : ndarray of shape (n_rows,)
        The privacy loss of the row: the largest absolute log-likelihood ratio of releases with and without it.
    label_advantage : ndarray of shape (n_rows,)
        The advantage in distinguishing the row's label (or level) from another label, for the worst other label, of an
        attacker who knows everything else.
    inside, outside : ndarray of shape (n_rows, n_outcomes)
        The probabilities of all outcomes that a test needs, in releases with and without the row.
    expected_accuracy, expected_loss : float
        Mean accuracy and loss on the table's rows of a model drawn from them. NaN without rows; the accuracy of a
        regressor is NaN.
    first_options, mean_uses : Series
        The exact probability that each rule or test comes first, and the mean number of its uses in a drawn model
        before simplification. Both are in descending order; "none" stands for a model without rules or tests.
    order : str or None
        A digest of the table's rows in their order, with which reports match groups to rows.
    is_errors : bool
        Whether the loss of a row is 1 for a wrong label and 0 otherwise.
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
    is_errors: bool = False

    def __len__(self) -> int:
        return len(self.advantage)

    @property
    def advantage_bound(self) -> float:
        """Upper bound of the advantage from ε alone, ``tanh(ε / 2)``, for every table, row and mechanism."""
        return float(np.tanh(self.epsilon / 2))

    @property
    def draw_bound(self) -> float:
        """Upper bound of the advantage for this weight w and these counts; ``tanh(w / 4)`` without released counts.

        docs/attacks.md has the derivation. The bound also holds for released sums of levels with the same share of ε.
        """
        w, counts = self.weight, self.epsilon_of_counts
        if counts >= w:
            return float(np.tanh(counts / 2))
        either = np.expm1(-(w + counts) / 2) ** 2 / (-np.expm1(-w) * (1 + np.exp(-counts)))
        return float(max(np.tanh(w / 4), either))

    def trade_off(self, row: int, n_models: int = 1) -> TradeOff:
        """Return the ROC curve of the best attack on the row at a position; `ValueError` if there is no such row.

        The attacker sees `n_models` independent fits, each with `epsilon`.
        """
        if check_integer("row", row, 0) >= len(self):
            raise ArgumentError(f"row must be from 0 to {len(self) - 1}, got {describe_argument(row)}.")
        chances = np.column_stack([self.inside[row], self.outside[row]])
        return TradeOff.of(*repeated(chances, check_integer("n_models", n_models, 1)).T)

    def joint_advantage(self, n_models: int) -> Floats:
        """Return each row's advantage, ``(n_rows,)``, of the best attack that sees `n_models` independent fits."""
        check_integer("n_models", n_models, 1)
        pairs, places = np.unique(np.stack([self.inside, self.outside], axis=2), axis=0, return_inverse=True)
        advantages = [np.abs(np.diff(repeated(pair, n_models))).sum() / 2 for pair in pairs]
        return np.array(advantages)[places.reshape(-1)]

    def worst(self, n: int = 10) -> pd.DataFrame:
        """Return the n rows with the largest advantage, the largest first; the index has their positions."""
        check_integer("n", n, 1)
        return self.to_frame().iloc[np.argsort(-self.advantage, kind="stable")[:n]]

    def by_group(self, groups: Any) -> pd.DataFrame:
        """Return the number of rows, and the mean and largest advantage, of each group; the largest first.

        `groups` has the group of each row.
        """
        names = column_of(groups, "groups")
        if len(names) != len(self):
            raise ArgumentError("groups must have one value for each row of this result.")
        if names.missing is not None and names.missing.any():
            raise DomainError("some groups are missing; assign these rows to a separate group.", column=names.name)
        groups = pd.Series(self.advantage).groupby(names.present())
        table = {"rows": groups.size(), "mean advantage": groups.mean(), "largest advantage": groups.max()}
        return pd.DataFrame(table).sort_values(by="largest advantage", ascending=False, kind="stable")

    def to_frame(self) -> pd.DataFrame:
        """Return the risks of all rows, in the order of the rows."""
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
        """Plot the distribution of the rows' advantage with the bounds of the draw and of ε, and return the axes."""
        caption = f"{self.learner}: exact advantage of the best attack on each of {len(self):,} rows. {PRIVATE}"
        return risk_curve(self.advantage, self.draw_bound, self.advantage_bound, caption, ax)

    def __str__(self) -> str:
        median, most = np.median(self.advantage), self.advantage.max()
        fit = f"mean loss  {self.expected_loss:.4f} expected on the training rows ({self.loss})"
        if self.is_errors:
            fit = f"accuracy   {self.expected_accuracy:.4f} expected on the training rows"
        return "\n".join(
            [
                f"learner    {self.learner}",
                f"advantage  of the best membership attack: median {median:.4g}, largest {most:.4g} "
                f"({len(self):,} rows; upper bounds: {self.draw_bound:.4g} for this draw, "
                f"{self.advantage_bound:.4g} for epsilon = {self.epsilon:g})",
                f"loss       largest privacy loss of a row: {self.realised_loss.max():.4g} "
                f"(at most epsilon = {self.epsilon:g})",
                f"label      largest advantage in guessing the label: {self.label_advantage.max():.4g}",
                fit,
                PRIVATE,
            ]
        )

    def __repr__(self) -> str:
        return f"<ExactMembership of {len(self)} rows; private>"
