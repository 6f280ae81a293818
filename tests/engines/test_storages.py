"""Storages: files of every kind hold for every value the bin, or the error, that it has in memory."""

import tempfile
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import quote

import ibis
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Oracle, Real, Schema, Tally
from hedgerow.engines.bins import bin_code, level_code
from hedgerow.engines.columns import EngineColumn
from hedgerow.engines.lookups import Lookups
from hedgerow.engines.sources import open_table
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.schema import Boolean, Label
from hedgerow.tables.csv_files import read_csv
from tests.engines.servers import SPARK
from tests.engines.storages import EVERY_STORAGE, NUMBERS, ONLY_IN_FILES, PARQUET
from tests.engines.values import ATTRIBUTES, COLUMNS, LABELS, in_memory, said_of

KINDS = {
    "boolean": Boolean(missing="bin"),
    **{name: ATTRIBUTES[name] for name in ("codes, bins", "integer, bins", "real, bins", "real, clipped")},
    **{f"label of {name}": LABELS[name] for name in ("0/1", "numbers")},
}
OF_NUMBERS = EVERY_STORAGE.select(["i", *NUMBERS])
ON_SPARK = EVERY_STORAGE.select(  # of many, it takes long to compile; its times are refused, being of a time zone
    [name for name in EVERY_STORAGE.column_names if ("NaN" not in name or "bounds" in name) and name != "time"]
)
FEW = ("pyarrow", "polars, no statistics")  # with statistics and without; the others are slow
WRITERS = [
    pytest.param("duckdb of a user", writer, marks=() if writer in FEW else pytest.mark.slow) for writer in PARQUET
]
OPENED = [("duckdb", "pyarrow"), pytest.param("duckdb", "polars", marks=pytest.mark.slow)]
OPENED += [pytest.param("spark", writer, marks=SPARK.marks) for writer in ("pyarrow", "polars", "duckdb")]
WRITERS += OPENED


def codes_of(table, names):
    """Return the codes of every column for every kind, in the order of ``i``, by column and kind."""
    lookups = Lookups(table, ["i", *names])
    codes = {
        f"c{i}_{j}": (level_code if isinstance(kind, Label) else bin_code)(kind, column, lookups)
        for i, column in enumerate(EngineColumn.of(table, name) for name in names)
        for j, kind in enumerate(KINDS.values())
    }
    result = lookups.rows().select(i=ibis._.i.cast("int64"), **codes).to_pyarrow().sort_by("i")
    return result["i"].to_pylist(), {
        (name, kind): result[f"c{i}_{j}"].to_pylist() for i, name in enumerate(names) for j, kind in enumerate(KINDS)
    }


@cache
def in_memory_once(kind, name):
    """What memory says of a column, which is a shorter one repeated, as in `one_table`."""
    values = {**COLUMNS, **NUMBERS}[name]
    return list(islice(cycle(in_memory(KINDS[kind], values)), len(EVERY_STORAGE)))


def differences(table, columns):
    """Return every row of whose value an engine says another thing than memory, with both."""
    names = [name for name in columns.column_names if name != "i"]
    numbers, codes = codes_of(table, names)
    assert numbers == list(range(len(columns)))
    different = []
    for (name, kind), result in codes.items():
        values = columns[name].combine_chunks()
        shared = any(columns is item for item in (EVERY_STORAGE, OF_NUMBERS, ON_SPARK))
        in_frame = in_memory_once(kind, name) if shared else in_memory(KINDS[kind], values)
        told = [str(bin) for bin in said_of(KINDS[kind], result)]
        pairs = zip(range(len(values)), [of_x(bin) for bin in in_frame], told, strict=True)
        different += [(name, kind, row, *both) for row, *both in pairs if both[0] != both[1]]
    return different


def of_x(bin):
    return str(bin).replace("column 'y'", "column 'x'")


@pytest.mark.parametrize(("engine", "writer"), WRITERS)
def test_parquet(tmp_path, request, engine, writer):
    if engine == "spark":
        request.getfixturevalue("spark")
    path = str(tmp_path / "a.parquet")
    columns = ON_SPARK if engine == "spark" else EVERY_STORAGE
    if engine == "duckdb of a user":  # writers differ in statistics, which hide NaN; the rest is as in ours
        columns = OF_NUMBERS
    PARQUET[writer](columns, path)
    if engine == "duckdb of a user":  # who lets it settle comparisons by statistics
        assert not differences(ibis.duckdb.connect().read_parquet(path), columns)
    else:
        with open_table(path, engine=engine) as table:
            assert not differences(table, columns)


