from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.inference.overfitting import mean_deviation


def by_enumeration(total, marked, drawn):
    """Go through every way to draw the rows; the first `marked` of them are marked."""
    result = [sum(row < marked for row in rows) for rows in combinations(range(total), drawn)]
    return sum(abs(k - marked * drawn / total) for k in result) / len(result)


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
def test_mean_deviation_equals_enumeration(case):
    assert mean_deviation(*case) == pytest.approx(by_enumeration(*case), abs=1e-12)


def test_mean_deviation_of_a_large_table():
    scipy_stats = pytest.importorskip("scipy.stats", reason="SciPy is not installed")
    total, marked, drawn = 48_842, 3_217, 34_189
    k = range(marked + 1)
    chance = scipy_stats.hypergeom(total, marked, drawn).pmf(k)
    expected = sum(p * abs(i - marked * drawn / total) for i, p in zip(k, chance, strict=True))
    assert mean_deviation(total, marked, drawn) == pytest.approx(expected, rel=1e-7)
