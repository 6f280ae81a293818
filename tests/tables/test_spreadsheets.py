"""Excel workbooks: cells as they are stored, sheets by name, and files that are refused within bounds."""

import datetime
import zipfile

import pytest

from hedgerow import Date, Integer, Label, Schema
from hedgerow.errors import ArgumentError, DomainError, MissingPackageError
from hedgerow.schema.derived import YearsSince
from hedgerow.schema.fits import fit_of
from hedgerow.tables import spreadsheets
from hedgerow.tables.frames import Table
from hedgerow.tables.table_files import TextFormat, columns_of, read_table

openpyxl = pytest.importorskip("openpyxl")
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, to_excel  # noqa: E402

HEAD = ["id", "seen", "dose", "ok"]


def saved(path, *rows, name="Visits", change=None):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = name
    for row in rows:
        sheet.append(row)
    if change:
        change(book, sheet)
    book.save(path)
    return str(path)


def packed(path, old, change):
    """Write a workbook again, with another text of its parts."""
    with zipfile.ZipFile(old) as parts:
        result = {part: parts.read(part) for part in parts.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as parts:
        for part, content in result.items():
            parts.writestr(part, change(part, content))
    return str(path)


def test_cells_are_read_as_they_are_stored(tmp_path):
    noon = datetime.datetime(2020, 2, 1, 12, 30)
    path = saved(
        tmp_path / "t.xlsx",
        ["patient\nid", "seen", "dose", "ok", None],
        ["007", datetime.datetime(2020, 1, 31), 1 / 3, True],
        [None] * 4,
        ["a\nb", noon, 3.0, False],
        [12, "31.12.2020", "#N/A", None],
    )
    assert columns_of(path) == ["patient id", "seen", "dose", "ok"]
    assert read_table(path).to_pylist() == [
        {"patient id": "007", "seen": "2020-01-31", "dose": "0.3333333333333333", "ok": "true"},
        {"patient id": "a b", "seen": "2020-02-01T12:30:00", "dose": "3", "ok": "false"},
        {"patient id": "12", "seen": "31.12.2020", "dose": "#N/A", "ok": ""},
    ]


def test_a_sheet_is_named_after_two_colons(tmp_path):
    path = saved(tmp_path / "t.xlsx", ["a"], [1], change=lambda book, _: book.create_sheet("Two (x)").append(["b"]))
    assert columns_of(path) == columns_of(f"{path}::Visits") == ["a"]
    assert columns_of(f"{path}::Two (x)") == ["b"]
    with pytest.raises(DomainError, match=r"'Other'; .*\['Visits', 'Two \(x\)'\]"):
        columns_of(f"{path}::Other")


def test_merged_cells_are_blank_but_the_first(tmp_path):
    path = saved(tmp_path / "t.xlsx", ["a", "b"], [1, 2], [3, 4], change=lambda _, sheet: sheet.merge_cells("A2:A3"))
    assert read_table(path)["a"].to_pylist() == ["1", ""]


def test_formulas_are_not_computed(tmp_path):
    path = saved(tmp_path / "t.xlsx", ["a", "b"], [1, "=A2+1"])
    with pytest.raises(DomainError, match=r"row 2 .*formula"):
        read_table(path)
    value = packed(tmp_path / "u.xlsx", path, lambda _, content: content.replace(b"</f><v />", b"</f><v>2</v>"))
    value = packed(tmp_path / "v.xlsx", value, lambda _, content: content.replace(b"</f><v></v>", b"</f><v>2</v>"))
    assert read_table(value)["b"].to_pylist() == ["2"]
    odd = packed(tmp_path / "w.xlsx", path, lambda _, content: content.replace(b"<f>", b"<f\n>"))
    with pytest.raises(DomainError, match="row 2 has a formula without a stored value"):
        read_table(odd)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "its first line is empty"),
        ([[None], ["a"]], "its first line is empty|is longer than row"),
        ([["a"], [1, "cell"]], "row 2 is longer than row 1"),
    ],
)
def test_sheets_without_a_header_of_their_own_are_refused(tmp_path, rows, problem):
    with pytest.raises(DomainError, match=problem) as caught:
        columns_of(saved(tmp_path / "t.xlsx", *rows))
    assert "cell" not in str(caught.value)


def test_titles_and_totals_are_left_out_as_far_as_that_is_declared(tmp_path):
    rows = [
        ["Visits"],
        [],
        ["id", "dose"],
        [1, 2],
        [],
        [3, 4],
        [None, None],
        ["Total", 6],
        [],
        ["Note"],
    ]
    path = saved(tmp_path / "t.xlsx", *rows)
    with pytest.raises(DomainError, match=r"row 1, .* Row 3 .* --skip-rows 2 ") as caught:
        read_table(path)
    assert not any(word in str(caught.value) for word in ("Visits", "dose"))
    assert read_table(path, TextFormat(skip_rows=2))["id"].to_pylist() == ["1", "3", "Total", "Note"]
    for n_rows, ids in ((1, ["1", "3", "Total"]), (2, ["1", "3"]), (3, ["1"])):
        table = read_table(path, TextFormat(skip_rows=2, skip_footer=n_rows))
        assert table["id"].to_pylist() == ids
        assert table.column_names == ["id", "dose"]


