"""The width draw: its privacy by brute force in fractions, laws that look alike, and the prototype's bounds."""

from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.learn.search.space import Space
from hedgerow.tally import Tally
from studies.width import law
from studies.width.estimate import share_inside
from studies.width.search import AllTrees, WidthSearch, inside_mass, width_of

Q = Fraction(1, 4)
ERRORS = [[Fraction(i != j) for j in range(2)] for i in range(2)]
COSTS = {
    "errors": (2, ERRORS),
    "halves": (2, [[Fraction(0), Fraction(1, 2)], [Fraction(1), Fraction(0)]]),
    "three classes": (3, [[Fraction(i != j) for j in range(3)] for i in range(3)]),
}
XOR = tuple(((a, b), a ^ b) for a, b in product((0, 1), repeat=2))


def rows_of(tests, classes):
    return list(product(product((0, 1), repeat=tests), range(classes)))


def ratios(of, tests, depth, classes, costs, rows, widths):
    """Yield the largest ratio of chances of every table of so many rows, and of each with one row more."""
    models = list(law.trees(tuple(range(tests)), depth, classes))
    for table, width in product(law.tables(tests, classes, rows), widths):
        here = of(law.losses(table, models, costs), models, Q, width)
        for row in rows_of(tests, classes):
            yield law.largest_ratio(here, of(law.losses((*table, row), models, costs), models, Q, width))


