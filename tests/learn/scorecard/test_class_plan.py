"""What is released one after the other, for which shares of the budget, on every way through a fit."""

from contextlib import suppress
from fractions import Fraction
from itertools import groupby

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import ArgumentError
from hedgerow.learn.scorecard import class_plan
from hedgerow.learn.scorecard.class_plan import ClassFit, ClassPlan
from hedgerow.learn.scorecard.counts import FEATURE, IN_PART, STEPS, in_steps
from hedgerow.learn.scorecard.exact import Regression
from hedgerow.learn.scorecard.smoothing import EACH, Evidence, Part
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.charge import total_rho
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, SecureNoise, SeededNoise, TwoSidedPermuteAndFlip
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.zcdp import largest_rho
from tests.learn.replay import Recorder
from tests.learn.scorecard.watch import watch_rows

CLASSES = {2: hr.Label("y", (0, 1)), 3: hr.Label("y", ("a", "b", "c"))}
NAMES = [f"x{i}" for i in range(40)]
TOTALS, RESIDUALS, CLASS_RESIDUALS = "class_totals", "bin_residuals", "class_residuals"
HISTOGRAMS, BY_TOTAL, BY_LEAD = "histograms", "calibration", "calibration by lead"
WEIGHED, CHOICE = "attribute_residuals", "attribute_choice"
# rows, classes, epsilon, max_attributes; the kinds of release, and how many there are of each
WAYS = {
    "eight passes": (6000, 2, 20, None, [(TOTALS, 1), (HISTOGRAMS, 1), (WEIGHED, 1), (RESIDUALS, 32)]),
    "four passes": (6000, 2, 10, None, [(TOTALS, 1), (HISTOGRAMS, 1), (WEIGHED, 1), (RESIDUALS, 16)]),
    "very many rows": (8000, 2, 2, None, [(TOTALS, 1), (HISTOGRAMS, 1), (WEIGHED, 1), (RESIDUALS, 8), (BY_TOTAL, 1)]),
    "many rows": (6000, 2, 1, None, [(TOTALS, 1), (HISTOGRAMS, 1), (RESIDUALS, 4), (BY_TOTAL, 1)]),
    "enough to calibrate": (800, 2, 1, None, [(TOTALS, 1), (HISTOGRAMS, 1), (BY_TOTAL, 1)]),
    "few rows": (150, 2, 1, None, [(TOTALS, 1), (CHOICE, 4), (HISTOGRAMS, 1)]),
    "few attributes, many rows": (
        2500,
        2,
        2,
        2,
        [(TOTALS, 1), (CHOICE, 2), (HISTOGRAMS, 1), (WEIGHED, 1), (RESIDUALS, 2), (BY_TOTAL, 1)],
    ),
    "few attributes": (800, 2, 1, 1, [(TOTALS, 1), (CHOICE, 1), (HISTOGRAMS, 1), (BY_TOTAL, 1)]),
    "three classes": (6000, 3, 1, None, [(TOTALS, 1), (HISTOGRAMS, 1), (CLASS_RESIDUALS, 4), (BY_LEAD, 1)]),
    "three classes, enough to calibrate": (800, 3, 1, None, [(TOTALS, 1), (HISTOGRAMS, 1), (BY_LEAD, 1)]),
    "three classes, few rows": (150, 3, 1, None, [(TOTALS, 1), (CHOICE, 4), (HISTOGRAMS, 1)]),
    "three classes, few attributes": (
        6000,
        3,
        1,
        2,
        [(TOTALS, 1), (CHOICE, 2), (HISTOGRAMS, 1), (CLASS_RESIDUALS, 4), (BY_LEAD, 1)],
    ),
    "no rows": (0, 2, 1, None, [(TOTALS, 1), (CHOICE, 2), (HISTOGRAMS, 1)]),
}


