import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.errors import SearchTooLargeError
from hedgerow.learn import learned
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Candidates, Label, Schema
from tests.learn.best_models import Problem, problems
from tests.learn.learners import states_visited
from tests.learn.tables import SCHEMA, conjunction, people

SEEDS = st.integers(0, 2**31 - 1)


def greedy_list(epsilon, **parameters):
    return hr.PrivateRuleListClassifier(epsilon, search="greedy", **{"max_literals": 2, **parameters})


def test_a_private_list_finds_a_clear_rule_and_its_card_adds_up():
    X, y = conjunction()
    clf = greedy_list(1.0, max_rules=2).fit(X, y)
    assert [rule.condition for rule in clf.rule_list_.rules] == ["x0 and not x2", ""]
    assert clf.classes_.tolist() == [False, True]
    assert (clf.predict(X) == y).all()
    card = clf.privacy_
    assert card.epsilon == sum(charge.epsilon for charge in card.charges) == 1
    assert card.is_private
    assert card.noise.code == "opendp"
    assert [charge.purpose for charge in card.charges] == ["choice of rule 1", "counts of 2 rules by class"]


def test_a_list_that_stops_early_spends_what_is_left_on_its_counts():
    X = np.zeros((50, 2), dtype=bool)  # no candidate splits anything: stopping is as good as any rule
    fits = [greedy_list(1.0, random_state=seed).fit(X, X[:, 0]) for seed in range(100)]
    early = [clf for clf in fits if len(clf.privacy_.charges) <= 4]
    assert len(early) > 10
    for clf in early:
        choices = len(clf.privacy_.charges) - 1
        assert clf.privacy_.charges[-1].epsilon == 1 - choices * Fraction(1, 5) > Fraction(1, 5)


COMPLEMENT = (hr.schema.Literal("age", "<=", (60,)),)
"""Of `age > 60`, the first rule of the greedy list on `people`: both have the same Gini score, private or not."""


def test_with_much_budget_the_private_list_is_the_greedy_one():
    data = people()
    private = greedy_list(1e6, max_rules=3, schema=SCHEMA).fit(data, data["risk"])
    greedy = hr.GreedyRuleListClassifier(max_rules=3, min_support=0, schema=SCHEMA).fit(data, data["risk"])
    assert private.rule_list_.rules[0].antecedent in {greedy.rule_list_.rules[0].antecedent, COMPLEMENT}
    assert not greedy.privacy_.is_private


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lookahead": 0}, "lookahead must be a whole number >= 1, got 0"),
        ({"lookahead": 1.5}, "lookahead must be a whole number"),
        ({"lookahead": True}, "lookahead must be a whole number"),
    ],
)
@pytest.mark.parametrize("search", ["greedy", "exact"])
def test_bad_parameters_are_refused_in_words_before_anything_is_charged(parameters, message, search):
    X, y = conjunction(20)
    budget = hr.Budget(10)
    with pytest.raises(ValueError, match=message):
        hr.PrivateRuleListClassifier(1.0, search=search, budget=budget, **parameters).fit(X, y)
    assert budget.spent == 0


def exact_list(epsilon=1.0, **parameters):
    return hr.PrivateRuleListClassifier(epsilon, search="exact", **{"max_literals": 1, **parameters})


BLOCKS = {  # rules at most, at a time: how many each draw may add
    (1, None): [0],
    (2, None): [1],
    (5, None): [4],
    (5, 1): [1, 1, 1, 1],
    (5, 2): [2, 2],
    (4, 2): [2, 1],
    (5, 3): [3, 1],
    (5, 4): [4],
    (5, 99): [4],
    (1, 3): [0],
}


