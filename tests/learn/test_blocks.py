"""Draws in blocks: what is drawn, what that costs and what is charged."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import BudgetExceededError, SearchTooLargeError
from hedgerow.learn.blocks import ListDrawPlan, TreeDrawPlan, equal_blocks, list_costs, longest_path, tree_costs
from hedgerow.learn.releases import ReleaseRunner
from hedgerow.learn.search import cost
from hedgerow.learn.search.cost import SearchShape, space_cost, total_cost
from hedgerow.learn.search.lattice import InnerNode, LeafNode
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.learn.simplify import simplified, simplified_list
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import SeededNoise
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean, Candidates, Categorical, Integer
from hedgerow.tally import Tally
from tests.learn.draws import (
    ALARM,
    EPSILONS,
    FACTORS,
    MIXED_ROWS,
    TWO,
    Scripted,
    frequencies,
    loss,
    plan_of,
    probabilities,
    quiet,
    reweighted,
    valued_once_each,
)
from tests.learn.enumerate_models import (
    STOPS,
    Models,
    Table,
    all_worlds,
    chance,
    coarse_grid,
    constant,
    executions,
    list_space,
    models,
    narrow,
    neighbours,
    schema_of,
    tables,
)
from tests.privacy.chances import p_value

SLOW = pytest.mark.slow


def shortest(schema, rules, labels):
    rules, places = simplified_list(schema, rules, labels)
    return rules, tuple(labels[place] for place in places)


def composed(plan, table, epsilon):
    """The exact probability of every list drawn in blocks: each block over all models on the rows that are left."""
    total = defaultdict(float)

    def follow(number, rules, labels, table, probability):
        if number == len(plan.blocks):
            total[shortest(plan.candidates.schema, rules, labels)] += probability
            return
        block = plan.block(number, rules)
        prior = replace(plan.prior, offset=sum(plan.blocks[:number]))
        space = Space.of_lists(plan.candidates, rules)
        result = Models(space, plan.blocks[number], objective=plan.objective, by_depth=prior)
        weight = block.mechanism(epsilon / len(plan.blocks)).weight
        for model, value in result.log_probabilities(table, weight).items():
            part, more, said, left = model, rules, labels[: len(rules)], table
            while isinstance(part, InnerNode):
                more, said = (*more, result.space.antecedents[part.option]), (*said, part.caught.value)
                left = left.only(result.worlds - result.catches[part.option])
                part = part.left
            follow(number + 1, more, (*said, part.value), left, probability * float(value.exp()))

    follow(0, (), (), table, 1.0)
    return dict(total)


def composed_tree(plan, table, epsilon):
    """The exact probability of every tree drawn in blocks: below each leaf, over all subtrees on the leaf's rows."""
    weights = [plan.block(n).mechanism(epsilon / len(plan.blocks)).weight for n in range(len(plan.blocks))]
    everything, own = Models(plan.space, 0), plan.space.antecedents

    def below(number, root, table):
        """Every tree from one block on, below a box, as tests and labels, with its probability."""
        if number == len(plan.blocks):
            return {None: 1.0}
        prior = replace(plan.prior, offset=sum(plan.blocks[:number]))
        result = Models(plan.space.below(root), plan.blocks[number], objective=plan.objective, by_depth=prior)
        total = defaultdict(float)
        for model, value in result.log_probabilities(table, weights[number]).items():
            for tree, probability in grown(number, result.space, model, root, table).items():
                total[tree] += probability * float(value.exp())
        return total

    def grown(number, space, part, root, table):
        """The trees that grow out of a part of one block."""
        if isinstance(part, LeafNode):
            return {part if tree is None else tree: p for tree, p in below(number + 1, root, table).items()}
        option, sides = own.index(space.antecedents[part.option]), []
        for branch, follower in ((CAUGHT, part.caught), (LEFT, part.left)):
            box = root & plan.space.side_bins[plan.space.sides(branch)[option]]
            caught = everything.catches[option]
            rows = table.only(caught if branch == CAUGHT else everything.worlds - caught)
            sides.append(grown(number, space, follower, box, rows))
        return {InnerNode(option, yes, no): p * q for (yes, p), (no, q) in product(*(side.items() for side in sides))}

    total = defaultdict(float)
    for tree, probability in below(0, plan.space.root, table).items():
        total[simplified(tree, plan.space)] += probability
    return dict(total)


