"""Reasons for which learners refuse a schema."""

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import SchemaError
from hedgerow.schema.booleans import learning_problems

LABEL = hr.Label("y", (0, 1))
SCHEMAS = [
    (hr.Schema({"a": hr.Integer(0, 9)}, LABEL), []),
    (hr.Schema({"a": hr.Integer(0, 9)}), [None]),
    (hr.Schema({"a": hr.Integer(0, 9, ()), "b": hr.Boolean(), "c": hr.Real(0, 1, ())}), [None, "a", "c"]),
]


@pytest.mark.parametrize(("schema", "places"), SCHEMAS)
def test_all_problems_are_listed_and_a_fit_raises_the_first(schema, places):
    result = learning_problems(schema)
    assert [problem.attribute for problem in result] == places
    rows = pd.DataFrame({name: [0, 1] for name in schema})
    fit = hr.PrivateTreeClassifier(epsilon=1, schema=schema).fit
    if not result:
        fit(rows, pd.Series([0, 1], name="y"))
        return
    with pytest.raises(SchemaError) as error:
        fit(rows, pd.Series([0, 1], name="y"))
    assert str(error.value) == str(result[0])
