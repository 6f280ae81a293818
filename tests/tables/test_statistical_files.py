"""Data files of SPSS, Stata and SAS: value labels and declared missing codes."""

import datetime
import math
import sys

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import ArgumentError, DomainError, MissingPackageError, SchemaError
from hedgerow.schema import import_schema
from hedgerow.tables.statistical_files import statistical_as_csv, variables_of
from hedgerow.tables.table_files import TextFormat, columns_of, read_table

pyreadstat = pytest.importorskip("pyreadstat")

ROWS = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0, 1.0],
        "age": [30.0, 41.0, 999.0, math.nan],
        "city": ["A", "B, C", "", 'D "d"'],
        "born": [datetime.date(1980, 1, 31), datetime.date(1975, 12, 1), None, datetime.date(1999, 2, 28)],
        "score": [1.5, 2.25, 3.0, -0.125],
        "stage": [1.0, 2.0, 3.0, 2.0],
        "pain": [0.0, 10.0, 4.0, 5.0],
    }
)
LABELS = {
    "sex": {1: "male", 2: "female", 9: "refused"},
    "age": {999: "not asked"},
    "stage": {1: "early", 2: "middle", 3: "late"},
    "pain": {0: "none", 10: "worst"},
}


@pytest.fixture
def spss(tmp_path):
    path = tmp_path / "visits.sav"
    pyreadstat.write_sav(
        ROWS,
        str(path),
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9], "age": [{"lo": 900, "hi": 999}]},
        variable_measure={"sex": "nominal", "stage": "ordinal", "age": "scale", "pain": "scale"},
        variable_format={"age": "F3.0"},
        column_labels={"sex": "Sex of the patient"},
    )
    return str(path)


def test_codes_are_their_labels_and_declared_missing_codes_are_blank(spss):
    table = read_table(spss)
    assert table.to_pydict() == {
        "sex": ["male", "female", "", "male"],
        "age": ["30", "41", "", ""],
        "city": ["A", "B, C", "", 'D "d"'],
        "born": ["1980-01-31", "1975-12-01", "", "1999-02-28"],
        "score": ["1.5", "2.25", "3", "-0.125"],
        "stage": ["early", "middle", "late", "middle"],
        "pain": ["0", "10", "4", "5"],
    }
    assert columns_of(spss) == list(ROWS)


def test_value_labels_become_values_and_unknown_bounds_are_gaps(spss):
    attributes = import_schema(spss).to_dict()["attributes"]
    assert attributes["sex"]["values"] == ["male", "female"]
    assert attributes["sex"]["description"] == "Sex of the patient"
    assert (attributes["stage"]["kind"], attributes["stage"]["values"]) == ("ordered", ["early", "middle", "late"])
    assert (attributes["age"]["kind"], attributes["age"]["low"]) == ("integer", "FILL IN")
    assert (attributes["pain"]["kind"], attributes["pain"]["low"], attributes["pain"]["high"]) == ("real", 0, 10)
    assert [attributes[name]["kind"] for name in ("born", "score", "city")] == ["date", "real", "categorical"]
    assert all(attribute["missing"] == "bin" for attribute in attributes.values())


def test_rows_fit_the_completed_draft(spss):
    text = {"kind": "categorical", "values": ["A", "B, C", 'D "d"'], "missing": "bin"}
    data = import_schema(spss, label="stage").to_dict()
    data["attributes"] |= {"city": text}
    bounds = {"age": (0, 120), "born": ("1900-01-01", "2030-12-31"), "score": (-5, 5)}
    for name, (low, high) in bounds.items():
        data["attributes"][name] |= {"low": low, "high": high}
    schema = hr.Schema.from_dict(data)
    tally = hr.Tally.count(read_table(spss), "stage", schema)
    assert tally.total().tolist() == [1, 2, 1]


def test_the_dictionary_is_read_without_rows(spss, monkeypatch):
    calls = []
    read = pyreadstat.read_sav
    monkeypatch.setattr(
        pyreadstat, "read_sav", lambda *args, **options: calls.append(options) or read(*args, **options)
    )
    assert [variable.name for variable in variables_of(spss)] == list(ROWS)
    assert [options["metadataonly"] for options in calls] == [True]