def list_plan(candidates, blocks, prior, **more):
    given = {"epsilon": Fraction(1), "target": candidates.schema.target, "leaf_numbers": None, **more}
    return ListDrawPlan(candidates=candidates, blocks=blocks, prior=prior, **given)


def tree_plan(space, blocks, prior, **more):
    given = {"epsilon": Fraction(1), "target": space.candidates.schema.target, "leaf_numbers": None, **more}
    return TreeDrawPlan(space=space, blocks=blocks, prior=prior, **given)


def drawn_by(gate, table, plan, epsilon):
    plan = replace(plan, epsilon=epsilon)
    return plan.draw(table.tally, ReleaseRunner(plan.releases, gate), quiet)


def listed(table, plan, epsilon, source):
    gate = Gate(hr.Budget(epsilon), source)
    result = drawn_by(gate, table, plan, epsilon)
    assert gate.budget.spent == epsilon
    return result


class Adding:
    """A gate that only adds up what it is asked for."""

    def __init__(self, source):
        self.source, self.spent = source, 0

    def release(self, mechanism, answer, **_):
        self.spent += mechanism.epsilon
        return self.source.prepare(mechanism)(answer())


def released(table, plan, epsilon):
    """The probability of every model that can be released, and the log-probability of every way to it."""
    total, ways = defaultdict(float), []

    def way(choose):
        if not ways:  # through the real gate, which takes more time than a draw
            return listed(table, plan, epsilon, Scripted(choose))
        gate = Adding(Scripted(choose))
        outcome = drawn_by(gate, table, plan, epsilon)
        assert gate.spent == epsilon
        return outcome

    with valued_once_each():
        for outcome, draws in executions(way):
            ways.append((tuple(place for _, place in draws), chance(draws)))
            total[outcome] += np.exp(ways[-1][1])
    return dict(total), dict(ways)


BLOCKS = st.sampled_from([(1, 1), (2, 1), (1, 1, 1), (3,), (2, 2)])


@st.composite
def list_plans(draw, most=300):
    """Plans of lists in blocks, fewer where there would be more than so many ways to draw."""
    schema, negations = draw(narrow), draw(st.booleans())
    blocks, stop = draw(BLOCKS), draw(STOPS)
    candidates = Candidates.of(schema, draw(st.sampled_from([1, 1, 2])), negations=negations)

    def ways():
        classes = len(schema.classes)
        each = [sum(classes ** (k + 1) * len(candidates) ** k for k in range(depth + 1)) for depth in blocks]
        return np.prod([float(x) for x in each])

    while blocks and ways() > most:
        blocks = blocks[:-1] if blocks[-1] == 1 else (*blocks[:-1], blocks[-1] - 1)
    return list_plan(candidates, blocks or (0,), constant(stop))


PAIR = schema_of(Boolean(), Boolean())
PLANS = {
    "one and one": list_plan(Candidates.of(TWO, 1, negations=False), (1, 1), constant(0.5)),
    "three times one": list_plan(Candidates.of(PAIR, 1, negations=False), (1, 1, 1), constant(0.25)),
    "two and one": list_plan(Candidates.of(PAIR, 1, negations=False), (2, 1), constant(0.5)),
    "by Brier's score": list_plan(Candidates.of(schema_of(Boolean()), 1), (1, 1), constant(0.5), objective="brier"),
    "three classes": list_plan(Candidates.of(schema_of(Boolean(), classes=3), 1), (1, 1), constant(0.75)),
}


def some_rows(schema):
    """One to four rows of each class in some of the worlds."""
    worlds = all_worlds(schema)[:-1]
    return Table(schema, tuple((w, y, 1 + (i * 7 + y * 5) % 4) for i, w in enumerate(worlds) for y in (0, 1)))


