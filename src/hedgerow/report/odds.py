"""What ε and δ mean in odds: how far a suspicion can rise, and which attacks are possible."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp

from scipy.special import expit, logit

_MOST = 700.0  # the largest exponent whose power has a float


def largest_belief(prior: float, epsilon: Fraction) -> float:
    """Return what a suspicion that a row is in the table can rise to at most, by Bayes' rule, without δ.

    Examples
    --------
    >>> from math import log
    >>> round(largest_belief(0.5, Fraction(1)), 4), round(largest_belief(0.25, Fraction(log(3))), 4)
    (0.7311, 0.5)
    """
    return float(expit(logit(prior) + float(epsilon)))


def largest_rate(fpr: float, epsilon: Fraction, delta: Fraction) -> float:
    """Return the largest true positive rate at a false positive rate of any test whether a row is in the table.

    Examples
    --------
    >>> round(largest_rate(0.01, Fraction(1), Fraction(0)), 4), largest_rate(0.5, Fraction(0), Fraction(0))
    (0.0272, 0.5)

    References
    ----------
    Kairouz, Oh and Viswanath, *The Composition Theorem for Differential Privacy*, 2015, Theorem 2.1.
    """
    size = min(float(epsilon), _MOST)
    return float(min(1.0, exp(size) * fpr + float(delta), 1 - exp(-size) * max(0.0, 1 - float(delta) - fpr)))


def factor_text(epsilon: Fraction) -> str:
    """Return e^ε in words, rounded up."""
    if epsilon > Fraction(_MOST):
        return f"e^{float(epsilon):.4g}, which is more than 10^300"
    return f"{rounded_up(exp(float(epsilon)), 2):,.2f}"


def percent_up(share: float) -> str:
    """Return a bound as a percentage, rounded up to a tenth of a point.

    Examples
    --------
    >>> percent_up(0.5), percent_up(0.73106), percent_up(0.99999)
    ('50 %', '73.2 %', '100 %')
    """
    return f"{rounded_up(100 * share, 1):.4g} %"


def rounded_up(number: float, digits: int) -> float:
    """Return a number rounded up to so many decimals, but for what floats are off."""
    scale = 10**digits
    return ceil(number * scale * (1 - 1e-13)) / scale
