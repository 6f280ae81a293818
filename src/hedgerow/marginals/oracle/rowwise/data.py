"""What was read of a hypothesis is data down to its last part, and fits any row: both are checked before a charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.columns import Column
from hedgerow.errors import ArgumentError
from hedgerow.models.rule_list import RuleList
from hedgerow.models.tree import Tree
from hedgerow.schema.schema import Schema

_PLAIN = (str, int, float, bool, type(None))
_MADE_ANEW = (Schema, RuleList, Tree)  # from the text of a file
_OURS = __name__.rpartition(".")[0]


def check_data(value: Any) -> None:
    """Check that a value has no code but hedgerow's: plain values, arrays, and dataclasses of this package.

    An object of a derived type could have code of its own that meets rows: a text whose hash is asked for, a number
    whose comparison returns something else.

    Raises
    ------
    ValueError
        If any part is of another type.
    """
    kind = type(value)
    if kind in _PLAIN or kind in _MADE_ANEW:
        return
    if kind is np.ndarray:
        if value.dtype.kind not in "fib":
            raise ArgumentError("some of its numbers are none")
    elif kind is tuple:
        for part in value:
            check_data(part)
    elif kind is dict:
        check_data((*value.keys(), *value.values()))
    elif is_dataclass(value) and kind.__module__.rpartition(".")[0] == _OURS:
        for field in fields(value):
            check_data(getattr(value, field.name))
    else:
        raise ArgumentError(f"a part of it is a {kind.__name__}, which can have code of its own")


def made_up_columns(names: Sequence[str], kinds: Sequence[str]) -> list[Column]:
    """Return two rows that anyone could write, in columns of these kinds: a value, and none where there may be none."""
    return [_MADE_UP[kind](name) for name, kind in zip(names, kinds, strict=True)]


_GAP = np.array([False, True])
_MADE_UP = {
    "boolean": lambda name: Column(name, np.array([True, False]), None),
    "numbers": lambda name: Column(name, np.array([0.0, np.nan]), _GAP),
    "text": lambda name: Column(name, pa.array(["a", None], pa.large_string()), _GAP),
}
