"""Columns that fitted transformers of scikit-learn compute from attributes, and comparisons with them as literals."""

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
"""Types of the pipeline steps that are supported before a model."""
Map = Callable[[Floats], Floats]  # a non-decreasing map of numbers, elementwise


@dataclass(frozen=True)
class EncodedFeature:
    """Column with a number for each bin of an attribute."""

    attribute: str
    numbers: tuple[tuple[Literal, float], ...]  # the literal of each bin and its number; NaN is a missing value
    narrow: bool = False  # whether the numbers, and thus the results of later steps, have lower precision than float64

    def at_most(self, number: float, *, holds: bool, missing_holds: bool | None = None) -> Path:
        """Return the literals of "the column is at most a number", or of its negation."""
        if missing_holds is None and any(isnan(code) for _, code in self.numbers):
            problem = "the encoder turns a bin into a missing value, and the model has no branch for missing values"
            raise SchemaError(f"{problem}; declare the attribute without this bin.", attribute=self.attribute)
        low = {literal: missing_holds if isnan(code) else code <= number for literal, code in self.numbers}
        here = [literal for literal, at_most in low.items() if at_most == holds]
        there = [literal for literal, at_most in low.items() if at_most != holds]
        if not here or not there:
            problem = f"the model compares the encoding with {number:g}, with the same result for all declared values"
            raise SchemaError(f"{problem}; declare the values of the training rows.", attribute=self.attribute)
        return ((here[0], True),) if len(here) == 1 else tuple((literal, False) for literal in there)

    def mapped(self, change: Map) -> "EncodedFeature":
        codes = change(np.array([code for _, code in self.numbers], dtype=np.float64))
        pairs = zip(self.numbers, codes.tolist(), strict=True)
        return EncodedFeature(self.attribute, tuple((literal, code) for (literal, _), code in pairs))


@dataclass(frozen=True)
class ScaledFeature:
    """Column of numbers computed from an attribute by monotone transformers."""

    attribute: str
    changes: tuple[Map, ...]  # the transformations, in order
    narrow: bool = False  # as in `EncodedFeature`

    def last_at_most(self, number: float, schema: Schema) -> float:
        """Return the largest value that is mapped to at most a number; if there is none, a value below the bounds."""
        # Bisection over the attribute's values with the transformers' own arithmetic is exact.
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
            mapped = np.array([value(middle)], dtype=np.float64)
            for change in self.changes:
                mapped = change(mapped)
            low, high = (middle, high) if mapped[0] <= number else (low, middle)
        if low < place(attribute.low):  # the rank before 0.0 has the value -0.0, which is not less
            return float(attribute.low - 1 if whole else nextafter(attribute.low, -inf))
        return float(value(low))


def _place(number: float) -> int:
    """Return the rank of a float64 number among all float64 numbers; the ranks of -0.0 and 0.0 are adjacent."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1)) - 1


def _value(place: int) -> float:
    return float(np.int64(place).view(np.float64)) if place >= 0 else -float(np.int64(-place - 1).view(np.float64))


Feature = str | Literal | EncodedFeature | ScaledFeature
"""Meaning of a column: an attribute, a literal for which it is 1 (else 0), or a column computed from an attribute."""


def last_step(model: Any, features: Any) -> tuple[Any, Any]:
    """Return the final model of nested pipelines, and its features: the steps before it, if there are any."""
    before, model = split_pipeline(model, lambda part: isinstance(part, Pipeline))
    if not before:
        return model, features
    if features is not None:
        raise ArgumentError("`features=` is not allowed with a Pipeline, whose steps define the columns; remove it.")
    return model, make_pipeline(*before)


_Columns = tuple[Feature, ...]


def transformer_features(transformer: Any, schema: Schema) -> _Columns:
    """Return the output columns of a fitted transformer, by transforming the schema's values in float64."""
    check_is_fitted(transformer)
    steps = flat_steps(transformer)
    if not steps:
        raise ArgumentError("the transformer does not change the table; remove `features=`.")
    first = steps[0]
    names = getattr(first, "feature_names_in_", schema.names)
    width = getattr(first, "n_features_in_", len(names))
    if len(names) != width:
        problem = f"the transformer was fitted on {width} columns without names, but the schema has {len(schema)}"
        raise ArgumentError(f"{problem} attributes; fit it on a frame.")
    return _after(read_steps(steps, STEPS), schema, meanings(names, schema))


