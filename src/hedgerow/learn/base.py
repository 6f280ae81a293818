"""Base classes of the estimators: counting a table into a tally, predicting with the fitted model, and reading it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal, Protocol, Self, cast

import numpy as np

from hedgerow.boundary.arguments import check_flag, check_integer
from hedgerow.boundary.arrays import Array, Index
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError, TooManyRowsError
from hedgerow.learn.inputs import TrainingData, check_kept, check_learnable, validated_table
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.models.model import DialectName, Model
from hedgerow.models.plot import check_matplotlib
from hedgerow.models.rule_list import RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.models.tree import MAX_DEPTH, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.attributes import DIRECTIONS, Direction
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table
from hedgerow.tally import Tally
from hedgerow.text.axes import Axes
from hedgerow.text.messages import describe_argument

LARGEST_POINTS = 1000
SMOOTH = 0.01, 1000  # the least, and the largest: outside, float64 does not hold the precision of many bins
MOST_BINS = 2000  # of an attribute: matrices of bin by bin are inverted
FROM_DATA: Literal["from-data"] = "from-data"


class Learned(Protocol):
    """Result of a learner: `LearnedList`, `LearnedTree` or `LearnedScorecard`."""

    def model(self, schema: Schema, card: PrivacyCard) -> Model: ...


class Readable:
    """A classifier that holds a released model once it is fitted. Every method raises NotFittedError before that."""

    classes_: Array
    _fitted: ClassVar[str]  # the attribute that holds the model

    @property
    def _model(self) -> Any:
        return getattr(self, self._fitted)

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted  # takes long to import

        check_is_fitted(self)

    def _checked(self, X: Any) -> Any:
        self._check_fitted()
        return X

    @property
    def _read(self) -> Any:
        self._check_fitted()
        return self._model

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the model, and return the axes; MissingPackageError where matplotlib is not installed."""
        model = self._read
        check_matplotlib()
        return model.plot(ax)

    def to_sql(self, dialect: DialectName = "duckdb") -> str:
        """Return an expression in an engine's SQL that gives the predicted class; see `Model.to_sql`."""
        return self._read.to_sql(dialect)

    def to_html(self) -> str:
        """Return the model and its privacy card as an HTML fragment; names and values are escaped."""
        return self._read.to_html()

    def to_page(self) -> str:
        """Return a whole HTML page to be read and printed; see `RuleList.to_page`."""
        return self._read.to_page()

    def decide(self, X: Any, *, class_weight: ClassWeight | None = None, costs: Costs | None = None) -> Array:
        """Return the class of the least expected cost of each row, shape ``(n_samples,)``; see `RuleList.decide`."""
        return self._read.decide(self._checked(X), class_weight=class_weight, costs=costs).astype(self.classes_.dtype)

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
        from sklearn.exceptions import NotFittedError  # takes long to import

        try:
            self._check_fitted()
        except NotFittedError:
            return ""
        return self._model._repr_html_()


class ReadableLeaves(Readable):
    """A classifier whose model has leaves: the rules of a list, or the leaves of a tree."""

    def apply(self, X: Any) -> Index:
        """Return the rule or leaf of each row, ``(n_samples,)``, from 0 in the order of `get_rules`; see `predict`."""
        return self._read.apply(self._checked(X))

    def get_rules(self) -> list[dict[str, Any]]:
        """Return one record a rule or leaf: its number from 1, condition, prediction, probability, released counts.

        Those are None where none were released. ``pandas.DataFrame(clf.get_rules())`` makes a frame of it.
        """
        return self._read.get_rules()


