"""Forms: what people state, read within bounds."""

from dataclasses import fields

import pytest

from hedgerow.report.form import QUESTIONS, Form, empty_form
from hedgerow.text.language import LANGUAGES


def test_an_empty_form_can_be_read_and_states_nothing(tmp_path):
    path = tmp_path / "form.yaml"
    path.write_text(empty_form(), encoding="utf-8")
    assert Form.load(path) == Form()
    assert Form().missing == tuple(QUESTIONS) == tuple(field.name for field in fields(Form))


def test_a_form_has_the_same_entries_in_every_language(tmp_path):
    texts = {language: empty_form(language) for language in LANGUAGES}
    for language, text in texts.items():
        (tmp_path / language).write_text(text, encoding="utf-8")
        assert Form.load(tmp_path / language) == Form()
    with pytest.raises(ValueError, match=r"'es'"):
        empty_form("es")


def test_what_is_filled_in_is_read(tmp_path):
    path = tmp_path / "form.yaml"
    filled = empty_form().replace("\npurpose:\n", "\npurpose: |\n  to <b>triage</b>\n  patients\n")
    path.write_text(filled.replace("sensitive: []", "sensitive: [race, race, sex]").replace("rows:\n", "rows: 1000\n"))
    result = Form.load(path)
    assert result.purpose == "to <b>triage</b>\npatients"
    assert result.sensitive == ("race", "sex")
    assert result.rows == "1000"
    assert Form.from_dict(result.to_dict()) == result
    assert result.rows_per_unit is None
    path.write_text("rows_per_unit: 6\nunit_column: patient_id\nsecond_unit: 7\n")
    result = Form.load(path)
    assert (result.rows_per_unit, result.unit_column, result.second_unit) == (6, "patient_id", "7")
    assert Form.from_dict(result.to_dict()) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("purpose: &a x\npopulation: *a\n", "anchors and aliases"),
        ("- purpose\n", r"mapping .*got a list"),
        ("colour: red\n", r"1 unknown entry.*purpose"),
        ("purpose: [a]\n", r"purpose .*text, got a list"),
        ("purpose: true\n", r"purpose .*text, got a bool"),
        ("rows_per_unit: 0\n", r"rows_per_unit .*from 1 to 10,000, got 0"),
        ("rows_per_unit: up to six\n", r"rows_per_unit .*'up to six'"),
        ("rows_per_unit: true\n", r"rows_per_unit .*True"),
        ("unit_column: hh\nsecond_unit: hh\n", r"unit_column and second_unit .*'hh'"),
        ("sensitive: race\n", r"sensitive .*list .*'race'"),
        ("curator_type: hospital\n", r"curator_type .*Government.*'hospital'"),
        ("sector: hospital\n", r"sector .*Technology.*'hospital'"),
        ("publication_date: soon\n", r"publication_date .*YYYY-MM-DD.*'soon'"),
        (f"purpose: {'x' * 10_001}\n", r"purpose .*10,000 .*10,001"),
        (f"sensitive: [{', '.join(f'a{i}' for i in range(201))}]\n", r"sensitive .*200 names"),
        ("x" * 2**18, "131,072 bytes"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "form.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Form.load(path)
