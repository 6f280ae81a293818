from collections import defaultdict
from functools import cache
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.learn import simplify
from hedgerow.learn.learned import grafted, leaves_of
from hedgerow.learn.search.lattice import InnerNode, LeafNode
from hedgerow.learn.search.space import Space
from hedgerow.learn.simplify import simplified, simplified_list
from hedgerow.schema import Boolean, Candidates, Categorical, Date, Integer, Literal, Ordered, Real
from tests.learn.enumerate_models import Models, all_worlds, holds, schema_of

KINDS = (
    Boolean(),
    Boolean(missing="bin", missing_values=("?",)),
    Categorical(("a", "b", "c")),
    Categorical(("a", "b", "c", "d"), outside="bin"),
    Categorical(("a", "b"), missing="bin", outside="bin"),
    Ordered(("low", "middle", "high"), missing="bin"),
    Integer(0, 9, (3, 5, 7), missing="bin", missing_values=(-9,)),
    Integer(0, 9, (3, 5), outside="bin"),
    Real(0, 1, (0.25, 0.5, 0.75), outside="clip"),
    Date("2000-01-01", "2010-01-01", ("2003-01-01", "2006-01-01"), missing="bin"),
)
schemas = st.lists(st.sampled_from(KINDS), min_size=1, max_size=3).map(lambda kinds: schema_of(*kinds, classes=3))


@st.composite
def any_trees(draw, most=5):
    """A space, and a tree of any of its tests, whether rows can reach them or not."""
    space = Space.of_trees(draw(schemas))
    options = st.integers(0, space.n_options - 1)

    def below(depth):
        if not depth or draw(st.integers(0, 3)) == 0:
            return LeafNode(draw(st.integers(0, 2)))
        return InnerNode(draw(options), below(depth - 1), below(depth - 1))

    return space, below(draw(st.integers(0, most)))


def height(tree):
    return 0 if isinstance(tree, LeafNode) else 1 + max(height(tree.caught), height(tree.left))


def cost(space, tree, worlds, depth=0):
    """Leaves, tests on all paths, and tests of ordered attributes whose largest value is ruled out above them."""
    if isinstance(tree, LeafNode):
        return 1, depth, 0
    models = Models(space, 0)
    (literal,) = space.antecedents[tree.option]
    attribute, place = models.schema[literal.attribute], models.schema.names.index(literal.attribute)
    falls = attribute.ordered and all(world[place] != attribute.n_ordered - 1 for world in worlds)
    caught = {world for world in worlds if holds(models.schema, (literal,), world)}
    parts = cost(space, tree.caught, caught, depth + 1), cost(space, tree.left, worlds - caught, depth + 1)
    leaves, passed, below = (part + other for part, other in zip(*parts, strict=True))
    return leaves, passed, below + falls


@settings(max_examples=60)
@given(any_trees())
def test_a_simplified_tree_predicts_the_same_for_every_row_of_the_domain(example):
    space, tree = example
    models = Models(space, 0)
    short = simplified(tree, space)
    assert all(models.value_of(short, world) == models.value_of(tree, world) for world in models.worlds)
    assert height(short) <= height(tree)
    assert cost(space, short, models.worlds) <= cost(space, tree, models.worlds)
    assert simplified(short, space) == short
    assert all(here and there for here, there in models.support(short, models.worlds))  # every leaf has rows


@pytest.mark.parametrize("examples", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_no_tree_that_predicts_the_same_costs_less(examples):
    @settings(max_examples=examples)
    @given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2), st.data())
    def least(kinds, data):
        space = Space.of_trees(schema_of(*kinds))
        models = Models(space, 3)
        while models.count > 1_000:
            models = Models(space, models.depth - 1)
        by_predictions = defaultdict(list)
        for tree in models.priors:
            by_predictions[tuple(models.value_of(tree, world) for world in sorted(models.worlds))].append(tree)
        same = data.draw(st.sampled_from(list(by_predictions.values())))
        tree = data.draw(st.sampled_from(same))
        costs = [cost(space, other, models.worlds) for other in same if height(other) <= height(tree)]
        assert cost(space, simplified(tree, space), models.worlds) == min(costs)

    least()


