from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.learn.search import branch_and_bound, lattice
from hedgerow.learn.search.branch_and_bound import Edges, PrunedLevel, _distinct, expand
from hedgerow.learn.search.lattice import PatternMatrix, Search
from hedgerow.learn.search.losses import FINE_STEPS, OBJECTIVES, Loss
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.semirings import least_loss
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.schema import Boolean, Candidates, Label, Schema
from tests.learn.best_models import Problem, problems

PENALTIES = st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0, 100.0])
BLOCKS = pytest.mark.parametrize("block_bytes", [2**24, 1], ids=["one block", "a state a block"])


def value_of(problem, rows, settings, expansion, objective="errors"):
    search = Search(rows, expansion.levels, least_loss(settings.penalty, rows.loss), max(settings.min_rows, 1))
    values = search.sweep()
    return values[0][0] if values else problem.cost(range(len(problem.rows)), objective)


@BLOCKS
@pytest.mark.parametrize("examples", [8, pytest.param(3000, marks=pytest.mark.slow)])
def test_the_states_that_are_kept_hold_an_optimal_model(block_bytes, examples):
    @settings(max_examples=examples)
    @given(problems(), st.integers(0, 4), st.integers(0, 4), PENALTIES, st.sampled_from(OBJECTIVES))
    def holds_one(problem, depth, min_rows, penalty, objective):
        loss, settings = (
            Loss.of(objective, len(problem.schema.classes), FINE_STEPS),
            SearchSettings(depth, min_rows, penalty),
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lattice, "_BLOCK_BYTES", block_bytes)
            rows = PatternMatrix(problem.tally, problem.space, loss)
            expansion = expand(rows, settings)
            assert expansion.stopped_by is None
            best = problem.least(depth, min_rows, penalty, objective)
            assert value_of(problem, rows, settings, expansion, objective) == best

    holds_one()


@BLOCKS
@given(problem=problems(), depth=st.integers(2, 4), min_rows=st.integers(0, 3), penalty=PENALTIES)
def test_every_followed_branch_leads_to_the_state_of_its_rows(block_bytes, problem, depth, min_rows, penalty):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "_BLOCK_BYTES", block_bytes)
        rows = PatternMatrix(problem.tally, problem.space)
        levels = expand(rows, SearchSettings(depth, min_rows, penalty)).levels
    for level, following in pairwise(levels):
        reached = set()
        for branch, edges in level.edges.items():
            assert (np.diff(edges.state) >= 0).all()
            for state, option, child in zip(edges.state, edges.option, edges.child, strict=True):
                part = rows.caught(option) if branch == CAUGHT else ~rows.caught(option)
                assert (rows.on(following.states[[child]]) == rows.on(level.states[[state]]) & part).all()
                reached.add(child)
        held = [mask.tobytes() for mask in rows.on(following.states)]
        assert len(held) == len(set(held))
        assert reached == set(range(len(held)))


def table(schema, *rows):
    return tuple(dict(zip([*schema, "y"], row, strict=True)) for row in rows)


TWO = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))
XOR = table(TWO, *[(a, b, int(a != b)) for a in (False, True) for b in (False, True)] * 3)


def spaces(schema=TWO):
    return [Space.of_lists(Candidates.of(schema, 1)), Space.of_trees(schema)]


@pytest.mark.parametrize("space", spaces(), ids=["lists", "trees"])
def test_indistinguishable_rows_are_not_searched_for_fewer_errors(space):
    """Equivalent points: both patterns hold four rows of one class and two of the other, and none gets fewer wrong."""
    mixed = table(TWO, *[(a, False, y) for a in (False, True) for y in (0, 0, 0, 0, 1, 1)])
    problem = Problem(TWO, mixed, space)
    levels = expand(PatternMatrix(problem.tally, space), SearchSettings(3, 0, 0.0)).levels
    assert len(levels) == 1
    assert problem.least(3) == 4


@pytest.mark.parametrize(("min_rows", "lists", "trees"), [(0, 2, 2), (3, 2, 2), (4, 2, 1), (6, 2, 1), (7, 1, 1)])
def test_a_branch_is_followed_if_it_has_enough_rows_for_another_option(min_rows, lists, trees):
    """Exclusive or, three rows a pattern: each side of an option has six. In a tree both parts of them count."""
    for space, n_levels in zip(spaces(), (lists, trees), strict=True):
        rows = PatternMatrix(Problem(TWO, XOR, space).tally, space)
        assert len(expand(rows, SearchSettings(2, min_rows, 0.0)).levels) == n_levels