@pytest.mark.parametrize("engine", ["duckdb", SPARK])
@pytest.mark.parametrize("as_integers", [False, True])
def test_parquet_of_types_that_few_writers_have(tmp_path, request, engine, as_integers):
    columns = ONLY_IN_FILES.append_column("half", ONLY_IN_FILES["i"].cast(pa.float16()))
    if engine == "spark":  # which has no numbers of 16 bits, and refuses times
        request.getfixturevalue("spark")
        columns = columns.select([name for name in columns.column_names if "times" not in name and name != "half"])
    pq.write_table(columns, tmp_path / "a.parquet", store_decimal_as_integer=as_integers)
    with open_table(str(tmp_path / "a.parquet"), engine=engine) as table:
        assert not differences(table, columns)


@pytest.mark.parametrize("engine", ["duckdb", SPARK])
def test_csv(tmp_path, request, engine):
    if engine == "spark":
        request.getfixturevalue("spark")
    written = EVERY_STORAGE.select(["i", "text", "boolean", "decimal", "date", "NaN with infinity, double"])
    if engine == "spark":  # which is given no carriage returns within fields
        kept = pc.replace_substring(written["text"], "\r", "\n")
        written = written.set_column(1, "text", kept)
    pyarrow.csv.write_csv(written, tmp_path / "a.csv")
    columns = read_csv(tmp_path / "a.csv")
    with open_table(str(tmp_path / "a.csv"), engine=engine) as table:
        assert not differences(table, columns)


@pytest.mark.parametrize("engine", ["duckdb", SPARK])
@pytest.mark.parametrize(
    ("text", "delimiter", "skip_rows"),
    [
        ('"",a,b,a\n1,x,"y,z",2\n', None, None),
        ("a|b\nx|y\n", None, None),
        ("a,b c\nx,y z\n", " ", None),
        ('a^b\n"x^"^y\n', "^", None),
        ("sep=;\na;b\nx;y,z\n", None, None),
        ("\ufeffSEP=:\r\na:b\r\nx:y\r\n", None, None),
        ('\ufeffA title, of 2024\n\n,,,\n"a","b"\nx,"y\nz"\n\nv,w', None, 3),
        ('"A, ""title""";;\r\n\r\nsep=;\r\na;b\r\nx;y\r\n', None, 2),
        ("a\na,b", None, 1),
        ("only,,\nx,y,z\n", None, 0),
    ],
    ids=[
        *["blank and repeated names", "pipes", "spaces", "carets", "sep", "mark and sep"],
        *["title", "title in quotes", "title and no rows", "names that are blank"],
    ],
)
def test_csv_has_the_columns_and_fields_that_it_has_in_memory(tmp_path, request, engine, text, delimiter, skip_rows):
    if engine == "spark":
        request.getfixturevalue("spark")
    (tmp_path / "a.csv").write_text(text, newline="")
    expected = read_csv(tmp_path / "a.csv", delimiter, skip_rows=skip_rows)
    if engine == "spark" and ("=" in text or skip_rows):
        with (
            pytest.raises(DomainError, match=r"Spark .*above the header"),
            open_table(str(tmp_path / "a.csv"), engine="spark", skip_rows=skip_rows),
        ):
            pass
        return
    with open_table(str(tmp_path / "a.csv"), engine=engine, delimiter=delimiter, skip_rows=skip_rows) as table:
        assert table.to_pyarrow().cast(expected.schema).equals(expected)


@pytest.mark.parametrize("text", ["sep=;\r\na;b\nx;y\n", "sep=;\na;b\r\nx;y\r\n", "sep=;\ra;b\nx;y\n"])
def test_no_row_is_lost_if_the_first_line_of_csv_ends_otherwise(tmp_path, text):
    (tmp_path / "a.csv").write_bytes(text.encode())
    with pytest.raises(DomainError, match="ends differently"), open_table(str(tmp_path / "a.csv")):
        pass


