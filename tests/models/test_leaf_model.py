"""What every model with leaves does, whether a rule list or a tree."""

from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.leaf_model import LeafModel
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Label, Literal, Schema
from tests.models.strategies import Case, cases, reached, rule_lists, trees

NONE = PrivacyCard.none("example", software="hedgerow")
SCHEMA = Schema({"x": Boolean()}, Label("y", (0, 1)))
LIST, TREE = RuleList(SCHEMA, (Rule((), (3, 1)),), NONE), Tree(SCHEMA, Leaf(label=1, probabilities=(0.2, 0.8)), NONE)


@given(case=cases(rule_lists() | trees()))
def test_row_decisions_have_the_prediction_of_the_leaf(case: Case) -> None:
    model, table = case.model, case.arrow()
    assert isinstance(model, LeafModel)
    leaves = [reached(model, row) for row in case.rows]
    assert model.apply(table).tolist() == leaves
    assert model.predict(table).tolist() == [model.predictions[leaf] for leaf in leaves]
    assert model.predict_proba(table).tolist() == [model.probabilities[leaf].tolist() for leaf in leaves]


@given(model=rule_lists() | trees())
def test_there_is_one_path_condition_prediction_and_record_a_leaf(model: LeafModel) -> None:
    records = model.get_rules()
    assert len(model) == len(model.leaves) == len(model.paths) == len(records)
    assert [record["condition"] for record in records] == list(model.conditions)
    assert [record["prediction"] for record in records] == list(model.predictions)
    assert [record[model.leaf_name] for record in records] == list(range(1, len(model) + 1))


@pytest.mark.parametrize(("model", "counts", "drawn"), [(LIST, True, False), (TREE, False, True)])
def test_what_was_released_of_leaves_is_known(model: LeafModel, counts: bool, drawn: bool) -> None:
    assert (model.has_counts, model.has_probabilities) == (counts, drawn)
    assert not model.has_points


ILL = Schema({"x": Boolean()}, Label("y", ("ill", "well")))
X_TRUE, COSTS = Literal("x", "true"), ((0.0, 10.0), (1.0, 0.0))
BY_COSTS = {  # "ill" has lower costs than "well" for 15 % of the rows, although "well" is more frequent
    "tree": Tree(ILL, Split(X_TRUE, Leaf((30, 170), "ill"), Leaf((10, 790), "well")), NONE, COSTS),
    "rule list": RuleList(ILL, (Rule((X_TRUE,), (30, 170), "ill"), Rule((), (10, 790), "well")), NONE, COSTS),
}


@pytest.mark.parametrize("model", BY_COSTS.values(), ids=list(BY_COSTS))
def test_text_records_exports_and_decisions_have_the_same_shares(model: Tree | RuleList) -> None:
    rows = pd.DataFrame({"x": [True, False]})
    assert model.predict(rows).tolist() == ["ill", "well"]
    assert model.predict_proba(rows) == pytest.approx(np.array([[0.15, 0.85], [0.0125, 0.9875]]))
    assert "15.0 % of 200" in str(model)
    assert "15.0 %" in model.to_html()
    assert [record["probability"] for record in model.get_rules()] == pytest.approx([0.15, 0.9875])
    assert model.decide(rows, class_weight={"ill": 3}).tolist() == ["well", "well"]
    assert model.decide(rows, class_weight={"ill": 10}).tolist() == ["ill", "well"]
    bands = model.score_bands(6).bands
    assert [band.probabilities for band in bands] == [(0.15, 0.85), pytest.approx((0.0125, 0.9875))]
    table = model.decisions(rows).explained()
    assert [share.as_py() for share in table["probability"]] == pytest.approx([0.15, 0.9875])
    written = [
        float(element.attrib[name])
        for element in ElementTree.fromstring(model.to_pmml()).iter()
        for name in ("probability", "confidence")
        if name in element.attrib and element.tag.endswith(("ScoreDistribution", "SimpleRule"))
    ]
    expected = [0.15, 0.85, 0.0125, 0.9875] if isinstance(model, Tree) else [0.15, 0.9875]
    assert written == pytest.approx(expected)