def _after(steps: Steps, schema: Schema, columns: _Columns) -> _Columns:
    """Return the columns after the steps."""
    for step in steps:
        columns = _after_one(step, schema, columns)
    return columns


def _after_one(step: PipelineStep, schema: Schema, columns: _Columns) -> _Columns:
    match step:
        case SideBySide(width, parts):
            _check_width("ColumnTransformer", width, columns)
            chosen = [(steps, tuple(columns[i] for i in places)) for places, steps in parts]
            return tuple(x for steps, own in chosen for x in _after(steps, schema, own))
        case CategoryEncoding(name, encodings, is_narrow):
            _check_width(name, len(encodings), columns)
            pairs = zip(columns, encodings, strict=True)
            return tuple(x for own, codes in pairs for x in _encoded(name, codes, schema, own, is_narrow=is_narrow))
        case Scaling(name, width):
            _check_width(name, width, columns)
            return tuple(_scaled(step, schema, column, i) for i, column in enumerate(columns))
        case Binning(edges):
            _check_width("KBinsDiscretizer", len(edges), columns)
            return tuple(x for i, column in enumerate(columns) for x in _binned(step, schema, column, i))
        case _:
            name = step.name if isinstance(step, Unread) else type(step).__name__
            reason = ", since it encodes training rows differently from other rows" * (name == "TargetEncoder")
            supported = ", ".join(kind.__name__ for kind in STEPS)
            problem = f"the transformer {name} is not supported{reason}"
            raise ArgumentTypeError(f"{problem}; supported are {supported}, ColumnTransformer and Pipeline.")


def _check_width(name: str, width: int, columns: _Columns) -> None:
    if len(columns) != width:
        raise ArgumentError(f"{name} was fitted on {width} columns, but gets {len(columns)}; fit the steps together.")


def bins(name: str, attribute: Attribute) -> list[Literal]:
    """Return a literal for each bin of a boolean or categorical attribute, in order."""
    if attribute.outside == "bin":
        problem = "is encoded, but the codes of values outside the domain are unknown"
        raise SchemaError(f"{problem}; declare it without `outside: bin`.", attribute=name)
    known = [attribute.run_literal(name, place, place + 1) for place in range(attribute.n_known)]
    return known + [Literal(name, "missing")] * (attribute.missing == "bin")


def _encoded(name: str, codes: CategoryCodes, schema: Schema, source: Feature, *, is_narrow: bool) -> list[Feature]:
    """Return the output columns of a category encoder for an input column."""
    attribute = schema[source] if isinstance(source, str) else None
    if not isinstance(source, str) or attribute is None or not attribute.listed:
        problem = f"is an input of {name}, which is only supported for boolean and categorical attributes"
        raise SchemaError(f"{problem}.", attribute=str(source))
    literals = bins(source, attribute)
    table = Table.of(pd.DataFrame({source: list(codes.categories)}))
    places = schema.encode(table, [source])[source].astype(np.intp)
    block = codes.outputs(codes.codes)
    numbers = np.zeros((len(literals), block.shape[1]))
    if set(range(len(literals))) - set(places.tolist()):
        if codes.other is None and codes.width is None:
            problem = "declares values on which the encoder was not fitted, so that it raises an error for them"
            raise SchemaError(f"{problem}; declare only the values of the training rows.", attribute=source)
        numbers[:] = codes.outputs([-1 if codes.other is None else codes.other])  # an unknown value has no category
    numbers[places] = block
    if not np.array_equal(numbers[places], block, equal_nan=True):
        problem = "has values that the encoder distinguishes but the schema does not"
        raise SchemaError(f"{problem}; declare them as different values.", attribute=source)
    return [
        EncodedFeature(source, tuple(zip(literals, column.tolist(), strict=True)), is_narrow) for column in numbers.T
    ]


