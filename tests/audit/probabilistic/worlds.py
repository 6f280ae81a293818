"""All rows, and all tables, that are possible, one by one, with their probabilities (PDR, Definition 3)."""

from fractions import Fraction
from itertools import product
from math import log2, prod


def outcomes(row, domains):
    """Return the possible rows, by the values of their attributes, and the probability of each."""
    order = [place for factor in row.factors for place in factor.attributes]
    result = {}
    for choice in product(*(list(factor.outcomes(domains)) for factor in row.factors)):
        values = dict(zip(order, (value for own, _ in choice for value in own), strict=True))
        result[tuple(values[place] for place in sorted(order))] = prod((p for _, p in choice), start=Fraction(1))
    return result


def worlds(known):
    """Return the possible tables, by their rows, and the probability of each."""
    tables = product(*(outcomes(row, known.domains).items() for row in known.rows))
    return {tuple(values for values, _ in table): prod(chance for _, chance in table) for table in tables}


def entropy(found):
    """Return the entropy of possible tables in bits (PDR, Definition 4)."""
    return -sum(float(p) * log2(p) for p in found.values())