@coarse_grid()
def check_composed(plan, table, epsilon):
    expected = (composed if isinstance(plan, ListDrawPlan) else composed_tree)(plan, table, epsilon)
    drawn, _ = released(table, plan, epsilon)
    assert drawn.keys() == expected.keys()
    assert sum(drawn.values()) == pytest.approx(1, abs=1e-9)
    for outcome, value in expected.items():
        assert drawn[outcome] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_list_drawn_in_these_blocks_has_the_composed_probability(plan):
    check_composed(plan, some_rows(plan.candidates.schema), Fraction(3, 2))


@pytest.mark.parametrize("examples", [4, pytest.param(80, marks=SLOW)])
def test_a_list_drawn_in_blocks_has_the_composed_probability(examples):
    @settings(max_examples=examples)
    @given(list_plans(), st.data(), st.sampled_from(EPSILONS))
    def same(plan, data, epsilon):
        check_composed(plan, data.draw(tables(plan.candidates.schema)), epsilon)

    same()


TREES = {
    "one and one": tree_plan(Space.of_trees(PAIR), (1, 1), constant(0.5)),
    "stopping by depth": tree_plan(Space.of_trees(PAIR), (1, 1), StopPrior(-2.0, 3.0)),
    "of numbers": tree_plan(Space.of_trees(schema_of(Integer(0, 9, (3, 5)))), (1, 1), constant(0.25)),
    "two and one": tree_plan(Space.of_trees(schema_of(Boolean(missing="bin"))), (2, 1), constant(0.5)),
    "two and one, stopping by depth": tree_plan(
        Space.of_trees(schema_of(Boolean(missing="bin"))), (2, 1), StopPrior(-3.0, 0.25, 1.25)
    ),
    "by half of Brier's score": tree_plan(
        Space.of_trees(schema_of(Boolean())), (1, 1), constant(0.5), objective="mixed"
    ),
    "three classes": tree_plan(Space.of_trees(schema_of(Boolean(missing="bin"), classes=3)), (1, 1), constant(0.75)),
}


@pytest.mark.parametrize(
    "plan",
    [pytest.param(plan, id=name, marks=SLOW if name == "three classes" else ()) for name, plan in TREES.items()],
)
def test_a_tree_drawn_in_these_blocks_has_the_composed_probability(plan):
    check_composed(plan, some_rows(plan.space.candidates.schema), Fraction(3, 2))


@pytest.mark.parametrize("examples", [2, pytest.param(80, marks=SLOW)])
def test_a_tree_drawn_in_blocks_has_the_composed_probability_on_any_rows(examples):
    @settings(max_examples=examples)
    @given(st.sampled_from([TREES["one and one"], TREES["of numbers"]]), st.data(), st.sampled_from(EPSILONS))
    def same(plan, data, epsilon):
        check_composed(plan, data.draw(tables(plan.space.candidates.schema)), epsilon)

    same()


