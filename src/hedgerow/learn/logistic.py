"""Scorecards by logistic regression, without privacy: what the private ones are compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, Literal, Self

from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.learn.base import FROM_DATA
from hedgerow.learn.parameters import documented
from hedgerow.learn.scorecard.estimator import ScorecardEstimator
from hedgerow.learn.scorecard.exact import centred, rounded_card
from hedgerow.learn.scorecard.points import Direction
from hedgerow.learn.scorecard.regression import Regression
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument

MOST_BINS_IN_ALL = 4000  # times the columns of points: a matrix of bin by bin is held
LEAST_C, LARGEST_C = 0.001, 1000


@documented
class ScorecardClassifier(ScorecardEstimator):
    """A scorecard by logistic regression on the schema's bins, rounded well. **Not private**: its points are exact.

    Log-odds by bin have the prior of `PrivateScorecardClassifier`: smooth along numbers. Several sizes of a point are
    tried; for each, the log-odds are rounded one after the other, so that what one is rounded off by is made up for by
    those after it, and the points with the least log-loss are taken. In memory is a number for each bin of each
    distinct row.

    Parameters
    ----------
    max_attributes : int, optional
        The most attributes, chosen one after the other by how much they raise the likelihood. None: all.
    %(points)s
    C : "auto" or float, default="auto"
        How much log-odds may differ, as for `sklearn.linear_model.LogisticRegression`: C times the variance of the
        prior, whose standard deviation is 4 from one end of a number to the other. "auto": by cross-validation; 1 for
        more than 10,000 distinct rows, where it matters little.
    %(schema)s

    Attributes
    ----------
    scorecard_ : Scorecard
        The model.
    C_ : float
        The value of C that was used.
    %(exact)s

    References
    ----------
    Liu, Zhong, Li, Seltzer and Rudin, *FasterRisk: Fast and Accurate Interpretable Risk Scores*, NeurIPS 2022, for
    several sizes of a point and the order of rounding.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 100)
    >>> clf = ScorecardClassifier(points=5, schema=None).fit(X, X[:, 0] & X[:, 1])
    >>> [part.points for part in clf.scorecard_.parts], clf.score(X, X[:, 0] & X[:, 1])
    ([((-3,), (3,)), ((-3,), (3,))], 1.0)
    """

    def __init__(
        self,
        *,
        max_attributes: int | None = None,
        points: int = 20,
        monotone: Mapping[str, Direction] | None = None,
        C: Literal["auto"] | float = "auto",
        schema: Schema | Literal["from-data"] | None = FROM_DATA,
    ) -> None:
        self.max_attributes = max_attributes
        self.points = points
        self.monotone = monotone
        self.C = C
        self.schema = schema

    def check_public(self) -> None:
        """Check the parameters, and that `monotone` fits the schema; see `PrivateRuleListClassifier.check_public`."""
        super().check_public()
        if isinstance(self.schema, Schema):
            self._directions(self.schema)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        strength: Any = self.C
        is_number = isinstance(self.C, Real) and not isinstance(self.C, bool)
        if is_number and LEAST_C <= strength <= LARGEST_C:
            return
        if not isinstance(strength, str) or strength != "auto":
            raise ArgumentError(
                f"C must be 'auto' or a number from {LEAST_C} to {LARGEST_C}, got {describe_argument(strength)}."
            )

    def _directions(self, schema: Schema) -> dict[str, Direction]:
        n_columns = 1 if len(schema.classes) == 2 else len(schema.classes)
        n_points = n_columns * sum(attribute.n_bins for _, attribute in schema.attributes)
        if n_points > MOST_BINS_IN_ALL:
            raise SchemaError(
                f"expected at most {MOST_BINS_IN_ALL:,} points of bins and classes of a scorecard that is not private, "
                f"got {n_points:,}; declare fewer cut points, or leave attributes out."
            )
        return super()._directions(schema)

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        monotone = self._directions(schema)
        regression = Regression(schema, *count().bins_and_counts())
        most = self._most_attributes
        attributes = range(len(schema)) if most is None or most >= len(schema) else regression.choose(most)
        strength = regression.validate(attributes) if isinstance(self.C, str) else float(self.C)
        fitted = centred(regression.fit(attributes, strength), regression, monotone)
        learned = rounded_card(fitted, regression, int(self.points), monotone)
        self.C_ = strength
        return self._publish(schema, learned, PrivacyCard.none("not private"))
