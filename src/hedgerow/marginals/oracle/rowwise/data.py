"""Checks, before a charge, that a hypothesis consists of plain data and predicts any row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.columns import Column
from hedgerow.errors import ArgumentError
from hedgerow.models.rule_list import RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.models.tree import Tree
from hedgerow.schema.schema import Schema

_PLAIN = (str, int, float, bool, type(None))
_REBUILT = (Schema, RuleList, Tree, Scorecard)  # rebuilt from the text of a file
_OURS = __name__.rpartition(".")[0]


def check_data(value: Any) -> None:
    """Check that a value runs no code but hedgerow's: plain values, arrays, and dataclasses of this package.

    An object of a derived type could run code of its own on rows: a text with its own hash, a number with its own
    comparison.
    """
    kind = type(value)
    if kind in _PLAIN or kind in _REBUILT:
        return
    if kind is np.ndarray:
        if value.dtype.kind not in "fib":
            raise ArgumentError("one of its arrays does not hold numbers")
    elif kind is tuple:
        for part in value:
            check_data(part)
    elif kind is dict:
        check_data((*value.keys(), *value.values()))
    elif is_dataclass(value) and kind.__module__.rpartition(".")[0] == _OURS:
        for field in fields(value):
            check_data(getattr(value, field.name))
    else:
        raise ArgumentError(f"it holds an object of type {kind.__name__}, which could run code of its own")


def probe_columns(names: Sequence[str], kinds: Sequence[str]) -> list[Column]:
    """Return two probe rows in columns of these kinds: a value, and a missing one if the kind allows it."""
    return [_PROBES[kind](name) for name, kind in zip(names, kinds, strict=True)]


_GAP = np.array([False, True])
_PROBES = {
    "boolean": lambda name: Column(name, np.array([True, False]), None),
    "numbers": lambda name: Column(name, np.array([0.0, np.nan]), _GAP),
    "text": lambda name: Column(name, pa.array(["a", None], pa.large_string()), _GAP),
}
