"""What is asked of the rows, against one row at a time, and how far one row more moves it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.scorecard.counts import (
    FEATURE,
    GRID,
    IN_PART,
    STEPS,
    Residuals,
    associations,
    histograms,
    in_features,
    in_steps,
    leads,
    outcomes,
    whole_log_odds,
)
from hedgerow.tables.frames import Table
from tests.learn.tables import ROW, SCHEMA, frame, people

TWO = hr.Schema(SCHEMA.attributes, hr.Label("risk", ("high", "low")))
ROWS = st.lists(ROW, max_size=25)
PATIENT = ROW.filter(lambda row: row["risk"] != "mid")
PATIENTS = st.lists(PATIENT, max_size=25)
SIZES = [attribute.n_bins for _, attribute in SCHEMA.attributes]
CHOSEN = st.lists(st.integers(0, 3), min_size=1, unique=True)
FLOATS = st.floats(-30, 30) | st.sampled_from([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324])


def tally(rows, schema=SCHEMA):
    return hr.Tally.count(frame(rows), "risk", schema)


def by_row(rows, schema=SCHEMA):
    """Yield the bins and the class of each row, each of which is encoded by itself."""
    for row in rows:
        codes = schema.encode(Table.of(frame([row])))
        yield [int(codes[name][0]) for name in schema.names], schema.classes.index(row["risk"])


def values(draw, columns=None, elements=FLOATS, kind=float):
    """Draw log-odds or points by bin of some attributes."""
    result = {}
    for i in draw(CHOSEN):
        shape = (SIZES[i],) if columns is None else (SIZES[i], columns)
        size = int(np.prod(shape))
        result[i] = np.array(draw(st.lists(elements, min_size=size, max_size=size)), dtype=kind).reshape(shape)
    return result


def both(rows, row, query, schema=SCHEMA):
    """Return how a query's answer changes with one row more, as in the gate: without warnings of floating point."""
    with np.errstate(all="ignore"):
        return query(tally([*rows, row], schema)) - query(tally(rows, schema))


@given(ROWS, CHOSEN)
def test_histograms_are_the_rows_one_by_one(rows, chosen):
    expected = {(i, b, c): 0 for i in chosen for b in range(SIZES[i]) for c in range(3)}
    for bins, label in by_row(rows):
        for i in chosen:
            expected[i, bins[i], label] += 1
    assert histograms(tally(rows), chosen).ravel().tolist() == list(expected.values())


@given(ROWS, ROW, CHOSEN)
def test_one_row_more_adds_one_to_one_count_of_each_attribute(rows, row, chosen):
    change = both(rows, row, lambda table: histograms(table, chosen).ravel())
    assert sorted(change.tolist()) == [0] * (len(change) - len(chosen)) + [1] * len(chosen)


SHARES = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(np.array).map(in_steps)


@given(ROWS, SHARES)
def test_associations_are_the_distances_of_bins_from_the_shares(rows, shares):
    encoded = list(by_row(rows))
    for i, result in enumerate(associations(tally(rows), shares)):
        exact = 0
        for b in range(SIZES[i]):
            labels = [label for bins, label in encoded if bins[i] == b]
            exact += sum(abs(STEPS * labels.count(c) - int(shares[c]) * len(labels)) for c in range(3))
        assert result == exact


@given(ROWS, ROW, SHARES)
def test_a_row_changes_an_association_by_at_most_its_sensitivity(rows, row, shares):
    change = both(rows, row, lambda table: associations(table, shares))
    assert np.abs(change).max() <= 2 * (STEPS - shares[SCHEMA.classes.index(row["risk"])]) <= 2 * STEPS


