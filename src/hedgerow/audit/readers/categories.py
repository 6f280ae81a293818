"""Category encoders of scikit-learn: the code of each value in each output column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from hedgerow.audit.readers.coded import Coded, Feature, bins, is_narrow, transformed
from hedgerow.errors import SchemaError
from hedgerow.frames import Table
from hedgerow.schema.attributes import Boolean, Categorical
from hedgerow.schema.schema import Schema


def of_categories(encoder: Any, schema: Schema, given: Feature, place: int) -> list[Feature]:
    """Return the output columns of a category encoder for one input column: for each bin of an attribute, its codes."""
    attribute = schema[given] if isinstance(given, str) else None
    if not isinstance(given, str) or not isinstance(attribute, (Boolean, Categorical)):
        raise SchemaError(
            f"expected a boolean or categorical attribute before a {type(encoder).__name__}, got another one.",
            attribute=str(given),
        )
    literals = bins(given, attribute)
    categories = encoder.categories_[place]
    places = schema.encode(Table.of(pd.DataFrame({given: categories})), [given])[given].astype(np.intp)
    block = _encoded(encoder, place, categories)
    numbers = np.zeros((len(literals), block.shape[1]))
    if set(range(len(literals))) - set(places.tolist()):
        numbers[:] = _unseen(encoder, place, given)
    numbers[places] = block
    if not np.array_equal(numbers[places], block, equal_nan=True):
        raise SchemaError(
            "has values that the encoder distinguishes and the schema does not; declare them as different values.",
            attribute=given,
        )
    narrow = isinstance(encoder, OrdinalEncoder) and is_narrow(encoder.dtype)  # 0 and 1 are exact in any type
    return [Coded(given, tuple(zip(literals, column.tolist(), strict=True)), narrow) for column in numbers.T]


def _unseen(encoder: Any, place: int, name: str) -> NDArray[np.float64] | float:
    """Return the codes of a category that the encoder was not fitted on."""
    if isinstance(encoder, OneHotEncoder):
        rare = _infrequent(encoder, place) if encoder.handle_unknown in ("infrequent_if_exist", "warn") else []
        return _encoded(encoder, place, rare[:1])[0] if rare else 0.0
    if encoder.handle_unknown == "error":
        raise SchemaError(
            "has values that the encoder was not fitted on and refuses; declare the values of the training rows only.",
            attribute=name,
        )
    return float(encoder.unknown_value)


def _infrequent(encoder: Any, place: int) -> list[Any]:
    """Return the categories of one column that an encoder merges as infrequent."""
    groups = getattr(encoder, "infrequent_categories_", None)
    return [] if groups is None or groups[place] is None else list(groups[place])


def _encoded(encoder: Any, place: int, categories: Sequence[Any]) -> NDArray[np.float64]:
    """Return the codes of each category of one column."""
    rows = np.empty((len(categories), len(encoder.categories_)), dtype=object)
    for i, own in enumerate(encoder.categories_):
        rows[:, i] = own[0]
    rows[:, place] = list(categories)
    widths = [_width(encoder, i) for i in range(place + 1)]
    return transformed(encoder, rows)[:, sum(widths[:-1]) : sum(widths)]


def _width(encoder: Any, place: int) -> int:
    """Return how many output columns an encoder has for one input column."""
    if isinstance(encoder, OrdinalEncoder):
        return 1
    rare = len(_infrequent(encoder, place))
    dropped = encoder.drop_idx_ is not None and encoder.drop_idx_[place] is not None
    return len(encoder.categories_[place]) - max(rare - 1, 0) - dropped
