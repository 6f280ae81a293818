"""Conversion of arrays of Python objects to Arrow; the conversion of an object depends on this object alone.

Errors raised here contain no value. Callers, who know the column, replace them.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Array
from hedgerow.errors import ArgumentTypeError
from hedgerow.text.days import Day

if TYPE_CHECKING:
    import pandas as pd

LARGEST_WHOLE = 2**53  # whole numbers up to this size are exact in float64, to which objects are converted
_EXACT_DIGITS = 15  # different decimals with at most this number of digits differ in float64


def arrow_of_objects(values: Array) -> pa.Array:
    """Return an array of objects as an Arrow array of text, booleans, float64 or dates; times become dates."""
    import pandas as pd  # takes long to import
    from pandas.io.stata import StataMissingValue  # `read_stata(convert_missing=True)` reads .a to .z as these

    items = values.tolist()
    gaps = (None, pd.NA, pd.NaT)
    missing = [isinstance(item, StataMissingValue) or _is_missing(item, gaps) for item in items]
    kinds = {_kind(type(item)) for item, gap in zip(items, missing, strict=True) if not gap}
    if not kinds:
        return pa.nulls(len(items))
    if len(kinds) > 1:
        raise ArgumentTypeError("values of several kinds")
    make, arrow = _KINDS[kinds.pop()]
    return pa.array([None if gap else make(item) for item, gap in zip(items, missing, strict=True)], arrow)


def has_object_categories(series: pd.Series) -> bool:
    import pandas as pd  # takes long to import

    return isinstance(series.dtype, pd.CategoricalDtype) and series.dtype.categories.dtype == object


def arrow_of_categories(series: pd.Series) -> pa.Array:
    """Return a categorical series of objects as an Arrow array; unused categories are ignored."""
    codes, categories = series.cat.codes.to_numpy(), series.cat.categories.to_numpy()
    used, places = np.unique(codes[codes >= 0], return_inverse=True)
    index = np.zeros(len(codes), dtype=np.int64)
    index[codes >= 0] = places
    return arrow_of_objects(categories[used]).take(pa.array(index, mask=codes < 0))


def check_digits(series: pd.Series) -> None:
    """Check that the decimals of a series of objects, or its categories, have at most `_EXACT_DIGITS` digits."""
    import pandas as pd  # takes long to import

    values = series.dtype.categories if isinstance(series.dtype, pd.CategoricalDtype) else series
    items = values.to_numpy().tolist() if values.dtype == object else []
    if any(isinstance(item, Decimal) and len(item.as_tuple().digits) > _EXACT_DIGITS for item in items):
        raise OverflowError("a decimal of many digits")
    if any(isinstance(item, datetime.datetime) for item in items):
        raise ArgumentTypeError("a time")


def _is_missing(item: Any, gaps: tuple[Any, ...]) -> bool:
    if any(item is gap for gap in gaps):
        return True
    return isinstance(item, (float, np.floating, Decimal)) and bool(item != item)


def _kind(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    if issubclass(kind, (bool, np.bool_)):
        return "boolean"
    if issubclass(kind, Day):
        return "date"
    if issubclass(kind, (int, float, Decimal, np.integer, np.floating)):
        return "number"
    if issubclass(kind, datetime.datetime):
        return "time"
    if kind is datetime.date:
        return "date"
    raise ArgumentTypeError("values of another kind")


def _date_of(item: Any) -> datetime.date:
    if item.tzinfo is not None:
        raise ArgumentTypeError("a time with a time zone")
    return item.date()


def _number(item: Any) -> float:
    if isinstance(item, (int, np.integer)) and abs(int(item)) > LARGEST_WHOLE:
        raise OverflowError("a whole number beyond 2^53")
    number = float(item)
    if isinstance(item, Decimal) and (item.is_infinite() or (abs(item) > LARGEST_WHOLE and item != number)):
        raise OverflowError("an infinite decimal, or one of many digits")
    return number


_KINDS: dict[str, tuple[Any, pa.DataType]] = {
    "text": (str, pa.large_string()),
    "boolean": (bool, pa.bool_()),
    "number": (_number, pa.float64()),
    "date": (lambda item: item.date if isinstance(item, Day) else item, pa.date32()),
    "time": (_date_of, pa.date32()),
}