AGES = Space.of_trees(schema_of(Integer(0, 99, (20, 30, 40)), Boolean(), Categorical(("a", "b", "c"))))
UP_TO_20, UP_TO_30, UP_TO_40, SMOKER, A, B, C = range(7)
NO, YES, UNSURE = map(LeafNode, range(3))


@pytest.mark.parametrize(
    ("tree", "short"),
    [
        # implied tests, and leaves that no row reaches
        (InnerNode(UP_TO_20, InnerNode(UP_TO_30, NO, YES), YES), InnerNode(UP_TO_20, NO, YES)),
        (InnerNode(A, InnerNode(B, YES, NO), YES), InnerNode(A, NO, YES)),
        # leaves and subtrees that predict the same
        (InnerNode(SMOKER, NO, NO), NO),
        (InnerNode(SMOKER, InnerNode(A, NO, YES), InnerNode(A, NO, YES)), InnerNode(A, NO, YES)),
        (
            InnerNode(UP_TO_30, InnerNode(SMOKER, NO, YES), InnerNode(A, NO, InnerNode(SMOKER, NO, YES))),
            InnerNode(SMOKER, NO, InnerNode(UP_TO_30, YES, InnerNode(A, NO, YES))),
        ),
        (
            InnerNode(SMOKER, InnerNode(A, NO, YES), InnerNode(UP_TO_30, InnerNode(A, NO, YES), YES)),
            InnerNode(A, InnerNode(SMOKER, NO, InnerNode(UP_TO_30, NO, YES)), YES),
        ),
        # neighbouring intervals, and the last category of three
        (InnerNode(UP_TO_30, InnerNode(UP_TO_20, NO, YES), YES), InnerNode(UP_TO_20, NO, YES)),
        (InnerNode(A, YES, InnerNode(B, YES, NO)), InnerNode(C, NO, YES)),
        # thresholds in rising order
        (
            InnerNode(UP_TO_30, InnerNode(UP_TO_20, NO, YES), UNSURE),
            InnerNode(UP_TO_20, NO, InnerNode(UP_TO_30, YES, UNSURE)),
        ),
        (
            InnerNode(UP_TO_40, InnerNode(UP_TO_30, InnerNode(UP_TO_20, NO, YES), UNSURE), YES),
            InnerNode(UP_TO_30, InnerNode(UP_TO_20, NO, YES), InnerNode(UP_TO_40, UNSURE, YES)),
        ),
        # what one test decides comes first
        (
            InnerNode(SMOKER, InnerNode(A, NO, YES), InnerNode(A, UNSURE, YES)),
            InnerNode(A, InnerNode(SMOKER, NO, UNSURE), YES),
        ),
    ],
)
def test_trees_simplified_by_hand(tree, short):
    assert simplified(tree, AGES) == short


@pytest.mark.parametrize("sides", [(YES, NO), (NO, YES)])
def test_a_test_that_only_missing_values_fail_is_written_as_one_for_them(sides):
    space = Space.of_trees(schema_of(Integer(-99, 99, (0, 30), missing="bin"), classes=3))
    tests = {str(literal): option for option, (literal,) in enumerate(space.antecedents[: space.n_options])}
    given = InnerNode(
        tests["x0 <= 30"], UNSURE, InnerNode(tests["x0 > 0"], *sides)
    )  # above 30, all but missing are above 0
    short = simplified(given, space)
    assert short == InnerNode(tests["x0 <= 30"], UNSURE, InnerNode(tests["x0 is missing"], *reversed(sides)))


