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
    counts, chances = np.asarray(counts, dtype=float), np.asarray(chances)
    few = chances * counts.sum() < 10
    if few.any():
        counts = np.append(counts[~few], counts[few].sum())
        chances = np.append(chances[~few], chances[few].sum())
    kept = chances > 0
    return chisquare(counts[kept], chances[kept] / chances[kept].sum() * counts[kept].sum()).pvalue
