"""Exact audits of draws of weighted rows, against all models one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.audit import exact_inference, exact_membership
from hedgerow.errors import ArgumentError
from tests.learn.weights import KINDS, STEPS, TINY, WEIGHED, by_definition, table_of, weight_of_a_row

LEARNER = hr.PrivateTreeClassifier(1, schema=TINY, max_depth=1)


def distance(one, other):
    return sum(abs(one[model] - other[model]) for model in one) / 2


@given(WEIGHED.filter(bool))
def test_the_risk_of_a_weighted_row_equals_enumeration(rows):
    table, weight = table_of(rows), weight_of_a_row(max_depth=1)
    result = exact_membership(LEARNER, table, table.y)
    whole = by_definition(rows, weight)
    for place, (advantage, lost) in enumerate(zip(result.advantage, result.realised_loss, strict=True)):
        without = by_definition([*rows[:place], *rows[place + 1 :]], weight)
        assert advantage == pytest.approx(distance(whole, without), abs=1e-9)
        assert lost == pytest.approx(max(abs(np.log(whole[m] / without[m])) for m in whole), abs=1e-9)
        assert lost <= rows[place][1] / STEPS + 1e-9
    assert result.weight == pytest.approx(float(weight))
    assert (result.advantage <= result.draw_bound + 1e-9).all()


@given(WEIGHED, st.sampled_from(KINDS), st.integers(0, STEPS))
def test_risk_and_inference_of_weighted_outside_rows(rows, row, steps):
    weight, flipped = weight_of_a_row(max_depth=1), (*row[:2], not row[2])
    table, more = table_of(rows), table_of([(row, steps)])
    joined = by_definition([*rows, (row, steps)], weight)
    result = exact_membership(LEARNER, table, table.y, others=(more, more.y))
    assert result.advantage[-1] == pytest.approx(distance(joined, by_definition(rows, weight)), abs=1e-9)
    two = distance(joined, by_definition([*rows, (flipped, steps)], weight))
    assert result.label_advantage[-1] == pytest.approx(two, abs=1e-9)
    candidates = table_of([(row, steps), (flipped, steps)])
    assert exact_inference(LEARNER, table, table.y, candidates=(candidates, candidates.y)).advantage == pytest.approx(
        two, abs=1e-9
    )


def test_means_of_weighted_rows_and_large_weights_raise():
    table = table_of([(row, 2) for row in KINDS])
    number = replace(TINY, label=hr.Number("z", 0, 1, levels=2))
    learner = hr.PrivateTreeRegressor(1, schema=number, max_depth=1)
    with pytest.raises(ArgumentError, match="release_means"):
        exact_membership(learner, table, table.y.astype(float))
    assert exact_membership(learner.set_params(release_means=False), table, table.y.astype(float)).advantage.max() < 1
    with pytest.raises(ArgumentError, match=r"500.* got 999"):
        exact_membership(hr.PrivateTreeClassifier(1000, schema=TINY, max_depth=1), table, table.y)
