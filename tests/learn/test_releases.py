"""The description of a fit's releases: what a fit makes, what it costs at most, and that it makes no other."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, cycle, islice, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import StateError
from hedgerow.learn import plans
from hedgerow.learn.blocks import ListDrawPlan, TreeDrawPlan
from hedgerow.learn.chosen_attributes import ChosenAttributesPlan
from hedgerow.learn.plans import GreedyListPlan, GreedyTreePlan
from hedgerow.learn.releases import Branch, Nested, PlannedRelease, ReleaseRunner, Repeated, extremes, max_rho, rho_of
from hedgerow.learn.scorecard.class_plan import ClassPlan
from hedgerow.learn.scorecard.number_plan import NumberPlan
from hedgerow.learn.ssrl.greedy import PUBLISHED, PublishedListPlan
from hedgerow.privacy.charge import total_rho
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import (
    DiscreteLaplace,
    GaussianCounts,
    GumbelChoice,
    PermuteAndFlip,
    SeededNoise,
    TwoSidedPermuteAndFlip,
)
from hedgerow.privacy.shared_histograms import SharedHistograms
from tests.learn.learners import LEARNERS, PATIENT, TWO, given_to
from tests.learn.replay import Recorder
from tests.learn.tables import ROW, SCHEMA, frame

pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.errors.UselessModelWarning")
NUMBER = hr.Schema(SCHEMA.attributes, hr.Number("risk", 0, 10, levels=8))
WIDE = {f"x{i}": hr.Boolean() for i in range(40)}


def source(seed=0):
    return Recorder(SeededNoise(np.random.default_rng(seed)))


def laplace(epsilon, sensitivity=1):
    return DiscreteLaplace(Fraction(epsilon), sensitivity)


# --- every run is a way through the description --------------------------------------------------------------------


class Watched(ReleaseRunner):
    """A runner that keeps what was described, and what was made."""

    def __init__(self, releases, gate):
        super().__init__(releases, gate)
        self.described, self.made = releases, []

    def release(self, answer, query, mechanism=None, **more):
        used = self.mechanism(query.code) if mechanism is None else mechanism
        self.made.append((query.code, used))
        return super().release(answer, query, mechanism, **more)


def within(made, release):
    kind, mechanism = made
    own = release.mechanism
    return (
        (kind, type(mechanism), mechanism.delta) == (release.kind, type(own), own.delta)
        and mechanism.sensitivity <= own.sensitivity
        and (mechanism.epsilon == own.epsilon or (release.takes_rest and mechanism.epsilon > own.epsilon))
        and (rho_of(mechanism) <= rho_of(own) or release.takes_rest)
    )


def is_way(releases, made):
    """Return whether a run is one of all ways through a description. Reference: tries them all."""
    if not releases:
        return not made
    node, *rest = releases
    if isinstance(node, PlannedRelease):
        now, later = made[: node.times], made[node.times :]
        return len(now) == node.times and all(within(decision, node) for decision in now) and is_way(rest, later)
    if isinstance(node, Repeated):
        most = len(node.releases) * node.times
        return any(is_way([*islice(cycle(node.releases), number), *rest], made) for number in range(most + 1))
    if isinstance(node, Branch):
        return any(is_way([*node.releases(decision), *rest], made) for decision in node.decisions)
    costs_no_more = (sum(rho_of(mechanism) for _, mechanism in made[:n]) <= node.rho for n in range(len(made) + 1))
    return any(fits and is_way(rest, made[n:]) for n, fits in enumerate(costs_no_more))


def check_run(monkeypatch, estimator, fit, recorder):
    """Fit, and check that the run was described, that it made no other release, and costs no more than is charged."""
    runs = []
    monkeypatch.setattr(plans, "ReleaseRunner", lambda *given: runs.append(Watched(*given)) or runs[-1])
    card = fit().privacy_
    (run,) = runs
    assert [mechanism for mechanism, _, _ in recorder.trace] == [mechanism for _, mechanism in run.made]
    assert is_way(list(run.described), run.made)
    planned = estimator.planned_charge(estimator.schema)
    # Each release is rounded up by itself: at an epsilon of 1000, where ρ is ε, that is seen in the last digits.
    assert planned.delta or total_rho(card.charges) <= planned.zcdp * (1 + Fraction(1, 2**50))
    assert planned.rho is None or max_rho(run.described) == planned.rho


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("examples", [3, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.claim("and a fit makes only these releases")
def test_every_run_is_a_way_through_the_description(examples, name):
    estimator, choices = LEARNERS[name]
    schema, rows_of = (TWO, PATIENT) if name.endswith("of two classes") else (SCHEMA, ROW)
    parameters = st.fixed_dictionaries({key: st.sampled_from(values) for key, values in choices.items()})

    @settings(max_examples=examples)
    @given(st.lists(rows_of, max_size=30), parameters, st.sampled_from([None, 10**9]), st.integers(0, 2**32))
    def described(rows, parameters, rho, seed):
        recorder, table = source(seed), frame(rows)
        budget = rho and hr.Budget(rho=rho)
        given = {**given_to(estimator), "schema": schema, "random_state": recorder, "budget": budget, **parameters}
        learner = type(estimator)(**given)
        with pytest.MonkeyPatch.context() as patch:
            check_run(patch, learner, lambda: learner.fit(table, table["risk"]), recorder)

    described()


@pytest.mark.parametrize("mechanism", PUBLISHED)
@pytest.mark.parametrize("rows", [0, 40, 4000])
def test_every_run_of_a_mechanism_follows_the_planned_releases(monkeypatch, mechanism, rows):
    rng = np.random.default_rng(rows)
    X, delta = rng.random((rows, 3)) < 0.5, 1e-9 if PUBLISHED[mechanism].spends_delta else None
    schema, recorder = hr.Schema(dict.fromkeys("abc", hr.Boolean()), hr.Label("y", (False, True))), source(rows)
    given = {"schema": schema, "mechanism": mechanism, "delta": delta, "max_rules": 4, "random_state": recorder}
    learner = hr.DPGreedyRLClassifier(4.0, **given)
    check_run(monkeypatch, learner, lambda: learner.fit(X, X[:, 0]), recorder)


@pytest.mark.parametrize("rows", [0, 60, 3000, 60_000])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_every_run_of_a_regression_scorecard_follows_the_planned_releases(monkeypatch, rows, delta):
    rng, recorder = np.random.default_rng(rows), source(rows)
    schema = hr.Schema({name: hr.Boolean() for name in "abcdefgh"}, NUMBER.target)
    bins = rng.integers(0, 2, (rows, 8))
    learner = hr.PrivateScorecardRegressor(2, schema=schema, delta=delta, random_state=recorder)
    counts = np.eye(8, dtype=int)[bins.sum(axis=1) // 2]
    check_run(monkeypatch, learner, lambda: learner.fit_tally(hr.Tally(schema, bins, counts)), recorder)


@pytest.mark.parametrize("kind", [hr.PrivateRuleListClassifier, hr.PrivateTreeClassifier, hr.PrivateTreeRegressor])
@pytest.mark.parametrize("rows", [60, 4000])
@pytest.mark.parametrize("size", [None, 30])
def test_every_run_on_chosen_attributes_is_a_way_through_the_description(monkeypatch, kind, rows, size):
    """Many, or all of them; and with a size that only a greedy search reaches."""
    monkeypatch.setattr("hedgerow.learn.search.cost.MOST_SECONDS", 0.05)
    label = NUMBER.target if kind is hr.PrivateTreeRegressor else hr.Label("y", (0, 1))
    rng, recorder = np.random.default_rng(rows), source(rows)
    bins = rng.integers(0, 2, (rows, 40))
    table = hr.Tally(hr.Schema(WIDE, label), bins, np.eye(label.n_levels, dtype=int)[bins[:, 3] * (label.n_levels - 1)])
    sizes = {} if size is None else {"max_rules" if kind is hr.PrivateRuleListClassifier else "max_depth": min(size, 8)}
    learner = kind(1, schema=table.schema, random_state=recorder, **sizes)
    check_run(monkeypatch, learner, lambda: learner.fit_tally(table), recorder)
    assert len(recorder.trace) > 2 or rows < 400


# --- rho is that of the worst way ----------------------------------------------------------------------------------


def costs(releases):
    """Yield the rho of every way through a description. Reference: tries all decisions, and all ways to stop."""
    if not releases:
        yield Fraction(0)
        return
    node, *rest = releases
    if isinstance(node, Branch):
        for decision in node.decisions:
            yield from costs([*node.releases(decision), *rest])
    elif isinstance(node, Repeated):
        for number in range(len(node.releases) * node.times + 1):
            yield from costs([*islice(cycle(node.releases), number), *rest])
    else:
        own = node.rho if isinstance(node, Nested) else node.times * rho_of(node.mechanism)
        yield from (own + more for more in costs(rest))


@st.composite
def scorecard_plans(draw):
    target = draw(st.sampled_from([*(hr.Label("y", range(n)) for n in (2, 3)), NUMBER.target]))
    kinds = st.sampled_from([hr.Boolean(), hr.Categorical(tuple("abcde")), hr.Integer(0, 99, cuts=range(1, 80))])
    schema = hr.Schema({f"x{i}": item for i, item in enumerate(draw(st.lists(kinds, min_size=1, max_size=20)))}, target)
    return (ClassPlan if target.as_number is None else NumberPlan)(
        schema=schema,
        epsilon=draw(st.fractions(Fraction(1, 1000), 20)),
        delta=draw(st.sampled_from([Fraction(0), Fraction(0), Fraction(1, 10**6)])),
        most=draw(st.none() | st.integers(1, 25)),
        adds_up_rho=draw(st.booleans()),
        monotone={},
    )


def weighed(delta):
    """Return a plan for more attributes than can be weighed: of 64 each takes less than of 67."""
    schema = hr.Schema({f"x{i}": hr.Boolean() for i in range(68)}, hr.Label("y", range(2)))
    return ClassPlan(schema=schema, epsilon=Fraction(1), delta=delta, monotone={})


@settings(max_examples=25)
@given(scorecard_plans())
@example(weighed(Fraction(0)))
@pytest.mark.claim("is charged the largest ρ of all ways through the description of its releases")
def test_the_rho_of_a_scorecard_is_the_largest_of_all_paths(plan):
    assert plan.rho == max(costs(plan.releases))


def releases_of_chosen(plan, number):
    """Yield the described histograms of this number of chosen attributes, each with what any choice may lead to."""
    sizes = [attribute.n_bins for _, attribute in plan.schema.attributes]
    for decision in product((False, True), repeat=3) if isinstance(plan, ClassPlan) else range(4):
        (way,) = plan.ways
        (_, last) = plan._releases_with((number, way))
        (nested,) = [node for node in last.releases(decision) if isinstance(node, Nested)]
        for some in combinations(sizes, number):
            yield nested, plan.histograms(way, plan.histogram_parts(number, decision), some)


@pytest.mark.parametrize("target", [hr.Label("y", (0, 1)), hr.Label("y", (0, 1, 2)), NUMBER.target])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 20, 1000])
@pytest.mark.claim("is charged the largest ρ of all ways through the description of its releases")
def test_histograms_of_any_chosen_attributes_cost_at_most_the_plan(target, epsilon):
    kinds = [hr.Boolean()] * 3 + [hr.Categorical(tuple("abcde"))] * 2 + [hr.Integer(0, 99, cuts=range(1, 80))] * 2
    schema = hr.Schema({f"x{i}": kind for i, kind in enumerate(kinds)}, target)
    kind = ClassPlan if target.as_number is None else NumberPlan
    plan = kind(schema=schema, epsilon=Fraction(epsilon), monotone={})
    for number in range(2, 7):
        for nested, made in releases_of_chosen(plan, number):
            assert max_rho(made) <= nested.rho
            checked = [extreme.mechanism.epsilon for extreme in nested.extremes]
            assert min(checked) == min(min(extreme.mechanism.epsilon for extreme in made), *checked)
            assert {extreme.kind for extreme in (*made, *nested.example)} == {"histograms"}


@pytest.mark.parametrize("target", [hr.Label("y", (0, 1)), hr.Label("y", (0, 1, 2)), NUMBER.target])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_no_way_of_a_scorecard_with_delta_takes_more_than_all_parts(target, n):
    """All answers are charged with the first, so that no budget would refuse a later one.

    Either all answers are of one series, or all but the first release.
    """

    def most(releases):
        return sum(
            max(most(node.releases(decision)) for decision in node.decisions)
            if isinstance(node, Branch)
            else node.times * node.mechanism.parts
            for node in releases
        )

    schema = hr.Schema({f"x{i}": hr.Boolean() for i in range(n)}, target)
    kind = ClassPlan if target.as_number is None else NumberPlan
    plan = kind(schema=schema, epsilon=Fraction(1), delta=Fraction(1, 10**6), monotone={}, adds_up_rho=True)
    assert most(plan.releases) == 1000
    (_, series) = (either := replace(plan, adds_up_rho=False)).ways
    assert most((either._rest([series]),)) == series.of == 960


@settings(max_examples=25)
@given(scorecard_plans())
@example(weighed(Fraction(0)))
@example(weighed(Fraction(1, 10**6)))
def test_what_is_checked_beforehand_has_the_least_epsilon_of_all_ways(plan):
    def of_all(releases):
        for node in releases:
            if isinstance(node, Branch):
                for item in node.decisions:
                    yield from of_all(node.releases(item))
            elif isinstance(node, Nested):
                yield from of_all(node.example)
            else:
                yield node.mechanism

    checked, everything = [item.mechanism for item in extremes(plan.releases)], list(of_all(plan.releases))

    def kind_of(mechanism):  # shared noise and Laplace noise are refused below the same ε
        return DiscreteLaplace if isinstance(mechanism, SharedHistograms) else type(mechanism)

    for kind in {kind_of(mechanism) for mechanism in everything}:
        least = [min(item.epsilon for item in some if kind_of(item) is kind) for some in (checked, everything)]
        assert least[0] == least[1]
        if kind is GaussianCounts:
            scales = [max(item.scale for item in some if kind_of(item) is kind) for some in (checked, everything)]
            assert scales[0] == scales[1]


def test_a_repetition_costs_its_sum_and_a_nested_plan_its_bound():
    choice, counts = (
        PlannedRelease("rule_choice", GumbelChoice(Fraction(1, 4), 1)),
        PlannedRelease("leaf_counts", laplace(1)),
    )
    described = Repeated((choice, counts), 3), Nested(Fraction(5), (counts,)), replace(counts, times=2)
    assert max_rho(described) == max(costs(described))
    assert max_rho(described) == 3 * rho_of(choice.mechanism) + 5 * rho_of(laplace(1)) + 5


# --- nothing else can be released ----------------------------------------------------------------------------------

QUERIES = {
    query.code: query
    for query in (
        Fact("rule_choice", number=1),
        Fact("level_choice", number=1),
        Fact("rules_draw", most=1, values="labels"),
        Fact("tree_draw", depth=1, values="labels"),
        Fact("leaf_counts", of="leaves"),
        Fact("class_totals"),
        Fact("histograms", of="classes", attributes=1),
        Fact("bin_residuals", attribute="a"),
        Fact("calibration", by="total"),
    )
}

COUNTS, CHOICE = (
    PlannedRelease("leaf_counts", laplace(1, 4)),
    PlannedRelease("rule_choice", PermuteAndFlip(Fraction(1), 4)),
)


def runner_of(*releases, epsilon=100):
    recorder = source()
    return ReleaseRunner(releases, Gate(hr.Budget(epsilon), recorder)), recorder.trace


def spent(trace):
    return [mechanism.epsilon for mechanism, _, _ in trace]


def answer(runner, release, **more):
    shape = (1, 3) if isinstance(release.mechanism, SharedHistograms) else 3
    return runner.release(lambda: np.zeros(shape, dtype=np.int64), QUERIES[release.kind], **more)


def test_releases_are_made_in_their_order_and_no_more_than_described():
    runner, trace = runner_of(CHOICE, replace(COUNTS, times=2))
    with pytest.raises(StateError, match="leaf_counts"):
        answer(runner, COUNTS)
    for release in (CHOICE, COUNTS, COUNTS):
        answer(runner, release)
    runner.finish()
    with pytest.raises(StateError, match="leaf_counts"):
        answer(runner, COUNTS)
    assert spent(trace) == [1, 1, 1]


@pytest.mark.parametrize("made", range(5))
def test_a_repetition_may_end_early_but_not_exceed_the_plan(made):
    runner, trace = runner_of(Repeated((COUNTS, CHOICE), 2), PlannedRelease("class_totals", laplace(1)))
    for release in islice(cycle((COUNTS, CHOICE)), made):
        answer(runner, release)
    with pytest.raises(StateError, match="all planned releases"):
        runner.finish()
    if made == 4:
        with pytest.raises(StateError, match="leaf_counts"):
            answer(runner, COUNTS)
    answer(runner, PlannedRelease("class_totals", laplace(1)))
    runner.finish()
    assert len(trace) == made + 1


def test_a_decision_is_one_of_those_described_and_made_once():
    branch = Branch((1, 2), lambda times: (replace(COUNTS, times=times),))
    runner, _ = runner_of(branch)
    with pytest.raises(StateError, match="leaf_counts"):
        answer(runner, COUNTS)
    with pytest.raises(StateError, match="decision, got 3"):
        runner.decide(3)
    runner.decide(1)
    with pytest.raises(StateError, match="a decision"):
        runner.decide(1)
    answer(runner, COUNTS)
    runner.finish()


def test_nested_releases_cost_no_more_rho_than_described():
    runner, trace = runner_of(Nested(Fraction(1), (COUNTS,)))
    with pytest.raises(StateError, match="with rho at most"):
        runner.nest((replace(COUNTS, times=3),))
    runner.nest((COUNTS,))
    answer(runner, COUNTS)
    assert spent(trace) == [1]


GAUSSIAN = GaussianCounts(Fraction(1), Fraction(1, 10**6), 1000, 2, 5, Fraction(10))
SHARED = SharedHistograms(Fraction(1), (1, 1, 1), 4)


@pytest.mark.parametrize(
    ("described", "narrower", "others"),
    [
        (COUNTS.mechanism, laplace(1, 3), [laplace(1, 5), laplace(2, 4), CHOICE.mechanism, DiscreteLaplace(1, 4, 4)]),
        (
            CHOICE.mechanism,
            PermuteAndFlip(Fraction(1), 3),
            [PermuteAndFlip(Fraction(1), 5), GumbelChoice(Fraction(1), 4), TwoSidedPermuteAndFlip(Fraction(1), 4)],
        ),
        (GAUSSIAN, replace(GAUSSIAN, changes=3), [replace(GAUSSIAN, **{name: 11}) for name in ("changes", "parts")]),
        # Of a smaller sensitivity, 2 are a larger part: the same epsilon costs a larger rho.
        (DiscreteLaplace(Fraction(1), 8, 2), DiscreteLaplace(Fraction(1), 8, 2), [DiscreteLaplace(Fraction(1), 4, 2)]),
        (SHARED, replace(SHARED, sensitivity=3), [replace(SHARED, sensitivity=5), replace(SHARED, sizes=(3, 2))]),
    ],
    ids=["counts", "choice", "gaussian", "counts of a known part", "histograms"],
)
def test_a_mechanism_may_be_replaced_by_one_of_a_smaller_sensitivity_only(described, narrower, others):
    runner, trace = runner_of(PlannedRelease("leaf_counts", described))
    for other in others:
        with pytest.raises(StateError, match="costs no more"):
            answer(runner, PlannedRelease("leaf_counts", described), mechanism=other)
    assert not trace
    answer(runner, PlannedRelease("leaf_counts", described), mechanism=narrower)
    assert [mechanism for mechanism, _, _ in trace] == [narrower]


def test_the_last_release_takes_what_a_repetition_leaves():
    runner, trace = runner_of(Repeated((CHOICE,), 3), replace(COUNTS, takes_rest=True), epsilon=4)
    answer(runner, CHOICE)
    answer(runner, COUNTS)
    assert spent(trace) == [1, 3]


LEARNED = {
    "greedy lists": (GreedyListPlan, "greedy lists"),
    "greedy trees": (GreedyTreePlan, "greedy trees"),
    "lists": (ListDrawPlan, "exact lists"),
    "trees": (TreeDrawPlan, "exact trees in blocks"),
    "scorecards": (ClassPlan, "scorecards"),
}
ROWS = [
    {"smoker": bool(i % 2), "sex": "F", "age": 20 + i, "dose": 0.3, "risk": ["high", "low"][i % 2]} for i in range(20)
]


def fitted(name):
    recorder, table = source(), frame(ROWS)
    estimator, _ = LEARNERS[name]
    given = {**given_to(estimator), "schema": SCHEMA, "random_state": recorder, "budget": hr.Budget(10)}
    try:
        type(estimator)(**given).fit(table, table["risk"])
    finally:
        made = len(recorder.trace)
    return made


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("kind", QUERIES)
def test_an_unplanned_release_is_refused(monkeypatch, name, kind):
    cls, learner = LEARNED[name]
    learn, made = cls.run, []

    def adding(self, tally, runner, progress):
        learned = learn(self, tally, runner, progress)
        made.append(0)
        runner.release(tally.total, QUERIES[kind])
        made.append(1)
        return learned

    fitted(learner)
    monkeypatch.setattr(cls, "run", adding)
    with pytest.raises(StateError, match="next planned release"):
        fitted(learner)
    assert made == [0]


@pytest.mark.parametrize("name", LEARNED)
def test_a_release_that_is_made_twice_is_made_once(monkeypatch, name):
    _, learner = LEARNED[name]

    class Twice(ReleaseRunner):
        def release(self, answer, query, *given, **more):
            result = super().release(answer, query, *given, **more)
            if query.code in ("rules_draw", "tree_draw", "leaf_counts", "class_totals"):
                super().release(answer, query, *given, **more)
            return result

    monkeypatch.setattr(plans, "ReleaseRunner", Twice)
    with pytest.raises(StateError, match="next planned release"):
        fitted(learner)


@pytest.mark.parametrize("name", LEARNED)
def test_a_described_release_that_is_not_made_is_noticed(monkeypatch, name):
    cls, learner = LEARNED[name]
    monkeypatch.setattr(cls, "run", lambda *_: None)
    with pytest.raises(StateError, match="all planned releases"):
        fitted(learner)


def test_releases_of_a_fit_are_made_by_a_runner_only():
    """Plans receive no gate that they could release by."""
    room = Path(plans.__file__).parent
    callers = [path.name for path in room.rglob("*.py") if "gate.release(" in path.read_text(encoding="utf-8")]
    assert callers == ["releases.py"]
    for cls in (*(cls for cls, _ in LEARNED.values()), NumberPlan, ChosenAttributesPlan, PublishedListPlan):
        assert "learn" not in vars(cls)
