"""scikit-learn's encoders of categories, as the number that each column has for each value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from hedgerow.audit.readers.coded import Coded, Feature, bins, is_narrow, transformed
from hedgerow.columns import Table
from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import Boolean, Categorical
from hedgerow.schema.schema import Schema


def of_categories(encoder: Any, schema: Schema, given: Feature, place: int) -> list[Feature]:
    """Return what an encoder of categories makes of one column: for each bin of an attribute, its numbers."""
    attribute = schema[given] if isinstance(given, str) else None
    if not isinstance(given, str) or not isinstance(attribute, (Boolean, Categorical)):
        raise SchemaError(f"a {type(encoder).__name__} is read on booleans and categories only.", attribute=str(given))
    literals = bins(given, attribute)
    categories = encoder.categories_[place]
    places = schema.encode(Table.of(pd.DataFrame({given: categories})), [given])[given].astype(np.intp)
    block = _encoded(encoder, place, categories)
    numbers = np.zeros((len(literals), block.shape[1]))
    if set(range(len(literals))) - set(places.tolist()):
        numbers[:] = _unseen(encoder, place, given)
    numbers[places] = block
    if not np.array_equal(numbers[places], block, equal_nan=True):
        raise SchemaError("has values that the encoder tells apart and the schema does not.", attribute=given)
    narrow = isinstance(encoder, OrdinalEncoder) and is_narrow(encoder.dtype)  # 0 and 1 are told apart in any type
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
    return transformed(encoder, rows)[:, sum(widths[:-1]) : sum(widths)]


def _width(encoder: Any, place: int) -> int:
    """Return how many columns an encoder makes of one."""
    if isinstance(encoder, OrdinalEncoder):
        return 1
    rare = len(_infrequent(encoder, place))
    dropped = encoder.drop_idx_ is not None and encoder.drop_idx_[place] is not None
    return len(encoder.categories_[place]) - max(rare - 1, 0) - dropped
