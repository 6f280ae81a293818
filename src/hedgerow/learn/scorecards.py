"""Scorecard estimators: private, of noisy counts and sums, and by logistic regression, to compare with."""

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
    """A differentially private scorecard: whole points by bin that add up to the log-odds of a row.

    What is released, one after the other (docs/models.md): the rows of each class; where attributes are many for the
    noise, which of them are used; a histogram of bin and class of each of these; of two classes, where rows are enough,
    how far attributes say the same; where rows are many, the residuals by bin that all attributes together leave; and
    the rows by total and class, to which the map from totals to probabilities is fitted. In pure ε the histograms of
    attributes with similar numbers of bins share K-norm noise, which is smaller than separate noise for each (fact 11);
    if the budget adds up ρ, they do not, as it costs more ρ. The rest is computed from what was released: log-odds by
    bin, smooth along numbers, a weight for each attribute, and bins merged where that costs next to nothing.

    Neighbouring tables differ by adding or removing one row, or all rows of the schema's `Unit`. Sensitivities are
    exact, in whole numbers (docs/mathematics.md, fact 5). With `delta`, noise after the first release
    is discrete Gaussian if that is less, as where many attributes are used; otherwise the fit is the one without.

    Parameters
    ----------
    %(epsilon)s
    %(max_attributes and points)s
    %(public schema)s
    %(budget)s
    %(delta)s
    smooth : "auto" or float, default="auto"
        The prior's standard deviation of the log-odds from one end of a number to the other: less is smoother. "auto"
        is 4.

    %(fitted)s

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
    """A differentially private scorecard of a number: whole points by bin, each of which is worth so much of it.

    What is predicted is the lowest value that the schema allows and `Scorecard.unit` for each point, within the bounds.
    What is released, one after the other (docs/models.md): how many rows there are, and sums of the number and of its
    square; where attributes are many for the noise, which of them are used; rows and sums by bin of each of these; and,
    the more rows the more often, up to three times, how large residuals are on average and their sums by bin, each cut
    off at two and a half times that. In pure ε, rows and sums by bin share K-norm noise as those of
    `PrivateScorecardClassifier` do. The rest is computed from what was released: points, smooth along numbers, and
    bins merged where that costs next to nothing.

    A number is counted by its level (`hedgerow.schema.Number`): a row of level k of K is k times as the highest and
    K − 1 − k times as the lowest. Neighbouring tables differ by adding or removing one row, or all rows of the
    schema's `Unit`. Sensitivities are exact, in whole numbers (docs/mathematics.md, fact 5). With `delta`, noise
    after the first release is discrete Gaussian if that is less, as where many attributes are used; otherwise the fit
    is the one without.

    Parameters
    ----------
    %(epsilon)s
    %(max_attributes and points)s
    %(number schema)s
    %(budget)s
    %(delta)s
    smooth : "auto" or float, default="auto"
        The prior's standard deviation of what is predicted from one end of a number to the other, in standard
        deviations of the target: less is smoother. "auto" is 2.5.

    %(fitted)s

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


MOST_BINS_IN_ALL = 4000  # times the columns of points: a matrix of bin by bin is held
LEAST_C, LARGEST_C = 0.001, 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class LogisticScorecard(Specification):
    """The learner of scorecards by logistic regression, without privacy."""

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
        check_auto("C", self.C, LEAST_C, LARGEST_C)

    def check_public(self) -> None:
        super().check_public()
        if isinstance(self.schema, Schema):
            self._directions(self.schema)

    def _directions(self, schema: Schema) -> dict[str, Direction]:
        n_columns = 1 if schema.target.n_levels == 2 else schema.target.n_levels
        n_points = n_columns * sum(attribute.n_bins for _, attribute in schema.attributes)
        if n_points > MOST_BINS_IN_ALL:
            raise SchemaError(
                f"expected at most {MOST_BINS_IN_ALL:,} points of bins and classes of a scorecard that is not private, "
                f"got {n_points:,}; declare fewer cut points, or leave attributes out."
            )
        return directions(schema, self.monotone)

    def learn(self, schema: Schema, rows: TrainingRows, publish: Publish[T]) -> T:
        monotone = self._directions(schema)
        regression = Regression(schema, *rows.count().bins_and_counts())
        most = None if self.max_attributes is None else int(self.max_attributes)
        attributes = range(len(schema)) if most is None or most >= len(schema) else regression.choose(most)
        strength = regression.validate(attributes) if isinstance(self.C, str) else float(self.C)
        fitted = centred(regression.fit(attributes, strength), regression, monotone)
        build = scorecard_model(*rounded_card(fitted, regression, int(self.points), monotone), None)
        return publish(build(schema, PrivacyCard.none(Fact("not_private"))), C_=strength)


@documented
class ScorecardClassifier(Classifier):
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

    %(fitted)s
    C_ : float
        The value of C that was used.

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
