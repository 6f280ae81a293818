from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import Leaves, Overfit, overfit
from hedgerow.errors import DomainError
from hedgerow.schema import Integer, Label, Schema, Unit
from tests.learn.tables import SCHEMA, people

COUNTS = st.integers(0, 6)


@st.composite
def tables(draw):
    """Return counts by leaf and class of train and of test, with rows of every class in both."""
    leaves, classes = draw(st.integers(1, 4)), draw(st.integers(2, 3))
    bins = st.lists(st.lists(COUNTS, min_size=classes, max_size=classes), min_size=leaves, max_size=leaves)
    both = st.tuples(bins, bins).filter(lambda sets: all(all(map(sum, zip(*s, strict=True))) for s in sets))
    train, test = draw(both)
    return tuple(map(tuple, train)), tuple(map(tuple, test))


def result(train, test, **options):
    return Overfit(tuple(range(len(train[0]))), tuple(f"leaf {i}" for i in range(len(train))), train, test, **options)


def rows_of(counts):
    """Return a table of one column that holds the leaf, and the labels, with these counts."""
    pairs = [(i, k) for i, row in enumerate(counts) for k, n in enumerate(row) for _ in range(n)]
    return np.array(pairs)[:, :1], np.array(pairs)[:, 1]


def tau_row_by_row(leaves, y, test_leaves, test_y, name, *, of_all_rows=False):
    """The definition, one probability after the other."""

    def probability(leaf, at, labels):
        whole = len(labels) if of_all_rows else sum(label == name for label in labels)
        return Fraction(sum(a == leaf and label == name for a, label in zip(at, labels, strict=True)), whole)

    everywhere = {*leaves, *test_leaves}
    return sum(abs(probability(r, leaves, y) - probability(r, test_leaves, test_y)) for r in everywhere) / 2


@given(tables(), st.booleans())
def test_tau_and_v_are_the_formulas(counts, of_all_rows):
    (X, y), (X_test, y_test) = map(rows_of, counts)
    outcome = overfit(lambda rows: rows[:, 0], (X, y), (X_test, y_test), as_released_code=of_all_rows)
    at, at_test = X[:, 0].tolist(), X_test[:, 0].tolist()
    taus = {k: tau_row_by_row(at, y, at_test, y_test, k, of_all_rows=of_all_rows) for k in range(len(counts[0][0]))}
    assert dict(outcome.tau) == {k: float(tau) for k, tau in taus.items()}
    every = Counter([*y.tolist(), *y_test.tolist()])
    v = Fraction(1, 2) + sum(Fraction(every[k], every.total()) * tau for k, tau in taus.items()) / 2
    assert outcome.vulnerability == float(v)
    assert 0.5 <= outcome.vulnerability <= 1


@given(tables())
def test_v_is_the_success_of_the_best_of_all_guesses(counts):
    train, test = (np.array(table) for table in counts)
    every = train.sum(axis=0) + test.sum(axis=0)
    weights = [set_ / set_.sum(axis=0) * every / every.sum() / 2 for set_ in (train, test)]
    best = sum(max(pair) for pair in zip(*(weight.ravel() for weight in weights), strict=True))
    assert result(*counts).vulnerability == pytest.approx(best)
    if train.size <= 6:  # every guess, not only the one that takes the likelier in each bin
        guesses = product((0, 1), repeat=train.size)
        right = [sum(weights[g].ravel()[i] for i, g in enumerate(guess)) for guess in guesses]
        assert max(right) == pytest.approx(best)


@given(tables())
def test_v_does_not_grow_when_two_leaves_are_one(counts):
    train, test = (np.array(table) for table in counts)
    merged = [np.vstack([table[:-2], table[-2:].sum(axis=0)]) for table in (train, test)]
    assert (
        result(*(tuple(map(tuple, table)) for table in merged)).vulnerability <= result(*counts).vulnerability + 1e-12
    )


def test_v_of_equal_shares_and_of_disjoint_leaves():
    same = result(((1, 2), (3, 4)), ((10, 20), (30, 40)))
    assert same.vulnerability == 0.5
    assert same.tau == {0: 0.0, 1: 0.0}
    assert result(((5, 5), (0, 0)), ((0, 0), (3, 1))).vulnerability == 1.0


