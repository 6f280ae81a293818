"""`hedgerow schema`."""

import json
import re

import pandas as pd
import pytest

import hedgerow as hr
from tests.cli.table import GOOD, SCHEMA


def test_a_new_schema_holds_the_header_and_no_value(folder, run):
    assert run("schema", "new", "data.csv", "--target", "ill", "-o", "new.yaml")[0] == 0
    text = (folder / "new.yaml").read_text()
    assert re.findall(r'^  "(\w+)":', text, re.M) == ["age", "sex", "dose"]
    code, _, err = run("schema", "show", "new.yaml")
    assert code == 2
    first, *faults = err.splitlines()
    assert first == "error: new.yaml: 4 faults:"
    assert re.match(r"  line \d+: attribute 'ill': key 'classes': still marked FILL IN; list the classes", faults[0])
    assert [re.findall(r"attribute '(\w+)': key 'kind'", fault) for fault in faults[1:]] == [["age"], ["sex"], ["dose"]]
    (folder / "new.yaml").write_text(text.replace("FILL IN", "[a, b]", 1))
    assert "attribute 'age': key 'kind'" in run("schema", "show", "new.yaml")[2]
    assert "column 'death'" in run("schema", "new", "data.csv", "--target", "death", "-o", "x.yaml")[2]
    assert "Did you mean 'ill'?" in run("schema", "new", "data.csv", "--target", "Ill", "-o", "x.yaml")[2]


@pytest.mark.usefixtures("folder")
def test_a_schema_is_shown_with_the_candidates_of_a_default_rule_list(run):
    out = run("schema", "show", "schema.yaml")[1]
    schema = hr.Schema.load("schema.yaml")
    assert str(schema) in out
    count = hr.schema.count_candidates(schema, hr.PrivateRuleListClassifier(1.0).max_literals)
    assert f"{count} candidate rules" in out
    assert json.loads(run("schema", "show", "schema.yaml", "--json")[1])["candidates"] == count


@pytest.mark.usefixtures("folder")
def test_a_schema_is_cut_from_public_rows(run):
    columns = {"n": range(100), "f": ["true", "false"] * 50, "c": ["x", "y"] * 50, "y": [0, 1] * 50}
    pd.DataFrame(columns).to_csv("pub.csv", index=False)
    assert run("schema", "from-public", "pub.csv", "--target", "y", "--bins", "2", "-o", "pub.yaml")[0] == 0
    schema = hr.Schema.load("pub.yaml")
    assert (schema["n"].kind, schema["f"].kind, schema["c"].kind) == ("integer", "boolean", "categorical")
    assert schema["n"].cuts == (49,)
    assert schema.label == hr.Label("y", (0, 1))


def test_cut_points_are_learned_under_a_charge(folder, run):
    (folder / "open.yaml").write_text(SCHEMA.replace(", cuts: [30, 60]", ""))
    run("budget", "new", "b.json", "--epsilon", "20")
    words = ("schema", "learn", "data.csv", "--schema", "open.yaml", "--bins", "2", "-o", "learned.yaml")
    assert "--epsilon is missing" in run(*words)[2]
    code, _, err = run(*words, "--epsilon", "20", "--budget", "b.json")
    assert (code, err.count("epsilon = 20 protects little")) == (0, 1)
    (cut,) = hr.Schema.load("learned.yaml")["age"].cuts
    assert 45 < cut < 65
    assert hr.Schema.load("open.yaml")["age"].has_default_cuts
    assert "0 left" in run("budget", "show", "b.json")[1]