@pytest.mark.parametrize("kind", COSTS)
def test_one_row_changes_no_chance_by_more_than_the_weight(kind):
    classes, costs = COSTS[kind]
    result = list(ratios(law.width_law, 1, 1, classes, costs, 4 - classes // 2, (0, 1, 2) if classes == 2 else (2,)))
    assert Fraction(3, 4) / Q < max(result) <= 1 / Q


def test_substituting_a_row_costs_two_weights_at_most():
    models = list(law.trees((0,), 1, 2))
    laws = {t: law.width_law(law.losses(t, models, ERRORS), models, Q, 2) for t in law.tables(1, 2, 4)}
    result = [
        law.largest_ratio(laws[tuple(sorted((*table, item)))], laws[tuple(sorted((*table, other)))])
        for table in law.tables(1, 2, 3)
        for item, other in product(rows_of(1, 2), repeat=2)
    ]
    assert 1 / Q < max(result) <= 1 / Q**2


def test_the_mixture_is_the_same_law():
    models = list(law.trees((0, 1), 2, 2))
    for table, width in product((XOR, XOR[:3], XOR + XOR[:1]), (0, 1, 3)):
        err = law.losses(table, models, ERRORS)
        assert law.mixture_law(err, models, Q, width) == law.width_law(err, models, Q, width)


def looks_alike(name):
    small = [(ERRORS, (1,), law_of) for law_of in (law.capped(3), law.refusing(3), law.telling, law.cut)]
    by_name = dict(zip(("cap and fall-back", "cap and refusal", "part told", "no flat part"), small, strict=True))
    if name in by_name:
        costs, widths, of = by_name[name]
        return list(ratios(of, 2, 1, 2, costs, 2, widths))
    if name == "relative width":
        return list(ratios(law.relative_width, 1, 1, 2, ERRORS, 4, (2,)))
    models = list(law.trees((0, 1, 2) if name == "stopped search" else (0, 1), 2, 2))
    if name == "stopped search":
        table = [((a, b, c), a ^ b) for a, b, c in product((0, 1), repeat=3)] + [((0, 0, 0), 0)] * 2
        pair = [law.losses(rows, models, ERRORS) for rows in (table, [*table, ((0, 0, 1), 1)])]
        return [law.largest_ratio(*(law.stopped_search(err, models, Q, 1) for err in pair))]
    other = law.losses([((0, 0), 0)] * 3 + [((0, 0), 1)], models, ERRORS)
    pair = [law.losses(rows, models, ERRORS) for rows in (XOR, (*XOR, ((0, 0), 1)))]
    return [law.largest_ratio(*(law.shared_least(err, other, models, Q, 1) for err in pair))]


@pytest.mark.parametrize("name", ["cap and fall-back", "cap and refusal", "part told", "no flat part", "relative width",
                                  "stopped search", "shared optimum"])  # fmt: skip
def test_lookalike_names_are_not_private(name):
    result = looks_alike(name)
    assert None in result or max(result) > 1 / Q


def test_the_ratio_depends_on_more_than_the_loss_of_the_row():
    models = list(law.trees((0, 1), 2, 2))
    before, after = (law.losses(rows, models, ERRORS) for rows in (XOR, (*XOR, ((0, 0), 1))))
    item, other = (law.width_law(err, models, Q, 1) for err in (before, after))
    by_loss = defaultdict(set)
    for (model, _), was, now in zip(models, before, after, strict=True):
        by_loss[now - was].add(other[model] / item[model])
    assert max(map(len, by_loss.values())) > 1


def test_fifty_digits_of_the_mixture():
    models = list(law.trees((0, 1), 2, 2))
    err = [int(e) for e in law.losses(XOR + XOR[:3], models, ERRORS)]
    with localcontext(prec=60):
        q, width, least = Decimal(-1).exp(), 2, min(err)
        shares = defaultdict(Decimal)
        for (_, p), e in zip(models, err, strict=True):
            shares[e] += Decimal(p.numerator) / Decimal(p.denominator)
        by_parts = q**width + sum(
            share * (q ** (e - least) - q**width) for e, share in shares.items() if e < least + width
        )
        total = sum(share * q ** min(e - least, width) for e, share in shares.items())
        assert abs(by_parts.ln() - total.ln()) < Decimal("1e-50")
    table = tally_of(XOR + XOR[:3])
    flat, inside = inside_mass(WidthSearch(*table, 2).histogram(least + width), width, 1.0)
    assert np.isclose(flat + inside.sum(), float(total), rtol=1e-14)


# The prototype


def tally_of(rows):
    names = [f"x{place}" for place in range(len(rows[0][0]))]
    frame = pd.DataFrame([list(values) for values, _ in rows], columns=names) == 1
    schema = hr.Schema(dict.fromkeys(names, hr.Boolean()), hr.Label("y", (0, 1)))
    return Tally.count(frame, pd.Series([label for _, label in rows], name="y"), schema), Space.of_trees(schema)


def random_rows(rng, tests, n):
    return [(tuple(rng.integers(0, 2, tests).tolist()), int(rng.integers(0, 2))) for _ in range(n)]


def counted(rows, tests, depth):
    """Return the share of the prior of all trees with each number of errors, by listing them."""
    result = defaultdict(float)
    for model, prior in law.trees(tuple(range(tests)), depth, 2):
        result[sum(law.predict(model, values) != label for values, label in rows)] += float(prior)
    return result


def summed(rows, tests, depth):
    """Return the same by recursion, without a bound."""
    result, go = defaultdict(float), 0.9 if depth and tests else 0.0
    for label in (0, 1):
        result[sum(other != label for _, other in rows)] += (1 - go) / 2
    for test in tests if go else ():
        below = tuple(other for other in tests if other != test)
        parts = [summed([row for row in rows if row[0][test] == side], below, depth - 1) for side in (0, 1)]
        for (item, first), (other, second) in product(*(part.items() for part in parts)):
            result[item + other] += go / len(tests) * first * second
    return result


TREES = [(1, 1), (2, 2), (3, 2), (5, 3)]


def agrees(search, expected, widths=(0, 1, 3, 9)):
    least = search.least()
    if least != min(expected):
        return False
    for width in widths:
        result = search.histogram(least + width)
        shares = [expected.get(least + more, 0.0) for more in range(width + 1)]
        if result is None or result.least != least or not np.allclose(result.shares, shares, rtol=1e-12, atol=0):
            return False
    return True


@pytest.mark.parametrize(("tests", "depth"), TREES)
def test_the_histogram_is_that_of_all_trees_and_their_sum(tests, depth):
    rng = np.random.default_rng(tests)
    for n in (1, 9, 24):
        rows = random_rows(rng, tests, n)
        table, shares = tally_of(rows), summed(rows, tuple(range(tests)), depth)
        if tests < 4:
            assert shares == pytest.approx(counted(rows, tests, depth), rel=1e-12)
        assert agrees(WidthSearch(*table, depth), shares)
        expected = sum(share * np.exp(-0.7 * errors) for errors, share in shares.items())
        assert np.isclose(AllTrees(*table, depth).weight(0.7), np.log(expected), rtol=1e-12)


class PointsTooMany(WidthSearch):
    def equivalent_points(self, rows):
        caught, whole = super().equivalent_points(rows)
        return caught + 1, whole + 2


class SimilarTooMuch(WidthSearch):
    def similar(self, value, rows, side, test):
        return tuple(bound + 1 for bound in super().similar(value, rows, side, test))


class SimilarWithoutRows(WidthSearch):
    def similar(self, value, rows, side, test):
        return tuple(np.full(len(bound), value) for bound in super().similar(value, rows, side, test))


class LastTooMany(WidthSearch):
    def _last(self, path, pairs):
        return tuple(value + 1 for value in super()._last(path, pairs))


class RowsOnBothSides(WidthSearch):
    """Closes tests that leave no row on a side, as a search for one best tree may."""

    def _open(self, path, side):
        rows = np.logical_and.reduce([self._on(np.ones(len(self._tests), bool), *self._side(item)) for item in path])
        pairs, place = self.pairs(rows & np.ones(len(self._tests), bool)), self._space.branches.index(side)
        caught, total = pairs.sides[place].sum(axis=0), pairs.totals[place].sum(axis=0)
        return super()._open(path, side) & (caught > 0) & (caught < total[:, None])

    def _side(self, side):
        n = self._tests.shape[1]
        return self._space.branches[side // n], side % n


MUTANTS = (PointsTooMany, SimilarTooMuch, SimilarWithoutRows, LastTooMany, RowsOnBothSides)


@pytest.fixture(scope="module")
def small():
    """Tables of four tests, and the errors of all trees of depth 3."""
    rng = np.random.default_rng(5)
    tables = [random_rows(rng, 4, n) for n in (6, 14, 30)]
    return [(tally_of(rows), summed(rows, tuple(range(4)), 3)) for rows in tables]


@pytest.mark.parametrize("kind", [WidthSearch, *MUTANTS])
def test_every_bound_is_needed_as_it_is(small, kind):
    assert all(agrees(kind(*table, 3), expected) for table, expected in small) == (kind is WidthSearch)


def test_the_width_bounds_the_chance_of_the_flat_part():
    rng = np.random.default_rng(2)
    for epsilon in (0.1, 1.0, 4.0):
        table = tally_of(random_rows(rng, 4, 60))
        width = width_of(4, 2, epsilon)
        search = WidthSearch(*table, 2)
        flat, inside = inside_mass(search.histogram(search.least() + width), width, epsilon)
        assert flat / (flat + inside.sum()) <= 2**-20


def test_shares_of_large_tables_can_be_distinguished():
    assert list(share_inside("rare", 1e6, 20, 3, 1.0)) == pytest.approx([1, 1])
    # Three tests in parity, depth 3: trees that use them alone, in any order
    assert list(share_inside("parity", 1e6, 20, 3, 1.0)) == pytest.approx([6 / 40, 12 / 760])