@settings(max_examples=30)
@given(any_trees(4))
def test_leaves_without_values_are_kept_apart(example):
    """Counts are not known yet: every leaf that a row reaches stays, and has the same rows."""
    space, tree = example
    models = Models(space, 0)
    short = simplified(grafted(tree, iter([LeafNode(None)] * 40)), space)
    assert all(leaf == LeafNode(None) for leaf in leaves_of(short))
    original, shortened = (grafted(part, map(LeafNode, count())) for part in (tree, short))
    pairs = {(models.value_of(original, world), models.value_of(shortened, world)) for world in models.worlds}
    assert len(pairs) == len({first for first, _ in pairs}) == len({second for _, second in pairs})
    assert len(pairs) == len(list(leaves_of(short)))


@pytest.mark.parametrize("depth", [6, 9])
def test_trees_that_nobody_can_read_take_little_time(depth, monkeypatch):
    tried = []
    monkeypatch.setattr(simplify._SmallestTrees, "_candidates", _counting(tried))
    space = Space.of_trees(schema_of(*[Integer(0, 99, (20, 40, 60, 80))] * 8))
    rng = np.random.default_rng(3)

    def below(left):
        return (
            LeafNode(int(rng.integers(2)))
            if not left
            else InnerNode(int(rng.integers(32)), below(left - 1), below(left - 1))
        )

    tree = below(depth)
    short = simplified(tree, space)
    assert len(tried) <= simplify._MAX_BOXES + 50
    assert len(list(leaves_of(short))) < len(list(leaves_of(tree)))
    boxes = rng.integers(0, 5, (200, 8))
    truths = [(place // 4, place % 4) for place in range(32)]

    def predicted(node, row):
        while isinstance(node, InnerNode):
            attribute, cut = truths[node.option]
            node = node.caught if row[attribute] <= cut else node.left
        return node

    assert all(predicted(tree, row) == predicted(short, row) for row in boxes)


def _counting(tried, candidates=simplify._SmallestTrees._candidates):
    def counted(self, tree):
        tried.append(tree)
        return candidates(self, tree)

    return counted


# Lists

SCHEMAS = [
    schema_of(Boolean(), Integer(0, 9, (3, 5)), Boolean(missing="bin")),
    schema_of(Boolean(), Boolean(), Boolean()),
    schema_of(Categorical(("a", "b", "c")), Boolean()),
    *map(schema_of, KINDS),
    schema_of(KINDS[4], KINDS[6]),
]


@cache
def candidates_of(place, literals):
    return Candidates.of(SCHEMAS[place], literals)


@st.composite
def any_lists(draw):
    """A schema, some rules on it, and the value of each, the default included."""
    place = draw(st.integers(0, len(SCHEMAS) - 1))
    rules = draw(st.lists(st.sampled_from(list(candidates_of(place, draw(st.integers(1, 3))))), max_size=7))
    return SCHEMAS[place], rules, draw(st.lists(st.integers(0, 2), min_size=len(rules) + 1, max_size=len(rules) + 1))


def first_place(schema, rules, world):
    return next((i for i, rule in enumerate(rules) if holds(schema, rule, world)), len(rules))


@given(any_lists())
def test_a_simplified_list_has_only_rules_that_some_row_matches_first(example):
    schema, rules, _ = example
    short, places = simplified_list(schema, rules)
    firsts = {world: first_place(schema, rules, world) for world in all_worlds(schema)}
    assert sorted(places) == sorted(set(firsts.values()))
    assert list(places[:-2]) == sorted(places)[:-2]  # the last rule may have changed places with the default rule
    assert all(places[first_place(schema, short, world)] == first for world, first in firsts.items())


@given(any_lists())
def test_a_simplified_list_predicts_the_same_without_redundancy(example):
    schema, rules, values = example
    short, places = simplified_list(schema, rules, values)
    kept, worlds = [values[place] for place in places], all_worlds(schema)
    expected = [values[first_place(schema, rules, world)] for world in worlds]

    def predictions(rules, kept):
        return [kept[first_place(schema, rules, world)] for world in worlds]

    assert predictions(short, kept) == expected
    for place, rule in enumerate(short):
        assert rule
        assert predictions([*short[:place], *short[place + 1 :]], [*kept[:place], *kept[place + 1 :]]) != expected


@pytest.mark.parametrize(
    ("rules", "short"),
    [
        ([("x0 <= 3",), ("3 < x0 <= 5",)], [("x0 <= 3",), ("x0 <= 5",)]),
        ([("x1",), ("not x1", "x0 <= 3")], [("x1",), ("x0 <= 3",)]),
        ([("x1",), ("not x1",)], [("x1",)]),
        ([("x0 > 5",), ("x1", "3 < x0 <= 5")], [("x0 > 5",), ("x1", "x0 > 3")]),
        ([("x0 <= 3", "x1"), ("x0 <= 3",)], [("x0 <= 3", "x1"), ("x0 <= 3",)]),
        ([("x0 <= 3",), ("x0 <= 3", "x1")], [("x0 <= 3",)]),
        ([("x0 <= 3",), ("not x1",)], [("x0 <= 3",), ("x1",)]),
        ([("not x1",), ("x0 <= 3",)], [("not x1",), ("x0 <= 3",)]),
        ([("not x1", "x0 <= 3")], [("not x1", "x0 <= 3")]),
    ],
)
def test_rules_simplified_by_hand(rules, short):
    schema = schema_of(Integer(0, 9, (3, 5)), Boolean())
    literals = {str(literal): literal for literal in Candidates.of(schema, 1).literals}
    result, _ = simplified_list(schema, [tuple(literals[text] for text in rule) for rule in rules])
    assert [tuple(map(str, rule)) for rule in result] == short


def test_a_rule_whose_rows_get_the_same_value_from_later_rules_is_left_out():
    schema = schema_of(Boolean(), Boolean())
    item, other = (Literal(name, "true") for name in schema.names)
    assert simplified_list(schema, [(item, other), (item,)], [1, 1, 0]) == (((item,),), (1, 2))
    assert simplified_list(schema, [(item,), (other,)], [1, 0, 1]) == (((item,), (other,)), (0, 1, 2))
    assert simplified_list(schema, [(item,), (other,)], [0, 1, 1]) == (((item,),), (0, 2))


def test_a_last_rule_with_not_changes_places_with_the_default_rule():
    schema = schema_of(Boolean(), Boolean(missing="bin"))
    item, other = (Literal(name, "true") for name in schema.names)
    result = simplified_list(schema, [(other,), (Literal("x0", "false"),)], [1, 0, 1])
    assert result == (((other,), (item,)), (0, 2, 1))
    unknown = Literal("x1", "false")  # has no opposite: a missing value is neither
    assert simplified_list(schema, [(item,), (unknown,)], [1, 0, 1]) == (((item,), (unknown,)), (0, 1, 2))


def test_a_rule_that_contradicts_itself_is_not_reached():
    schema = SCHEMAS[1]
    name = schema.names[0]
    assert simplified_list(schema, [(Literal(name, "true"), Literal(name, "false"))]) == ((), (1,))


@pytest.mark.parametrize("size", [10, 40])
def test_long_lists_over_many_attributes_take_little_time(size):
    """Each rule leaves something: what is left of a box is divided no further than to the first row that is free."""
    schema = schema_of(*[Boolean()] * size)
    rules = [rule for rule in Candidates.of(schema, 2) if len(rule) == 2 and rule[0].operator == rule[1].operator]
    result, _ = simplified_list(schema, rules)
    assert len(result) < len(rules)  # of three booleans two are alike: nothing is left to the default rule


def test_of_lists_that_nobody_can_read_some_rules_may_stay(monkeypatch):
    """To tell which rules rows reach is hard in general: the work is bounded, and what is not known stays."""
    monkeypatch.setattr(simplify, "_MAX_STEPS", 20_000)
    schema, rng = schema_of(*[Boolean()] * 40), np.random.default_rng(1)
    names = schema.names
    rules = [
        tuple(Literal(names[i], str(rng.choice(["true", "false"]))) for i in rng.choice(40, 3, replace=False))
        for _ in range(300)
    ]
    result, places = simplified_list(schema, rules)
    assert 100 < len(places) <= 301
    assert len(result) == len(places) - 1
