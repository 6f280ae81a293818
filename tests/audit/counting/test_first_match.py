import random
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.counting import regions as first_match
from hedgerow.audit.counting.bin_values import bin_weights
from hedgerow.audit.counting.outside import BoxCounter
from hedgerow.audit.counting.regions import Region, count_rows_each, first_matches
from hedgerow.audit.entropy.domain import Domain
from tests.audit.counting.boxes import bit_list, enumerated, regions, regions_of

# Limits beyond which even small cases lie: they go through arrays of words of two boxes, in blocks or in halves.
TINY = {"_FEW": 0, "_SEPARATE": 1, "_SAMPLE": 1, "_WORD": 2, "_ONES": 3}


def one_by_one(boxes, weights):
    """Count each region by its own search."""
    counter = BoxCounter(weights, most=len(boxes))
    return tuple(counter.outside(box, boxes[:index]) for index, box in enumerate(boxes))


def box_of(n_bits, **values):
    return tuple({None: 3, False: 1, True: 2}[values.get(f"x{i}")] for i in range(n_bits))


@st.composite
def box_lists(draw, most=10):
    region, weights = draw(regions(most))
    return (*region.earlier, region.box), weights


@given(box_lists())
def test_each_count_equals_enumeration(case):
    boxes, weights = case
    expected = tuple(enumerated(Region(box, boxes[:index]), weights) for index, box in enumerate(boxes))
    assert first_matches(boxes, weights) == expected


@pytest.mark.parametrize("most", [1, 1000])
@given(case=box_lists())
def test_arrays_blocks_and_halves_count_as_a_dictionary_does(most, case):
    expected = first_matches(*case)
    with patch.multiple(first_match, **TINY, _MOST=most):
        assert first_matches(*case) == expected


@given(box_lists())
def test_states_with_the_same_hash_are_not_taken_for_one(case):
    expected = first_matches(*case)
    with patch.multiple(first_match, **TINY, _ODD=(0, 0)):
        assert first_matches(*case) == expected


@pytest.mark.parametrize(("n_bits", "n_rules"), [(20, 60), (40, 30), (70, 40)])
def test_lists_of_rules_over_bits_are_counted_as_region_by_region(n_bits, n_rules):
    model = bit_list(n_bits, n_rules, 3)
    boxes = [region.box for region in regions_of(model)]
    assert first_matches(boxes, bin_weights(model.schema)) == one_by_one(boxes, bin_weights(model.schema))


# Counted region by region, by BoxCounter, in which rules after the region play no part.
@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (0, {9: 48994713600, 29: 3066394112, 49: 53465340, 74: 1218011, 99: 39849, 139: 2, 200: 0}),
        pytest.param(
            7,
            {9: 43788533760, 29: 3539255296, 49: 249191736, 74: 21594614, 99: 987254, 139: 356, 200: 4},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_200_rules_over_40_bits(seed, expected):
    model = bit_list(40, 200, seed)
    counts = count_rows_each(regions_of(model), bin_weights(model.schema))
    assert {index: counts[index] for index in expected} == expected
    assert sum(counts) == 2**40 == Domain.of(model.schema).possible_rows
    assert counts[0] == 2**37
    assert all(type(count) is int for count in counts)


def test_counts_beyond_64_bits_are_exact_in_arrays():
    # 45 bits, whose bins hold 10**9 and 10**9 + 7 values each: all but the first are free for a rule of one literal.
    rng = random.Random(2)
    lists = [{f"x{i}": rng.random() < 0.5 for i in rng.sample(range(45), 3)} for _ in range(40)]
    boxes = [box_of(45, x0=True), *(box_of(45, **values) for values in lists), box_of(45)]
    weights = ((10**9, 10**9 + 7),) * 45
    counts = first_matches(boxes, weights)
    assert counts[0] == (10**9 + 7) * (2 * 10**9 + 7) ** 44
    assert sum(counts) == (2 * 10**9 + 7) ** 45
    assert counts == one_by_one(boxes, weights)


@given(box_lists(), st.integers(0, 5), st.integers(1, 2**70))
def test_the_weights_of_an_attribute_are_a_factor(case, place, factor):
    boxes, weights = case
    place %= len(weights)
    scaled = (*weights[:place], tuple(factor * w for w in weights[place]), *weights[place + 1 :])
    assert first_matches(boxes, scaled) == tuple(factor * count for count in first_matches(boxes, weights))


def test_bins_without_values_hold_no_rows():
    boxes = [(0b01, 0b11), (0b11, 0b10), (0b11, 0b11)]
    assert first_matches(boxes, ((0, 5), (2, 3))) == (0, 15, 10)
    assert first_matches(boxes, ((0, 0), (2, 3))) == (0, 0, 0)


def test_lists_with_unmatched_rows_or_unreachable_rules():
    assert first_matches([(0b01, 0b11)], ((1, 1), (1, 1))) == (2,)
    assert first_matches([(0b01,), (0b11,), (0b10,), (0b11,)], ((2, 3),)) == (2, 3, 0, 0)
    assert first_matches([], ((1, 1),)) == ()
    assert first_matches([(), ()], ()) == (1, 0)


def chain(n_bits):
    return [box_of(n_bits, **dict.fromkeys(pair, True)) for pair in pairwise(f"x{i}" for i in range(n_bits))]


@pytest.mark.parametrize(("n_bits", "shuffled"), [(600, False), (300, True)])
def test_all_regions_of_a_chain_of_hundreds_of_bits(n_bits, shuffled):
    # rows of bits without two neighbours that are both true: the Fibonacci numbers 2, 3, 5, ...
    fibonacci = [1, 2]
    while len(fibonacci) <= n_bits:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    rules = chain(n_bits)
    if shuffled:
        random.Random(1).shuffle(rules)
    counts = first_matches([*rules, (3,) * n_bits], ((1, 1),) * n_bits)
    assert counts[-1] == fibonacci[n_bits]
    assert sum(counts) == 2**n_bits
    if not shuffled:  # rule j: bits j and j + 1 are true, the one before is not, no two neighbours before that are
        assert counts[:3] == (2**598, 2**597, 2**597)
        assert counts[-2] == fibonacci[n_bits - 3]


def test_a_long_chain_needs_few_states():
    # Two states for each rule that may have matched: the work is that of the square of the length, in any order.
    rules = chain(100)
    random.Random(4).shuffle(rules)
    seen = []
    merged = first_match._merged
    with patch.object(first_match, "_merged", lambda words, rows: seen.append(len(rows)) or merged(words, rows)):
        first_matches(rules, ((1, 1),) * 100)
    assert max(seen) < 10 * 100


def test_regions_with_other_boxes_taken_off_are_no_list():
    # By hand: of four rows the second region loses (1, 1) alone, and not all of the first region.
    first, both, everything = (2, 3), (2, 2), (3, 3)
    regions = (Region(first), Region(everything, earlier=(both,)))
    assert count_rows_each(regions, ((1, 1), (1, 1))) == (2, 3)