def test_a_formula_without_a_value_in_a_skipped_row_is_not_an_error(tmp_path):
    path = saved(tmp_path / "t.xlsx", ["=1+1"], ["id", "dose"], [1, 2], ["Total", "=SUM(B3:B3)"])
    assert read_table(path, TextFormat(skip_rows=1, skip_footer=1)).to_pylist() == [{"id": "1", "dose": "2"}]


def test_columns_without_a_name_of_their_own_are_called_by_their_position(tmp_path):
    assert columns_of(saved(tmp_path / "t.xlsx", ["a", None, "b", "a"], [1, 2, 3, 4])) == [
        "a (column 1)",
        "(column 2)",
        "b",
        "a (column 4)",
    ]


@pytest.mark.parametrize("kind", ["encrypted", "text", "cut", "zip", "entities", "damaged"])
def test_bad_files_are_refused_without_their_text(tmp_path, kind):
    good = saved(tmp_path / "good.xlsx", HEAD, ["secret", 1, 2, 3])
    path = tmp_path / "t.xlsx"
    content = (tmp_path / "good.xlsx").read_bytes()
    if kind == "encrypted":
        path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + b"secret")
    elif kind == "text":
        path.write_text("secret,1")
    elif kind == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as parts:
            parts.writestr("secret.txt", "secret")
    elif kind == "entities":
        packed(path, good, lambda _, text: text.replace(b"<workbook", b'<!DOCTYPE x [<!ENTITY a "secret">]><workbook'))
    else:
        packed(path, good, lambda part, text: b"<secret" if "sheet1" in part else text)
    with pytest.raises(DomainError, match=r"t\.xlsx: (not an Excel workbook|the (XML of the )?workbook has)") as caught:
        read_table(str(path))
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_bombs_are_refused_before_they_are_unpacked(tmp_path, monkeypatch):
    path = saved(tmp_path / "t.xlsx", ["a"], ["x" * 30_000])
    monkeypatch.setattr(spreadsheets, "MOST_BYTES", 20_000)
    with pytest.raises(DomainError, match="at most 20,000 bytes unpacked"):
        read_table(path)
    monkeypatch.undo()
    far = packed(
        tmp_path / "far.xlsx",
        saved(tmp_path / "s.xlsx", ["a"], [1]),
        lambda _, text: text.replace(b'<row r="2"', b'<row r="99999999999"').replace(b'r="A2"', b'r="A99999999999"'),
    )
    with pytest.raises(DomainError, match=r"exceeds Excel's limits|or a damaged one"):
        read_table(far)
    monkeypatch.setattr(spreadsheets, "MOST_CELLS", 1)
    with pytest.raises(DomainError, match="exceeds Excel's limits"):
        read_table(path)


def test_a_workbook_has_no_encoding_and_no_decimal_mark(tmp_path):
    with pytest.raises(ArgumentError, match="no encoding, decimal mark"):
        columns_of(saved(tmp_path / "t.xlsx", ["a"]), TextFormat(decimal=","))


def test_without_openpyxl_the_extra_is_named(tmp_path, monkeypatch):
    path = saved(tmp_path / "t.xlsx", ["a"])
    monkeypatch.setattr(spreadsheets, "find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[excel\]'"):
        columns_of(path)


DAYS = [datetime.datetime(1950, 5, 3), datetime.datetime(1976, 11, 19), datetime.datetime(2001, 4, 14)]
EPOCHS = {"excel": WINDOWS_EPOCH, "excel-1904": MAC_EPOCH}


def saved_serials(path, system):
    """Save days as cells formatted as dates and as serial days, in one of the date systems."""

    def change(book, sheet):
        book.epoch = EPOCHS[system]
        for day in DAYS:
            sheet.append([day, to_excel(day, EPOCHS[system]) + 0.75, "x"])

    return saved(path, ["cell", "serial", "y"], change=change)


@pytest.mark.parametrize("derived", [False, True], ids=["date", "years since"])
@pytest.mark.parametrize("column", ["cell", "serial"])
@pytest.mark.parametrize("declared", EPOCHS)
@pytest.mark.parametrize("system", EPOCHS)
def test_serial_days_follow_the_date_system_of_the_workbook_or_are_refused(tmp_path, system, declared, column, derived):
    table = Table.of(read_table(saved_serials(tmp_path / "t.xlsx", system)))
    if derived:
        since = YearsSince(column, until="2026-01-01", format=declared)
        attribute, right = Integer(0, 120, (49, 50, 75), derived=since), [2, 0, 0]
    else:
        attribute, right = Date("1940-01-01", "2005-12-31", ("1976-11-18",), format=declared), [0, 1, 1]
    schema = Schema({column if not derived else "age": attribute}, Label("y", ("x", "z")))
    if column == "serial" and declared != system:
        with pytest.raises(DomainError, match=f"need `format: {system}`"):
            schema.encode(table)
    else:
        (bins,) = schema.encode(table).values()
        assert bins.tolist() == right


def test_a_check_reports_serial_days_of_the_other_date_system(tmp_path):
    table = Table.of(read_table(saved_serials(tmp_path / "t.xlsx", "excel-1904")))
    schema = Schema({"serial": Date("1940-01-01", "2005-12-31", format="excel")}, Label("y", ("x", "z")))
    fit = fit_of(table, schema)
    assert (fit.columns[0].unread, fit.dates) == (3, (("cell", ("",)), ("serial", ("excel-1904",))))
