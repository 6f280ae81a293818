"""Scorecards from one question: the rows of each class by bin are sufficient statistics of an additive model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hedgerow.errors import ArgumentError, DomainError
from hedgerow.hypotheses.hypothesis import has_hypothesis
from hedgerow.learn.learned import LearnedScorecard
from hedgerow.learn.readable import ReadablePoints
from hedgerow.learn.scorecard.estimator import check_largest_points, check_smooth
from hedgerow.learn.scorecard.log_odds import Part, Prior, rounded
from hedgerow.marginals.base import MarginalClassifier
from hedgerow.marginals.log_odds import SPREADS, LogOdds, SufficientStatistics, estimated
from hedgerow.marginals.reweight import equal_weights, reweight
from hedgerow.models.scorecard import Scorecard
from hedgerow.oracle.binning import bin_matrix, bins_or_chosen, is_constant
from hedgerow.oracle.protocol import MarginalOracle
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.listed import Boolean, Categorical
from hedgerow.schema.numbers import Real
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.values import quoted_text

_EACH = 2 / 3  # of the prior's standard deviation along a number: that of a category, and of a number's mean


@has_hypothesis("model_")
@dataclass(eq=False, repr=False, kw_only=True)
class MarginalLogisticClassifier(ReadablePoints, MarginalClassifier):
    """A scorecard from one question to an oracle: how many rows of each class are in each bin.

    These counts and the rows' own distribution, which the weighted source estimates, are all that the likelihood of an
    additive logistic model needs. The noise, whose variance is known, is part of the likelihood, so that many bins cost
    little; log-odds along a number are a random walk beforehand, as for `PrivateScorecardClassifier`. They are rounded
    to whole points.

    Parameters
    ----------
    reweight : bool, default=True
        Whether the target may be distributed differently from the source.
    bins : {"auto", "published"}, int or Schema, default="auto"
        As for `ExprilClassifier`. Columns that are constant in the source are left out, unless a schema is given.
    points : int, default=20
        The largest number of points of a bin, in size.
    smooth : "auto" or float, default="auto"
        The prior's standard deviation of the log-odds from one end of a number to the other: less is smoother. "auto"
        is what the answer makes most probable, from 0.5 to 3.

    Attributes
    ----------
    model_ : Scorecard
        The model.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    smooth_ : tuple of float
        The prior's standard deviation that was taken: one number for two classes, else one for each class.
    weights_ : Weights
        The weights of the source, and how well it covers the target.
    privacy_ : PrivacyCard
        What was spent on the target, and what is guaranteed.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> oracle = hr.Oracle(data.frame[200:], data.labels[200:], hr.Budget(1), 1, classes=data.schema.classes)
    >>> learner = hr.MarginalLogisticClassifier(reweight=False).fit(data.frame[:200], oracle=oracle)
    >>> learner.model_.kind, learner.predict(data.frame[:2]).shape
    ('scorecard', (2,))
    """

    points: int = 20
    smooth: Literal["auto"] | float = "auto"
    model_: Scorecard = field(init=False)

    def _learn(self, X: Any, oracle: MarginalOracle) -> None:
        bins, left_out = source_bins(self.bins, X, oracle.noise_scale)
        matrix, schema = bin_matrix(bins, X), replace(bins, label=oracle.label)
        answer = oracle.class_marginals(bins)
        self.weights_ = (
            reweight(matrix, answer.masses, len(bins), variance=answer.variance)
            if self.reweight
            else equal_weights(matrix.shape[1])
        )
        rows = answer.n_rows * self.weights_.values
        statistics = SufficientStatistics(matrix, rows, answer.rows.astype(np.float64), answer.noise)
        spreads = SPREADS if isinstance(self.smooth, str) else (float(self.smooth),)
        found = estimated(statistics, prior_of(bins), spreads)
        learned = _learned(found, schema, matrix @ rows, int(self.points), is_exact=not answer.noise)
        self.model_ = learned.model(schema, card_of(oracle, left_out))
        self.smooth_, self.classes_ = found.spreads, np.array(oracle.classes)

    def _check_parameters(self, oracle: MarginalOracle) -> None:
        check_largest_points(self.points)
        check_smooth(self.smooth)
        if oracle.release == "ratio":
            raise ArgumentError(
                "expected an oracle that releases counts, got one that releases ratios, which do not determine the "
                "number of rows of each class."
            )

    @property
    def _model(self) -> Scorecard:
        return self.model_

    @property
    def privacy_(self) -> PrivacyCard:
        """The card of what was spent on the target, and what is guaranteed."""
        check_is_fitted(self)
        return self.model_.privacy


def prior_of(bins: Schema) -> NDArray[np.float64]:
    """Return the covariance of the log-odds by bin for a standard deviation of 1: attributes are independent."""
    sizes = [attribute.n_bins for _, attribute in bins.attributes]
    ends, found = np.cumsum(sizes), np.zeros((sum(sizes), sum(sizes)))
    prior = Prior(across=1.0, each=_EACH)
    for end, size, (_, attribute) in zip(ends, sizes, bins.attributes, strict=True):
        found[end - size : end, end - size : end] = np.linalg.inv(prior.precision(size, attribute.n_ordered))
    return found


def _learned(
    found: LogOdds, schema: Schema, rows: NDArray[np.float64], points: int, *, is_exact: bool
) -> LearnedScorecard:
    """Return whole points: of each attribute the mean over rows is in the points that every row starts with.

    A bin without rows of the source has 0 points, such as that of missing values where the source has none.
    """
    ends = np.cumsum([attribute.n_bins for _, attribute in schema.attributes])[:-1]
    parts = [
        Part(place, values, [], of_bins)
        for place, (values, of_bins) in enumerate(zip(np.split(found.values, ends), np.split(rows, ends), strict=True))
    ]
    base = found.base + sum(part.centred() for part in parts)
    for part in parts:
        part.values[part.rows == 0] = 0.0
    whole, unit = rounded(parts, points)
    return LearnedScorecard(whole, np.rint(base / unit).astype(np.int64), unit, None if is_exact else found.error)


def card_of(oracle: MarginalOracle, left_out: Sequence[str]) -> PrivacyCard:
    """Return an oracle's card, with a note of the columns that were left out."""
    card = oracle.privacy
    if not left_out:
        return card
    names = ", ".join(map(quoted_text, left_out))
    return replace(card, notes=(*card.notes, f"columns left out, which are constant in the public source: {names}"))


