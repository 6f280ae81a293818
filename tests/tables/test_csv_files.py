import time

import pytest

from hedgerow.errors import ArgumentError, DomainError
from hedgerow.tables.csv_files import Header, check_delimiter, is_generated, lines_of_rows, read_csv, read_header


def write(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,x\n2,y\n", [("1", "x"), ("2", "y")]),
        ("a,b\r\n1,x\r\n2,y", [("1", "x"), ("2", "y")]),
        ("a;b\n1;x,z\n", [("1", "x,z")]),
        ("a\tb\n1\tx\n", [("1", "x")]),
        ("a|b\n1|x;y\n", [("1", "x;y")]),
        ("sep=;\na;b\n1;x,z\n", [("1", "x,z")]),
        ('\ufeff"SEP=|"\r\na|b\r\n1|x\r\n', [("1", "x")]),
        ("sep=:\na:b\n1:x\n", [("1", "x")]),
        ('a,b\n"1","x, ""quoted""\nover two lines"\n', [("1", 'x, "quoted"\nover two lines')]),
        ("\ufeffa,b\n1,é\n", [("1", "é")]),
        (" a , b \n NA ,?\n", [(" NA ", "?")]),
        ("a,b\n1,\n,\n", [("1", ""), ("", "")]),
        ("a,b\n007,1e3\n", [("007", "1e3")]),
    ],
)
def test_every_cell_is_read_as_its_text(tmp_path, text, rows):
    table = read_csv(write(tmp_path, text))
    assert table.column_names == ["a", "b"]
    assert list(zip(*(table[name].to_pylist() for name in "ab"), strict=True)) == rows


@pytest.mark.parametrize(
    ("name", "header", "names"),
    [
        ("t.csv", '"dose, in mg, a day";sex', ["dose, in mg, a day", "sex"]),
        ("t.csv", '"a;b;c",d', ["a;b;c", "d"]),
        ("t.tsv", "name, first\tname, last, if known", ["name, first", "name, last, if known"]),
        ("T.TSV", "a,b", ["a", "b"]),
    ],
)
def test_the_delimiter_is_the_most_frequent_one_in_the_header(tmp_path, name, header, names):
    path = tmp_path / name
    path.write_text(f"{header}\n")
    assert list(read_header(path).names) == names


def test_a_column_alone_is_read(tmp_path):
    assert read_csv(write(tmp_path, "a\n1\n2\n"))["a"].to_pylist() == ["1", "2"]


def test_the_header_is_read_without_the_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"age,sex\n\xff\xfe\x00")
    assert read_header(path).names == ("age", "sex")


def test_the_error_of_a_bad_line_gives_its_number_and_not_its_content(tmp_path):
    with pytest.raises(DomainError, match="line 3 does not have 2 fields") as error:
        read_csv(write(tmp_path, "a,b\n1,2\nSECRET,2,3\n"))
    assert "SECRET" not in repr((error.value, error.value.__cause__, error.value.__context__))


def test_the_error_of_a_file_that_is_not_text_quotes_nothing(tmp_path):
    with pytest.raises(DomainError, match="UTF-8") as error:
        read_csv(write(tmp_path, "a,b\nSECRÉT,2\n", "latin-1"))
    assert error.value.__context__ is None