class ReadablePoints(Readable):
    """A classifier whose model is a scorecard, which has points and no rules or leaves."""

    def get_points(self) -> list[dict[str, Any]]:
        """Return one record a bin: attribute, bin, points and their interval; see `Scorecard.get_points`."""
        return self._read.get_points()


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit: `count` returns their tally, and `most` the largest number of rows that it can have."""

    count: Callable[[], Tally]
    most: Callable[[], int]

    def within(self, limit: int | None) -> Callable[[], Tally]:
        """Return `count`. If the rows could reach the limit, count first and raise TooManyRowsError if they do.

        This comes before the charge: whoever calls `fit` knows the number of rows, and a table that is too large
        should cost nothing.
        """
        if limit is None or self.most() < limit:
            return self.count
        tally = self.count()
        if tally.total().sum() >= limit:
            problem = f"Expected fewer than {limit:,} rows for the search of this model, got as many or more"
            advice = "A single model with search='greedy' (--search greedy) takes fewer than 2^43 rows."
            raise TooManyRowsError(f"{problem}. Nothing was charged. {advice}")
        return lambda: tally


class TallyEstimator(Readable):
    """An estimator with an interpretable model; subclasses define its parameters as fields, and how it learns."""

    schema: Schema | Literal["from-data"] | None
    _weighing: ClassVar[str] = ""  # how to weigh something else than rows
    keeps_monotone: ClassVar[bool] = False  # whether the model is monotone where the schema says so
    predicts_number: ClassVar[bool] = False  # whether it predicts a number, and not a class
    takes_weights: ClassVar[bool] = False  # whether rows may have weights, by the schema

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
        if refused.get("sample_weight") is not None:
            raise ArgumentTypeError(
                "leave sample_weight out: the largest weight sets the noise, and must be public. For trees and rule "
                f"lists, declare the column in the schema: `weight: {{name: ..., high: ...}}`.{self._weighing}"
            )
        for name in sorted(refused.keys() - {"sample_weight"}):
            raise ArgumentTypeError(f"expected X and y to fit, got {name!r}.")
        self._check_parameters()
        before = dict(vars(self))
        try:
            data = TrainingData.of(self, X, y)
            self._warn(data.schema, data.table.names or ())
            most = len(data.table) * data.schema.steps
            rows = TrainingRows(lambda: data.count(getattr(self, "random_state", None)), lambda: most)
            self._learn(data.schema, rows)
        except BaseException:
            self._undo(before)
            raise
        return self

    def check_public(self) -> None:
        """Check the parameters, the schema included, as `fit` does before it counts rows; ValueError as there."""
        self._check_parameters()
        if isinstance(self.schema, Schema):
            check_learnable(self, self.schema)

    def fit_tally(self, tally: Tally) -> Self:
        """Learn a model from a tally counted elsewhere; its schema replaces the parameter `schema`.

        What learning it costs, what is guaranteed and what is raised is as for `fit`; TypeError if it is no Tally.
        """
        self._check_parameters()
        if not isinstance(tally, Tally):
            raise ArgumentTypeError(f"Expected a Tally, got {type(tally).__name__}.")
        check_kept(self, tally.schema)
        if not tally.schema.no_guarantee_reason:
            check_learnable(self, tally.schema)
        before = dict(vars(self))
        try:
            vars(self).pop("n_features_in_", None)  # those of an earlier fit
            self._learn(tally.schema, TrainingRows(lambda: tally, lambda: int(tally.total().sum())))
        except BaseException:
            self._undo(before)
            raise
        return self

    def _warn(self, schema: Schema, names: Sequence[str]) -> None:
        """Warn of what parameters, the schema and columns' names show: called by `fit`, whose caller is named."""

    def _undo(self, before: Mapping[str, Any]) -> None:
        """Restore the attributes after a fit that failed: scikit-learn's validation writes some early.

        A model that is already published stays, since it may have been charged: a warning can be an error.
        """
        if vars(self).get(self._fitted) is before.get(self._fitted):
            vars(self).clear()
            vars(self).update(before)

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
        return self._read.predict(self._checked(X))

    @property
    def _is_from_data(self) -> bool:
        return isinstance(self.schema, str) and self.schema == FROM_DATA

    def _checked(self, X: Any) -> Table:
        self._check_fitted()
        if self._is_from_data and self._model.schema.no_guarantee_reason:
            return validated_table(self, X, reset=False)
        return Table.of(X)

    def _check_parameters(self) -> None:
        if not (self.schema is None or isinstance(self.schema, Schema) or self._is_from_data):
            expected = f"a Schema (Schema.load reads a file), None or {FROM_DATA!r}"
            raise ArgumentError(f"schema must be {expected}, got {describe_argument(self.schema)}.")

    def _learn(self, schema: Schema, rows: TrainingRows) -> Self:
        raise NotImplementedError

    def _publish(self, schema: Schema, learned: Learned, card: PrivacyCard) -> Self:
        model = learned.model(schema, card)
        if not self._is_from_data or not schema.no_guarantee_reason or not hasattr(self, "n_features_in_"):
            # else scikit-learn has set them
            self.feature_names_in_ = np.array(schema.columns(), dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        self.privacy_ = card
        setattr(self, self._fitted, model)
        return self

    def _check_size(self, name: str, value: object, low: int) -> None:
        """Check the largest size of a model: a whole number, but where it can be drawn."""
        check_integer(name, value, low)


@dataclass(eq=False, repr=False, kw_only=True)
class RuleListEstimator(ReadableLeaves, TallyEstimator):
    """An estimator whose model is a `RuleList`."""

    max_rules: int | None = 5
    max_literals: int = 2
    negations: bool = True
    rule_list_: RuleList = field(init=False)
    _fitted = "rule_list_"
    takes_weights = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_size("max_rules", self.max_rules, 1)
        check_integer("max_literals", self.max_literals, 1)
        check_flag("negations", self.negations)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeEstimator(ReadableLeaves, TallyEstimator):
    """An estimator whose model is a `Tree`."""

    max_depth: int | None = 3
    tree_: Tree = field(init=False)
    _fitted = "tree_"
    takes_weights = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_size("max_depth", self.max_depth, 0)
        if self.max_depth is not None:
            check_up_to("max_depth", self.max_depth, 0, MAX_DEPTH)


@dataclass(eq=False, repr=False, kw_only=True)
class ScorecardEstimator(ReadablePoints, TallyEstimator):
    """An estimator whose model is a `Scorecard`."""

    max_attributes: int | None = None
    points: int = 20
    monotone: Mapping[str, Direction | None] | None = None
    scorecard_: Scorecard = field(init=False)
    _fitted = "scorecard_"
    keeps_monotone = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_attributes is not None:
            check_integer("max_attributes", self.max_attributes, 1)
        check_up_to("points", self.points, 1, LARGEST_POINTS)
        monotone: Any = {} if self.monotone is None else self.monotone
        if not isinstance(monotone, Mapping):
            kind = type(monotone).__name__
            raise ArgumentTypeError(f"monotone must be a mapping of names to directions, got {kind}.")
        for direction in monotone.values():
            if direction is not None and (not isinstance(direction, str) or direction not in DIRECTIONS):
                given = describe_argument(direction)
                raise ArgumentError(f"monotone must map names to {' or '.join(DIRECTIONS)}, got {given}.")

    @property
    def _most_attributes(self) -> int | None:
        return None if self.max_attributes is None else int(self.max_attributes)

    def _directions(self, schema: Schema) -> dict[str, Direction]:
        """Return the directions by name, the schema's where none is given, once schema and names are checked."""
        for name, attribute in schema.attributes:
            if attribute.n_bins > MOST_BINS:
                problem = f"expected at most {MOST_BINS:,} bins of an attribute of a scorecard"
                advice = "declare fewer, or leave the attribute out."
                raise SchemaError(f"{problem}, got {attribute.n_bins:,}; {advice}", attribute=name)
        monotone: dict[str, Direction | None] = {**schema.monotone, **(self.monotone or {})}
        for name in monotone:
            _check_monotone(name, schema)
        return {name: direction for name, direction in monotone.items() if direction is not None}


def check_up_to(name: str, value: Any, least: int, most: int) -> None:
    if check_integer(name, value, least) > most:
        raise ArgumentError(f"{name} must be a whole number <= {most}, got {describe_argument(value)}.")


def check_auto(name: str, value: Any, low: float, high: float) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool) and low <= cast(float, value) <= high
    if not is_number and not (isinstance(value, str) and value == "auto"):
        raise ArgumentError(f"{name} must be 'auto' or a number from {low} to {high}, got {describe_argument(value)}.")


def _check_monotone(name: str, schema: Schema) -> None:
    if name not in schema:
        raise SchemaError("is in monotone but not declared.", attribute=name)
    if not schema[name].ordered:
        problem = "expected a number or an ordered attribute in monotone"
        raise SchemaError(f"{problem}; the bins of others have no order.", attribute=name)
    if schema.target.as_number is None and schema.target.n_levels != 2:
        raise ArgumentError(f"monotone needs two classes, and the label has {schema.target.n_levels}; leave it out.")
