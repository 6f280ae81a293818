from itertools import pairwise
from math import lgamma, log

import pytest

from lab.forests.search import _OFF, _whole_numbers


@pytest.mark.parametrize(
    ("low", "high", "loss"),
    [
        (0, 300, lambda n: lgamma(n + 1) + 3.0 * n),
        (1, 1000, lambda n: -40 * log(n)),
        (5, 100, lambda n: lgamma(n - 4) - lgamma(n + 1)),
        (3, 3, lambda n: 0.0 * n),
        (0, 2, lambda n: n * n),
    ],
)
def test_chords_are_hardly_above_a_convex_loss(low, high, loss):
    ends = _whole_numbers(low, high, loss)
    assert ends[0] == low
    assert ends[-1] == high
    assert ends == sorted(set(ends))
    for a, b in pairwise(ends):
        for n in range(a, b + 1):
            chord = loss(a) + (loss(b) - loss(a)) * (n - a) / (b - a)
            assert 0 <= chord - loss(n) + 1e-9 <= _OFF + 1e-8
    assert len(ends) < 200