def test_v_by_hand():
    # tau(0) = |1/10 - 2/10| = 1/10, tau(1) = |6/10 - 2/5| = 1/5; P[0] = 20/35, P[1] = 15/35
    outcome = result(((1, 6), (9, 4)), ((2, 2), (8, 3)))
    assert outcome.tau == {0: 0.1, 1: 0.2}
    assert outcome.class_shares == {0: 20 / 35, 1: 15 / 35}
    assert outcome.vulnerability == pytest.approx(0.5 + (20 / 35 * 0.1 + 15 / 35 * 0.2) / 2)
    # as released: of 20 and of 15 rows: (|1/20 - 2/15| + |9/20 - 8/15|) / 2, (|6/20 - 2/15| + |4/20 - 3/15|) / 2
    released = result(((1, 6), (9, 4)), ((2, 2), (8, 3)), as_released_code=True)
    assert released.tau == pytest.approx({0: 1 / 12, 1: 1 / 12})
    assert released.vulnerability == pytest.approx(0.5 + 1 / 24)


def by_sharing_out(counts, *, of_all_rows):
    """Return the mean of V over all ways to share out the rows that leave the sizes (by class) as they are."""
    bins = [(i, k) for table in counts for i, row in enumerate(table) for k, n in enumerate(row) for _ in range(n)]
    shape, size, outcome = np.shape(counts[0]), int(np.sum(counts[0])), []
    sizes, every = (np.sum(table, axis=0) for table in (counts[0], np.add(*counts)))
    for chosen in combinations(range(len(bins)), size):
        train, test = np.zeros(shape, int), np.zeros(shape, int)
        for row, bin in enumerate(bins):
            (train if row in chosen else test)[bin] += 1
        if of_all_rows or (train.sum(axis=0) == sizes).all():
            wholes = (train.sum(), test.sum()) if of_all_rows else (train.sum(axis=0), test.sum(axis=0))
            tau = np.abs(train / wholes[0] - test / wholes[1]).sum(axis=0) / 2
            outcome.append(0.5 + (every / every.sum() * tau).sum() / 2)
    return np.mean(outcome)


@pytest.mark.parametrize("of_all_rows", [False, True])
@pytest.mark.parametrize(
    "counts", [(((1, 2), (3, 1)), ((2, 1), (1, 2))), (((2, 0), (0, 1), (1, 1)), ((0, 2), (2, 1), (0, 1)))]
)
def test_v_by_chance_is_the_mean_over_all_ways_to_share_out_the_rows(counts, of_all_rows):
    outcome = result(*counts, as_released_code=of_all_rows)
    assert outcome.vulnerability_by_chance == pytest.approx(by_sharing_out(counts, of_all_rows=of_all_rows))


def test_v_of_random_splits_has_the_mean_by_chance():
    rng = np.random.default_rng(0)
    leaf, y = rng.integers(5, size=600), rng.integers(2, size=600)
    outcome = []
    for _ in range(400):
        order = rng.permutation(600)
        parts = [(leaf[part][:, None], y[part]) for part in (order[:400], order[400:])]
        outcome.append(overfit(lambda X: X[:, 0], *parts))
    v, chance = (np.array([getattr(x, name) for x in outcome]) for name in ("vulnerability", "vulnerability_by_chance"))
    assert abs((v - chance).mean()) < 4 * v.std() / 20  # false alarm: 1 in 16,000


@pytest.fixture(scope="module")
def fitted():
    train, test = people(400, seed=0), people(200, seed=1)
    return hr.GreedyRuleListClassifier(schema=SCHEMA).fit(train, train["risk"]), train, test


def test_an_estimator_its_model_and_a_function_agree(fitted):
    clf, train, test = fitted
    pairs = (train, train["risk"]), (test, test["risk"])
    outcome = overfit(clf, *pairs)
    assert outcome == overfit(clf.rule_list_, *pairs)
    assert outcome.classes == ("high", "low", "mid")
    assert outcome.leaves == tuple(f"{i}. {text}" for i, text in enumerate(clf.rule_list_.conditions, 1))
    assert [row for row in outcome.train if any(row)] == [
        rule.counts for rule in clf.rule_list_.rules if any(rule.counts)
    ]
    assert overfit(clf.rule_list_.apply, *pairs).vulnerability == outcome.vulnerability
    assert isinstance(clf.rule_list_, Leaves)


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_trees_frames_and_text_labels(frame, fitted):
    _, train, test = fitted
    clf = hr.OptimalTreeClassifier(max_depth=2, schema=SCHEMA).fit(train, train["risk"])
    columns = [frame(table.astype(object).where(table.notna(), None).to_dict("list")) for table in (train, test)]
    outcome = overfit(clf, *((table, table["risk"]) for table in columns))
    assert np.sum(outcome.train) == 400
    assert [row["class"] for row in outcome.table][:3] == ["high", "low", "mid"]


def test_scikit_learns_trees_have_leaves():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:150], y[:150])
    outcome = overfit(tree, (X[:150], y[:150]), (X[150:], y[150:]))
    assert outcome.vulnerability > 0.7  # learned by heart
    assert len(outcome.leaves) <= tree.get_n_leaves()


