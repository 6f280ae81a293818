"""Base class of specifications: checked parameters of a learner, and how it learns a model from a tally.

Specifications do not import scikit-learn, which is slow to import; the command line and plans use them directly. The
public estimators (`hedgerow.learn.contract`) are their scikit-learn interface.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal, Protocol, TypeVar, cast

from hedgerow.boundary.arguments import check_flag, check_integer
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError, TooManyRowsError
from hedgerow.learn.inputs import TrainingData, check_kept, check_learnable
from hedgerow.learn.learned import BuildModel
from hedgerow.models.decisions import CostTable
from hedgerow.models.model import Model
from hedgerow.models.tree import MAX_DEPTH
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.attributes import DIRECTIONS, Direction
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument

MAX_POINTS = 1000
SMOOTH = 0.01, 1000  # smallest and largest value: outside, float64 is too inexact for many bins
MAX_BINS = 2000  # of an attribute: square matrices of this size are inverted
FROM_DATA: Literal["from-data"] = "from-data"
SchemaParameter = Schema | Literal["from-data"] | None
Monotone = Mapping[str, Direction | None] | None
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class TrainingRows:
    """Training rows: `count` returns their tally, and `max_rows` an upper bound on its number of rows."""

    count: Callable[[], Tally]
    max_rows: Callable[[], int]

    def within(self, limit: int | None) -> Callable[[], Tally]:
        """Return `count`; raise TooManyRowsError, before the charge, if the table reaches the limit."""
        # The caller of `fit` knows the number of rows, and a table that is too large should cost nothing.
        if limit is None or self.max_rows() < limit:
            return self.count
        tally = self.count()
        if tally.total().sum() >= limit:
            problem = f"The table is too large: the exact search of this model takes fewer than {limit:,} rows"
            advice = "With search='greedy' (--search greedy), a tree or rule list takes fewer than 2^43 rows."
            raise TooManyRowsError(f"{problem}. Nothing was charged. {advice}")
        return lambda: tally


class Publish(Protocol[T_co]):
    """Callback at the end of a fit; `facts` are other results, by the names of fitted attributes."""

    def __call__(self, model: Any, /, **facts: Any) -> T_co: ...


def model_alone(model: Any, /, **facts: Any) -> Any:  # noqa: ARG001
    return model


@dataclass(frozen=True, kw_only=True, eq=False)
class Specification:
    """Parameters of a learner, checked when it is created."""

    schema: SchemaParameter = None
    estimator: ClassVar[str]  # the public name of the learner, recorded in charges
    keeps_monotone: ClassVar[bool] = False  # whether the model respects monotone attributes of the schema
    predicts_number: ClassVar[bool] = False  # whether this is regression
    takes_weights: ClassVar[bool] = False  # whether the schema may declare row weights

    def __post_init__(self) -> None:
        if not (self.schema is None or isinstance(self.schema, Schema) or self.is_from_data):
            expected = f"a Schema (Schema.load reads a file), None or {FROM_DATA!r}"
            raise ArgumentError(f"schema must be {expected}, got {describe_argument(self.schema)}.")

    @property
    def is_from_data(self) -> bool:
        """Whether the schema is inferred from the rows."""
        return isinstance(self.schema, str) and self.schema == FROM_DATA

    def check_public(self) -> None:
        """Check the parameters and the declared schema, as `fit` does before it counts rows.

        Raises
        ------
        ValueError
            If the schema does not suit the learner or a parameter does not suit the schema.
        """
        if isinstance(self.schema, Schema):
            check_learnable(self, self.schema)

    def fit(self, X: Any, y: Any) -> Model:
        """Return the model learned from rows and labels."""
        data = TrainingData.of(self, X, y)
        return self.learn(data.schema, self.rows(data), model_alone)

    def fit_tally(self, tally: Tally, publish: Publish[T] = model_alone) -> T:
        """Learn a model from a tally, whose schema replaces the parameter `schema`."""
        self.check_tally(tally)
        return self.learn(tally.schema, TrainingRows(lambda: tally, lambda: int(tally.total().sum())), publish)

    def check_tally(self, tally: Tally) -> None:
        """Raise TypeError if this is not a tally, or an error if its schema does not suit the learner."""
        if not isinstance(tally, Tally):
            raise ArgumentTypeError(f"tally must be a Tally, got {type(tally).__name__}.")
        check_kept(self, tally.schema)
        if not tally.schema.no_guarantee:
            check_learnable(self, tally.schema)

    def rows(self, data: TrainingData) -> TrainingRows:
        """Return the rows of a fit, not yet counted."""
        return TrainingRows(lambda: data.count(None), lambda: len(data.table) * data.schema.steps)

    def costs_by_class(self, schema: Schema) -> CostTable | None:  # noqa: ARG002 -- of learners with costs
        """Return the costs that the fit minimises, by actual class, then by predicted class, or None."""
        return None

    def built(self, build: BuildModel, schema: Schema, card: PrivacyCard) -> Model:
        """Return the learned model with the costs that the fit minimised."""
        model, costs = build(schema, card), self.costs_by_class(schema)
        return model if costs is None else replace(cast("Any", model), costs=costs)

    def learn(self, schema: Schema, rows: TrainingRows, publish: Publish[T]) -> T:
        """Learn a model and return the result of `publish`; a private learner calls it before the gate closes."""
        raise NotImplementedError


def check_list_parameters(max_rules: object, max_literals: object, negations: object) -> None:
    check_integer("max_rules", max_rules, 1)
    check_integer("max_literals", max_literals, 1)
    check_flag("negations", negations)


def check_depth(max_depth: object) -> None:
    check_up_to("max_depth", max_depth, 0, MAX_DEPTH)


def check_scorecard_parameters(max_attributes: object, points: object, monotone: Any) -> None:
    if max_attributes is not None:
        check_integer("max_attributes", max_attributes, 1)
    check_up_to("points", points, 1, MAX_POINTS)
    if not (monotone is None or isinstance(monotone, Mapping)):
        kind = type(monotone).__name__
        raise ArgumentTypeError(f"monotone must be a mapping of attribute names to directions, got {kind}.")
    for direction in () if monotone is None else monotone.values():
        if direction is not None and (not isinstance(direction, str) or direction not in DIRECTIONS):
            value = describe_argument(direction)
            raise ArgumentError(f"monotone must map names to {', '.join(DIRECTIONS)} or None, got {value}.")


def directions(schema: Schema, monotone: Monotone) -> dict[str, Direction]:
    """Return the directions of a scorecard's attributes by name: the parameter, else the schema."""
    for name, attribute in schema.attributes:
        if attribute.n_bins > MAX_BINS:
            problem = f"has {attribute.n_bins:,} bins, and scorecards support at most {MAX_BINS:,}"
            raise SchemaError(f"{problem}; declare fewer, or remove the attribute.", attribute=name)
    declared: dict[str, Direction | None] = {**schema.monotone, **(monotone or {})}
    for name in declared:
        _check_monotone(name, schema)
    return {name: direction for name, direction in declared.items() if direction is not None}


def check_up_to(name: str, value: Any, low: int, high: int) -> None:
    if check_integer(name, value, low) > high:
        raise ArgumentError(f"{name} must be a whole number <= {high}, got {describe_argument(value)}.")


def check_auto(name: str, value: Any, low: float, high: float) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool) and low <= cast(float, value) <= high
    if not is_number and not (isinstance(value, str) and value == "auto"):
        raise ArgumentError(f"{name} must be 'auto' or a number from {low} to {high}, got {describe_argument(value)}.")


def _check_monotone(name: str, schema: Schema) -> None:
    if name not in schema:
        raise SchemaError("is in monotone but not in the schema.", attribute=name)
    if not schema[name].ordered:
        raise SchemaError("cannot be monotone, because its bins have no order.", attribute=name)
    if schema.target.as_number is None and schema.target.n_levels != 2:
        raise ArgumentError(f"monotone needs a label with two classes, got {schema.target.n_levels}; remove monotone.")
