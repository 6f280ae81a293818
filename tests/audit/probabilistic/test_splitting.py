from itertools import product
from math import prod

import pytest
from hypothesis import given

from hedgerow.audit.counting.regions import Region
from hedgerow.audit.probabilistic.row import factors_of
from tests.audit.counting.boxes import enumerated
from tests.audit.probabilistic.weights import bins_inside, weighted


def is_box(rows):
    return len(rows) == prod(len(set(column)) for column in zip(*rows, strict=True))


@given(weighted())
def test_parts_are_the_region_split_as_far_as_components_go(case):
    region, weights, masses = case
    inside = {row for row, _ in bins_inside(region, masses)}
    if not inside:
        with pytest.raises(ValueError, match="region"):
            factors_of(region, weights, masses)
        return
    factors = factors_of(region, weights, masses)
    assert sorted(k for factor in factors for k in factor.attributes) == list(range(len(weights)))
    own = [[row for row, _ in bins_inside(factor.region, factor.masses)] for factor in factors]
    together = set()
    for choice in product(*own):
        values = {
            k: bin
            for factor, row in zip(factors, choice, strict=True)
            for k, bin in zip(factor.attributes, row, strict=True)
        }
        together.add(tuple(values[k] for k in range(len(weights))))
    assert together == inside
    for factor, rows in zip(factors, own, strict=True):
        assert len(factor.attributes) == 1 or not is_box(rows)
        assert factor.weights == tuple(weights[k] for k in factor.attributes)


def test_regions_that_are_boxes_are_split_into_factors():
    # taking off "a and b" and "a and not b" leaves "not a"
    bits = ((1, 1),) * 3
    region = Region((3, 3, 3), ((2, 2, 3), (2, 1, 3), (2, 2, 2)))
    assert [(factor.attributes, factor.region.box) for factor in factors_of(region, bits, bits)] == [
        ((0,), (1,)),
        ((1,), (3,)),
        ((2,), (3,)),
    ]
    assert enumerated(region, bits) == 4


def test_a_box_within_another_joins_nothing():
    bits = ((1, 1),) * 3
    assert [factor.attributes for factor in factors_of(Region((3, 3, 3), ((2, 2, 2), (2, 2, 3))), bits, bits)] == [
        (0, 1),
        (2,),
    ]


def test_each_component_is_a_part():
    bits, full = ((1, 1),) * 90, (3,) * 90
    threes = tuple((*full[:i], 2, 2, 2, *full[i + 3 :]) for i in range(0, 90, 3))
    result = factors_of(Region(full, threes), bits, bits)
    assert [factor.attributes for factor in result] == [(i, i + 1, i + 2) for i in range(0, 90, 3)]
    assert {factor.value_combinations for factor in result} == {7}