def test_a_class_of_the_schema_without_rows_is_left_out(fitted):
    clf, train, test = fitted
    parts = [table[table["risk"] != "mid"] for table in (train, test)]
    assert overfit(clf, *((part, part["risk"]) for part in parts)).classes == ("high", "low")


def test_the_text_explains_its_numbers_and_is_marked_private(fitted):
    clf, train, test = fitted
    pairs = (train, train["risk"]), (test, test["risk"])
    text, released = str(overfit(clf, *pairs)), str(overfit(clf, *pairs, as_released_code=True))
    assert "Random guessing: 50.0 %" in text
    assert "tau(high) = " in text
    assert "eyes only" in text
    assert "SSRL's released code" in released
    assert "at best" not in released


TWO = np.array([[0], [1]])


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"train": (TWO, [0, 1, 0])}, ValueError, "labels"),
        ({"train": (TWO, [1, 1]), "test": (TWO, [1, 1])}, ValueError, "classes"),
        ({"test": (TWO, [1, 1])}, ValueError, "test"),
        ({"train": (TWO, [0.5, 1.5])}, ValueError, "classif"),
        ({"test": (TWO, [0, None])}, DomainError, "missing"),
        ({"train": [TWO, [0], [1]]}, TypeError, "train"),
        ({"train": (pd.DataFrame({"a": [0, 1]}), "a")}, TypeError, "y"),
        ({"model": object()}, TypeError, "apply"),
        ({"model": hr.GreedyRuleListClassifier()}, TypeError, "is not fitted"),
        ({"model": DecisionTreeClassifier}, TypeError, "apply"),
        ({"model": lambda X: np.zeros((len(X), 2))}, ValueError, "leaf"),
    ],
)
def test_invalid_input_raises_a_single_error(change, error, match):
    given_ = {"model": lambda X: np.asarray(X)[:, 0], "train": (TWO, [0, 1]), "test": (TWO, [0, 1])}
    with pytest.raises(error, match=match):
        overfit(*(given_ | change).values())


def test_labels_that_the_model_does_not_know(fitted):
    clf, train, test = fitted
    with pytest.raises(DomainError, match="high, low, mid"):
        overfit(clf, (train, train["risk"]), (test, test["risk"].replace("low", "none")))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(DomainError, match=r"\(0, 1\)"):
        overfit(tree, (X, y), (X, y + 1))
    with pytest.raises(DomainError, match=r"\(0, 1\)"):
        overfit(RandomForestClassifier(3).fit(X, y), (X, y), (X, y + 1))


def test_classes_may_be_whole_numbers_as_floats():
    outcome = overfit(lambda X: np.asarray(X)[:, 0], (TWO, [0.0, 1.0]), (TWO, [0.0, 1.0]))
    assert outcome.classes == (0.0, 1.0)


@pytest.mark.parametrize("counts", [((1, 1),), ((1, 1), (0,)), ((1, 0), (1, 0))])
def test_counts_of_the_wrong_shape_raise(counts):
    with pytest.raises(ValueError, match="train and test must"):
        Overfit(("a", "b"), ("x", "y"), counts, ((1, 1), (1, 1)))


UNITS = Schema({"leaf": Integer(0, 9, cuts=())}, Label("y", (0, 1)), unit=Unit("person", 6))


def rows_by_unit(rng, units, *, equal=True, tilt=0.0):
    """Return rows of units of 1 to 6 rows, in leaves from 0 to 3: all in one leaf and of one class, or not."""
    sizes = rng.integers(1, 7, units)
    y, leaf = (rng.random(units) < 0.4).astype(int), rng.integers(0, 4, units)
    leaf[rng.random(units) < tilt] = 0
    frame = pd.DataFrame({"leaf": leaf, "person": np.arange(units)}).loc[np.repeat(np.arange(units), sizes)]
    if not equal:
        frame["leaf"] = np.where(rng.random(len(frame)) < 0.5, frame["leaf"], rng.integers(0, 4, len(frame)))
    return frame.reset_index(drop=True), np.repeat(y, sizes)


def leaf_of(X):
    return X["leaf"].to_numpy()


def without_person(pair):
    return pair[0].drop(columns="person"), pair[1]


