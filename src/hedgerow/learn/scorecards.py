"""Private scorecard estimators from noisy counts, and a non-private scorecard estimator by logistic regression."""

from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.errors import SchemaError
from hedgerow.learn.base import (
    FROM_DATA,
    Monotone,
    Publish,
    SchemaParameter,
    Specification,
    T,
    TrainingRows,
    check_auto,
    check_scorecard_parameters,
    directions,
)
from hedgerow.learn.contract import Classifier, PrivateEstimator, Regressor, of_model, on_rows, parameters_of
from hedgerow.learn.learned import scorecard_model
from hedgerow.learn.learners import PrivateScorecardClassification, PrivateScorecardRegression
from hedgerow.learn.parameters import documented
from hedgerow.learn.scorecard.exact import Regression, centred, rounded_card
from hedgerow.learn.scorecard.smoothing import Direction
from hedgerow.models.scorecard import Scorecard
from hedgerow.privacy.amounts import Amount
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.schema.schema import Schema


@documented
class PrivateScorecardClassifier(PrivateEstimator, Classifier):
    """A scorecard for classification with differential privacy.

    Every bin of an attribute has an integer number of points. The points of a row add up to its log-odds, in units of a
    fixed size. Neighbouring tables differ in one row, added or removed, or in all rows of the schema's `Unit`.

    Read more in the :doc:`guide </fit>`.

    Parameters
    ----------
    %(epsilon)s
    %(max_attributes and points)s
    %(public schema)s
    %(budget)s
    %(delta)s
    smooth : "auto" or float, default="auto"
        The prior standard deviation of the difference in log-odds between the two ends of a numeric attribute. Smaller
        values give smoother points. "auto" is 4.

    %(fitted)s

    See Also
    --------
    PrivateAutoClassifier : A tree or a scorecard, chosen under the same ε.
    ScorecardClassifier : A scorecard without privacy.

    Notes
    -----
    A fit makes these noisy releases, in this order (docs/models.md):

    1. the number of rows of each class;
    2. if the attributes are too many for the noise level, the attributes to use;
    3. a histogram of bin and class for each of these attributes;
    4. with two classes and enough rows, statistics of how strongly the attributes overlap;
    5. with many rows, the sums of residuals by bin that the current scorecard leaves;
    6. with enough rows, the number of rows by total and class, by which the probabilities are calibrated.

    All else is post-processing of these releases: log-odds by bin, smoothed along numeric attributes, a weight for each
    attribute, and merged bins if merging costs almost nothing.

    With pure ε, the histograms of attributes with similar numbers of bins share K-norm noise, which is smaller than
    separate noise (docs/mathematics.md, fact 11). They do not if the budget accounts in ρ, because shared noise costs
    more ρ. All released statistics are integers with exact sensitivities (fact 5). With `delta`, releases after the
    first use discrete Gaussian noise if that adds less noise, usually if many attributes are used.

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
    max_attributes: int | None
    points: int
    monotone: Monotone
    delta: Amount | None
    smooth: float | Literal["auto"]

    @parameters_of(PrivateScorecardClassification)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    get_points = of_model(Scorecard.get_points)
    decision_function = on_rows(Scorecard.decision_function)


@documented
class PrivateScorecardRegressor(PrivateEstimator, Regressor):
    """A scorecard for regression with differential privacy.

    Every bin of an attribute has an integer number of points. The prediction is the lowest value that the schema allows
    plus `Scorecard.unit` for each point of the row, clipped to the schema's bounds. Neighbouring tables differ in one
    row, added or removed, or in all rows of the schema's `Unit`.

    Parameters
    ----------
    %(epsilon)s
    %(max_attributes and points)s
    %(number schema)s
    %(budget)s
    %(delta)s
    smooth : "auto" or float, default="auto"
        The prior standard deviation of the difference in the prediction between the two ends of a numeric attribute, in
        standard deviations of the target. Smaller values give smoother points. "auto" is 2.5.

    %(fitted)s

    See Also
    --------
    PrivateTreeRegressor : A tree instead of a scorecard.

    Notes
    -----
    A fit makes these noisy releases, in this order (docs/models.md):

    1. the number of rows, the sum of the target and the sum of its squares;
    2. if the attributes are too many for the noise level, the attributes to use;
    3. the number of rows and the sum of the target by bin, for each of these attributes;
    4. up to six times, depending on the number of rows: the mean absolute residual, and the sums of residuals by bin,
       each residual clipped at two and a half times this mean.

    All else is post-processing of these releases: points, smoothed along numeric attributes, and merged bins if merging
    costs almost nothing.

    The target is counted by its level (`hedgerow.schema.Number`): a row at level k of K counts k times as the highest
    level and K − 1 − k times as the lowest. With pure ε, the histograms share K-norm noise as in
    `PrivateScorecardClassifier`. All released statistics are integers with exact sensitivities (docs/mathematics.md,
    fact 5). With `delta`, releases after the first use discrete Gaussian noise if that adds less noise, usually if many
    attributes are used.

    References
    ----------
    Nori, Caruana, Bu, Shen and Kulkarni, *Accuracy, Interpretability, and Differential Privacy via Explainable
    Boosting*, ICML 2021, for additive models by noisy residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.schema import Boolean, Number
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2000)
    >>> schema = Schema({"a": Boolean(), "b": Boolean()}, Number("y", 0, 32))
    >>> card = PrivateScorecardRegressor(epsilon=1.0, schema=schema).fit(X, 10.0 * X[:, 0] + 5.0 * X[:, 1])
    >>> card.score(X, 10.0 * X[:, 0] + 5.0 * X[:, 1]) > 0.9
    True
    """

    scorecard_: Scorecard
    _fitted = "scorecard_"
    max_attributes: int | None
    points: int
    monotone: Monotone
    delta: Amount | None
    smooth: float | Literal["auto"]

    @parameters_of(PrivateScorecardRegression)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    get_points = of_model(Scorecard.get_points)


MAX_POINTS_IN_ALL = 4000  # of all bins and classes: a square matrix of this size is held in memory
MIN_C, MAX_C = 0.001, 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class LogisticScorecard(Specification):
    """Specification of a scorecard by logistic regression, without privacy."""

    max_attributes: int | None = None
    points: int = 20
    monotone: Monotone = None
    C: Literal["auto"] | float = "auto"
    schema: SchemaParameter = FROM_DATA
    estimator = "ScorecardClassifier"
    keeps_monotone = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_scorecard_parameters(self.max_attributes, self.points, self.monotone)
        check_auto("C", self.C, MIN_C, MAX_C)

    def check_public(self) -> None:
        super().check_public()
        if isinstance(self.schema, Schema):
            self._directions(self.schema)

    def _directions(self, schema: Schema) -> dict[str, Direction]:
        n_columns = 1 if schema.target.n_levels == 2 else schema.target.n_levels
        n_points = n_columns * sum(attribute.n_bins for _, attribute in schema.attributes)
        if n_points > MAX_POINTS_IN_ALL:
            raise SchemaError(
                f"a scorecard without privacy has at most {MAX_POINTS_IN_ALL:,} points, over all bins and classes, got "
                f"{n_points:,}; declare fewer cut points, or remove attributes."
            )
        return directions(schema, self.monotone)

    def learn(self, schema: Schema, rows: TrainingRows, publish: Publish[T]) -> T:
        monotone = self._directions(schema)
        regression = Regression(schema, *rows.count().bins_and_counts())
        limit = len(schema) if self.max_attributes is None else int(self.max_attributes)
        attributes = range(len(schema)) if limit >= len(schema) else regression.choose(limit)
        strength = regression.validate(attributes) if isinstance(self.C, str) else float(self.C)
        fitted = centred(regression.fit(attributes, strength), regression, monotone)
        build = scorecard_model(*rounded_card(fitted, regression, int(self.points), monotone), None)
        return publish(build(schema, PrivacyCard.none(Fact("not_private"))), C_=strength)


@documented
class ScorecardClassifier(Classifier):
    """A scorecard by logistic regression on the schema's bins. **Not private**: its points are exact.

    Parameters
    ----------
    max_attributes : int, optional
        The maximum number of attributes, selected by forward selection on the likelihood. None: all attributes.
    %(points)s
    C : "auto" or float, default="auto"
        The inverse of the regularization strength, as in `sklearn.linear_model.LogisticRegression`. C scales the
        variance of the prior, whose standard deviation from one end of a numeric attribute to the other is 4 if C is 1.
        "auto": chosen by cross-validation, or 1 if there are more than 10,000 distinct rows, where C matters little.
    %(schema)s

    %(fitted)s
    C_ : float
        The value of C that was used.

    See Also
    --------
    PrivateScorecardClassifier : A scorecard with differential privacy.

    Notes
    -----
    The log-odds by bin have the same prior as in `PrivateScorecardClassifier`, which smooths them along numeric
    attributes. `fit` tries several sizes of a point. For each size it rounds the log-odds one by one, and later
    roundings compensate for earlier errors. It uses the points with the smallest log-loss. The memory needed is one
    number for each bin of each distinct row.

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

    scorecard_: Scorecard
    _fitted = "scorecard_"
    max_attributes: int | None
    points: int
    monotone: Monotone
    C: float | Literal["auto"]

    @parameters_of(LogisticScorecard)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    get_points = of_model(Scorecard.get_points)
    decision_function = on_rows(Scorecard.decision_function)
