"""Types of columns as drafts, from dtypes and from the footer of Parquet files; no row is read."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.errors import ArgumentTypeError, SchemaError
from hedgerow.schema import Ordered, import_types
from hedgerow.schema.imports.files import parquet_draft


class Rows(pd.DataFrame):
    """A table whose rows must not be touched."""

    def __getitem__(self, _):
        pytest.fail("touched a row")


def seen(draft):
    return [
        (column.name, column.kind, column.values, column.low, column.high, column.may_be_missing)
        for column in draft.columns
    ]


def test_types_of_pandas():
    types = {
        "stage": pd.CategoricalDtype(["I", "II"]),
        "flag": pd.CategoricalDtype([True, False]),
        "code": pd.CategoricalDtype([1, 2]),
        "age": np.dtype("int64"),
        "tiny": np.dtype("int8"),
        "n": pd.Int64Dtype(),
        "x": np.dtype("float32"),
        "ok": np.dtype("bool"),
        "word": pd.StringDtype(),
        "any": np.dtype("object"),
        "at": np.dtype("datetime64[ns]"),
        "zoned": pd.DatetimeTZDtype(tz="UTC"),
        "day": pd.ArrowDtype(pa.date32()),
    }
    frame = Rows({name: pd.Series([], dtype=kind) for name, kind in types.items()})
    draft = import_types(frame.dtypes)
    assert draft == import_types(types)
    assert seen(draft) == [
        ("stage", "categorical", ("I", "II"), None, None, False),
        ("flag", "boolean", (), None, None, False),
        ("code", "categorical", (1, 2), None, None, False),
        ("age", "integer", (), None, None, False),
        ("tiny", "integer", (), -128, 127, False),
        ("n", "integer", (), None, None, True),
        ("x", "real", (), None, None, True),
        ("ok", "boolean", (), None, None, False),
        ("word", "categorical", (), None, None, True),
        ("any", "categorical", (), None, None, True),
        ("at", "date", (), None, None, True),
        ("day", "date", (), None, None, True),
    ]
    assert [name for name, _ in draft.left_out] == ["zoned"]


def test_types_of_polars_and_arrow():
    polars = {"e": pl.Enum(["a", "b"]), "i": pl.Int64(), "d": pl.Date(), "l": pl.List(pl.Int8())}
    assert seen(import_types(polars)) == [
        ("e", "categorical", ("a", "b"), None, None, False),
        ("i", "integer", (), None, None, True),
        ("d", "date", (), None, None, True),
    ]
    assert seen(import_types({"x": pa.decimal128(5, 2)})) == [("x", "real", (), None, None, True)]


@pytest.mark.parametrize("types", [pd.DataFrame({"a": [1]}), [("a", int)], None, {1: pd.Int64Dtype()}])
def test_a_table_is_not_a_mapping_of_types(types):
    with pytest.raises(ArgumentTypeError, match="a mapping of names to types"):
        import_types(types)


def test_a_table_without_attributes_is_refused():
    with pytest.raises(SchemaError, match="a type"):
        import_types({"at": np.dtype("timedelta64[ns]")})


def test_parquet_types_come_from_the_footer(tmp_path):
    fields = [
        pa.field("age", pa.int64(), nullable=False),
        pa.field("sex", pa.dictionary(pa.int8(), pa.string())),
        pa.field("born", pa.date32()),
        pa.field("at", pa.timestamp("us")),
    ]
    table = pa.table([[7], ["SECRET"], [None], [None]], schema=pa.schema(fields))
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little")
    content[4 : -8 - footer] = b"\0" * (len(content) - 12 - footer)  # no row is left
    path.write_bytes(content)
    draft = parquet_draft(path)
    assert seen(draft) == [
        ("age", "integer", (), None, None, False),
        ("sex", "categorical", (), None, None, True),
        ("born", "date", (), None, None, True),
        ("at", "date", (), None, None, True),
    ]
    assert "SECRET" not in repr(draft)  # nor what the footer has of the rows
    assert "7" not in repr(draft)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"SECRET")
    with pytest.raises(SchemaError, match="not a Parquet file") as error:
        parquet_draft(tmp_path / "a.parquet")
    assert "SECRET" not in str(error.value)
    assert error.value.__cause__ is None
    with pytest.raises(FileNotFoundError, match=r"none\.parquet"):
        parquet_draft(tmp_path / "none.parquet")


def test_an_ordered_type_declares_the_order_of_its_categories():
    draft = import_types({"stage": pd.CategoricalDtype(["II", "I"], ordered=True)})
    assert draft.schema()["stage"] == Ordered(("II", "I"), source="declared categories")
