"""The choice of attributes: how many by default, its exact chances on tiny tables, and neighbouring tables."""

from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations, product
from math import exp, factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.chosen_attributes import (
    FEWEST_CHOSEN,
    AttributeChoice,
    association_sensitivity,
    default_parts,
    ends,
    least_noise,
    number_chosen,
    widest,
)
from hedgerow.learn.contract import specification_of
from hedgerow.learn.learners import PrivateScorecardClassification, PrivateScorecardRegression
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.scorecard.counts import STEPS, associations
from hedgerow.learn.scorecard.spending import Spending, typical_sizes, variance_of
from hedgerow.privacy import exponential_mechanism
from hedgerow.privacy.charge import total_rho
from hedgerow.privacy.noise import SecureNoise, SeededNoise, TwoSidedPermuteAndFlip
from tests.learn.replay import Recorder, Replayer

CLASSES = hr.Label("y", (0, 1))
PURE = Spending(Fraction(1), Fraction(0))
LEARNERS = {2: PrivateScorecardClassification, 8: PrivateScorecardRegression}


def booleans(n, target=CLASSES):
    return hr.Schema({f"x{i}": hr.Boolean() for i in range(n)}, target)


def tally(rows, n, target=CLASSES):
    """Return a tally of rows, each the bins of its attributes and the place of its level."""
    bins = np.array([places for places, _ in rows], dtype=np.int64).reshape(-1, n)
    levels = np.array([level for _, level in rows], dtype=np.int64)
    return hr.Tally(booleans(n, target), bins, np.eye(target.n_levels, dtype=np.int64)[levels])


# --- how many ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "n", "number"),
    [
        (20_000, 50, 50),
        (20_000, 84, 84),
        (20_000, 85, 12),
        (20_000, 10_000, 12),
        (2000, 50, 6),
        (2000, 40, 40),
        (500, 40, 7),
        (500, 1000, 4),
        (50, 5, 5),
        (50, 10, 4),
        (0, 3, 2),
        (0, 2, 2),
        (10**9, 3000, 3000),
    ],
)
def test_under_rho_the_default_number_grows_with_the_cube_root(rows, n, number):
    """Of Laplace noise, which no histograms share."""
    assert choice(n, rows, budget=hr.Budget(rho=10**9)).number == number
    assert choice(n, 10 * rows, Fraction(1, 10), budget=hr.Budget(rho=10**9)).number == number


def choice(n, rows, epsilon=1, *, target=CLASSES, **parameters):
    """Return what a fit of a table of booleans chooses for a number of rows."""
    return LEARNERS[target.n_levels](epsilon, **parameters).plan(booleans(n, target)).choice(rows)


@pytest.mark.parametrize(
    ("rows", "n", "number"), [(20_000, 170, 170), (20_000, 500, 12), (2000, 50, 50), (500, 40, 40)]
)
def test_where_histograms_share_noise_more_attributes_are_kept(rows, n, number):
    assert choice(n, rows).number == number
    assert choice(n, rows, budget=hr.Budget(rho=10**9)).number < n


def test_of_a_number_fewer_are_kept_where_they_are_many():
    numbers = hr.Number("y", 0, 1, 8)
    rho = hr.Budget(rho=10**9)
    assert [choice(40, 2000, target=target, budget=rho).number for target in (numbers, CLASSES)] == [6, 40]
    assert choice(40, 20_000, target=numbers, budget=rho).number == 40


def test_with_a_delta_more_are_kept_only_if_each_has_no_more_noise():
    """64 attributes of 12 bins, 5,000 rows, epsilon .5: all 64 in place of 6 had .044 less AUROC."""
    assert [choice(n, 20_000, delta=1e-5).number for n in (200, 300, 10_000)] == [12, 12, 12]
    assert [choice(200, 20_000, delta=delta).number for delta in (1e-5, 0.5)] == [12, 200]
    rho = hr.Budget(rho=10**9)
    assert [choice(n, 20_000, delta=1e-5, budget=rho).number for n in (200, 300, 10_000)] == [200, 300, 9]