def test_a_stata_file_has_labels_but_neither_an_order_nor_a_scale(tmp_path):
    path = str(tmp_path / "visits.dta")
    pyreadstat.write_dta(ROWS.astype({"stage": "int32"}), path, variable_value_labels=LABELS)
    kinds = {variable.name: (variable.kind, variable.labels) for variable in variables_of(path)}
    assert kinds["stage"] == ("integer", {1: "early", 2: "middle", 3: "late"})
    assert kinds["age"] == ("real", None)  # one label is that of a code, and no category
    assert read_table(path)["pain"].to_pylist() == ["none", "worst", "4", "5"]


def test_a_sas_transport_file_has_codes(tmp_path):
    path = str(tmp_path / "visits.xpt")
    pyreadstat.write_xport(ROWS, path, file_format_version=8)
    table = read_table(path)
    assert (table["sex"].to_pylist(), table["born"].to_pylist()[0]) == (["1", "2", "9", "1"], "1980-01-31")


def test_codes_are_added_to_labels_that_two_codes_share(tmp_path):
    path = str(tmp_path / "t.sav")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"x": {1: "other", 2: "other", 3: " "}})
    assert read_table(path)["x"].to_pylist() == ["other (1)", "other (2)", "(3)"]


def test_labels_that_look_like_labels_with_codes_are_distinguished(tmp_path):
    path = str(tmp_path / "t.sav")
    labels = {1: "other", 2: "other", 3: "other (1)"}
    pyreadstat.write_sav(pd.DataFrame({"x": [1.0, 2.0, 3.0]}), path, variable_value_labels={"x": labels})
    texts = ["other (1)", "other (2)", "other (1) (3)"]
    assert read_table(path)["x"].to_pylist() == texts
    assert import_schema(path).to_dict()["attributes"]["x"]["values"] == texts


def test_a_code_without_a_label_is_not_read_as_the_label_of_another_code(tmp_path):
    path = str(tmp_path / "t.sav")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": ["a", "b", "c"]})
    labels = {"x": {1: "3", 2: "two"}, "y": {"a": "b", "c": "sea"}}
    pyreadstat.write_sav(frame, path, variable_value_labels=labels)
    assert read_table(path).to_pydict() == {"x": ["3", "two", "3 (no label)"], "y": ["b", "b (no label)", "sea"]}


@pytest.mark.parametrize(
    ("ending", "form", "number", "text"),
    [
        ("sav", "ADATE10", 13797216000, "2020-01-01"),
        ("sav", "DATETIME20", 13797227045.25, "2020-01-01T03:04:05.250000"),
        ("sav", "TIME8", 90061, "90061"),
        ("por", "DATETIME20", 13797216000, "2020-01-01"),
        ("dta", "%tdD_m_Y", 21915, "2020-01-01"),
        ("dta", "%-tdNN/DD/CCYY", 21915, "2020-01-01"),
        ("dta", "%tcHH:MM", 1893553445000, "2020-01-02T03:04:05"),
        ("dta", "%tm", 720, "720"),
        ("xpt", "MMDDYYS10.", 21915, "2020-01-01"),
        ("xpt", "DATEAMPM.", 1893553445, "2020-01-02T03:04:05"),
        ("xpt", "TIME8.", 3723, "3723"),
        ("sav", "DATE11", -1e15, "-1000000000000000"),
    ],
)
def test_dates_follow_from_their_formats_and_times_of_day_are_numbers(ending, form, number, text, tmp_path):
    path = str(tmp_path / f"t.{ending}")
    write = {"sav": "write_sav", "por": "write_por", "dta": "write_dta", "xpt": "write_xport"}[ending]
    getattr(pyreadstat, write)(pd.DataFrame({"X": [float(number), math.nan]}), path, variable_format={"X": form})
    assert read_table(path)["X"].to_pylist() == [text, ""]
    kind = import_schema(path).to_dict()["attributes"]["X"]["kind"]
    assert (kind == "date") is ("-01-0" in text or number < 0)


@pytest.mark.parametrize("ending", ["sav", "zsav", "por", "dta", "sas7bdat", "xpt"])
def test_the_error_for_a_damaged_file_quotes_nothing(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"secret" * 100)
    for read in (statistical_as_csv, read_table, columns_of):
        with pytest.raises(DomainError, match="or a damaged one") as caught:
            read(str(path))
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None
    with pytest.raises(SchemaError, match="damaged"):
        import_schema(path)


def test_options_of_text_are_refused(spss):
    with pytest.raises(ArgumentError, match="states its own format"):
        read_table(spss, TextFormat(decimal=","))


def test_the_error_for_a_missing_package_names_the_extra(spss, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    monkeypatch.setattr("hedgerow.tables.statistical_files.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[statfiles\]'"):
        read_table(spss)
