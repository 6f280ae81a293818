"""Weighted bins of a region."""

from itertools import product
from math import prod

from hypothesis import assume
from hypothesis import strategies as st

from tests.audit.counting.boxes import contains, regions


def bins_inside(region, masses):
    """Look at every row of bins: too simple to be wrong."""
    for row in product(*(range(len(bins)) for bins in masses)):
        if contains(region.box, row) and not any(contains(b, row) for b in region.earlier):
            mass = prod(bins[bin] for bins, bin in zip(masses, row, strict=True))
            if mass:
                yield row, mass


@st.composite
def weighted(draw):
    """Draw a region with masses that are not the weights, some of them 0."""
    region, weights = draw(regions())
    assume(prod(map(sum, weights)) <= 1000)
    masses = tuple(tuple(w * draw(st.integers(0, 3)) for w in bins) for bins in weights)
    return region, weights, draw(st.sampled_from([weights, masses]))
