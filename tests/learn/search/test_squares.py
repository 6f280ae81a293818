"""Squared losses from two signed counts: equal to sums over rows, exact up to the limit, and best models by them."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import TooManyRowsError
from hedgerow.learn.objectives import RegressionLoss
from hedgerow.learn.search import squares
from hedgerow.learn.search.box_rows import BoxRows
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.certified import exhaust
from hedgerow.learn.search.lattice import PatternMatrix, counting_type
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.pairs import Pairs, PairValues
from hedgerow.learn.search.semirings import least_loss
from hedgerow.learn.search.space import Space
from hedgerow.learn.search.squares import SquaredLoss
from hedgerow.schema import Boolean, Candidates, Number, Schema
from tests.learn.best_models import Problem, leaves_of, make_problem, pruned

LEVELS = st.sampled_from([2, 3, 4, 5, 32, 33, 255, 256])


def loss_by_row(by_level, prediction, bound=256):
    """The sum over rows of the squared distance of level and prediction, at most the square of a bound."""
    return sum(n * min(abs(level - prediction), bound) ** 2 for level, n in enumerate(by_level.tolist()) if n)


@st.composite
def rows_by_level(draw, most=50):
    n_levels = draw(LEVELS)
    present = draw(st.dictionaries(st.integers(0, n_levels - 1), st.integers(1, most), max_size=6))
    return np.array([present.get(level, 0) for level in range(n_levels)])


def test_two_counts_of_five_rows_by_hand():
    """Levels 0, 0, 1, 4, 4 of five are −2, −2, −1, 2, 2 from the middle: together −1, and 6 is what is left out of 17.

    Squared distances to the levels are 33, 20, 17, 24, 41. Σ i·(i − 1) = 6 + 6 + 2 + 2 + 2 = 18 is left out of each.
    """
    loss, by_level = SquaredLoss(5), np.array([2, 1, 0, 0, 2])
    assert loss.counts(by_level).tolist() == [6, -1]
    assert loss.constant(by_level) == 18
    assert [loss_by_row(by_level, level) for level in range(5)] == [33, 20, 17, 24, 41]
    assert loss.totals(loss.counts(by_level)).tolist() == [15, 2, -1, 6, 23]
    assert loss.best(loss.counts(by_level)) == 2
    assert loss.least(loss.counts(by_level)) == -1


@given(st.lists(rows_by_level(), min_size=1, max_size=4))
def test_losses_of_signed_counts_are_those_of_the_rows(leaves):
    for by_level in leaves:
        loss = SquaredLoss(len(by_level))
        counts, constant = loss.counts(by_level), loss.constant(by_level)
        expected = [loss_by_row(by_level, level) for level in range(len(by_level))]
        assert counts.sum() == by_level.sum()
        assert (loss.totals(counts) + constant).tolist() == expected
        assert loss.least(counts.astype(float)) + constant == min(expected)
        assert loss.best(counts) == expected.index(min(expected))


def test_two_levels_are_two_classes_and_their_loss_is_errors():
    loss, by_level = SquaredLoss(2), np.array([[3, 5], [4, 0], [0, 0]])
    assert loss.is_errors
    assert not SquaredLoss(3).is_errors
    np.testing.assert_array_equal(loss.counts(by_level), by_level)
    np.testing.assert_array_equal(loss.least(by_level.T), [3, 0, 0])


def test_leaves_of_any_shape_and_type_are_valued_block_by_block(monkeypatch):
    loss = SquaredLoss(9)
    counts = np.moveaxis(loss.counts(np.random.default_rng(1).integers(0, 300, (7, 1, 13, 9))), -1, 0)
    whole = loss.least(counts)
    assert whole.shape == (7, 1, 13)
    np.testing.assert_array_equal(whole, loss.totals(counts).min(axis=0))
    monkeypatch.setattr(squares, "BLOCK", 5)
    for kind in (np.float32, np.float64, np.int64):
        np.testing.assert_array_equal(loss.least(counts.astype(kind)), whole)
    assert loss.least(counts[..., :0]).shape == (7, 1, 0)


@given(LEVELS, st.data())
def test_losses_are_exact_up_to_the_limit_of_rows(n_levels, data):
    """All rows at the ends, or one more row on one side of the middle between two levels: the most that can be lost."""
    loss = SquaredLoss(n_levels)
    n = 2**50 // loss.reach - data.draw(st.integers(1, 9))
    level, other = data.draw(st.tuples(*[st.integers(0, n_levels - 1)] * 2))
    by_level = np.zeros(n_levels, dtype=np.int64)
    for place in (level, other):
        by_level[place] += n // 2
    by_level[other] += data.draw(st.integers(-1, 1))
    counts = loss.counts(by_level)
    expected = [loss_by_row(by_level, value) - loss.constant(by_level) for value in range(n_levels)]
    assert loss.totals(counts.astype(float)).tolist() == expected
    assert int(loss.least(counts.astype(float))) == min(expected)
    assert loss.best(counts.astype(float)) == expected.index(min(expected))


@given(LEVELS)
def test_no_part_of_a_loss_is_larger_than_the_reach_of_each_row(n_levels):
    loss = SquaredLoss(n_levels)
    for by_level in np.eye(n_levels, dtype=int):
        first, second = (int(count) for count in loss.counts(by_level))
        for value in loss.places.tolist():
            parts = (first, second, 2 * second, value, value * (2 * abs(second) + abs(value)))
            assert max(map(abs, parts)) + abs(second) <= loss.reach
    assert (n_levels - 1) ** 2 <= loss.reach


@pytest.mark.parametrize(("levels", "limit"), [(256, 17_146_380_160), (2, 225_179_981_368_524)])
def test_more_rows_than_are_exact_are_refused(levels, limit):
    schema = Schema({"a": Boolean()}, Number("y", 0, levels, levels))
    counts = np.zeros((2, levels), dtype=np.int64)
    counts[0, 0], counts[1, -1] = limit // 2, limit - 1 - limit // 2
    model, bins = hr.OptimalTreeRegressor(max_depth=0, clip=1.0), np.array([[0], [1]])
    result = model.fit_tally(hr.Tally(schema, bins, counts))
    nearest = round(Fraction(int(counts[1, -1]) * (levels - 1), limit - 1))
    expected = Fraction(loss_by_row(counts.sum(axis=0), nearest), (levels - 1) ** 2)
    assert result.objective_ == pytest.approx(float(expected / (limit - 1)), rel=1e-15)
    counts[0, 0] += 1
    with pytest.raises(TooManyRowsError, match=f"fewer than {limit:,} rows"):
        model.fit_tally(hr.Tally(schema, bins, counts))


@pytest.mark.parametrize("sign", [1, -1])
def test_counts_are_in_single_precision_only_if_their_sums_are_exact(sign):
    assert counting_type(np.array([sign * 2**23, 2**23 - 1])) is np.float32
    assert counting_type(np.array([sign * 2**23, 2**23])) is np.float64


@pytest.mark.parametrize("n", [2**11, 2**18])
@given(seed=st.integers(0, 2**32 - 1))
def test_sums_of_signed_counts_are_exact_beyond_single_precision(n, seed):
    """Rows at levels 253 and 254 of 255 are up to 127 from the middle: sums of squares, or also of levels, pass 2²⁴."""
    schema = Schema({name: Boolean() for name in "abc"}, Number("y", 0, 255, 255))
    bins, by_level = np.indices((2, 2, 2)).reshape(3, -1).T, np.zeros((8, 255), dtype=np.int64)
    by_level[:, 253:] = np.random.default_rng(seed).integers(n, 2 * n, (8, 2))
    loss = SquaredLoss(255)
    tally, counts = loss.tally(hr.Tally(schema, bins, by_level)), loss.counts(by_level)
    tree, pair = Space.of_trees(tally.schema), Space.of_lists(Candidates.of(tally.schema, 2))
    matrix, all_rows = PatternMatrix(tally, tree, loss), np.ones((1, 8), dtype=bool)
    np.testing.assert_array_equal(matrix.counts(all_rows)[0][:, 0], counts.T @ matrix.catches)
    floors = [int(loss.least(row)) for row in counts]
    np.testing.assert_array_equal(matrix.floors(all_rows)[0][0], floors @ matrix.catches)
    rows = BoxRows.of(tally, Boxes.of(tree, 2))
    np.testing.assert_array_equal(rows.table((), rows.classes, rows.caught_bins), counts.T @ matrix.catches)
    values = PairValues(tally, Pairs.of(pair, 2), least_loss(0.0, loss))
    first, second = (tally.patterns(pair.candidates)[0].T for _ in range(2))
    parts = ((one, ~one & two, ~one & ~two) for one in first for two in second)
    assert values.total(2) == min(sum(int(loss.least(counts[part].sum(axis=0))) for part in three) for three in parts)


@dataclass(frozen=True)
class NumberProblem(Problem):
    """A problem whose labels are levels of a number."""

    bound: Fraction = Fraction(0)

    def cost(self, rows, objective="errors"):  # noqa: ARG002
        by_level = np.bincount([self.labels[i] for i in rows], minlength=self.schema.target.n_levels)
        present = np.flatnonzero(by_level).tolist() or [0]
        return min(loss_by_row(by_level, value, self.bound) for value in range(present[0], present[-1] + 1))


def number_problem(seed, kind, clip):
    """Make a problem with levels that depend on the pattern, and a few levels of other rows."""
    problem, rng = make_problem(seed, kind, most_rows=16), np.random.default_rng(seed + 1)
    levels = int(rng.choice([2, 3, 4, 7, 32]))
    target, span = Number("y", -0.5, levels - 0.5, levels), int(rng.integers(1, levels + 1))
    start = int(rng.integers(0, levels - span + 1))
    patterns, rows = dict[str, int](), []
    for row in problem.rows:
        usual = patterns.setdefault(str([row[name] for name in problem.schema]), int(rng.integers(span)))
        rows.append(row | {"y": start + (usual if rng.random() < 0.6 else int(rng.integers(span)))})
    schema = replace(problem.schema, label=target)
    bound = min(Fraction(clip) * levels, Fraction(levels - 1))
    return NumberProblem(schema, tuple(rows), space_of(schema, kind, problem.candidates), problem.candidates, bound)


def space_of(schema, kind, candidates):
    return Space.of_trees(schema) if kind == "tree" else Space.of_lists(Candidates.of(schema, **dict(candidates)))


SIZES = pytest.mark.parametrize("examples", [40, pytest.param(5000, marks=pytest.mark.slow)])
CLIPS = st.sampled_from([1.0, 0.9, 0.5, 0.25])
TERMS = st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from([0.0, 0.25, 1.0, 2.5, 40.0]))


@SIZES
@pytest.mark.parametrize("kind", ["tree", "list"])
def test_searches_by_signed_counts_find_the_best_model_that_there_is(kind, examples):
    @settings(max_examples=examples)
    @given(st.integers(0, 2**32 - 1), CLIPS, TERMS)
    @example(584387, 1.0, (3, 0, 0.0))  # the best list was excluded by the rounding of its own budget
    def best(seed, clip, terms):
        numbers, (depth, min_rows, penalty) = number_problem(seed, kind, clip), terms
        viewed = RegressionLoss("squared", clip=clip).problem(numbers.tally)
        levels = np.unique(numbers.labels)
        assert isinstance(viewed.objective, SquaredLoss) == (max(1, levels[-1] - levels[0]) <= numbers.bound)
        if not isinstance(viewed.objective, SquaredLoss):
            return
        schema, terms = viewed.tally.schema, SearchSettings(depth, min_rows, penalty, viewed.objective)
        space = space_of(schema, kind, numbers.candidates)
        expected = numbers.least(depth, max(min_rows, 1), Fraction(penalty)) - viewed.constant
        matrix = PatternMatrix(viewed.tally, space, viewed.loss)
        early = pruned(matrix, terms, deadline=0.0)
        assert early.lower_bound <= expected <= early.objective
        found = [pruned(matrix, terms)]
        for states in (Boxes.of(space, min(depth, space.n_options)), Pairs.of(space, min(depth, space.n_options))):
            if states is not None:
                found.append(exhaust(viewed.tally, states, terms, lambda *_: None))
        for optimum in found:
            assert optimum.objective == optimum.lower_bound == expected
            assert objective(numbers, optimum.model, penalty) - viewed.constant == expected
            reported = viewed.reported(optimum)
            assert reported.objective == reported.lower_bound
            assert reported.objective == pytest.approx(
                float((expected + viewed.constant) / numbers.bound**2), rel=1e-15
            )

    best()


def objective(numbers, model, penalty):
    """The loss and the penalties of a model with the values of its leaves, row by row."""
    parts = list(leaves_of(numbers, model))
    lost = sum(
        min(Fraction(abs(numbers.labels[i] - value)), numbers.bound) ** 2
        for rows, value, _ in parts
        if value is not None
        for i in rows
    )
    return lost + Fraction(penalty) * sum(value is None for _, value, _ in parts)
