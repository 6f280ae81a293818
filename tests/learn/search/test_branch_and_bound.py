"""Values of states by branch and bound against all models of their rows, row by row."""

import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Tally
from hedgerow.learn.search import branch_and_bound, last_two, lattice
from hedgerow.learn.search.branch_and_bound import BranchAndBound, Division
from hedgerow.learn.search.lattice import PatternMatrix
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.learn.search.states import States
from hedgerow.schema import Boolean, Candidates, Label, Schema
from tests.learn.best_models import Problem, make_problem, problems, pruned
from tests.learn.objectives import ALL_OBJECTIVES, objective_of

PENALTIES = st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0, 100.0])
SIZES = pytest.mark.parametrize("examples", [30, pytest.param(3000, marks=pytest.mark.slow)])


def begun(problem, settings, objective="errors", **more):
    """Return the search of a problem, and the state of all its rows."""
    loss = Loss.of(objective_of(objective, len(problem.schema.classes)), len(problem.schema.classes), FINE_STEPS)
    search = BranchAndBound(PatternMatrix(problem.tally, problem.space, loss), settings, **more)
    return search, States.root(search.rows)


def sides_of(problem):
    """Return the rows on each side."""
    everything = frozenset(range(len(problem.rows)))
    caught = problem.facts if CAUGHT in problem.space.branches else []
    return [*caught, *(everything - fact for fact in problem.facts)]


def states_of(search, root, problem, seed):
    """Return some states after up to two choices, and their rows."""
    rng, sides, everything = np.random.default_rng(seed), sides_of(problem), frozenset(range(len(problem.rows)))
    masks, held = [root.masks], [everything]
    for _ in range(20 if sides else 0):
        taken = rng.integers(len(sides), size=rng.integers(1, 3))
        rows = everything.intersection(*(sides[side] for side in taken))
        if rows and rows not in held:
            masks.append(np.bitwise_and.reduce([root.masks, *(search.sides[[side]] for side in taken)]))
            held.append(rows)
    n, sizes = len(held), np.array([float(len(rows)) for rows in held])
    return States(np.vstack(masks), np.zeros(n), sizes, np.zeros(n, dtype=np.intp)), held


@pytest.mark.parametrize("block_bytes", [2**24, 1], ids=["one block", "a state a block"])
@SIZES
def test_values_within_their_budget_are_exact_and_others_are_bounds(block_bytes, examples):
    @settings(max_examples=examples)
    @given(
        problems("tree"),
        st.builds(SearchSettings, st.integers(1, 4), st.integers(0, 4), PENALTIES),
        st.sampled_from(ALL_OBJECTIVES),
        st.integers(0, 2**32 - 1),
        st.integers(100, 50_000),
        st.sampled_from([0, 1_000]),
    )
    def are_exact(problem, settings, objective, seed, most, few):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lattice, "_BLOCK_BYTES", block_bytes)
            patch.setattr(branch_and_bound, "MOST_BYTES", most)
            patch.setattr(branch_and_bound, "_FEW", few)
            search, root = begun(problem, settings, objective)
            states, held = states_of(search, root, problem, seed)
            rng = np.random.default_rng(seed)
            parts = [replace(problem, rows=tuple(problem.rows[i] for i in sorted(rows))) for rows in held]
            for depth in rng.integers(1, settings.depth + 1, size=3):  # the later ones find values of earlier ones
                limits = (depth, max(settings.min_rows, 1), settings.penalty, objective)
                exact = np.array([float(part.least(*limits)) for part in parts])
                budgets = exact + rng.choice([-2, -1, -0.5, 0, 0, 1, np.inf], size=len(exact))
                values, is_within = search.values(states, int(depth), budgets), exact <= budgets
                assert (values <= exact).all()
                assert (values[is_within] == exact[is_within]).all()
                assert (values[~is_within] > budgets[~is_within]).all()

    are_exact()


@given(problems("list"), st.integers(1, 4), st.integers(0, 3), PENALTIES)
def test_the_budget_of_all_lists_falls_to_a_list_that_there_is(problem, depth, min_rows, penalty):
    search, root = begun(problem, SearchSettings(depth, min_rows, penalty))
    first = float(problem.cost(range(len(problem.rows))))
    Division(search, root, depth, np.array([first]))
    exact = problem.least(depth, max(min_rows, 1), penalty)
    assert exact <= first - search.gain <= problem.least(1, max(min_rows, 1), penalty)


TWO = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))


def table(schema, *rows):
    return tuple(dict(zip([*schema, "y"], row, strict=True)) for row in rows)


XOR = table(TWO, *[(a, b, int(a != b)) for a in (False, True) for b in (False, True)] * 3)


def spaces(schema=TWO):
    return [Space.of_lists(Candidates.of(schema, 1)), Space.of_trees(schema)]


def n_followed(problem, depth, min_rows, penalty, budget=np.inf):
    """Return the number of states that are searched below the root."""
    search, root = begun(problem, SearchSettings(depth, min_rows, penalty))
    Division(search, root, depth, np.array([min(budget, float(len(problem.rows)))]))
    return search.n_states


