"""Robustness against flips by hand, and what may be asked for."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import LabelOnlyAttack, membership
from tests.audit.inference.attempts import attempt, noisy_bits
from tests.learn.tables import SCHEMA, people


def test_robustness_is_the_share_of_flips_that_leave_the_label():
    # predicted is the first of 5 bits: a flip of d bits leaves it with chance 1 - d/5, 0.6 on average for d = 1, 2, 3
    X, _ = noisy_bits(400, width=5)
    y = X[:, 0].copy()
    y[::10] ^= 1
    made = attempt(lambda table: table[:, 0], X, y)
    scores = LabelOnlyAttack(max_distance=3, draws=200).robustness(made, made.suspects)
    right = X[made.suspects, 0] == y[made.suspects]
    assert (scores[~right] == 0).all()
    draws = 200 * right.sum()
    spread = (sum(d / 5 * (1 - d / 5) for d in (1, 2, 3)) / draws) ** 0.5 / 3 / 2
    assert abs(scores[right].mean() - (0.5 + 0.6 / 2)) < 4 * spread  # false alarm: 1 in 16,000
    assert scores[right].std() > 0


def test_rows_far_from_the_boundary_are_more_robust():
    # predicted is whether at least 4 of 8 bits are true
    X = np.random.default_rng(0).integers(0, 2, (200, 8))
    y = X.sum(axis=1) >= 4
    made = attempt(lambda table: table.sum(axis=1) >= 4, X, y)
    scores = LabelOnlyAttack(max_distance=3).robustness(made, made.suspects)
    size = X[made.suspects].sum(axis=1)
    assert scores[size >= 7].min() > scores[size == 4].max()


@pytest.mark.parametrize("fragile", ["members", "non-members"])
def test_it_is_learned_whether_robust_rows_are_members(fragile):
    # all rows are of class 0 and correctly predicted; rows of one kind are all true, and every flip changes their label
    X = np.random.default_rng(0).permuted(np.tile([1, 0, 0, 0, 0, 0, 0, 0], (200, 1)), axis=1)
    X[:100] = 1
    X = X if fragile == "members" else X[::-1]
    made = attempt(lambda table: (table.sum(axis=1) > 5) & ~table.all(axis=1), X, np.zeros(200, dtype=bool))
    scores = LabelOnlyAttack(max_distance=2).scores(made)
    assert scores[:30].min() > scores[30:].max()


def test_copies_are_drawn_in_batches_of_bounded_size(monkeypatch):
    monkeypatch.setattr("hedgerow.audit.inference.attacks._MOST_ROWS", 50)
    X, y = noisy_bits(100)
    seen = []

    def predict(table):
        seen.append(len(table))
        return y if len(table) == 100 else table[:, 0]

    made = attempt(predict, X, y, known=0.8)
    LabelOnlyAttack(max_distance=2, draws=3).robustness(made, made.suspects)
    assert max(seen[1:]) <= 50
    assert sum(seen[1:]) == 2 * 3 * 20


def test_attributes_are_perturbed_by_the_schema_of_the_model():
    frame = people(300)
    target = hr.GreedyRuleListClassifier(schema=SCHEMA)
    by_model = membership(target, frame, frame["risk"], attack="label-only", repeats=2, random_state=0)
    given = membership(target, frame, frame["risk"], attack=LabelOnlyAttack(SCHEMA), repeats=2, random_state=0)
    np.testing.assert_array_equal(by_model.aucs, given.aucs)
    assert str(by_model).startswith("attack   label-only, up to 4 attributes perturbed, 10 copies each\n")


@pytest.mark.parametrize("options", [{"max_distance": 0}, {"draws": 1.5}, {"draws": True}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match="whole number"):
        LabelOnlyAttack(**options)