def test_the_bound_on_rho_allows_for_all_cut_points():
    """A search of fewer attributes may need to leave out none."""
    schema = schema_of(*[Integer(0, 99, tuple(range(0, 99, 5)))] * 3)
    small = Fraction(1, 10**7)  # so that rounding is a visible part of ε
    coarse, whole = (tree_plan(Space.of_trees(schema, every), (3,), constant(0.5), epsilon=small) for every in (2, 1))
    assert coarse.mechanism.rho < whole.mechanism.rho
    assert coarse.max_rho(3) == whole.max_rho(3) == whole.mechanism.rho


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [800, pytest.param(6_000, marks=SLOW)])
def test_trees_in_blocks_are_drawn_with_their_composed_probabilities(monkeypatch, draws):
    """Seeded; rejects a weight 30 % too small or too large, and blocks of another size."""
    plan, epsilon = TREES["of numbers"], Fraction(2)
    table = Table(plan.space.candidates.schema, (((0,), 0, 4), ((0,), 1, 1), ((1,), 1, 4), ((2,), 0, 3), ((2,), 1, 2)))
    source = SeededNoise(np.random.default_rng(11))
    with valued_once_each():
        trees = [listed(table, plan, epsilon, source) for _ in range(draws)]

    def compared(plan):
        return p_value(*frequencies(trees, composed_tree(plan, table, epsilon)))

    assert compared(plan) > ALARM
    assert compared(replace(plan, blocks=(2,))) < ALARM
    for factor in FACTORS:
        with monkeypatch.context() as patch:
            reweighted(patch, factor)
            assert compared(plan) < ALARM


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("draws", "lookahead"), [(800, 2), *(pytest.param(6_000, n, marks=SLOW) for n in (1, 2, None))]
)
def test_lists_are_drawn_as_often_as_their_composed_probability_says(monkeypatch, draws, lookahead):
    """Seeded; rejects a weight 30 % too small or too large, and blocks of another size."""
    epsilon = Fraction(2)
    plan = list_plan(Candidates.of(TWO, 1, negations=False), equal_blocks(3, lookahead), constant(0.5))
    source = SeededNoise(np.random.default_rng(7))
    with valued_once_each():
        lists = [listed(MIXED_ROWS, plan, epsilon, source) for _ in range(draws)]

    def compared(plan):
        chances = composed(plan, MIXED_ROWS, epsilon)
        assert sum(chances.values()) == pytest.approx(1)
        return p_value(*frequencies(lists, chances))

    assert compared(plan) > ALARM
    assert compared(replace(plan, blocks=equal_blocks(3, {1: 2, 2: 1, None: 1}[lookahead]))) < ALARM
    for factor in FACTORS:
        with monkeypatch.context() as patch:
            reweighted(patch, factor)
            assert compared(plan) < ALARM


def test_a_list_ends_before_rules_that_predict_as_the_default_rule():
    """Two rules with labels 1 and 0 and default 0: the second rule is left out, the first is not."""
    candidates = Candidates.of(schema_of(Boolean(), Boolean()), 1, negations=False)
    script = iter([1, 1, 1, 0, 0])  # take x0, label 1; take x1, label 0; default 0
    plan = list_plan(candidates, (2,), constant(0.5))
    table = Table(candidates.schema, ())
    assert listed(table, plan, Fraction(1), Scripted(lambda _: next(script))) == ((candidates[0],), (1, 0))


@pytest.mark.parametrize(
    ("most", "lookahead", "blocks"),
    [
        (4, None, (4,)),
        (4, 1, (1, 1, 1, 1)),
        (4, 2, (2, 2)),
        (5, 2, (2, 2, 1)),
        (4, 3, (3, 1)),
        (4, 9, (4,)),
        (0, None, (0,)),
        (0, 1, (0,)),
    ],
)
def test_blocks_add_up_to_the_rules_of_a_list(most, lookahead, blocks):
    assert equal_blocks(most, lookahead) == blocks


def test_the_cost_of_a_list_is_that_of_its_blocks_together():
    """Of two booleans, 4 literals and 4 pairs: in blocks of 2 and 1 rules, 1 + 8 states, and 1."""
    told = list_costs(schema_of(Boolean(), Boolean(), classes=3), 2, negations=True)((2, 1), False)
    assert (told.options, told.states, told.evaluations, told.classes) == (8, 10, 80, 3)


LABEL_ONLY = Categorical(("a",))  # no literal divides it


@pytest.mark.parametrize(("kinds", "most"), [((Boolean(), Integer(0, 9, (3, 5)), LABEL_ONLY), 2), ((Boolean(),), 1)])
@pytest.mark.parametrize("blocks", [(1,), (2,), (2, 1)])
def test_more_literals_than_attributes_cost_what_as_many_do(kinds, most, blocks):
    schema = schema_of(*kinds)
    costs = [list_costs(schema, literals, negations=True)(blocks, False) for literals in (most, most + 1, 9)]
    assert costs[0] == costs[1] == costs[2]
    assert costs[0] == total_cost(
        [space_cost(SearchShape.of(list_space(schema, most)), min(n, costs[0].options)) for n in blocks]
    )
    assert longest_path(schema, most, negations=True) == longest_path(schema, 9, negations=True)


