"""REDCap data dictionaries as drafts."""

import csv

import pytest

from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Real, Schema
from hedgerow.schema.imports.files import dictionary_draft, is_dictionary
from tests.schema.imports.descriptions import REDCAP_FIELDS, REDCAP_HEADER, field

SOURCE = {"source": "REDCap data dictionary"}
API = [
    "field_name", "form_name", "section_header", "field_type", "field_label", "select_choices_or_calculations",
    "field_note", "text_validation_type_or_show_slider_number", "text_validation_min", "text_validation_max",
    "identifier", "branching_logic", "required_field",
]  # fmt: skip


@pytest.fixture
def dictionary(tmp_path):
    def write(fields, header=REDCAP_HEADER):
        path = tmp_path / "dictionary.csv"
        with path.open("w", newline="", encoding="utf-8-sig") as file:
            csv.writer(file).writerows([header, *fields])
        return path

    return write


@pytest.mark.parametrize("header", [REDCAP_HEADER, API], ids=["page", "api"])
def test_fields_are_attributes_with_what_they_declare(dictionary, header):
    draft = dictionary_draft(dictionary(REDCAP_FIELDS, header))
    assert draft.gaps == (("bmi", "low"), ("bmi", "high"))
    assert [name for name, _ in draft.left_out] == ["record_id", "phone", "story"]
    (bmi,) = [column for column in draft.columns if column.name == "bmi"]
    known = draft.completed(type(bmi)(name="bmi", kind="real", low=5, high=99)).schema()
    drugs = {"drugs___a": "Aspirin", "drugs____1": "Other"}
    assert known == Schema(
        {
            "age": Integer(0, 120, description="Age in years", **SOURCE),
            "temp": Real(30, 45.5, missing="bin", **SOURCE),
            "sex": Categorical((1, 2, "U"), description="Sex (1 = Female; 2 = Male; U = Unknown, or else)", **SOURCE),
            "smoker": Boolean(missing="bin", **SOURCE),
            **{name: Boolean(description=f"Drugs: {label}", **SOURCE) for name, label in drugs.items()},
            "pain": Integer(0, 100, **SOURCE),
            "visit": Date("2020-01-01", "2024-12-31", **SOURCE),
            "seen": Date("2020-01-01", "2024-12-31", format="iso", **SOURCE),
            "bmi": Real(5, 99),
        }
    )


def test_choices_without_codes_are_a_gap(dictionary):
    draft = dictionary_draft(
        dictionary([REDCAP_FIELDS[0], field("a", "dropdown"), field("b", "text", check="integer")])
    )
    assert draft.gaps == (("a", "values"), ("b", "low"), ("b", "high"))


def test_other_files_are_refused_and_not_quoted(dictionary):
    assert is_dictionary(REDCAP_HEADER)
    assert not is_dictionary(["name", "type"])
    with pytest.raises(SchemaError, match="REDCap data dictionary") as error:
        dictionary_draft(dictionary([["SECRET"]], ["name"]))
    assert "SECRET" not in str(error.value)
    with pytest.raises(SchemaError, match="attribute"):
        dictionary_draft(dictionary(REDCAP_FIELDS[:1]))
    path = dictionary(REDCAP_FIELDS)
    path.write_bytes(path.read_bytes() + b'"open')
    with pytest.raises(SchemaError, match="not valid CSV"):
        dictionary_draft(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="UTF-8"):
        dictionary_draft(path)
