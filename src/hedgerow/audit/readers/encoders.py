"""Columns that fitted transformers of scikit-learn compute from attributes, and comparisons of them as literals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan, nextafter
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder
from sklearn.utils.validation import check_is_fitted

from hedgerow.audit.readers.names import finite_number, meanings
from hedgerow.boundary.arrays import Floats
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.models.conditions import Path
from hedgerow.schema import Attribute, Literal, Schema
from hedgerow.tables.frames import Table

Map = Callable[[Floats], Floats]  # a monotone, non-decreasing map of numbers, elementwise
_AT_ONCE = 64  # values that are transformed at once


@dataclass(frozen=True)
class Coded:
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

    def mapped(self, change: Map) -> "Coded":
        codes = change(np.array([code for _, code in self.numbers], dtype=np.float64))
        pairs = zip(self.numbers, codes.tolist(), strict=True)
        return Coded(self.attribute, tuple((literal, code) for (literal, _), code in pairs))


@dataclass(frozen=True)
class Rescaled:
    """A column of numbers computed from an attribute by monotone transformers."""

    attribute: str  # of numbers
    changes: tuple[Map, ...]  # the transformations, in order
    narrow: bool = False  # as of `Coded`

    def last_at_most(self, number: float, schema: Schema) -> float:
        """Return the largest value mapped to at most a number; if there is none, one below its bounds."""
        # by bisection over the attribute's values, with the transformers themselves, so that it is exact
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
            places = range(low, high, max((high - low) // _AT_ONCE, 1))[1:]
            found = np.array([value(x) for x in places], dtype=np.float64)
            for change in self.changes:
                found = change(found)
            fit = int((found <= number).sum())
            low, high = (low, *places, high)[fit : fit + 2]
        if low < place(attribute.low):  # the rank before that of 0.0 is -0.0, which is not less
            return float(attribute.low - 1 if whole else nextafter(attribute.low, -inf))
        return float(value(low))


def _place(number: float) -> int:
    """Return the rank of a float64 among all of them; those of -0.0 and 0.0 are adjacent."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1)) - 1


def _value(place: int) -> float:
    return float(np.int64(place).view(np.float64)) if place >= 0 else -float(np.int64(-place - 1).view(np.float64))


Feature = str | Literal | Coded | Rescaled
"""Meaning of a column: an attribute's values, 1 where a literal holds and else 0, or computed from an attribute."""


def bins(name: str, attribute: Attribute) -> list[Literal]:
    """Return a literal for each bin of booleans or categories, in order."""
    if attribute.outside == "bin":
        problem = "is encoded, and the codes of values outside the domain are unknown"
        raise SchemaError(f"{problem}; declare it without `outside: bin`.", attribute=name)
    known = [attribute.run_literal(name, place, place + 1) for place in range(attribute.n_known)]
    return known + [Literal(name, "missing")] * (attribute.missing == "bin")


def is_narrow(dtype: Any) -> bool:
    return dtype is not None and np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize < 8


def transformed(transformer: Any, rows: Any) -> Floats:
    problem = SchemaError(
        f"expected declared values that the {type(transformer).__name__} accepts, got some that it refuses; declare "
        "only values that it was fitted on."
    )

    def call() -> Floats:
        found = transformer.transform(rows)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)

    return guarded(call, problem)


def last_step(model: Any, features: Any) -> tuple[Any, Any]:
    """Return the final model of nested pipelines, and its features: the steps before it, if any changes the table."""
    before: list[Any] = []
    while isinstance(model, Pipeline):
        before += [step for _, step in model.steps[:-1]]
        model = model.steps[-1][1]
    before = [step for step in before if not is_idle(step)]
    if not before:
        return model, features
    if features is not None:
        raise ArgumentError("expected no `features=` with a Pipeline, whose steps define the columns; leave it out.")
    return model, make_pipeline(*before)


def first_step(transformer: Any) -> Any:
    """Return the part of a transformer that was fitted on the table itself; None if it does not change the table."""
    while isinstance(transformer, Pipeline):
        transformer = next((step for _, step in transformer.steps if not is_idle(step)), None)
    return None if is_idle(transformer) else transformer


def is_idle(step: Any) -> bool:
    """Return whether a step does not change the table, and stores nothing about it, not even its columns."""
    if isinstance(step, Pipeline):
        return all(is_idle(part) for _, part in step.steps)
    return step is None or (isinstance(step, str) and step == "passthrough")


_Given = tuple[Feature, ...]
_SCALERS = (preprocessing.StandardScaler, preprocessing.MinMaxScaler, preprocessing.MaxAbsScaler)
_SCALERS += (preprocessing.RobustScaler,)


def made_by(transformer: Any, schema: Schema) -> tuple[Feature, ...]:
    # computed by transforming the values that the schema declares, in float64: no row is read
    check_is_fitted(transformer)
    first = first_step(transformer)
    if first is None:
        raise ArgumentError("expected a transformer of the table, got steps that do nothing; leave out `features=`.")
    names = getattr(first, "feature_names_in_", schema.names)
    width = getattr(first, "n_features_in_", len(names))
    if len(names) != width:
        problem = f"expected a transformer fitted on the schema's {len(schema)} attributes"
        raise ArgumentError(f"{problem}, got one fitted on {width} columns without names; fit it on a frame.")
    return _made(transformer, schema, meanings(names, schema))


