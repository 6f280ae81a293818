"""Tables with a canary in every cell: of all kinds of columns, and of objects that put it into what they raise."""

import datetime as dt
import warnings
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

WORD = "canary_f00d"
NUMBER = 8675309
DAY = dt.date(1867, 5, 30)
MOMENT = dt.datetime(1867, 5, 30, 9, 8, 7)
DAYS = (DAY - dt.date(1970, 1, 1)).days
MILLISECONDS = DAYS * 86_400_000 + 8_675_309
QUOTED = (WORD, WORD.upper(), "8675309", "8,675,309", "8.675", "1867", str(DAYS), str(MILLISECONDS))
"""How the canaries may be written."""
N = 3


class CanaryError(Exception):
    """What foreign code raises."""


class PanicError(BaseException):
    """As polars panics: no Exception at all."""


def fail(kind=CanaryError):
    """Warn of the canary, and raise it: in the text, the arguments, an attribute, a note and the cause of an error."""
    warnings.warn(WORD, stacklevel=1)
    error = kind(f"could not convert {WORD}", WORD)
    error.value = WORD
    error.add_note(WORD)
    raise error from CanaryError(WORD)


class Cell:
    """A cell that fails at all that can be done with it."""

    kind = CanaryError

    def _fail(self, *_, **__):
        fail(self.kind)

    __repr__ = __str__ = __float__ = __int__ = __index__ = __bool__ = __len__ = __iter__ = __eq__ = __lt__ = _fail
    __array__ = __arrow_c_array__ = __hash__ = __format__ = __getitem__ = __le__ = __ne__ = _fail


class Text(str):
    """Text whose every method fails."""

    def _fail(self, *_, **__):
        fail()

    __repr__ = __eq__ = __hash__ = encode = strip = lower = _fail


def cell_of(error):
    return type("Odd", (Cell,), {"kind": error})()


def objects(*values):
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):  # at once, NumPy would look into them
        array[place] = value
    return array


def invalid(kind):
    """Arrow text that is not UTF-8."""
    data, size = WORD.encode() + b"\xff\xfe", np.int64 if pa.types.is_large_string(kind) else np.int32
    ends = np.arange(N + 1, dtype=size) * len(data)
    return pa.Array.from_buffers(kind, N, [None, pa.py_buffer(ends), pa.py_buffer(data * N)])


class Tag(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.string(), WORD)

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