@pytest.mark.parametrize("space", spaces(), ids=["lists", "trees"])
@pytest.mark.parametrize(("penalty", "n_levels"), [(2.75, 2), (3.0, 1)])
def test_a_further_option_must_save_more_errors_than_it_costs(space, penalty, n_levels):
    """The rows with a are of one class; of the others three are of either class, and b tells them apart."""
    rows = table(TWO, *[(False, b, int(b)) for b in (False, True)] * 3, *[(True, b, 1) for b in (False, True)] * 5)
    counted = PatternMatrix(Problem(TWO, rows, space).tally, space)
    assert len(expand(counted, SearchSettings(2, 0, penalty)).levels) == n_levels


FOUR = {name: Boolean() for name in "abcd"}


@pytest.mark.parametrize("kind", [Space.of_trees, lambda schema: Space.of_lists(Candidates.of(schema, 1))])
def test_errors_that_no_model_avoids_count_for_the_branch_they_are_in(kind):
    """With a, exclusive or of b and c; without, seven rows of either class alike, more than can be saved elsewhere."""
    schema = Schema({name: FOUR[name] for name in "abc"}, Label("y", (0, 1)))
    xor = [(True, b, c, int(b != c)) for b in (False, True) for c in (False, True)] * 3
    problem = Problem(schema, table(schema, *xor, *[(False, True, True, y) for y in (0, 1)] * 7), kind(schema))
    rows, settings = PatternMatrix(problem.tally, problem.space), SearchSettings(3, 0, 0.0)
    assert value_of(problem, rows, settings, expand(rows, settings)) == problem.least(3)


@pytest.mark.parametrize("seed", range(8))
def test_a_state_counts_for_the_cheapest_way_to_it(seed):
    """Rules a and b leave the same rows in either order; a has to come first, and only then do c and d pay.

    Which of the two ways is seen first depends on the order of the rows, hence several.
    """
    schema = Schema(FOUR, Label("y", (0, 1, 2)))
    first = [{"a": True, "b": i < 4, "c": True, "d": True, "y": 0} for i in range(15)]
    second = [{"a": False, "b": True, "c": True, "d": True, "y": 2} for _ in range(9)]
    rest = [{"a": False, "b": False, "c": c, "d": d, "y": int(c != d)} for c in (0, 1) for d in (0, 1)] * 3
    rest = [{**row, "c": bool(row["c"]), "d": bool(row["d"])} for row in rest]
    space = Space.of_lists(Candidates.of(schema, 1, negations=False))
    order = np.random.default_rng(seed).permutation(36)
    problem = Problem(schema, tuple([*first, *second, *rest][i] for i in order), space)
    rows, settings = PatternMatrix(problem.tally, space), SearchSettings(4, 0, 0.0)
    assert value_of(problem, rows, settings, expand(rows, settings)) == problem.least(4) == 3


@given(problems("list"), st.integers(1, 4), st.integers(0, 3), PENALTIES)
def test_the_best_list_met_on_the_way_is_one_that_there_is(problem, depth, min_rows, penalty):
    rows, settings = PatternMatrix(problem.tally, problem.space), SearchSettings(depth, min_rows, penalty)
    expansion = expand(rows, settings)
    assert expansion.best >= problem.least(depth, min_rows, penalty)
    if depth > 1:
        assert expansion.best <= problem.least(1, min_rows, penalty)


def test_a_list_that_is_known_to_be_perfect_ends_the_search_of_lists():
    space = Space.of_lists(Candidates.of(TWO, 1))
    rows = PatternMatrix(Problem(TWO, XOR, space).tally, space)
    assert len(expand(rows, SearchSettings(3, 0, 0.0)).levels) > 1
    assert len(expand(rows, SearchSettings(3, 0, 0.0), best=0).levels) == 1


@given(problems(), st.integers(1, 3))
def test_a_narrow_search_follows_few_options_and_is_marked_incomplete(problem, width):
    rows = PatternMatrix(problem.tally, problem.space)
    expansion = expand(rows, SearchSettings(4, 0, 0.0), width=width)
    assert expansion.stopped_by == "width"
    for level in expansion.levels:
        for edges in level.edges.values():
            assert (np.bincount(edges.state) <= width).all()


