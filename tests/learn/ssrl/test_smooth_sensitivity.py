from fractions import Fraction
from itertools import product
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.ssrl.mechanisms import GINI_SENSITIVITY, gini_scores, local_sensitivity, smooth_sensitivity

LARGEST = 2000
EDGE = 3 - 2 * sqrt(2)  # from this β on there is no root (SSRL, appendix A.1)
BETAS = [
    *(1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.15, 0.17, np.nextafter(EDGE, 0), EDGE, np.nextafter(EDGE, 1)),
    *(0.172, 0.2, 0.5, 1.0, 2.0, 3 + 2 * sqrt(2), 6.0, 10.0),
]


def paper_g(n):  # SSRL, theorem 4.1, as printed
    return 1 - (n / (n + 1)) ** 2 - (1 / (n + 1)) ** 2


def test_local_sensitivity_follows_the_paper_and_falls_from_one_row_on():
    n = np.arange(10_000)
    np.testing.assert_allclose(local_sensitivity(n), paper_g(n), atol=1e-15)
    assert local_sensitivity([1, 2, 9]).tolist() == [1 / 2, 4 / 9, 18 / 100]
    assert (np.diff(local_sensitivity(n[1:])) < 0).all()


@pytest.mark.parametrize("min_support", [1, 2, 3, 10, 50, 500, 2500])
def test_smooth_sensitivity_is_the_maximum_over_all_distances(min_support):
    """Lemma 3.1: ``max over k of exp(−βk)·T_k``; since g falls, T_k, the largest g within k rows, is at n − k or Λ."""
    n, k = np.arange(LARGEST + 1)[:, None], np.arange(LARGEST + 1)[None, :]
    farthest = paper_g(np.maximum(min_support, n - k))
    for beta in BETAS:
        slow = (np.exp(-beta * k) * farthest).max(axis=1)
        fast = smooth_sensitivity(n[:, 0], min_support=min_support, beta=beta)
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=0, err_msg=f"beta = {beta}")


@pytest.mark.parametrize(
    ("n", "min_support", "beta", "expected"),
    [
        (3, 1, 0.1, exp(-0.2) / 2),  # k = 0, 1, 2: 6/16 = .375, .4021, .4094
        (3, 2, 0.1, exp(-0.1) * 4 / 9),  # k = 2 is out of reach
        (3, 1, 0.15, exp(-0.15) * 4 / 9),  # .375, .3825, .3704
        (3, 1, 0.5, 6 / 16),
        (10, 10, 0.01, 20 / 121),
        (100, 1, 10.0, 200 / 101**2),
        (2, 5, 0.1, 10 / 36),  # fewer rows than there can be: g(Λ)
        (0, 1, 0.1, 1 / 2),
    ],
)
def test_smooth_sensitivity_by_hand(n, min_support, beta, expected):
    assert float(smooth_sensitivity(n, min_support=min_support, beta=beta)) == pytest.approx(expected, rel=1e-14)


@given(st.integers(1, 10**9), st.integers(1, 10**6), st.floats(1e-6, 10))
def test_smooth_sensitivity_is_smooth_and_bounds_the_local_one(n, min_support, beta):
    """Equation 1 of SSRL, for any two tables that both have the rows that the minimum asks for."""
    n += min_support
    item, more = smooth_sensitivity([n, n + 1], min_support=min_support, beta=beta)
    assert item >= local_sensitivity(n)
    assert exp(-beta) * (1 - 1e-9) <= more / item <= exp(beta) * (1 + 1e-9)


def gini(caught, left):  # reference: SSRL, section 3.2, in exact fractions
    n = sum(caught) + sum(left)
    return sum(
        (Fraction(sum(side), n) * (1 - sum(Fraction(count, sum(side)) ** 2 for count in side)))
        for side in (caught, left)
        if sum(side)
    )


COUNTS = st.tuples(*[st.one_of(st.integers(0, 5), st.integers(0, 10**6))] * 4)


@given(COUNTS)
def test_scores_are_the_formula_of_the_paper(counts):
    caught, left = counts[:2], counts[2:]
    total = np.array(caught) + left
    scores = gini_scores(np.array([caught]), total)
    np.testing.assert_allclose(scores, [float(gini(caught, left)), float(gini(total.tolist(), ()))], rtol=1e-14)


def moved(counts, k):
    return tuple(count + (i == k) for i, count in enumerate(counts))


@pytest.mark.claim("for scores of any direction")
def test_one_row_changes_the_gini_impurity_of_any_table_by_at_most_a_half():
    """All tables of up to ten rows: added to n rows it changes by g(n) at most, removed from n by g(n − 1)."""
    most = {}
    for counts in product(range(11), repeat=4):
        if sum(counts) > 10:
            continue
        before = gini(counts[:2], counts[2:])
        for k in range(4):
            after = moved(counts, k)
            change = abs(gini(after[:2], after[2:]) - before)
            most[sum(counts)] = max(most.get(sum(counts), 0), change)
    assert most == {n: Fraction(2 * n, (n + 1) ** 2) for n in range(11)}
    assert max(most.values()) == most[1] == Fraction(1, 2) == GINI_SENSITIVITY
    assert sorted(most.values())[-2] == Fraction(4, 9)
    assert most[0] == 0  # from a table without rows


@given(COUNTS, st.integers(0, 3))
def test_rounded_scores_move_by_no_more_than_the_sensitivity(counts, k):
    item, other = (
        gini_scores(np.array([c[:2]]), np.array(c[:2]) + c[2:]) for c in (np.array(counts), np.array(moved(counts, k)))
    )
    largest = GINI_SENSITIVITY if sum(counts) == 1 else 4 / 9 + 1e-15
    assert np.abs(other - item).max() <= largest


def test_the_gini_impurity_is_not_monotone():
    """A row of the second class more, caught by the first rule only: one score rises, the other falls."""
    before = gini_scores(np.array([[2, 0], [1, 1]]), np.array([2, 2]))
    after = gini_scores(np.array([[2, 1], [1, 1]]), np.array([2, 3]))
    assert before.tolist() == [0, 1 / 2, 1 / 2]
    assert after.tolist() == pytest.approx([4 / 15, 7 / 15, 12 / 25])


def test_noisy_counts_that_contradict_each_other_count_no_rows_below_none():
    assert gini_scores(np.array([[5, 0]]), np.array([3, 2])).tolist() == [0, pytest.approx(12 / 25)]
