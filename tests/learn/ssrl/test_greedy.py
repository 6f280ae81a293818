"""Rule lists by the mechanisms of SSRL: budget, stopping, choices, cards. The mechanisms: tests/privacy."""

import json
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import hedgerow as hr
from hedgerow.errors import BudgetExceededError
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.ssrl import greedy as module
from hedgerow.learn.ssrl.greedy import PUBLISHED, confidence_threshold, least_support, release_rule_counts
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import DiscreteLaplace, SeededNoise
from hedgerow.schema import Boolean, Candidates, Label, Schema
from tests.learn.tables import SCHEMA, conjunction, people

DELTA = 1e-9
SMOOTH = ("smooth-laplace", "smooth-cauchy")
WITH_DELTA = ("smooth-laplace", "global-gaussian")
PROVEN = ("exponential", "noisy-counts")
SSRL = [*SMOOTH, "global-laplace", "global-gaussian", *PROVEN]
UNUSED = "reserved, not used"
ENOUGH = Fraction(10**12)  # an ε at which noise no longer decides


def learner(mechanism, epsilon=1.0, **parameters):
    delta = {"delta": DELTA} if mechanism in WITH_DELTA else {}
    return hr.DPGreedyRLClassifier(epsilon, mechanism=mechanism, **{**delta, **parameters})


def from_data(name):
    return learner(name, 1e4, max_rules=3, schema="from-data", random_state=0)


FIRST, *OTHERS = SSRL  # the checks expect better labels than SSRL's have at smaller ε


@parametrize_with_checks([from_data(FIRST)], expected_failed_checks=lambda _: {})
def test_they_keep_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(list(map(from_data, OTHERS)), expected_failed_checks=lambda _: {})
def test_with_other_mechanisms_they_keep_it_too(estimator, check):
    check(estimator)


# The split of the budget.


@pytest.mark.parametrize("name", SSRL)
def test_a_nodes_share_is_that_of_the_paper(name):
    """SSRL §4.2, K = 5, ε = 1: 3K − 1 = 14 shares with the support test; 2K − 1 = 9 without (§5.2)."""
    assert list(PUBLISHED) == SSRL
    assert PUBLISHED[name].node_epsilon(Fraction(1), 5) == Fraction(1, 14 if name in SMOOTH else 9)
    assert PUBLISHED[name].node_epsilon(Fraction(1), 1) == Fraction(1, 2 if name in SMOOTH else 1)


def test_the_confidence_threshold_is_that_of_algorithm_3():
    """For ε = .1, C = .98 the paper says ``t = ⌈6.733⌉ + 1 = 7``; its own formula gives 32.19, hence ⌈32.19⌉ + 1."""
    assert confidence_threshold(0.98, Fraction(1, 10)) == 34
    assert confidence_threshold(0.99, Fraction(1, 14)) == 56  # 14·ln 50 = 54.77
    assert confidence_threshold(0.5, Fraction(1, 14)) == 1
    assert confidence_threshold(0.99, ENOUGH) == 2


@given(st.floats(0.5, 1 - 1e-9), st.fractions(Fraction(1, 1000), 10))
def test_the_threshold_is_the_least_integer_that_noise_rarely_exceeds(confidence, epsilon):
    threshold, tail = confidence_threshold(confidence, epsilon), laplace(scale=1 / float(epsilon)).sf
    assert tail(threshold - 1) <= (1 - confidence) * (1 + 1e-9)
    assert threshold == 1 or tail(threshold - 2) >= (1 - confidence) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("share", "n_rows", "expected"), [(0.05, 4305, 215), (0.05, 100, 5), (0.12, 700, 84), (0.05, 19, 1), (0, 50, 1)]
)
def test_the_least_support_is_a_share_of_all_rows_rounded_down(share, n_rows, expected):
    assert least_support(share, n_rows) == expected


@given(
    st.sampled_from(SSRL),
    st.one_of(st.floats(1e-2, 1e3), st.fractions(Fraction(1, 100), 1000)),
    st.one_of(st.none(), st.integers(0, 2**31)),
    st.integers(0, 60),
    st.integers(1, 4),
)
def test_what_is_charged_is_exactly_what_was_given(name, epsilon, seed, n, max_rules):
    X, y = conjunction(n)
    budget = hr.Budget(exact(epsilon, "epsilon") + 1, Fraction(1, 10))
    clf = learner(name, epsilon, max_rules=max_rules, budget=budget, random_state=seed).fit(X, y)
    delta = exact(DELTA, "delta") if name in WITH_DELTA else Fraction(0)
    assert [(charge.purpose, charge.epsilon, charge.delta) for charge in budget.charges] == [
        ("DPGreedyRLClassifier: one rule list", exact(epsilon, "epsilon"), delta)
    ]
    card, node = clf.privacy_, PUBLISHED[name].node_epsilon(exact(epsilon, "epsilon"), max_rules)
    assert (card.epsilon, card.delta) == (exact(epsilon, "epsilon"), delta)
    unused = [charge for charge in card.charges if charge.purpose == UNUSED]
    released = [charge for charge in card.charges if charge.purpose != UNUSED]
    assert {charge.epsilon for charge in released} == {node}
    choices = [charge for charge in released if "choice of rule" in charge.purpose]
    assert len(choices) <= max_rules - 1
    assert {charge.delta for charge in choices} <= {delta / max(max_rules - 1, 1)}
    assert sum(charge.epsilon for charge in unused) == exact(epsilon, "epsilon") - len(released) * node
    assert sum(charge.delta for charge in unused) == delta - len(choices) * delta / max(max_rules - 1, 1)


