"""Types of columns, of pandas, polars and Arrow, read as a draft: what a type declares, and no row."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentTypeError, MissingFileError, SchemaError
from hedgerow.schema.imports.draft import Draft, DraftColumn, category_or_boolean

_MOST_VALUES = 10_000
_SMALL = {"int8": (-(2**7), 2**7 - 1), "uint8": (0, 2**8 - 1)}  # of wider types the limits are no bounds of meaning


def import_types(types: Mapping[str, Any]) -> Draft:
    """Return a draft of the types of columns.

    A `pandas.CategoricalDtype` and a polars `Enum` declare their categories, the former also their order
    (``ordered=True``). What a frame infers (`astype("category")`) is taken from its rows, and then becomes public.

    Parameters
    ----------
    types : mapping of str to type
        Types of pandas (`frame.dtypes`), polars (`frame.schema`) or Arrow by the names of their columns. SchemaError if
        none can be an attribute.

    Examples
    --------
    >>> import pandas as pd
    >>> draft = import_types({"stage": pd.CategoricalDtype(["I", "II"]), "age": pd.Int64Dtype()})
    >>> draft.gaps
    (('age', 'low'), ('age', 'high'))
    """
    pairs: Any = getattr(types, "items", None)
    problem = ArgumentTypeError(f"types must be a mapping of names to types, got {type(types).__name__}.")
    if not callable(pairs) or hasattr(types, "columns"):  # a frame has rows
        raise problem
    listed: list[tuple[Any, Any]] = guarded(lambda: list(types.items()), problem)
    if not all(isinstance(name, str) for name, _ in listed):
        raise problem
    found = [guarded(lambda name=name, kind=kind: _column(name, kind), problem) for name, kind in listed]
    return Draft.of(found, "types of columns", "columns with types")


def parquet_draft(path: str | PathLike[str]) -> Draft:
    """Return the draft of the columns of a Parquet file: their types in its footer, not the statistics of its rows."""
    if not Path(path).is_file():
        raise MissingFileError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    import pyarrow.parquet as pq

    problem = SchemaError(f"{path}: expected a Parquet file, got another or a truncated one.")
    found: pa.Schema = guarded(lambda: pq.read_schema(path), problem)
    columns = [_of_arrow(one.name, one.type, nullable=one.nullable) for one in found]
    return Draft.of(columns, "types of a Parquet file", "columns with types")


def _column(name: str, kind: Any) -> DraftColumn | tuple[str, str]:
    categories = getattr(kind, "categories", None)
    if categories is not None and 0 < len(categories) <= _MOST_VALUES:
        values = categories.to_list() if hasattr(categories, "to_list") else list(categories)
        ordered = getattr(kind, "ordered", None) is True
        return category_or_boolean(name, values, ordered=ordered, source="declared categories")
    return _of_arrow(name, kind if isinstance(kind, pa.DataType) else _arrow_of(kind), nullable=_may_be_null(kind))


def _may_be_null(kind: Any) -> bool:
    """Return whether a column of the type can hold a missing value: one of NumPy's whole numbers cannot."""
    return getattr(kind, "kind", "f") not in ("b", "i", "u") or not str(kind).islower()


def _arrow_of(kind: Any) -> pa.DataType:
    own = getattr(kind, "pyarrow_dtype", None)
    if own is not None:
        return own
    if hasattr(kind, "to_python"):  # polars
        import polars as pl

        return pl.Series([], dtype=kind).to_arrow().type
    import pandas as pd

    return pa.Array.from_pandas(pd.Series([], dtype=kind)).type


_KINDS: dict[str, Any] = {"boolean": "boolean", "integer": "integer", "floating": "real", "decimal": "real"}
_KINDS |= {"date": "date", **dict.fromkeys(("string", "large_string", "string_view", "null"), "categorical")}


def _of_arrow(name: str, kind: pa.DataType, *, nullable: bool) -> DraftColumn | tuple[str, str]:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    found = next((found for word, found in _KINDS.items() if getattr(pa.types, f"is_{word}")(kind)), None)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        found = "date"
    if found is None:
        return name, f"of type {str(kind).partition('<')[0].partition('[')[0]}, which cannot be an attribute"
    low, high = _SMALL.get(str(kind), (None, None))
    source = "type of the column"
    return DraftColumn(name=name, kind=found, low=low, high=high, may_be_missing=nullable, source=source)
