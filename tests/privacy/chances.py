"""Counts of draws against exact chances.

`ALARM` is the false-alarm rate of a test; OpenDP's randomness cannot be seeded, so the rate is one that will not be met
by chance. A test must reject chances of noise whose scale is off by each of `FACTORS`: what it draws is enough to tell.
"""

from fractions import Fraction

import numpy as np
from scipy.stats import chisquare

ALARM = 1e-9
FACTORS = (Fraction(7, 10), Fraction(13, 10))
IDS = ["secure", "seeded"]


def p_value(counts, chances):
    """Return Pearson's p-value; outcomes expected fewer than 10 times are one, with more of them until it is 10."""
    counts, chances = np.asarray(counts, dtype=float), np.asarray(chances, dtype=float)
    order = np.argsort(chances)
    counts, expected = counts[order], chances[order] / chances.sum() * counts.sum()
    few = max(np.searchsorted(expected, 10), np.searchsorted(expected.cumsum(), 10) + 1)
    counts, expected = (np.append(part[:few].sum(), part[few:]) for part in (counts, expected))
    return chisquare(counts, expected).pvalue
