from fractions import Fraction
from itertools import product
from math import isnan, log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import hedgerow as hr
from hedgerow.audit.probabilistic.learner import LearnerKnowledge, condition_on_learner, disclosed_by
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Integer, Label, Literal, Real, Schema

LABEL = Label("y", (0, 1))
BITS = Schema({"a": Boolean(), "b": Boolean(), "c": Boolean()}, LABEL)
GREEDY = hr.GreedyRuleListClassifier(schema=BITS, max_rules=3, max_literals=1)
TREE = hr.OptimalTreeClassifier(schema=BITS, max_depth=2)
MIXED = Schema({"n": Integer(0, 4, cuts=(1,), missing="bin", missing_values=(3,)), "b": Boolean()}, LABEL)
LIST_OF_TWO = hr.GreedyRuleListClassifier(schema=MIXED, max_rules=2, max_literals=1)


def model_of(learner):
    return learner.rule_list_.rules if hasattr(learner, "rule_list_") else learner.tree_.root


def enumerated(learner, schema, values, X, y):
    """Learn from every table, in every order, whose rows come to the same leaves: too simple to be wrong."""
    fitted = learner.fit(X, y)
    expected, released = model_of(fitted), getattr(fitted, "rule_list_", None) or fitted.tree_
    rows = list(product(*values))
    leaves = released.apply(pd.DataFrame(rows, columns=schema.names).convert_dtypes())
    by_leaf = [[row for row, leaf in zip(rows, leaves, strict=True) if leaf == own] for own in released.apply(X)]
    tables = [pd.DataFrame(table, columns=schema.names).convert_dtypes() for table in product(*by_leaf)]
    return sum(model_of(learner.fit(table, y)) == expected for table in tables), len(tables)


def always(model):
    """Return a learner that makes the same model of any rows."""
    return lambda *_: model


def in_one_line(found):
    return " ".join(str(found).split())


def table_of(schema, rows):
    return pd.DataFrame(rows, columns=schema.names).convert_dtypes()


SHORT = hr.GreedyRuleListClassifier(schema=BITS, max_rules=2, max_literals=1)
MIXED_LEAVES = [(0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 1), (0, 1, 0)], [0, 1, 1, 1, 0]
FIVE_ROWS = [(0, 1, 1), (1, 1, 0), (1, 0, 1), (0, 0, 0), (1, 1, 1)], [0, 1, 1, 0, 1]
FOUR_ROWS = [(0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 1)], [0, 0, 1, 0]
TABLES = [
    (GREEDY, [(0, 0, 1), (1, 0, 0), (1, 1, 1)], [0, 1, 0]),
    pytest.param(GREEDY, *FOUR_ROWS, marks=pytest.mark.slow),
    pytest.param(GREEDY, *FIVE_ROWS, marks=pytest.mark.slow),
    pytest.param(GREEDY, [(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 0)], [0, 1, 1, 0], marks=pytest.mark.slow),
    (TREE, [(0, 0, 1), (1, 0, 0), (1, 1, 1)], [0, 1, 0]),
    pytest.param(TREE, *FOUR_ROWS, marks=pytest.mark.slow),
    pytest.param(TREE, [(0, 1, 1), (1, 1, 0), (1, 0, 1), (0, 0, 0)], [1, 0, 1, 0], marks=pytest.mark.slow),
    pytest.param(SHORT, *MIXED_LEAVES, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("learner", "rows", "labels"), TABLES)
def test_exact_count_is_that_of_all_ordered_tables(learner, rows, labels):
    X, y = table_of(BITS, rows), np.array(labels)
    consistent, tables = enumerated(learner, BITS, [(0, 1)] * 3, X, y)
    found = condition_on_learner(learner.fit(X, y), learner)
    assert (found.consistent, found.examined, found.exact) == (consistent, tables, True)
    assert found.entropy_bits == pytest.approx(log2(consistent), abs=1e-12)
    assert found.model_bits == pytest.approx(log2(tables), abs=1e-12)
    assert found.uncertainty == pytest.approx(log2(consistent) / (3 * len(y)), abs=1e-12)
    assert found.entropy_interval == (found.entropy_bits, found.entropy_bits)


@pytest.mark.statistics
def test_bins_of_several_values_count_as_often():
    X, y = table_of(MIXED, [(0, True), (2, False), (4, True), (None, False)]), np.array([0, 1, 1, 0])
    expected = enumerated(LIST_OF_TWO, MIXED, [(0, 1, 2, 4, None), (False, True)], X, y)
    for learner in (LIST_OF_TWO, lambda X, y: clone(LIST_OF_TWO).fit(X, y)):  # enumerated once for both
        found = condition_on_learner(LIST_OF_TWO.fit(X, y), learner)
        assert found.exact
        assert (found.consistent, found.examined) == expected
        assert 0 < found.share < 1


def test_some_of_these_leaves_hold_several_classes():
    model = SHORT.fit(table_of(BITS, MIXED_LEAVES[0]), np.array(MIXED_LEAVES[1])).rule_list_
    assert any(min(rule.counts) > 0 for rule in model.rules)


def test_two_equal_columns_by_hand():
    # y is b; the learner would have taken a, if a were b or not b in all four rows: 2 of the 2^4 tables
    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    learner = hr.GreedyRuleListClassifier(schema=None, max_rules=2, max_literals=1, negations=False)
    found = condition_on_learner(learner.fit(X, X[:, 1]), learner)
    assert found.share == Fraction(14, 16)
    assert found.entropy_bits == log2(14)


@settings(max_examples=settings().max_examples // 2)
@given(st.data())
def test_the_true_table_is_always_consistent(data):
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=2, max_size=4))
    labels = data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    found = condition_on_learner(GREEDY.fit(table_of(BITS, rows), np.array(labels)), GREEDY)
    assert 1 <= found.consistent <= found.examined
    assert 0 <= found.entropy_bits <= found.model_bits + 1e-12


