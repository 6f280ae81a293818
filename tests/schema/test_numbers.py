"""Intervals between cut points against a search by hand."""

from bisect import bisect_left
from dataclasses import replace

import pytest

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Integer, Literal, Real, default_cuts
from hedgerow.tables.frames import column_of

AGE = Integer(0, 90, cuts=(30, 60), outside="bin")
DOSE = Real(-1.5, 2.5, cuts=(-0.5, 0.0, 1.25), outside="clip")


def test_a_number_is_in_the_interval_that_ends_at_the_next_cut_point():
    ages = [0, 29, 30, 31, 60, 61, 90]
    assert AGE.encode(column_of(ages, "age")).tolist() == [bisect_left(AGE.cuts, age) for age in ages]
    doses = [-1.5, -0.5, -0.4999, 0.0, 1e-300, 1.25, 2.5]
    assert DOSE.encode(column_of(doses, "dose")).tolist() == [bisect_left(DOSE.cuts, dose) for dose in doses]


def test_derived_values_follow_the_policies_for_outside_values():
    assert AGE.encode(column_of([-1, 91, 30.5], "age")).tolist() == [3, 3, 3]  # no whole number is no age
    assert DOSE.encode(column_of([-9.0, 9.0], "dose")).tolist() == [0, 3]
    with pytest.raises(DomainError, match="column 'age': some values are outside"):
        Integer(0, 90).encode(column_of([91], "age"))


def test_intervals_and_bounds_are_printed():
    assert AGE.bins[:3] == ("[0, 30]", "(30, 60]", "(60, 90]")
    assert (AGE.domain, DOSE.domain) == ("0 to 90", "-1.5 to 2.5")
    assert (AGE.n_known, Integer(0, 90, ()).bins) == (3, ("[0, 90]",))


def test_a_literal_holds_on_the_intervals_it_names():
    assert AGE.truth(Literal("age", "<=", (30,))).tolist() == [True, False, False, False]
    assert AGE.truth(Literal("age", ">", (30,))).tolist() == [False, True, True, False]
    assert AGE.truth(Literal("age", "between", (30, 60))).tolist() == [False, True, False, False]
    with pytest.raises(SchemaError, match="compare with the cut points"):
        AGE.truth(Literal("age", "<=", (31,)))


@pytest.mark.parametrize(("kind", "whole"), [(Integer, True), (Real, False)])
def test_cut_points_that_are_left_out_are_the_default_grid(kind, whole):
    grid = default_cuts(-5, 90, whole=whole)
    assert kind(-5, 90).cuts == kind(-5, 90, "auto").cuts == grid
    assert kind(-5, 90) == kind(-5, 90, cuts=list(grid), missing="error")
    assert kind(-5, 90, missing="bin", missing_values=[-9], outside="bin").n_bins == len(grid) + 3
    numbers = kind(-5, 90), kind(-5, 90, grid), kind(-5, 90, grid[1:]), kind(-5, 90, ())
    assert [number.has_default_cuts for number in numbers] == [True, True, False, False]
    assert [number.n_known for number in numbers] == [len(grid) + 1, len(grid) + 1, len(grid), 1]


def test_cut_points_are_a_tuple_whatever_sequence_they_are_given_as():
    assert Integer(0, 9, range(2, 5)).cuts == (2, 3, 4)
    assert Real(0, 1, [0.5]).cuts == (0.5,)
    assert replace(AGE, cuts="auto").cuts == default_cuts(0, 90, whole=True)
    assert replace(AGE, missing="bin").cuts == AGE.cuts


@pytest.mark.parametrize(("n", "intervals"), [(2, 1), (10, 45), (11, 0), (30, 0)])
def test_literals_of_many_cut_points_have_a_single_bound(n, intervals):
    number = Integer(0, 100, tuple(range(n)))
    literals = number.literals("x", negations=True)
    assert sum(literal.operator == "between" for literal in literals) == intervals
    assert len(literals) == number.count_literals(negations=True) == 2 * n + intervals
    assert number.truth(Literal("x", "between", (0, 1))).tolist() == [False, True, *[False] * (n - 1)]


@pytest.mark.parametrize("n", [0, 1, 10, 11, 30])
@pytest.mark.parametrize("outside", ["error", "bin"])
@pytest.mark.parametrize("missing", ["error", "bin"])
@pytest.mark.parametrize("negations", [True, False])
def test_truth_of_all_literals_is_the_truth_of_each_literal(n, outside, missing, negations):
    number = Integer(0, 100, tuple(range(n)), missing=missing, outside=outside)
    for kind in (number, replace(number, outside="error")):
        expected = [number.truth(literal).tolist() for literal in kind.literals("x", negations=negations)]
        truth = number.literal_truth(kind, negations=negations)
        assert truth.tolist() == expected
        assert truth.shape == (kind.count_literals(negations=negations), number.n_bins)
