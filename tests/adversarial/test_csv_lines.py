"""Claim: one line of a CSV file changes one row of it, or the file is refused; and every reader reads the same rows.

Sensitivity is counted in rows. Whoever adds one line to a file must not change more of them: not by a quote that
swallows the lines below it, not by a field more that one reader drops, not by a line break that is a row to another.
"""

from collections import Counter

import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibis import _

from hedgerow.engines.sources import engine_of, open_table
from hedgerow.errors import DomainError, EngineError
from hedgerow.tables.csv_files import read_csv
from tests.engines.servers import SPARK
from tests.tables.csv_text import CELLS, files

LINES = [
    "0,u,1",
    '0,"x,1',
    "0,\"5' 10,1",
    '"',
    '""',
    "",
    '0,"x",1',
    'x",1',
    '0,"",1',
    '0,",",1',
    '",",,',
    ",,",
    '"",,"',
]


def rows_in_memory(path):
    table = read_csv(path)
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def accepted(path, content):
    path.write_bytes(content)
    try:
        return rows_in_memory(path)
    except DomainError:
        return None


@st.composite
def rows(draw):
    return ",".join(draw(st.lists(st.sampled_from(CELLS[:-2]), min_size=3, max_size=3)))


@given(
    st.lists(st.one_of(st.sampled_from(LINES), rows()), max_size=6),
    st.one_of(st.sampled_from(LINES), rows().filter(lambda row: "\n" not in row and "\r" not in row)),
    st.integers(0, 6),
    st.booleans(),
)
@settings(max_examples=4 * settings.default.max_examples)
@pytest.mark.claim("an unclosed quote absorbs no other line")
def test_one_line_changes_one_row_or_the_file_is_refused(tmp_path_factory, lines, line, place, replaced):
    path = tmp_path_factory.getbasetemp() / "t.csv"
    lines = "\n".join(["a,word,y", *lines]).split("\n")
    place = min(1 + place, len(lines))
    others = [*lines[:place], line, *lines[place + replaced :]]
    item, other = (accepted(path, "".join(f"{line}\n" for line in text).encode()) for text in (lines, others))
    if item is not None and other is not None:
        assert (item - other).total() <= 1
        assert (other - item).total() <= 1


@pytest.mark.parametrize("bad", ['0,"x,1', "0,\"5' 10,1"])
@pytest.mark.parametrize("engine", ["memory", "duckdb", SPARK])
def test_a_quote_that_is_not_closed_swallows_no_rows(tmp_path, request, engine, bad):
    if engine == "spark":
        request.getfixturevalue("spark")
    ordinary = ["1,u,1"] * 1000
    for lines in ([bad, *ordinary, '0,"x",1'], [*ordinary, '0,x",1'], [*ordinary, bad]):
        (tmp_path / "t.csv").write_text("a,word,y\n" + "\n".join(lines) + "\n")
        with pytest.raises(DomainError, match=r"field is not closed|has a quote inside a field"):
            rows_of(tmp_path / "t.csv", engine)


def rows_of(path, engine):
    """Return the rows of a file as an engine reads them, and as it reads its last column alone."""
    if engine == "memory":
        return rows_in_memory(path)
    with open_table(str(path), engine=engine) as table:
        asked = [table, table[[table.columns[-1]]], *([] if engine == "spark" else [table.aggregate(n=_.count())])]
        result, alone, *counted = engine_of(table).answered(lambda: [item.to_pyarrow() for item in asked])
    assert len(alone) == len(result)
    assert all(item["n"][0].as_py() == len(result) for item in counted)
    cells = [[cell or "" for cell in column.to_pylist()] for column in result.columns]
    assert sorted(cells[-1]) == sorted(cell or "" for cell in alone.column(0).to_pylist())
    return Counter(zip(*cells, strict=True))


