"""scikit-learn's fitted transformers, as what each column that they make says of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils.validation import check_is_fitted

from hedgerow.audit.adapters.coded import Coded, Map, Rescaled
from hedgerow.audit.adapters.names import finite_number, meanings, whole_number
from hedgerow.audit.adapters.pipelines import first_step
from hedgerow.columns import Table
from hedgerow.errors import SchemaError
from hedgerow.guard import guarded
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema

Feature = str | Literal | Coded | Rescaled
"""What a column is: an attribute's values, 1 where a literal holds and else 0, or made of an attribute's values."""
_Given = tuple[Feature, ...]
_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


def made_by(transformer: Any, schema: Schema) -> tuple[Feature, ...]:
    """Return what each column is that a fitted transformer makes of a table of the schema.

    Read are ``OneHotEncoder``, ``OrdinalEncoder``, ``KBinsDiscretizer``, ``StandardScaler``, ``MinMaxScaler``,
    ``MaxAbsScaler`` and ``RobustScaler``, and ``Pipeline`` and ``ColumnTransformer`` of them. Each column is told by
    what the transformer makes of the values that the schema declares, in float64: no row is looked at. A declared
    value that a ``OneHotEncoder`` has not seen is 0 in its columns, or infrequent, as its ``handle_unknown`` says.

    Raises
    ------
    TypeError
        If it is another transformer, or one of its parts is.
    SchemaError
        If it was fitted on columns, or on values, that the schema does not declare.

    Examples
    --------
    >>> schema = Schema({"hue": Categorical(("red", "green", "blue"))})
    >>> encoder = OneHotEncoder(max_categories=2).fit(pd.DataFrame({"hue": ["red", "red", "green", "blue"]}))
    >>> [[code for _, code in column.numbers] for column in made_by(encoder, schema)]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """
    check_is_fitted(transformer)
    first = first_step(transformer)
    if first is None:
        raise ValueError(
            "expected a transformer fitted on the table, got steps that leave it as it is; leave out features=."
        )
    names = getattr(first, "feature_names_in_", schema.names)
    width = getattr(first, "n_features_in_", len(names))
    if len(names) != width:
        raise ValueError(
            f"expected a transformer of the schema's {len(schema)} attributes, got one that was fitted on {width} "
            "columns without names; fit it on a frame."
        )
    return _made(transformer, schema, meanings(names, schema))


def _made(transformer: Any, schema: Schema, given: _Given) -> _Given:
    kind = type(transformer)
    if transformer in ("passthrough", None) or (kind is FunctionTransformer and transformer.func is None):
        return given
    if kind is Pipeline:
        for _, step in transformer.steps:
            given = _made(step, schema, given)
        return given
    if kind is ColumnTransformer:
        return _side_by_side(transformer, schema, given)
    if kind in (OneHotEncoder, OrdinalEncoder):
        return tuple(x for i, one in enumerate(given) for x in _categories(transformer, schema, one, i))
    if kind in _SCALERS:
        return tuple(_mapped(schema, one, _block(transformer, i)) for i, one in enumerate(given))
    if kind is KBinsDiscretizer:
        return tuple(x for i, one in enumerate(given) for x in _bins(transformer, schema, one, i))
    why = ", which encodes the rows that it is fitted on in another way than others" * (kind is TargetEncoder)
    raise TypeError(
        f"cannot tell what the columns of a {kind.__name__} are{why}; read are OneHotEncoder, OrdinalEncoder, "
        "KBinsDiscretizer, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, ColumnTransformer and Pipeline."
    )


def _side_by_side(transformer: ColumnTransformer, schema: Schema, given: _Given) -> _Given:
    if transformer.transformer_weights:
        raise TypeError("cannot tell what the columns of a ColumnTransformer with transformer_weights are.")
    names = [str(name) for name in getattr(transformer, "feature_names_in_", ())]
    found: list[Feature] = []
    for _, part, chosen in transformer.transformers_:
        places = _places(chosen, names, len(given))
        if places and not (isinstance(part, str) and part == "drop"):
            found += _made(part, schema, tuple(given[i] for i in places))
    return tuple(found)


def _places(chosen: Any, names: list[str], width: int) -> list[int]:
    """Return the columns that a part of a ColumnTransformer takes, said by number, name, mask or slice."""
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


def _categories(encoder: Any, schema: Schema, given: Feature, place: int) -> list[Feature]:
    """Return what an encoder of categories makes of one column: for each cell of an attribute, its numbers."""
    attribute = schema[given] if isinstance(given, str) else None
    if not isinstance(given, str) or not isinstance(attribute, (Boolean, Categorical)):
        raise SchemaError(f"a {type(encoder).__name__} is read on booleans and categories only.", attribute=str(given))
    literals = _cells(given, attribute)
    categories = encoder.categories_[place]
    cells = schema.encode(Table.of(pd.DataFrame({given: categories})), [given])[given].astype(np.intp)
    block = _encoded(encoder, place, categories)
    numbers = np.zeros((len(literals), block.shape[1]))
    if set(range(len(literals))) - set(cells.tolist()):
        numbers[:] = _unseen(encoder, place, given)
    numbers[cells] = block
    if not np.array_equal(numbers[cells], block, equal_nan=True):
        raise SchemaError("has values that the encoder tells apart and the schema does not.", attribute=given)
    narrow = isinstance(encoder, OrdinalEncoder) and _is_narrow(encoder.dtype)  # 0 and 1 are told apart in any type
    return [Coded(given, tuple(zip(literals, column.tolist(), strict=True)), narrow) for column in numbers.T]


def _unseen(encoder: Any, place: int, name: str) -> NDArray[np.float64] | float:
    """Return the numbers of a category that the encoder has not seen."""
    if isinstance(encoder, OneHotEncoder):
        rare = _infrequent(encoder, place) if encoder.handle_unknown in ("infrequent_if_exist", "warn") else []
        return _encoded(encoder, place, rare[:1])[0] if rare else 0.0
    if encoder.handle_unknown == "error":
        raise SchemaError(
            "has values that the encoder has not seen and refuses; declare those that the training rows had.",
            attribute=name,
        )
    return float(encoder.unknown_value)


def _infrequent(encoder: Any, place: int) -> list[Any]:
    """Return the categories of one column that an encoder takes for one."""
    groups = getattr(encoder, "infrequent_categories_", None)
    return [] if groups is None or groups[place] is None else list(groups[place])


def _encoded(encoder: Any, place: int, categories: Sequence[Any]) -> NDArray[np.float64]:
    """Return the numbers that an encoder has for each category of one column."""
    rows = np.empty((len(categories), len(encoder.categories_)), dtype=object)
    for i, own in enumerate(encoder.categories_):
        rows[:, i] = own[0]
    rows[:, place] = list(categories)
    widths = [_width(encoder, i) for i in range(place + 1)]
    return _transformed(encoder, rows)[:, sum(widths[:-1]) : sum(widths)]


def _width(encoder: Any, place: int) -> int:
    """Return how many columns an encoder makes of one."""
    if isinstance(encoder, OrdinalEncoder):
        return 1
    if isinstance(encoder, KBinsDiscretizer):
        return 1 if encoder.encode == "ordinal" else int(encoder.n_bins_[place])
    rare = len(_infrequent(encoder, place))
    dropped = encoder.drop_idx_ is not None and encoder.drop_idx_[place] is not None
    return len(encoder.categories_[place]) - max(rare - 1, 0) - dropped


def _bins(bins: KBinsDiscretizer, schema: Schema, given: Feature, place: int) -> list[Feature]:
    """Return what a discretiser makes of one column."""
    if bins.encode == "ordinal":
        return [replace(_mapped(schema, given, _block(bins, place)), narrow=_is_narrow(bins.dtype))]
    start, width = sum(_width(bins, i) for i in range(place)), _width(bins, place)
    name = given.attribute if not isinstance(given, str) else given
    if isinstance(schema[name], (Boolean, Categorical)):
        return [_mapped(schema, given, _block(bins, place, start + i)) for i in range(width)]
    if not isinstance(given, str):
        raise SchemaError("is binned after another step, which is not read.", attribute=name)
    if schema[name].missing == "cell" or schema[name].outside == "cell":
        raise SchemaError(
            "is binned, which takes no missing values and bins those outside the domain; declare it without cells for "
            "them.",
            attribute=name,
        )
    block = _block(bins, place, slice(start, start + width))
    numbered = Rescaled(given, (lambda values: block(values).argmax(axis=1).astype(np.float64),))
    cuts = [numbered.last_at_most(i, schema) for i in range(width - 1)]  # the edges are in float64, it may not be
    return [_between(given, low, high) for low, high in zip([-inf, *cuts], [*cuts, inf], strict=True)]


def _between(name: str, low: float, high: float) -> Feature:
    """Return a column that is 1 for numbers above one, up to another."""
    if low == -inf:
        return Coded(name, ()) if high == inf else Literal(name, "<=", (high,))
    return Literal(name, ">", (low,)) if high == inf else Literal(name, "between", (low, high))


def _mapped(schema: Schema, given: Feature, change: Map) -> Coded | Rescaled:
    """Return a column after a transformer that maps its numbers one by one."""
    if isinstance(given, (Coded, Rescaled)) and given.narrow:
        raise SchemaError(
            "is encoded in less than float64, and the steps after it round as that does; fit with dtype=np.float64.",
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
        return Coded(name, tuple(zip(_cells(name, attribute), codes, strict=True))).mapped(change)
    if isinstance(given, Literal):
        raise SchemaError(f"is scaled as a column of 0 and 1 ({given.brief}), which is not read.", attribute=name)
    _check_missing_is_nan(name, attribute)
    return Rescaled(name, (change,))


def _is_narrow(dtype: Any) -> bool:
    """Return whether numbers are kept in a type of floats with less digits than float64."""
    return dtype is not None and np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize < 8


def _cells(name: str, attribute: Attribute) -> list[Literal]:
    """Return a literal for each cell of booleans or categories, in order."""
    if attribute.outside == "cell":
        raise SchemaError(
            "is encoded, and values outside the domain could be anything; declare it without.", attribute=name
        )
    known = (
        [Literal(name, "=", (value,)) for value in attribute.values]
        if isinstance(attribute, Categorical)
        else [Literal(name, "false"), Literal(name, "true")]
    )
    return known + [Literal(name, "missing")] * (attribute.missing == "cell")


def _codes(name: str, attribute: Attribute) -> list[float]:
    """Return the number in each cell of booleans or of categories that are whole numbers."""
    _check_missing_is_nan(name, attribute)
    values = [whole_number(value) for value in attribute.values] if isinstance(attribute, Categorical) else [0, 1]
    codes = [float(value) for value in values if value is not None]
    if len(codes) < len(values):
        raise SchemaError("is text, and the transformer takes numbers.", attribute=name)
    return codes + [nan] * (attribute.missing == "cell")


def _check_missing_is_nan(name: str, attribute: Attribute) -> None:
    """Raise SchemaError if numbers mean missing by the schema: a transformer takes them for numbers."""
    if any(finite_number(str(token)) is not None for token in attribute.missing_values):
        raise SchemaError(
            "has numbers that mean missing by the schema and that the transformer takes for numbers; give it NaN for "
            "them, and declare it without these `missing_values`.",
            attribute=name,
        )


def _block(transformer: Any, place: int, column: int | slice | None = None) -> Map:
    """Return what a transformer of numbers makes of one column, which depends on no other."""

    def change(values: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = np.zeros((len(values), transformer.n_features_in_))
        rows[:, place] = values
        return _transformed(transformer, rows)[:, place if column is None else column]

    return change


def _transformed(transformer: Any, rows: NDArray[Any]) -> NDArray[np.float64]:
    problem = SchemaError(f"expected values that the {type(transformer).__name__} takes, got some that it refuses.")

    def call() -> NDArray[np.float64]:
        found = transformer.transform(rows)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)

    return guarded(call, problem)
