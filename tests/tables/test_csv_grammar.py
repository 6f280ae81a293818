"""The grammar of CSV files against a reader of one character at a time, and what is said of files that leave it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import DomainError
from hedgerow.tables import csv_grammar
from hedgerow.tables.csv_grammar import InQuotes, check_grammar
from tests.tables.csv_text import files

BLANKS = "".join(map(chr, range(33)))


def rows_of(text, fields, delimiter=","):
    """Return the rows of a CSV file, its header included, by RFC 4180; None where it leaves the grammar."""
    rows, row, endings, i = [], [], set(), 0
    while i < len(text):
        start, (cell, i) = i, _cell(text, i, delimiter)
        if cell is None:
            return None
        row.append(cell)
        if text[i : i + 1] == delimiter:
            i += 1
            if i < len(text):
                continue
            row.append("")  # the file ends in a delimiter
        ending = next((ending for ending in ("\r\n", "\n") if text.startswith(ending, i)), "")
        if not ending and i < len(text):
            return None
        endings |= {ending} - {""}
        i += len(ending)
        if row != [""] or text[start : start + 1] == '"' or fields == 1:
            rows.append(row)
            if len(row) != fields or (fields == 1 and not row[0].strip(BLANKS) and text[start] != '"'):
                return None
        row = []
    return None if len(endings) > 1 or "\0" in text else rows


def _cell(text, i, delimiter):
    """Return the cell that begins at a place, None if it does not end as it should, and where it ends."""
    if text[i] != '"':
        end = min((text.find(mark, i) for mark in (delimiter, "\r", "\n") if mark in text[i:]), default=len(text))
        return (None if '"' in text[i:end] else text[i:end]), end
    cell, i = "", i + 1
    while i < len(text):
        if text.startswith('""', i):
            cell, i = cell + '"', i + 2
        elif text[i] == '"':
            follows = text[i + 1 : i + 2]
            return (cell if follows in ("", delimiter, "\r", "\n") else None), i + 1
        else:
            cell, i = cell + text[i], i + 1
    return None, i


def is_refused(content, fields, block=csv_grammar._BLOCK):
    """Return whether a file is refused, or what its cells in quotes hold; read in blocks of so many bytes."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "t.csv"
        path.write_bytes(content)
        patch.setattr(csv_grammar, "_BLOCK", block)
        try:
            return check_grammar(path, fields, ",", shown="t.csv")
        except DomainError:
            return True


@given(files(), st.sampled_from([1, 2, 3, 5, 1000]))
@settings(max_examples=4 * settings.default.max_examples)
def test_a_file_is_an_error_exactly_if_it_violates_the_grammar(file, block):
    text, fields = file
    text = text.removeprefix("\ufeff")
    rows = rows_of(text, fields)
    result = is_refused(text.encode(), fields, block)
    cells = [cell for row in rows or [] for cell in row]
    returns = any("\r" in cell for cell in cells)
    assert result == (True if rows is None else InQuotes(returns or any("\n" in cell for cell in cells), returns))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'a,b\n1,2\n1,x"SECRET\n', "line 3 has a quote inside a field"),
        (b'a,b\n"SECRET"x,2\n', "line 2 has a quote inside a field"),
        (b'a,b\n"SECRET" ,2\n', "has a quote inside a field"),
        (b'a,b\n1,"SECRET\n', "not closed at the end of the file"),
        (b'"a","b"\n"SECRET",1,2\n', r"line 2 does not have 2 fields .* row\.names = FALSE\.$"),
        (b"a,b\n1,2\nSECRET,1,2\n", r"line 3 does not have 2 fields like the header\.$"),
        (b"a,b\nSECRET,1,2,\n", r"line 2 does not have 2 fields like the header\.$"),
        (b"a,b\n1,2\nSECRET\n", "line 3 does not have 2 fields"),
        (b'a,b\n"1\n1",2\n1,SECRET,\n', "line 4 does not have 2 fields"),
        (b"a,b\n \n", "line 2 does not have 2 fields"),
        (b"a\nSECRET\n\n", "line 3 does not have 1 field"),
        (
            b"a,b\r1,SECRET\r",
            r"all lines must end in a line feed, or .* line 1 ends differently\. `tr '\\r' '\\n'` replaces",
        ),
        (b"a,b\n1,SECRET\r\n", "line 2 ends differently"),
        (b"a,b\r\n1,SECRET\n", "line 2 ends differently"),
        (b"a,b\n1,SECRET\r", "line 2 ends differently"),
        (b"a,b\nSECR\xc9T,2\n", "line 2 is not text in UTF-8; declare the encoding with --encoding"),
        (b"a,b\n1,SECRET\xc3", "line 2 is not text in UTF-8"),
        (b"a,b\n\n1,SECRET\xc3\n\0,\n", "line 3 is not text in UTF-8"),
        (b"a,b\n\0,SECRET\xc3\n", "line 2 is not text in UTF-8"),
    ],
)
def test_errors_name_the_line_and_quote_nothing(tmp_path, content, said):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(DomainError, match=rf"^t.csv: {said}|^t.csv: .*{said}") as error:
        check_grammar(tmp_path / "t.csv", content.partition(b"\n")[0].count(b",") + 1, ",", shown="t.csv")
    assert "SECR" not in repr((error.value, error.value.__cause__, error.value.__context__))


def test_a_byte_order_mark_is_not_part_of_the_first_cell():
    assert is_refused(b'\xef\xbb\xbf"a",b\n1,2\n', 2) == InQuotes(breaks=False, returns=False)


@pytest.mark.parametrize("size", [csv_grammar._BLOCK - 8, csv_grammar._BLOCK - 7, csv_grammar._BLOCK - 6])
def test_errors_name_the_line_of_a_letter_cut_by_a_block(tmp_path, size):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\n" + size * b"\n" + b"\xc3\n")
    with pytest.raises(DomainError, match=f"line {size + 3} is not text"):
        check_grammar(tmp_path / "t.csv", 2, ",", shown="t.csv")


@pytest.mark.parametrize("size", [csv_grammar._BLOCK - 1, csv_grammar._BLOCK, 2 * csv_grammar._BLOCK + 1])
def test_cells_may_be_longer_than_a_block(size):
    assert is_refused(b'a,b\n"' + size * b"\n" + b'",1\n', 2) == InQuotes(breaks=True, returns=False)
    assert is_refused(b'a,b\n"' + size * b"x" + b'"y,1\n', 2) is True
