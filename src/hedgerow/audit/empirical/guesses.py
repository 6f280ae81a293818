"""What right guesses of fair coins refute: tails of their number under differential privacy, and what these invert to.

A coin decided for each of some canaries whether it was among the rows of one run; the guesses are made from what the
run released. However dependent the guesses are, their number of right ones is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

_STEP = 0.05  # in which a bound is looked for, before it is bisected
_HALVINGS = 30
_LARGEST = 60.0  # of ε and of μ


def tail(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return the most that the chance of so many right guesses can be under (ε, δ)-differential privacy.

    A bound for any guesses made from the output: ``P(W ≥ v) + 2·m·δ·max_i P(v − i ≤ W < v)/i`` for v right guesses and
    m canaries, W being the right answers of randomised response, that is Binomial(guesses, e^ε/(1 + e^ε)).

    References
    ----------
    Steinke, Nasr and Jagielski, *Privacy Auditing with One (1) Training Run*, NeurIPS 2023, Corollary 5.4 and
    Appendix D.

    Examples
    --------
    >>> round(tail(75, 100, 100, np.log(3), 0.0), 3)
    0.553
    """
    told = 1 / (1 + exp(-epsilon))
    most = float(binom.sf(right - 1, guesses, told))
    if delta and right:
        below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, told))
        most += 2 * canaries * delta * float((below / np.arange(1, right + 1)).max())
    return min(most, 1.0)


def epsilon_bound(right: int, guesses: int, canaries: int, delta: float, alarm: float) -> float:
    """Return the largest ε below which all are refuted by so many right guesses, at a false-alarm rate; 0 for none."""
    return _refuted(lambda epsilon: tail(right, guesses, canaries, epsilon, delta) <= alarm)


def mu_bound(right: int, guesses: int, canaries: int, alarm: float) -> float:
    """Return the largest μ below which μ-Gaussian differential privacy is refuted; 0 for none.

    References
    ----------
    Mahloujifar, Melis and Chaudhuri, *Auditing f-Differential Privacy in One Run*, 2024, Algorithm 3; Dong, Roth
    and Su, *Gaussian Differential Privacy*, JRSS-B 2022, Section 2.2.
    """
    return _refuted(lambda mu: refutes_gaussian(right, guesses, canaries, mu, alarm))


def refutes_gaussian(right: int, guesses: int, canaries: int, mu: float, alarm: float) -> bool:
    """Return whether so many right guesses refute μ-Gaussian differential privacy at a false-alarm rate.

    If they came with chance `alarm`, then what a guess adds, being right or wrong, sums to more than all guesses can.
    """
    known, wrong = alarm * right / canaries, alarm * (guesses - right) / canaries
    for place in range(right - 1, -1, -1):
        least = float(ndtr(ndtri(known) - mu))  # of wrong guesses, where right ones have that chance
        if least <= wrong:
            break
        known, wrong = min(known + place / (guesses - place) * (least - wrong), 1.0), least
    return known + wrong > guesses / canaries


def _refuted(refutes: Callable[[float], bool]) -> float:
    """Return the end of the first values that are all refuted, from below."""
    low = 0.0
    while low < _LARGEST and refutes(low + _STEP):
        low += _STEP
    high = low + _STEP
    if low == 0 and not refutes(0.0):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if refutes(middle) else (low, middle)
    return low


def power(factor: float, claim: float, guesses: int, canaries: int, delta: float, alarm: float) -> float:
    """Return the chance to refute a claim if guesses are right as in randomised response of `factor` times as much."""
    least = next((v for v in range(guesses + 1) if tail(v, guesses, canaries, claim, delta) <= alarm), guesses + 1)
    return float(binom.sf(least - 1, guesses, 1 / (1 + exp(-factor * claim))))
