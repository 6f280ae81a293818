"""Lines above and below a table are proposed from numbers of fields, and left out only where that is declared."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import ArgumentError, DomainError
from hedgerow.tables.columns import Column
from hedgerow.tables.csv_files import DELIMITERS, lines_of_rows, read_csv, read_header
from hedgerow.tables.layout import footer_rows, header_line, line_with, without_footer
from hedgerow.tables.table_files import TextFormat, read_table, source_of

TABLE = "age,sex,dose\n40,F,1\n50,M,2\n"


@pytest.mark.parametrize(
    ("above", "n_lines"),
    [
        ("", 0),
        ("Visits\n", 1),
        ("Visits, 2024\n\n", 2),
        ("Visits,,\n,,\n", 2),
        ("Visits of the clinic; and of its wards\n,2024-05-01,\n\n", 3),
        ('"A ""title"", with a comma"\n', 1),
    ],
)
def test_the_line_that_looks_like_the_header_is_found(above, n_lines):
    for delimiter in DELIMITERS:
        text = (above + TABLE).replace(",", delimiter) if delimiter != ";" else above + TABLE.replace(",", ";")
        assert header_line(text.encode(), DELIMITERS) == n_lines


@pytest.mark.parametrize("text", ["", "a", "a\nb\n", "1,2\n3,4\n5,6\n", "a b\nc d\n", "x\n1,2\n3,4\n"])
def test_text_that_is_not_a_table_has_no_header(text):
    assert header_line(text.encode(), DELIMITERS) == 0


@pytest.mark.parametrize("above", ["Visits of 2024\n\n", "Visits,,\n,,\n", "Visits\n"])
def test_a_title_is_refused_with_the_option_and_left_out_with_it(tmp_path, above):
    path = tmp_path / "t.csv"
    path.write_text(above + TABLE)
    n_lines = above.count("\n")
    with pytest.raises(
        DomainError, match=f"Line {n_lines + 1} looks like the header: .* --skip-rows {n_lines} "
    ) as error:
        read_csv(path)
    assert not any(word in str(error.value) for word in ("Visits", "age", "40"))
    assert read_csv(path, skip_rows=n_lines).to_pydict() == read_csv_of(tmp_path, TABLE).to_pydict()


def read_csv_of(folder, text):
    (folder / "plain.csv").write_text(text)
    return read_csv(folder / "plain.csv")


def test_a_header_with_few_names_is_read_if_declared_or_unique(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,,\nx,y,z\nu,v,w\n")
    with pytest.raises(DomainError, match=r"names 1 of 3 columns.* --skip-rows 0"):
        read_header(path)
    assert read_header(path, skip_rows=0).names == ("a", "(column 2)", "(column 3)")
    path.write_text("a,,\n1,2,3\n4,5,6\n")
    assert read_header(path).names == ("a", "(column 2)", "(column 3)")


@pytest.mark.parametrize(
    ("below", "n_lines"),
    [("Total\n", 1), ("\n\nTotal,9\n", 1), ("Total 9\nSource: the clinic\n\n", 2), ("9,9,9,9\n", 1)],
)
def test_lines_below_are_refused_with_the_option_and_left_out_with_it(tmp_path, below, n_lines):
    path = tmp_path / "t.csv"
    path.write_text(TABLE + below)
    with pytest.raises(DomainError, match=f"different number of fields; .* --skip-footer {n_lines} ") as error:
        read_csv(path)
    assert "Total" not in str(error.value)
    table = read_table(str(path), TextFormat(skip_footer=n_lines))
    assert table.to_pydict() == read_csv_of(tmp_path, TABLE).to_pydict()


def test_a_wrong_line_among_the_rows_proposes_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE + "60,F\n" + "70,F,1\n")
    with pytest.raises(DomainError, match=r"line 4 .*\d fields"):
        read_csv(path)


def test_nothing_is_left_out_unless_it_is_declared(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE + "Total,,3\n,,\n")
    assert read_csv(path).num_rows == 4
    assert read_table(str(path), TextFormat(skip_footer=1)).num_rows == 3


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@given(st.lists(st.sampled_from(["", "a", "b,c"]), max_size=6), st.integers(0, 4))
def test_the_footer_is_the_last_lines_that_are_not_empty(ending, lines, n_lines):
    kept = list(lines)
    for _ in range(n_lines):
        while kept and not kept[-1]:
            kept.pop()
        kept = kept[:-1]
    result = without_footer("".join(line + ending for line in lines).encode(), n_lines).decode()
    assert result.split(ending)[:-1] == kept


def test_last_rows_like_totals_notes_or_blanks_are_counted():
    def counted(*rows):
        table = pa.table({name: [row[i] for row in rows] for i, name in enumerate("abc")})
        return footer_rows([Column.from_arrow(table[name], name) for name in table.column_names])

    person = ("40", "F", "1")
    assert counted(person, person) == 0
    assert counted(person, ("Total", "", "3")) == 1
    assert counted(person, ("", "", ""), ("grand total:", "9", "3"), ("", "", "")) == 3
    assert counted(person, ("Summe", "9", "3"), ("Source: us", "", "")) == 2
    assert counted(person, ("Total", "", "3"), person) == 0
    assert counted(person, ("totally", "F", "3")) == 0
    assert counted(("Total", "", "3"), ("Total", "", "3")) == 0  # no table is left


def test_lines_of_rows_count_the_lines_above_the_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('\ufeffA "title\n\n' + TABLE + '\n60,"F\n",3\n70,M,4\n')
    source = source_of(str(path), TextFormat(skip_rows=2))
    assert lines_of_rows(source, [0, 1, 2, 3], read_header(source, skip_rows=2)) == {0: 4, 1: 5, 2: 7, 3: 9}


@pytest.mark.parametrize("name", ["skip_rows", "skip_footer"])
@pytest.mark.parametrize("value", [-1, True, 1.0, "1", 10**5])
def test_only_numbers_of_lines_are_taken(name, value):
    with pytest.raises(ArgumentError, match=f"{name} must be a whole number from 0 to 10,000"):
        TextFormat(**{name: value})


def test_the_first_line_with_a_name_is_found():
    head = ("Visits,age of all\n" + TABLE).encode()
    assert [line_with(name, head, DELIMITERS) for name in ("dose", "Visits", "M", "ward")] == [1, 0, 3, 0]


def test_more_lines_than_the_file_has_are_an_error(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    with pytest.raises(DomainError, match="no header below 4 lines"):
        read_csv(path, skip_rows=4)
    with pytest.raises(DomainError, match="first line"):
        read_csv(path, skip_rows=3)
    with pytest.raises(DomainError, match="first line"):
        read_table(str(path), TextFormat(skip_footer=3))
