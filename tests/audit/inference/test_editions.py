"""Differences of the counts of two editions, held against the rows that were added."""

from itertools import chain, combinations, product

import pandas as pd
import pytest

import hedgerow.audit.inference.editions as editions
from hedgerow.audit.inference.editions import edition_changes
from hedgerow.audit.readers.read import paths_of
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema
from tests.report.subjects import COUNTED, a_tree

SCHEMA = Schema({"age": Integer(0, 99, cuts=(30, 60)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
NONE = PrivacyCard.none("example", software="hedgerow")
OLD, YOUNG, SMOKER = Literal("age", ">", (60,)), Literal("age", "<=", (30,)), Literal("smoker", "true", ())


def a_list(*counts):
    """Return a rule list: over 60; else smokers; else the others."""
    first, second, rest = (Leaf(own) for own in counts)
    return RuleList(SCHEMA, (Rule.of((OLD,), first), Rule.of((SMOKER,), second), Rule.of((), rest)), NONE)


def of(old, new):
    (before, schema), (after, _) = paths_of(old), paths_of(new)
    return edition_changes(before, after, schema)


def test_four_added_rows_of_one_class_are_the_difference():
    changes = of(a_list((10, 62), (18, 15), (730, 95)), a_list((10, 62), (18, 19), (730, 95)))
    assert [change.differences for change in changes.leaves] == [(0, 0), (0, 4), (0, 0)]
    assert changes.total.differences == (0, 4)
    small = changes.disclosive(10)
    assert [(change.leaves, change.rows, change.is_pure) for change in small] == [
        (((1,), (1,)), 4, True),
        (None, 4, True),
    ]


@pytest.mark.parametrize("added", [*product((0, 1, 9, 10, 40), repeat=2)])
def test_few_rows_or_one_class_are_disclosive(added):
    no, yes = added
    changes = of(a_list((50, 50), (50, 50), (50, 50)), a_list((50 + no, 50 + yes), (50, 50), (50, 50)))
    expected = 0 < no + yes < 10 or (no == 0) != (yes == 0)
    assert bool(changes.disclosive(10)) == expected


def test_rows_that_moved_to_another_class_are_counted_twice():
    changes = of(a_list((50, 50), (50, 50), (50, 50)), a_list((53, 47), (50, 50), (50, 50)))
    assert [(change.rows, change.is_pure) for change in changes.disclosive(10)] == [(6, False), (6, False)]


def test_rules_after_a_different_rule_are_not_equal():
    old = a_list((50, 50), (50, 50), (50, 50))
    rules = Rule.of((YOUNG,), Leaf((50, 50))), Rule.of((SMOKER,), Leaf((50, 53))), Rule.of((), Leaf((50, 50)))
    new = RuleList(SCHEMA, rules, NONE)
    assert of(old, new).leaves == ()
    assert of(old, new).total.differences == (0, 3)


def test_leaves_of_a_tree_are_equal_in_any_order_of_tests():
    def a_copy(first, second, counts):
        (both, only_first), (only_second, neither) = counts
        return Tree(
            SCHEMA,
            Split(first, Split(second, Leaf(both), Leaf(only_first)), Split(second, Leaf(only_second), Leaf(neither))),
            NONE,
        )

    a, b, c, d = (10, 10), (20, 20), (30, 30), (40, 40)
    changes = of(a_copy(OLD, SMOKER, ((a, b), (c, d))), a_copy(SMOKER, OLD, ((a, c), (b, (40, 41)))))
    assert sorted(change.differences for change in changes.leaves) == [(0, 0), (0, 0), (0, 0), (0, 1)]


def test_a_list_and_a_tree_with_the_same_first_leaf_are_compared():
    tree = a_tree(NONE, counts=((10, 66), (18, 15), (730, 95)))
    changes = of(a_list((10, 62), (18, 15), (730, 95)), tree)
    assert (0, 4) in [change.differences for change in changes.leaves]


SIX = Leaf((6, 6))
MODELS = {
    "list": a_list((6, 6), (6, 6), (6, 6)),
    "other list": RuleList(
        SCHEMA, (Rule.of((SMOKER,), SIX), Rule.of((OLD,), SIX), Rule.of((YOUNG,), SIX), Rule.of((), SIX)), NONE
    ),
    "by age": Tree(SCHEMA, Split(OLD, SIX, Split(YOUNG, SIX, SIX)), NONE),
    "by both": Tree(SCHEMA, Split(SMOKER, Split(OLD, SIX, SIX), Split(YOUNG, SIX, SIX)), NONE),
    "by smoking": Tree(SCHEMA, Split(SMOKER, SIX, SIX), NONE),
    "deeper": Tree(SCHEMA, Split(OLD, Split(SMOKER, SIX, SIX), Split(SMOKER, SIX, SIX)), NONE),
}
ROWS = pd.DataFrame(product((20, 40, 70), (True, False)), columns=["age", "smoker"])


def equal_unions(old, new):
    """Return the smallest sets of leaves of two models with the same rows, by enumerating sets (not all leaves)."""
    sides = [paths_of(model)[0] for model in (old, new)]
    leaves = [paths.apply(ROWS, SCHEMA) for paths in sides]
    some = [[*chain.from_iterable(combinations(range(len(p)), n) for n in range(1, len(p)))] for p in sides]
    both = [
        (ours, theirs)
        for ours, theirs in product(*some)
        if ([i in ours for i in leaves[0]] == [j in theirs for j in leaves[1]])
    ]
    return {own for own in both if not any(set(o[0]) < set(own[0]) and set(o[1]) <= set(own[1]) for o in both)}


@pytest.mark.parametrize(("old", "new"), [*product(MODELS, repeat=2)])
def test_the_groups_are_the_smallest_equal_unions_of_leaves(old, new):
    changes = of(MODELS[old], MODELS[new])
    assert {change.leaves for change in changes.leaves} == equal_unions(MODELS[old], MODELS[new])
    for change in changes.leaves:
        assert (change.before, change.after) == tuple((6 * len(own), 6 * len(own)) for own in change.leaves)


def test_a_leaf_and_its_two_later_parts_are_subtracted():
    before = Tree(SCHEMA, Split(OLD, Leaf((20, 20)), Leaf((30, 30))), NONE)
    after = Tree(SCHEMA, Split(OLD, Split(SMOKER, Leaf((12, 15)), Leaf((8, 9))), Leaf((40, 40))), NONE)
    (change,) = of(before, after).disclosive(10)
    assert (change.leaves, change.differences) == (((0,), (0, 1)), (0, 4))


def test_too_many_leaves_leave_only_the_totals(monkeypatch):
    monkeypatch.setattr(editions, "MOST_STEPS", 8)
    changes = of(a_list((50, 50), (50, 50), (50, 50)), a_list((50, 50), (50, 53), (50, 50)))
    assert (changes.is_complete, changes.leaves, changes.total.differences) == (False, (), (0, 3))


def test_noisy_counts_are_not_subtracted():
    assert of(a_tree(COUNTED), a_tree(COUNTED)) is None
    assert of(a_list((10, 62), (18, 15), (730, 95)), a_tree(COUNTED)) is None