def test_a_number_that_is_asked_for_is_kept_but_where_rows_are_few():
    assert [choice(100, 20_000, max_attributes=most).number for most in (1, 30, 100, 200)] == [1, 30, 100, 100]
    assert [choice(100, 400, max_attributes=most).number for most in (3, 30, 100)] == [3, 4, 4]
    assert [choice(1000, 2000, max_attributes=most).number for most in (None, 3, 30)] == [6, 3, 6]
    assert {choice(100, 400, max_attributes=most).parts for most in (None, 3, 30)} == {245}


# --- with a δ ------------------------------------------------------------------------------------------------------

SOME_ATTRIBUTES = st.sampled_from([hr.Boolean(), hr.Integer(0, 9), hr.Categorical(tuple("abcdef"))])


@settings(max_examples=60)
@given(
    st.lists(SOME_ATTRIBUTES, min_size=1, max_size=40),
    st.fractions(Fraction(1, 100), 20),
    st.sampled_from([1e-3, 1e-6, 1e-9]),
    st.integers(0, 10**6),
    st.integers(1, 4),
    st.booleans(),
)
def test_for_the_same_epsilon_no_noise_is_larger_with_a_delta(attributes, epsilon, delta, rows, of_unit, refines):
    """By the noise on a count of as many attributes as the fit without a δ uses, and on the scores that they have."""
    unit = hr.Unit("patient", of_unit) if of_unit > 1 else None
    schema = hr.Schema({f"x{i}": attribute for i, attribute in enumerate(attributes)}, CLASSES, unit=unit)
    (pure,) = (plain := PrivateScorecardClassification(epsilon).plan(schema)).ways
    plan = PrivateScorecardClassification(epsilon, delta=delta).plan(schema)
    assert (plan.ways[0], plan.spending) == (pure, plain.spending)
    number, sizes = plain.choice(rows).number, [attribute.n_bins for attribute in attributes]
    best = least_noise(plan.ways, schema, number, refines=refines)
    histograms = Fraction(300) if refines else Fraction(1000)  # parts; the others for residuals, one after the other

    def information(way):
        result = 1 / way.histogram_variance(histograms, typical_sizes(sizes, number))
        return result + (1 / variance_of(way.counts(Fraction(700, number), 1)) if refines else 0)

    assert information(best) >= information(pure)
    if len(plan.ways) == 1:
        assert plan == plain
    chosen = plan.choice(rows)
    if 1 < chosen.number < len(schema) and not chosen.spending.is_pure:
        peeling = chosen.spending.peeling(chosen.parts, chosen.number, 1)
        permuted = 2 * chosen.number / (pure.epsilon * chosen.parts / 1000)
        assert peeling.scale <= permuted / 2


@settings(max_examples=60)
@given(st.integers(2, 2000), st.integers(1, 60), st.fractions(Fraction(1, 100), 20), st.sampled_from([1e-5, 1e-9]))
def test_under_rho_the_scale_of_a_choice_grows_with_the_root_of_its_number(n, number, epsilon, delta):
    plan = PrivateScorecardClassification(epsilon, delta=delta, budget=hr.Budget(rho=100)).plan(booleans(n))
    (way,) = plan.ways
    single = way.counts(Fraction(200), 1, 2 * STEPS).scale
    assert way.peeling(Fraction(200), number, 2 * STEPS).scale == pytest.approx(single * number**0.5, rel=1e-6)


def test_gumbel_noise_of_half_the_scale_of_permute_and_flip_errs_no_more():
    """Of two scores: the chance of the smaller one by both, at every distance in scales of permute-and-flip."""
    for distance in np.linspace(0, 40, 400):
        flipped, gumbel = exp(-distance) / 2, 1 / (1 + exp(2 * distance))
        assert gumbel <= flipped * (1 + 1e-12)


@pytest.mark.parametrize(
    ("schema", "delta"), [(booleans(3), 0), (booleans(40), Fraction(1, 10**5))], ids=["narrow", "wide"]
)
@pytest.mark.claim("A δ is charged only if it can help.")
def test_a_delta_is_charged_only_if_public_numbers_say_that_it_may_help(schema, delta):
    learner = PrivateScorecardClassification(1, delta="0.00001")
    charge = learner.planned_charge(schema)
    assert (charge.epsilon, charge.delta) == (1, delta)
    same = np.zeros((5, len(schema)), dtype=np.int64)
    fitted = hr.PrivateScorecardClassifier(1, delta="0.00001", schema=schema).fit_tally(
        hr.Tally(schema, same, np.eye(2, dtype=int)[[0, 1, 0, 1, 1]])
    )
    assert (fitted.privacy_.epsilon, fitted.privacy_.delta) == (1, delta)
    without = hr.Budget(1)
    if delta:
        with pytest.raises(hr.errors.BudgetExceededError):
            PrivateScorecardClassification(1, delta="0.00001", budget=without).check_budget(schema)
    else:
        PrivateScorecardClassification(1, delta="0.00001", budget=without).check_budget(schema)