@settings(max_examples=40)
@given(st.lists(st.text('a",;\n ', max_size=6), min_size=1, max_size=3), st.sampled_from(["\n", "\r\n"]))
def test_lines_above_the_header_are_the_same_for_an_engine_or_are_refused(lines, ending):
    """DuckDB takes a quote that opens there for a field with a line break, and skips more lines."""
    above = ending.join(lines).replace("\n", ending) + ending
    text = f'{above}a,b{ending}x,"y"{ending}{ending}x,z{ending}'
    n_lines = above.count("\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.csv")
        path.write_bytes(text.replace("\r\r", "\r").encode())
        rows = read_csv(path, skip_rows=n_lines)
        assert rows.to_pydict() == {"a": ["x", "x"], "b": ["y", "z"]}
        try:
            with open_table(str(path), skip_rows=n_lines) as table:
                assert table.to_pyarrow().cast(rows.schema).equals(rows)
        except DomainError as error:
            if '"' not in above or "above the header, has a quote inside a field" not in str(error):
                raise


@pytest.mark.parametrize("line", ['A,"title', ' "', 'a "quote" within', '"a"b'])
def test_an_engine_refuses_a_quote_that_opens_above_the_header(tmp_path, line):
    (tmp_path / "a.csv").write_text(line + '\n\na,b\nx,"y"\n')
    assert read_csv(tmp_path / "a.csv", skip_rows=2).num_rows == 1
    with (
        pytest.raises(DomainError, match=r"line 1, .*quote"),
        open_table(str(tmp_path / "a.csv"), skip_rows=2),
    ):
        pass


@pytest.mark.parametrize("address", ["duckdb:///t.duckdb::t", "postgresql://u@h/d::t", "{}/a.parquet"])
@pytest.mark.parametrize("option", [{"delimiter": ";"}, {"skip_rows": 1}])
def test_only_csv_has_a_delimiter_and_lines_to_skip(tmp_path, address, option):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with (
        pytest.raises(ArgumentError, match=next(iter(option))),
        open_table(address.format(tmp_path), **option),
    ):
        pass


@pytest.mark.parametrize("engine", ["duckdb", SPARK])
def test_partitions(tmp_path, request, engine):
    if engine == "spark":
        request.getfixturevalue("spark")
    words = COLUMNS["text"]
    for i, word in enumerate(words.to_pylist()):
        folder = tmp_path / f"{i % 3}" / f"x={'__HIVE_DEFAULT_PARTITION__' if word is None else quote(word, safe='')}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"i": pa.array([i], pa.int64())}), folder / f"{i}.parquet")
    with open_table(str(tmp_path), engine=engine) as table:
        assert not differences(table, pa.table({"x": words}))


NAN_HIDDEN = EVERY_STORAGE.select(["NaN late, double", "NaN with one value, float"]).rename_columns(["x", "z"])
OF_NAN = Schema({"x": Real(0, 1, cuts=(0.5,)), "z": Real(0, 1, cuts=())}, Label("y", (0, 1)))


@pytest.mark.parametrize(("engine", "writer"), [("duckdb", "pyarrow"), ("duckdb", "polars"), OPENED[2]])
@pytest.mark.parametrize("folders", [False, True])
def test_nan_is_an_error_if_missing_values_are(tmp_path, request, engine, writer, folders):
    if engine == "spark":
        request.getfixturevalue("spark")
    path = tmp_path / ("k=1/a.parquet" if folders else "a.parquet")
    path.parent.mkdir(exist_ok=True)
    PARQUET[writer](NAN_HIDDEN.append_column("y", pa.array([0] * len(NAN_HIDDEN))), path)
    with (
        open_table(str(tmp_path if folders else path), engine=engine) as table,
        pytest.raises(DomainError, match=r"column '[xz]': .*missing"),
    ):
        Tally.from_table(table, OF_NAN)
    with open_table(str(tmp_path if folders else path), engine=engine) as table:
        oracle = Oracle.from_table(table, "y", None, classes=(0, 1))
        bins = Schema({name: Real(0, 1, cuts=(), missing="bin", outside="clip") for name in "xz"})
        result = oracle.marginals(bins).rows.tolist()
    assert result == Oracle(NAN_HIDDEN, [0] * len(NAN_HIDDEN), None, classes=(0, 1)).marginals(bins).rows.tolist()
    assert result[1] > 0  # NaN, as there is no NULL