ARROW = {
    "date64 with a time of day": pa.array([MILLISECONDS] * N, pa.int64()).view(pa.date64()),
    "date32": pa.array([DAY] * N),
    "timestamp": pa.array([MOMENT] * N),
    "timestamp with a zone": pa.array([MOMENT] * N, pa.timestamp("us", "Europe/Zurich")),
    "duration": pa.array([NUMBER] * N, pa.duration("s")),
    "time": pa.array([dt.time(8, 6, 7, 530900)] * N),
    "interval": pa.array([(1, 15, NUMBER)] * N, pa.month_day_nano_interval()),
    "binary": pa.array([WORD.encode()] * N),
    "fixed binary": pa.array([WORD.encode()] * N, pa.binary(len(WORD))),
    "binary view": pa.array([WORD.encode()] * N, pa.binary_view()),
    "text": pa.array([WORD] * N),
    "text not UTF-8": invalid(pa.string()),
    "large text not UTF-8": invalid(pa.large_string()),
    "dictionary of text not UTF-8": pa.DictionaryArray.from_arrays(pa.array([0] * N), invalid(pa.string())),
    "dictionary with wrong places": pa.DictionaryArray.from_buffers(
        pa.dictionary(pa.int32(), pa.string()), N, [None, pa.py_buffer(np.full(N, 9, np.int32))], pa.array([WORD])
    ),
    "string view": pa.array([WORD] * N, pa.string_view()),
    "decimal128": pa.array([Decimal(f"{NUMBER}.25")] * N),
    "decimal256": pa.array([Decimal(f"{NUMBER}{'1' * 60}.25")] * N, pa.decimal256(76, 2)),
    "whole numbers": pa.array([NUMBER] * N),
    "uint64": pa.array([2**64 - 1 - NUMBER] * N, pa.uint64()),
    "reals": pa.array([NUMBER + 0.5] * N),
    "infinite": pa.array([np.inf] * N),
    "half": pa.array(np.full(N, 8675, np.float16)),
    "booleans": pa.array([True, False, None]),
    "nothing": pa.nulls(N),
    "list": pa.array([[WORD]] * N),
    "list view": pa.array([[WORD]] * N, pa.list_view(pa.string())),
    "struct": pa.array([{WORD: WORD}] * N),
    "map": pa.array([[(WORD, NUMBER)]] * N, pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [pa.array([WORD] * N)]),
    "run-end encoded": pa.RunEndEncodedArray.from_arrays([N], [WORD]),
    "extension": pa.ExtensionArray.from_storage(Tag(), pa.array([WORD] * N)),
    "dictionary of days": pa.array([DAY] * N).dictionary_encode(),
    "dictionary of lists": pa.DictionaryArray.from_arrays(pa.array([0] * N), pa.array([[WORD]])),
}
PANDAS = {
    "text": pd.Series([WORD] * N),
    "objects, text": pd.Series([WORD] * N, dtype=object),
    "objects, dicts": pd.Series([{WORD: WORD}] * N),
    "objects, sets": pd.Series([{WORD}] * N),
    "objects, bytes": pd.Series([WORD.encode()] * N),
    "objects, mixed": pd.Series([WORD, NUMBER, DAY], dtype=object),
    "objects, decimals": pd.Series([Decimal(NUMBER), WORD, None], dtype=object),
    "objects, large": pd.Series([NUMBER * 10**40] * N, dtype=object),
    "objects, half a surrogate": pd.Series([WORD + "\ud800"] * N, dtype=object),
    "objects, text that fails": pd.Series(objects(*[Text(WORD) for _ in range(N)])),
    "objects, frames": pd.Series(objects(*[pl.DataFrame({WORD: [WORD]})] * N)),
    "objects, classes": pd.Series([int, str, type(WORD, (), {})], dtype=object),
    "categories": pd.Series([WORD] * N, dtype="category"),
    "categories of days": pd.Series([DAY] * N, dtype="category"),
    "categories of sets": pd.Series(pd.Categorical([frozenset({WORD})] * N)),
    "intervals": pd.Series(pd.interval_range(NUMBER, periods=N)),
    "periods": pd.Series(pd.period_range("1867-05", periods=N)),
    "moments": pd.Series(pd.date_range("1867-05-30", periods=N, tz="Europe/Zurich")),
    "durations": pd.Series(pd.to_timedelta([NUMBER] * N, unit="s")),
    "sparse": pd.Series(pd.arrays.SparseArray([NUMBER] * N)),
    "nullable": pd.Series([NUMBER, None, 1], dtype="Int64"),
    "complex": pd.Series([complex(NUMBER, NUMBER)] * N),
    "lists of Arrow": pd.Series(pd.array([[WORD]] * N, dtype=pd.ArrowDtype(pa.list_(pa.string())))),
    **{
        f"cells that fail with {error.__name__}": pd.Series(objects(*[cell_of(error) for _ in range(N)]))
        for error in (CanaryError, ValueError, TypeError, OverflowError, KeyError, AttributeError, MemoryError)
    },
    "cells that panic": pd.Series(objects(*[cell_of(PanicError) for _ in range(N)])),
}
POLARS = {
    "text": pl.Series([WORD] * N),
    "list": pl.Series([[WORD]] * N),
    "array": pl.Series([[NUMBER, NUMBER]] * N, dtype=pl.Array(pl.Int64, 2)),
    "struct": pl.Series([{WORD: WORD}] * N),
    "objects": pl.Series([cell_of(CanaryError) for _ in range(N)], dtype=pl.Object),
    "enum": pl.Series([WORD] * N, dtype=pl.Enum([WORD])),
    "categories": pl.Series([WORD] * N, dtype=pl.Categorical),
    "decimals": pl.Series([Decimal(f"{NUMBER}.25")] * N),
    "times": pl.Series([dt.time(8, 6, 7, 530900)] * N),
    "days": pl.Series([DAY] * N),
    "moments": pl.Series([MOMENT] * N),
    "durations": pl.Series([dt.timedelta(seconds=NUMBER)] * N),
    "binary": pl.Series([WORD.encode()] * N),
    "int128": pl.Series([NUMBER * 10**20] * N, dtype=pl.Int128),
    "nothing": pl.Series([None] * N),
}
NUMPY = {
    "text": np.array([WORD] * N),
    "bytes": np.array([WORD.encode()] * N),
    "records": np.array([(WORD, NUMBER)] * N, dtype=[("a", "U20"), ("b", "i8")]),
    "void": np.array([WORD.encode()] * N, dtype=np.void),
    "complex": np.full(N, complex(NUMBER, NUMBER)),
    "longdouble": np.full(N, np.longdouble("8.675309e4000")),
    "objects": objects(*[Cell() for _ in range(N)]),
    "objects, mixed": objects(WORD, NUMBER, b"x"),
    "objects, arrays": objects(*[np.array([WORD])] * N),
    "masked": np.ma.MaskedArray([NUMBER] * N, [True, False, False]),
    "days": np.array(["1867-05-30"] * N, dtype="datetime64[D]"),
    "moments": np.array(["1867-05-30T09:08:07"] * N, dtype="datetime64[ns]"),
    "durations": np.full(N, NUMBER, dtype="timedelta64[s]"),
}
if hasattr(np.dtypes, "StringDType"):  # since NumPy 2.0
    NUMPY["variable text"] = np.array([WORD] * N, dtype=np.dtypes.StringDType())
