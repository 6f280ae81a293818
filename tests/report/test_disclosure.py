"""Sections on the model itself."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.models import Leaf, Rule, RuleList
from hedgerow.models.count_noise import CountNoise
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.report import Report, Subject, accuracy, disclosure, leaves
from tests.cli.table import SCHEMA as CLINIC
from tests.cli.table import a_scorecard
from tests.report.subjects import CARD, COUNTED, SCHEMA, a_tree, overfitted, without_privacy


def test_the_model_is_readable_as_it_is():
    """Of noisy counts as much as the noise leaves, as in the model's own text; exact counts as they are."""
    noisy = a_tree(COUNTED, counts=((4, 30), (50, 1), (-2, 0)))
    (grid,) = disclosure.model(Subject(noisy)).grids
    assert tuple(column.name for column in grid.columns) == ("if", "then", "probability", "rows of no", "rows of yes")
    assert [row[0].partition(" ")[2] for row in grid.rows] == list(noisy.conditions)
    assert [row[1:] for row in grid.rows] == [
        ("yes", "67 to 100 %", "at most 10", "about 30"),
        ("no", "84 to 100 %", "about 50", "at most 7"),
        ("no", "at most 6 rows, possibly none", "", ""),
    ]
    assert grid.title.startswith("Leaves")
    (grid,) = disclosure.model(Subject(without_privacy())).grids
    assert grid.rows[0][1:] == ("yes", "90.9 %", "3", "30")


def test_rules_have_an_order_and_labels_no_counts():
    rules = RuleList(SCHEMA, (Rule((), label="no"),), CARD)
    (grid,) = disclosure.model(Subject(rules)).grids
    assert tuple(column.name for column in grid.columns) == ("if", "then")
    assert grid.title == "Rules: the first matching rule decides"


def test_a_scorecard_shows_points_and_what_totals_mean(tmp_path):
    (tmp_path / "schema.yaml").write_text(CLINIC)
    card = a_scorecard(tmp_path)
    points, totals = disclosure.model(Subject(card)).grids
    assert len(points.rows) == len(card.get_points())
    assert [row[0] for row in totals.rows] == [risk["total"] for risk in card.risks()]


def test_a_scorecard_is_not_told_to_release_counts(tmp_path):
    """It has no leaves to count rows in: `hedgerow fit --model scorecard --release-counts` is refused."""
    (tmp_path / "schema.yaml").write_text(CLINIC)
    result = accuracy.released_accuracy(Subject(a_scorecard(tmp_path)))
    assert result.measure.startswith("Give the rows")
    assert "--release-counts" not in result.measure
    assert (
        "--release-counts"
        in accuracy.released_accuracy(Subject(RuleList(SCHEMA, (Rule((), label="no"),), CARD))).measure
    )


def test_a_page_lists_the_ten_worst_leaves_with_predictions():
    tree, schema = overfitted()
    subject = Subject(tree, schema=schema)
    assert disclosure.model(subject).grids == ()
    (grid,) = leaves.leaves(subject, subject.leaves()).shown
    assert (grid.caption, len(grid.first)) == ("Leaves, smallest flagged leaf first (first 10 of 86 rows)", 10)
    assert [column.key for column in grid.columns] == [
        "leaf",
        "predicts",
        "rows",
        "rows_class_1",
        "rows_class_2",
        "why",
    ]
    for name, said, rows, *_ in grid.rows:
        number = int(name.partition(".")[0]) - 1  # the leaf of code = number
        assert (said, rows) == (str(number % 2), 1 if number < 31 else 3)
    assert Report.of(tree, schema=schema).board.leaves == grid
    assert "schema=" in disclosure.model(Subject(tree)).measure


def test_accuracy_by_released_counts():
    section = accuracy.released_accuracy(Subject(a_tree(COUNTED)))  # (4, 30), (50, 1), (-2, 0): 80 of 85, and 54
    assert [fact.value for fact in section.facts] == [80 / 85, 54 / 85]
    assert "about 94.1 % (82.5 to 100.0 %) of the training rows" in section.answer
    assert "about 63.5 % (52.9 to 73.3 %)" in section.answer


EXACT = np.array([[40, 300], [500, 10], [20, 60]])
SAID = [1, 0, 1]


@pytest.mark.parametrize(("scale", "is_right"), [(1, True), (5, False)])
def test_intervals_of_accuracy_by_released_counts_hold_in_95_of_100(scale, is_right):
    """Of 40 releases at ε = 1/2, at most 5 % miss on average: more than 8 misses have a chance below 0.1 %."""
    truth, rng, misses = EXACT[range(3), SAID].sum() / EXACT.sum(), np.random.default_rng(0), 0
    mechanism = DiscreteLaplace(Fraction(1, 2) / scale)
    for _ in range(40):
        noisy = np.reshape(mechanism.simulate(EXACT.ravel(), rng), EXACT.shape)
        tree = a_tree(counts=tuple(map(tuple, noisy.tolist())))
        _, (low, high) = accuracy._by_counts(replace(tree.leaf_release, noise=CountNoise(2.0)), None)["share"]
        misses += not low <= truth <= high
    assert (misses <= 8) is is_right


@pytest.mark.parametrize("word", ["geometric", ""])
def test_accuracy_by_counts_of_unknown_noise_is_unknown(word):
    """A card that does not state the noise must not lead to an accuracy without an interval."""
    draw, counts = COUNTED.charges
    reworded = replace(counts, mechanism=word)
    tree = a_tree(replace(COUNTED, charges=(draw, reworded)))
    section = accuracy.released_accuracy(Subject(tree, costs={"no": {"yes": 1}, "yes": {"no": 5}}))
    assert section.facts == ()
    assert section.answer.startswith("Unknown: the privacy card")


@pytest.mark.parametrize(
    "model",
    [
        without_privacy(),
        a_tree(COUNTED, counts=((0, 0), (-1, 0), (0, 0))),
        RuleList(SCHEMA, (Rule((), label="no"),), CARD),
    ],
)
def test_accuracy_is_not_measured_without_released_counts(model):
    assert accuracy.released_accuracy(Subject(model)).answer.startswith("Not measured")


def test_a_leaf_without_counts_beside_one_with_them():
    rules = RuleList(SCHEMA, (Rule((), Leaf((5, 3)).counts),), COUNTED)
    assert [fact.value for fact in accuracy.released_accuracy(Subject(rules)).facts] == [5 / 8, 5 / 8]
