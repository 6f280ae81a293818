"""Hypotheses of hedgerow's are read as data and predict what they predict themselves."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.errors import DomainError
from hedgerow.hypotheses.hypothesis import codes_of
from hedgerow.hypotheses.read import bins_or_outside
from hedgerow.schema.attributes import OUTSIDE
from hedgerow.tables.frames import column_of
from tests.hypotheses.hypotheses import FRAME, ROWS, RULES, SCHEMA, read


def test_a_row_that_a_models_schema_refuses_has_no_class():
    model = hr.models.RuleList(SCHEMA, RULES, hr.privacy.PrivacyCard.none("example", software="test"))
    result = read(model, ROWS, ("no", "yes"))()
    assert result.tolist() == [1, 1, 0, -1, -1, 1, -1, 1]
    for i, code in enumerate(result):
        if code >= 0:
            assert model.predict(ROWS[i : i + 1])[0] == ("no", "yes")[code]
        else:
            with pytest.raises(hr.errors.DomainError, match="some values are"):
                model.predict(ROWS[i : i + 1])


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (hr.PrivateTreeClassifier, {"search": "greedy"}),
        (hr.PrivateRuleListClassifier, {"search": "greedy"}),
        (hr.PrivateScorecardClassifier, {}),
    ],
)
def test_hedgerows_estimators_are_read_as_their_models(make, options):
    data = hr.datasets.load("breast_cancer")
    fitted = make(epsilon=4.0, schema=data.schema, **options).fit(data.frame, data.labels)
    result = read(fitted, data.frame, data.schema.classes)()
    assert result.tolist() == codes_of(fitted.predict(data.frame), data.schema.classes, len(data.frame)).tolist()


@pytest.mark.parametrize("make", [hr.MarginalLogisticClassifier, hr.ExprilClassifier])
def test_marginal_learners_can_be_asked_about(make):
    data = hr.datasets.load("breast_cancer")
    oracle = hr.Oracle(data.frame, data.labels, hr.Budget(9), 3, classes=data.schema.classes)
    options = {"estimator": DecisionTreeClassifier(max_depth=3), "queries": 1} if make is hr.ExprilClassifier else {}
    fitted = make(**options).fit(data.frame[:200], oracle=oracle)
    result = read(fitted, data.frame, data.schema.classes)()
    assert result.tolist() == codes_of(fitted.predict(data.frame), data.schema.classes, len(data.frame)).tolist()


def test_a_row_that_a_scorecards_schema_refuses_has_no_class():
    parts = tuple(
        hr.models.AttributePoints(name, tuple((3 * i - 2,) for i in range(attribute.n_bins)))
        for name, attribute in SCHEMA.attributes
    )
    card = hr.models.Scorecard(SCHEMA, (1,), parts, 0.5, None, hr.privacy.PrivacyCard.none("example", software="test"))
    result = read(card, ROWS, ("no", "yes"))()
    assert -1 in result
    assert {0, 1} & set(result.tolist())
    for i, code in enumerate(result):
        if code >= 0:
            assert card.predict(ROWS[i : i + 1])[0] == ("no", "yes")[code]
        else:
            with pytest.raises(hr.errors.DomainError, match="some values are"):
                card.predict(ROWS[i : i + 1])


def test_a_scorecard_predicts_the_class_with_the_largest_total():
    schema = hr.Schema({"a": hr.Real(-9.0, 9.0, (-0.5, 0.5), missing="bin", outside="clip")}, hr.Label("y", (3, 5, 8)))
    points = ((1, 0, 4), (2, 2, 2), (0, 5, 1), (0, 0, 1))
    parts = (hr.models.AttributePoints("a", points),)
    card = hr.models.Scorecard(
        schema, (0, 0, 0), parts, 0.5, None, hr.privacy.PrivacyCard.none("example", software="test")
    )
    frame = FRAME[["a"]]
    assert read(card, frame, (3, 5, 8))().tolist() == codes_of(card.predict(frame), (3, 5, 8), len(frame)).tolist()
    assert len(set(card.predict(frame).tolist())) == 3


def test_points_of_numbers_do_not_fit_a_column_of_booleans():
    schema = hr.Schema({"b": hr.Real(0.0, 1.0, (0.5,), missing="bin", outside="clip")}, hr.Label("y", (0, 1)))
    parts = (hr.models.AttributePoints("b", ((0,), (1,), (0,))),)
    card = hr.models.Scorecard(schema, (0,), parts, 0.5, None, hr.privacy.PrivacyCard.none("example", software="test"))
    with pytest.raises(hr.errors.HypothesisError, match=r"'b' is real, .*boolean"):
        read(card, FRAME[["b"]])


@pytest.mark.parametrize("make", [hr.Integer, hr.Real])
def test_an_invalid_row_has_no_class_independent_of_other_rows(make):
    """Text that is no number, or one beyond float64, was once put into the bin of values outside the domain."""
    words = ["5", "abc", "200", None, "1e400"]
    attribute = make(0, 9, (4,), outside="bin", missing="bin")
    result = bins_or_outside(attribute, column_of(words, "x"))
    assert result.tolist() == [1, OUTSIDE, 3, 2, OUTSIDE]
    for word, bin in zip(words, result, strict=True):
        alone = column_of(np.array([word], dtype=object), "x")
        if bin == OUTSIDE:
            with pytest.raises(DomainError, match=r"^column 'x': "):
                attribute.encode(alone)
        elif word is not None:
            assert attribute.encode(alone).tolist() == [bin]
