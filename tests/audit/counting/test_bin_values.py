from fractions import Fraction
from math import ulp

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.counting.bin_values import NumberGrid, Unspecified, bin_weights, values_of_bins
from hedgerow.schema import Boolean, Categorical, Date, Integer, Real, Schema
from hedgerow.tables.columns import Column
from tests.models.strategies import attributes

STEPS = (0.07, 0.1, 1 / 3, 0.5, 1.0, 3.0, 2.0**57)
EDGES = (
    st.integers(-30, 60).map(lambda n: n / 3),  # whose digits end where float64's do: sums of them round
    st.integers(-30, 60).map(lambda n: n * 0.1),
    st.integers(-30, 60).map(lambda n: n / 10),
    st.integers(0, 60).map(lambda n: n * 2.0**58),  # beyond 1e16, which is written with an exponent
)


@st.composite
def reals(draw) -> tuple[Real, float]:
    """Return a real attribute and a step, with values that mean "missing" near the grid's numbers and cut points."""
    kind = draw(st.sampled_from(EDGES))
    low, *cuts, high = sorted(draw(st.lists(kind, min_size=3, max_size=5, unique=True)))
    step = draw(st.sampled_from([step for step in STEPS if step > ulp(max(-low, high)) and (high - low) / step < 2000]))
    near = [low, *cuts, high, *(float(Fraction(repr(low)) + k * Fraction(repr(step))) for k in range(4))]
    tokens = [*near, *map(str, near), *(int(item) for item in near if item.is_integer()), "?", "01", "inf"]
    missing = draw(st.lists(st.sampled_from(tokens), max_size=3, unique_by=str))
    return Real(low, high, cuts=tuple(cuts), missing="bin", missing_values=tuple(missing)), step


def encoded(attribute, values) -> list[int]:
    array = np.array(values, dtype=object if isinstance(attribute, Date) else None)
    return attribute.encode(Column.from_numpy(array, "a")).tolist()


@given(reals())
def test_numbers_on_a_grid_are_in_the_bins_to_which_they_encode(drawn):
    attribute, step = drawn
    low, fine = Fraction(repr(attribute.low)), Fraction(repr(step))
    places = range(int((Fraction(attribute.high) - low) / fine) + 3)
    grid = [value for value in (float(low + k * fine) for k in places) if value <= attribute.high]
    bins: list[list[float]] = [[] for _ in attribute.bins]
    for value, bin in zip(grid, encoded(attribute, grid), strict=True):
        bins[bin].append(value)
    assert [list(held) for held in values_of_bins(attribute, step)[: attribute.n_known]] == bins[: attribute.n_known]
    assert bin_weights(Schema({"a": attribute}), resolution={"a": step}) == ((*map(len, bins[:-1]), 1),)


@given(attributes(), st.sampled_from([None, 0.1, 0.5, 3.0]))
def test_every_value_encodes_to_its_bin_and_as_many_are_counted(attribute, step):
    step = step if isinstance(attribute, Real) else None
    bins = values_of_bins(attribute, step)
    assert bin_weights(Schema({"a": attribute}), resolution=step and {"a": step}) == (tuple(map(len, bins)),)
    result = [(value, bin) for bin, held in enumerate(bins) for value in held]
    for value, bin in result:
        if not isinstance(value, (Unspecified, pd.Interval)):
            assert encoded(attribute, [value]) == [bin]


@pytest.mark.parametrize(
    ("attribute", "step", "known"),
    [
        # 0.7000000000000001 + 1.8 is above 2.5 as a decimal, and 2.5 as float64
        (Real(0.7000000000000001, 4.6, cuts=(2.5,)), 0.1, (19, 20)),
        # 2/3 + 6 is 6.6666666666666666 as a decimal, and the value 6.666666666666667 that means "missing" as float64
        (Real(2 / 3, 14.0, cuts=(10.0,), missing="bin", missing_values=(20 / 3,)), 0.1, (93, 40)),
        # the whole number 2^60 and 1.152921504606847e+18 are one number
        (Real(2.0**60, 2.0**61, cuts=(2.0**60 + 2.0**58,), missing="bin", missing_values=(2**60,)), 2.0**57, (2, 6)),
    ],
)
def test_numbers_equal_only_in_float64_are_in_the_schemas_bin(attribute, step, known):
    assert tuple(map(len, values_of_bins(attribute, step)))[:2] == known


def test_values_of_each_kind():
    assert [
        list(bin) for bin in values_of_bins(Integer(0, 9, cuts=(4,), missing="bin", missing_values=(7,), outside="bin"))
    ] == [
        [0, 1, 2, 3, 4],
        [5, 6, 8, 9],
        [Unspecified.MISSING],
        [Unspecified.OUTSIDE],
    ]
    assert values_of_bins(Boolean()) == ((False,), (True,))
    assert values_of_bins(Categorical(("red", "blue"))) == (("red",), ("blue",))
    assert list(map(list, values_of_bins(Real(0, 0.3, cuts=(0.1,)), 0.1))) == [[0.0, 0.1], [0.2, 0.3]]
    assert [str(item) for (item,) in values_of_bins(Real(0, 2, cuts=(0.5,)))] == ["[0.0, 0.5]", "(0.5, 2.0]"]


@given(
    st.integers(-5, 5),
    st.sampled_from([Fraction(1), Fraction(1, 4), Fraction(3)]),
    st.integers(0, 4),
    st.integers(1, 9),
    st.sets(st.integers(0, 12)),
    st.lists(st.floats(-40, 40), min_size=1, max_size=5),
)
def test_mean_distance_is_that_over_the_list(low, step, first, size, tokens, numbers):
    places = range(first, first + size)
    grid = NumberGrid(Fraction(low), step, places, tuple(sorted(tokens & set(places))))
    if len(grid):
        expected = [np.mean([abs(value - x) for value in grid]) for x in numbers]
        np.testing.assert_allclose(grid.mean_distance(np.array(numbers)), expected, atol=1e-9)
