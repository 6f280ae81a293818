import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn import blocks
from hedgerow.learn.blocks import reachable_rules
from hedgerow.schema import Boolean, Candidates, Categorical, Integer, Literal
from tests.learn.enumerate_models import all_worlds, holds, schema_of

SCHEMAS = [
    schema_of(Boolean(), Integer(0, 9, (3, 5)), Boolean(missing="bin")),
    schema_of(Boolean(), Boolean(), Boolean()),
    schema_of(Categorical(("a", "b", "c")), Boolean()),
]


@given(st.data(), st.sampled_from(SCHEMAS), st.integers(1, 3))
def test_the_rules_that_are_reached_are_those_that_some_row_of_the_domain_meets_first(data, schema, literals):
    candidates = Candidates.of(schema, literals)
    rules = data.draw(st.lists(st.sampled_from(list(candidates)), max_size=7))
    first = {
        next((i for i, rule in enumerate(rules) if holds(schema, rule, w)), len(rules)) for w in all_worlds(schema)
    }
    assert reachable_rules(schema, rules) == tuple(sorted(first))


def test_a_rule_that_contradicts_itself_is_not_reached():
    schema = SCHEMAS[1]
    name = schema.names[0]
    assert reachable_rules(schema, [(Literal(name, "true"), Literal(name, "false"))]) == (1,)


@pytest.mark.parametrize("size", [10, 40])
def test_long_lists_over_many_attributes_take_little_time(size):
    """Each rule leaves something: what is left of a box is divided no further than to the first row that is free."""
    schema = schema_of(*[Boolean()] * size)
    rules = [rule for rule in Candidates.of(schema, 2) if len(rule) == 2 and rule[0].operator == rule[1].operator]
    found = reachable_rules(schema, rules)
    assert found[-1] < len(rules)  # of three booleans two are alike: nothing is left to the default rule


def test_of_lists_that_nobody_can_read_some_rules_may_stay(monkeypatch):
    """To tell which rules rows reach is hard in general: the work is bounded, and what is not known stays."""
    monkeypatch.setattr(blocks, "_MOST_LOOKS", 50_000)
    schema, rng = schema_of(*[Boolean()] * 40), np.random.default_rng(1)
    names = schema.names
    rules = [
        tuple(Literal(names[i], str(rng.choice(["true", "false"]))) for i in rng.choice(40, 3, replace=False))
        for _ in range(300)
    ]
    found = reachable_rules(schema, rules)
    assert 100 < len(found) <= 301