@pytest.mark.parametrize("name", SSRL)
def test_a_full_list_pays_for_every_step_of_it(name):
    X = np.random.default_rng(0).integers(0, 2, (2000, 4))
    fits = (learner(name, max_rules=3, random_state=seed).fit(X, X[:, 0] & X[:, 1]) for seed in range(50))
    card = next(clf.privacy_ for clf in fits if len(clf.rule_list_) == 3)
    choice = "class counts of all candidates, and without a rule, for the " if name == "noisy-counts" else ""
    expected = [
        *([f"number of rows left for rule {i}"] * (name in SMOOTH) + [f"{choice}choice of rule {i}"] for i in (1, 2)),
        ["counts of rule 1 by class", "counts of rule 2 by class", "counts of the default rule by class"],
        [UNUSED] * (name in SMOOTH),
    ]
    purposes = [re.sub(r"\d+ candidates", "all candidates", charge.purpose) for charge in card.charges]
    assert purposes == [purpose for step in expected for purpose in step]
    assert card.epsilon == 1
    if name in SMOOTH:  # 3K − 2 of 3K − 1 shares are used, else all 2K − 1
        assert card.charges[-1].epsilon == Fraction(1, 8)
    assert card.delta == (exact(DELTA, "delta") if name in WITH_DELTA else 0)


# The choices.


def gini(labels):
    n = len(labels)
    return n - Fraction(sum(labels.count(k) ** 2 for k in set(labels)), n) if n else Fraction(0)


def check_greedy(rules, X, y, candidates, most, fewest):
    """Go through the rows: every rule is one of least Gini impurity, and the list ends where it may (SSRL §3.1)."""
    names = candidates.schema.names
    rows = list(zip(X.tolist(), y.tolist(), strict=True))

    def holds(antecedent, x):
        return all(bool(x[names.index(lit.attribute)]) == (lit.operator == "true") for lit in antecedent)

    def impurity(antecedent):
        sides = [[label for x, label in rows if holds(antecedent, x) == side] for side in (True, False)]
        return gini(sides[0]) + gini(sides[1])

    for rule in (*rules[:-1], None):
        none = gini([label for _, label in rows])
        least = min([none, *map(impurity, candidates)])
        if rule is None:
            assert len(rules) - 1 == most or none == least or len(rows) < fewest
            rest, prediction = rows, rules[-1]
        else:
            assert impurity(rule.antecedent) == least
            rest, prediction = [row for row in rows if holds(rule.antecedent, row[0])], rule
            rows = [row for row in rows if not holds(rule.antecedent, row[0])]
        counts = tuple([label for _, label in rest].count(k) for k in (0, 1))
        assert (prediction.counts, prediction.label) == (counts, int(counts[0] <= counts[1]))


@pytest.mark.parametrize("name", SSRL)
@given(st.integers(0, 2**31), st.integers(0, 50), st.integers(1, 4), st.booleans())
def test_with_much_budget_every_mechanism_grows_the_greedy_list(name, seed, n, max_rules, negations):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (n, 4)), rng.integers(0, 2, n)
    schema = Schema({f"x{i}": Boolean() for i in range(4)}, Label("y", (0, 1)))
    clf = learner(
        name, ENOUGH, max_rules=max_rules, negations=negations, min_remaining=0, schema=schema, random_state=seed
    ).fit(X, y)
    fewest = 3 if name in SMOOTH else 0  # Λ + 𝒯 = 1 + 2
    candidates = Candidates.of(schema, 2, negations=negations)
    check_greedy(clf.rule_list_.rules, X, y, candidates, max_rules - 1, fewest)


@pytest.mark.parametrize("name", SSRL)
def test_with_much_budget_secure_noise_finds_a_clear_rule(name):
    X, y = conjunction()
    clf = learner(name, 10**9, max_rules=2).fit(X, y)
    assert (clf.predict(X) == y).all()
    rules = clf.rule_list_.rules
    exact = hr.Tally.count(X, y).leaf_counts([rule.antecedent for rule in rules[:-1]])
    assert [rule.counts for rule in rules] == list(map(tuple, exact.tolist()))


