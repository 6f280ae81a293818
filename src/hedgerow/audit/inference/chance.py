"""Mean absolute deviation of the hypergeometric distribution."""

from __future__ import annotations

from fractions import Fraction
from math import exp, floor, lgamma


def mean_deviation(total: int, marked: int, drawn: int) -> float:
    """Return E|K − E K|, where K counts the marked rows among `drawn` of `total` rows, of which `marked` are marked.

    ``Σ_{k ≥ v} (k − E K)·P(K = k) = v·(total − marked − drawn + v)/total · P(K = v)`` telescopes for every v, and the
    mean deviation is twice this at the first v above E K.

    References
    ----------
    Diaconis and Zabell, *Closed Form Summation for Classical Distributions: Variations on a Theme of De Moivre*,
    Statistical Science 6(3), 1991.

    Examples
    --------
    >>> round(mean_deviation(4, 2, 2), 12)  # K is 0, 1, 2 with chances 1/6, 4/6, 1/6
    0.333333333333
    """
    first = floor(Fraction(marked * drawn, total)) + 1
    if first > min(marked, drawn):
        return 0.0
    chance = _log_choose(marked, first) + _log_choose(total - marked, drawn - first) - _log_choose(total, drawn)
    return 2 * first * (total - marked - drawn + first) / total * exp(chance)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