@pytest.mark.parametrize(("size", "blocks"), BLOCKS.items())
@pytest.mark.parametrize("release_counts", [False, True])
def test_blocks_of_rules_get_equal_shares_that_add_up_to_epsilon(size, blocks, release_counts):
    max_rules, lookahead = size
    X, y = conjunction(300)
    clf = exact_list(Fraction(1, 3), max_rules=max_rules, lookahead=lookahead, release_counts=release_counts)
    charges = clf.fit(X, y).privacy_.charges
    each = Fraction(1, 3) * (Fraction(4, 5) if release_counts else 1) / len(blocks)
    draws = charges[: len(blocks)]
    assert [charge.epsilon for charge in draws] == [each] * len(blocks)
    assert [charge.purpose for charge in draws] == [
        f"draw of up to {most} {'more ' if number else ''}rules with their labels" for number, most in enumerate(blocks)
    ]
    assert [charge.epsilon for charge in charges[len(blocks) :]] == [Fraction(1, 15)] * release_counts
    assert sum(charge.epsilon for charge in charges) == clf.privacy_.epsilon == Fraction(1, 3)
    assert len(clf.rule_list_) <= max_rules


@given(SEEDS, st.integers(1, 4), st.integers(0, 3))
def test_a_lookahead_beyond_the_list_is_no_lookahead(seed, max_rules, more):
    X, y = conjunction(100)
    plain = exact_list(0.1, max_rules=max_rules, random_state=seed).fit(X, y)
    ahead = exact_list(0.1, max_rules=max_rules, lookahead=max(max_rules - 1, 1) + more, random_state=seed).fit(X, y)
    assert ahead.rule_list_ == plain.rule_list_


def wrong(clf, problem):
    X = np.array([[row[name] for name in problem.schema] for row in problem.rows], dtype=object)
    return (clf.predict(X) != problem.labels).sum()


@given(problems("list"), st.integers(1, 4))
def test_with_large_epsilon_a_drawn_list_has_the_fewest_errors(problem, max_rules):
    max_rules -= dict(problem.candidates)["max_literals"] - 1
    clf = exact_list(1e4, max_rules=max(max_rules, 1), **dict(problem.candidates)).fit_tally(problem.tally)
    assert wrong(clf, problem) == problem.least(max(max_rules, 1) - 1)
    assert len(clf.rule_list_) <= max(max_rules, 1)


def blockwise(problem, sizes):
    """The errors of lists found in blocks, each one of the best on the rows that the blocks before left."""
    facts = problem.facts

    def lists(rows, size):
        """Yield (errors of the rules, what is left, errors of the default rule) of every list of this size."""
        yield 0, rows, problem.wrong(rows)
        for fact in facts if size else ():
            for errors, left, default in lists(rows - fact, size - 1):
                yield errors + problem.wrong(rows & fact), left, default

    result = {(0, frozenset(range(len(problem.rows))))}
    totals = set()
    for size in sizes:
        following, totals = set(), set()
        for before, rows in result:
            every = list(lists(rows, size))
            least = min(errors + default for errors, _, default in every)
            best = [(errors, left, default) for errors, left, default in every if errors + default == least]
            following |= {(before + errors, left) for errors, left, _ in best}
            totals |= {before + errors + default for errors, _, default in best}
        result = following
    return totals


@given(problems("list", most_rows=8), st.sampled_from([(1, 1), (1, 1, 1), (2, 1)]))
def test_with_large_epsilon_each_block_is_optimal_on_its_remaining_rows(problem, sizes):
    problem = Problem(problem.schema, problem.rows, Space.of_lists(Candidates.of(problem.schema, 1)))
    clf = exact_list(1e4, max_rules=sum(sizes) + 1, lookahead=sizes[0]).fit_tally(problem.tally)
    assert wrong(clf, problem) in blockwise(problem, sizes)


@given(
    problems("list"),
    st.integers(1, 4),
    st.sampled_from([None, 1, 2]),
    st.booleans(),
    SEEDS,
    st.sampled_from([0.001, 0.3, 3.0]),
)
def test_the_last_drawn_rule_and_the_default_rule_predict_differently(
    problem, max_rules, lookahead, release_counts, seed, epsilon
):
    clf = exact_list(
        epsilon,
        max_rules=max_rules,
        lookahead=lookahead,
        release_counts=release_counts,
        stop_probability=0.1,
        random_state=seed,
    ).fit_tally(problem.tally)
    *rules, default = clf.rule_list_.rules
    assert len(rules) < max_rules
    assert not rules or rules[-1].label != default.label
    for rule in clf.rule_list_.rules:
        assert rule.label in problem.schema.classes
        assert (rule.counts is not None) == release_counts