@pytest.mark.parametrize("name", SMOOTH)
def test_growth_stops_where_fewer_rows_are_left_than_asked_for(name):
    X, y = conjunction()
    grown = learner(name, 10**9, min_remaining=0.5, random_state=0).fit(X, y)
    assert [charge.purpose[:14] for charge in grown.privacy_.charges].count("number of rows") >= 1
    for share, rules in ((0.0, 2), (0.998, 2), (0.9995, 1)):  # Λ + 𝒯 = 1998 is not more than the 2000 rows, 2001 is
        clf = learner(name, 10**9, max_rules=2, min_remaining=share, random_state=0).fit(X, y)
        assert len(clf.rule_list_) == rules


@pytest.mark.parametrize("name", SSRL)
def test_smooth_mechanisms_score_in_units_of_the_smooth_sensitivity(name):
    """K = 2 on (2, 0), (0, 2) caught by x and by not x: G = 0, 0, 1/2; no rule is the last."""
    X = np.array([[1], [1], [0], [0]] * 500)
    schema = Schema({"x": Boolean()}, Label("y", (0, 1)))
    asked = []

    class Spy(SeededNoise):
        def prepare(self, mechanism):
            return lambda values: asked.append((mechanism, values)) or SeededNoise.prepare(self, mechanism)(values)

    spy = Spy(np.random.default_rng(0))
    learner(name, 50.0, max_rules=2, schema=schema, random_state=spy).fit(X, X[:, 0])
    mechanism, values = asked[1 if name in SMOOTH else 0]
    if name == "noisy-counts":
        assert (mechanism.sensitivity, mechanism.epsilon) == (6, Fraction(50, 3))
        assert values.tolist() == [1000, 0, 0, 1000, 1000, 1000] or values.tolist() == [0, 1000, 1000, 0, 1000, 1000]
    elif name in SMOOTH:
        assert asked[0][1].tolist() == [2000]
        least = module.smooth_sensitivity(2000, min_support=100, beta=mechanism.beta)
        assert values.tolist() == pytest.approx([0, 0, 0.5 / least])
    else:
        assert values.tolist() == [0, 0, 0.5]


def test_a_rule_predicts_as_in_algorithm_2_whatever_the_sign_of_its_counts():
    """The first class if its count is the larger, else the second: also where both are negative, and where they tie."""

    class Fixed:
        no_guarantee_reason = None
        answers = iter([[-5, -9], [-9, -5], [3, 3], [4, 3]])

        def prepare(self, _):
            return lambda _: next(self.answers)

    X, y = conjunction(50)
    tally = hr.Tally.count(X, y)
    antecedents = [Candidates.of(tally.schema, 1)[i] for i in (0, 2, 4)]
    budget = hr.Budget(1)
    described = (PlannedRelease("leaf_counts", DiscreteLaplace(Fraction(1, 8)), times=4),)
    counts, labels = release_rule_counts(tally, antecedents, ReleaseRunner(described, Gate(budget, Fixed())))
    assert (labels, counts.shape, budget.spent) == ([0, 1, 1, 0], (4, 2), Fraction(1, 2))


@pytest.mark.parametrize("name", SSRL)
def test_seeded_fits_repeat_and_others_differ(name):
    X, y = conjunction(300)
    item, two, other = (learner(name, 0.5, random_state=seed).fit(X, y).rule_list_ for seed in (7, 7, 8))
    assert item == two
    assert item != other
    unseeded = (str(learner(name, 0.01).fit(X, y).rule_list_) for _ in range(20))
    first = next(unseeded)
    assert any(other != first for other in unseeded)  # which ends with the first that differs


# What the card says.


@pytest.mark.parametrize("name", SSRL)
def test_the_card_claims_what_is_proven_and_says_what_is_not(name):
    X, y = conjunction(500)
    card = learner(name).fit(X, y).privacy_
    assert card.is_private == (name in PROVEN)
    if name in PROVEN:
        assert card.guarantee.startswith("epsilon-differential privacy with epsilon = ")
    else:
        claim = "(1, 1e-09)" if name in WITH_DELTA else "1"
        assert card.guarantee.startswith(f"none (published as {claim}-differential privacy; not proven: ")
    words = {
        "smooth-laplace": ["scale of the noise depends on the rows", "1 - confidence", "taken as public"],
        "smooth-cauchy": ["scale of the noise depends on the rows", "1 - confidence", "taken as public", "floating"],
        "global-laplace": ["raise the Gini impurity of some rules and lower the impurity of others", "twice as large"],
        "global-gaussian": ["one noisy score is claimed for the choice among all scores"],
    }
    assert all(word in card.guarantee for word in words.get(name, []))
    assert any("rounded to float64" in note.words for note in card.notes) == (name == "exponential")
    assert hr.privacy.PrivacyCard.from_dict(json.loads(json.dumps(card.to_dict()))) == card


