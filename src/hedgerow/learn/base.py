"""Specifications of learners: their parameters, checked once, and how a model is learned from a tally.

None needs scikit-learn, which takes long to import: the command line learns, and plans compute, by specifications.
The public estimators (`hedgerow.learn.contract`) are scikit-learn's face of them.
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

LARGEST_POINTS = 1000
SMOOTH = 0.01, 1000  # the least, and the largest: outside, float64 does not hold the precision of many bins
MOST_BINS = 2000  # of an attribute: matrices of bin by bin are inverted
FROM_DATA: Literal["from-data"] = "from-data"
SchemaParameter = Schema | Literal["from-data"] | None
Monotone = Mapping[str, Direction | None] | None
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


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


class Publish(Protocol[T_co]):
    """What is done with a model at the end of a fit; facts are other results, by the names of fitted attributes."""

    def __call__(self, model: Any, /, **facts: Any) -> T_co: ...


def model_alone(model: Any, /, **facts: Any) -> Any:  # noqa: ARG001
    """Return the model."""
    return model


@dataclass(frozen=True, kw_only=True, eq=False)
class Specification:
    """A learner with its parameters; ValueError or TypeError if one is out of range."""

    schema: SchemaParameter = None
    estimator: ClassVar[str]  # the public name of the learner, which charges carry
    keeps_monotone: ClassVar[bool] = False  # whether the model is monotone if the schema says so
    predicts_number: ClassVar[bool] = False  # whether it predicts a number, and not a class
    takes_weights: ClassVar[bool] = False  # whether rows may have weights, by the schema

    def __post_init__(self) -> None:
        if not (self.schema is None or isinstance(self.schema, Schema) or self.is_from_data):
            expected = f"a Schema (Schema.load reads a file), None or {FROM_DATA!r}"
            raise ArgumentError(f"schema must be {expected}, got {describe_argument(self.schema)}.")

    @property
    def is_from_data(self) -> bool:
        """True if the schema is inferred from the rows."""
        return isinstance(self.schema, str) and self.schema == FROM_DATA

    def check_public(self) -> None:
        """Check the parameters, the schema included, as `fit` does before it counts rows; ValueError as there."""
        if isinstance(self.schema, Schema):
            check_learnable(self, self.schema)

    def fit(self, X: Any, y: Any) -> Model:
        """Return the model learned from rows and labels; `fit` of the estimator says what is raised."""
        data = TrainingData.of(self, X, y)
        return self.learn(data.schema, self.rows(data), model_alone)

    def fit_tally(self, tally: Tally, publish: Publish[T] = model_alone) -> T:
        """Learn a model from a tally counted elsewhere; its schema replaces the parameter `schema`."""
        if not isinstance(tally, Tally):
            raise ArgumentTypeError(f"Expected a Tally, got {type(tally).__name__}.")
        check_kept(self, tally.schema)
        if not tally.schema.no_guarantee:
            check_learnable(self, tally.schema)
        return self.learn(tally.schema, TrainingRows(lambda: tally, lambda: int(tally.total().sum())), publish)

    def rows(self, data: TrainingData) -> TrainingRows:
        """Return the rows of a fit, none of which has been counted yet."""
        return TrainingRows(lambda: data.count(None), lambda: len(data.table) * data.schema.steps)

    def costs_by_class(self, schema: Schema) -> CostTable | None:  # noqa: ARG002 -- of learners with costs
        """Return the costs that the fit minimises, by actual class, then by predicted class; None if there are none."""
        return None

    def built(self, build: BuildModel, schema: Schema, card: PrivacyCard) -> Model:
        """Return the model that was learned, with the costs that the fit minimised."""
        model, costs = build(schema, card), self.costs_by_class(schema)
        return model if costs is None else replace(cast("Any", model), costs=costs)

    def learn(self, schema: Schema, rows: TrainingRows, publish: Publish[T]) -> T:
        """Learn a model, and return what `publish` makes of it: of a private one before the gate is closed."""
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
    check_up_to("points", points, 1, LARGEST_POINTS)
    if not (monotone is None or isinstance(monotone, Mapping)):
        kind = type(monotone).__name__
        raise ArgumentTypeError(f"monotone must be a mapping of names to directions, got {kind}.")
    for direction in () if monotone is None else monotone.values():
        if direction is not None and (not isinstance(direction, str) or direction not in DIRECTIONS):
            given = describe_argument(direction)
            raise ArgumentError(f"monotone must map names to {' or '.join(DIRECTIONS)}, got {given}.")


def directions(schema: Schema, monotone: Monotone) -> dict[str, Direction]:
    """Return the directions of a scorecard by name, the schema's if none is given; ValueError if one cannot be kept."""
    for name, attribute in schema.attributes:
        if attribute.n_bins > MOST_BINS:
            problem = f"expected at most {MOST_BINS:,} bins of an attribute of a scorecard"
            advice = "declare fewer, or leave the attribute out."
            raise SchemaError(f"{problem}, got {attribute.n_bins:,}; {advice}", attribute=name)
    every: dict[str, Direction | None] = {**schema.monotone, **(monotone or {})}
    for name in every:
        _check_monotone(name, schema)
    return {name: direction for name, direction in every.items() if direction is not None}


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
