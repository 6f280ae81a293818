"""The scikit-learn interface of the learners: parameters, `fit`, fitted attributes, tags, scores and predictions.

An estimator names its learner (a `Specification`) once; `parameters_of` gives its `__init__` the learner's parameters.
Methods of a fitted estimator delegate to its model (`of_model`, `on_rows`).
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from hedgerow import errors
from hedgerow.boundary.arguments import RandomState
from hedgerow.boundary.arrays import Array, Floats
from hedgerow.errors import ArgumentTypeError
from hedgerow.learn.base import SchemaParameter, Specification
from hedgerow.learn.callers import unaccounted, warn
from hedgerow.learn.inputs import TrainingData, validated_table
from hedgerow.learn.private_base import PrivateSpecification, model_caveats, noise_warning
from hedgerow.models.caveats import Caveat
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.models.model import Model
from hedgerow.privacy.amounts import Amount
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.noise import NoiseSource
from hedgerow.schema.attributes import MISSING
from hedgerow.schema.contributions import unit_advice
from hedgerow.schema.schema import Schema
from hedgerow.schema.spellings import KEY
from hedgerow.schema.targets import Label
from hedgerow.tables.frames import Labels, Table, check_same_index, column_of
from hedgerow.tally import Tally
from hedgerow.text.messages import near_miss

P = ParamSpec("P")
T = TypeVar("T")
_SEEDED = (
    "random_state seeds the noise, so the model has no privacy guarantee: anyone who knows the seed can remove the "
    "noise. Use it for tests only, and omit it to release a model."
)


def of_model(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that delegates to the fitted model."""

    @wraps(method)
    def delegated(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return getattr(self._fitted_model, method.__name__)(*args, **kwargs)

    return delegated


def on_rows(method: Callable[Concatenate[Any, Any, P], T]) -> Callable[Concatenate[Any, Any, P], T]:
    """Return a method that delegates to the fitted model, after checking the rows as `predict` does."""

    @wraps(method)
    def delegated(self: Any, X: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return getattr(self._fitted_model, method.__name__)(self._checked(X), *args, **kwargs)

    return delegated


def of_learner(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that delegates to the learner, after checking all parameters."""

    @wraps(method)
    def delegated(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return getattr(specification_of(self), method.__name__)(*args, **kwargs)

    return delegated


def parameters_of(learner: Callable[P, Specification]) -> Callable[[Any], Callable[Concatenate[Any, P], None]]:
    """Return a decorator of `__init__` that takes the parameters of a learner and stores them unchanged."""
    parameters = inspect.signature(learner)

    def decorate(init: Any) -> Callable[Concatenate[Any, P], None]:
        @wraps(init)
        def initialised(self: Any, *args: P.args, **kwargs: P.kwargs) -> None:
            try:
                bound = parameters.bind(*args, **kwargs)
            except TypeError as error:
                names = parameters.parameters
                unknown = next((name for name in kwargs if name not in names), None)
                raise ArgumentTypeError(f"{type(self).__name__}: {error}.{near_miss(unknown, names)}") from None
            bound.apply_defaults()
            vars(self).update(bound.arguments)

        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        cast(Any, initialised).__signature__ = parameters.replace(parameters=[own, *parameters.parameters.values()])
        cast(Any, initialised).learner = learner
        return initialised

    return decorate


def learner_of(estimator: type[Any]) -> type[Specification]:
    """Return the learner whose parameters an estimator takes."""
    inits = (vars(kind).get("__init__") for kind in estimator.__mro__)  # a subclass may have one of its own
    return next(cast(Any, init).learner for init in inits if hasattr(init, "learner"))


def specification_of(estimator: object) -> Any:
    """Return the learner of an estimator, with checked parameters; raise TypeError for other objects."""
    if isinstance(estimator, Specification):
        return estimator
    if not isinstance(estimator, TallyEstimator):
        raise ArgumentTypeError(f"expected a hedgerow estimator, got {type(estimator).__name__}.")
    learner = learner_of(type(estimator))
    return learner(**{field.name: getattr(estimator, field.name) for field in fields(learner) if field.init})


class FittedModelMixin:
    """Mixin of estimators that hold a released model once fitted; methods raise NotFittedError before."""

    classes_: Array
    _fitted: ClassVar[str]  # the attribute that holds the model

    @property
    def _model(self) -> Any:
        return getattr(self, self._fitted)

    @property
    def _fitted_model(self) -> Any:
        check_is_fitted(self)
        return self._model

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return X

    save = of_model(Model.save)
    plot = of_model(Model.plot)
    to_sql = of_model(Model.to_sql)
    to_html = of_model(Model.to_html)
    to_page = of_model(Model.to_page)

    def decide(self, X: Any, *, class_weight: ClassWeight | None = None, costs: Costs | None = None) -> Array:
        """Return the class with the smallest expected cost for each row; see `RuleList.decide`.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
            The rows.
        class_weight : mapping of class to float, optional
            The cost of every error on a row of the class.
        costs : mapping of class to mapping of class to float, optional
            Misclassification costs ``costs[actual][predicted]``.

        Returns
        -------
        ndarray of shape (n_samples,)
            A class for each row.
        """
        classes = self._fitted_model.decide(self._checked(X), class_weight=class_weight, costs=costs)
        return classes.astype(self.classes_.dtype)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)  # pyright: ignore -- BaseEstimator's
        if "text/html" in bundle:
            bundle["text/html"] = self._shown() + bundle["text/html"]
        return bundle

    @property
    def _repr_html_(self) -> Any:
        diagram = super()._repr_html_  # pyright: ignore -- BaseEstimator's, which is absent if text is displayed
        return lambda: self._shown() + diagram()

    def _shown(self) -> str:
        """Return the HTML of the fitted model; not a property, because `dir` would compute it."""
        try:
            return self._fitted_model._repr_html_()
        except NotFittedError:
            return ""


class TallyEstimator(FittedModelMixin, BaseEstimator):
    """Base class of estimators; subclasses name their learner by `parameters_of`."""

    privacy_: PrivacyCard
    feature_names_in_: Array
    n_features_in_: int

    schema: SchemaParameter
    check_public = of_learner(Specification.check_public)

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:
        """Fit the model to a table.

        The fitted estimator holds the released model only; it stores neither rows nor tallies.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            The training rows. With a declared schema, columns of a frame are selected by name and other columns are
            ignored; columns of an array are in the schema's order.
        y : series or array of shape (n_samples,)
            The labels or target values. A pandas series must have the same index as `X`.
        **unsupported
            No other argument is supported. To weight rows, declare a weight column with public bounds in the schema
            instead of passing ``sample_weight``.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        TypeError
            If ``sample_weight`` or another unsupported argument is passed.
        ValueError
            If a parameter is out of range.
        DomainError
            If a value lies outside the schema. The message names the column, not the value.
        BudgetExceededError
            If too little is left of the shared budget.
        """
        self._reject_arguments(unsupported)
        specification, before = specification_of(self), dict(vars(self))
        try:
            data = TrainingData.of(specification, X, y, self)
            self._warn(specification, data.schema, data.table.names or ())
            specification.learn(data.schema, specification.rows(data), self._publish)
        except BaseException:
            self._undo(before)
            raise
        return self

    def fit_tally(self, tally: Tally) -> Self:
        """Fit the model to a tally, such as the counts of a table in a database.

        The schema of the tally replaces the parameter `schema`. The cost and the guarantee are the same as for `fit`.

        Parameters
        ----------
        tally : Tally
            The counts of the training rows.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        TypeError
            If `tally` is not a `Tally`. See `fit` for other exceptions.
        """
        specification, before = specification_of(self), dict(vars(self))
        try:
            vars(self).pop("n_features_in_", None)  # of an earlier fit
            specification.check_tally(tally)
            self._warn(specification, tally.schema, ())
            specification.fit_tally(tally, self._publish)
        except BaseException:
            self._undo(before)
            raise
        return self

    def _reject_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Raise TypeError for sample weights and unknown arguments of `fit`."""
        if arguments.get("sample_weight") is not None:
            raise ArgumentTypeError(
                "sample_weight is not supported: the largest weight sets the noise and must be public. For trees and "
                f"rule lists, declare the column in the schema: `weight: {{name: ..., high: ...}}`.{self._weight_hint}"
            )
        for name in sorted(arguments.keys() - {"sample_weight"}):
            raise ArgumentTypeError(f"fit takes X and y only, got {name!r}.")

    @property
    def _weight_hint(self) -> str:
        """How to weight classes, if the estimator supports it."""
        return ""

    def _warn(self, specification: Any, schema: Schema, names: Sequence[str]) -> None:
        """Warn of problems with parameters, schema and column names, before anything is charged."""

    def _undo(self, before: Mapping[str, Any]) -> None:
        """Restore the attributes after a failed fit, except a published model."""
        # scikit-learn's validation sets attributes early. A published model stays, because it may have been charged
        # and a warning after it may have been turned into an error.
        if vars(self).get(self._fitted) is before.get(self._fitted):
            vars(self).clear()
            vars(self).update(before)

    def _publish(self, model: Any, /, **facts: Any) -> None:
        """Set the fitted attributes: the model, its card and columns, and facts by their names."""
        vars(self).update(facts)
        if not (isinstance(self.schema, str) and model.schema.no_guarantee and hasattr(self, "n_features_in_")):
            # Otherwise scikit-learn's validation has set them.
            self.feature_names_in_ = np.array(model.schema.columns(), dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        self.privacy_ = model.privacy
        setattr(self, self._fitted, model)

    def predict(self, X: Any) -> Array:
        """Predict the class or target value of each row.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            The rows. A frame needs only the columns that the model uses. The columns of an array are read by position,
            in the order of all attributes of the schema, also if the estimator was fitted to a frame.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        DomainError
            If a column that the model uses is missing or has a value that the schema does not allow.
        """
        return self._fitted_model.predict(self._checked(X))

    @property
    def feature_importances_(self) -> Floats:
        """The importance of each column, shape ``(n_features_in_,)``; the values add up to 1, or all are 0.

        They are computed by the fitted model's `feature_importances` from released numbers only (post-processing). The
        importance of a derived attribute is divided equally among its source columns. Trees and rule lists without
        released counts or sums do not have this attribute.
        """
        model = self._fitted_model
        try:
            importances = model.feature_importances()
        except ArgumentTypeError as error:
            raise AttributeError(str(error)) from None
        by_column = dict.fromkeys(model.schema.columns(), 0.0)
        for name, importance in importances.items():
            columns = model.schema.columns([name])
            for column in columns:
                by_column[column] += importance / len(columns)
        return np.array(list(by_column.values()))

    def _checked(self, X: Any) -> Table:
        if isinstance(self.schema, str) and self._fitted_model.schema.no_guarantee:
            return validated_table(self, X, reset=False)
        check_is_fitted(self)
        return Table.of(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = getattr(self, "random_state", self) is None
        return tags


def score_of_classes(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the accuracy of the predictions.

    Parameters
    ----------
    X : frame or array of shape (n_samples, n_features)
        The rows.
    y : series or array of shape (n_samples,)
        The true labels. A label that is not a class of the model counts as an error.
    sample_weight : array of shape (n_samples,), optional
        The weights of the rows.

    Returns
    -------
    float
        The share of rows whose label is predicted correctly.

    Raises
    ------
    ValueError
        If a label is missing, or if the pandas indexes of `X` and `y` differ.
    """
    from sklearn.metrics import accuracy_score  # takes long to import

    # Labels are read as `fit` reads them: "1" can be the class 1.
    schema = getattr(getattr(self, self._fitted, None), "schema", None)
    spellings = getattr(schema.label, KEY, ()) if isinstance(schema, Schema) else ()
    labels, label = Labels.of(y, X), Label("label", tuple(self.classes_.tolist()), spellings)
    actual = label.codes(labels.column(labels.name))
    label.checked(actual[actual == MISSING])  # raises if there are any
    predicted = label.codes(column_of(self.predict(X), label.name))
    return float(accuracy_score(actual, predicted, sample_weight=sample_weight))


def score_of_numbers(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the coefficient of determination R² of the predictions.

    Parameters
    ----------
    X : frame or array of shape (n_samples, n_features)
        The rows.
    y : series or array of shape (n_samples,)
        The true target values.
    sample_weight : array of shape (n_samples,), optional
        The weights of the rows.

    Returns
    -------
    float
        R², at most 1.

    Raises
    ------
    ValueError
        If the pandas indexes of `X` and `y` differ.
    """
    check_same_index(X, y)
    return float(RegressorMixin.score(self, X, y, sample_weight))


class Classifier(ClassifierMixin, TallyEstimator):
    """Base class of classifiers."""

    classes_: Array
    score = score_of_classes

    @property
    def _weight_hint(self) -> str:
        if hasattr(learner_of(type(self)), "class_weight"):
            return " To weight classes, set class_weight or costs."
        return " To weight classes, pass class_weight to `decide`."

    def predict(self, X: Any) -> Array:
        return super().predict(X).astype(self.classes_.dtype)

    predict_proba = on_rows(Model.predict_proba)

    def _publish(self, model: Any, /, **facts: Any) -> None:
        super()._publish(model, classes_=np.array(model.schema.classes), **facts)


class Regressor(RegressorMixin, TallyEstimator):
    """Base class of regressors."""

    score = score_of_numbers

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True  # an interpretable model cannot fit the check's linear data well
        return tags


class PrivateEstimator(TallyEstimator):
    """Base class of estimators that spend a privacy budget."""

    epsilon: Amount | None
    budget: Budget | None
    random_state: NoiseSource | RandomState
    planned_charge = of_learner(PrivateSpecification.planned_charge)
    check_budget = of_learner(PrivateSpecification.check_budget)
    max_rows = of_learner(PrivateSpecification.max_rows)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Reasons why the fitted model is of little use; none if the parameters asked for a constant model."""
        return model_caveats(self._model, self)

    def _warn(self, specification: Any, schema: Schema, names: Sequence[str]) -> None:
        seed = specification.random_state
        for reason in () if specification.noise().no_guarantee_reason else unaccounted():
            warn(reason, errors.PreparationWarning)
        if not (seed is None or isinstance(seed, NoiseSource)):
            warn(_SEEDED, errors.SeededNoiseWarning)
        if schema.unit is None and not schema.no_guarantee and (advice := unit_advice(names)):
            warn(advice, errors.UnitWarning)
        if too_noisy := noise_warning(specification.exact_epsilon, schema.unit):
            specification.planned_charge(schema)  # raises if epsilon is too small to be used at all
            warn(too_noisy, errors.NoiseWarning)
        if not schema.no_guarantee and (too_weak := specification.guarantee_warning):
            warn(too_weak, errors.WeakGuaranteeWarning)

    def _publish(self, model: Any, /, **facts: Any) -> None:
        super()._publish(model, **facts)
        for caveat in self.caveats if self.privacy_.is_private else ():  # seeded fits of trials and tests do not warn
            warn(f"{caveat.sentence} {self._advice(model)}", errors.UselessModelWarning)

    def _advice(self, model: Model) -> str:
        """Return advice on a model that is no better than a constant."""
        if model.schema.target.as_number is not None or model.costs is not None:
            return "See `hedgerow.plan`."
        if model.has_points:
            return "Its probabilities may still rank rows, and `decide` uses them with costs. See `hedgerow.plan`."
        weights = "set class_weight, and " if hasattr(self, "class_weight") else ""
        return f"If a class is rare, {weights}see `hedgerow.plan` with class_share."