X_DRAWN, Y_DRAWN = table_of(BITS, FIVE_ROWS[0]), np.array(FIVE_ROWS[1])


@pytest.mark.statistics
def test_intervals_of_draws_hold_the_exact_share():
    clf = GREEDY.fit(X_DRAWN, Y_DRAWN)
    exact = condition_on_learner(clf, GREEDY)
    drawn = [condition_on_learner(clf, GREEDY, limit=0, draws=60, random_state=seed) for seed in range(16)]
    assert not any(found.exact for found in drawn)

    def covered(share):
        return sum(low <= share <= high for low, high in (found.share_interval for found in drawn))

    # each interval fails with probability 5 % or less, five of 16 with less than 1e-3
    assert covered(float(exact.share)) > 11
    assert covered(0.7 * float(exact.share)) < 11
    held = [found.entropy_interval[0] <= exact.entropy_bits <= found.entropy_interval[1] for found in drawn]
    assert sum(held) == covered(float(exact.share))


@pytest.mark.statistics
def test_values_are_drawn_for_functions_as_bins_are_for_estimators():
    X, y = table_of(MIXED, [(0, True), (2, False), (4, True), (None, False)] * 2), np.array([0, 1, 1, 0] * 2)
    clf = LIST_OF_TWO.fit(X, y)
    exact = condition_on_learner(clf, LIST_OF_TWO, limit=10**6)
    drawn = condition_on_learner(clf, lambda X, y: LIST_OF_TWO.fit(X, y), limit=0, draws=200, random_state=1)
    assert exact.exact
    low, high = drawn.share_interval
    assert low <= exact.share <= high


def test_draws_are_repeatable():
    clf = GREEDY.fit(X_DRAWN, Y_DRAWN)
    one, other = (condition_on_learner(clf, GREEDY, limit=0, draws=50, random_state=2) for _ in range(2))
    assert one == other


def test_a_learner_that_ignores_the_rows_rules_nothing_out():
    model = GREEDY.fit(X_DRAWN, Y_DRAWN).rule_list_
    found = condition_on_learner(model, always(model))
    assert found.share == 1
    assert found.entropy_bits == pytest.approx(found.model_bits)


def test_a_learner_of_other_models_is_refused_or_found_in_no_draw():
    model = GREEDY.fit(X_DRAWN, Y_DRAWN).rule_list_
    other = hr.GreedyRuleListClassifier(schema=BITS, max_rules=1)
    with pytest.raises(ValueError, match="expected the learner of the model"):
        condition_on_learner(model, other)
    found = condition_on_learner(model, other, limit=0, draws=20)
    assert isnan(found.entropy_bits)
    assert found.entropy_interval[0] == 0
    assert found.entropy_interval[1] < found.model_bits