def table(n, classes, seed=0):
    """Return a tally of booleans, the first of which decides the class most: four, or forty of few rows."""
    rng, names = np.random.default_rng(seed), "abcd" if n > 500 else NAMES
    schema = hr.Schema({name: hr.Boolean() for name in names}, CLASSES[classes])
    bins = rng.integers(0, 2, (n, len(names)))
    labels = np.where(rng.random(n) < 0.8, bins[:, 0], rng.integers(0, classes, n))
    return hr.Tally(schema, bins, np.eye(classes, dtype=int)[labels])


def fit(way, **parameters):
    n, classes, epsilon, most, _ = WAYS[way]
    given_ = {"epsilon": epsilon, "max_attributes": most, "random_state": 7, **parameters}
    return hr.PrivateScorecardClassifier(**given_).fit_tally(table(n, classes))


def kinds(charges):
    """Return the kinds of release in order, with the number of consecutive releases of each kind."""
    queries = [charge.query for charge in charges]
    codes = [f"{query.code} by lead" if query.get("by") == "lead" else query.code for query in queries]
    return [(code, len(list(same))) for code, same in groupby(codes)]


@pytest.mark.parametrize("way", WAYS)
def test_each_way_asks_for_what_it_should(way):
    assert kinds(fit(way).privacy_.charges) == WAYS[way][-1]


@pytest.mark.parametrize("way", WAYS)
@given(epsilon=st.fractions(Fraction(1, 1000), 100), seed=st.integers(0, 2**31))
@pytest.mark.claim("that add up to ε exactly on every path through a fit")
def test_charges_add_up_to_epsilon_exactly_whatever_is_released(way, epsilon, seed):
    budget = hr.Budget(epsilon)
    charges = fit(way, epsilon=epsilon, random_state=seed, budget=budget).privacy_.charges
    assert sum(charge.epsilon for charge in charges) == epsilon == budget.spent
    assert all(charge.epsilon > 0 and charge.delta == 0 for charge in charges)
    assert "reserved, not used" not in [charge.purpose for charge in charges]


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=settings().max_examples // 3)
@given(epsilon=st.fractions(Fraction(1, 1000), 100), seed=st.integers(0, 2**31))
@pytest.mark.claim("that add up to ε exactly on every path through a fit")
def test_shares_of_a_gaussian_budget_add_up_on_every_path(way, epsilon, seed):
    recorder, delta = Recorder(SeededNoise(np.random.default_rng(seed))), Fraction(1, 10**6)
    budget = hr.Budget(epsilon, delta, accounting="zcdp")
    clf = fit(way, epsilon=epsilon, delta=delta, random_state=recorder, budget=budget)
    mechanisms = [mechanism for mechanism, _, _ in recorder.trace]
    assert {type(mechanism) for mechanism in mechanisms} <= {GaussianCounts, GumbelPeeling}
    assert sum(mechanism.parts for mechanism in mechanisms) == 1000
    assert [mechanism.number for mechanism in mechanisms] == [1] + [2] * (len(mechanisms) - 1)
    assert {(m.total, m.total_delta, m.answers) for m in mechanisms} == {(epsilon, delta, 1000)}
    assert (clf.privacy_.epsilon, clf.privacy_.delta) == (epsilon, delta)
    assert budget.spent_rho == largest_rho(epsilon, delta)


def test_where_rho_is_added_up_the_card_has_one_charge():
    budget = hr.Budget(1, 1e-6, accounting="zcdp")
    (charge,) = fit("many rows", delta="0.000001", random_state=None, budget=budget).privacy_.charges
    assert (charge.query.code, charge.query["series"]) == ("class_totals", True)
    assert (charge.epsilon, charge.delta) == (1, Fraction(1, 10**6))
    assert (charge.mechanism.code, charge.mechanism["parts"]) == ("discrete_gaussian", 40)