@pytest.mark.parametrize("space", spaces(), ids=["lists", "trees"])
def test_indistinguishable_rows_are_not_searched_for_fewer_errors(space):
    """Equivalent points: both patterns hold four rows of one class and two of the other, and none gets fewer wrong."""
    mixed = table(TWO, *[(a, False, y) for a in (False, True) for y in (0, 0, 0, 0, 1, 1)])
    assert n_followed(Problem(TWO, mixed, space), 3, 0, 0.0) == 0


@pytest.mark.parametrize(("min_rows", "followed"), [(3, [True, True]), (4, [True, False]), (7, [False, False])])
def test_a_branch_is_followed_if_it_has_enough_rows_for_another_option(min_rows, followed):
    """Exclusive or, three rows a pattern: each side of an option has six. In a tree both parts of them count."""
    assert [n_followed(Problem(TWO, XOR, space), 2, min_rows, 0.0) > 0 for space in spaces()] == followed


@pytest.mark.parametrize("space", spaces(), ids=["lists", "trees"])
@pytest.mark.parametrize(("penalty", "is_followed"), [(2.75, True), (3.0, False)])
def test_a_further_option_must_save_more_errors_than_it_costs(space, penalty, is_followed):
    """The rows with a are of one class; of the others three are of either class, and b tells them apart."""
    rows = table(TWO, *[(False, b, int(b)) for b in (False, True)] * 3, *[(True, b, 1) for b in (False, True)] * 5)
    assert (n_followed(Problem(TWO, rows, space), 2, 0, penalty) > 0) == is_followed


@pytest.mark.parametrize("space", spaces(), ids=["lists", "trees"])
def test_nothing_is_searched_for_less_than_the_budget(space):
    problem = Problem(TWO, XOR, space)
    assert n_followed(problem, 3, 0, 0.0) > 0
    assert n_followed(problem, 3, 0, 0.0, budget=-0.5) == 0


def test_the_smaller_branch_is_searched_for_what_the_larger_one_leaves():
    """No test helps with a, of 12 rows, 6 of either class; without it, in 6 rows exclusive or costs 3 errors, or 0."""
    schema = Schema({name: Boolean() for name in "abc"}, Label("y", (0, 1)))
    mixed = [(True, b, c, y) for b, c in ((False, False), (True, True)) for y in (0, 1)] * 3
    xor = [(False, b, c, int(b != c)) for b in (False, True) for c in (False, True)] * 2
    problem = Problem(schema, table(schema, *mixed, *xor), Space.of_trees(schema))
    search, root = begun(problem, SearchSettings(3, 0, 0.0))
    assert Division(search, root, 3, np.array([6.0])).values == [6]
    search, root = begun(problem, SearchSettings(3, 0, 0.0))
    assert Division(search, root, 3, np.array([5.0])).values > 5
    assert search.n_states == 0  # rows that are alike cost 6 errors already


@pytest.mark.parametrize("seed", range(8))
def test_a_state_counts_for_the_cheapest_way_to_it(seed):
    """Rules a and b leave the same rows in either order; a has to come first, and only then do c and d pay.

    Which of the two ways is seen first depends on the order of the rows, hence several.
    """
    schema = Schema({name: Boolean() for name in "abcd"}, Label("y", (0, 1, 2)))
    first = [{"a": True, "b": i < 4, "c": True, "d": True, "y": 0} for i in range(15)]
    second = [{"a": False, "b": True, "c": True, "d": True, "y": 2} for _ in range(9)]
    rest = [
        {"a": False, "b": False, "c": c, "d": d, "y": int(c != d)} for c in (False, True) for d in (False, True)
    ] * 3
    space = Space.of_lists(Candidates.of(schema, 1, negations=False))
    order = np.random.default_rng(seed).permutation(36)
    problem = Problem(schema, tuple([*first, *second, *rest][i] for i in order), space)
    search, root = begun(problem, SearchSettings(4, 0, 0.0))
    assert Division(search, root, 4, np.array([21.0])).values == problem.least(4) == 3


@settings(max_examples=60, derandomize=True)
@given(problems("tree"), st.booleans())
def test_the_budget_of_a_state_is_the_largest_of_all_ways_to_it(problem, is_reversed):
    """Two copies of a state have the same branches, which are valued for the copy with the larger budget."""
    exact, asked = float(problem.least(2)), []
    for budgets in ([exact], [exact, exact - 0.5][:: -1 if is_reversed else 1]):
        search, root = begun(problem, SearchSettings(2, 0, 0.0))
        values = search.values
        search.values = lambda *part, values=values: asked.append(part[2].tolist()) or values(*part)
        copies = root[np.zeros(len(budgets), dtype=np.intp)]
        assert exact in Division(search, copies, 2, np.array(budgets)).values
    half = len(asked) // 2
    assert asked[:half] == asked[half:]


