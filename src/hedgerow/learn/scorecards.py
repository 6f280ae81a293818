"""Private scorecards: points by bin, made of noisy counts."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real as Number
from typing import Any, Literal

from hedgerow.arguments import check_whole
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.learn.private_base import Plan, PrivateEstimator
from hedgerow.learn.scorecard.plan import ACROSS, ScorecardPlan
from hedgerow.learn.scorecard.points import Direction
from hedgerow.messages import shown_argument
from hedgerow.models.scorecard import Scorecard
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.noise import NoiseSource
from hedgerow.randomness import RandomState
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema

LARGEST_POINTS = 1000
MOST_BINS = 2000  # of an attribute: matrices of bin by bin are inverted
LEAST_SMOOTH, LARGEST_SMOOTH = 0.01, 1000  # outside, float64 does not hold the precision of many bins
DIRECTIONS = ("increasing", "decreasing")


class PrivateScorecardClassifier(PrivateEstimator):
    """A differentially private scorecard: whole points by bin that add up to the log-odds of a row.

    What is released, one after the other (docs/scorecards.md): the rows of each class; where there are few rows for the
    noise, which attributes are used; a histogram of bin and class of each of these; where there are many, the residuals
    by bin that are left once all attributes are added up; and the rows by total and class, to which the map from totals
    to probabilities is fitted. The rest is computed from what was released: log-odds by bin, smooth along numbers.

    Neighbouring tables differ by adding or removing one row. Sensitivities are exact, in whole numbers
    (docs/privacy.md, fact 5). With `delta` the noise is discrete Gaussian and the releases add up under
    zero-concentrated differential privacy, which is worth having where there are many attributes.

    Parameters
    ----------
    epsilon : float
        The privacy loss ε of the whole scorecard.
    delta : float, optional
        δ. None: pure ε-differential privacy.
    max_attributes : int, optional
        The most attributes. None: all, or as many as the rows and the noise allow.
    points : int, default=20
        The largest number of points of a bin, in size: fewer are easier to add up by hand.
    monotone : mapping of str to {"increasing", "decreasing"}, optional
        Numbers whose points for the second of two classes may only rise, or only fall.
    smooth : "auto" or float, default="auto"
        The prior's standard deviation of the log-odds from one end of a number to the other: less is smoother. "auto"
        is 4.
    schema : Schema, None or "from-data", default=None
        The public schema. None: every column is boolean or 0/1. "from-data" voids the guarantee.
    budget : Budget, optional
        A shared budget that pays for this fit.
    random_state : NoiseSource, int, RandomState, Generator or None, default=None
        None: secure noise. Seeds void the guarantee.

    Attributes
    ----------
    scorecard_ : Scorecard
        The model.
    privacy_ : PrivacyCard
        What was spent, and what is guaranteed.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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

    scorecard_: Scorecard
    _fitted = "scorecard_"
    verbose = False

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        delta: float | None = None,
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
        _check_bins(schema)
        monotone: dict[str, Direction] = dict(self.monotone or {})
        for name in monotone:
            _check_monotone(name, schema)
        return ScorecardPlan(
            epsilon=exact(self.epsilon or 0, "epsilon"),
            delta=exact(self.delta or 0, "delta"),
            schema=schema,
            most=None if self.max_attributes is None else int(self.max_attributes),
            points=int(self.points),
            across=ACROSS if isinstance(self.smooth, str) else float(self.smooth),
            monotone=monotone,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.delta is not None and not 0 < exact(self.delta, "delta") < 1:
            raise ArgumentError(f"delta must be None or a number between 0 and 1, got {shown_argument(self.delta)}.")
        if self.max_attributes is not None:
            check_whole("max_attributes", self.max_attributes, 1)
        check_largest_points(self.points)
        check_smooth(self.smooth)
        monotone: Any = self.monotone
        if monotone is not None and not isinstance(monotone, Mapping):
            raise ArgumentTypeError(
                f"monotone must be a mapping of names to directions, got {type(monotone).__name__}."
            )
        for direction in (monotone or {}).values():
            if not isinstance(direction, str) or direction not in DIRECTIONS:
                raise ArgumentError(
                    f"monotone must map names to {' or '.join(DIRECTIONS)}, got {shown_argument(direction)}."
                )


def check_largest_points(points: Any) -> None:
    """Check the largest number of points of a bin, in size.

    Raises
    ------
    ValueError
        If it is not a whole number from 1 to 1,000.
    """
    check_whole("points", points, 1)
    if points > LARGEST_POINTS:
        raise ArgumentError(f"points must be a whole number <= {LARGEST_POINTS}, got {shown_argument(points)}.")


def check_smooth(smooth: Any) -> None:
    """Check the prior's standard deviation of the log-odds along a number.

    Raises
    ------
    ValueError
        If it is neither "auto" nor a number from 0.01 to 1,000.
    """
    value: Any = smooth
    is_number = isinstance(smooth, Number) and not isinstance(smooth, bool)
    if is_number and LEAST_SMOOTH <= value <= LARGEST_SMOOTH:
        return
    if not isinstance(smooth, str) or smooth != "auto":
        raise ArgumentError(
            f"smooth must be 'auto' or a number from {LEAST_SMOOTH} to {LARGEST_SMOOTH}, got {shown_argument(smooth)}."
        )


def _check_bins(schema: Schema) -> None:
    for name, attribute in schema.attributes:
        if attribute.n_bins > MOST_BINS:
            raise SchemaError(
                f"expected at most {MOST_BINS:,} bins of an attribute of a scorecard, got {attribute.n_bins:,}; "
                "declare fewer, or leave the attribute out.",
                attribute=name,
            )


def _check_monotone(name: str, schema: Schema) -> None:
    if name not in schema:
        raise SchemaError("is in monotone but not declared.", attribute=name)
    if not isinstance(schema[name], (Integer, Real)):
        raise SchemaError(
            "expected a number in monotone, got another attribute, whose bins have no order.", attribute=name
        )
    if len(schema.classes) != 2:
        raise ArgumentError(
            f"expected monotone=None with {len(schema.classes)} classes, got names: it needs two classes."
        )