def test_a_fit_with_a_delta_that_does_not_help_is_the_fit_without_it():
    """Of a wide table of few rows: the charge has the δ, and the card says that it was not used."""
    rows = rows_of(60, 2, np.random.default_rng(0), 300)
    pure, with_delta = (
        hr.PrivateScorecardClassifier(0.1, delta=delta, random_state=3).fit_tally(tally(rows, 60))
        for delta in (None, "0.00001")
    )
    assert released(with_delta.scorecard_) == released(pure.scorecard_)
    *made, unused = with_delta.privacy_.charges
    assert made == [*pure.privacy_.charges]
    assert (unused.query.code, unused.epsilon, unused.delta) == ("unused", 0, Fraction("0.00001"))
    assert total_rho(with_delta.privacy_.planned) >= total_rho(pure.privacy_.planned)


@pytest.mark.parametrize("epsilon", [1, Fraction(1, 10)])
@pytest.mark.parametrize("n", [8, 100])
def test_a_plan_says_beforehand_how_many_are_chosen(n, epsilon):
    """By chance it fails less than once in 10⁷: numbers change 20 scales of the noisy count of rows away, or more."""
    rng = np.random.default_rng(3)
    rows, schema = 23_000, booleans(n)
    bins, y = rng.integers(0, 2, (rows, n), dtype=np.int8), rng.integers(0, 2, rows)
    forecast = hr.plan(schema, rows, epsilon)
    fitted = hr.PrivateScorecardClassifier(epsilon).fit_tally(hr.Tally(schema, bins, np.eye(2, dtype=int)[y]))
    chosen = sum("choice of attribute" in charge.purpose for charge in fitted.privacy_.charges)
    assert (chosen or n) == forecast.attributes == forecast.to_dict()["attributes"]
    assert (f"A scorecard chooses {chosen} of {n:,} attributes" in str(forecast)) == bool(chosen)


# --- exact chances -------------------------------------------------------------------------------------------------


def flipped(weights):
    """Return the chance of each candidate by permute-and-flip: in each order, the first that is kept."""
    best, orders = max(weights), factorial(len(weights))
    chances = [Fraction(0)] * len(weights)
    for order in permutations(range(len(weights))):
        left = Fraction(1, orders)
        for place in order:
            kept = Fraction(weights[place]) / best
            chances[place] += left * kept
            left *= 1 - kept
    return chances


def chances(scores, number, base):
    """Return the chance of each sequence of choices, with weights ``base**score``."""
    result = {}
    for sequence in permutations(range(len(scores)), number):
        places, chance = list(range(len(scores))), Fraction(1)
        for chosen_place in sequence:
            chance *= flipped([base ** scores[place] for place in places])[places.index(chosen_place)]
            places.remove(chosen_place)
        result[sequence] = chance
    return result


UNIT = STEPS // 4