def test_associations_reach_their_sensitivity_and_move_either_way():
    row = {"smoker": True, "sex": "F", "age": 40, "dose": 0.3}
    low, high = {**row, "risk": "low"}, {**row, "risk": "high"}
    for shares, change in (([STEPS, 0, 0], 2 * STEPS), ([512, 512, 0], STEPS)):
        assert both([], low, lambda table, s=shares: associations(table, np.array(s))).tolist() == [change] * 4
    assert both([high], low, lambda table: associations(table, np.array([512, 512, 0]))).tolist() == [-STEPS] * 4


@given(st.lists(st.floats(1e-6, 1), min_size=2, max_size=60) | st.integers(2, 3000).map(np.ones))
@pytest.mark.claim("are not negative and add up to m")
def test_shares_in_steps_are_nonnegative_and_add_up_for_many_classes(shares):
    """Rounded one by one, 400 equal shares add up to 1200 steps: what is too much cannot come off one of them."""
    result = in_steps(np.array(shares))
    assert result.min() >= 0
    assert result.sum() == STEPS
    assert np.abs(result - STEPS * np.array(shares) / np.sum(shares)).max() <= 1 + 1e-9


@given(st.lists(st.floats(1e-6, 1), min_size=3, max_size=2500), st.data())
def test_a_row_of_any_class_is_within_twice_the_steps_of_the_shares(shares, data):
    result = in_steps(np.array(shares))
    label = data.draw(st.integers(0, len(result) - 1))
    row = STEPS * (np.arange(len(result)) == label)
    assert np.abs(row - result).sum() == 2 * (STEPS - result[label]) <= 2 * STEPS


def residuals(table, attribute, base, log_odds):
    """Return what a first question about residuals is answered: of two classes, by log-odds of the second."""
    changes = {i: whole_log_odds(each)[:, None] for i, each in log_odds.items()}
    return Residuals(table, np.array([base])).by_bin(attribute, changes)


def exactly(base, log_odds, bins, label):
    """Return the residual of a row and its variance in exact arithmetic, once its chance is a whole number of steps."""
    odds = base + sum((float(each[bins[i]]) for i, each in log_odds.items()), 0.0)
    p = round(STEPS / (1 + np.exp(-odds)))
    return STEPS * label - p, int(Fraction(p * (STEPS - p), STEPS))


@given(PATIENTS, st.integers(0, 3), st.floats(-6, 6), st.data())
def test_residuals_are_the_rows_one_by_one(rows, attribute, base, data):
    log_odds = values(data.draw, elements=st.floats(-6, 6))
    expected = np.zeros((2, SIZES[attribute]))
    for bins, label in by_row(rows, TWO):
        expected[:, bins[attribute]] += exactly(base, log_odds, bins, label)
    np.testing.assert_allclose(residuals(tally(rows, TWO), attribute, base, log_odds), expected.ravel(), atol=len(rows))


@given(PATIENTS, PATIENT, st.integers(0, 3), FLOATS, st.data())
@pytest.mark.claim("so infinity and NaN cannot occur")
def test_a_row_changes_residuals_by_at_most_their_sensitivity(rows, row, i, base, data):
    log_odds = values(data.draw)
    change = both(rows, row, lambda table: residuals(table, i, base, log_odds), TWO)
    assert np.abs(change).sum() <= STEPS
    assert (change**2).sum() <= STEPS**2
    assert both([], row, lambda table: residuals(table, i, base, log_odds), TWO).tolist() == change.tolist()


def by_feature(table, base, log_odds, features, most, pure):
    z = {i: in_features(each, 1.0) for i, each in features.items()}
    changes = {i: whole_log_odds(each)[:, None] for i, each in log_odds.items()}
    return Residuals(table, np.array([base])).by_feature(z, changes, most, pure=pure)


MOST = st.sampled_from([0, 1, 1000, STEPS * FEATURE**2, 10**7])


