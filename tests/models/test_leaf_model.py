"""What every model with leaves does, whether a rule list or a tree."""

import pytest
from hypothesis import given

from hedgerow.models import Leaf, Rule, RuleList, Tree
from hedgerow.models.leaf_model import LeafModel
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Label, Schema
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