def _made(transformer: Any, schema: Schema, given: _Given, *, is_sparse: bool = False) -> _Given:
    kind = type(transformer)
    if transformer in ("passthrough", None) or (kind is FunctionTransformer and transformer.func is None):
        return given
    if kind is Pipeline:
        for _, step in transformer.steps:
            given, is_sparse = _made(step, schema, given, is_sparse=is_sparse), _gives_sparse(step, is_sparse)
        return given
    if kind is ColumnTransformer:
        return _side_by_side(transformer, schema, given, is_sparse=is_sparse)
    if kind in (OneHotEncoder, OrdinalEncoder):
        return tuple(x for i, one in enumerate(given) for x in of_categories(transformer, schema, one, i))
    if kind in _SCALERS:
        return tuple(scaled(transformer, schema, one, i, is_sparse=is_sparse) for i, one in enumerate(given))
    if kind is KBinsDiscretizer:
        return tuple(x for i, one in enumerate(given) for x in binned(transformer, schema, one, i))
    why = ", which encodes training rows differently from other rows" * (kind is preprocessing.TargetEncoder)
    raise ArgumentTypeError(
        "expected one of the transformers OneHotEncoder, OrdinalEncoder, KBinsDiscretizer, StandardScaler, "
        "MinMaxScaler, MaxAbsScaler, RobustScaler, ColumnTransformer and Pipeline, got one whose columns cannot be "
        f"read: {kind.__name__}{why}."
    )


def _gives_sparse(step: Any, is_sparse: bool) -> bool:
    match step:
        case ColumnTransformer():
            return bool(step.sparse_output_)
        case Pipeline():
            for _, part in step.steps:
                is_sparse = _gives_sparse(part, is_sparse)
            return is_sparse
        case OneHotEncoder():
            return bool(step.sparse_output)
        case KBinsDiscretizer():
            return step.encode == "onehot"
        case _:
            return is_sparse and not isinstance(step, OrdinalEncoder)


def _side_by_side(transformer: ColumnTransformer, schema: Schema, given: _Given, *, is_sparse: bool) -> _Given:
    if transformer.transformer_weights:
        raise ArgumentTypeError("expected a ColumnTransformer without transformer_weights, got one with them.")
    names = [str(name) for name in getattr(transformer, "feature_names_in_", ())]
    found: list[Feature] = []
    for _, part, chosen in transformer.transformers_:
        places = _places(chosen, names, len(given))
        if places and not (isinstance(part, str) and part == "drop"):
            found += _made(part, schema, tuple(given[i] for i in places), is_sparse=is_sparse)
    return tuple(found)


def _places(chosen: Any, names: list[str], width: int) -> list[int]:
    if isinstance(chosen, slice) and isinstance(chosen.start or chosen.stop, str):
        start = None if chosen.start is None else names.index(chosen.start)
        stop = None if chosen.stop is None else names.index(chosen.stop) + 1  # with the last, as pandas does
        chosen = slice(start, stop, chosen.step)
    if isinstance(chosen, slice):
        return list(range(width))[chosen]
    several = [chosen] if isinstance(chosen, (str, int)) else list(chosen)
    if several and isinstance(several[0], (bool, np.bool_)):
        return [i for i, taken in enumerate(several) if taken]
    return [names.index(x) if isinstance(x, str) else range(width)[x] for x in several]


def of_categories(encoder: Any, schema: Schema, given: Feature, place: int) -> list[Feature]:
    """Return the output columns of a category encoder for one input column: for each bin of an attribute, its codes."""
    attribute = schema[given] if isinstance(given, str) else None
    if not isinstance(given, str) or attribute is None or not attribute.listed:
        problem = f"expected a boolean or categorical attribute before a {type(encoder).__name__}"
        raise SchemaError(f"{problem}, got another one.", attribute=str(given))
    literals = bins(given, attribute)
    categories = encoder.categories_[place]
    places = schema.encode(Table.of(pd.DataFrame({given: categories})), [given])[given].astype(np.intp)
    block = _encoded(encoder, place, categories)
    numbers = np.zeros((len(literals), block.shape[1]))
    if set(range(len(literals))) - set(places.tolist()):
        numbers[:] = _unseen(encoder, place, given)
    numbers[places] = block
    if not np.array_equal(numbers[places], block, equal_nan=True):
        problem = "has values that the encoder distinguishes and the schema does not"
        raise SchemaError(f"{problem}; declare them as different values.", attribute=given)
    narrow = isinstance(encoder, OrdinalEncoder) and is_narrow(encoder.dtype)  # 0 and 1 are exact in any type
    return [Coded(given, tuple(zip(literals, column.tolist(), strict=True)), narrow) for column in numbers.T]