@pytest.mark.parametrize(
    ("unit", "row", "problem"),
    [
        ("", "SECRET,f,0.5,no", "column 'age': some cells are text that is not a number"),
        ("", ",f,0.5,no", "column 'age': some values are missing"),
        ("unit: {column: who, max_rows: 2}", "41,f,0.5,no", "column 'who': some rows"),
    ],
)
def test_a_row_that_does_not_fit_costs_no_cut_points(folder, run, unit, row, problem):
    (folder / "open.yaml").write_text(f"{SCHEMA.replace(', cuts: [30, 60]', '')}\n{unit}\n")
    header, *rows = f"{GOOD}{row}\n".splitlines()
    of_whom = [f"who,{header}", *(f"p{n},{text}" for n, text in enumerate(rows[:-1])), f",{rows[-1]}"]
    (folder / "bad.csv").write_text("\n".join(of_whom) + "\n")
    run("budget", "new", "b.json", "--epsilon", "20")
    words = ("--schema", "open.yaml", "--epsilon", "1", "--budget", "b.json", "-o", "learned.yaml")
    code, out, err = run("schema", "learn", "bad.csv", *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert "SECRET" not in err
    assert "20 left" in run("budget", "show", "b.json")[1]
    assert not (folder / "learned.yaml").exists()


def test_rows_are_checked_against_a_schema_before_anything_is_spent(folder, run):
    assert run("schema", "check", "schema.yaml", "data.csv")[1].startswith("Every row fits")
    (folder / "bad.csv").write_text(GOOD + "41,SECRET,0.5,no\n")
    code, _, err = run("schema", "check", "schema.yaml", "bad.csv")
    assert code == 2
    assert "column 'sex'" in err
    assert "SECRET" not in err


def test_from_public_accepts_missing_markers_and_dropped_columns(folder, run):
    (folder / "pub.csv").write_text("id,n,y\n" + "".join(f"k{i},{i if i % 9 else 'u'},{i % 2}\n" for i in range(200)))
    words = ("schema", "from-public", "pub.csv", "--target", "y", "-o", "p.yaml")
    assert "--drop" in run(*words)[2]
    assert "missing_values" in run(*words, "--drop", "id")[2]
    code, _, err = run("schema", "from-public", "pub.csv", "--target", "y", "-o", "p.yaml", "--drop", "ident")
    assert (code, "column 'ident'" in err) == (2, True)
    words = ("--missing", "u", "--drop", "id")
    assert run("schema", "from-public", "pub.csv", "--target", "y", "-o", "p.yaml", *words)[0] == 0
    schema = hr.Schema.load("p.yaml")
    assert (schema.names, schema["n"].kind, schema["n"].missing_values) == (("n",), "integer", ("u",))


def test_a_column_of_persons_in_public_rows_is_noted_with_what_to_declare(folder, run):
    (folder / "v.csv").write_text("patient_id,age,ill\n" + "".join(f"{i},{i},{i % 2}\n" * 2 for i in range(40, 80)))
    _, _, err = run("schema", "from-public", "v.csv", "--target", "ill", "-o", "v.yaml")
    assert "check: patient_id seems to identify a person; if so, leave it out (--drop patient_id)" in err
    _, _, err = run("schema", "from-public", "v.csv", "--target", "ill", "-o", "w.yaml", "--drop", "patient_id")
    assert "whose row" not in err


def test_a_foreign_missing_marker_is_declared_with_a_note_to_check_it(folder, run):
    (folder / "r.csv").write_text("age,ill\n" + "".join(f"{i},{i % 2}\n" * 2 for i in range(40, 80)) + "NA,1\n")
    code, _, err = run("schema", "from-public", "r.csv", "--target", "ill", "-o", "r.yaml")
    age = hr.Schema.load("r.yaml")["age"]
    assert (code, age.kind, age.low, age.high, age.missing, age.missing_values) == (
        0,
        "integer",
        40,
        79,
        "bin",
        ("NA",),
    )
    note = "age: NA is read as a missing value"
    assert f"check: {note}\n" in err
    assert (folder / "r.yaml").read_text().startswith(f"# Check: {note}\n")
    run("schema", "from-public", "r.csv", "--target", "ill", "-o", "r.json")
    assert hr.Schema.load("r.json") == hr.Schema.load("r.yaml")
    run("schema", "from-public", "r.csv", "--target", "ill", "--missing", "NA", "-o", "s.yaml")
    assert hr.Schema.load("s.yaml") == hr.Schema.load("r.yaml")
    assert "# Check" not in (folder / "s.yaml").read_text()


@pytest.mark.parametrize("engine", [(), ("--engine", "duckdb")], ids=["memory", "duckdb"])
def test_a_check_proposes_missing_values_for_the_words_that_it_finds(folder, run, engine):
    (folder / "r.csv").write_text("age,ill\n40,0\nNA,1\n")
    schema = "label: {name: ill, classes: [0, 1]}\nattributes: {age: {kind: integer, low: 0, high: 120%s}}\n"
    (folder / "d.yaml").write_text(schema % "")
    code, out, err = run("schema", "check", "d.yaml", "r.csv", *engine)
    assert code == 2
    assert 'age contains NA; if this means missing, add to its line: missing: bin, missing_values: ["NA"]\n' in out
    assert ("`missing_values`" in err, "--decimal" in err) == (True, False)
    (folder / "d.yaml").write_text(schema % ', missing: bin, missing_values: ["NA"]')
    assert run("schema", "check", "d.yaml", "r.csv", *engine)[0] == 0


def test_a_very_long_line_is_read(folder, run):
    (folder / "long.csv").write_text("age,sex,dose,ill,note\n" + f"40,F,0.5,no,{'x' * 3_000_000}\n" * 3)
    assert run("schema", "check", "schema.yaml", "long.csv")[0] == 0


def test_a_new_schema_in_json_is_json(folder, run):
    code, out, err = run("schema", "new", "data.csv", "--target", "ill", "-o", "new.json")
    assert (code, out) == (0, "")
    assert err.startswith("written to new.json: ")
    assert json.loads((folder / "new.json").read_text()) == {
        "version": 2,
        "label": {"name": "ill", "classes": "FILL IN"},
        "attributes": {name: {"kind": "FILL IN"} for name in ("age", "sex", "dose")},
    }
    assert "attribute 'ill': key 'classes'" in run("schema", "show", "new.json")[2]


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (SCHEMA, 0),
        (SCHEMA.partition("\n")[2], 1),
        (SCHEMA.replace("[0.5]", "[]"), 1),
        (SCHEMA.partition("\n")[2].replace("[0.5]", "[]").replace("[30, 60]", "[]"), 3),
    ],
)
def test_what_is_shown_of_a_schema_says_why_fit_refuses_it(text, reasons, folder, run):
    (folder / "s.yaml").write_text(text)
    lines = [line for line in run("schema", "show", "s.yaml")[1].splitlines() if "`hedgerow fit` cannot use" in line]
    listed = json.loads(run("schema", "show", "s.yaml", "--json")[1])["fit_refuses"]
    assert (len(lines), len(listed)) == (reasons, reasons)
    code, _, err = run("fit", "data.csv", "--schema", "s.yaml", "--target", "ill", "--epsilon", "1")
    assert (code == 0) == (reasons == 0)
    assert reasons == 0 or any(reason in err for reason in listed)


