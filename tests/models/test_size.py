"""Sizes of models: facts that follow from the release, and the sentence about them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.size import RuleListSize, ScorecardSize, SmallestShare, TreeSize
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Boolean, Number, Schema
from tests.models import strategies
from tests.models.noisy_counts import SCHEMA, SMOKER, card
from tests.models.scorecards import TWO

NONE = PrivacyCard.none("example", software="hedgerow")


def test_a_tree_states_leaves_depth_and_the_exact_smallest_share():
    tree = Tree(SCHEMA, Split(SMOKER, Leaf((10, 15)), Leaf((900, 75))), NONE)
    assert tree.size == TreeSize(2, 1, SmallestShare(0.025, 1.0))
    assert str(tree.size) == "tree with 2 leaves, depth 1; every leaf has at least 2 % of the rows"
    assert tree.size.to_dict() == {"leaves": 2, "depth": 1, "smallest": {"share": 0.025, "confidence": 1.0}}


@pytest.mark.parametrize(
    ("counts", "privacy", "ending"),
    [
        ((250, 750), card("1/5"), "; every leaf has at least 48 % of the rows (95 % confidence)"),
        ((8, 2), card("1/5"), ""),  # within noise of no rows
        ((-3, 1), card("1/5"), ""),
        ((20, 40), card("1/5"), "; every leaf has at least 3 % of the rows (95 % confidence)"),
        ((20, 40), card("1/5", "something else"), ""),  # the card does not state the noise
        (None, card("1/5"), ""),
    ],
)
def test_a_smallest_share_is_stated_only_if_the_noise_supports_it(counts, privacy, ending):
    tree = Tree(SCHEMA, Split(SMOKER, Leaf(counts, "no"), Leaf((900, 100))), privacy)
    assert str(tree.size) == f"tree with 2 leaves, depth 1{ending}"


def test_every_leaf_has_the_stated_share_with_the_stated_confidence():
    """20,000 draws. A noise 30 % too small for what is drawn would miss more often than one time in 20."""
    true, scale, rng = np.array([40, 60, 80, 100]), 5.0, np.random.default_rng(1)
    exact = np.tile(np.repeat(true // 2, 2), 20_000)
    drawn = np.reshape(DiscreteLaplace(Fraction(1, 5)).simulate(exact, rng), (20_000, 4, 2))
    noisy = drawn.sum(axis=2).tolist()
    covered = [CountNoise(scale).least_share(rows, 2) <= 40 / 280 for rows in noisy]
    assert np.mean(covered) > 0.95
    informative = [CountNoise(scale).least_share(rows, 2) > 0 for rows in noisy]
    assert np.mean(informative) > 0.4
    narrow = [CountNoise(0.3 * scale).least_share(rows, 2) <= 40 / 280 for rows in noisy]
    assert np.mean(narrow) < 0.95


def test_sums_of_a_number_support_a_share_too():
    schema = Schema({"smoker": Boolean()}, Number("days", 0, 10, levels=5))
    tree = Tree(schema, Split(SMOKER, Leaf(sums=(30, 10), mean=5.0), Leaf(sums=(100, 20), mean=5.0)), NONE)
    assert tree.size.smallest == SmallestShare(0.25, 1.0)


def test_a_rule_list_states_rules_and_conditions():
    rules = (Rule((SMOKER,), (30, 70)), Rule((), (850, 50)))
    text = "rule list with 2 rules, at most 1 condition each"
    listed = RuleList(SCHEMA, rules, NONE)
    assert listed.size == RuleListSize(2, 1, SmallestShare(0.1, 1.0))
    assert str(listed.size) == f"{text}; every rule decides at least 10 % of the rows"
    assert str(RuleList(SCHEMA, (Rule((), label="no"),), NONE).size) == "rule list with the default rule only"


def test_a_scorecard_states_what_it_prints():
    bins = TWO.get_points()
    points = [bin_["points"] for bin_ in bins]
    assert TWO.size == ScorecardSize(len(TWO.parts), len(bins), min(points), max(points))
    assert str(TWO.size).endswith(f"{len(bins)} bins, points from {min(points)} to {max(points)}")
    assert str(ScorecardSize(0, 0, 0, 0)) == "scorecard without attributes"


@settings(max_examples=30)
@given(strategies.cases())
def test_every_model_has_a_size_of_plain_numbers(case):
    size = case.model.size
    assert str(size).startswith(case.model.kind)
    assert {type(value) for value in size.to_dict().values()} <= {int, dict, type(None)}
