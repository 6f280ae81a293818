"""Compiled loops against NumPy, against masks, and the limits of time and memory of deep searches."""

import subprocess
import sys
import tracemalloc
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.search import compiled
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.compiled import Steps
from hedgerow.learn.search.cost import SearchShape, cubes_cost
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.semirings import all_models, least_loss
from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean, Categorical, Integer
from tests.learn.enumerate_models import constant, schema_of, tables
from tests.learn.search.box_searches import DEEP, by_masks, rows_of, wide

NUMBA = pytest.mark.skipif(compiled.find_spec("numba") is None, reason="Numba is not installed (extra 'fast')")
SIZES = [8, pytest.param(200, marks=pytest.mark.slow)]
SEMIRINGS = {
    "draw": all_models(0.7, constant(0.3)),
    "draw with large epsilon": all_models(9000.0, StopPrior(-2.0, 3.0, 5.0)),
    "draw with small epsilon": all_models(2.0**-9, StopPrior(900.0)),
    "least": least_loss(0.5),
}


def values_of(tally, boxes, semiring, min_rows, least_evaluations):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "LEAST_EVALUATIONS", least_evaluations)
        item = Cubes(tally, boxes, semiring, min_rows)
    assert (item._loops is None) == (least_evaluations > 0 or not item._last.has_loops)
    return [values for of_left in item.values for values in of_left.values()]


@NUMBA
@pytest.mark.parametrize("name", SEMIRINGS)
@pytest.mark.parametrize("examples", SIZES)
def test_compiled_loops_compute_the_values_of_numpy(examples, name):
    """Least losses are equal bit by bit, with and without a minimum of rows."""
    semiring = SEMIRINGS[name]

    @settings(max_examples=examples)
    @given(wide, st.integers(1, 4), st.data(), st.sampled_from([0, 1, 2.5]))
    def same(space, depth, data, min_rows):
        table = data.draw(tables(space.candidates.schema))
        if len(space.candidates.schema.classes) != 2:
            return
        boxes, min_rows = Boxes.of(space, depth), min_rows if semiring.is_least else 0
        expected, result = (values_of(table.tally, boxes, semiring, min_rows, least) for least in (10**18, 0))
        for numbers, others in zip(result, expected, strict=True):
            np.testing.assert_allclose(numbers, others, rtol=0 if semiring.is_least else 1e-13, atol=1e-13)

    same()


@NUMBA
@pytest.mark.parametrize("weight", [2.0**-12, 0.25, 4.0, 1000.0])
@pytest.mark.parametrize("space", [DEEP["trees"], DEEP["lists"]], ids=["trees", "lists"])
def test_compiled_sums_of_large_tables_are_those_of_numpy(space, weight):
    """Of 40 thousand to 4 million rows: small and large differences, and with small weights no table of them."""
    semiring = all_models(weight, constant(0.1))
    for scale in (1000, 100_000):
        table, boxes = rows_of(space, 3, scale), Boxes.of(space, 4)
        expected, result = (values_of(table.tally, boxes, semiring, 0, least) for least in (10**18, 0))
        for numbers, others in zip(result, expected, strict=True):
            np.testing.assert_allclose(numbers, others, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("least", [10**18, pytest.param(0, marks=NUMBA)], ids=["NumPy", "compiled"])
@pytest.mark.parametrize("name", SEMIRINGS)
def test_values_of_depth_five_are_those_by_masks(name, least):
    space = Space.of_trees(schema_of(Integer(0, 9, (1, 3)), Categorical(tuple("abc")), Boolean(), Boolean()))
    for min_rows in (0, 3) if SEMIRINGS[name].is_least else (0,):
        table, boxes = rows_of(space, 5, 3), Boxes.of(space, 5)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "LEAST_EVALUATIONS", least)
            item = Cubes(table.tally, boxes, SEMIRINGS[name], min_rows)
        other = by_masks(table, space, 5, SEMIRINGS[name], min_rows)
        assert item.total(5) == pytest.approx(other.total(5), rel=1e-12)


@pytest.mark.parametrize("least", [10**18, pytest.param(0, marks=NUMBA)], ids=["NumPy", "compiled"])
@pytest.mark.parametrize("alone", [0, 2])
def test_a_split_that_catches_or_leaves_too_few_rows_is_not_taken(alone, least):
    """A single row of the second class is in the first or in the last of three bins."""
    space, counts = Space.of_trees(schema_of(Integer(0, 9, (1, 3)))), np.array([[5, 0], [5, 0], [5, 0]])
    counts[alone] = 0, 1
    tally = hr.Tally(space.candidates.schema, np.arange(3)[:, None], counts)
    for min_rows, expected in ((1, 0.5), (2, 1.0)):
        assert values_of(tally, Boxes.of(space, 1), least_loss(0.5), min_rows, least)[0] == expected


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1)))
def test_steps_lead_from_set_to_set(sets):
    sets = np.array(sets)
    steps, members = Steps.of(sets), np.zeros(sets.shape[1], dtype=int)
    assert sorted(steps.sets.tolist()) == list(range(len(sets)))
    for place, chosen in enumerate(steps.sets):
        changes = slice(steps.starts[place], steps.starts[place + 1])
        np.add.at(members, steps.bins[changes], steps.signs[changes])
        assert (members == sets[chosen]).all()