def wide(rows, d=40, unit=None):
    schema = hr.Schema({f"x{i}": hr.Integer(0, 9) for i in range(d)}, CLASSES[2], unit=unit)
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 10, (rows, d))
    return hr.Tally(schema, bins, np.eye(2, dtype=int)[(bins[:, 0] > 4).astype(int)])


@pytest.mark.parametrize("most", [None, 30])
@pytest.mark.parametrize("rows", [600, 30_000])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=2)
def test_with_a_delta_the_first_count_and_a_series_for_the_rest_add_up(rows, most, seed):
    delta = Fraction(1, 10**5)
    recorder, budget = Recorder(SeededNoise(np.random.default_rng(seed))), hr.Budget(2, delta)
    clf = hr.PrivateScorecardClassifier(2, delta=delta, max_attributes=most, random_state=recorder, budget=budget)
    charges = clf.fit_tally(wide(rows)).privacy_.charges
    totals, *series = [mechanism for mechanism, _, _ in recorder.trace]
    assert isinstance(totals, DiscreteLaplace)
    assert totals.epsilon == Fraction(2, 25)
    assert {(m.total, m.total_delta, m.answers, m.adds_up_rho) for m in series} == {
        (Fraction(48, 25), delta, 960, False)
    }
    assert [m.number for m in series] == [1] + [2] * (len(series) - 1)
    assert sum(m.information for m in series) == series[0].mu ** 2
    assert isinstance(series[0], GumbelPeeling) == (most is not None)
    charged = [charge for charge in charges if charge.epsilon]
    assert [(charge.epsilon, charge.delta) for charge in charged] == [(Fraction(2, 25), 0), (Fraction(48, 25), delta)]
    assert charged[1].query.code == ("attribute_choices" if most else "histograms")
    assert charged[1].query["series"]
    assert (budget.spent, budget.remaining_delta) == (2, 0)


@pytest.mark.parametrize("rows", [0, 60, 6000])
def test_a_series_for_a_unit_of_several_rows_costs_no_more_than_planned(rows):
    learner = hr.PrivateScorecardClassifier(2, delta="0.00001")
    table = wide(rows, unit=hr.Unit("patient", 3))
    planned, card = learner.planned_charge(table.schema), learner.fit_tally(table).privacy_
    assert (card.epsilon, card.delta) == (planned.epsilon, planned.delta) == (2, Fraction(1, 10**5))
    assert total_rho(card.charges) <= total_rho(card.planned) == planned.zcdp


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.claim("The releases and their shares depend only on released values")
def test_rows_are_looked_at_in_queries_only_and_after_the_charge(way, delta, monkeypatch):
    budget = hr.Budget(1000, Fraction(1, 10))
    inside = watch_rows(monkeypatch, budget, "bins_and_counts", "total")
    fit(way, delta=delta, budget=budget)
    assert len(inside) >= 4


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_with_much_budget_the_attributes_that_tell_most_are_chosen(k, classes, delta):
    tally = table(2000, classes)
    clf = hr.PrivateScorecardClassifier(1e6, max_attributes=k, delta=delta).fit_tally(tally)
    bins, counts = tally.bins_and_counts()
    overall = counts.sum(axis=0) / counts.sum()
    scores = {
        name: sum(np.abs(counts[bins[:, i] == b].sum(axis=0) - overall * (bins[:, i] == b).sum()).sum() for b in (0, 1))
        for i, name in enumerate("abcd")
    }
    best = sorted(scores, key=lambda name: -scores[name])[:k]
    assert {part.attribute for part in clf.scorecard_.parts} <= set(best)
    assert clf.scorecard_.parts[0].attribute == "a"