def test_labels_that_a_leaf_was_given_are_told_too():
    rule = (Literal("a", "true"),)
    card = PrivacyCard.none("example", software="hedgerow")
    one = RuleList(BITS, (Rule(rule, (1, 1), label=1), Rule((), (1, 0))), card)
    other = RuleList(BITS, (Rule(rule, (1, 1), label=0), Rule((), (1, 0))), card)
    assert condition_on_learner(one, always(one)).share == 1
    with pytest.raises(ValueError, match="expected the learner of the model"):
        condition_on_learner(one, always(other))


def test_bits_are_never_below_0():
    found = LearnerKnowledge(3.0, 10.0, 0, 100, exact=False)
    low, high = found.share_interval
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 100))  # Clopper and Pearson without a hit
    assert found.entropy_interval == (0, 0)
    some = LearnerKnowledge(30.0, 60.0, 1, 100, exact=False)
    assert some.entropy_bits == pytest.approx(30 - log2(100))
    assert some.uncertainty == pytest.approx((30 - log2(100)) / 60)
    assert some.share_interval[0] == pytest.approx(1 - 0.975 ** (1 / 100))
    assert LearnerKnowledge(30.0, 60.0, 1, 100, exact=False, confidence=0.5).share_interval[0] > some.share_interval[0]


def test_results_are_said_in_words():
    assert in_one_line(LearnerKnowledge(30.0, 60.0, 2**28, 2**30, exact=True)) == (
        "Given the model, and which row is in which region, the residual entropy is 30.0 of 60.0 bits "
        "(Dist_G = 0.500). To 25 % of the 1,073,741,824 "
        "possible tables, the learner fits this model. Given the learner, too, it is 28.0 bits (Dist_G = 0.467)."
    )
    assert "of the about 2^60 possible tables" in in_one_line(LearnerKnowledge(60.0, 99.0, 2**58, 2**60, exact=True))
    assert in_one_line(LearnerKnowledge(30.0, 60.0, 50, 100, exact=False)) == (
        "Given the model, and which row is in which region, the residual entropy is 30.0 of 60.0 bits "
        "(Dist_G = 0.500). To 50 of 100 possible tables "
        "drawn at random, the learner fits this model: 40 % to 60 % of all with 95 % confidence. Given the learner, "
        "too, it is 28.7 to 29.3 bits (Dist_G from 0.478 to 0.488)."
    )


def test_bad_arguments_are_refused():
    model = GREEDY.fit(X_DRAWN, Y_DRAWN).rule_list_
    with pytest.raises(ValueError, match="expected a deterministic learner"):
        condition_on_learner(model, hr.PrivateRuleListClassifier(epsilon=1, schema=BITS))
    for learner in (hr.GreedyRuleListClassifier, "greedy"):
        with pytest.raises(TypeError, match="an estimator of hedgerow or a function"):
            condition_on_learner(model, learner)
    private = hr.PrivateRuleListClassifier(epsilon=1, search="greedy", schema=BITS, random_state=0).fit(
        X_DRAWN, Y_DRAWN
    )
    with pytest.raises(ValueError, match="exact counts of each class"):
        condition_on_learner(private, GREEDY)
    wide = Schema({"n": Integer(0, 9, cuts=(4,)), "r": Real(0, 1, cuts=(0.5,))}, LABEL)
    card = PrivacyCard.none("example", software="hedgerow")
    real = RuleList(wide, (Rule((Literal("r", "<=", (0.5,)),), (1, 1)), Rule((), (1, 0))), card)
    with pytest.raises(ValueError, match="a resolution for each real attribute"):
        condition_on_learner(real, always(real))
    assert condition_on_learner(real, always(real), resolution={"r": 0.5}, limit=100, draws=100).share == 1
    uncut = Schema({"n": Integer(0, 9, cuts=()), "r": Real(0, 1, cuts=(0.5,))}, LABEL)
    split = RuleList(wide, (Rule((Literal("n", "<=", (4,)),), (1, 1)), Rule((), (1, 0))), card)
    with pytest.raises(ValueError, match="expected thresholds that are cut points of the schema"):
        condition_on_learner(split, GREEDY, uncut)


def test_a_model_discloses_its_drawn_probabilities_too():
    card = PrivacyCard.none("example", software="hedgerow")
    models = [RuleList(BITS, (Rule((), None, 1, shares),), card) for shares in ((0.25, 0.75), (0.05, 0.95), None)]
    assert len({disclosed_by(model, BITS) for model in models}) == 3
    assert disclosed_by(models[0], BITS) == disclosed_by(RuleList.from_json(models[0].to_json()), BITS)
