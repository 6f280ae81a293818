"""Sets of bins against Python's sets, all of few bins."""

from itertools import product

import pytest

from hedgerow.schema import Extent

FLAGS = (None, False, True)
ALL = [
    (n, Extent(n, start, stop, inverted, missing, outside), start, stop, inverted, missing, outside)
    for n in (1, 2, 3, 4)
    for start, stop in product(range(n + 1), repeat=2)
    for inverted, missing, outside in product((False, True), FLAGS, FLAGS)
]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_an_extent_is_the_set_of_its_bins(n):
    for size, extent, start, stop, inverted, missing, outside in ALL:
        if size == n:
            run = set(range(start, stop))
            known = [(bin in run) != inverted for bin in range(n)]
            expected = [*known, *(flag for flag in (missing, outside) if flag is not None)]
            assert extent.truth().tolist() == expected
            assert extent.complement().truth().tolist() == [not flag for flag in expected]
            assert extent.complement().complement() == extent
            assert extent.is_trivial == (len(set(expected)) == 1)
            assert extent.only_known == (known.index(True) if sum(known) == 1 and not extent.inverted else None)


def test_extents_are_equal_if_the_sets_are():
    seen = {}
    for n, extent, *_, missing, outside in ALL:
        key = n, missing is None, outside is None, tuple(extent.truth().tolist())
        assert seen.setdefault(key, extent) == extent
    assert len(set(seen.values())) == len(seen)
