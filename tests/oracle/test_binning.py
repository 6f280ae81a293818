"""Bins cut from a public source: of equal mass, a place for every value, and few enough for the noise."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import DomainError, SchemaError
from hedgerow.oracle import choose_bins
from hedgerow.oracle.binning import bin_matrix, bin_names, bins_or_chosen, check_kind, check_total, n_bins
from hedgerow.schema import Boolean, Categorical, Date, Integer, Real, Schema, Weight, YearsSince
from tests.marginals.tables import ALL, FRAMES, ROW, SOME, slow_counts, split


@pytest.mark.parametrize(("rows", "scale"), [(5000, 75), (2500, 4), (700, 44), (700, 10), (10**6, 1), (50, 500)])
def test_the_number_of_bins_keeps_rows_to_noise_near_four(rows, scale):
    """EXPRIL §4.2: n'/(q·√2·λ) close to 4: no other whole number is nearer to n'/(4·√2·λ), from 2 to 12."""
    wanted = rows / (4 * np.sqrt(2) * scale)
    assert n_bins(rows, lambda _: scale) == min(range(2, 13), key=lambda q: abs(q - wanted))


@pytest.mark.parametrize(("rows", "scale"), [(5000, 75), (2500, 4), (700, 44), (10**6, 1), (50, 500)])
def test_the_published_rule_has_no_limit_but_two(rows, scale):
    wanted = rows / (4 * np.sqrt(2) * scale)
    result = n_bins(rows, lambda _: scale, np.inf)
    assert result == 2 or abs(result - wanted) <= 0.5
    assert n_bins(700, lambda _: 0, np.inf) == 12


def test_published_bins_keep_the_ratio_that_the_paper_keeps():
    """EXPRIL §4.2 on 2,500 rows with λ = 4: 110 bins of 23 rows, four standard deviations of 5.7; 12 bins have 37."""
    source = np.random.default_rng(0).normal(size=(2500, 1))
    assert len(bins_or_chosen("published", source, 2500, lambda _: 4.0)["x0"].cuts) == 109
    assert len(bins_or_chosen("auto", source, 2500, lambda _: 4.0)["x0"].cuts) == 11


def test_without_noise_there_are_as_many_bins_as_allowed():
    assert n_bins(700, lambda _: 0) == 12
    assert n_bins(700, lambda _: 1e-300) == 12


@pytest.mark.parametrize("most", [12, np.inf])
def test_the_number_of_bins_is_the_largest_that_its_own_noise_allows(most):
    for rows in (50, 500, 5000, 50_000):
        result = n_bins(rows, lambda q: 20 - 15 / q, most)
        allowed = [q for q in range(2, 3000) if q <= min(most, round(rows / (4 * np.sqrt(2) * (20 - 15 / q))))]
        assert result == max(allowed, default=2)


def slow_cuts(numbers, weights, most):
    """Return, for each share k/most of the weight, the least number at or below which as much lies; exactly."""
    exact = [Fraction(float(weight)) for weight in weights]
    cuts = set()
    for k in range(1, most):
        below = Fraction(0)
        for number in sorted(set(numbers)):
            below = sum((w for x, w in zip(numbers, exact, strict=True) if x <= number), Fraction(0))
            if below >= sum(exact) * k / most:
                cuts.add(number)
                break
    return tuple(cut for cut in sorted(cuts) if cut < max(numbers))


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 6)), min_size=2, max_size=25),
    st.integers(2, 7),
    st.booleans(),
)
def test_cuts_are_weighted_quantiles(pairs, most, weighted):
    numbers = [float(number) for number, _ in pairs]
    weights = np.array([weight for _, weight in pairs] if weighted else [1] * len(pairs), dtype=float)
    if len(set(numbers)) < 2 or not weights.any():
        return
    result = choose_bins(np.array(numbers)[:, None], most, weights)["x0"]
    expected = slow_cuts(numbers, weights, most)
    assert result.cuts == (expected or (sorted(set(numbers))[-2],))
    assert (result.low, result.high) == (min(numbers), max(numbers))
    assert 2 <= len(result.known_bins) <= most


def test_bins_of_many_rows_share_the_weight_equally():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(5000, 2)), rng.random(5000)
    bins = choose_bins(X, 7, weights)
    masses = (bin_matrix(bins, X) @ weights / weights.sum()).reshape(2, 8)
    assert masses[:, :7] == pytest.approx(1 / 7, abs=1e-3)
    assert (masses[:, 7] == 0).all()  # missing


def test_rare_categories_are_one_bin_together():
    """A category is kept from a quarter of an equal share on: ¼·¼ = 1/16 here."""
    words = ["a"] * 80 + ["b"] * 10 + ["c"] * 10 + ["d"] * 4 + ["e"] * 3 + ["f"] * 3 + [None] * 7
    result = choose_bins(pl.DataFrame({"w": words}), 4)["w"]
    assert result.values == ("a", "b", "c")
    assert result.bins == ("a", "b", "c", "missing", "outside")
    assert choose_bins(pl.DataFrame({"w": words}), 8)["w"].values == ("a", "b", "c", "d")
    weights = np.array([0.01] * 104 + [9.0] * 6 + [0.0] * 7)
    assert choose_bins(pl.DataFrame({"w": words}), 4, weights)["w"].values == ("e", "f")
    alone = choose_bins(pl.DataFrame({"w": [f"{i}x" for i in range(99)]}), 2)["w"]
    assert alone.values == ("0x",)  # none is frequent: the most frequent one, and the rest


def test_columns_of_each_type_have_their_kind_of_bins():
    source = pd.DataFrame({"n": [1, 2, 3], "f": [True, False, True], "w": ["x", "y", "x"], "r": [0.5, None, 1.5]})
    bins = choose_bins(source, 2)
    assert [type(bins[name]) for name in bins] == [Real, Boolean, Categorical, Real]
    assert bins["r"].cuts == (0.5,)
    assert bin_names(bins)[:4] == [("n", "[1, 2]"), ("n", "(2, 3]"), ("n", "missing"), ("f", "false")]


@pytest.mark.parametrize("kind", FRAMES)
@given(source=st.lists(ROW, min_size=4, max_size=20), rows=st.lists(ROW, max_size=15), most=st.integers(2, 6))
def test_every_row_has_exactly_one_bin_of_each_attribute(kind, source, rows, most):
    table, _ = split(FRAMES[kind](source))
    try:
        bins = choose_bins(table, most)
    except DomainError:
        return  # a constant column
    check_total(bins)
    target, labels = split(FRAMES[kind](rows))
    matrix = bin_matrix(bins, target)
    assert matrix.shape == (len(bin_names(bins)), len(rows))
    place = 0
    for _, attribute in bins.attributes:
        assert (matrix[place : place + len(attribute.bins)].sum(axis=0) == 1).all()
        place += len(attribute.bins)
    assert hr.Oracle(target, labels, None).marginals(bins).rows.tolist() == matrix.sum(axis=1).tolist()
    for given_bins in (ALL, SOME):
        assert bin_matrix(given_bins, target).sum(axis=1).tolist() == slow_counts(given_bins, rows)


@pytest.mark.parametrize(
    ("source", "match"),
    [
        (np.array([[1.0], [1.0], [np.nan]]), "column 'x0': the source has fewer than two values"),
        (np.array([[np.nan], [np.nan]]), "column 'x0': the source has fewer than two values"),
        (pd.DataFrame({"w": ["a", "a", None]}), "column 'w': the source has fewer than two values"),
        (pd.DataFrame({"f": [True, True]}), "column 'f': the source has fewer than two values"),
        (np.array([[1.0], [np.inf]]), "column 'x0': expected finite numbers"),
    ],
)
def test_columns_that_cannot_be_cut_are_refused(source, match):
    with pytest.raises(DomainError, match=match):
        choose_bins(source, 3)


@pytest.mark.parametrize("most", [1, 0, True, 2.5, "3", np.array([3])])
def test_a_number_of_bins_that_is_none_is_refused(most):
    with pytest.raises(ValueError, match="bins must be a whole number >= 2, got"):
        choose_bins(np.array([[1.0], [2.0]]), most)


@pytest.mark.parametrize(
    "weights",
    [np.ones(2), np.array([1, -1, 1]), np.array([1, np.nan, 1]), np.zeros(3), np.ones((3, 1)), ["a", "b", "c"]],
)
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be a finite number >= 0"):
        choose_bins(np.array([[1.0], [2.0], [3.0]]), 2, weights)


def test_a_column_whose_weight_is_all_on_missing_rows_is_cut_by_its_rows():
    X = np.array([[1.0], [2.0], [3.0], [np.nan]])
    assert choose_bins(X, 3, np.array([0.0, 0.0, 0.0, 1.0]))["x0"].cuts == (1.0, 2.0)
    words = pd.DataFrame({"w": ["a", "b", "b", None]})
    assert choose_bins(words, 3, np.array([0.0, 0.0, 0.0, 1.0]))["w"].values


@pytest.mark.parametrize("bins", ["many", 1, 0, True, 2.0, None])
def test_bins_that_are_none_are_refused(bins):
    with pytest.raises(ValueError, match=r"^bins .*'auto', 'published'"):
        bins_or_chosen(bins, np.array([[1.0], [2.0]]), 2, lambda _: 0.0)


def test_bins_that_are_given_must_hold_rows_of_the_source():
    X = np.array([[1.0], [2.0]])
    fits = Schema({"a": Real(0.0, 3.0, (1.5,), missing="bin", outside="clip")})
    assert bins_or_chosen(fits, X, 2, lambda _: 0.0) is fits
    empty = Schema({"a": Real(0.0, 3.0, (1.5, 2.5), missing="bin", outside="clip")})
    with pytest.raises(DomainError, match=r"column 'a': .*\(2\.5, 3\]"):
        bins_or_chosen(empty, X, 2, lambda _: 0.0)
    assert len(bins_or_chosen("auto", X, 2, lambda _: 0.0)["x0"].cuts) == 1
    assert bins_or_chosen(5, np.arange(50.0)[:, None], 2, lambda _: 0.0)["x0"].cuts == (9.0, 19.0, 29.0, 39.0)


def test_bins_with_a_weight_are_refused():
    bins = Schema({"age": Integer(0, 6, cuts=(3,), missing="bin", outside="bin")}, weight=Weight("w", 4.0))
    with pytest.raises(SchemaError, match="must have no weight"):
        check_total(bins)


def test_bins_that_refuse_some_value_are_not_total():
    for attribute in (
        Real(0.0, 1.0, cuts=(), missing="bin"),
        Real(0.0, 1.0, cuts=(), outside="clip"),
        Categorical(("a",), outside="bin"),
    ):
        with pytest.raises(SchemaError, match="Every private row needs a bin"):
            check_total(Schema({"a": attribute}))
    check_total(Schema({"a": Boolean(missing="bin")}))


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_bins_by_dates_are_refused(kind):
    """Text that spells no date has none of them, so that a private row could be refused."""
    born = Date("1950-01-01", "1979-12-31", missing="bin", outside="clip")
    with pytest.raises(SchemaError, match=f"do not fit a column of {kind}"):
        check_kind("born", born, kind)


def test_questions_about_derived_attributes_use_their_columns():
    bins = Schema(
        {
            "age": Integer(
                0, 99, cuts=(30,), missing="bin", outside="clip", derived=YearsSince("born", until="2026-01-01")
            )
        }
    )
    labels, budget = np.array([0, 1] * 20), hr.Budget(2)
    raw = hr.Oracle(pd.DataFrame({"born": ["1980-01-01"] * 40}), labels, budget, 1, classes=(0, 1))
    with pytest.raises(ValueError, match="the table has no such column"):
        raw.marginals(bins)
    assert budget.spent == 0
    derived = hr.Oracle(pd.DataFrame({"age": [46] * 40}), labels, budget, 1, classes=(0, 1))
    assert derived.marginals(bins).bins["age"].derived is None