def _unseen(encoder: Any, place: int, name: str) -> Floats | float:
    if isinstance(encoder, OneHotEncoder):
        rare = _infrequent(encoder, place) if encoder.handle_unknown in ("infrequent_if_exist", "warn") else []
        return _encoded(encoder, place, rare[:1])[0] if rare else 0.0
    if encoder.handle_unknown == "error":
        problem = "has values that the encoder was not fitted on and refuses"
        raise SchemaError(f"{problem}; declare the values of the training rows only.", attribute=name)
    return float(encoder.unknown_value)


def _infrequent(encoder: Any, place: int) -> list[Any]:
    groups = getattr(encoder, "infrequent_categories_", None)
    return [] if groups is None or groups[place] is None else list(groups[place])


def _encoded(encoder: Any, place: int, categories: Sequence[Any]) -> Floats:
    rows = np.empty((len(categories), len(encoder.categories_)), dtype=object)
    for i, own in enumerate(encoder.categories_):
        rows[:, i] = own[0]
    rows[:, place] = list(categories)
    widths = [_width(encoder, i) for i in range(place + 1)]
    return transformed(encoder, rows)[:, sum(widths[:-1]) : sum(widths)]


def _width(encoder: Any, place: int) -> int:
    if isinstance(encoder, OrdinalEncoder):
        return 1
    rare = len(_infrequent(encoder, place))
    dropped = encoder.drop_idx_ is not None and encoder.drop_idx_[place] is not None
    return len(encoder.categories_[place]) - max(rare - 1, 0) - dropped


def scaled(scaler: Any, schema: Schema, given: Feature, place: int, *, is_sparse: bool) -> Feature:
    """Return the output column of a scaler for one column; on sparse arrays it multiplies, on dense ones it divides."""
    learned = [value for value in vars(scaler).values() if isinstance(value, np.ndarray)]
    if not isinstance(given, Coded) and any(is_narrow(value.dtype) for value in learned):
        problem = f"expected a {type(scaler).__name__} fitted on float64"
        raise SchemaError(f"{problem}, got one of lower precision, which rounds differently; fit it on float64.")
    return _mapped(schema, given, _block(scaler, place, is_sparse=is_sparse))


def binned(bins: KBinsDiscretizer, schema: Schema, given: Feature, place: int) -> list[Feature]:
    name = given.attribute if not isinstance(given, str) else given
    if schema[name].missing == "bin" or schema[name].outside == "bin":
        problem = "is discretised, and a KBinsDiscretizer accepts no missing values and bins those outside the domain"
        raise SchemaError(f"{problem}; declare it without `missing: bin` and `outside: bin`.", attribute=name)
    if bins.encode == "ordinal":
        return [replace(_mapped(schema, given, _block(bins, place)), narrow=is_narrow(bins.dtype))]
    start, width = int(bins.n_bins_[:place].sum()), int(bins.n_bins_[place])
    if schema[name].listed:
        return [_mapped(schema, given, _block(bins, place, start + i)) for i in range(width)]
    if not isinstance(given, str):
        raise SchemaError("is discretised after another step, which is not supported.", attribute=name)
    block = _block(bins, place, slice(start, start + width))
    numbered = Rescaled(given, (lambda values: block(values).argmax(axis=1).astype(np.float64),))
    cuts = [numbered.last_at_most(i, schema) for i in range(width - 1)]  # the edges are in float64, it may not be
    return [_between(given, low, high) for low, high in zip([-inf, *cuts], [*cuts, inf], strict=True)]


def _between(name: str, low: float, high: float) -> Feature:
    """Return a column that is 1 for numbers above `low`, up to `high`."""
    if low == -inf:
        return Coded(name, ()) if high == inf else Literal(name, "<=", (high,))
    return Literal(name, ">", (low,)) if high == inf else Literal(name, "between", (low, high))


def _mapped(schema: Schema, given: Feature, change: Map) -> Coded | Rescaled:
    if isinstance(given, (Coded, Rescaled)) and given.narrow:
        problem = "is encoded in lower precision than float64, so later steps round differently"
        raise SchemaError(f"{problem}; fit with dtype=np.float64.", attribute=given.attribute)
    if isinstance(given, Coded):
        return given.mapped(change)
    if isinstance(given, Rescaled):
        return Rescaled(given.attribute, (*given.changes, change))
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
        return Rescaled(name, (change,))
    else:
        codes = [float(value) for value in attribute.number_codes if value is not None]
        if len(codes) < attribute.n_known:
            raise SchemaError("is text, but the transformer expects numbers; encode it first.", attribute=name)
        codes += [nan] * (attribute.missing == "bin")
    return Coded(name, tuple(zip(bins(name, attribute), codes, strict=True))).mapped(change)


def _block(transformer: Any, place: int, column: int | slice | None = None, *, is_sparse: bool = False) -> Map:
    """Return the map of one column by a transformer of numbers, which depends on no other column."""

    def change(values: Floats) -> Floats:
        rows = np.zeros((len(values), transformer.n_features_in_))
        rows[:, place] = values
        found = transformed(transformer, csr_matrix(rows) if is_sparse else rows)
        return found[:, place if column is None else column]

    return change
