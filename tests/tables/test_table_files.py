"""Files of a table: every make of the same rows is the same table, and what is not text is an error without a byte."""

import codecs
import csv
import datetime
import gzip
import io
import os
import tempfile
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import ArgumentError, DomainError
from hedgerow.tables import table_files
from hedgerow.tables.table_files import TextFormat, columns_of, read_table

CELLS = st.text(st.sampled_from('a07.,;\t "\n-é€'), max_size=6)
NAMES = st.lists(st.sampled_from(["a", "b c", "d, e", "f;g;h", "007", "é"]), min_size=2, max_size=4, unique=True)


@st.composite
def tables(draw):
    names = draw(NAMES)
    row = st.lists(CELLS, min_size=len(names), max_size=len(names))
    return names, draw(st.lists(row, max_size=5))


def text_of(names, rows, delimiter, ending="\n"):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, lineterminator=ending, quoting=csv.QUOTE_ALL)
    writer.writerows([names, *rows])
    return file.getvalue()


def written(folder, names, rows):
    """Write a table in every make; yield each file's name with how it is read."""
    plain, tabbed = text_of(names, rows, ","), text_of(names, rows, "\t")
    quoted_breaks = any("\n" in cell for row in rows for cell in row)
    files = {
        "plain.csv": (plain.encode(), TextFormat()),
        "semicolons.txt": (text_of(names, rows, ";").encode(), TextFormat()),
        "tabs.tsv": (tabbed.encode(), TextFormat()),
        "tabs.tsv.gz": (gzip.compress(tabbed.encode()), TextFormat()),
        "packed.CSV.GZ": (gzip.compress(plain.encode()), TextFormat()),
        "mark.csv": (codecs.BOM_UTF8 + plain.encode(), TextFormat()),
        "windows.csv": (text_of(names, rows, ",", "\r\n").encode(), TextFormat("UTF8")),
        "cp1252.csv": (plain.encode("cp1252"), TextFormat("cp1252")),
        "wide.csv": (plain.encode("utf-16"), TextFormat("utf-16")),
        "packed and wide.csv.gz": (gzip.compress(tabbed.encode("utf-16-be")), TextFormat("utf-16-be")),
    }
    if not quoted_breaks:
        files["mac.csv"] = (plain.replace("\n", "\r").encode(), TextFormat())
    for name, (content, make) in files.items():
        (folder / name).write_bytes(content)
        yield str(folder / name), make
    columns = zip(*rows, strict=True) if rows else [[]] * len(names)
    table = pa.table([pa.array(list(cells), pa.large_string()) for cells in columns], names=names)
    pq.write_table(table, folder / "typed.parquet")
    yield str(folder / "typed.parquet"), TextFormat()


@given(tables())
def test_a_table_of_every_make_has_the_same_columns(table):
    names, rows = table
    with tempfile.TemporaryDirectory() as folder:
        for path, make in written(Path(folder), names, rows):
            result = read_table(path, make)
            assert columns_of(path, make) == result.column_names == names, path
            assert [list(row) for row in zip(*result.to_pydict().values(), strict=True)] == rows, path
            assert set(result.schema.types) == {pa.large_string()}, path


@pytest.mark.parametrize(
    ("cell", "read"),
    [
        *(("3,5", "3.5"), ("-0,25", "-0.25"), (",5", ".5"), (" 1,5e-3 ", "1.5e-3"), ("+1,0E6", "+1.0E6")),
        *(("3.5", "3,5"), ("1.234", "1,234"), ("-.5e3", "-,5e3")),
        *((item, item) for item in ("007", "1.234,5", "1,234,5", "1,", "a,5", "1,5e", "2026-11-23", "")),
    ],
)
def test_a_decimal_comma_becomes_a_point_in_columns_of_numbers_alone(tmp_path, cell, read):
    (tmp_path / "t.csv").write_text(f"a;b\n{cell};{cell}\n")
    result = read_table(str(tmp_path / "t.csv"), TextFormat(decimal=","), numbers=("a", "none"))
    assert (result.column_names, result["a"].to_pylist(), result["b"].to_pylist()) == (["a", "b"], [read], [cell])
    assert read_table(str(tmp_path / "t.csv"), numbers=("a",))["a"].to_pylist() == [cell]