def test_a_choice_declares_what_a_row_can_move_it():
    recorder = Recorder(SecureNoise())
    fit("few attributes, many rows", random_state=recorder)
    choices = [mechanism for mechanism, _, _ in recorder.trace if isinstance(mechanism, TwoSidedPermuteAndFlip)]
    counts = np.maximum(recorder.trace[0][2], 1)
    rarest = in_steps(counts / counts.sum()).min()
    assert choices == [TwoSidedPermuteAndFlip(Fraction(2) * 105 / 1000 / 2, 2 * (STEPS - int(rarest)))] * 2
    assert [len(values) for mechanism, values, _ in recorder.trace if mechanism in choices] == [4, 3]


@pytest.mark.parametrize(("way", "changes"), [("many rows", 1), ("three classes", 2)])
def test_residuals_declare_what_a_row_can_move_them(way, changes):
    pure, gaussian = Recorder(SecureNoise()), Recorder(SecureNoise())
    fit(way, random_state=pure)
    fit(way, epsilon=10, random_state=gaussian, delta=1e-6, budget=hr.Budget(10, 1e-6, accounting="zcdp"))
    assert [mechanism.sensitivity for mechanism, _, _ in pure.trace[2:6]] == [changes * STEPS] * 4
    asked_first = 3 if changes == 1 else 2  # of two classes, with a delta, after the weights
    result = [mechanism.changes for mechanism, _, _ in gaussian.trace[asked_first : asked_first + 4]]
    assert result == [changes * STEPS**2] * 4


def test_weights_declare_what_a_row_can_move_them():
    pure, gaussian = Recorder(SecureNoise()), Recorder(SecureNoise())
    fit("very many rows", random_state=pure)
    fit("very many rows", random_state=gaussian, delta=1e-6, budget=hr.Budget(2, 1e-6, accounting="zcdp"))
    (laplace, _, _), (normal, _, _) = pure.trace[2], gaussian.trace[2]
    most = {k: int(0.45 * k * STEPS * FEATURE**2) * IN_PART for k in (4, 2)}
    assert (laplace.sensitivity, laplace.each, laplace.epsilon) == (most[4], None, Fraction(2) * 50 / 1000)
    assert (normal.changes, normal.parts) == (most[2] ** 2, 50)  # the root of four


