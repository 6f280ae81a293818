"""scikit-learn's face of the learners: parameters as attributes, `fit`, fitted attributes, tags, scores, predictions.

An estimator names its learner (a `Specification`) once: `parameters_of` gives its `__init__` that one's parameters.
What a fitted estimator shows is shown by its model: `of_model` and `on_rows` delegate.
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

P = ParamSpec("P")
T = TypeVar("T")
_SEEDED = (
    "random_state seeds the noise, so that the model has no guarantee: whoever knows the seed can take the noise off. "
    "It is for tests; leave it out to release a model."
)


def of_model(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method of an estimator that is its fitted model's; NotFittedError before `fit`."""

    @wraps(method)
    def delegated(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return getattr(self._fitted_model, method.__name__)(*args, **kwargs)

    return delegated


def on_rows(method: Callable[Concatenate[Any, Any, P], T]) -> Callable[Concatenate[Any, Any, P], T]:
    """Return a method of an estimator that is its fitted model's, of rows that are checked as for `predict`."""

    @wraps(method)
    def delegated(self: Any, X: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return getattr(self._fitted_model, method.__name__)(self._checked(X), *args, **kwargs)

    return delegated


def of_learner(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method of an estimator that is its learner's, once all parameters are checked."""

    @wraps(method)
    def delegated(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        return getattr(specification_of(self), method.__name__)(*args, **kwargs)

    return delegated


def parameters_of(learner: Callable[P, Specification]) -> Callable[[Any], Callable[Concatenate[Any, P], None]]:
    """Return a decorator that makes `__init__` take the parameters of a learner, and store them unchanged."""
    parameters = inspect.signature(learner)

    def decorate(init: Any) -> Callable[Concatenate[Any, P], None]:
        @wraps(init)
        def initialised(self: Any, *args: P.args, **kwargs: P.kwargs) -> None:
            try:
                given = parameters.bind(*args, **kwargs)
            except TypeError as error:
                raise ArgumentTypeError(f"{type(self).__name__}: {error}.") from None
            given.apply_defaults()
            vars(self).update(given.arguments)

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
    """Return an estimator's learner with its parameters, which are checked; TypeError if it has none."""
    if isinstance(estimator, Specification):
        return estimator
    if not isinstance(estimator, TallyEstimator):
        raise ArgumentTypeError(f"expected one of hedgerow's estimators, got {type(estimator).__name__}.")
    learner = learner_of(type(estimator))
    return learner(**{one.name: getattr(estimator, one.name) for one in fields(learner) if one.init})


class FittedModelMixin:
    """An estimator that holds a released model once it is fitted; every method raises NotFittedError before that."""

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

    plot = of_model(Model.plot)
    to_sql = of_model(Model.to_sql)
    to_html = of_model(Model.to_html)
    to_page = of_model(Model.to_page)

    def decide(self, X: Any, *, class_weight: ClassWeight | None = None, costs: Costs | None = None) -> Array:
        """Return the class of the least expected cost of each row, shape ``(n_samples,)``; see `RuleList.decide`."""
        found = self._fitted_model.decide(self._checked(X), class_weight=class_weight, costs=costs)
        return found.astype(self.classes_.dtype)

    def _repr_mimebundle_(self, **given: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**given)  # pyright: ignore -- BaseEstimator's
        if "text/html" in bundle:
            bundle["text/html"] = self._shown() + bundle["text/html"]
        return bundle

    @property
    def _repr_html_(self) -> Any:
        diagram = super()._repr_html_  # pyright: ignore -- BaseEstimator's, which has none where text is displayed
        return lambda: self._shown() + diagram()

    def _shown(self) -> str:
        """Return the fitted model, to stand above scikit-learn's diagram; no property, which `dir` would compute."""
        try:
            return self._fitted_model._repr_html_()
        except NotFittedError:
            return ""


class TallyEstimator(FittedModelMixin, BaseEstimator):
    """An estimator of a model by a learner; subclasses say which, by `parameters_of`."""

    privacy_: PrivacyCard
    feature_names_in_: Array
    n_features_in_: int

    schema: SchemaParameter
    check_public = of_learner(Specification.check_public)

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Learn a model from rows and labels; the estimator then holds released values only, no row and no tally.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            The rows. With a schema, columns are selected by name in a frame, others ignored; by position in an array.
        y : series or array of shape (n_samples,)
            The labels, or numbers, in the order of the rows; those of pandas must have the index of their rows.
        **refused
            Nothing. ``sample_weight`` is refused: weights are a column that the schema declares with public bounds.

        Raises
        ------
        TypeError
            If rows are weighted, or something else is passed.
        ValueError
            If a parameter is out of range or, as `DomainError`, a value does not fit the schema (names the column,
            never the value), or, as `BudgetExceededError`, the shared budget has too little left.
        """
        self._refuse(refused)
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
        """Learn a model from a tally counted elsewhere; its schema replaces the parameter `schema`.

        What learning it costs, what is guaranteed and what is raised is as for `fit`; TypeError if it is no Tally.
        """
        specification, before = specification_of(self), dict(vars(self))
        try:
            vars(self).pop("n_features_in_", None)  # those of an earlier fit
            specification.fit_tally(tally, self._publish)
        except BaseException:
            self._undo(before)
            raise
        return self

    def _refuse(self, given: Mapping[str, Any]) -> None:
        """Raise TypeError if `fit` is given weights, or anything but rows and labels."""
        if given.get("sample_weight") is not None:
            raise ArgumentTypeError(
                "leave sample_weight out: the largest weight sets the noise, and must be public. For trees and rule "
                f"lists, declare the column in the schema: `weight: {{name: ..., high: ...}}`.{self._weighing}"
            )
        for name in sorted(given.keys() - {"sample_weight"}):
            raise ArgumentTypeError(f"expected X and y to fit, got {name!r}.")

    @property
    def _weighing(self) -> str:
        """How to weigh something else than rows."""
        return ""

    def _warn(self, specification: Any, schema: Schema, names: Sequence[str]) -> None:
        """Warn of what parameters, the schema and columns' names show, before anything is charged."""

    def _undo(self, before: Mapping[str, Any]) -> None:
        """Restore the attributes after a fit that failed: scikit-learn's validation writes some early.

        A model that is already published stays, since it may have been charged: a warning can be an error.
        """
        if vars(self).get(self._fitted) is before.get(self._fitted):
            vars(self).clear()
            vars(self).update(before)

    def _publish(self, model: Any, /, **facts: Any) -> None:
        """Set the fitted attributes: the model, its card and schema's columns, and facts by their names."""
        vars(self).update(facts)
        if not (isinstance(self.schema, str) and model.schema.no_guarantee and hasattr(self, "n_features_in_")):
            # else scikit-learn has set them
            self.feature_names_in_ = np.array(model.schema.columns(), dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        self.privacy_ = model.privacy
        setattr(self, self._fitted, model)

    def predict(self, X: Any) -> Array:
        """Return what is predicted of each row, shape ``(n_samples,)``.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            Rows. Of a frame only the columns that the model uses are needed.

        Raises
        ------
        NotFittedError
            Before `fit`.
        DomainError
            If a column that the model uses is absent or holds values the schema does not allow.
        """
        return self._fitted_model.predict(self._checked(X))

    @property
    def feature_importances_(self) -> Floats:
        """The importance of each column, shape ``(n_features_in_,)``: shares that add up to 1, or all 0.

        They are those of the fitted model's `feature_importances`, from released numbers alone (post-processing). The
        importance of a derived attribute is divided equally among the columns that it is derived from. There are none,
        as `hasattr` tells, of trees and rule lists without released counts or sums.
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
    """Return the accuracy of `predict`. A label that is no class of the model counts as an error.

    Raises ValueError if labels are missing, or, for pandas, if the index of the labels is not that of their rows.
    """
    from sklearn.metrics import accuracy_score  # takes long to import

    # Labels are read as `fit` reads them: "1" can be the class 1.
    schema = getattr(getattr(self, self._fitted, None), "schema", None)
    spellings = getattr(schema.label, KEY, ()) if isinstance(schema, Schema) else ()
    labels, label = Labels.of(y, X), Label("label", tuple(self.classes_.tolist()), spellings)
    given = label.codes(labels.column(labels.name))
    label.checked(given[given == MISSING])  # raises if there are any
    predicted = label.codes(column_of(self.predict(X), label.name))
    return float(accuracy_score(given, predicted, sample_weight=sample_weight))


def score_of_numbers(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return the R² of `predict`, as scikit-learn's estimators do.

    Raises ValueError as `fit`, for numbers of pandas whose index is not that of their rows.
    """
    check_same_index(X, y)
    return float(RegressorMixin.score(self, X, y, sample_weight))


class Classifier(ClassifierMixin, TallyEstimator):
    """An estimator of classes."""

    classes_: Array
    score = score_of_classes

    @property
    def _weighing(self) -> str:
        if hasattr(learner_of(type(self)), "class_weight"):
            return " To weigh errors of classes, set class_weight or costs."
        return " To weigh errors of classes, pass class_weight to `decide`."

    def predict(self, X: Any) -> Array:
        return super().predict(X).astype(self.classes_.dtype)

    predict_proba = on_rows(Model.predict_proba)

    def _publish(self, model: Any, /, **facts: Any) -> None:
        super()._publish(model, classes_=np.array(model.schema.classes), **facts)


class Regressor(RegressorMixin, TallyEstimator):
    """An estimator of a number."""

    score = score_of_numbers

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True  # a model that can be read, on many linear effects
        return tags


class PrivateEstimator(TallyEstimator):
    """An estimator that spends a privacy budget."""

    epsilon: Amount | None
    budget: Budget | None
    random_state: NoiseSource | RandomState
    planned_charge = of_learner(PrivateSpecification.planned_charge)
    check_budget = of_learner(PrivateSpecification.check_budget)
    max_rows = of_learner(PrivateSpecification.max_rows)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Reasons why the fitted model as a whole is of little use, unless a model without a choice was asked for."""
        return model_caveats(self._model, self)

    def _warn(self, specification: Any, schema: Schema, names: Sequence[str]) -> None:
        seed = specification.random_state
        for reason in () if specification.noise().no_guarantee_reason else unaccounted():  # a seeded card is void
            warn(reason, errors.PreparationWarning)
        if not (seed is None or isinstance(seed, NoiseSource)):
            warn(_SEEDED, errors.SeededNoiseWarning)
        if schema.unit is None and not schema.no_guarantee and (whose := unit_advice(names)):
            warn(whose, errors.UnitWarning)
        if too_noisy := noise_warning(specification.exact_epsilon, schema.unit):
            specification.planned_charge(schema)  # raises where it is too small to be used at all
            warn(too_noisy, errors.NoiseWarning)

    def _publish(self, model: Any, /, **facts: Any) -> None:
        super()._publish(model, **facts)
        for caveat in self.caveats if self.privacy_.is_private else ():  # not of trials and tests, which are seeded
            warn(f"{caveat.sentence} See `hedgerow.plan`.", errors.UselessModelWarning)
