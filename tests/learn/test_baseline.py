import numpy as np
import pytest

import hedgerow as hr
from tests.learn.tables import SCHEMA, conjunction, people


def test_a_greedy_list_is_not_private_and_says_so():
    clf = hr.GreedyRuleListClassifier(schema=None).fit(*conjunction())
    assert clf.privacy_.guarantee == "none (not private)"


def test_a_greedy_list_finds_a_clear_rule_with_its_exact_counts():
    X, y = conjunction()
    clf = hr.GreedyRuleListClassifier(schema=None).fit(X, y)
    assert [rule.condition for rule in clf.rule_list_.rules] == ["x0 and not x2", ""]
    assert [rule.counts for rule in clf.rule_list_.rules] == [(0, y.sum()), ((~y).sum(), 0)]


def test_more_than_two_classes_and_text_labels_come_through():
    data = people()
    clf = hr.GreedyRuleListClassifier(schema=SCHEMA).fit(data, data["risk"])
    assert clf.classes_.tolist() == ["high", "low", "mid"]
    assert clf.predict_proba(data).shape == (400, 3)
    assert (clf.predict(data) == data["risk"]).all()


@pytest.mark.parametrize(("share", "rules"), [(0.0, 2), (0.04, 2), (0.05, 2), (0.06, 1)])
def test_a_rule_needs_the_support_that_is_asked_for(share, rules):
    X = np.zeros((100, 2), dtype=bool)
    X[:5] = True
    clf = hr.GreedyRuleListClassifier(min_support=share, schema=None, negations=False, max_literals=1).fit(X, X[:, 0])
    assert len(clf.rule_list_) == rules


@pytest.mark.parametrize("min_support", [-0.1, 1.0, "half", None, True, float("nan")])
def test_min_support_is_a_share(min_support):
    with pytest.raises(ValueError, match=r"min_support must be in \[0, 1\)"):
        hr.GreedyRuleListClassifier(min_support=min_support).fit(*conjunction(20))
