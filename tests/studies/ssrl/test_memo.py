import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.ssrl.greedy import PUBLISHED
from hedgerow.schema.candidates import Candidates
from hedgerow.tally import Tally
from studies.ssrl.memo import MemoTally


@pytest.fixture(scope="module")
def tallies():
    data = hr.datasets.load("breast_cancer")
    schema = hr.Schema(data.schema.attributes[:5], data.schema.label)
    return tuple(kind.count(data.frame, data.labels, schema) for kind in (Tally, MemoTally))


def lists(tally):
    """Lists of every mechanism, an exact draw and the greedy list."""
    options = {"max_rules": 4, "max_literals": 1}
    fits = [
        hr.DPGreedyRLClassifier(epsilon, mechanism=name, delta=delta, random_state=seed, **options)
        for name, delta in ((name, 1e-6 if how.spends_delta else None) for name, how in PUBLISHED.items())
        for epsilon, seed in ((0.1, 0), (10, 1))
    ]
    fits += [hr.PrivateRuleListClassifier(0.1, random_state=0, **options)]
    fits.append(hr.PrivateRuleListClassifier(1.0, search="exact", lookahead=1, random_state=0, **options))
    fits.append(hr.GreedyRuleListClassifier(**options))
    return [clf.fit_tally(tally).rule_list_.to_json() for clf in fits]


def test_learners_fit_the_same_lists_as_on_a_plain_tally(tallies):
    plain, memo = tallies
    once = lists(memo)
    assert once == lists(plain)
    assert once == lists(memo)  # from memory


def test_nothing_is_counted_twice(tallies, monkeypatch):
    memo = MemoTally(tallies[1].schema, tallies[1]._bins, tallies[1]._counts)
    counted = []

    def count(self, candidates):
        counted.append(self)
        return original(self, candidates)

    original = Tally.class_counts
    monkeypatch.setattr(Tally, "class_counts", count)
    clf = hr.GreedyRuleListClassifier(max_rules=4, max_literals=1)
    clf.fit_tally(memo)
    first = len(counted)
    assert first == len(set(map(id, counted))) > 1
    clf.fit_tally(memo)
    assert len(counted) == first


def test_candidates_of_different_kinds_have_their_own_counts(tallies):
    plain, memo = tallies
    for most, negations in ((1, True), (1, False), (2, False), (1, True)):
        candidates = Candidates.of(plain.schema, most, negations=negations)
        np.testing.assert_array_equal(memo.class_counts(candidates), plain.class_counts(candidates))


def test_memoised_values_are_read_only(tallies):
    memo = tallies[1]
    candidates = Candidates.of(memo.schema, 1)
    for counts in (memo.total(), memo.class_counts(candidates), memo.without(candidates[0]).total()):
        with pytest.raises(ValueError, match="read-only"):
            counts[0] += 1


def test_the_schema_of_another_table_is_refused_despite_equal_literals(tallies):
    memo = tallies[1]
    other = hr.Schema(memo.schema.attributes[:3], memo.schema.label)
    with pytest.raises(ValueError, match="same schema"):
        memo.class_counts(Candidates.of(other, 1))


def test_rows_of_a_branch_equal_a_plain_tally_and_are_reused(tallies):
    plain, memo = tallies
    for antecedent in Candidates.of(plain.schema, 1):
        assert memo.within(antecedent) is memo.within(antecedent)
        assert memo.within(antecedent).distance(plain.within(antecedent)) == 0
