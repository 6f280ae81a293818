"""Scalers and discretisers of scikit-learn: the meaning of each output column."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.preprocessing import KBinsDiscretizer

from hedgerow.audit.readers.coded import Coded, Feature, Map, Rescaled, bins, is_narrow, transformed
from hedgerow.audit.readers.names import finite_number, whole_number
from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema


def scaled(scaler: Any, schema: Schema, given: Feature, place: int, *, is_sparse: bool) -> Feature:
    """Return the output column of a scaler for one column; on sparse arrays it multiplies, on dense ones it divides."""
    learned = [value for value in vars(scaler).values() if isinstance(value, np.ndarray)]
    if not isinstance(given, Coded) and any(is_narrow(value.dtype) for value in learned):
        raise SchemaError(
            f"expected a {type(scaler).__name__} fitted on float64, got one of lower precision, which rounds "
            "differently; fit it on float64."
        )
    return _mapped(schema, given, _block(scaler, place, is_sparse=is_sparse))


def binned(bins: KBinsDiscretizer, schema: Schema, given: Feature, place: int) -> list[Feature]:
    """Return the output columns of a discretiser for one input column."""
    name = given.attribute if not isinstance(given, str) else given
    if schema[name].missing == "bin" or schema[name].outside == "bin":
        raise SchemaError(
            "is discretised, and a KBinsDiscretizer accepts no missing values and bins those outside the domain; "
            "declare it without `missing: bin` and `outside: bin`.",
            attribute=name,
        )
    if bins.encode == "ordinal":
        return [replace(_mapped(schema, given, _block(bins, place)), narrow=is_narrow(bins.dtype))]
    start, width = int(bins.n_bins_[:place].sum()), int(bins.n_bins_[place])
    if isinstance(schema[name], (Boolean, Categorical)):
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
    """Return a column after a transformer that maps its numbers one by one."""
    if isinstance(given, (Coded, Rescaled)) and given.narrow:
        raise SchemaError(
            "is encoded in lower precision than float64, so later steps round differently; fit with dtype=np.float64.",
            attribute=given.attribute,
        )
    if isinstance(given, Coded):
        return given.mapped(change)
    if isinstance(given, Rescaled):
        return Rescaled(given.attribute, (*given.changes, change))
    name = given.attribute if isinstance(given, Literal) else given
    attribute = schema[name]
    if isinstance(attribute, (Boolean, Categorical)):
        codes = attribute.truth(given).astype(float).tolist() if isinstance(given, Literal) else _codes(name, attribute)
        return Coded(name, tuple(zip(bins(name, attribute), codes, strict=True))).mapped(change)
    if isinstance(given, Literal):
        raise SchemaError(f"is scaled as a column of 0 and 1 ({given.brief}), which is not supported.", attribute=name)
    _check_missing_is_nan(name, attribute)
    return Rescaled(name, (change,))


def _codes(name: str, attribute: Attribute) -> list[float]:
    """Return the number of each bin of booleans, or of categories that are whole numbers."""
    _check_missing_is_nan(name, attribute)
    values = [whole_number(value) for value in attribute.values] if isinstance(attribute, Categorical) else [0, 1]
    codes = [float(value) for value in values if value is not None]
    if len(codes) < len(values):
        raise SchemaError("is text, but the transformer expects numbers; encode it first.", attribute=name)
    return codes + [nan] * (attribute.missing == "bin")


def _check_missing_is_nan(name: str, attribute: Attribute) -> None:
    """Raise SchemaError if numbers mean missing by the schema, which a transformer reads as numbers."""
    if any(finite_number(str(token)) is not None for token in attribute.missing_values):
        raise SchemaError(
            "has numbers that mean missing by the schema, but the transformer reads them as numbers; fit it with NaN "
            "for them, and declare it without these `missing_values`.",
            attribute=name,
        )


def _block(transformer: Any, place: int, column: int | slice | None = None, *, is_sparse: bool = False) -> Map:
    """Return the map of one column by a transformer of numbers, which depends on no other column."""

    def change(values: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.zeros((len(values), transformer.n_features_in_))
        rows[:, place] = values
        found = transformed(transformer, csr_matrix(rows) if is_sparse else rows)
        return found[:, place if column is None else column]

    return change