@settings(max_examples=2 * settings.default.max_examples)
@given(problems(), st.integers(1, 4))
def test_progress_tells_of_every_state_of_every_level_that_is_expanded(problem, depth):
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "_BLOCK_BYTES", 1)
        expansion = expand(
            PatternMatrix(problem.tally, problem.space),
            SearchSettings(depth, 0, 0.0),
            progress=lambda *now: told.append(now),
        )
    sizes = [len(level.states) for level in expansion.levels][: depth - 1]
    assert told == [(i, done, size) for i, size in enumerate(sizes, 1) for done in range(1, size + 1)]


@pytest.mark.parametrize("space", spaces(), ids=["lists", "trees"])
def test_a_search_that_has_too_many_branches_to_hold_stops_and_says_so(space, monkeypatch):
    rows = PatternMatrix(Problem(TWO, XOR, space).tally, space)
    assert expand(rows, SearchSettings(2, 0, 0.0)).stopped_by is None
    monkeypatch.setattr(branch_and_bound, "MOST_BYTES", 1)
    stopped = expand(rows, SearchSettings(2, 0, 0.0))
    assert stopped.stopped_by == "memory"
    assert len(stopped.levels) == 1


def test_children_are_those_of_the_states_that_are_asked_for():
    space = spaces()[1]
    edges = Edges(np.array([0, 2, 2, 5]), np.array([1, 0, 1, 0]), np.array([7, 8, 9, 3]))
    level = PrunedLevel(space, np.zeros((6, 1), dtype=np.int32), {CAUGHT: edges})
    assert level.children(np.arange(6), CAUGHT).tolist() == [[-1, 7], [-1, -1], [8, 9], [-1, -1], [-1, -1], [3, -1]]
    assert level.children(np.array([1, 2, 3]), CAUGHT).tolist() == [[-1, -1], [8, 9], [-1, -1]]
    assert level.children(np.array([2, 5]), CAUGHT).tolist() == [[8, 9], [3, -1]]
    assert level.children(np.array([], dtype=np.intp), CAUGHT).shape == (0, 2)
    assert level.children(np.arange(6), LEFT) is None


def group_by_bytes(masks):  # reference: a dictionary of the rows themselves
    groups = {}
    return [groups.setdefault(mask.tobytes(), len(groups)) for mask in masks], len(groups)


def made(seed):
    """Masks of up to 30 bytes that agree in most of them, often in all of the first eight."""
    rng = np.random.default_rng(seed)
    masks = np.tile(rng.integers(0, 256, rng.integers(1, 31), dtype=np.uint8), (rng.integers(1, 40), 1))
    masks[:, rng.integers(masks.shape[1], size=2)] = rng.integers(0, 3, (len(masks), 2))
    return masks


masks = st.integers(0, 2**32 - 1).map(made)


def same_partition(one, other):
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


@given(masks)
def test_equal_masks_are_one_state_and_different_ones_are_not(masks):
    first, group = _distinct(masks)
    expected, n_groups = group_by_bytes(masks)
    assert len(first) == n_groups
    assert same_partition(group.tolist(), expected)
    assert (masks[first][group] == masks).all()


@given(masks)
def test_masks_with_the_same_hash_are_kept_apart(masks):
    """With one hash for all, equal masks may come in two groups; different ones never share one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "argsort", lambda key, **_: np.arange(len(key)))
        first, group = _distinct(masks)
    assert (masks[first][group] == masks).all()


def test_masks_made_to_have_the_same_hash_are_kept_apart():
    def step(key, word):
        key = (key ^ word) * np.uint64(0x9E3779B97F4A7C15)
        return key ^ (key >> np.uint64(29))

    with np.errstate(over="ignore"):
        item, other = step(np.uint64(0), np.array([1, 2], dtype=np.uint64))
    second = np.uint64(12345)
    words = np.array([[1, second], [2, second ^ item ^ other]] * 3, dtype=np.uint64)
    with np.errstate(over="ignore"):
        assert step(item, words[0, 1]) == step(other, words[1, 1])
    masks = words.view(np.uint8)
    first, group = _distinct(masks)
    assert (masks[first][group] == masks).all()


@given(problems(), st.integers(0, 3), st.integers(0, 3), PENALTIES)
def test_states_that_were_not_recognised_as_one_do_no_harm(problem, depth, min_rows, penalty):
    """What a collision of hashes does at worst: every branch leads to a state of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branch_and_bound, "_distinct", lambda masks: (np.arange(len(masks)), np.arange(len(masks))))
        rows, settings = PatternMatrix(problem.tally, problem.space), SearchSettings(depth, min_rows, penalty)
        assert value_of(problem, rows, settings, expand(rows, settings)) == problem.least(depth, min_rows, penalty)