def _scaled(step: Scaling, schema: Schema, source: Feature, place: int) -> Feature:
    if not isinstance(source, EncodedFeature) and step.is_narrow:
        problem = f"{step.name} was fitted in lower precision than float64, and rounds differently"
        raise SchemaError(f"{problem}; fit it on float64.")
    return _mapped(schema, source, partial(_column, step, step.name, place))


def _binned(step: Binning, schema: Schema, source: Feature, place: int) -> list[Feature]:
    name = source.attribute if not isinstance(source, str) else source
    if schema[name].missing == "bin" or schema[name].outside == "bin":
        problem = "is an input of KBinsDiscretizer, which does not support missing values or values outside the domain"
        raise SchemaError(f"{problem}; declare it without `missing: bin` and `outside: bin`.", attribute=name)
    number: Map = partial(_column, step, "KBinsDiscretizer", place)
    if not step.one_hot:
        return [replace(_mapped(schema, source, number), narrow=step.is_single)]
    width = len(step.edges[place]) + 1
    if schema[name].listed:
        numbered = [lambda values, i=i: (number(values) == i).astype(np.float64) for i in range(width)]
        return [_mapped(schema, source, is_in) for is_in in numbered]
    if not isinstance(source, str):
        raise SchemaError("is discretised after another step, which is not supported.", attribute=name)
    rescaled = ScaledFeature(source, (number,))
    # The edges are float64, but the column may not be, so that the cut points are found by the step's own arithmetic.
    cuts = [rescaled.last_at_most(i, schema) for i in range(width - 1)]
    return [_between(source, low, high) for low, high in zip([-inf, *cuts], [*cuts, inf], strict=True)]


def _column(step: Scaling | Binning, name: str, place: int, values: Floats) -> Floats:
    """Return the output of a step for a column of numbers, which does not depend on other columns."""
    if np.isinf(values).any() or (isinstance(step, Binning) and np.isnan(values).any()):
        problem = f"{name} does not accept some of the declared values"
        raise SchemaError(f"{problem}; declare only values that it was fitted on.")
    with np.errstate(all="ignore"):
        return step.column(place, values)


def _between(name: str, low: float, high: float) -> Feature:
    """Return a column that is 1 for numbers above `low` and at most `high`."""
    if low == -inf:
        return EncodedFeature(name, ()) if high == inf else Literal(name, "<=", (high,))
    return Literal(name, ">", (low,)) if high == inf else Literal(name, "between", (low, high))


def _mapped(schema: Schema, source: Feature, change: Map) -> EncodedFeature | ScaledFeature:
    if isinstance(source, (EncodedFeature, ScaledFeature)) and source.narrow:
        problem = "is encoded in lower precision than float64, so that later steps round differently"
        raise SchemaError(f"{problem}; fit with dtype=np.float64.", attribute=source.attribute)
    if isinstance(source, EncodedFeature):
        return source.mapped(change)
    if isinstance(source, ScaledFeature):
        return ScaledFeature(source.attribute, (*source.changes, change))
    name = source.attribute if isinstance(source, Literal) else source
    attribute = schema[name]
    if isinstance(source, Literal):
        if not attribute.listed:
            problem = f"scaling a column of 0 and 1 ({source.brief}) is not supported"
            raise SchemaError(f"{problem}.", attribute=name)
        codes = attribute.truth(source).astype(float).tolist()
    elif any(finite_number(str(token)) is not None for token in attribute.missing_values):
        problem = "has numbers that mean missing in the schema, but the transformer reads them as numbers"
        advice = "fit it with NaN instead, and remove these numbers from `missing_values`."
        raise SchemaError(f"{problem}; {advice}", attribute=name)
    elif not attribute.listed:
        return ScaledFeature(name, (change,))
    else:
        codes = [float(value) for value in attribute.number_codes if value is not None]
        if len(codes) < attribute.n_known:
            raise SchemaError("is text, but the transformer expects numbers; encode it first.", attribute=name)
        codes += [nan] * (attribute.missing == "bin")
    return EncodedFeature(name, tuple(zip(bins(name, attribute), codes, strict=True))).mapped(change)
