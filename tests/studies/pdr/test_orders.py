from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from hedgerow.learn import GreedyRuleListClassifier
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.literals import Literal
from studies.pdr.orders import order_range


def table(seed, rows=60, columns=6):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (rows, columns)), columns=[f"x{i}" for i in range(columns)])
    return X, pd.Series(rng.integers(0, 2, rows), name="y")


def by_hand(rules, default, X, bits, needed):
    """All orders of all rules, one after the other: those that predict the same and leave each rule enough rows."""
    predicted = follow(rules, default, X)[0]
    totals = []
    for order in permutations(rules):
        labels, places = follow(order, default, X)
        counts = np.bincount(places, minlength=len(rules) + 1)
        runs_kept = [label for _, label in order] == [label for _, label in rules]
        if runs_kept and (labels == predicted).all() and (counts[:-1] >= needed * len(X)).all():
            totals.append(sum(counts * np.array(bits)))
    return min(totals), max(totals)


def follow(rules, default, X):
    labels, places = np.full(len(X), default), np.full(len(X), len(rules))
    for i in reversed(range(len(rules))):
        (name, value), label = rules[i]
        labels[X[name] == value], places[X[name] == value] = label, i
    return labels, places


def as_model(rules, default, X, y):
    listed = [Rule((Literal(name, "true" if value else "false"),), None, label) for (name, value), label in rules]
    schema = boolean_schema(list(X.columns), y)
    return RuleList(schema, (*listed, Rule((), None, default)), PrivacyCard.none("not private", software="x"))


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 40))])
@pytest.mark.parametrize("labels", [(1, 1, 1, 1), (0, 1, 1, 0), (1, 1, 0, 0), (0, 1, 0, 1)])
def test_orders_that_predict_the_same_are_all_counted(seed, labels):
    X, y = table(seed)
    rng = np.random.default_rng(seed)
    names = rng.permutation(X.columns)[:4]
    rules = [((name, int(rng.integers(2))), label) for name, label in zip(names, labels, strict=True)]
    bits = [5, 4, 3, 2, 2]
    counts = np.bincount(follow(rules, 1 - labels[-1], X)[1], minlength=5)
    needed = counts[:-1].min() / len(X)  # the order that is there has just enough
    for least in (0, needed):
        result = order_range(as_model(rules, 1 - labels[-1], X, y), X, bits, least)
        expected = by_hand(rules, 1 - labels[-1], X, bits, least)
        assert result[0] <= expected[0] + 1e-9
        assert result[1] >= expected[1] - 1e-9
        within = sum(counts * np.array(bits))
        assert result[0] - 1e-9 <= within <= result[1] + 1e-9
        if len(set(labels)) == 1:  # no rule of another prediction between: all orders are counted by hand too
            assert result == pytest.approx(expected)


def test_two_rules_by_hand():
    X = pd.DataFrame({"a": [1, 1, 1, 0, 0, 0], "b": [1, 1, 0, 1, 0, 0]})
    y = pd.Series([1, 1, 1, 1, 0, 0], name="y")
    model = as_model([(("b", 1), 1), (("a", 1), 1)], 0, X, y)
    # b first: 3 rows keep 1 bit, then a: 1 row keeps 0.5; a first: 3 rows, then b: 1 row. Both catch 3: no difference.
    assert order_range(model, X, (1, 0.5, 0.25), 0) == (3 + 0.5 + 0.5, 3 + 0.5 + 0.5)
    X["a"] = [1, 1, 1, 0, 1, 0]  # a now catches 4 rows: first, all of them keep 1 bit
    assert order_range(model, X, (1, 0.5, 0.25), 0) == (3 + 2 * 0.5 + 0.25, 4 + 0.5 + 0.25)
    assert order_range(model, X, (1, 0.5, 0.25), 2 / 6) == (4.25, 4.25)  # after a, b would catch one row only


def test_a_constant_has_one_order():
    X, y = table(0)
    model = GreedyRuleListClassifier(max_rules=1, schema=None).fit(X, y).rule_list_
    assert order_range(model, X, (6.0,), 0.05) == (360.0, 360.0)