@pytest.mark.parametrize("name", SSRL)
def test_a_list_without_rules_needs_no_choice_and_its_counts_are_proven(name):
    X, y = conjunction(500)
    clf = learner(name, max_rules=1).fit(X, y)
    purposes = [charge.purpose for charge in clf.privacy_.charges]
    assert purposes[0] == "counts of the default rule by class"
    assert purposes[1:] in ([], [UNUSED])
    assert clf.privacy_.charges[0].epsilon == Fraction(1, 2 if name in SMOOTH else 1)
    assert clf.privacy_.epsilon == 1
    assert clf.privacy_.delta == exact(clf.delta or 0, "delta")
    assert clf.privacy_.is_private
    assert len(clf.rule_list_) == 1


def test_reasons_add_up():
    X, y = conjunction(100)
    assert learner("exponential", random_state=1).fit(X, y).privacy_.guarantee == "none (seeded noise)"
    both = learner("global-laplace", random_state=1, schema="from-data").fit(X, y).privacy_.guarantee
    assert both.startswith("none (published as 1-differential privacy")
    assert both.endswith("; schema inferred from the rows; seeded noise)")


# Errors, before anything is charged or counted.

ERRORS = [
    ({"mechanism": "laplace"}, "mechanism must be one of smooth-laplace, .*, got 'laplace'"),
    ({"mechanism": "permute-and-flip"}, "mechanism must be one of smooth-laplace"),
    ({"delta": None}, "mechanism='smooth-laplace' needs a delta below 1/n for n rows, such as delta=1e-9"),
    ({"mechanism": "global-gaussian", "delta": None}, "mechanism='global-gaussian' needs a delta"),
    ({"delta": 0}, "delta must be between 0 and 1, got 0"),
    ({"delta": 1.0}, "delta must be between 0 and 1, got 1.0"),
    ({"delta": -0.1}, "delta must be a finite number >= 0"),
    ({"delta": "small"}, "delta must be a number >= 0"),
    ({"mechanism": "smooth-cauchy"}, "delta must be None with mechanism='smooth-cauchy', got 1e-09"),
    ({"min_remaining": 1.0}, r"min_remaining must be in \[0, 1\), got 1.0"),
    ({"min_remaining": "half"}, r"min_remaining must be in \[0, 1\)"),
    ({"confidence": 0.4}, r"confidence must be in \[0.5, 1\), got 0.4"),
    ({"confidence": 1}, r"confidence must be in \[0.5, 1\)"),
    ({"confidence": float("nan")}, r"confidence must be in \[0.5, 1\)"),
    ({"confidence": "high"}, r"confidence must be in \[0.5, 1\), got 'high'"),
    ({"confidence": True}, r"confidence must be in \[0.5, 1\)"),
    ({"epsilon": 1e-11}, "epsilon for one release must be >= "),
    ({"schema": SCHEMA}, "Only binary classification is supported. SSRL is .* the label has 3"),
]


@pytest.mark.parametrize(("parameters", "message"), ERRORS)
def test_bad_parameters_are_refused_in_words_before_any_row_is_counted(parameters, message, monkeypatch):
    budget = hr.Budget(10, Fraction(1, 10))
    clf = learner("smooth-laplace", **{"budget": budget}).set_params(**parameters)
    X, y = (people(), people()["risk"]) if "schema" in parameters else conjunction(50)
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    with pytest.raises(ValueError, match=message):
        clf.fit(X, y)
    assert budget.spent == 0


@pytest.mark.parametrize("name", SSRL)
def test_two_classes_only(name):
    data = people()
    with pytest.raises(ValueError, match=r"binary .*PrivateRuleListClassifier"):
        learner(name, schema=SCHEMA).fit(data, data["risk"])


@pytest.mark.parametrize("name", SSRL)
def test_a_shared_budget_is_charged_before_rows_are_counted(name, monkeypatch):
    X, y = conjunction(100)
    budget = hr.Budget(1, Fraction(1, 10))

    def count(*table, count=hr.Tally.count):
        assert budget.spent == 1
        return count(*table)

    monkeypatch.setattr(hr.Tally, "count", count)
    clf = learner(name, budget=budget).fit(X, y)
    assert budget.remaining_delta == Fraction(1, 10) - exact(DELTA if name in WITH_DELTA else 0, "delta")
    before = dict(vars(clf))
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    with pytest.raises(BudgetExceededError, match="epsilon=0"):
        clf.fit(X, y)
    assert vars(clf) == before
    if name in WITH_DELTA:
        with pytest.raises(BudgetExceededError, match=r"delta=0 left, and epsilon=1 and delta=1e-09"):
            clone(clf).set_params(budget=hr.Budget(1)).fit(X, y)
