import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from hedgerow.audit.readers.paths import HasRegions, Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import DomainError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Schema
from tests.models.strategies import cases, rule_lists, trees

AGE = Literal("age", "<=", (30,))
SCHEMA = Schema({"age": Integer(0, 99, cuts=(30,)), "sex": Categorical(("F", "M")), "smoker": Boolean()})


@given(cases(rule_lists() | trees()))
def test_rows_come_to_the_leaf_that_the_model_says(case):
    paths, schema = paths_of(case.model)
    for table in (case.pandas(), case.polars(), case.arrow()):
        assert (paths.apply(table, schema) == case.model.apply(table)).all()


@given(trees() | rule_lists())
def test_conditions_are_the_models_own(model):
    paths, schema = paths_of(model)
    if len(model) > 1:
        assert paths.conditions(schema) == model.conditions


def test_the_first_path_that_holds_decides():
    paths = Paths((((AGE, True),), ((Literal("sex", "=", ("F",)), True), (AGE, False)), ()))
    frame = pd.DataFrame({"age": [20, 40, 40], "sex": ["F", "F", "M"], "smoker": [0, 0, 1]})
    assert paths.apply(frame, SCHEMA).tolist() == [0, 1, 2]
    assert paths.conditions(SCHEMA) == ("age <= 30", "sex = F and age > 30", "otherwise")


def test_rows_are_arrays_too():
    paths = Paths((((Literal("smoker", "true"), True),), ()))
    assert paths.apply(np.array([[20, 0, 1], [20, 0, 0]]), SCHEMA).tolist() == [0, 1]


def test_bad_rows_and_paths_are_refused():
    paths = Paths((((AGE, True),),))
    with pytest.raises(ValueError, match="expected a leaf for every row, got rows in no region"):
        paths.apply(pd.DataFrame({"age": [20, 40]}), SCHEMA)
    with pytest.raises(DomainError, match="column 'age': some values are missing"):
        paths.apply(pd.DataFrame({"age": [20, None]}), SCHEMA)
    with pytest.raises(DomainError, match="column 'age': expected this column"):
        paths.apply(pd.DataFrame({"sex": ["F"]}), SCHEMA)
    with pytest.raises(ValueError, match="at least one leaf"):
        Paths(())
    with pytest.raises(ValueError, match="expected one support for each of 2 leaves, got 1"):
        Paths(((), ()), (3,))
    with pytest.raises(ValueError, match="expected one row of counts for each of 1 leaves, got 2"):
        Paths(((),), None, ((1, 2), (3, 4)))


def test_the_protocol_is_two_names():
    class Own:
        supports = (1, 2)

        def regions(self):
            return [[AGE], []]

    paths, schema = paths_of(Own(), SCHEMA)
    assert isinstance(Own(), HasRegions)
    assert paths == Paths((((AGE, True),), ()), (1, 2))
    assert schema is SCHEMA
    with pytest.raises(ValueError, match="expected a schema, as the model has none of its own"):
        paths_of(Own())