@given(PATIENTS, FLOATS, MOST, st.booleans(), st.data())
def test_residuals_by_feature_are_the_rows_one_by_one_in_whole_numbers(rows, base, most, pure, data):
    log_odds, features = values(data.draw), values(data.draw)
    k, expected = len(features), 0
    for row, (bins, label) in zip(rows, by_row(rows, TWO), strict=True):
        with np.errstate(all="ignore"):
            p = STEPS * label - int(residuals(tally([row], TWO), 0, base, log_odds)[bins[0]])
        z = [int(in_features(each, 1.0)[bins[i]]) for i, each in features.items()]
        result = [FEATURE * (STEPS * label - p) * item for item in z]
        result += [p * (STEPS - p) // STEPS * z[i] * z[j] for i in range(k) for j in range(i, k)]
        part = IN_PART
        while part and (
            sum(map(abs, result)) * part > most * IN_PART
            if pure
            else sum(item * item for item in result) * part**2 > (most * IN_PART) ** 2
        ):
            part -= 1
        if not pure and part:  # the root is rounded up by at most one
            size = sum(item * item for item in result) ** 0.5
            part = min(most * IN_PART // (int(size) + 1), IN_PART)
        expected = expected + np.array(result) * part
    with np.errstate(all="ignore"):
        answer = by_feature(tally(rows, TWO), base, log_odds, features, most, pure)
    assert answer.tolist() == (expected if rows else np.zeros(k + k * (k + 1) // 2)).tolist()


@given(PATIENTS, PATIENT, FLOATS, MOST, st.booleans(), st.data())
@pytest.mark.claim("however large its features are")
def test_a_row_changes_residuals_by_feature_by_at_most_the_sensitivity(rows, row, base, most, pure, data):
    log_odds, features = values(data.draw), values(data.draw)
    change = both(rows, row, lambda table: by_feature(table, base, log_odds, features, most, pure), TWO)
    size = np.abs(change).sum() if pure else (change.astype(object) ** 2).sum()
    assert size <= (most * IN_PART if pure else (most * IN_PART) ** 2)
    alone = both([], row, lambda table: by_feature(table, base, log_odds, features, most, pure), TWO)
    assert alone.tolist() == change.tolist()


@pytest.mark.parametrize("pure", [True, False])
def test_residuals_by_feature_come_near_their_sensitivity(pure):
    features = {i: np.full(size, 3.0) for i, size in enumerate(SIZES)}
    (row,) = [{"smoker": True, "sex": "F", "age": 40, "dose": 0.3, "risk": "low"}]
    change = by_feature(tally([row], TWO), 0.0, {0: np.zeros(SIZES[0])}, features, STEPS * FEATURE**2 * 4, pure)
    size = np.abs(change).sum() if pure else (change.astype(float) ** 2).sum() ** 0.5
    assert 0.7 < size / (STEPS * FEATURE**2 * 4 * IN_PART) <= 1


@given(PATIENTS, FLOATS, st.data())
def test_incremental_log_odds_equal_recomputed_log_odds_exactly(rows, base, data):
    table, held = tally(rows, TWO), {i: np.zeros(size) for i, size in enumerate(SIZES)}
    with np.errstate(all="ignore"):
        kept = Residuals(table, np.array([base]))
        for attribute in data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=6)):
            new = values(data.draw)
            changes = {i: (whole_log_odds(each) - whole_log_odds(held[i]))[:, None] for i, each in new.items()}
            held |= new
            expected = residuals(table, attribute, base, held)
            assert kept.by_bin(attribute, changes).tolist() == expected.tolist()


@given(PATIENTS, PATIENT, st.data())
def test_a_row_changes_every_later_answer_by_at_most_its_sensitivity(rows, row, data):
    steps = [(data.draw(st.integers(0, 3)), values(data.draw, 1)) for _ in range(3)]
    with np.errstate(all="ignore"):
        kept = [Residuals(tally(each, TWO), np.zeros(1)) for each in (rows, [*rows, row], [row])]
        for attribute, log_odds in steps:
            changes = {i: whole_log_odds(each) for i, each in log_odds.items()}
            without, with_row, alone = (each.by_bin(attribute, changes) for each in kept)
            assert (with_row - without).tolist() == alone.tolist()
            assert np.abs(alone).sum() <= STEPS


def test_log_odds_in_whole_numbers_are_the_nearest_and_bounded():
    result = whole_log_odds(np.array([0.1, -np.inf, 1e308, np.nan, -3.0]))
    assert result.tolist() == [round(0.1 * GRID), -100 * GRID, 100 * GRID, 0, -3 * GRID]


@pytest.mark.claim("so infinity and NaN cannot occur")
def test_every_chance_there_is_keeps_to_the_sensitivity_of_residuals():
    """All 1,025 chances, each in a bin of its own, and both classes, in whole numbers."""
    chances = np.arange(STEPS + 1)
    number = hr.Integer(0, STEPS, cuts=tuple(range(STEPS)))
    schema = hr.Schema({"chance": number}, hr.Label("y", (0, 1)))
    with np.errstate(all="ignore"):
        odds = np.log(chances / (STEPS - chances))  # those of 0 and of 1 are infinite
    for label in (0, 1):
        table = hr.Tally(schema, chances[:, None], np.tile(np.eye(2, dtype=int)[label], (STEPS + 1, 1)))
        result, variances = residuals(table, 0, 0.0, {0: odds}).reshape(2, -1)
        assert (result == STEPS * label - chances).all()
        assert (variances == chances * (STEPS - chances) // STEPS).all()
        assert (np.abs(result) + variances).max() == STEPS
        assert (result**2 + variances**2).max() == STEPS**2


def test_the_residual_of_a_row_does_not_depend_on_the_number_of_rows():
    """Were a chance computed otherwise in a vector, one row more could move all others by a step."""
    rng = np.random.default_rng(0)
    schema = hr.Schema({"a": hr.Integer(0, 999, cuts=tuple(range(999)))}, hr.Label("y", (0, 1)))
    halves = (np.arange(1000) + 0.5) * STEPS / 1000 // 1 + 0.5  # chances between two steps, where rounding is nearest
    odds = {0: np.log(halves / (STEPS - halves))}
    for n in range(1, 70):
        bins = rng.choice(1000, size=(n, 1), replace=False)
        whole = residuals(hr.Tally(schema, bins, np.eye(2, dtype=int)[rng.integers(0, 2, n)]), 0, 0.0, odds)
        variances = whole.reshape(2, -1)[1]
        alone = [
            residuals(hr.Tally(schema, bin_[None], np.array([[1, 0]])), 0, 0.0, odds).reshape(2, -1)[1] for bin_ in bins
        ]
        assert (variances == np.sum(alone, axis=0)).all()


def residuals_by_class(table, attribute, base, log_odds):
    """Return what a first question about residuals of several classes is answered."""
    changes = {i: whole_log_odds(each) for i, each in log_odds.items()}
    return Residuals(table, np.array(base)).by_bin_and_class(attribute, changes)


def exactly_by_class(base, log_odds, bins, label):
    """Return the residuals of a row, its chances rounded so that their ends are the nearest whole numbers of steps."""
    odds = [start + sum(float(each[bins[i]][c]) for i, each in log_odds.items()) for c, start in enumerate(base)]
    weights = [np.exp(odd - max(odds)) for odd in odds]
    ends = [round(STEPS * sum(weights[:c]) / sum(weights)) for c in range(len(odds) + 1)]
    return [STEPS * (c == label) - (ends[c + 1] - ends[c]) for c in range(len(odds))]


BASES = st.lists(FLOATS, min_size=3, max_size=3)


@given(ROWS, st.integers(0, 3), st.lists(st.floats(-6, 6), min_size=3, max_size=3), st.data())
def test_residuals_by_class_are_the_rows_one_by_one(rows, attribute, base, data):
    log_odds = values(data.draw, 3, st.floats(-6, 6))
    expected = np.zeros((SIZES[attribute], 3))
    for bins, label in by_row(rows):
        expected[bins[attribute]] += exactly_by_class(base, log_odds, bins, label)
    result = residuals_by_class(tally(rows), attribute, base, log_odds)
    np.testing.assert_allclose(result, expected.ravel(), atol=len(rows))
    assert not result.reshape(-1, 3).sum(axis=1).any()


@given(ROWS, ROW, st.integers(0, 3), BASES, st.data())
@pytest.mark.claim("are not negative and add up to m")
def test_a_row_changes_residuals_by_class_by_at_most_their_sensitivity(rows, row, i, base, data):
    log_odds = values(data.draw, 3)
    change = both(rows, row, lambda table: residuals_by_class(table, i, base, log_odds))
    alone = both([], row, lambda table: residuals_by_class(table, i, base, log_odds))
    assert change.tolist() == alone.tolist()
    away = change.max()  # from the chance of the row's class to 1
    assert np.abs(change).sum() == 2 * away <= 2 * STEPS
    assert (change**2).sum() <= 2 * away**2 <= 2 * STEPS**2


@given(ROWS, ROW, st.data())
def test_a_row_adds_its_own_residuals_to_every_later_answer_by_class(rows, row, data):
    steps = [(data.draw(st.integers(0, 3)), values(data.draw, 3)) for _ in range(3)]
    with np.errstate(all="ignore"):
        kept = [Residuals(tally(each), np.zeros(3)) for each in (rows, [*rows, row], [row])]
        for attribute, log_odds in steps:
            changes = {i: whole_log_odds(each) for i, each in log_odds.items()}
            without, with_row, alone = (each.by_bin_and_class(attribute, changes) for each in kept)
            assert (with_row - without).tolist() == alone.tolist()
            assert np.abs(alone).sum() <= 2 * STEPS


def test_residuals_by_class_reach_their_sensitivity():
    row = {"smoker": True, "sex": "F", "age": 40, "dose": 0.3, "risk": "low"}
    sure = {0: np.array([[90, 0, 0]] * SIZES[0])}
    result = residuals_by_class(tally([row]), 0, [0.0] * 3, sure)
    assert sorted(result.tolist()) == [-STEPS, *[0] * (len(result) - 2), STEPS]


@pytest.mark.parametrize("classes", [3, 7, 400])
def test_residuals_of_many_classes_do_not_depend_on_the_number_of_rows(classes):
    """All patterns at once and each alone: chances near the middle of two steps, and up to hundreds of classes."""
    rng = np.random.default_rng(0)
    label = hr.Label("y", tuple(range(classes)))
    schema = hr.Schema({"a": hr.Integer(0, 99, cuts=tuple(range(99)))}, label)
    for n in (1, 2, 3, 7, 8, 33, 100):
        ends = np.sort(rng.integers(0, STEPS, (100, classes - 1)) + 0.5, axis=1)
        shares = np.diff(ends, axis=1, prepend=0, append=STEPS)
        with np.errstate(all="ignore"):
            odds = {0: np.log(shares)}
            bins, held = rng.choice(100, size=(n, 1), replace=False), np.eye(classes, dtype=int)
            labels = rng.integers(0, classes, n)
            result = residuals_by_class(hr.Tally(schema, bins, held[labels]), 0, np.zeros(classes), odds)
            for place, item in zip(bins, labels, strict=True):
                alone = residuals_by_class(hr.Tally(schema, place[None], held[[item]]), 0, np.zeros(classes), odds)
                result -= alone
                assert np.abs(alone).sum() <= 2 * STEPS
        assert not result.any()


EDGES = st.lists(st.integers(-50, 50), min_size=1, max_size=12).map(sorted).map(np.array)
POINTS = st.integers(-20, 20)


@given(PATIENTS, EDGES, st.data())
def test_outcomes_are_the_rows_by_total_and_class(rows, edges, data):
    points = values(data.draw, elements=POINTS, kind=np.int64)
    expected = np.zeros((len(edges) + 1, 2), dtype=int)
    for bins, label in by_row(rows, TWO):
        total = sum(int(each[bins[i]]) for i, each in points.items())
        expected[sum(edge < total for edge in edges), label] += 1
    assert outcomes(tally(rows, TWO), points, edges).tolist() == expected.ravel().tolist()


@given(ROWS, EDGES, st.lists(POINTS, min_size=3, max_size=3), st.data())
def test_leads_are_the_rows_got_wrong_and_right(rows, edges, base, data):
    points = values(data.draw, 3, POINTS, np.int64)
    expected = np.zeros((len(edges) + 1, 2), dtype=int)
    for bins, label in by_row(rows):
        totals = [start + sum(int(each[bins[i]][c]) for i, each in points.items()) for c, start in enumerate(base)]
        first, second = sorted(totals, reverse=True)[:2]
        expected[sum(edge < first - second for edge in edges), int(totals.index(first) == label)] += 1
    assert leads(tally(rows), np.array(base), points, edges).tolist() == expected.ravel().tolist()


@given(ROWS, ROW, EDGES, st.data())
def test_one_row_more_adds_one_to_one_count_of_totals(rows, row, edges, data):
    points = values(data.draw, 3, POINTS | st.sampled_from([-(2**63), 2**63 - 1]), np.int64)
    change = both(rows, row, lambda table: leads(table, np.zeros(3, dtype=np.int64), points, edges))
    assert sorted(change.tolist()) == [0] * (len(change) - 1) + [1]
    if row["risk"] != "mid":
        rows, points = [item for item in rows if item["risk"] != "mid"], {i: each[:, 0] for i, each in points.items()}
        change = both(rows, row, lambda table: outcomes(table, points, edges), TWO)
        assert sorted(change.tolist()) == [0] * (len(change) - 1) + [1]


def test_no_rows_have_as_many_counts_as_one():
    row = {"smoker": True, "sex": "F", "age": 40, "dose": 0.3, "risk": "low"}
    points = {2: np.zeros((4, 2), dtype=np.int64)}
    for query in (
        lambda table: histograms(table, [0, 2]),
        lambda table: associations(table, np.array([STEPS, 0])),
        lambda table: residuals(table, 2, 0.0, {2: np.zeros(4)}),
        lambda table: residuals_by_class(table, 2, [0.0, 0.0], {2: np.zeros((4, 2))}),
        lambda table: outcomes(table, {2: points[2][:, 0]}, np.array([0])),
        lambda table: leads(table, np.zeros(2, dtype=np.int64), points, np.array([0, 1])),
    ):
        none = query(tally([], TWO))
        assert none.shape == query(tally([row], TWO)).shape
        assert not none.any()


@pytest.mark.parametrize("schema", [SCHEMA, TWO], ids=["three classes", "two classes"])
def test_residuals_do_not_use_numpy_or_scipy_exponentials(schema, monkeypatch):
    """NumPy's vectorised and scalar loops need not agree: a row more could change the residuals of others."""
    table = people(50)[lambda rows: rows["risk"].isin(schema.classes)]
    counted = hr.Tally.count(table, "risk", schema)

    def residuals():
        base = np.arange(1.0, 2.0 if schema is TWO else 4.0)
        asked, moved = Residuals(counted, base), {0: whole_log_odds(np.linspace(-1, 1, 2 * len(base)).reshape(2, -1))}
        return (asked.by_bin(0, moved) if schema is TWO else asked.by_bin_and_class(0, moved)).tolist()

    before = residuals()
    for place in ("numpy.exp", "numpy.exp2", "numpy.expm1", "hedgerow.learn.scorecard.counts.expit"):
        monkeypatch.setattr(place, lambda x: np.full(np.shape(x), 0.25), raising=False)
    assert residuals() == before
