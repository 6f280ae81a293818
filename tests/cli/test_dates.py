"""Dates as people write them, through commands: exports with semicolons and workbooks to a model and predictions."""

import datetime
import json

import pytest

import hedgerow as hr

SCHEMA = """\
label: {name: died, classes: ["no", "yes"]}
unit: {column: patient, max_rows: 2}
attributes:
  admitted: {kind: date, low: 2019-01-01, high: 2020-12-31, cuts: year%s}
  crp: {kind: real, low: 0, high: 100, cuts: [50]}
"""
DAYS = ["31.1.2019", "01.02.2020", "30.12.2020", "5.5.2019"]


@pytest.fixture
def export(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"P{i // 2};{DAYS[i % 4]};{i},5;{('no', 'yes')[i % 2]}" for i in range(80)]
    (tmp_path / "export.csv").write_text("\n".join(["patient;admitted;crp;died", *rows]))
    (tmp_path / "s.yaml").write_text(SCHEMA % ', format: "%d.%m.%Y"')
    return tmp_path


def test_schema_check_suggests_the_date_format_of_a_column(export, run):
    (export / "plain.yaml").write_text(SCHEMA % "")
    code, out, err = run("schema", "check", "plain.yaml", "export.csv", "--decimal", ",")
    assert code == 2
    assert 'admitted contains dates; add to its line: format: "%d.%m.%Y"' in out.splitlines()
    (export / "other.yaml").write_text(SCHEMA.replace("admitted", "x").replace("%s", ""))
    line = '"admitted": {kind: date, low: FILL IN, high: FILL IN, format: "%d.%m.%Y"}'
    assert f"admitted contains dates; to use it, write: {line}" in run("schema", "check", "other.yaml", "export.csv")[1]
    assert "--decimal" not in err
    assert not any(day in out + err for day in ("2019", "2020"))
    assert run("schema", "check", "s.yaml", "export.csv", "--decimal", ",")[0] == 0
    words = ("--schema", "s.yaml", "--epsilon", "1", "--decimal", ",", "-o", "m.json")
    assert run("fit", "export.csv", *words)[0] == 0
    assert run("predict", "m.json", "export.csv", "--decimal", ",")[0] == 0


def test_schema_check_proposes_dates_and_names_ambiguous_formats(export, run):
    (export / "t.csv").write_text("age,a,b,c,died\n1,1/2/2020,2020-01-31T12:30,2020-01-31,no\n2,3/4/2020,,x,yes\n")
    (export / "t.yaml").write_text('label: {name: died, classes: ["no", "yes"]}\nattributes: {age: {kind: boolean}}')
    told = json.loads(run("schema", "check", "t.yaml", "t.csv", "--json")[1])
    assert told["dates"] == {"a": ["%d/%m/%Y", "%m/%d/%Y"], "b": ["iso"]}
    out = run("schema", "check", "t.yaml", "t.csv")[1]
    assert (
        "a contains dates that can be read as %d/%m/%Y and as %m/%d/%Y; find out which is right; to use it, write:"
        in out
    )


def test_from_public_infers_the_date_format_or_asks_for_it(export, run):
    assert run("schema", "from-public", "export.csv", "--target", "died", "--decimal", ",", "-o", "p.yaml")[0] == 0
    assert hr.Schema.load(export / "p.yaml")["admitted"].format == "%d.%m.%Y"
    (export / "t.csv").write_text("a,died\n1/2/2020,no\n3/4/2020,yes\n")
    words = ("schema", "from-public", "t.csv", "--target", "died", "-o", "t.yaml")
    code, _, err = run(*words)
    assert code == 2
    assert "its dates can be read as %d/%m/%Y and as %m/%d/%Y" in err
    assert run(*words, "--date-format", "%m/%d/%Y")[0] == 0
    low = hr.Schema.load(export / "t.yaml")["a"].low
    assert str(low) == "2020-01-02"
    code, _, err = run(*words, "--force", "--date-format", "%m/%d/%y")
    assert code == 2
    assert "years with four digits" in err


def test_serial_days_are_no_format_for_every_column_of_public_rows(export, run):
    (export / "t.csv").write_text("age,died\n61,no\n75,yes\n")
    code, _, err = run("schema", "from-public", "t.csv", "--date-format", "excel-1904", "-o", "t.yaml")
    assert code == 2
    assert "`kind: date` with `format: excel-1904`" in err


def test_a_workbook_goes_wherever_a_csv_goes(export, run):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    head, *lines = (export / "export.csv").read_text().splitlines()
    book.active.append(head.split(";"))
    for line in lines:
        patient, day, crp, died = line.split(";")
        real = day if len(day) > 9 else datetime.datetime.strptime(day, "%d.%m.%Y")  # as exports mix text and dates
        book.active.append([patient, real, float(crp.replace(",", ".")), died])
    book.create_sheet("Empty")
    book.save("t.xlsx")
    (export / "s.yaml").write_text(SCHEMA % ', format: "%d.%m.%Y", missing: bin')
    assert run("schema", "new", "t.xlsx", "--target", "died", "-o", "n.yaml")[0] == 0
    assert run("schema", "check", "s.yaml", "t.xlsx")[0] == 0
    assert run("schema", "from-public", "t.xlsx::Sheet", "--target", "died", "-o", "p.yaml")[0] == 0
    assert run("fit", "t.xlsx", "--schema", "s.yaml", "--epsilon", "1", "-o", "m.json")[0] == 0
    assert run("predict", "m.json", "t.xlsx")[0] == 0
    assert run("report", "m.json", "--data", "t.xlsx", "-o", "r.html")[0] == 0
    code, _, err = run("fit", "t.xlsx::Empty", "--schema", "s.yaml", "--epsilon", "1", "-o", "e.json")
    assert code == 2
    assert "t.xlsx" in err
    code, _, err = run("fit", "t.xlsx", "--engine", "duckdb", "--schema", "s.yaml", "--epsilon", "1", "-o", "e.json")
    assert code == 2
    assert "not the address of a table" in err