@pytest.mark.parametrize("rows", [2**30, 2**40])
def test_weights_are_asked_for_where_their_sums_fit_in_64_bits(rows):
    schema = hr.Schema({name: hr.Boolean() for name in "ab"}, CLASSES[2])
    bins = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    counts = np.array([[3, 1], [1, 1], [1, 2], [1, 3]]) * (rows // 13)
    card = hr.PrivateScorecardClassifier(1, random_state=0).fit_tally(hr.Tally(schema, bins, counts)).privacy_
    assert any(charge.query.code == WEIGHED for charge in card.charges) == (rows < class_plan.MOST_ROWS_TO_WEIGH)
    assert sum(charge.epsilon for charge in card.charges) == 1
    most = STEPS // 4 * IN_PART * (8 * FEATURE) ** 2, FEATURE * STEPS * IN_PART * 8 * FEATURE
    assert 2 * max(most) * class_plan.MOST_ROWS_TO_WEIGH < 2**63


def test_a_scorecard_with_a_single_attribute_releases_no_residuals():
    assert (RESIDUALS, 1) not in kinds(fit("few attributes", epsilon=100).privacy_.charges)


def test_eight_passes_estimate_log_odds_of_highly_correlated_attributes():
    """Each alone would seem to be worth about three times as much, since it stands for the others."""
    rng = np.random.default_rng(0)
    schema = hr.Schema({name: hr.Boolean() for name in "abcd"}, CLASSES[2])
    cause = rng.integers(0, 2, 20_000)
    copies = [np.where(rng.random(20_000) < 0.1, 1 - cause, cause) for _ in "abcd"]
    labels = (rng.random(20_000) < 1 / (1 + np.exp(3 - 1.5 * sum(copies)))).astype(int)
    tally = hr.Tally(schema, np.column_stack(copies), np.eye(2, dtype=int)[labels])
    card = hr.PrivateScorecardClassifier(1000, points=1000, random_state=0).fit_tally(tally).scorecard_
    result = [float(part.points[1][0] - part.points[0][0]) * card.unit for part in card.parts]
    np.testing.assert_allclose(result, 1.5, atol=0.15)


KINDS = hr.Schema({name: hr.Categorical(tuple("12345")) for name in "abc"}, CLASSES[2])


@pytest.mark.parametrize(
    ("size", "alone", "unit"),
    [
        (0.8, 0.8, 0.4),  # of a prior's standard deviation of 2
        (0.8, 1.6, 0.4 * np.sqrt(2)),  # half as large together as alone: half as many are determined
        (0.1, 0.1, 0.15),
        (9.0, 9.0, 1.0),
    ],
)
def test_the_prior_unit_follows_from_log_odds_and_effective_parameters(size, alone, unit):
    signs = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    rows, information = np.full(5, 1e9), np.full(5, 1e12)  # of so many rows, all log-odds are
    parts = [
        Part(
            place,
            size * signs[:, None],
            [np.eye(5)],
            rows,
            evidence=[Evidence(size * signs, information)],
            alone=[Evidence(alone * signs, information)],
        )
        for place in range(3)
    ]
    tally = hr.Tally(KINDS, np.zeros((0, 3), dtype=int), np.zeros((0, 2), dtype=int))
    fitting = ClassFit(ClassPlan(schema=KINDS, epsilon=Fraction(1), monotone={}), tally, runner=None)
    assert fitting._unit_of(parts, np.zeros(1)) == pytest.approx(unit, rel=1e-3)


def test_passes_of_residuals_take_the_prior_of_this_unit(monkeypatch):
    """Of few rows for each of many categories, a narrow prior leaves little."""

    def spread(unit):
        monkeypatch.setattr(ClassFit, "_unit_of", lambda *_: unit)
        rng = np.random.default_rng(0)
        bins, labels = rng.integers(0, 5, (400, 3)), rng.integers(0, 2, 400)
        tally = hr.Tally(KINDS, bins, np.eye(2, dtype=int)[labels])
        card = hr.PrivateScorecardClassifier(1000, points=1000, random_state=0).fit_tally(tally).scorecard_
        return card.unit * sum(np.abs(part.points).sum() for part in card.parts)

    assert spread(0.02) < 0.5 * spread(1.0)


@pytest.mark.parametrize(
    ("way", "expected"), [("enough to calibrate", 2 / 3), ("many rows", 2 / 3), ("very many rows", 1)]
)
def test_calibration_expects_a_factor_of_1_after_two_passes(way, expected, monkeypatch):
    result, calibrated = [], class_plan.calibrated
    monkeypatch.setattr(
        class_plan, "calibrated", lambda *given, **more: result.append(more["expected"]) or calibrated(*given, **more)
    )
    fit(way)
    assert result == [expected]


def of_three_classes(n, schema, spread, first=0.0, seed=0):
    """Rows of three classes, log-odds of whose bins are drawn with this standard deviation; the first has more."""
    rng = np.random.default_rng(seed)
    sizes = [attribute.n_known for _, attribute in schema.attributes]
    bins = np.column_stack([rng.integers(0, size, n) for size in sizes])
    log_odds = sum(rng.normal(0, spread, (size, 3))[column] for size, column in zip(sizes, bins.T, strict=True))
    labels = (log_odds + np.array([first, 0, 0]) + rng.gumbel(size=(n, 3))).argmax(axis=1)
    return hr.Tally(schema, bins, np.eye(3, dtype=int)[labels])


def test_passes_without_noise_reach_the_penalised_optimum_of_three_classes(monkeypatch):
    """The prior counts as much for a class that nearly all rows of a bin have as for others."""
    monkeypatch.setattr(class_plan, "_UNITS", (0.15, 0.15))
    schema = hr.Schema({name: hr.Categorical(tuple("012345")) for name in "abc"}, CLASSES[3])
    tally = of_three_classes(200, schema, 1.0, first=2.5)
    card = hr.PrivateScorecardClassifier(1e6, points=1000, random_state=0).fit_tally(tally).scorecard_
    fitted = Regression(schema, *tally.bins_and_counts()).fit(range(3), 0.15**2)
    result = centred([np.array(part.points[:6]) * card.unit for part in card.parts])
    expected = centred([fitted.values[place][:6] for place in range(3)])
    assert np.linalg.norm(result - expected) < 0.1 * np.linalg.norm(expected)


def centred(parts):
    """Log-odds by bin and class, 0 on average over either."""
    values = np.array(parts)
    values = values - values.mean(axis=1, keepdims=True)
    return values - values.mean(axis=2, keepdims=True)


def test_the_width_of_known_log_odds_of_three_classes_is_theirs(monkeypatch):
    """They add up to 0 over the classes, so that only two thirds of them are determined by the rows."""
    units, unit_of = [], class_plan.ClassFit._unit_of

    def of_known(fit, parts, base):
        rng = np.random.default_rng(0)
        for part in parts:
            values = rng.normal(0, 0.5 * EACH, (len(part.values), 3))
            part.values = values - values.mean(axis=1, keepdims=True)
            part.evidence = part.alone = [Evidence(column, np.full(len(column), 1e12)) for column in part.values.T]
            part.released = np.full(len(part.values), 1e6)
        units.append(unit_of(fit, parts, base))
        return units[-1]

    monkeypatch.setattr(class_plan.ClassFit, "_unit_of", of_known)
    schema = hr.Schema({name: hr.Categorical(tuple(map(str, range(200)))) for name in "ab"}, CLASSES[3])
    hr.PrivateScorecardClassifier(1000, random_state=0).fit_tally(of_three_classes(3000, schema, 0.1))
    assert units == [pytest.approx(0.5, rel=0.05)]


def test_three_identical_attributes_weigh_less_than_an_independent_one(monkeypatch):
    monkeypatch.setattr(class_plan, "PASSES", {np.inf: 1})
    rng = np.random.default_rng(0)
    schema = hr.Schema({name: hr.Boolean() for name in "abcd"}, CLASSES[2])
    first, other = rng.integers(0, 2, (2, 20_000))
    labels = (rng.random(20_000) < 1 / (1 + np.exp(2 - 2 * first - 2 * other))).astype(int)
    tally = hr.Tally(schema, np.column_stack([first, first, first, other]), np.eye(2, dtype=int)[labels])
    card = hr.PrivateScorecardClassifier(1000, points=100).fit_tally(tally).scorecard_
    worth = {part.attribute: part.points[1][0] - part.points[0][0] for part in card.parts}
    assert worth["d"] > 1.5 * max(worth["a"], worth["b"], worth["c"])


@pytest.mark.filterwarnings("ignore::hedgerow.errors.NoiseWarning")
@given(st.floats(1e-13, 1e-10), st.integers(1, 40), st.sampled_from([0, 100, 10**9]), st.sampled_from([2, 3]))
@example(7e-11, 1, 0, 2)
def test_an_epsilon_is_too_small_before_the_charge_or_not_at_all(epsilon, n_attributes, n, classes):
    schema = hr.Schema({f"x{i}": hr.Boolean() for i in range(n_attributes)}, CLASSES[classes])
    counts = np.zeros((1, classes), dtype=int)
    counts[0, 0] = n
    tally, budget = hr.Tally(schema, np.zeros((1, n_attributes), dtype=int), counts), hr.Budget(1)
    clf = hr.PrivateScorecardClassifier(epsilon, budget=budget, max_attributes=max(n_attributes // 2, 1))
    with suppress(ArgumentError):
        clf.fit_tally(tally)
    assert budget.spent == (exact(epsilon, "epsilon") if hasattr(clf, "scorecard_") else 0)