def test_counts_are_of_the_rows_in_each_rule_and_the_drawn_labels_are_kept():
    data = people(3000)
    clf = exact_list(1000.0, max_rules=4, release_counts=True, schema=SCHEMA).fit(data, data["risk"])
    tally = hr.Tally.count(data, "risk", SCHEMA)
    true = tally.leaf_counts([rule.antecedent for rule in clf.rule_list_.rules[:-1]])
    assert np.abs(np.array([rule.counts for rule in clf.rule_list_.rules]) - true).max() <= 1  # scale 1/200
    for rule, counts in zip(clf.rule_list_.rules, true, strict=True):
        assert counts[SCHEMA.classes.index(rule.label)] == counts.max()  # any label, where there is no row


def test_without_counts_the_label_of_a_rule_is_certain():
    data = people()
    clf = exact_list(schema=SCHEMA, max_rules=3, release_counts=False).fit(data, data["risk"])
    assert not clf.rule_list_.has_counts
    assert set(clf.predict_proba(data).ravel().tolist()) == {0.0, 1.0}


@given(problems("list"), st.integers(1, 3), SEEDS, st.sampled_from(["brier", "mixed"]), st.booleans())
def test_rules_have_grid_probabilities_and_the_last_two_differ(problem, max_rules, seed, objective, release_counts):
    clf = exact_list(
        0.3, max_rules=max_rules, objective=objective, release_counts=release_counts, random_state=seed
    ).fit_tally(problem.tally)
    loss = Loss.of(objective, len(problem.schema.classes))
    *rules, default = clf.rule_list_.rules
    assert not rules or rules[-1].probabilities != default.probabilities
    for rule, shares in zip(clf.rule_list_.rules, clf.rule_list_.probabilities, strict=True):
        assert rule.probabilities in loss.values
        assert shares.tolist() == list(rule.probabilities)
        assert rule.label == problem.schema.classes[int(shares.argmax())]
        assert (rule.counts is not None) == release_counts


@pytest.mark.parametrize("objective", ["brier", "mixed"])
def test_the_card_says_by_which_loss_and_that_probabilities_were_drawn(objective):
    clf = exact_list(objective=objective, max_rules=3).fit(*conjunction())
    (charge,) = clf.privacy_.charges
    assert charge.purpose == "draw of up to 2 rules with their probabilities"
    assert (charge.mechanism.code, charge.mechanism["loss"].code) == ("model_draw", objective)


def test_with_large_epsilon_the_drawn_probability_is_nearest_to_the_share():
    data = people(3000)
    tally = hr.Tally.count(data, "risk", SCHEMA)
    clf = exact_list(1000.0, max_rules=4, objective="brier", schema=SCHEMA, random_state=0).fit_tally(tally)
    counts = tally.leaf_counts([rule.antecedent for rule in clf.rule_list_.rules[:-1]])
    held = counts.sum(axis=1) > 0  # a rule that catches no row costs no more than its prior
    assert held.sum() >= 3
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    values = np.array(Loss.of("brier", counts.shape[1]).values)
    for rule, row in zip(np.array(clf.rule_list_.rules)[held], shares[held], strict=True):
        distances = ((values - row) ** 2).sum(axis=1)
        assert ((np.array(rule.probabilities) - row) ** 2).sum() <= distances.min() + 1 / 32  # by rounding to steps


def test_a_search_by_another_loss_than_errors_takes_longer_and_says_so():
    seconds = [
        exact_list(max_rules=4, objective=objective, schema=SCHEMA).search_cost(SCHEMA).seconds(1000)
        for objective in ("errors", "mixed", "brier")
    ]
    assert seconds[0] < seconds[1] == seconds[2]