HOSTILE = {
    "quoted line break": b'a,b\n"1\n1,2\n",3\n4,5\n',
    "quoted line break in a file of Windows": b'a,b\r\n"1\n1",3\r\n4,5\r\n',
    "quoted carriage return": b'a,b\n"1\r2",3\n',
    "quoted carriage return and line feed": b'a,b\r\n"x\r\ny","2\r\n"\r\n',
    "line feeds alone, quoted": b'a,b\n"\n\n",1\n3,4\n',
    "carriage returns alone": b"a,b\r1,2\r3,4\r",
    "a carriage return in a line": b"a,b\n1,2\r3,4\n",
    "a carriage return at the end": b"a,b\n1,2\r",
    "both line ends": b"a,b\n1,2\r\n3,4\n",
    "a field more": b"a,b\n1,2\n3,4,5\n",
    "a field more in the last line": b"a,b\n1,2\n3,4,5",
    "a field less": b"a,b\n1\n3,4\n",
    "a delimiter at the end": b"a,b\n1,2,\n",
    "a delimiter at the end of every line": b"a,b,\n1,2,\n",
    "Latin-1": b"a,b\n\xe9,1\n",
    "half a character at the end": b"a,b\n1,\xc3",
    "UTF-16": "a,b\n1,2\n".encode("utf-16"),
    "header only": b"a,b",
    "header and line end only": b"a,b\n",
    "empty lines": b"a,b\n\n1,2\n\n\n3,4\n\n",
    "empty lines of Windows": b"a,b\r\n\r\n1,2\r\n\r\n",
    "a line of white space": b"a,b\n \n1,2\n",
    "one column, empty line": b"a\n1\n\n2\n",
    "one column, white space": b"a\n1\n \n2\n",
    "one column, quoted emptiness": b'a\n1\n""\n2\n',
    "one column, quoted line break": b'a\n"\n"\n2\n',
    "byte order mark": b"\xef\xbb\xbfa,b\n1,2\n",
    "byte order mark, names in quotes": b'\xef\xbb\xbf"a","b"\n1,2\n3,4\n',
    "byte order mark, a delimiter in the first name": b'\xef\xbb\xbf"a,",b\n1,2\n',
    "byte order mark below": b"a,b\n\xef\xbb\xbf1,2\n",
    "a delimiter in a name": b'"a,",b\n1,2\n',
    "a name in two lines": b'"a\n",b\n1,2\n',
    "NUL": b"a,b\n\0,2\n",
    "NUL before a line": b"a,b\n1,2\n\0001,2\n",
    "signs of comments": b"a,b\n#1,2\n//,3\n--,4\n",
    "backslashes": b'a,b\n\\,"\\"\n\\n,\\"\n'.replace(b'\\"\n', b"\\\n"),
    "a backslash before a quote": b'a,b\n"\\",1\n',
    "white space round cells": b"a,b\n 1 ,\t2\x0c\n",
    "white space round quotes": b'a,b\n "1" ,2\n',
    "quotes in a cell": b'a,b\n1"2,3\n',
    "text after quotes": b'a,b\n"1"x,2\n',
    "quotes of quotes": b'a,b\n"""",""""""\n',
    "words for nothing": b"a,b\nNULL,\\N\nNA,nan\n",
    "no line end": b'a,b\n1,"2"',
    "ends of lines of Unicode": "a,b\n1\u2028,\x852\x0b\n".encode(),
    "names that differ in case": b"a,A\n1,2\n",
    "semicolons": b'a;b\n1,2;"x;y"\n',
    "a long line": b"a,b\n" + b"x" * 3_000_000 + b",1\n",
    "quoted line breaks over blocks": b"a,b\n" + b'"%s",1\n' % (b"1,2\n" * 400) * 400,
}


@pytest.mark.parametrize("engine", ["duckdb", SPARK])
@pytest.mark.claim("an unclosed quote absorbs no other line")
def test_hostile_files_are_the_same_rows_in_every_engine_or_refused(tmp_path, request, engine):
    if engine == "spark":
        request.getfixturevalue("spark")
    read = []
    for name, content in HOSTILE.items():
        path = tmp_path / f"{name}.csv"
        expected = accepted(path, content)
        try:
            result = rows_of(path, engine)
        except (DomainError, EngineError):
            continue
        assert result == expected, name
        read.append(name)
    assert {"quoted line break", "header only", "empty lines", "one column, quoted emptiness"} <= set(read)
    assert {"a field more", "Latin-1", "carriage returns alone", "NUL", "quotes in a cell"}.isdisjoint(read)


@given(files())
def test_duckdb_reads_what_memory_reads(tmp_path_factory, file):
    text, fields = file
    path = tmp_path_factory.getbasetemp() / "duckdb.csv"
    header = ",".join("xyz"[:fields]) + ("\r\n" if "\r\n" in text else "\n")
    expected = accepted(path, (header + text).encode())
    try:
        result = rows_of(path, "duckdb")
    except (DomainError, EngineError):
        return
    assert result == expected


def test_large_files_with_quoted_line_breaks_are_the_same_rows(tmp_path):
    """DuckDB reads a file from several places at once, and has to tell where a row begins."""
    rows = [[str(i), ("1,2\n" * (i % 50)) if i % 3 else "x", str(i % 2)] for i in range(60_000)]
    table = pyarrow.table(dict(zip("awy", map(list, zip(*rows, strict=True)), strict=True)))
    pyarrow.csv.write_csv(table, tmp_path / "t.csv", pyarrow.csv.WriteOptions(quoting_style="all_valid"))
    assert rows_of(tmp_path / "t.csv", "duckdb") == Counter(map(tuple, rows))
