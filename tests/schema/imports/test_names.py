"""What names of columns suggest."""

import pytest

from hedgerow.schema import DraftColumn
from hedgerow.schema.imports.draft import suggested, with_suggestions


@pytest.mark.parametrize(
    ("name", "kind", "low", "high"),
    [
        ("age", "integer", 0, 120),
        ("Age (years)", "integer", 0, 120),
        ("ageAtAdmission", "integer", 0, 120),
        ("wage", None, None, None),
        ("is_smoker", "boolean", None, None),
        ("birth_year", "integer", 1900, 2100),
        ("sex", "categorical", None, None),
        ("tumour-stage", "categorical", None, None),
        ("n_visits", "integer", 0, None),
        ("BMI", "real", 5, 100),
        ("income", "real", None, None),
        ("visit_date", "date", None, None),
        ("dob", "date", None, None),
        ("xyz", None, None, None),
        ("", None, None, None),
    ],
)
def test_a_name_suggests_a_kind_and_bounds(name, kind, low, high):
    result = suggested(name)
    assert (result.name, result.kind, result.low, result.high) == (name, kind, low, high)


@pytest.mark.parametrize("name", ["id", "patient_id", "patientId", "Name", "visit_time", "created_at"])
def test_identifiers_and_times_are_proposed_to_be_left_out(name):
    assert suggested(name) is None


def test_a_name_adds_bounds_to_a_type_and_contradicts_none():
    assert with_suggestions(DraftColumn(name="age", kind="integer", high=99)) == DraftColumn(
        name="age", kind="integer", low=0, high=99, unit="years"
    )
    for column in (DraftColumn(name="age", kind="real"), DraftColumn(name="id", kind="integer")):
        assert with_suggestions(column) == column