def test_rows_begin_on_the_lines_that_an_editor_counts(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbfa;b\r\n1;2\r\n\r\n"x\ny";3\r\n4;"\r\n\r\n"\r\n5;6')
    assert read_csv(path).num_rows == 4
    header = read_header(path)
    assert lines_of_rows(path, [0, 1, 2, 3, 9], header) == {0: 2, 1: 4, 2: 6, 3: 9}
    assert lines_of_rows(path, [2], header) == {2: 6}
    assert lines_of_rows(path, [], header) == {}


def test_after_a_field_that_is_too_long_for_the_parser_no_lines_are_known(tmp_path):
    (tmp_path / "a.csv").write_text("a\n1\n" + "x" * 300_000 + "\n1\n")
    assert lines_of_rows(tmp_path / "a.csv", [0, 2], read_header(tmp_path / "a.csv")) == {0: 2}


def test_a_header_is_read_in_linear_time(tmp_path):
    """Each name was counted among all names: 100,000 of them took minutes."""
    names = [f"c{i}" for i in range(100_000)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n")
    before = time.process_time()
    assert list(read_header(tmp_path / "a.csv").names) == names
    assert time.process_time() - before < 5


def test_a_blank_or_repeated_name_is_replaced_by_its_position(tmp_path):
    table = read_csv(write(tmp_path, '"",age,,age,ill,ill \n1,2,3,4,5,6\n'))
    names = ["(column 1)", "age (column 2)", "(column 3)", "age (column 4)", "ill (column 5)", "ill (column 6)"]
    assert table.column_names == names
    assert all(map(is_generated, names))
    assert not any(map(is_generated, ["age", "age (years)", "column 1", "(column 0)"]))
    assert table["age (column 4)"].to_pylist() == ["4"]


def test_a_header_of_blank_names_is_refused(tmp_path):
    with pytest.raises(DomainError, match="its first line is empty"):
        read_header(write(tmp_path, ",,\n"))


def test_names_of_positions_that_are_there_already_are_refused(tmp_path):
    with pytest.raises(DomainError, match=r"occur more than once: .\(column 2\)"):
        read_header(write(tmp_path, "(column 2),\n"))


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("a;b,c", '"," and ";" are equally frequent'),
        ("a|b\tc", r'"\t" and "|" are equally frequent'),
        ("a:b", "none of the delimiters"),
        ("a b c", "none of the delimiters"),
        ("a^b", "none of the delimiters"),
        ('"a" "b"', "quotes in the header do not match"),
        ("sep=.\na.b", "the first line declares the delimiter"),
        ('"sep=;\na;b', "quotes in the header do not match"),
    ],
)
def test_an_ambiguous_delimiter_is_to_be_declared(tmp_path, header, problem):
    with pytest.raises(DomainError) as error:
        read_header(write(tmp_path, f"{header}\n"))
    assert problem in str(error.value)
    assert "declare" in str(error.value).lower()


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", ":", " ", "^", "~", "#"])
def test_a_declared_delimiter_is_used_whatever_else_the_header_has(tmp_path, mark):
    others = ",;|\t".replace(mark, "")
    path = write(tmp_path, f"a{others}{mark}b\n1{mark}x\n")
    header = read_header(path, mark)
    assert (len(header.names), header.delimiter) == (2, mark)
    assert read_csv(path, mark)["b"].to_pylist() == ["x"]


def test_a_declared_delimiter_has_to_agree_with_the_first_line(tmp_path):
    path = write(tmp_path, "sep=;\na;b\n1;2\n3;4;5\n")
    assert read_header(path, ";") == Header(("a", "b"), ";", 2, True)
    with pytest.raises(DomainError, match="remove the line, or declare ';'"):
        read_header(path, ",")
    with pytest.raises(DomainError, match="line 4 does not have"):
        read_csv(path)
    path.write_text("sep=;\na;b\n1;2\n")
    assert lines_of_rows(path, [0], read_header(path)) == {0: 3}
    path.write_text("sep=;\na;b")
    assert read_csv(path).num_rows == 0


def test_no_row_is_taken_for_the_header_below_a_declared_delimiter(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"sep=;\ra;b\n40;SECRET\n")
    assert read_header(path) == Header(("a", "b"), ";", 2, True)
    with pytest.raises(DomainError, match="line 1 ends differently"):
        read_csv(path)


@pytest.mark.parametrize("text", ["sep=;\r\na;b\n1;2\n", "sep=;\na;b\r\n1;2\r\n"])
def test_the_line_of_a_declared_delimiter_ends_as_other_lines(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.raises(DomainError, match="line 2 ends differently"):
        read_csv(path)


@pytest.mark.parametrize("mark", ["", ",,", "a", "0", '"', ".", "-", "\n", "é", "\x01"])
def test_characters_of_cells_and_line_breaks_are_not_delimiters(mark):
    with pytest.raises(ArgumentError, match="delimiter must be a single character"):
        check_delimiter(mark)
