"""The law of K-norm noise, from counts of lattice points: slow, and independent of the sampler.

Points of the lattice have a part for each attribute, and all parts of a point have the same sum. The gauge of a point
is the largest ℓ1 norm of its parts.
"""

from collections import Counter
from decimal import Context, Decimal, localcontext
from functools import cache
from itertools import accumulate, pairwise
from math import comb, log, prod

import numpy as np
from scipy.stats import nbinom


def dimension(sizes):
    return 1 + sum(sizes) - len(sizes)


def gauges(noise, sizes):
    """Return the gauge of each row of noise."""
    starts = np.cumsum([0, *sizes[:-1]])
    return np.add.reduceat(np.abs(noise), starts, axis=1).max(axis=1)


def number(size, radius, total):
    """Return how many whole vectors of so many numbers have a sum, and an ℓ1 norm of at most the radius."""
    # The positive numbers add up to at most `above`, the negative ones to at most `below`: choose which are positive,
    # a composition for them, and one that may have zeros for the others; the last number makes up the sum.
    n, above = size - 1, (radius + total) // 2
    below = above - total
    return sum(comb(n, k) * comb(above, k) * comb(below + n - k, n - k) for k in range(n + 1))


def numbers(size, radius):
    """Return these by the sum."""
    return {total: number(size, radius, total) for total in range(-radius, radius + 1)}


@cache
def volumes(sizes, top):
    """Return the number of points of gauge at most r, for r from 0 to `top`."""
    result = []
    for radius in range(top + 1):
        by_sum = [(numbers(size, radius), times) for size, times in Counter(sizes).items()]
        result.append(sum(prod(n[total] ** times for n, times in by_sum) for total in range(-radius, radius + 1)))
    return result


def law(sizes, step, top, digits=50):
    """Return the probability of a point of each gauge below `top`, for an ε of a step; radii from `top` on add less."""
    d = dimension(sizes)
    c = (d + 1) // 2
    volume = volumes(sizes, top)
    with localcontext(Context(prec=digits)):
        q = (-Decimal(step.numerator) / step.denominator).exp()
        each = [Decimal(0)] * c + [
            (1 - q) ** (d + 1) * comb(r - c + d, d) * q ** (r - c) / volume[r] for r in range(c, top + 1)
        ]
        result = [sum(each[top:], Decimal(0))]
        for item in reversed(each[:top]):
            result.append(result[-1] + item)
    return result[::-1]


def point_chances(sizes, step, reach):
    """Return the probability of a point of each gauge up to `reach`."""
    return np.array(law(sizes, step, reach + dimension(sizes) + int(40 / step))[: reach + 1], dtype=float)


@cache
def gauge_chances(sizes, step):
    """Return the chance of each gauge, up to where less than 1e-12 is left."""
    d = dimension(sizes)
    far = (d + 1) // 2 + int(nbinom.isf(1e-12, d + 1, -np.expm1(-float(step))))
    # The number of points is a polynomial of degree D: its values are continued by differences, which add up.
    ends = []
    row = volumes(sizes, d)
    while row:
        ends.append(row[-1])
        row = [after - before for before, after in pairwise(row)]
    volume = list(volumes(sizes, d))
    for _ in range(far - d):
        ends = list(accumulate(reversed(ends)))[::-1]
        volume.append(ends[0])
    logs = np.array([log(points) for points in volume])
    radii = nbinom.logpmf(np.arange(far + 1) - (d + 1) // 2, d + 1, -np.expm1(-float(step)))
    of_points = np.logaddexp.accumulate((radii - logs)[::-1])[::-1]
    shells = np.array([0.0, *(log(after - before) for before, after in pairwise(volume))])
    return np.exp(of_points + shells)
