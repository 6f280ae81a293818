"""Hypotheses of hedgerow's are read as data and predict what they predict themselves."""

import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.marginals.oracle.hypothesis import codes_of
from tests.marginals.oracle.rowwise.hypotheses import ROWS, RULES, SCHEMA, read


def test_a_row_that_a_models_schema_refuses_has_no_class():
    model = hr.RuleList(SCHEMA, RULES, hr.PrivacyCard.none("example", software="test"))
    found = read(model, ROWS, ("no", "yes"))()
    assert found.tolist() == [1, 1, 0, -1, -1, 1, -1, 1]
    for i, code in enumerate(found):
        if code >= 0:
            assert model.predict(ROWS[i : i + 1])[0] == ("no", "yes")[code]
        else:
            with pytest.raises(hr.errors.DomainError, match="some values are"):
                model.predict(ROWS[i : i + 1])


@pytest.mark.parametrize("make", [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier])
def test_hedgerows_estimators_are_read_as_their_models(make):
    data = hr.datasets.load("breast_cancer")
    fitted = make(epsilon=4.0, schema=data.schema).fit(data.frame, data.labels)
    found = read(fitted, data.frame, data.schema.classes)()
    assert found.tolist() == codes_of(fitted.predict(data.frame), data.schema.classes, len(data.frame)).tolist()


@pytest.mark.parametrize("make", [hr.MarginalLogisticClassifier, hr.ExprilClassifier])
def test_marginal_learners_can_be_asked_about(make):
    data = hr.datasets.load("breast_cancer")
    oracle = hr.Oracle(data.frame, data.labels, hr.Budget(9), 3, classes=data.schema.classes)
    options = {"estimator": DecisionTreeClassifier(max_depth=3), "queries": 1} if make is hr.ExprilClassifier else {}
    fitted = make(**options).fit(data.frame[:200], oracle=oracle)
    found = read(fitted, data.frame, data.schema.classes)()
    assert found.tolist() == codes_of(fitted.predict(data.frame), data.schema.classes, len(data.frame)).tolist()