@pytest.mark.usefixtures("folder")
def test_from_public_adds_an_outside_bin_on_request(run):
    words = ("schema", "from-public", "data.csv", "--target", "ill")
    for more, policy in ((("--outside", "bin"), "bin"), ((), "error")):
        assert run(*words, *more, "-o", f"{policy}.yaml")[0] == 0
        assert hr.Schema.load(f"{policy}.yaml")["sex"].outside == policy


@pytest.mark.usefixtures("folder")
def test_where_a_schema_was_written_is_no_part_of_what_is_printed(run):
    _, out, err = run("schema", "from-public", "data.csv", "--target", "ill", "-o", "p.yaml")
    assert out == f"{hr.Schema.load('p.yaml')}\n"
    assert "written to p.yaml" in err


@pytest.mark.parametrize("word", ["007", "1, 010", "-07", "+010"])
def test_numbers_with_leading_zeros_need_quotes_in_a_schema(word, folder, run):
    (folder / "s.yaml").write_text(f"attributes:\n  a: {{kind: categorical, values: [{word}]}}\n")
    code, _, err = run("schema", "show", "s.yaml")
    assert code == 2
    assert "put it in quotes (line 2, column" in err


def test_a_check_reports_on_all_columns_with_lines_and_shows_no_value(folder, run):
    (folder / "bad.csv").write_text(GOOD + "41,SECRET,0.5,no\n\nx,F,,maybe\n")
    code, out, err = run("schema", "check", "schema.yaml", "bad.csv")
    assert code == 2
    assert out.splitlines() == [
        "Some rows do not fit the schema. PRIVATE: this output depends on the rows; do not share it.",
        "",
        "3 rows",
        "",
        "column  kind         missing  outside  wrong type  refused  first lines",
        "age     integer            0        0           1        1  5",
        "sex     categorical        0        1           0        1  3",
        "dose    real               1        0           0        0",
        "ill     label              0        1           0        1  5",
        "",
        "sex has values outside its domain; correct them, or add to its line: outside: bin",
        "`hedgerow fit` does not accept this table.",
    ]
    assert err.startswith("error: column 'age': some values do not fit the schema, here and in 2 other columns")
    assert "SECRET" not in out + err
    told = json.loads(run("schema", "check", "schema.yaml", "bad.csv", "--json")[1])
    assert (told["accepted"], told["lines"]) == (False, {"1": 3, "2": 5})