@pytest.mark.statistics
@pytest.mark.parametrize("fits", [20, pytest.param(40, marks=pytest.mark.slow)])
def test_the_stop_probability_decides_the_length_without_any_signal(fits):
    X = np.zeros((4, 8), dtype=bool)
    lengths = []
    for stop in (0.95, 0.5, 0.05):
        fitted = [
            exact_list(1e-6, max_rules=4, stop_probability=stop, random_state=seed).fit(X, X[:, 0])
            for seed in range(fits)
        ]
        lengths.append(np.mean([len(clf.rule_list_) for clf in fitted]))
    assert all(after - before > 0.3 for before, after in pairwise(lengths))


@pytest.mark.parametrize("lookahead", [None, 1, 2])
def test_a_search_cost_is_that_of_the_states_that_are_visited(lookahead):
    clf = exact_list(1e-6, max_rules=4, lookahead=lookahead, schema=SCHEMA)
    visited, cost = states_visited(lambda: clf.fit(people(), people()["risk"])), clf.search_cost(SCHEMA)
    if lookahead is None:
        assert visited == cost.states
    else:
        assert 0 < visited <= cost.states  # an option that a chosen rule closes is no state of later blocks
    assert cost.classes == 3


TEN = Schema({f"x{i}": Boolean() for i in range(10)}, Label("y", (0, 1)))


@pytest.mark.parametrize(
    ("lookahead", "states"), [(None, 1 + 20 + 190 + 1140), (3, 1 + 20 + 190 + 1), (2, 21 * 2), (1, 4)]
)
def test_a_search_cost_needs_no_fit(lookahead, states):
    cost = exact_list(max_rules=5, lookahead=lookahead).search_cost(TEN)
    assert (cost.options, cost.states, cost.evaluations, cost.classes) == (20, states, states * 20, 2)


def test_a_search_cost_is_checked_like_a_fit():
    with pytest.raises(ValueError, match="max_rules must be a whole number"):
        exact_list(max_rules=0).search_cost(TEN)


def test_what_a_search_costs_is_told_on_stderr_and_only_if_asked_for(capsys):
    data = people()
    clf = exact_list(max_rules=3, schema=SCHEMA)
    clf.fit(data, data["risk"])
    assert capsys.readouterr() == ("", "")
    clf.set_params(verbose=True).fit(data, data["risk"])
    out, err = capsys.readouterr()
    assert out == ""
    assert " ".join(err.split()).startswith(f"exact search: {clf.search_cost(SCHEMA)}")
    greedy_list(1.0, verbose=True, schema=SCHEMA).fit(data, data["risk"])
    assert capsys.readouterr() == ("", "")  # greedy search takes no time to speak of


def booleans(n):
    return Schema({f"x{i}": Boolean() for i in range(n)}, Label("y", (0, 1)))


@pytest.mark.parametrize(
    ("n", "parameters", "lookahead"),
    [
        (20, {"max_rules": 5, "max_literals": 2}, 3),
        (20, {"max_rules": 6, "max_literals": 2, "lookahead": 4}, 3),
        (100, {"max_rules": 9, "max_literals": 1}, 4),
        (64, {"max_rules": 5, "max_literals": 2}, 2),
    ],
)
def test_a_too_large_search_is_refused_with_a_valid_lookahead(n, parameters, lookahead, monkeypatch):
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    schema, budget = booleans(n), hr.Budget(1)
    clf = exact_list(schema=schema, budget=budget, **parameters)
    X = np.zeros((10, n))
    for refused in (lambda: clf.fit(X, X[:, 0]), lambda: clf.search_cost(schema)):
        with pytest.raises(SearchTooLargeError, match=r"Use fewer rules \(max_rules\), fewer literals") as error:
            refused()
        assert error.value.states > 20_000_000 or error.value.evaluations > 2_000_000_000
    assert budget.spent == 0
    assert vars(clf) == clf.get_params()
    proposed = int(re.search(r"Draw fewer rules at a time \(lookahead=(\d+)\)", str(error.value))[1])
    assert proposed == lookahead
    assert clf.set_params(lookahead=proposed).search_cost(schema).is_sensible
    with pytest.raises(SearchTooLargeError, match="exact search is too large"):
        clf.set_params(lookahead=proposed + 1).search_cost(schema)


