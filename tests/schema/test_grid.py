"""Default grids against grids written by hand, and against their rule on generated bounds."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.schema import Integer, Real, default_cuts

SIGNED = [10, 100, 1_000, 10_000]
WHOLE = {  # by the rule, by hand
    (0, 1): [0],
    (0, 2): [0, 1],
    (0, 4): [0, 1, 2, 3],
    (-2, 2): [-2, -1, 0, 1],
    (17, 90): [20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85],
    (1900, 2026): [1900, 1910, 1920, 1930, 1940, 1950, 1960, 1970, 1980, 1990, 2000, 2010, 2020],
    (0, 100): [0, 1, 2, *range(5, 100, 5)],
    (-100, 0): [*range(-100, 0, 5), -2, -1],
    (-10, 10): [*range(-10, 10)],
    (0, 45): [0, 1, 2, *range(5, 45, 5)],  # steps of 2 are 22.5, those of 2.5 are not whole
    (0, 500): [0, 1, 2, 5, 10, 20, *range(25, 500, 25)],
    (0, 100_000): [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, *range(5000, 100_000, 5000)],
    (1, 1_000_000): [1, 2, 5, *(d * 10**k for k in (1, 2, 3, 4) for d in (1, 2, 5)), *range(10**5, 10**6, 50_000)],
    (-1_000_000, 1_000_000): [  # 1, 2, 5, … would be 30
        *range(-(10**6), 0, 10**5),
        *(-cut for cut in reversed(SIGNED)),
        *(-1, 0, 1),
        *SIGNED,
        *range(10**5, 10**6, 10**5),
    ],
    (0, 2**53 - 1): [0, *(10**k for k in range(15)), *range(5 * 10**14, 2**53, 5 * 10**14)],
}
REAL_OF_VERSION_1 = {
    (0, 1): "0 .001 .002 .005 .01 .02 .05 .1 .15 .2 .25 .3 .35 .4 .45 .5 .55 .6 .65 .7 .75 .8 .85 .9 .95",
    (0, 1e-6): "0 1e-9 2e-9 5e-9 1e-8 2e-8 5e-8 1e-7 1.5e-7 2e-7 2.5e-7 3e-7 3.5e-7 4e-7 4.5e-7 5e-7 5.5e-7 6e-7 6.5e-7"
    " 7e-7 7.5e-7 8e-7 8.5e-7 9e-7 9.5e-7",
    (0.1, 1.1): ".1 .15 .2 .25 .3 .35 .4 .45 .5 .55 .6 .65 .7 .75 .8 .85 .9 .95 1 1.05",
    (0, 50): "0 .05 .1 .2 .5 1 2 2.5 5 7.5 10 12.5 15 17.5 20 22.5 25 27.5 30 32.5 35 37.5 40 42.5 45 47.5",  # from .05
    (36, 42): "36 36.5 37 37.5 38 38.5 39 39.5 40 40.5 41 41.5",
    (-10, 10): "-10 -9 -8 -7 -6 -5 -4 -3 -2 -1 -.5 -.2 -.1 -.05 -.02 -.01 0 .01 .02 .05 .1 .2 .5 1 2 3 4 5 6 7 8 9",
    (
        -1e6,
        1e6,
    ): "-1e6 -9e5 -8e5 -7e5 -6e5 -5e5 -4e5 -3e5 -2e5 -1e5 -1e4 -1e3 -100 -10 -1 0 1 10 100 1e3 1e4 1e5 2e5 3e5"
    " 4e5 5e5 6e5 7e5 8e5 9e5",
    (-1e300, 1e300): "-1e300 -9e299 -8e299 -7e299 -6e299 -5e299 -4e299 -3e299 -2e299 -1e299 -1e270 -1e240 -1e210 -1e180"
    " -1e150 -1e120 -1e90 -1e60 -1e30 -1 0 1 1e30 1e60 1e90 1e120 1e150 1e180 1e210 1e240 1e270 1e299 2e299 3e299"
    " 4e299 5e299 6e299 7e299 8e299 9e299",  # every 30th power of ten: 20, where every 29th would be 22
    (1.0, math.nextafter(1.0, 2)): "1",
    (0, 5e-324): "0",
}
REAL = REAL_OF_VERSION_1 | {
    (0, 1): "0 .01 .02 .05 .1 .15 .2 .25 .3 .35 .4 .45 .5 .55 .6 .65 .7 .75 .8 .85 .9 .95",
    (0, 3): "0 .05 .1 .2 .4 .6 .8 1 1.2 1.4 1.6 1.8 2 2.2 2.4 2.6 2.8",
    (-1, 0): "-1 -.95 -.9 -.85 -.8 -.75 -.7 -.65 -.6 -.55 -.5 -.45 -.4 -.35 -.3 -.25 -.2 -.15 -.1 -.05 -.02 -.01",
    (0, 1e-6): "0 1e-8 2e-8 5e-8 1e-7 1.5e-7 2e-7 2.5e-7 3e-7 3.5e-7 4e-7 4.5e-7 5e-7 5.5e-7 6e-7 6.5e-7 7e-7 7.5e-7"
    " 8e-7 8.5e-7 9e-7 9.5e-7",
    (0, 50): "0 .5 1 2 2.5 5 7.5 10 12.5 15 17.5 20 22.5 25 27.5 30 32.5 35 37.5 40 42.5 45 47.5",  # from .5
    (0, 1000): "0 1 2 5 10 20 50 100 150 200 250 300 350 400 450 500 550 600 650 700 750 800 850 900 950",  # from 1
    (-10, 10): "-10 -9 -8 -7 -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6 7 8 9",  # from 1, which is the step
}
sizes = st.integers(0, 60) | st.integers(0, 2**53 - 1)
wholes = st.builds(lambda size, sign: sign * size, sizes, st.sampled_from([-1, 1]))
finite = st.floats(-8e307, 8e307) | st.floats(-3, 3).map(lambda x: round(x, 2)) | wholes.map(float)


@pytest.mark.parametrize(("bounds", "cuts"), WHOLE.items(), ids=map(str, WHOLE))
@pytest.mark.claim("follow from the bounds (`default_cuts`), at no charge")
def test_a_grid_of_whole_numbers_matches_a_hand_calculation(bounds, cuts):
    result = default_cuts(*bounds, whole=True)
    assert (result, {*map(type, result)}) == (tuple(cuts), {int})


@pytest.mark.parametrize(("bounds", "cuts"), REAL.items(), ids=map(str, REAL))
def test_a_grid_of_real_numbers_matches_a_hand_calculation_exactly(bounds, cuts):
    result = default_cuts(*bounds, whole=False)
    assert (result, {*map(type, result)}) == (tuple(map(float, cuts.split())), {float})


@pytest.mark.parametrize(("bounds", "cuts"), REAL_OF_VERSION_1.items(), ids=map(str, REAL_OF_VERSION_1))
def test_a_grid_of_version_1_of_the_format_stays_the_same(bounds, cuts):
    assert default_cuts(*bounds, whole=False, version=1) == tuple(map(float, cuts.split()))


@given(wholes, wholes)
def test_a_grid_of_whole_numbers_keeps_its_rule(one, other):
    assume(one != other)
    low, high = sorted([one, other])
    cuts = default_cuts(low, high, whole=True)
    assert Integer(low, high, cuts).cuts == Integer(low, high).cuts  # increasing, whole, within bounds
    assert 1 <= len(cuts) <= 40
    if high - low <= 20:
        assert cuts == tuple(range(low, high))
    else:
        assert 7 <= sum(abs(cut) >= (high - low) / 20 or cut == 0 for cut in cuts) <= 20
        assert (0 in cuts) == (low <= 0 < high)


@given(finite, finite)
def test_a_grid_of_real_numbers_keeps_its_rule(one, other):
    assume(one != other)
    low, high = sorted([one, other])
    cuts = default_cuts(low, high, whole=False)
    assert Real(low, high, cuts).cuts == Real(low, high).cuts
    assert 1 <= len(cuts) <= 40
    assert (0 in cuts) == (low <= 0 < high)
    if high - low >= 1e-9 * max(abs(low), abs(high)) and high - low > 1e-300:  # floats do not run out in between
        widest = np.diff([low, *cuts, high]).max()
        assert widest <= (high - low) / 9.9


@given(st.integers(1, 2**52), st.booleans())
def test_a_grid_of_a_symmetric_domain_is_symmetric_but_for_its_closed_end(size, whole):
    cuts = {*default_cuts(-size, size, whole=whole)}
    assert {-cut for cut in cuts} - cuts <= {size}
    assert {-cut for cut in cuts} ^ cuts <= {-size, size}


@given(st.integers(21, 2000), st.integers(1, 50))
def test_a_grid_far_from_zero_moves_with_its_domain(width, times):
    step = 10_000  # a multiple of every step of these widths
    here, there = (default_cuts(low, low + width, whole=True) for low in (step, (1 + times) * step))
    assert there == tuple(cut + times * step for cut in here)


@given(finite, finite)
def test_cut_points_print_as_short_decimals(one, other):
    low, high = sorted([round(one, 3), round(other, 3)])
    assume(high - low >= 0.1)
    assume(max(abs(low), abs(high)) < 1e6)
    assert all(
        len(repr(cut).replace("-", "").replace(".", "").strip("0")) <= 9 for cut in default_cuts(low, high, whole=False)
    )


def test_bounds_are_read_as_the_decimals_that_they_are_written_as():
    assert default_cuts(0.1, 1.1, whole=False) == default_cuts(np.float64(0.1), np.float64(1.1), whole=False)
    assert default_cuts(0, 1, whole=False) == default_cuts(-0.0, 1.0, whole=False)


@pytest.mark.parametrize(
    ("low", "high", "whole", "key", "message"),
    [
        (0, 1.5, True, "high", r"expected a whole number, got 1\.5"),
        (True, 2, True, "low", "expected a whole number, got True"),
        (0, 2**53, True, "high", r"expected a whole number below 2\^53 in size, got 9007199254740992"),
        (math.nan, 1, False, "low", "expected a finite number, got nan"),
        (0, math.inf, False, "high", "expected a finite number, got inf"),
        ("0", 1, False, "low", "expected a finite number, got '0'"),
        (1, 1, False, "high", "low=1 and high=1"),
        (-1e308, 1e308, False, "high", r"low=-1e\+308 and high=1e\+308"),
    ],
)
def test_invalid_bounds_have_no_grid(low, high, whole, key, message):
    with pytest.raises(SchemaError, match=message) as error:
        default_cuts(low, high, whole=whole)
    assert error.value.key == key
