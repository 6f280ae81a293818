"""Rényi divergences of exact distributions, by their definition."""

import math

ORDERS = [1.001, 1.01, 1.1, 1.5, 2, 3, 5, 10, 30, 100, 1000]


def rho_of(one, other):
    """Return the largest divergence over its order, in both directions: the ρ of two distributions.

    Of log-probabilities by outcome, which must be the same outcomes; order 1 is the Kullback-Leibler divergence.
    """
    assert one.keys() == other.keys()
    pairs = [(float(one[outcome]), float(other[outcome])) for outcome in one]
    return max(max(_of_order(way, order) / order for order in [1, *ORDERS]) for way in (pairs, _swapped(pairs)))


def _of_order(pairs, order):
    if order == 1:
        return math.fsum(math.exp(p) * (p - q) for p, q in pairs)
    terms = [order * p + (1 - order) * q for p, q in pairs]
    most = max(terms)
    return (most + math.log(math.fsum(math.exp(term - most) for term in terms))) / (order - 1)


def _swapped(pairs):
    return [(q, p) for p, q in pairs]