def test_no_lookahead_is_suggested_if_none_makes_the_search_small_enough(monkeypatch):
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    schema, budget = booleans(160), hr.Budget(1)
    clf = exact_list(schema=schema, budget=budget, max_literals=2, max_rules=4)  # 51,200 candidates
    with pytest.raises(SearchTooLargeError, match=r"max_rules") as error:
        clf.fit(np.zeros((10, 160)), np.zeros(10))
    assert "lookahead" not in str(error.value)
    with pytest.raises(SearchTooLargeError, match="51,200 options"):
        clf.set_params(lookahead=1).search_cost(schema)
    assert clf.set_params(max_literals=1).search_cost(schema).is_sensible
    assert budget.spent == 0


def test_a_too_large_search_is_refused_before_building_candidates(monkeypatch):
    monkeypatch.setattr(Candidates, "of", lambda *_, **__: pytest.fail("built"))
    X = np.zeros((10, 300))
    with pytest.raises(SearchTooLargeError, match="too large"):
        exact_list(max_literals=3).fit(X, X[:, 0])


@pytest.mark.parametrize("seeds", [3, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "epsilon", "goal"),
    [
        ("adult_binary", 0.1, 0.778),
        ("adult_binary", 1.0, 0.786),
        ("compas_binary", 0.1, 0.6),
        ("compas_binary", 1.0, 0.643),
    ],
)
def test_accuracy_on_real_data_reaches_the_goal(name, epsilon, goal, seeds):
    """Means over splits and six seeded fits each; docs/benchmarks/accuracy.md has the table with errors."""
    data = hr.datasets.load(name).without_sensitive()
    scores = []
    for seed in range(seeds):
        X, X_test, y, y_test = train_test_split(data.frame, data.labels, test_size=0.3, random_state=seed)
        tally = hr.Tally.count(X, y, data.schema)
        fits = (greedy_list(epsilon, random_state=fit).fit_tally(tally) for fit in range(6))
        scores += [fit.score(X_test, y_test) for fit in fits]
    assert np.mean(scores) > goal


def test_a_drawn_number_of_rules_is_small_if_a_short_list_suffices():
    X, y = conjunction(2000)
    clf = hr.PrivateRuleListClassifier(1.0, max_rules=None, search="exact", random_state=0).fit(X, y)
    assert clf.score(X, y) == 1
    assert len(clf.rule_list_) == 3
    draw, _ = clf.privacy_.charges
    assert re.fullmatch(r"draw of up to [2-9] rules with their number and their labels", draw.purpose)


def test_a_number_of_rules_is_drawn_jointly_with_an_exact_search():
    for search in ("auto", "exact"):
        with pytest.raises(ValueError, match="lookahead needs max_rules"):
            hr.PrivateRuleListClassifier(1.0, search=search, lookahead=2).fit(*conjunction())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lookahead": 2}, "lookahead must be None with search='greedy', got 2"),
        ({"release_counts": True}, "release_counts must be False with search='greedy', got True"),
        ({"stop_probability": 0.2}, "stop_probability must be 0.1 with search='greedy', got 0.2"),
    ],
)
def test_an_option_that_greedy_search_does_not_use_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        hr.PrivateRuleListClassifier(1.0, search="greedy", **parameters).fit(*conjunction())


def test_rule_counts_of_a_greedy_list_have_the_noise_of_one_release(monkeypatch):
    """Counts that were added up, of last rules of one class, would have more noise than intervals allow for."""
    released = []

    def release(*arguments, original=learned.release_leaf_counts):
        released.append(original(*arguments))
        return released[-1]

    monkeypatch.setattr(learned, "release_leaf_counts", release)
    X, y = conjunction(300)
    for seed in range(10):
        model = hr.PrivateRuleListClassifier(0.1, search="greedy", random_state=seed).fit(X, y).rule_list_
        assert [rule.counts for rule in model.rules] == list(map(tuple, released[-1].tolist()))