def test_the_cost_of_a_tree_is_that_of_all_subtrees_that_there_can_be():
    space = TREES["one and one"].space
    shape = SearchShape.of(space)
    of_one, of_two, costs = space_cost(shape, 1), space_cost(shape, 2), tree_costs(shape)
    assert costs((2,), False) == of_two
    assert costs((1, 1), False).states == 3 * of_one.states
    assert costs((2, 1), False).evaluations == of_two.evaluations + 4 * of_one.evaluations


def test_all_subtrees_of_a_block_pay_for_rounding():
    """A row is in one of them, but BLAS may add up the others' weights in another order when they are drawn again."""
    plan = tree_plan(Space.of_trees(TWO), (1, 2, 1), constant(0.5))
    epsilon = Fraction(1, 10**9)
    draws = [plan.block(number) for number in range(3)]
    assert [draw.siblings for draw in draws] == [1, 2, 8]
    assert draws[2].mechanism(epsilon).weight < replace(draws[2], siblings=1).mechanism(epsilon).weight


def test_a_list_whose_rules_close_all_others_is_drawn_to_its_end():
    """After one of a boolean's two candidates the other divides nothing: later blocks only choose a label."""
    candidates = Candidates.of(schema_of(Boolean()), 1)
    plan = list_plan(candidates, (1, 1, 1), constant(0.5))
    table = Table(candidates.schema, (((0,), 0, 1),))
    drawn, _ = released(table, plan, Fraction(3))
    assert sum(drawn.values()) == pytest.approx(1, abs=1e-12)
    assert max(len(rules) for rules, _ in drawn) == 1


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("rows", [(), (((0,), 0, 1),), (((1,), 0, 1),)])
def test_a_list_may_be_allowed_more_rules_than_there_are_candidates(depth, rows):
    """Whatever the rows are: one candidate, and no state in which two have been taken."""
    result = Models(list_space(schema_of(Boolean()), negations=False), depth)
    drawn = probabilities(Table(result.schema, rows), plan_of(result), Fraction(1))
    assert drawn.keys() == Models(result.space, 1).priors.keys()
    assert np.exp(list(drawn.values())).sum() == pytest.approx(1, abs=1e-12)


@coarse_grid()
def check_blocks(plan, first, neighbour, epsilon):
    (lists, ways), (other_lists, other_ways) = (released(table, plan, epsilon) for table in (first, neighbour))
    assert loss(ways, other_ways) <= epsilon
    assert loss(*({x: np.log(p) for x, p in part.items()} for part in (lists, other_lists))) <= epsilon


@pytest.mark.parametrize("plan", [PLANS["one and one"], PLANS["three classes"]], ids=["one and one", "three classes"])
@pytest.mark.claim("if no rows are left, the prior's total of 1 stands")
def test_the_first_row_changes_lists_in_blocks_by_at_most_epsilon(plan):
    table = some_rows(plan.candidates.schema)
    check_blocks(plan, table, table.plus(all_worlds(table.schema)[-1], 1), Fraction(1, 2))


@pytest.mark.parametrize(
    "name",
    [
        "of numbers",
        *(pytest.param(name, marks=SLOW) for name in TREES if name != "of numbers"),
    ],
)
def test_the_first_row_changes_trees_in_blocks_by_at_most_epsilon(name):
    plan = TREES[name]
    table = some_rows(plan.space.candidates.schema)
    check_blocks(plan, table, table.plus(all_worlds(table.schema)[-1], 1), Fraction(1, 2))


@pytest.mark.parametrize("examples", [2, pytest.param(60, marks=SLOW)])
@pytest.mark.claim("so a single charge covers all of them")
def test_one_row_changes_no_tree_in_blocks_by_more_than_epsilon(examples):
    @settings(max_examples=examples)
    @given(st.sampled_from([TREES["one and one"], TREES["of numbers"]]), st.data(), st.sampled_from(EPSILONS))
    def private(plan, data, epsilon):
        check_blocks(plan, *data.draw(neighbours(plan.space.candidates.schema)), epsilon)

    private()