def test_a_check_of_a_table_in_an_engine_has_counts_without_lines(folder, run):
    pd.DataFrame({"age": [30, 200], "sex": ["F", "?"], "ill": ["no", "yes"], "id": [1, 2]}).to_parquet("t.parquet")
    code, out, err = run("schema", "check", "schema.yaml", "t.parquet")
    assert code == 2
    assert "dose    real          absent   absent      absent   absent" in out
    assert "not in the schema: id" in out
    assert "column 'dose'" in err
    (folder / "s.yaml").write_text(
        SCHEMA.replace("  dose: {kind: real, low: 0, high: 1, cuts: [0.5], missing: bin}\n", "")
    )
    code, out, _ = run("schema", "check", "s.yaml", "t.parquet")
    assert code == 0
    assert "sex     categorical        1        0           0        0" in out
    assert out.splitlines()[-1] == "`hedgerow fit` accepts this table."


def test_a_check_of_a_table_without_rows_says_so(folder, run):
    (folder / "empty.csv").write_text(GOOD.splitlines()[0] + "\n")
    code, out, _ = run("schema", "check", "schema.yaml", "empty.csv")
    assert (code, out[:23]) == (0, "The table has no rows; ")
    assert out.splitlines()[-1].endswith(", but a model of no rows is noise alone.")


@pytest.mark.usefixtures("folder")
def test_what_the_check_accepts_is_what_fit_accepts(run):
    assert run("schema", "check", "schema.yaml", "data.csv")[1].endswith("`hedgerow fit` accepts this table.\n")
    assert run("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5")[0] == 0


def test_public_identifiers_are_told_and_how_to_leave_them_out(folder, run):
    lines = [f"R{n},{n},{n % 7},{'yes' if n % 3 else 'no'}" for n in range(200)]
    (folder / "public.csv").write_text("\n".join(["record,serial,age,ill", *lines]))
    told = ("schema", "from-public", "public.csv", "--target", "ill", "-o", "public.yaml")
    code, _, error = run(*told)
    assert code == 2
    assert "No value repeats, as in an identifier; remove the column (on the command line: --drop)" in error
    code, _, error = run(*told, "--drop", "record")
    assert code == 0
    assert "warning: serial has a different value in every row; if it is an identifier, add --drop serial" in error
    assert "age" not in error
    assert "warning" not in run(*told, "--drop", "record", "--drop", "serial", "--force")[2]


def test_show_draws_the_edges_of_bins_to_scale(run, folder):
    attributes = (
        "x: {kind: real, low: 0, high: 10, cuts: [0, 2.5, 5]}\n  when: {kind: date, low: 2020-01-01, high: 2020-12-31}"
    )
    (folder / "s.yaml").write_text(f"attributes:\n  {attributes}\n  n: {{kind: integer, low: 0, high: 5, cuts: []}}\n")
    code, out, _ = run("schema", "show", "s.yaml")
    assert code == 0
    lines = [line for line in out.splitlines() if "-----" in line]
    assert [line.split()[0] for line in lines] == ["x", "when"]  # n has no cut points
    assert lines[0] == f"x              0 |{'-' * 14}|{'-' * 14}|{'-' * 29} 10  4 bins"
    assert lines[1].endswith("2020-12-31  12 bins")
