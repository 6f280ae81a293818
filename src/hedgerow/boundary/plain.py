"""Parameters of foreign objects as plain values, which contain no code of these objects."""

from datetime import datetime
from typing import Any

import numpy as np

from hedgerow.boundary.arithmetic import LARGEST
from hedgerow.boundary.arrays import Array, Floats
from hedgerow.errors import ArgumentError

Plain = str | float | datetime | None
"""A value whose type is exactly str, int, float, bool or datetime; None for a missing value."""
_WHOLE = {int, *(kind for kind in np.sctypeDict.values() if np.dtype(kind).kind in "iu")}
_NUMBERS = {bool, float, *_WHOLE, *(kind for kind in np.sctypeDict.values() if np.dtype(kind).kind == "f")}


def plain_array(values: Any, shape: tuple[int, ...]) -> Floats:
    """Return a copy of a numeric array of this shape as float64; -1 stands for any length."""
    if type(values) is not np.ndarray or values.dtype.kind not in "fiub":
        raise ArgumentError("its parameters are not numeric NumPy arrays")
    if len(values.shape) != len(shape) or any(b not in (-1, a) for a, b in zip(values.shape, shape, strict=True)):
        raise ArgumentError(f"expected parameters of shape {shape}, got shape {values.shape}")
    array = values.astype(np.float64)
    if not (np.abs(array) <= LARGEST).all():
        raise ArgumentError("some of its parameters are not finite or are too large")
    return array


def plain_vector(values: Any, length: int = -1) -> Floats:
    return plain_array(values, (length,))


def plain_values(values: Any) -> list[Plain]:
    """Return the text, numbers and dates of an array; None for missing values."""
    if type(values) is not np.ndarray or values.ndim != 1:
        raise ArgumentError("its values are not in NumPy arrays")
    return [None if value is None or _is_nan(value) else plain_value(value) for value in _listed(values)]


def are_nan(values: Array) -> list[bool]:
    """Return a list that is True for values of an array that are NaN, and False for None and other values."""
    return list(map(_is_nan, _listed(values)))


def _listed(values: Array) -> list[Any]:
    return (values.astype("datetime64[us]") if values.dtype.kind == "M" else values).tolist()


def _is_nan(value: Any) -> bool:
    return issubclass(type(value), float) and float.__ne__(value, value)  # `isnan` would call methods of a subclass


def plain_value(value: Any) -> Plain:
    """Return text, a number or a date as a value of a built-in type."""
    if type(value) is not int and type(value) in {np.str_, np.bool_, np.float64, *_WHOLE}:
        value = value.item()
    if type(value) is str:
        value.encode()  # UnicodeEncodeError is a ValueError: no column holds half of a surrogate pair
    elif type(value) not in (int, float, bool, datetime):
        raise ArgumentError(f"expected text, a number or a date as a value, got a {type(value).__name__}")
    return value


def plain_number(value: Any) -> float:
    """Return a number as float64; ArgumentError for other values and for subclasses of numeric types."""
    if type(value) not in _NUMBERS:
        raise ArgumentError(f"expected a number, got a {type(value).__name__}")
    return float(value)


def plain_whole(value: Any) -> int:
    if type(value) not in _WHOLE:
        raise ArgumentError(f"expected a whole number, got a {type(value).__name__}")
    return int(value)


def plain_list(values: Any) -> list[Any]:
    """Return the items of a list or tuple unchanged."""
    if type(values) not in (list, tuple):
        raise ArgumentError(f"expected a list, got a {type(values).__name__}")
    return list(values)


def plain_text(value: Any) -> str:
    """Return a setting whose type is exactly str, so that comparisons run no foreign code."""
    if type(value) is not str:
        raise ArgumentError(f"expected text as a setting, got a {type(value).__name__}")
    return value


def plain_flag(value: Any) -> bool:
    if type(value) not in (bool, int, np.bool_):
        raise ArgumentError(f"expected True or False as a setting, got a {type(value).__name__}")
    return bool(value)
