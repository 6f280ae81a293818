"""Private scorecards: points by bin, made of noisy counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from hedgerow.boundary.randomness import RandomState
from hedgerow.errors import ArgumentError
from hedgerow.learn.parameters import documented
from hedgerow.learn.private_base import Plan, PrivateEstimator
from hedgerow.learn.scorecard.estimator import ScorecardEstimator, check_smooth
from hedgerow.learn.scorecard.plan import ScorecardPlan
from hedgerow.learn.scorecard.points import Direction
from hedgerow.learn.scorecard.smoothing import ACROSS
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.charge import Amount, exact
from hedgerow.privacy.noise import NoiseSource
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument


@documented
class PrivateScorecardClassifier(PrivateEstimator, ScorecardEstimator):
    """A differentially private scorecard: whole points by bin that add up to the log-odds of a row.

    What is released, one after the other (docs/scorecards.md): the rows of each class; where there are few rows for the
    noise, which attributes are used; a histogram of bin and class of each of these; where there are many, the residuals
    by bin that are left once all attributes are added up; and the rows by total and class, to which the map from totals
    to probabilities is fitted. The rest is computed from what was released: log-odds by bin, smooth along numbers.

    Neighbouring tables differ by adding or removing one row, or all rows of the schema's `Unit`. Sensitivities are
    exact, in whole numbers (docs/privacy.md, fact 5). With `delta` the noise is discrete Gaussian and the releases add
    up under zero-concentrated differential privacy, which is worth having where there are many attributes.

    Parameters
    ----------
    %(epsilon)s
    delta : float, Fraction, Decimal or str, optional
        δ. None: pure ε-differential privacy.
    max_attributes : int, optional
        The most attributes. None: all, or as many as the rows and the noise allow.
    %(points)s
    smooth : "auto" or float, default="auto"
        The prior's standard deviation of the log-odds from one end of a number to the other: less is smoother. "auto"
        is 4.
    %(public schema)s
    %(budget)s

    Attributes
    ----------
    scorecard_ : Scorecard
        The model.
    %(released)s

    References
    ----------
    Nori, Caruana, Bu, Shen and Kulkarni, *Accuracy, Interpretability, and Differential Privacy via Explainable
    Boosting*, ICML 2021, for the task. Ustun and Rudin, *Learning Optimized Risk Scores*, JMLR 2019, for scorecards.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = PrivateScorecardClassifier(epsilon=1.0).fit(X, X[:, 0] & X[:, 1])
    >>> [clf.score(X, X[:, 0] & X[:, 1]), float(clf.privacy_.epsilon), clf.privacy_.is_private]
    [1.0, 1.0, True]
    """

    verbose = False

    def __init__(
        self,
        epsilon: Amount | None = None,
        *,
        delta: Amount | None = None,
        max_attributes: int | None = None,
        points: int = 20,
        monotone: Mapping[str, Direction] | None = None,
        smooth: Literal["auto"] | float = "auto",
        schema: Schema | Literal["from-data"] | None = None,
        budget: Budget | None = None,
        random_state: NoiseSource | RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.max_attributes = max_attributes
        self.points = points
        self.monotone = monotone
        self.smooth = smooth
        self.schema = schema
        self.budget = budget
        self.random_state = random_state

    def check_public(self) -> None:
        """Check the parameters, and that `monotone` fits the schema; see `PrivateRuleListClassifier.check_public`."""
        super().check_public()
        if isinstance(self.schema, Schema):
            self._plan(self.schema)

    def _plan(self, schema: Schema) -> Plan:
        monotone = self._directions(schema)
        epsilon = exact(self.epsilon or 0, "epsilon") if self.delta else self._epsilon_of_a_row(schema)
        return ScorecardPlan(
            epsilon=epsilon,
            delta=exact(self.delta or 0, "delta"),
            rows=rows_of(schema.unit) if self.delta else 1,
            schema=schema,
            most=self._most_attributes,
            points=int(self.points),
            across=ACROSS if isinstance(self.smooth, str) else float(self.smooth),
            monotone=monotone,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.delta is not None and not 0 < exact(self.delta, "delta") < 1:
            raise ArgumentError(f"delta must be None or a number between 0 and 1, got {describe_argument(self.delta)}.")
        check_smooth(self.smooth)