COLUMNS = {
    **{f"pyarrow {name}": (pa.table({"a": column}), pa.chunked_array([column])) for name, column in ARROW.items()},
    **{f"pandas {name}": (pd.DataFrame({"a": column}), column) for name, column in PANDAS.items()},
    **{f"polars {name}": (pl.DataFrame({"a": column}), column) for name, column in POLARS.items()},
    **{f"numpy {name}": (column[:, None], column) for name, column in NUMPY.items()},
}
"""For each kind of column, a table that has it under the name a or in the first place, and itself."""


def lacking(*members):
    """Return an object of which these members fail with the canary."""
    return type("Holder", (), dict.fromkeys(members, property(lambda _: fail())))()


class Failing:
    """Fails at whatever it is asked."""

    def __getattr__(self, name):
        fail()

    __repr__ = __str__ = __len__ = __iter__ = __getitem__ = __bool__ = __eq__ = __hash__ = Cell._fail
    kind = CanaryError


def holder(*methods):
    """Return an object whose methods of these names fail with the canary."""
    return type("Holder", (), dict.fromkeys(("__repr__", *methods), Cell._fail) | {"kind": CanaryError})()


HOLDERS = {
    "DuckDB relation": lambda: duckdb.sql(f"SELECT '{WORD}' AS a FROM range({N})"),
    "lazy frame": lambda: pl.LazyFrame({"a": [WORD] * N}),
    "generator": lambda: ([WORD] for _ in range(N)),
    "lists": lambda: [[WORD]] * N,
    "ragged lists": lambda: [[WORD], [WORD, WORD]],
    "list of cells that fail": lambda: [[Cell()]] * N,
    "dictionary": lambda: {"a": [WORD] * N},
    "text": lambda: WORD,
    "bytes": lambda: WORD.encode(),
    "record batch": lambda: pa.record_batch({"a": [WORD] * N}),
    "pandas index": lambda: pd.Index([WORD] * N),
    "class": lambda: Cell,
    **{
        f"{name} that fails": (lambda name=name: holder(name))
        for name in ("__array__", "__len__", "__arrow_c_stream__")
    },
    **{
        f"{name} that fails": (lambda name=name: lacking(name))
        for name in ("columns", "shape", "name", "__array__", "__narwhals_dataframe__", "__dataframe__", "dtype")
    },
    "all that fails": Failing,
}
"""Objects that are no table, in whose errors rows may be."""