def test_a_value_above_its_budget_is_computed_again_for_a_larger_one(monkeypatch):
    search, root = begun(Problem(TWO, XOR, spaces()[1]), SearchSettings(3, 0, 0.0))
    bounds = iter([4.0, 8.0, 8.0])
    monkeypatch.setattr(branch_and_bound, "Division", lambda *_: SimpleNamespace(values=np.array([next(bounds)])))
    asked = [1.0, 3.0, 4.0, 7.0, 8.0, 9.0]
    assert [search.values(root, 3, np.array([budget])).item() for budget in asked] == [4, 4, 8, 8, 8, 8]


@given(problems(), st.integers(1, 3))
def test_a_narrow_search_takes_few_options_of_each_state(problem, width):
    search, root = begun(problem, SearchSettings(4, 0, 0.0), width=width)
    division = Division(search, root, 4, np.array([float(len(problem.rows))]))
    assert (np.isfinite(division.cost).sum(axis=1) <= width).all()
    assert division.values >= problem.least(4)


@pytest.mark.parametrize("objective", ["errors", "brier"])
@given(problem=problems(), depth=st.integers(2, 4))
def test_progress_tells_of_every_state_of_a_level(objective, problem, depth):
    told, seen = [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "_BLOCK_BYTES", 1)
        settings = SearchSettings(depth, 0, 0.0)
        search, root = begun(problem, settings, objective, progress=lambda *now: told.append(now))
        values = search._values
        search._values = lambda states, depth, budgets: (
            seen.append((depth, len(states))) or values(states, depth, budgets)
        )
        Division(search, root, depth, np.array([float(len(problem.rows))]))
    assert all(1 <= level < depth and 0 < done <= n for level, done, n in told)
    assert sum(done == n for _, done, n in told) == 1 + sum(below > 1 for below, _ in seen)


@pytest.mark.parametrize("objective", ["errors", "brier"])
def test_memory_stays_within_its_bound_and_the_best_tree_is_found(monkeypatch, objective):
    """The rest of the peak is for the blocks of states that are counted together, which have bounds of their own."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 16)) < 0.4
    y = (X[:, 0] & X[:, 1]) ^ X[:, 2] ^ (rng.random(600) < 0.1)
    schema = Schema({f"x{i}": Boolean() for i in range(16)}, Label("y", (0, 1)))
    tally, terms = Tally.count(X, y.astype(int), schema), SearchSettings(4, 10, 0.0, objective)
    rows = PatternMatrix(tally, Space.of_trees(schema), Loss.of(objective, 2, FINE_STEPS))
    monkeypatch.setattr(lattice, "_BLOCK_BYTES", 2**16)
    monkeypatch.setattr(last_two, "_BLOCK_PATTERNS", 2**14)
    found, peaks = [], []
    for most in (2**31, 2**18):
        monkeypatch.setattr(branch_and_bound, "MOST_BYTES", most)
        tracemalloc.start()
        found.append(pruned(rows, terms))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert found[0].objective == found[1].objective == found[1].lower_bound
    assert peaks[1] < 1.5 * 2**18 < peaks[0]


@pytest.mark.parametrize("objective", ["errors", "brier"])
def test_options_are_followed_in_parts_whose_branches_fit_in_memory(monkeypatch, objective):
    schema = Schema({name: Boolean() for name in "abcdefghi"}, Label("y", (0, 1)))
    rows = table(schema, *[(*(i >> bit & 1 == 1 for bit in range(9)), i % 3 % 2) for i in range(0, 512, 37)])
    search, root = begun(Problem(schema, rows, Space.of_trees(schema)), SearchSettings(3, 0, 0.0), objective)
    monkeypatch.setattr(branch_and_bound, "MOST_BYTES", 12 * search.settings.depth * (6 * root.masks.shape[1] + 200))
    states = root[np.zeros(2, dtype=np.intp)]
    parts = list(Division(search, states, 3, np.array([6.0, 6.0]))._rounds())
    assert [len(part) for part in parts] == [12 // (2 * 2)] * 3
    assert np.concatenate(parts).tolist() == list(range(9))


@given(problems(), st.integers(1, 3), st.integers(0, 3), PENALTIES)
def test_states_that_were_not_recognised_as_one_do_no_harm(problem, depth, min_rows, penalty):
    """What a collision of hashes does at worst: every branch leads to a state of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branch_and_bound, "distinct", lambda masks: (np.arange(len(masks)), np.arange(len(masks))))
        search, root = begun(problem, SearchSettings(depth, min_rows, penalty))
        first = np.array([float(len(problem.rows))])
        assert Division(search, root, depth, first).values == problem.least(depth, min_rows, penalty)


def test_fewer_branches_are_divided_together_if_there_is_a_time_limit():
    problem = make_problem(1, "tree")
    rows = PatternMatrix(problem.tally, problem.space)
    settings = SearchSettings(3, 1, 0.0)
    timed, free = (BranchAndBound(rows, settings, deadline=deadline).share() for deadline in (1e9, np.inf))
    assert timed == branch_and_bound._TIMED < free