def test_tables_that_single_precision_does_not_hold_are_left_to_numpy(monkeypatch):
    monkeypatch.setattr(compiled, "LEAST_EVALUATIONS", 0)
    table = rows_of(DEEP["trees"], 1, 2**20)
    assert Cubes(table.tally, Boxes.of(DEEP["trees"], 2), least_loss(1.0))._loops is None


def test_short_searches_and_installations_without_numba_use_numpy(monkeypatch):
    monkeypatch.setattr(compiled, "find_spec", lambda name: name)
    assert compiled.is_compiled(compiled.LEAST_EVALUATIONS)
    assert not compiled.is_compiled(compiled.LEAST_EVALUATIONS - 1)
    monkeypatch.setattr(compiled, "find_spec", lambda _: None)
    assert not compiled.is_compiled(10**12)
    assert compiled.loops(10**12) is None


def test_numba_changes_the_cost_of_a_long_search_but_not_which_is_chosen(monkeypatch):
    shape = SearchShape.of_trees(schema_of(*[Integer(0, 99, tuple(range(5, 95, 5)))] * 6))
    monkeypatch.setattr(compiled, "find_spec", lambda name: name)
    fast = cubes_cost(shape, shape.sizes(5))
    monkeypatch.setattr(compiled, "find_spec", lambda _: None)
    slow = cubes_cost(shape, shape.sizes(5))
    assert 0 < fast.seconds() < slow.seconds()
    assert (fast.is_quick, fast.is_sensible) == (slow.is_quick, slow.is_sensible)


@NUMBA
def test_loops_are_compiled_where_no_folder_can_be_written(monkeypatch):
    import numba

    compile_loop = numba.njit

    def njit(*functions, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return compile_loop(*functions, **options)

    monkeypatch.setattr(numba, "njit", njit)
    sides, most = np.ones((2, 1, 3), dtype=np.float32), np.empty((1, 1))
    compiled._compiled.__wrapped__().largest(sides, Steps.of(np.ones((1, 2), dtype=bool)), most)
    assert most == 2


@NUMBA
def test_numpy_is_used_if_numba_cannot_be_imported(monkeypatch):
    """For example because it does not support the installed version of NumPy."""
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled._compiled.__wrapped__() is None


def test_importing_hedgerow_imports_no_numba():
    code = "import sys, hedgerow, hedgerow.learn; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_search_of_adult_to_depth_five_is_within_the_limits():
    cost = hr.PrivateTreeClassifier(1.0, search="exact", max_depth=5).search_cost(hr.datasets.load("adult").schema)
    assert cost.is_sensible
    assert not cost.is_quick
    assert cost.states > 110_000_000


@pytest.mark.parametrize("least", [10**18, pytest.param(0, marks=NUMBA)], ids=["NumPy", "compiled"])
@pytest.mark.parametrize("name", ["draw", "least"])
def test_the_memory_of_a_search_is_little_more_than_its_values(name, least):
    """A category of 24 levels has 2,324 sets after three choices; tables of all options would take 220 MB."""
    wide = schema_of(Categorical(tuple(map(str, range(24)))), *[Integer(0, 9, tuple(range(9)))] * 3)
    space, rng = Space.of_trees(wide), np.random.default_rng(0)
    boxes, table = Boxes.of(space, 4), rows_of_any(space, rng)
    Cubes(table, Boxes.of(space, 2), SEMIRINGS[name])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "LEAST_EVALUATIONS", least)
        compiled.loops(10**18)
        tracemalloc.start()
        item = Cubes(table, boxes, SEMIRINGS[name])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    stored = sum(values.nbytes for of_left in item.values for values in of_left.values())
    largest = max(values.nbytes for values in item.values[1].values())
    assert peak < stored + 7 * largest + 32 * 2**20


def rows_of_any(space, rng):
    """Return a tally of rows drawn uniformly, without listing all possible rows."""
    schema = space.candidates.schema
    bins = np.column_stack([rng.integers(attribute.n_bins, size=500) for _, attribute in schema.attributes])
    bins = np.unique(bins, axis=0)
    return hr.Tally(schema, bins, rng.integers(1, 20, size=(len(bins), 2)))


@pytest.mark.slow
@pytest.mark.parametrize(("min_support", "errors"), [(0, 7112), (0.001, 7162)])
def test_adult_at_depth_five_takes_a_minute_and_four_gigabytes(min_support, errors):
    """STreeD finds 7,115 and 7,162 errors in two minutes (docs/benchmarks/optimal_raw.md)."""
    code = f"""
        import resource, time
        import hedgerow as hr
        data = hr.datasets.load("adult")
        model = hr.OptimalTreeClassifier(max_depth=5, min_support={min_support}, schema=data.schema)
        start = time.process_time()
        model.fit(data.frame, data.labels)
        assert model.optimal_ and round(model.objective_ * len(data.labels)) == {errors}
        assert time.process_time() - start < 60
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * 2**20
    """
    subprocess.run([sys.executable, "-W", "error", "-c", dedent(code)], check=True)
