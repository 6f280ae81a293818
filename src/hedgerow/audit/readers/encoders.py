"""Columns that fitted transformers of scikit-learn compute from attributes, and comparisons of them as literals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isnan, nan, nextafter
from typing import Any

import numpy as np
import pandas as pd
from sklearn import preprocessing
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from hedgerow.audit.readers.names import finite_number, meanings
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.models.conditions import Path
from hedgerow.pipelines import (
    Binning,
    CategoryCodes,
    CategoryEncoding,
    PipelineStep,
    Scaling,
    SideBySide,
    Steps,
    Unread,
    flat_steps,
    read_steps,
    split_pipeline,
)
from hedgerow.schema import Attribute, Literal, Schema
from hedgerow.tables.frames import Table

STEPS = (preprocessing.OneHotEncoder, preprocessing.OrdinalEncoder, preprocessing.KBinsDiscretizer)
STEPS += (preprocessing.StandardScaler, preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler)
STEPS += (preprocessing.RobustScaler,)
"""Types of the steps that are read before a model."""
Map = Callable[[Floats], Floats]  # a monotone, non-decreasing map of numbers, elementwise


@dataclass(frozen=True)
class EncodedFeature:
    """A column that has one number for each bin of an attribute."""

    attribute: str
    numbers: tuple[tuple[Literal, float], ...]  # the literal of each bin and its number; NaN is missing to the model
    narrow: bool = False  # whether the numbers, and so what later steps compute, have lower precision than float64

    def at_most(self, number: float, *, holds: bool, missing_holds: bool | None = None) -> Path:
        """Return the literals of "the column is at most a number", or of its negation."""
        if missing_holds is None and any(isnan(code) for _, code in self.numbers):
            problem = "is encoded as missing in some bin, and the model has no branch for missing values"
            raise SchemaError(f"{problem}; declare it without that bin.", attribute=self.attribute)
        low = {literal: missing_holds if isnan(code) else code <= number for literal, code in self.numbers}
        here = [literal for literal, at_most in low.items() if at_most == holds]
        there = [literal for literal, at_most in low.items() if at_most != holds]
        if not here or not there:
            problem = f"the model compares its encoding with {number:g}, with the same outcome for all declared values"
            raise SchemaError(f"{problem}; declare the values of the training rows.", attribute=self.attribute)
        return ((here[0], True),) if len(here) == 1 else tuple((literal, False) for literal in there)

    def mapped(self, change: Map) -> "EncodedFeature":
        codes = change(np.array([code for _, code in self.numbers], dtype=np.float64))
        pairs = zip(self.numbers, codes.tolist(), strict=True)
        return EncodedFeature(self.attribute, tuple((literal, code) for (literal, _), code in pairs))


@dataclass(frozen=True)
class ScaledFeature:
    """A column of numbers computed from an attribute by monotone transformers."""

    attribute: str  # of numbers
    changes: tuple[Map, ...]  # the transformations, in order
    narrow: bool = False  # as of `EncodedFeature`

    def last_at_most(self, number: float, schema: Schema) -> float:
        """Return the largest value mapped to at most a number; if there is none, one below its bounds."""
        # by bisection over the attribute's values, by the transformers' own arithmetic, so that it is exact
        attribute = schema.numbers.get(self.attribute)
        if attribute is None:
            problem = f"is scaled as a number, but declared as {schema[self.attribute].domain}"
            raise SchemaError(f"{problem}; declare it as integer or real.", attribute=self.attribute)
        if number == inf:
            return inf
        whole = attribute.whole
        place, value = (int, float) if whole else (_place, _value)
        low, high = place(attribute.low) - 1, place(attribute.high) + 1
        while high - low > 1:
            middle = (low + high) // 2
            found = np.array([value(middle)], dtype=np.float64)
            for change in self.changes:
                found = change(found)
            low, high = (middle, high) if found[0] <= number else (low, middle)
        if low < place(attribute.low):  # the rank before that of 0.0 is -0.0, which is not less
            return float(attribute.low - 1 if whole else nextafter(attribute.low, -inf))
        return float(value(low))


def _place(number: float) -> int:
    """Return the rank of a float64 among all of them; those of -0.0 and 0.0 are adjacent."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1)) - 1


def _value(place: int) -> float:
    return float(np.int64(place).view(np.float64)) if place >= 0 else -float(np.int64(-place - 1).view(np.float64))


Feature = str | Literal | EncodedFeature | ScaledFeature
"""Meaning of a column: an attribute's values, 1 where a literal holds and else 0, or computed from an attribute."""


