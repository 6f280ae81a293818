from itertools import pairwise, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.counting.bin_values import bin_weights
from hedgerow.audit.counting.regions import Region, count_rows, count_rows_each
from hedgerow.audit.entropy.domain import Domain
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.schema import Boolean, Integer, Literal, Schema
from tests.audit.counting.boxes import CARD, LABEL, bit_list, enumerated, regions, regions_of
from tests.models.strategies import rule_lists, trees

LEAF = Leaf(label=True)


def num(box, weights):
    return prod(sum(w for i, w in enumerate(bins) if mask >> i & 1) for mask, bins in zip(box, weights, strict=True))


def captured(earlier, box, weights):
    """PDR eq. 15, with eq. 13 for what rule l takes of a box: num(f_l and f_j) less what rules before l take of it."""
    both = [tuple(a & b for a, b in zip(other, box, strict=True)) for other in earlier]
    return num(box, weights) - sum(captured(earlier[:i], item, weights) for i, item in enumerate(both))


@given(regions())
def test_count_equals_enumeration_and_the_papers_recursion(case):
    region, weights = case
    assert count_rows(region, weights) == enumerated(region, weights)
    assert count_rows(region, weights) == captured(region.earlier, region.box, weights)


@given(rule_lists() | trees())
def test_regions_match_the_predictions_of_the_model(model):
    weights = bin_weights(model.schema)
    counts = count_rows_each(regions_of(model), weights)
    assert counts == tuple(enumerated(region, weights) for region in regions_of(model))
    assert sum(counts) == Domain.of(model.schema).possible_rows
    assert len(counts) == len(model.leaves)


def test_each_row_is_in_the_region_that_apply_returns():
    model = bit_list(6, 5, 0)
    rows = np.array(list(product((0, 1), repeat=6)))
    expected = tuple(np.bincount(model.apply(rows), minlength=6))
    assert count_rows_each(regions_of(model), bin_weights(model.schema)) == expected


@given(regions(), st.data())
def test_an_additional_box_never_adds_rows(case, data):
    region, weights = case
    if region.earlier:
        place = data.draw(st.integers(0, len(region.earlier) - 1))
        fewer = Region(region.box, region.earlier[:place] + region.earlier[place + 1 :])
        assert count_rows(region, weights) <= count_rows(fewer, weights)


@given(rule_lists(), st.randoms(use_true_random=False))
def test_entropy_does_not_depend_on_the_order_of_rules(model, rng):
    rules = list(model.rules[:-1])
    rng.shuffle(rules)
    other = RuleList(model.schema, (*rules, model.rules[-1]), CARD)
    weights = bin_weights(model.schema)
    assert count_rows(regions_of(model)[-1], weights) == count_rows(regions_of(other)[-1], weights)


@given(st.lists(regions(), min_size=2, max_size=2))
def test_independent_attributes_multiply(cases):
    (item, weights), (other, more) = ((Region(region.box, region.earlier), weights) for region, weights in cases)
    free, first = tuple((1 << len(w)) - 1 for w in more), tuple((1 << len(w)) - 1 for w in weights)
    earlier = (*(box + free for box in item.earlier), *(first + box for box in other.earlier))
    both = count_rows(Region(item.box + other.box, earlier), weights + more)
    assert both == count_rows(item, weights) * count_rows(other, more)


def test_rule_list_1_of_the_paper():
    # PDR, Rule List 1 and Table IV: x1, x2 have 2 worlds; x3, x4 three; x5 the rows without a3 and not (a1 and a2): 3
    schema = Schema({name: Boolean() for name in ("a1", "a2", "a3")}, LABEL)
    a1, a2, a3 = (Literal(name, "true") for name in schema)
    model = RuleList(schema, (Rule((a1, a2), (0, 2)), Rule((a3,), (2, 0)), Rule((), (0, 1))), CARD)
    assert count_rows_each(regions_of(model), bin_weights(schema)) == (2, 3, 3)


def test_tree_of_the_papers_figure_1():
    # PDR, Table II: {10..15} x {0,1} x {1}; {10,11} x {0,1} x {2,3}; {12..15} x {0,1} x {2,3}
    schema = Schema({"a1": Integer(10, 15, cuts=(11,)), "a2": Boolean(), "a3": Integer(1, 3, cuts=(1,))}, LABEL)
    root = Split(Literal("a3", "<=", (1,)), LEAF, Split(Literal("a1", "<=", (11,)), LEAF, LEAF))
    assert count_rows_each(regions_of(Tree(schema, root, CARD)), bin_weights(schema)) == (12, 8, 16)


def test_a_stump_halves_27_bits():
    schema = Schema({f"x{i}": Boolean() for i in range(27)}, LABEL)
    stump = Tree(schema, Split(Literal("x4", "true"), LEAF, LEAF), CARD)
    assert count_rows_each(regions_of(stump), bin_weights(schema)) == (2**26, 2**26)


def test_a_missing_value_goes_to_the_false_branch():
    schema = Schema({"age": Integer(0, 9, cuts=(4,), missing="bin")}, LABEL)
    tree = Tree(schema, Split(Literal("age", "<=", (4,)), LEAF, LEAF), CARD)
    assert count_rows_each(regions_of(tree), bin_weights(schema)) == (5, 6)


def test_long_lists_sum_to_the_domain():
    model = bit_list(30, 120, 1)
    counts = count_rows_each(regions_of(model), bin_weights(model.schema))
    assert sum(counts) == 2**30
    assert all(type(count) is int for count in counts)


def test_numbers_beyond_floats_are_exact():
    schema = Schema({f"x{i}": Boolean() for i in range(600)}, LABEL)
    chain = [tuple(Literal(name, "true") for name in pair) for pair in pairwise(schema.names)]
    model = RuleList(schema, tuple(Rule(a, label=True) for a in (*chain, ())), CARD)
    item, other = 1, 2  # rows of bits without two neighbours that are both true: Fibonacci numbers
    for _ in range(600):
        item, other = other, item + other
    assert count_rows(regions_of(model)[-1], bin_weights(schema)) == item


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="1 attribute"):
        Region((3,), ((3, 3),))
    for weights in (((1, 1), (1, 1)), ((1,),)):
        with pytest.raises(ValueError, match="weight"):
            count_rows(Region((3,)), weights)
