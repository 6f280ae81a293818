"""Sections on the model itself."""

import pytest

from hedgerow.models import Leaf, Rule, RuleList
from hedgerow.report import Form, Subject, accuracy, contents, disclosure
from tests.cli.table import SCHEMA as CLINIC
from tests.cli.table import a_scorecard
from tests.report.subjects import CARD, SCHEMA, a_tree, overfitted, without_privacy


def test_the_model_is_readable_as_it_is():
    model = a_tree()
    found = disclosure.model(Subject.of(model, Form(limits="not for triage")))
    assert found.facts[0].text == "not for triage"
    (grid,) = found.grids
    assert grid.columns == ("if", "then", "probability", "rows of no", "rows of yes")
    for row, rule in zip(grid.rows, model.get_rules(), strict=True):
        assert row[0].endswith(rule["condition"])
        assert row[1:] == (rule["prediction"], rule["probability"], *rule["counts"].values())
    assert grid.title.startswith("The leaves")


def test_rules_have_an_order_and_labels_no_counts():
    rules = RuleList(SCHEMA, (Rule((), label="no"),), CARD)
    (grid,) = disclosure.model(Subject.of(rules)).grids
    assert grid.columns == ("if", "then")
    assert grid.title == "The rules: the first that holds decides"


def test_a_scorecard_shows_points_and_what_totals_mean(tmp_path):
    (tmp_path / "schema.yaml").write_text(CLINIC)
    card = a_scorecard(tmp_path)
    points, totals = disclosure.model(Subject.of(card)).grids
    assert len(points.rows) == len(card.get_points())
    assert [row[0] for row in totals.rows] == [one["total"] for one in card.risks()]


def test_a_scorecard_is_not_told_to_release_counts(tmp_path):
    """It has no leaves to count rows in: `hedgerow fit --model scorecard --release-counts` is refused."""
    (tmp_path / "schema.yaml").write_text(CLINIC)
    found = accuracy.released_accuracy(Subject.of(a_scorecard(tmp_path)))
    assert found.measure.startswith("Give the rows")
    assert "--release-counts" not in found.measure
    assert (
        "--release-counts"
        in accuracy.released_accuracy(Subject.of(RuleList(SCHEMA, (Rule((), label="no"),), CARD))).measure
    )


def test_long_models_are_cut_and_say_so(monkeypatch):
    monkeypatch.setattr(contents, "MOST_ROWS", 2)
    (grid,) = disclosure.model(Subject.of(a_tree())).grids
    assert len(grid.rows) == 2
    assert grid.title.endswith("; the first 2 of 3")
    tree, schema = overfitted()
    assert disclosure.model(Subject.of(tree, schema=schema)).grids[0].title.endswith("the first 2 of 86")
    assert "is not read of other libraries" in disclosure.model(Subject.of(tree, schema=schema)).answer
    assert "schema=" in disclosure.model(Subject.of(tree)).measure


def test_accuracy_by_released_counts():
    section = accuracy.released_accuracy(Subject.of(a_tree()))  # (4, 30), (50, 1), (-2, 0): 80 of 85, and 54
    assert [fact.value for fact in section.facts] == [80 / 85, 54 / 85]
    assert "About 94 of 100" in section.answer


@pytest.mark.parametrize(
    "model",
    [without_privacy(), a_tree(counts=((0, 0), (-1, 0), (0, 0))), RuleList(SCHEMA, (Rule((), label="no"),), CARD)],
)
def test_accuracy_is_not_measured_without_released_counts(model):
    assert accuracy.released_accuracy(Subject.of(model)).answer.startswith("Not measured.")


def test_a_leaf_without_counts_beside_one_with_them():
    rules = RuleList(SCHEMA, (Rule((), Leaf((5, 3)).counts),), CARD)
    assert [fact.value for fact in accuracy.released_accuracy(Subject.of(rules)).facts] == [5 / 8, 5 / 8]