def last_step(model: Any, features: Any) -> tuple[Any, Any]:
    """Return the final model of nested pipelines, and its features: the steps before it, if any changes the table."""
    before, model = split_pipeline(model, lambda part: isinstance(part, Pipeline))
    if not before:
        return model, features
    if features is not None:
        raise ArgumentError("expected no `features=` with a Pipeline, whose steps define the columns; leave it out.")
    return model, make_pipeline(*before)


_Given = tuple[Feature, ...]


def made_by(transformer: Any, schema: Schema) -> _Given:
    # computed from the values that the schema declares, in float64, as the transformer computes: no row is read
    check_is_fitted(transformer)
    steps = flat_steps(transformer)
    if not steps:
        raise ArgumentError("expected a transformer of the table, got steps that do nothing; leave out `features=`.")
    first = steps[0]
    names = getattr(first, "feature_names_in_", schema.names)
    width = getattr(first, "n_features_in_", len(names))
    if len(names) != width:
        problem = f"expected a transformer fitted on the schema's {len(schema)} attributes"
        raise ArgumentError(f"{problem}, got one fitted on {width} columns without names; fit it on a frame.")
    given = meanings(names, schema)
    return _after(read_steps(steps, STEPS), schema, given)


def _after(steps: Steps, schema: Schema, given: _Given) -> _Given:
    """Return the columns after some steps."""
    for step in steps:
        given = _after_one(step, schema, given)
    return given


def _after_one(step: PipelineStep, schema: Schema, given: _Given) -> _Given:
    match step:
        case SideBySide(width, parts):
            _check_width("ColumnTransformer", width, given)
            chosen = [(steps, tuple(given[i] for i in places)) for places, steps in parts]
            return tuple(x for steps, own in chosen for x in _after(steps, schema, own))
        case CategoryEncoding(name, columns, is_narrow):
            _check_width(name, len(columns), given)
            pairs = zip(given, columns, strict=True)
            return tuple(x for one, codes in pairs for x in _encoded(name, codes, schema, one, is_narrow=is_narrow))
        case Scaling(name, width):
            _check_width(name, width, given)
            return tuple(_scaled(step, schema, one, i) for i, one in enumerate(given))
        case Binning(edges):
            _check_width("KBinsDiscretizer", len(edges), given)
            return tuple(x for i, one in enumerate(given) for x in _binned(step, schema, one, i))
        case _:
            name = step.name if isinstance(step, Unread) else type(step).__name__
            why = ", which encodes training rows differently from other rows" * (name == "TargetEncoder")
            raise ArgumentTypeError(
                f"expected one of the transformers {', '.join(kind.__name__ for kind in STEPS)}, ColumnTransformer and "
                f"Pipeline, got one whose columns cannot be read: {name}{why}."
            )


def _check_width(name: str, width: int, given: _Given) -> None:
    if len(given) != width:
        raise ArgumentError(f"expected {width} columns before a {name}, got {len(given)}; fit the steps together.")


def bins(name: str, attribute: Attribute) -> list[Literal]:
    """Return a literal for each bin of booleans or categories, in order."""
    if attribute.outside == "bin":
        problem = "is encoded, and the codes of values outside the domain are unknown"
        raise SchemaError(f"{problem}; declare it without `outside: bin`.", attribute=name)
    known = [attribute.run_literal(name, place, place + 1) for place in range(attribute.n_known)]
    return known + [Literal(name, "missing")] * (attribute.missing == "bin")


def _encoded(name: str, codes: CategoryCodes, schema: Schema, given: Feature, *, is_narrow: bool) -> list[Feature]:
    """Return the output columns of a category encoder for one input column: for each bin of an attribute, its codes."""
    attribute = schema[given] if isinstance(given, str) else None
    if not isinstance(given, str) or attribute is None or not attribute.listed:
        problem = f"expected a boolean or categorical attribute before a {name}"
        raise SchemaError(f"{problem}, got another one.", attribute=str(given))
    literals = bins(given, attribute)
    table = Table.of(pd.DataFrame({given: list(codes.categories)}))
    places = schema.encode(table, [given])[given].astype(np.intp)
    block = codes.outputs(codes.codes)
    numbers = np.zeros((len(literals), block.shape[1]))
    if set(range(len(literals))) - set(places.tolist()):
        if codes.other is None and codes.width is None:
            problem = "has values that the encoder was not fitted on and refuses"
            raise SchemaError(f"{problem}; declare the values of the training rows only.", attribute=given)
        numbers[:] = codes.outputs([-1 if codes.other is None else codes.other])  # a refused row is in no category
    numbers[places] = block
    if not np.array_equal(numbers[places], block, equal_nan=True):
        problem = "has values that the encoder distinguishes and the schema does not"
        raise SchemaError(f"{problem}; declare them as different values.", attribute=given)
    return [
        EncodedFeature(given, tuple(zip(literals, column.tolist(), strict=True)), is_narrow) for column in numbers.T
    ]