@pytest.mark.parametrize("examples", [4, pytest.param(60, marks=SLOW)])
def test_one_row_changes_no_list_in_blocks_by_more_than_epsilon(examples):
    """Of what is released, and of everything that is drawn on the way."""

    @settings(max_examples=examples)
    @given(list_plans(300), st.data(), st.sampled_from(EPSILONS))
    def private(plan, data, epsilon):
        check_blocks(plan, *data.draw(neighbours(plan.candidates.schema)), epsilon)

    private()


@pytest.mark.parametrize("blocks", [(3,), (1, 1, 1), (2, 1)])
def test_blocks_are_charged_equal_shares_that_add_up_exactly(blocks):
    plan, epsilon = list_plan(Candidates.of(TWO, 1), blocks, constant(0.5)), Fraction(1, 7)
    budget = hr.Budget(epsilon)
    gate = Gate(budget, SeededNoise(np.random.default_rng(1)))
    drawn_by(gate, MIXED_ROWS, plan, epsilon)
    assert [charge.epsilon for charge in budget.charges] == [epsilon / len(blocks)] * len(blocks)
    assert budget.remaining == 0
    assert all(charge.purpose.startswith("draw of up to") for charge in budget.charges)


def test_a_budget_that_is_too_small_for_all_blocks_ends_the_draw():
    plan = list_plan(Candidates.of(TWO, 1), (1, 1), constant(0.5))
    gate = Gate(hr.Budget(Fraction(3, 4)), SeededNoise(np.random.default_rng(1)))
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        drawn_by(gate, MIXED_ROWS, plan, Fraction(1))
    assert gate.budget.spent == Fraction(1, 2)


WIDE = schema_of(*[Boolean()] * 6, Integer(0, 9, (3, 5)), classes=2)


@pytest.fixture
def untouched(monkeypatch):
    """A table whose rows must not be counted."""
    monkeypatch.setattr(Tally, "count", lambda *_: pytest.fail("rows were touched"))
    X = np.array([[i >> k & 1 for k in range(6)] + [i % 10] for i in range(60)])
    return X, X[:, 0]


def learners(epsilon, budget, **given):
    common = {"search": "exact", "schema": WIDE, "budget": budget, **given}
    yield hr.PrivateRuleListClassifier(epsilon, max_rules=5, **common)
    yield hr.PrivateRuleListClassifier(epsilon, max_rules=5, lookahead=2, **common)
    yield hr.PrivateTreeClassifier(epsilon, max_depth=3, **common)
    yield hr.PrivateTreeClassifier(epsilon, max_depth=3, lookahead=2, **common)


@pytest.mark.parametrize("release_counts", [False, True])
def test_a_too_small_epsilon_spends_no_budget_and_reads_no_rows(untouched, release_counts):
    budget = hr.Budget(1)
    for learner in learners(1e-13, budget, release_counts=release_counts):
        with pytest.raises(ValueError, match=r"epsilon for one (draw|release) must be >"):
            learner.fit(*untouched)
    assert budget.charges == ()


def test_a_too_large_search_spends_no_budget_and_reads_no_rows(untouched, monkeypatch):
    monkeypatch.setattr(cost, "MOST_STATES", 10)
    budget = hr.Budget(1)
    for learner in learners(0.5, budget):
        with pytest.raises(SearchTooLargeError, match=r"at most .* 10 states"):
            learner.fit(*untouched)
    assert budget.charges == ()


@given(models(150))
def test_no_path_is_longer_than_is_told(models_):
    literals = len(models_.space.candidates.members)
    most = longest_path(models_.schema, literals, negations=True)

    def depth(part):
        return 1 + max(depth(part.caught), depth(part.left)) if isinstance(part, InnerNode) else 0

    assert max(map(depth, models_.priors)) <= most
