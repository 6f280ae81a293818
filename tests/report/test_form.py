"""Forms: what people state, read within bounds."""

from dataclasses import fields

import pytest

from hedgerow.report.form import QUESTIONS, Form, empty_form


def test_an_empty_form_can_be_read_and_states_nothing(tmp_path):
    path = tmp_path / "form.yaml"
    path.write_text(empty_form(), encoding="utf-8")
    assert Form.load(path) == Form()
    assert Form().missing == tuple(QUESTIONS) == tuple(field.name for field in fields(Form))


def test_what_is_filled_in_is_read(tmp_path):
    path = tmp_path / "form.yaml"
    filled = empty_form().replace("\npurpose:\n", "\npurpose: |\n  to <b>triage</b>\n  patients\n")
    path.write_text(filled.replace("sensitive: []", "sensitive: [race, race, sex]").replace("rows:\n", "rows: 1000\n"))
    found = Form.load(path)
    assert found.purpose == "to <b>triage</b>\npatients"
    assert found.sensitive == ("race", "sex")
    assert found.rows == "1000"
    assert Form.from_dict(found.to_dict()) == found
    assert found.rows_per_unit is None
    path.write_text("rows_per_unit: 6\nunit_column: patient_id\nsecond_unit: 7\n")
    found = Form.load(path)
    assert (found.rows_per_unit, found.unit_column, found.second_unit) == (6, "patient_id", "7")
    assert Form.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("purpose: &a x\npopulation: *a\n", "expected values without anchors and aliases"),
        ("- purpose\n", "expected a form with entries, got a list"),
        ("colour: red\n", "expected entries of a form .*, got 1 others"),
        ("purpose: [a]\n", "expected text as purpose in the form, got a list"),
        ("purpose: true\n", "expected text as purpose in the form, got a bool"),
        ("rows_per_unit: 0\n", "expected rows_per_unit in the form to be a whole number from 1 to 10,000, got 0"),
        ("rows_per_unit: up to six\n", "expected rows_per_unit in the form to be a whole number"),
        ("rows_per_unit: true\n", "expected rows_per_unit in the form to be a whole number"),
        ("unit_column: hh\nsecond_unit: hh\n", "got one twice"),
        ("sensitive: race\n", "expected a list of names"),
        ("curator_type: hospital\n", "expected curator_type in the form to be one of Government"),
        ("sector: hospital\n", "expected sector in the form to be one of Technology"),
        ("publication_date: soon\n", "expected publication_date in the form as YYYY-MM-DD"),
        (f"purpose: {'x' * 10_001}\n", "at most 10,000 characters as purpose"),
        (f"sensitive: [{', '.join(f'a{i}' for i in range(201))}]\n", "at most 200 names"),
        ("x" * 2**18, "at most 131,072 bytes"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "form.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Form.load(path)