def _scaled(step: Scaling, schema: Schema, given: Feature, place: int) -> Feature:
    if not isinstance(given, EncodedFeature) and step.is_narrow:
        problem = f"expected a {step.name} fitted on float64"
        raise SchemaError(f"{problem}, got one of lower precision, which rounds differently; fit it on float64.")
    return _mapped(schema, given, partial(_column, step, step.name, place))


def _binned(step: Binning, schema: Schema, given: Feature, place: int) -> list[Feature]:
    name = given.attribute if not isinstance(given, str) else given
    if schema[name].missing == "bin" or schema[name].outside == "bin":
        problem = "is discretised, and a KBinsDiscretizer accepts no missing values and bins those outside the domain"
        raise SchemaError(f"{problem}; declare it without `missing: bin` and `outside: bin`.", attribute=name)
    number: Map = partial(_column, step, "KBinsDiscretizer", place)
    if not step.one_hot:
        return [replace(_mapped(schema, given, number), narrow=step.is_single)]
    width = len(step.edges[place]) + 1
    if schema[name].listed:
        numbered = [lambda values, i=i: (number(values) == i).astype(np.float64) for i in range(width)]
        return [_mapped(schema, given, is_in) for is_in in numbered]
    if not isinstance(given, str):
        raise SchemaError("is discretised after another step, which is not supported.", attribute=name)
    rescaled = ScaledFeature(given, (number,))
    cuts = [rescaled.last_at_most(i, schema) for i in range(width - 1)]  # the edges are in float64, it may not be
    return [_between(given, low, high) for low, high in zip([-inf, *cuts], [*cuts, inf], strict=True)]


def _column(step: Scaling | Binning, name: str, place: int, values: Floats) -> Floats:
    """Return what a step computes of one column of numbers, which depends on no other column."""
    if np.isinf(values).any() or (isinstance(step, Binning) and np.isnan(values).any()):
        problem = f"expected declared values that the {name} accepts, got some that it refuses"
        raise SchemaError(f"{problem}; declare only values that it was fitted on.")
    with np.errstate(all="ignore"):
        return step.column(place, values)


def _between(name: str, low: float, high: float) -> Feature:
    """Return a column that is 1 for numbers above `low`, up to `high`."""
    if low == -inf:
        return EncodedFeature(name, ()) if high == inf else Literal(name, "<=", (high,))
    return Literal(name, ">", (low,)) if high == inf else Literal(name, "between", (low, high))


def _mapped(schema: Schema, given: Feature, change: Map) -> EncodedFeature | ScaledFeature:
    if isinstance(given, (EncodedFeature, ScaledFeature)) and given.narrow:
        problem = "is encoded in lower precision than float64, so later steps round differently"
        raise SchemaError(f"{problem}; fit with dtype=np.float64.", attribute=given.attribute)
    if isinstance(given, EncodedFeature):
        return given.mapped(change)
    if isinstance(given, ScaledFeature):
        return ScaledFeature(given.attribute, (*given.changes, change))
    name = given.attribute if isinstance(given, Literal) else given
    attribute = schema[name]
    if isinstance(given, Literal):
        if not attribute.listed:
            raise SchemaError(f"is scaled as a column of 0 and 1 ({given.brief}): not supported.", attribute=name)
        codes = attribute.truth(given).astype(float).tolist()
    elif any(finite_number(str(token)) is not None for token in attribute.missing_values):
        problem = "has numbers that mean missing by the schema"
        advice = "fit it with NaN for them, and declare it without these `missing_values`."
        raise SchemaError(f"{problem}, but the transformer reads them as numbers; {advice}", attribute=name)
    elif not attribute.listed:
        return ScaledFeature(name, (change,))
    else:
        codes = [float(value) for value in attribute.number_codes if value is not None]
        if len(codes) < attribute.n_known:
            raise SchemaError("is text, but the transformer expects numbers; encode it first.", attribute=name)
        codes += [nan] * (attribute.missing == "bin")
    return EncodedFeature(name, tuple(zip(bins(name, attribute), codes, strict=True))).mapped(change)
