"""Fitted transformers of scikit-learn: the meaning of each output column."""

from __future__ import annotations

from typing import Any

import numpy as np
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

from hedgerow.audit.readers.categories import of_categories
from hedgerow.audit.readers.coded import Feature
from hedgerow.audit.readers.names import meanings
from hedgerow.audit.readers.pipelines import first_step
from hedgerow.audit.readers.scales import binned, scaled
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.schema.schema import Schema

_Given = tuple[Feature, ...]
_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


def made_by(transformer: Any, schema: Schema) -> tuple[Feature, ...]:
    """Return the meaning of each output column of a fitted transformer on tables of the schema.

    Supported are ``OneHotEncoder``, ``OrdinalEncoder``, ``KBinsDiscretizer``, ``StandardScaler``, ``MinMaxScaler``,
    ``MaxAbsScaler`` and ``RobustScaler``, and ``Pipeline`` and ``ColumnTransformer`` of them. The meaning of a column
    is computed by transforming the values that the schema declares, in float64: no row is read. A declared value that a
    ``OneHotEncoder`` was not fitted on is 0 in its columns, or infrequent, as its ``handle_unknown`` says.

    Examples
    --------
    >>> import pandas as pd
    >>> from hedgerow.schema import Categorical
    >>> schema = Schema({"hue": Categorical(("red", "green", "blue"))})
    >>> encoder = OneHotEncoder(max_categories=2).fit(pd.DataFrame({"hue": ["red", "red", "green", "blue"]}))
    >>> [[code for _, code in column.numbers] for column in made_by(encoder, schema)]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """
    check_is_fitted(transformer)
    first = first_step(transformer)
    if first is None:
        raise ArgumentError(
            "expected a transformer fitted on the table, got steps that do not change it; leave out `features=`."
        )
    names = getattr(first, "feature_names_in_", schema.names)
    width = getattr(first, "n_features_in_", len(names))
    if len(names) != width:
        raise ArgumentError(
            f"expected a transformer fitted on the schema's {len(schema)} attributes, got one fitted on {width} "
            "columns without names; fit it on a frame."
        )
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
    why = ", which encodes training rows differently from other rows" * (kind is TargetEncoder)
    raise ArgumentTypeError(
        "expected one of the transformers OneHotEncoder, OrdinalEncoder, KBinsDiscretizer, StandardScaler, "
        "MinMaxScaler, MaxAbsScaler, RobustScaler, ColumnTransformer and Pipeline, got one whose columns cannot be "
        f"read: {kind.__name__}{why}."
    )


def _gives_sparse(step: Any, is_sparse: bool) -> bool:
    """Return whether the output of a step is a sparse array, given whether its input is one."""
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
    """Return the input columns of a part of a ColumnTransformer, given by number, name, mask or slice."""
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