def source_bins(bins: Any, source: Any, noise_scale: Callable[[int], float]) -> tuple[Schema, tuple[str, ...]]:
    """Return the bins of the one question of a learner, and the columns of the source that are left out.

    Columns with fewer than two values in the source are left out: they tell nothing and would cost privacy. Columns of
    an array have no names, so that each keeps an attribute, there of a single bin.
    """
    table = Table.of(source)
    names = table.column_names
    columns = [table.column(name, place) for place, name in enumerate(names)]
    constant = () if isinstance(bins, Schema) else tuple(column.name for column in columns if is_constant(column))
    if constant == names:
        raise DomainError("expected a column with two or more values in the source, found none.")
    kept = [place for place, name in enumerate(names) if name not in constant]
    if table.names is None:
        chosen = bins_or_chosen(bins, table.data[:, kept], len(table), noise_scale(len(names)))
        if not constant:
            return chosen, ()
        of_kept = iter(attribute for _, attribute in chosen.attributes)
        attributes = [
            (column.name, _single(column) if column.name in constant else next(of_kept)) for column in columns
        ]
        return Schema(tuple(attributes)), constant
    data = table.data.select([names[place] for place in kept])
    return bins_or_chosen(bins, data, len(table), noise_scale(len(kept))), constant


def _single(column: Column) -> Attribute:
    """Return an attribute for a column that has one value, or none."""
    values = column.present()
    if column.is_text:
        return Categorical((str(values[0]) if len(values) else "none",), missing="bin", outside="bin")
    if values.dtype.kind == "b":
        return Boolean(missing="bin")
    low = float(values[0]) if len(values) else 0.0
    return Real(low, float(np.nextafter(low, np.inf)), (), missing="bin", outside="clip")