@pytest.mark.parametrize("shares", [(2, 2), (1, 3)])
@pytest.mark.parametrize("number", [1, 2])
def test_no_choice_is_more_likely_on_a_neighbour_than_declared(shares, number):
    """On tables of up to three rows of three booleans, in fractions; half of what is declared is too little."""
    steps = np.array(shares) * UNIT
    moved = association_sensitivity(steps) // UNIT
    assert moved == 2 * (4 - min(shares))
    base = Fraction(9, 8)  # to the power of a score in units: ε of one choice is twice what a row moves, times its log
    kinds = [(bins, level) for bins in product((0, 1), repeat=3) for level in (0, 1)]
    kinds = [(bins, level) for bins, level in kinds if bins[0] <= bins[1] <= bins[2]]
    seen, worst = {}, Fraction(0)

    def of(rows):
        if rows not in seen:
            scores = (associations(tally(rows, 3), steps) // UNIT).tolist()
            seen[rows] = chances(scores, number, base)
        return seen[rows]

    for n in range(3):
        for rows in combinations_with_replacement(kinds, n):
            for row in kinds:
                before, after = of(rows), of(tuple(sorted([*rows, row])))
                worst = max(worst, *(max(before[key] / after[key], after[key] / before[key]) for key in before))
    assert worst <= base ** (2 * moved * number)
    assert worst > base ** (moved * number)  # the test has power: a factor of 2 forgotten would be seen


class Direct:
    """A gate without a budget: it keeps what it answers."""

    def __init__(self, noise):
        self.noise, self.answers = noise, []

    def release(self, mechanism, answer, *, query, **_):
        assert query.code == "attribute_choice"
        self.answers.append(self.noise.prepare(mechanism)(answer()))
        return self.answers[-1]


def test_choices_have_their_exact_chances():
    """False alarms: below 1 in 10⁷, by Hoeffding's inequality for six sequences; noise 30 % off is seen."""
    rows = [((0, 0, 0), 0)] * 3 + [((1, 1, 1), 1)] * 2 + [((1, 1, 0), 0)] + [((1, 0, 1), 1)]
    steps, draws = np.array([512, 512]), 20_000
    result = dict.fromkeys(permutations(range(3), 2), 0)
    planned, table = AttributeChoice(3, 2, PURE, Fraction(1)), tally(rows, 3)
    scores, moved = associations(table, steps), association_sensitivity(steps)
    asked, epsilon = Direct(SeededNoise(np.random.default_rng(5))), Fraction(4)
    for _ in range(draws):
        asked.answers.clear()
        described = PlannedRelease("attribute_choice", TwoSidedPermuteAndFlip(epsilon / 2, moved), times=2)
        planned.draw(lambda: scores, moved, ReleaseRunner((described,), asked))
        places = [0, 1, 2]
        result[tuple(places.pop(int(place)) for place in asked.answers)] += 1

    def far(scale):
        base = Fraction(exp(float(epsilon) / 2 / (2 * moved) / scale * 256))
        expected = chances((scores // 256).tolist(), 2, base)
        return max(abs(result[key] / draws - float(expected[key])) for key in result)

    assert far(1) < 0.0217
    assert far(0.7) > 0.0217
    assert far(1.3) > 0.0217


# --- neighbouring tables ---------------------------------------------------------------------------------------------

TARGETS = {
    "two classes": (hr.PrivateScorecardClassifier, CLASSES),
    "three classes": (hr.PrivateScorecardClassifier, hr.Label("y", ("a", "b", "c"))),
    "a number": (hr.PrivateScorecardRegressor, hr.Number("y", 0, 1, 8)),
}


def released(card):
    return card.base, card.parts, card.unit, card.error


def check(kind, n, rows, row, epsilon, source):
    """Record on one table and replay on its neighbour, both ways; return the record."""
    estimator, target = TARGETS[kind]
    pairs = [tuple(tally(each, n, target) for each in (rows, [*rows, row]))]
    for table, neighbour in (*pairs, *(pair[::-1] for pair in pairs)):
        recorder = Recorder(source)
        result = estimator(epsilon, schema=table.schema, random_state=recorder).fit_tally(table)
        replayer = Replayer(recorder.trace)
        again = estimator(epsilon, schema=table.schema, random_state=replayer).fit_tally(neighbour)
        assert released(again.scorecard_) == released(result.scorecard_)
        replayer.finish(epsilon)
    return result.privacy_.charges


def rows_of(n, levels, rng, count):
    return [(tuple(rng.integers(0, 2, n).tolist()), int(rng.integers(0, levels))) for _ in range(count)]


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("examples", [3, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.claim("The releases and their shares depend only on released values")
def test_default_choices_do_the_same_on_neighbouring_tables(kind, examples):
    @settings(max_examples=examples)
    @given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.sampled_from([1, 30]), st.booleans())
    def same(seed, count, epsilon, secure):
        rng = np.random.default_rng(seed)
        rows = rows_of(120, TARGETS[kind][1].n_levels, rng, count + 1)
        source = SecureNoise() if secure else SeededNoise(rng)
        charges = check(kind, 120, rows[1:], rows[0], epsilon, source)
        assert any("choice of attribute 2" in charge.purpose for charge in charges)
        assert sum(charge.epsilon for charge in charges) == epsilon

    same()


@pytest.mark.parametrize("kind", TARGETS)
def test_the_replay_detects_an_association_with_a_larger_sensitivity(kind, monkeypatch):
    monkeypatch.setattr(
        "hedgerow.learn.scorecard.fit.association_sensitivity", lambda shares: 2 * (STEPS - int(shares.max()))
    )
    n_levels = TARGETS[kind][1].n_levels
    rows = [((0,) * 120, 0)] * 9 + [((1,) * 120, n_levels - 1)]
    with pytest.raises(AssertionError, match="further than declared"):
        check(kind, 120, rows, rows[-1], 30, SeededNoise(np.random.default_rng(0)))


def test_the_replay_catches_a_number_of_attributes_by_the_rows_themselves(monkeypatch):
    own, counted = AttributeChoice.of.__func__, iter([10**3, 10**6, 10**6, 10**3])

    def of(cls, ways, schema, _, most, **more):
        return own(cls, ways, schema, next(counted), most, **more)

    monkeypatch.setattr(AttributeChoice, "of", classmethod(of))
    rows = rows_of(120, 2, np.random.default_rng(1), 3)
    with pytest.raises(AssertionError, match="mechanism"):
        check("two classes", 120, rows[1:], rows[0], 1, SeededNoise(np.random.default_rng(0)))


def test_few_attributes_that_matter_are_found_among_many():
    """By chance not once in 10⁶: the best of 300 stands out by more than 30 scales of the noise."""
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 2, (4000, 300))
    fitted = hr.PrivateScorecardClassifier(5.0).fit_tally(
        hr.Tally(booleans(300), bins, np.eye(2, dtype=int)[bins[:, 7]])
    )
    assert "x7" in {part.attribute for part in fitted.scorecard_.parts}


def test_all_pairs_of_attributes_of_a_small_schema_may_be_chosen():
    seen = set()
    table, gate = tally(rows_of(3, 2, np.random.default_rng(2), 10), 3), Direct(SeededNoise(np.random.default_rng(0)))
    for _ in range(200):
        ask = lambda: associations(table, np.array([512, 512]))  # noqa: E731
        described = PlannedRelease("attribute_choice", TwoSidedPermuteAndFlip(Fraction(1, 200), STEPS), times=2)
        runner = ReleaseRunner((described,), gate)
        seen.add(tuple(AttributeChoice(3, 2, PURE, Fraction(1)).draw(ask, STEPS, runner)))
    assert seen == set(combinations(range(3), 2))
    assert default_parts(2) < default_parts(10**4) < 500 == default_parts(10**9)


def refused(estimator, X, sizes, unit):
    """Return how many of some epsilons are refused; nothing is charged for these."""
    result = 0
    for size in sizes:
        budget = hr.Budget(1)
        try:
            estimator(size * unit, budget=budget).fit(X, X[:, 0])
        except ValueError:
            assert not budget.spent
            result += 1
    return result


@pytest.mark.filterwarnings("ignore::hedgerow.errors.NoiseWarning")
def test_an_epsilon_too_small_for_a_choice_is_refused_before_the_charge():
    """Residuals of three attributes in eight passes take least, (960 − 50 − 80)·7/240 thousandths each: 41 units
    are too few, 42 are enough."""
    X = np.arange(150).reshape(50, 3) % 7 % 2 == 0
    assert refused(hr.PrivateScorecardClassifier, X, range(38, 46), Fraction(1, 2**40)) == 4


# --- trees and lists of wide tables --------------------------------------------------------------------------------

NUMBER = hr.Number("y", 0, 1, 4)
SEARCHED = {
    "tree": (hr.PrivateTreeClassifier, CLASSES),
    "list": (hr.PrivateRuleListClassifier, CLASSES),
    "tree of three classes": (hr.PrivateTreeClassifier, hr.Label("y", ("a", "b", "c"))),
    "tree of a number": (hr.PrivateTreeRegressor, NUMBER),
}


@pytest.fixture
def quick_searches(monkeypatch):
    monkeypatch.setattr("hedgerow.learn.search.cost.MOST_SECONDS", 0.05)


def chosen(fitted):
    return sum("choice of attribute" in charge.purpose for charge in fitted.privacy_.charges)


@pytest.mark.parametrize(
    ("rows", "others", "epsilon", "number"),
    [(1000, 399, 1, 0), (1000, 400, 1, 5), (10_000, 4000, 0.1, 5), (20_000, 500, 1, 12), (10**9, 10**8, 1, 12)],
)
def test_trees_and_lists_choose_a_few_or_none(rows, others, epsilon, number):
    assert number_chosen(rows, others, epsilon) == number


@pytest.mark.parametrize("kind", SEARCHED)
@pytest.mark.parametrize("examples", [1, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("quick_searches")
@pytest.mark.claim("The releases and their shares depend only on released values")
def test_trees_and_lists_of_wide_tables_do_the_same_on_neighbouring_tables(kind, examples):
    estimator, target = SEARCHED[kind]
    numbers = {1: set(), 200: set()}

    @settings(max_examples=examples)
    @given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.sampled_from([1, 200]), st.booleans())
    @example(0, 12, 1, True)
    @example(0, 12, 200, False)  # of which some are chosen
    def same(seed, count, epsilon, secure):
        rng = np.random.default_rng(seed)
        rows = rows_of(40, target.n_levels, rng, count + 1)
        tables = tally(rows[1:], 40, target), tally(rows, 40, target)
        for table, neighbour in (tables, tables[::-1]):
            source = SecureNoise() if secure else SeededNoise(rng)
            recorder = Recorder(source)
            result = estimator(epsilon, schema=table.schema, random_state=recorder).fit_tally(table)
            replayer = Replayer(recorder.trace)
            again = estimator(epsilon, schema=table.schema, random_state=replayer).fit_tally(neighbour)
            assert again._model.paths == result._model.paths
            replayer.finish(epsilon)
            assert sum(charge.epsilon for charge in result.privacy_.charges) == epsilon
            numbers[epsilon].add(chosen(result))

    same()
    assert numbers[1] == {0}
    assert 0 < max(numbers[200]) <= 12


@pytest.mark.parametrize("kind", SEARCHED)
@pytest.mark.usefixtures("quick_searches")
def test_the_replay_detects_larger_associations_before_a_tree_or_list(kind, monkeypatch):
    monkeypatch.setattr(
        "hedgerow.learn.chosen_attributes.association_sensitivity", lambda shares: 2 * (STEPS - int(shares.max()))
    )
    estimator, target = SEARCHED[kind]
    rows = [((0,) * 40, 0)] * 30 + [((1,) * 40, target.n_levels - 1)]
    recorder = Recorder(SeededNoise(np.random.default_rng(0)))
    estimator(600, schema=booleans(40, target), random_state=recorder).fit_tally(tally(rows, 40, target))
    with pytest.raises(AssertionError, match="further than declared"):
        estimator(600, schema=booleans(40, target), random_state=Replayer(recorder.trace)).fit_tally(
            tally(rows[:-1], 40, target)
        )


@pytest.mark.parametrize("counts", [False, "auto"])
def test_the_rho_of_a_wide_table_covers_rounding_after_any_choice(counts):
    """12 attributes are searched in two blocks here, and 3 in one, whose prior rises with all of ε."""
    numbers = {f"z{i}": hr.Integer(0, 9, tuple(range(1, 8))) for i in range(12)}
    schema = hr.Schema(numbers | dict(booleans(28).attributes), CLASSES)

    def learners(epsilon):
        tree = hr.PrivateTreeClassifier(epsilon, max_depth=5, release_counts=counts, schema=schema)
        plan = specification_of(tree).plan(schema)
        left = plan._left(FEWEST_CHOSEN)
        result = [plan.learner(some, left) for some in (widest(schema), next(ends(schema)))]
        return result[1]._draw_epsilon / epsilon, result

    epsilon, weight = Fraction(10), 9
    for _ in range(3):  # until ε just fails to give this weight to the draw from 3 attributes
        share, (most, few) = learners(epsilon)
        rounding = few.block(0).rounding
        each = 4 * exponential_mechanism.UNIT * (rounding.depth + 1)
        kept = each * (
            (5 * rounding.depth + 1) * weight * exponential_mechanism.MOST_ROWS + rounding.leaves * rounding.constant
        )
        epsilon = (weight + kept - Fraction(1, 10**13)) / share
    assert [len(learner.blocks) for learner in (most, few)] == [2, 1]
    assert weight * (1 - Fraction(1, 2**18)) < few.mechanism.weight < weight
    assert few.rho <= most.max_rho(5)


@pytest.mark.parametrize("kind", SEARCHED)
@pytest.mark.usefixtures("quick_searches")
def test_one_attribute_that_matters_is_found_and_the_model_says_so(kind):
    """By chance not once in 10⁶: it stands out by more than 60 scales of the noise.

    11 are chosen of 3,082 to 4,048 rows: the noisy counts of two or three classes are 60 scales away from either end.
    """
    estimator, target = SEARCHED[kind]
    bins = np.random.default_rng(0).integers(0, 2, (3500, 100))
    levels = np.eye(target.n_levels, dtype=int)[bins[:, 7] * (target.n_levels - 1)]
    fitted = estimator(4, schema=booleans(100, target)).fit_tally(hr.Tally(booleans(100, target), bins, levels))
    assert chosen(fitted) == 11
    total = "number of rows, and sum of the predicted number" if target is NUMBER else "rows of each class"
    assert fitted.privacy_.charges[0].purpose == total
    assert sum(charge.epsilon for charge in fitted.privacy_.charges) == 4
    assert any("at most 12 of 100 attributes are chosen first" in note.words for note in fitted.privacy_.notes)
    frame = pd.DataFrame(bins.astype(bool), columns=[f"x{i}" for i in range(100)])
    said = fitted.predict(frame)
    assert all(len(set(said[bins[:, 7] == value])) == 1 for value in (0, 1))
    assert said[bins[:, 7] == 0][0] != said[bins[:, 7] == 1][0]


@pytest.mark.parametrize(
    "given", [{"search": "exact", "max_depth": 2}, {"lookahead": 1, "max_depth": 2}, {"max_depth": 1}]
)
def test_no_attributes_are_chosen_if_all_can_or_must_be_searched(given):
    schema = booleans(60)
    table = hr.Tally(schema, np.zeros((1, 60), dtype=np.int8), np.array([[2000, 3000]]))
    assert not chosen(hr.PrivateTreeClassifier(1, **given).fit_tally(table))


def test_the_search_cost_is_that_of_the_slowest_number_of_attributes():
    """Fewer than the most are searched more deeply: of nine booleans lists of four rules, of twelve of three."""
    clf = hr.PrivateRuleListClassifier(1, max_literals=2)
    fewer = [clf.search_cost(booleans(number)) for number in range(FEWEST_CHOSEN, 13)]
    told = clf.search_cost(booleans(40))
    assert told == max(fewer, key=lambda cost: cost.seconds())
    assert told.seconds() > 2 * fewer[-1].seconds()
    assert not any(0 < number_chosen(rows, 400, 1) < FEWEST_CHOSEN for rows in range(400, 1000))


@pytest.mark.parametrize("cuts", [(2, 5), tuple(range(1, 81))])
@pytest.mark.parametrize("clf", [hr.PrivateTreeClassifier(1), hr.PrivateRuleListClassifier(1, max_literals=2)])
def test_the_search_cost_is_at_least_three_quarters_of_any_mixed_choice(clf, cuts):
    def mixed(few, many):
        numbers = {f"n{i}": hr.Integer(0, 99, cuts=cuts) for i in range(many)}
        return hr.Schema(dict(booleans(few).attributes if few else ()) | numbers, CLASSES)

    sizes = [(few, many) for few in range(13) for many in range(0, 13 - few, 3) if few + many >= FEWEST_CHOSEN]
    costs = [cost for size in sizes if (cost := clf.search_cost(mixed(*size))) is not None]
    assert clf.search_cost(mixed(40, 12)).seconds() >= 0.75 * max(cost.seconds() for cost in costs)


@pytest.mark.usefixtures("quick_searches")
@pytest.mark.filterwarnings("ignore::hedgerow.errors.NoiseWarning")
def test_an_epsilon_too_small_for_a_tree_is_refused_before_the_charge():
    """A choice of 12 for 210 thousandths is refused first: it has the smallest share by sensitivity."""
    X = np.arange(4000).reshape(100, 40) % 7 % 2 == 0
    assert 0 < refused(hr.PrivateTreeClassifier, X, range(6, 22, 2), Fraction(1, 2**38)) < 8