@pytest.mark.parametrize(
    ("content", "encoding", "line"),
    [
        ("a,b\n1,2\nSECRÉT,3\n".encode("cp1252"), "utf-8", 3),
        (gzip.compress("a,b\n1,2\nSECRÉT,3\n".encode("cp1252"), mtime=0), "utf-8", 3),
        ("a,b\r1,2\rSECRÉT,3\r".encode("cp1252"), "ascii", 3),
        ("a,b\nSECRET Ċ\n,2\n".encode("utf-16") + b"\0", "utf-16", 4),  # its bytes have a line feed more
        (b"a,b\n1,SECRET\n\x81\n", "cp1252", 3),
        (b"\xff\xfea,b", "utf-8", 1),
    ],
)
def test_the_error_for_another_encoding_names_line_and_option(tmp_path, content, encoding, line):
    path = tmp_path / ("t.csv.gz" if content[:1] == b"\x1f" else "t.csv")
    path.write_bytes(content)
    with pytest.raises(DomainError, match=f"line {line}( is not text| is not valid text).*--encoding") as error:
        read_table(str(path), TextFormat(encoding))
    assert "SECR" not in repr((error.value, error.value.__cause__, error.value.__context__))


@pytest.mark.parametrize("encoding", ["klingon", "", "rot13", "hex", "unicode_escape", "idna", "punycode", "undefined"])
def test_an_unknown_encoding_is_an_error(encoding):
    with pytest.raises(ArgumentError, match=r"^encoding .*Python"):
        TextFormat(encoding)


def test_unpacking_ends_at_the_limit(tmp_path, monkeypatch):
    """A megabyte unpacks to a gigabyte: the limit is met while it is unpacked, not after."""
    monkeypatch.setattr(table_files, "LARGEST", 2**22)
    unpacked = 0
    whole = gzip.GzipFile.read

    def counted(file, size=-1):
        nonlocal unpacked
        result = whole(file, size)
        unpacked += len(result)
        return result

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    parts = [packer.compress(b"a,b\n"), *(packer.compress(bytes(2**20)) for _ in range(64)), packer.flush()]
    (tmp_path / "bomb.csv.gz").write_bytes(b"".join(parts))
    with pytest.raises(DomainError, match=r"compressed, .*4,194,304 bytes"):
        read_table(str(tmp_path / "bomb.csv.gz"))
    assert 2**22 < unpacked <= 2**23


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    for content in (b"a,b", b"a,b\n", b"a,b\r", b"a,b\r\n"):
        (tmp_path / "t.csv").write_bytes(content)
        assert read_table(str(tmp_path / "t.csv")).to_pydict() == {"a": [], "b": []}


def test_the_error_for_mixed_line_endings_has_a_remedy(tmp_path):
    for content in (b"a,b\r1,SECRET\r\n", b"a,b\n1,SECRET\r2,3\n", b'a,b\r1,"SECRET\n"\r'):
        (tmp_path / "t.csv").write_bytes(content)
        with pytest.raises(DomainError, match=r"line [12] ends differently\. `tr '\\r' '\\n'` replaces"):
            read_table(str(tmp_path / "t.csv"))


def test_times_of_96_bits_are_read_however_far(tmp_path):
    """As nanoseconds, which Arrow makes of them, the last day of 9999 is one of 1816."""
    path = tmp_path / "rows.parquet"
    times = pa.array([datetime.datetime(9999, 12, 31), datetime.datetime(1600, 1, 1), None], pa.timestamp("us"))
    pq.write_table(pa.table({"until": times}), path, use_deprecated_int96_timestamps=True)
    assert read_table(str(path))["until"].to_pylist() == times.to_pylist()


def test_a_name_that_two_columns_of_parquet_have_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1])] * 3, names=["a", "x", "x"]), path)
    for read in (read_table, columns_of):
        with pytest.raises(DomainError, match="more than once: x"):
            read(str(path))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_pipe_with_a_name_is_refused_and_does_not_hang(tmp_path, ending):
    os.mkfifo(tmp_path / f"rows.{ending}")
    for read in (read_table, columns_of):
        with pytest.raises(ArgumentError, match="named pipes"):
            read(str(tmp_path / f"rows.{ending}"))
