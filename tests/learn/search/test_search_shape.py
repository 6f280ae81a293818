"""Outlines from the kinds of attributes against those of spaces, which list every option and bin."""

import time
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import SchemaError
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.cost import SearchShape
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Candidates, Categorical, Integer, Schema
from hedgerow.schema.schema import FROM_ROWS
from tests.learn.enumerate_models import schema_of
from tests.schema.values import attributes

several = st.lists(st.one_of(attributes, st.just(Integer(0, 9, tuple(range(8))))), min_size=1, max_size=4).map(
    lambda kinds: schema_of(*kinds, *kinds[:1])
)
schemas = st.builds(
    lambda schema, reason: Schema(dict(schema.attributes), schema.label, no_guarantee=reason),
    several,
    st.sampled_from([None, FROM_ROWS]),
).filter(lambda schema: has_literals(schema))


def has_literals(schema):
    try:
        return bool(len(Candidates.of(schema, 1, negations=False)))
    except SchemaError:
        return False


@given(schemas, st.integers(1, 4), st.integers(1, 3))
def test_trees_have_the_outline_of_their_space(schema, depth, every):
    space = Space.of_trees(schema, every)
    shape = SearchShape.of_trees(schema, every)
    assert shape == SearchShape.of(space)
    assert shape.n_options == space.n_options
    boxes = Boxes.of(space, depth)
    assert shape.sizes(depth) == (boxes.sizes if boxes is not None and boxes.axes else None)


@given(schemas, st.integers(1, 3), st.booleans())
def test_lists_have_the_outline_of_their_space(schema, max_literals, negations):
    space = Space.of_lists(Candidates.of(schema, max_literals, negations=negations))
    shape = SearchShape.of_lists(schema, max_literals, negations=negations)
    assert shape == SearchShape.of(space)
    assert shape.longest == len(space.candidates.members)


@given(schemas)
def test_rules_about_two_attributes_are_counted_as_they_come(schema):
    shape = SearchShape.of_lists(schema, 2, negations=True)
    each = [(len(item.literals("x", negations=True)), item.n_bins) for _, item in schema.attributes]
    if not schema.no_guarantee:
        each = [(own, bins) for own, bins in each if own]
        both = [(m * n, size * other) for (m, size), (n, other) in combinations(each, 2)]
        result = Counter[tuple[int, int]]()
        for own, cells, times in shape.pairs:
            result[own, cells] += times
        assert result == Counter([*each, *both])


@pytest.mark.parametrize("kind", [Boolean(), Integer(0, 100, tuple(range(5, 100, 8)))])
@pytest.mark.parametrize("learner", [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier])
def test_ten_thousand_attributes_are_counted_in_half_a_second(kind, learner):
    """It took 16 seconds of booleans, and more of integers."""
    schema = schema_of(*[kind] * 10_000)
    learner(1, schema=schema).search_cost(schema_of(kind))  # imports what is imported late
    start = time.process_time()
    learner(1, schema=schema).search_cost(schema)
    assert time.process_time() - start < 2  # .2 where nobody else uses the machine


def test_an_attribute_of_many_values_is_not_laid_out():
    """12,000 values with their negations: a table of options by bins would have 288 million entries."""
    schema, start = schema_of(Categorical(tuple(range(12_000)))), time.process_time()
    assert SearchShape.of_lists(schema, 1, negations=True).sizes(2) is None
    assert SearchShape.of_trees(schema).n_options == 12_000
    assert time.process_time() - start < 5
