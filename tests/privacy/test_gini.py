from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import TooManyRowsError
from hedgerow.learn.greedy import _gini
from hedgerow.learn.search.branch_and_bound import _impurity
from hedgerow.privacy.gini import RESOLUTION, SENSITIVITY, impurity, split_scores

COUNTS = st.one_of(st.integers(0, 30), st.integers(0, 10**6), st.integers(0, 10**11))


def gini(counts):  # reference: the formula in exact fractions
    n = sum(counts)
    return n - Fraction(sum(c * c for c in counts), n) if n else Fraction(0)


@given(st.lists(COUNTS, min_size=2, max_size=5))
def test_impurity_is_the_formula_rounded_down(counts):
    assert int(impurity(np.array(counts))) == floor(RESOLUTION * gini(counts))


@given(st.lists(st.integers(0, 2**40), min_size=2, max_size=5), st.integers(2**40, 2**43 - 1))
def test_impurity_fits_in_64_bits_up_to_the_most_rows(counts, n):
    last = [min(count, n // len(counts)) for count in counts[1:]]
    counts = np.array([n - sum(last), *last])
    assert int(impurity(counts)) == floor(RESOLUTION * gini(counts.tolist()))
    halves = np.array([n - n // 2, n // 2])
    assert split_scores(halves[None] // 2, halves).tolist()[-1] == floor(RESOLUTION * gini(halves.tolist())) > 0


def test_more_rows_than_that_are_refused():
    with pytest.raises(TooManyRowsError, match=r"fewer than 2\^43 rows"):
        impurity(np.array([2**42, 2**42]))


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=5))
def test_the_fraction_and_the_float_of_the_searches_are_the_same_formula(counts):
    assert _gini(np.array(counts)) == gini(counts)
    assert np.isclose(_impurity(np.array(counts, dtype=np.float64)[:, None])[0], float(gini(counts)), atol=1e-6)


def test_two_class_impurity_is_twice_the_product_over_the_sum():
    assert gini([3, 1]) == Fraction(2 * 3 * 1, 4)  # docs/privacy.md: f(p, q) = 2pq/(p+q)
    assert impurity(np.array([[3, 1], [0, 5], [0, 0]])).tolist() == [1.5 * RESOLUTION, 0, 0]


@pytest.mark.claim("It never lowers `f` and raises it by less than 2")
def test_fact_1_holds_for_every_small_pair_of_counts():
    """docs/mathematics.md, fact 1, exhaustively: adding a row never lowers f and raises it by less than 2."""
    p, q = (axis.ravel() for axis in np.meshgrid(np.arange(300), np.arange(300)))
    before = impurity(np.column_stack([p, q]))
    rise = impurity(np.column_stack([p + 1, q])) - before
    assert rise.min() >= 0
    assert rise.max() <= SENSITIVITY
    assert rise.max() > 0.99 * SENSITIVITY  # the bound is tight: nothing smaller could be declared
    some = (p + q > 0) & (p + q < 40)
    for a, b in zip(p[some].tolist(), q[some].tolist(), strict=True):
        assert gini([a + 1, b]) - gini([a, b]) == Fraction(2 * b * b, (a + b) * (a + b + 1)) < 2


@given(st.lists(COUNTS, min_size=2, max_size=6), st.data())
@pytest.mark.claim("It never lowers `f` and raises it by less than 2")
def test_fact_1_holds_for_any_number_of_classes(counts, data):
    k = data.draw(st.integers(0, len(counts) - 1))
    more = [c + (i == k) for i, c in enumerate(counts)]
    assert 0 <= gini(more) - gini(counts) < 2
    assert 0 <= int(impurity(np.array(more))) - int(impurity(np.array(counts))) <= SENSITIVITY


@given(st.integers(2, 4), st.data())
def test_scores_of_neighbours_move_one_way_by_at_most_the_sensitivity(n_classes, data):
    rows = st.lists(COUNTS, min_size=n_classes, max_size=n_classes)
    left = np.array(data.draw(rows))
    caught = np.array(data.draw(st.lists(rows, min_size=1, max_size=8)))
    total = caught.max(axis=0) + left
    k = data.draw(st.integers(0, n_classes - 1))
    catches = np.array(data.draw(st.lists(st.booleans(), min_size=len(caught), max_size=len(caught))))
    more_caught, more_total = caught.copy(), total.copy()
    more_caught[catches, k] += 1
    more_total[k] += 1
    change = split_scores(more_caught, more_total) - split_scores(caught, total)
    assert change.min() >= 0
    assert change.max() <= SENSITIVITY


def test_the_last_score_is_that_of_stopping():
    caught, total = np.array([[4, 0], [2, 2]]), np.array([4, 4])
    assert split_scores(caught, total).tolist() == [0, 4 * RESOLUTION, 4 * RESOLUTION]