@pytest.mark.parametrize(
    "draws", [60, pytest.param(200, marks=pytest.mark.statistics), pytest.param(600, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("has_column", [True, False])
def test_units_are_permuted_as_wholes(draws, has_column):
    """At most 5 % false alarms with the schema's unit (to within 10^-4); by rows there are several times more."""
    rng, alarms = np.random.default_rng(2), np.zeros(2)
    for _ in range(draws):
        train, test = (rows_by_unit(rng, units) for units in (90, 60))
        if not has_column:
            train, test = without_person(train), without_person(test)
        alarms += [overfit(leaf_of, train, test, schema=schema).p_value <= 0.05 for schema in (UNITS, None)]
    assert alarms[0] <= binom.ppf(1 - 1e-4, draws, 0.05)
    assert alarms[1] > 0.3 * draws


def test_units_that_differ_are_found_to():
    rng = np.random.default_rng(0)
    train, test = rows_by_unit(rng, 300, tilt=0.4), rows_by_unit(rng, 300)
    assert overfit(leaf_of, train, test, schema=UNITS).p_value == 0.001
    assert overfit(leaf_of, without_person(train), without_person(test), schema=UNITS).p_value < 0.05


def every_partition(train, test):
    """Return V of all partitions of the units that have as many training units by the commonest class, one by one."""
    units = [
        [(leaf, k) for leaf, k, own in zip(X["leaf"], y, X["person"], strict=True) if own == person]
        for X, y in (train, test)
        for person in X["person"].unique()
    ]
    n_train = train[0]["person"].nunique()
    of = [max((0, 1), key=lambda k, unit=unit: sum(k == own for _, own in unit)) for unit in units]
    outcome = []
    for chosen in combinations(range(len(units)), n_train):
        if sum(of[i] for i in chosen) != sum(of[:n_train]):
            continue
        sides = [
            [row for i, unit in enumerate(units) if (i in chosen) == side for row in unit] for side in (True, False)
        ]
        if any(len({k for _, k in side}) < 2 for side in sides):
            outcome.append(1.0)
            continue
        (X, y), (X_test, y_test) = (zip(*side, strict=True) for side in sides)
        every = Counter([*y, *y_test])
        taus = {k: tau_row_by_row(X, y, X_test, y_test, k) for k in every}
        outcome.append(float(Fraction(1, 2) + sum(Fraction(every[k], every.total()) * taus[k] for k in every) / 2))
    return np.array(outcome)


@pytest.mark.parametrize("seed", range(4))
def test_the_p_value_by_units_equals_enumeration(seed):
    """999 draws are off by less than .06 (4 standard deviations at most)."""
    rng = np.random.default_rng(seed)
    train, test = rows_by_unit(rng, 5, equal=False), rows_by_unit(rng, 4, equal=False)
    for X, y in (train, test):
        y[:] = rng.integers(0, 2, len(y))
        y[:2] = 0, 1
        X["leaf"] %= 2
    outcome = overfit(leaf_of, train, test, schema=UNITS)
    every = every_partition(train, test)
    assert outcome.p_value == pytest.approx(np.mean(every >= outcome.vulnerability - 1e-9), abs=0.06)
    assert outcome.vulnerability_by_chance == pytest.approx(every.mean(), abs=0.03)


def test_units_of_one_row_are_rows():
    rng = np.random.default_rng(0)
    train, test = (
        (X.drop_duplicates("person"), y[~X["person"].duplicated()])
        for X, y in (rows_by_unit(rng, 80), rows_by_unit(rng, 50))
    )
    assert overfit(leaf_of, train, test, schema=UNITS) == overfit(leaf_of, train, test)
    assert hr.audit.Overfit((0, 1), ("a",), ((5, 5),), ((4, 4),)).units == ()


@pytest.mark.parametrize(
    "draws", [100, pytest.param(300, marks=pytest.mark.statistics), pytest.param(1000, marks=pytest.mark.slow)]
)
def test_the_upper_bound_holds_for_units(draws):
    """V of new units is .575 here; the bound is below it in at most 5 % (a false alarm of 10^-4)."""
    rng = np.random.default_rng(5)
    below = 0
    for _ in range(draws):
        train, test = rows_by_unit(rng, 150, tilt=0.2), rows_by_unit(rng, 100)
        below += overfit(leaf_of, train, test, schema=UNITS).upper_bound() < 0.5 + 0.2 * 0.75 / 2
    assert below <= binom.ppf(1 - 1e-4, draws, 0.05)


def test_the_rows_that_would_exclude_a_limit_do():
    """The rows that are asked for suffice in about half of the draws, and a quarter of them never does."""
    rng = np.random.default_rng(0)

    def draw(rows):
        return tuple(map(tuple, rng.multinomial(rows, np.full(8, 1 / 8)).reshape(4, 2).tolist()))

    asked = np.median([result(draw(1500), draw(100)).test_rows_needed(0.55) for _ in range(40)])
    for rows, least, most in ((int(1.3 * asked), 0.6, 1), (int(asked / 4), 0, 0.2)):
        share = np.mean([result(draw(1500), draw(rows)).upper_bound() <= 0.55 for _ in range(60)])
        assert least <= share <= most
    assert result(draw(60), draw(60)).test_rows_needed(0.55) is None
    with pytest.raises(ValueError, match="limit"):
        result(draw(60), draw(60)).test_rows_needed(0.5)
