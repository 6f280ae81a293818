"""Columns that look as if they say whose row each is."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import SeededNoiseWarning, UnitWarning
from hedgerow.schema.contributions import names_key, names_person, repeats, unit_advice
from hedgerow.tables.frames import Table


@pytest.mark.parametrize(
    "name", ["patient_id", "patientId", "PID", "person", "Subject ID", "subject", "mrn", "customer", "account",
             "household", "household_no", "user_key", "n_pid"],
)  # fmt: skip
def test_names_of_persons(name):
    assert names_person(name)
    assert names_key(name)


NAMES = ("rownames", "row.names", "row_id", "first_name", "fakeLastName", "Surname", "patient_name", "name")


@pytest.mark.parametrize("name", ["id", "visit_id", "record_id", "uuid", "Unnamed: 0", *NAMES])
def test_names_of_rows_are_not_persons(name):
    assert not names_person(name)
    assert names_key(name)


@pytest.mark.parametrize(
    "name", ["age", "household_size", "patient_age", "is_patient", "paid", "video", "number", "", "drug_name", "rowing"]
)
def test_other_names(name):
    assert not names_key(name)
    assert unit_advice([name]) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([f"p{i // 4}" for i in range(400)], True),
        ([i // 3 for i in range(900)], True),
        (list(range(400)), None),
        ([str(i) for i in range(40)], None),
        ([i % 80 for i in range(400)], False),  # ages
        ([str(i % 80) for i in range(400)], False),
        (["a", "b"] * 200, False),
        ([i / 7 for i in range(400)], False),
        ([i // 2 / 7 for i in range(900)], False),
        ([True, False] * 40, False),
        ([f"p{i // 4}" for i in range(40)], False),
        ([None] * 3, False),
    ],
)
def test_repetition_looks_like_persons(values, expected):
    table = Table.of(pd.DataFrame({"x": values}))
    assert repeats(table.column("x", 0)) is expected


def test_a_fit_warns_of_names_and_seeds_before_it_charges():
    frame, budget = pd.DataFrame({"patient_id": np.arange(9) % 3, "a": [0, 1, 1] * 3}), hr.Budget(1)
    schema = hr.Schema({"a": hr.Boolean()}, hr.Label("y", (0, 1)))
    clf = hr.PrivateTreeClassifier(1, schema=schema, budget=budget)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnitWarning)
        with pytest.raises(UnitWarning, match="column patient_id"):
            clf.fit(frame, frame["a"])
        assert budget.spent == 0
        declared = replace(schema, unit=hr.Unit("patient_id", 1))
        clf.set_params(schema=declared).fit(frame, frame["a"])
    with pytest.warns(SeededNoiseWarning, match="seeds the noise"):
        hr.PrivateTreeClassifier(1, schema=schema, random_state=0).fit(frame[["a"]], frame["a"])
