import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import SearchTooLargeError
from hedgerow.learn import plans
from hedgerow.learn.contract import specification_of
from hedgerow.learn.search.cost import SearchShape, masks_cost
from hedgerow.models import Leaf
from hedgerow.models.conditions import complement
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gini import SENSITIVITY
from hedgerow.privacy.noise import PermuteAndFlip, Siblings
from hedgerow.privacy.stop_prior import MOST_LOG_ODDS, STOP_RULE, STOP_RULE_OF_SHARES
from hedgerow.schema import Boolean, Label, Number, Real, Schema
from hedgerow.schema.grid import default_cuts
from tests.learn.best_models import problems
from tests.learn.greedy.scores import divides, impurity
from tests.learn.learners import states_visited
from tests.learn.tables import SCHEMA, conjunction, people

SEEDS = st.integers(0, 2**31 - 1)


def test_a_private_tree_finds_a_clear_rule_and_its_card_adds_up():
    X, y = conjunction()
    clf = hr.PrivateTreeClassifier(Fraction(1), max_depth=2).fit(X, y)
    assert (clf.predict(X) == y).all()
    assert clf.classes_.tolist() == [False, True]
    draw, counts = clf.privacy_.charges
    assert (draw.purpose, draw.epsilon) == ("draw of a tree of depth up to 2 with its labels", Fraction(19, 20))
    assert draw.mechanism.words.startswith("exponential mechanism over all models, weight exp(-0.949")
    assert (counts.query, counts.epsilon) == (Fact("leaf_counts", of="leaves"), Fraction(1, 20))
    assert clf.privacy_.is_private
    assert clf.privacy_.noise.code == "opendp"


def test_a_tree_grown_greedily_shares_epsilon_among_its_levels_and_counts():
    X, y = conjunction(5000)
    y = y ^ X[:, 1]
    clf = hr.PrivateTreeClassifier(10.0, max_depth=3, search="greedy").fit(X, y)
    assert clf.score(X, y) == 1
    *levels, counts = clf.privacy_.charges
    assert [charge.purpose for charge in levels] == [f"choice of the tests of level {i}" for i in (1, 2, 3)]
    assert {charge.epsilon for charge in levels} == {Fraction(8, 3)}
    assert levels[0].mechanism == Siblings(PermuteAndFlip(Fraction(8, 3), SENSITIVITY)).record
    assert (counts.query, counts.epsilon) == (Fact("leaf_counts", of="leaves"), Fraction(2))
    assert all(leaf.label is None and leaf.counts is not None for leaf in clf.tree_.leaves)


@pytest.mark.parametrize("max_depth", [0, 1, 3])
@pytest.mark.parametrize(("search", "counts"), [("exact", False), ("exact", True), ("greedy", False)])
def test_all_charges_of_a_tree_together_are_epsilon(max_depth, search, counts):
    X, y = conjunction(200)
    clf = hr.PrivateTreeClassifier(Fraction(1, 3), max_depth=max_depth, search=search, release_counts=counts)
    charges = [charge.epsilon for charge in clf.fit(X, y).privacy_.charges]
    assert sum(charges) == Fraction(1, 3)
    if search == "exact":
        assert charges == ([Fraction(4, 15), Fraction(1, 15)] if counts else [Fraction(1, 3)])


def test_a_tree_that_stops_early_spends_the_rest_on_its_counts():
    X = np.zeros((50, 2), dtype=bool)  # no test splits anything: stopping is as good as any
    fits = [
        hr.PrivateTreeClassifier(1.0, max_depth=2, search="greedy", random_state=seed).fit(X, X[:, 0])
        for seed in range(25)
    ]
    stopped = [clf for clf in fits if len(clf.tree_) == 1]
    assert 5 < len(stopped) < 40  # a third: three candidates that all score alike
    for clf in stopped:
        assert [charge.epsilon for charge in clf.privacy_.charges] == [Fraction(2, 5), Fraction(3, 5)]
    for clf in (clf for clf in fits if clf.tree_.depth == 2):
        assert [charge.epsilon for charge in clf.privacy_.charges] == [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)]


@given(problems("tree", most_rows=40), st.integers(1, 3))
def test_with_large_epsilon_a_greedy_tree_has_tests_of_least_impurity(problem, most):
    """Node by node, row by row; of equally good ones the noise takes any. Scores differ by whole steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "simplified", lambda tree, _: tree)  # which may take another test first
        clf = hr.PrivateTreeClassifier(1e9, max_depth=most, search="greedy").fit_tally(problem.tally)
    numbers = {antecedent[0]: option for option, antecedent in enumerate(problem.space.antecedents)}
    facts = problem.facts

    def check(node, rows, path):
        options = [o for o in range(len(facts)) if len(path) < most and divides(problem, path, o)]
        scores = [impurity(problem, rows & facts[o]) + impurity(problem, rows - facts[o]) for o in options]
        least = min([*scores, impurity(problem, rows)])
        if isinstance(node, Leaf):
            assert not options or impurity(problem, rows) == least
            labels = [problem.labels[i] for i in rows]
            assert node.counts == tuple(labels.count(label) for label in problem.schema.classes)
            return
        is_turned = node.literal not in numbers
        test = complement(node.literal, problem.schema[node.literal.attribute]) if is_turned else node.literal
        option = numbers[test]
        assert scores[options.index(option)] == least
        caught, left = (node.false, node.true) if is_turned else (node.true, node.false)
        check(caught, rows & facts[option], (*path, (option, True)))
        check(left, rows - facts[option], (*path, (option, False)))

    check(clf.tree_.root, frozenset(range(len(problem.rows))), ())


@given(problems("tree"), st.integers(0, 3))
def test_with_large_epsilon_a_drawn_tree_has_the_fewest_errors(problem, most):
    clf = hr.PrivateTreeClassifier(1e4, max_depth=most).fit_tally(problem.tally)
    optimal = hr.OptimalTreeClassifier(max_depth=most, min_support=0).fit_tally(problem.tally)
    frame = [[row[name] for name in problem.schema] for row in problem.rows]
    errors = (clf.predict(np.array(frame, dtype=object)) != problem.labels).sum()
    assert errors == problem.least(most) == round(optimal.objective_ * len(problem.rows))


def splits(node):
    if not isinstance(node, Leaf):
        yield node
        yield from splits(node.true)
        yield from splits(node.false)


@given(problems("tree"), st.integers(0, 3), st.booleans(), SEEDS, st.sampled_from([0.001, 0.3, 3.0]))
def test_no_test_of_a_tree_that_is_drawn_has_two_leaves_of_one_label(problem, most, release_counts, seed, epsilon):
    clf = hr.PrivateTreeClassifier(
        epsilon, max_depth=most, release_counts=release_counts, stop_probability=0.1, random_state=seed
    ).fit_tally(problem.tally)
    assert clf.tree_.depth <= most
    for split in splits(clf.tree_.root):
        if isinstance(split.true, Leaf) and isinstance(split.false, Leaf):
            assert split.true.label != split.false.label
    for leaf in clf.tree_.leaves:
        assert leaf.label in problem.schema.classes
        assert (leaf.counts is not None) == release_counts


def test_counts_are_of_the_rows_in_each_leaf_and_the_drawn_labels_are_kept():
    data = people(3000)
    clf = hr.PrivateTreeClassifier(1000.0, max_depth=2, release_counts=True, schema=SCHEMA).fit(data, data["risk"])
    where = clf.tree_.apply(data)
    for number, leaf in enumerate(clf.tree_.leaves):
        exact = [(where == number)[data["risk"] == label].sum() for label in SCHEMA.classes]
        assert np.abs(np.array(leaf.counts) - exact).max() <= 1  # scale 1/200: e^-200 for more
        assert exact[SCHEMA.classes.index(leaf.label)] == max(exact)  # any label, where there is no row


def test_without_counts_the_label_of_a_leaf_is_certain():
    data = people()
    clf = hr.PrivateTreeClassifier(1.0, release_counts=False, schema=SCHEMA).fit(data, data["risk"])
    assert not clf.tree_.has_counts
    assert set(clf.predict_proba(data).ravel().tolist()) == {0.0, 1.0}


@pytest.mark.statistics
@pytest.mark.parametrize("fits", [25, pytest.param(60, marks=pytest.mark.slow)])
def test_the_stop_probability_decides_the_tree_size_without_any_signal(fits):
    X = np.zeros((4, 6), dtype=bool)
    depths = []
    for stop in (0.95, 0.5, 0.05):
        fitted = [
            hr.PrivateTreeClassifier(1e-6, max_depth=3, stop_probability=stop, random_state=seed).fit(X, X[:, 0])
            for seed in range(fits)
        ]
        depths.append(np.mean([clf.tree_.depth for clf in fitted]))
    assert all(after - before > 0.3 for before, after in pairwise(depths))


def test_a_search_cost_is_that_of_the_states_that_are_visited():
    clf = hr.PrivateTreeClassifier(1.0, max_depth=3, schema=SCHEMA)
    visited, cost = states_visited(lambda: clf.fit(people(), people()["risk"])), clf.search_cost(SCHEMA)
    assert visited == cost.states
    assert cost.classes == 3
    assert cost.evaluations == cost.states * cost.options


def test_a_search_cost_needs_no_fit_and_is_checked_like_one():
    schema = Schema({f"x{i}": Boolean() for i in range(10)}, Label("y", (0, 1)))
    assert hr.PrivateTreeClassifier(1.0, max_depth=3).search_cost(schema) == masks_cost(SearchShape.of_trees(schema), 3)
    with pytest.raises(ValueError, match="max_depth must be a whole number"):
        hr.PrivateTreeClassifier(1.0, max_depth=-1).search_cost(schema)


def test_what_a_search_costs_is_told_on_stderr_and_only_if_asked_for(capsys):
    data = people()
    clf = hr.PrivateTreeClassifier(1.0, schema=SCHEMA)
    clf.fit(data, data["risk"])
    assert capsys.readouterr() == ("", "")
    clf.set_params(verbose=True).fit(data, data["risk"])
    out, err = capsys.readouterr()
    assert out == ""
    assert " ".join(err.split()).startswith(f"exact search: {clf.search_cost(SCHEMA)}")


WIDE = Schema({f"x{i}": Boolean() for i in range(300)}, Label("y", (0, 1)))


def test_a_too_large_search_is_refused_before_charging_and_counting(monkeypatch):
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    budget, X = hr.Budget(1), np.zeros((10, 300))
    clf = hr.PrivateTreeClassifier(1.0, search="exact", max_depth=5, schema=WIDE, budget=budget)
    for refused in (lambda: clf.fit(X, X[:, 0]), lambda: clf.search_cost(WIDE)):
        with pytest.raises(SearchTooLargeError, match="Use a smaller max_depth, fewer attributes") as error:
            refused()
        assert error.value.states == sum(comb(300, size) * 2**size for size in range(5))
        assert error.value.evaluations == 300 * error.value.states
    assert budget.spent == 0
    assert re.search(r"Draw fewer levels at a time \(lookahead=3\)\..*search='auto'", str(error.value))
    assert hr.PrivateTreeClassifier(1.0, max_depth=2).search_cost(WIDE).is_sensible
    monkeypatch.undo()
    clf.set_params(search="greedy", max_depth=1, budget=None).fit(X, X[:, 0])  # it needs no exact search


@pytest.mark.parametrize("search", ["auto", "greedy"])
def test_a_too_deep_greedy_tree_is_refused_before_charging_and_counting(monkeypatch, search):
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    budget, X = hr.Budget(1), np.zeros((10, 300))
    clf = hr.PrivateTreeClassifier(1.0, search=search, max_depth=13, schema=WIDE, budget=budget)
    for refused in (lambda: clf.fit(X, X[:, 0]), lambda: clf.search_cost(WIDE)):
        with pytest.raises(SearchTooLargeError, match=r"max_depth .*12 .*got 13"):
            refused()
    assert budget.spent == 0
    clf.set_params(max_depth=12, search="greedy").check_public()
    few = Schema({f"x{i}": Boolean() for i in range(6)}, Label("y", (0, 1)))
    clf.set_params(max_depth=64, schema=few).check_public()  # no branch has more than six tests


@pytest.mark.parametrize(
    ("search", "epsilon", "goal"), [("exact", 0.1, 0.02), ("exact", 0.02, 0.01), ("greedy", 1.0, 0.02)]
)
def test_a_private_tree_beats_the_majority_on_real_data(search, epsilon, goal):
    """Seeded, on the rows it was learned from: a check that it works at all, no benchmark."""
    data = hr.datasets.load("adult_binary").without_sensitive()
    tally = hr.Tally.count(data.frame, data.labels, data.schema)
    clf = hr.PrivateTreeClassifier(epsilon, max_depth=4, search=search, random_state=0).fit_tally(tally)
    majority = data.labels.value_counts(normalize=True).max()
    assert clf.score(data.frame, data.labels) - majority > goal


@pytest.mark.parametrize(("stop", "drawn"), [(0.1, "its depth and its labels"), ("auto", "its labels")])
def test_the_card_states_what_was_drawn(stop, drawn):
    X, _ = conjunction(2000)
    y = X[:, 0]
    clf = hr.PrivateTreeClassifier(1.0, max_depth=None, stop_probability=stop, random_state=0).fit(X, y)
    assert clf.score(X, y) == 1
    charge, _ = clf.privacy_.charges
    depth = min(5, X.shape[1])
    assert charge.purpose == f"draw of a tree of depth up to {depth} with {drawn}"
    assert clf.search_cost(clf.tree_.schema).states > 1


@pytest.mark.parametrize(("stop", "draws_size", "states"), [(0.1, True, 18), ("auto", False, 17)])
def test_the_depths_that_can_be_drawn_follow_from_the_cost(stop, draws_size, states, monkeypatch):
    schema = Schema({f"x{i}": Boolean() for i in range(8)}, Label("y", (False, True)))
    clf = hr.PrivateTreeClassifier(1.0, max_depth=None, stop_probability=stop)
    whole = specification_of(clf).search_plan(schema)
    assert (whole.blocks, whole.draws_size) == ((5,), draws_size)
    # Of depth 2 there are 17 states, and 1 of depth 1; each depth that can be drawn is searched anew.
    monkeypatch.setattr("hedgerow.learn.search.cost.MOST_STATES", states - 1)
    assert specification_of(clf).search_plan(schema).blocks == (1,)
    monkeypatch.setattr("hedgerow.learn.search.cost.MOST_STATES", states)
    assert specification_of(clf).search_plan(schema).blocks == (2,)
    monkeypatch.setattr("hedgerow.learn.search.cost.MOST_SECONDS", 0.0)
    assert specification_of(clf).search_plan(schema).blocks == ()


def numbers(attributes, cuts="auto"):
    return Schema({f"x{i}": Real(0, 1, cuts) for i in range(attributes)}, Number("y", 0, 8, levels=8))


@pytest.mark.parametrize(("attributes", "seconds", "every", "depth"), [(2, 8, 1, 5), (3, 0.16, 2, 3), (3, 0.045, 1, 2)])
def test_a_tree_uses_fewer_cut_points_if_three_levels_then_fit(attributes, seconds, every, depth, monkeypatch):
    monkeypatch.setattr("hedgerow.learn.search.cost.MOST_SECONDS", seconds)
    plan = specification_of(hr.PrivateTreeRegressor(1)).plan(numbers(attributes))
    assert plan.blocks == (depth,)
    assert plan.space.n_options == attributes * len(default_cuts(0, 1, whole=False)[::every])
    classes = replace(numbers(attributes), label=Label("y", tuple(range(8))))
    for learner, schema in (
        (hr.PrivateTreeRegressor(1, max_depth=3), numbers(attributes)),
        (hr.PrivateTreeRegressor(1, search="greedy"), numbers(attributes)),
        (hr.PrivateTreeClassifier(1), classes),
    ):
        plan = specification_of(learner).plan(schema)
        assert plan.space.n_options == attributes * len(default_cuts(0, 1, whole=False))


@pytest.mark.parametrize("seed", range(3))
def test_cut_points_that_a_search_leaves_out_change_no_draw(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = rng.random((400, 3))
    y = 4 * (X[:, 0] > 0.33) + 2 * (X[:, 1] > 0.57) * (X[:, 2] > 0.4)
    coarse = numbers(3, default_cuts(0, 1, whole=False)[::2])
    few = hr.PrivateTreeRegressor(2, max_depth=3, schema=coarse, random_state=seed).fit(X, y)
    monkeypatch.setattr("hedgerow.learn.search.cost.MOST_SECONDS", 0.16)
    tree = hr.PrivateTreeRegressor(2, schema=numbers(3), random_state=seed).fit(X, y)
    assert tree.tree_.root == few.tree_.root
    assert tree.tree_.schema == numbers(3)
    assert tree.privacy_.charges == few.privacy_.charges


def test_greedy_growth_draws_no_size():
    X, y = conjunction(2000)
    clf = hr.PrivateTreeClassifier(1000.0, search="greedy", random_state=0).fit(X, y)
    assert [charge.purpose for charge in clf.privacy_.charges[:-1]] == [
        f"choice of the tests of level {level}" for level in range(1, len(clf.privacy_.charges))
    ]
    assert 2 <= clf.tree_.depth <= 3


# Default prior: the probability of stopping rises with the depth and with epsilon


def prior_of(clf, schema=SCHEMA):
    return specification_of(clf).plan(schema).prior


@pytest.mark.parametrize(
    ("parameters", "share"),
    [
        ({}, Fraction(19, 20)),
        ({"max_depth": 2}, Fraction(19, 20)),
        ({"max_depth": 2, "release_counts": False}, 1),
        ({"max_depth": 3, "lookahead": 1}, Fraction(19, 60)),
        ({"max_depth": 4, "lookahead": 2, "release_counts": True}, Fraction(2, 5)),
    ],
)
def test_the_default_prior_follows_the_epsilon_of_each_draw(parameters, share):
    epsilon = Fraction(3, 4)
    assert prior_of(hr.PrivateTreeClassifier(epsilon, **parameters)) == STOP_RULE.prior(epsilon * share)


def test_the_default_prior_follows_the_epsilon_of_a_row():
    schema = replace(SCHEMA, unit=hr.Unit("person", max_rows=4))
    assert prior_of(hr.PrivateTreeClassifier(Fraction(1)), schema) == STOP_RULE.prior(Fraction(19, 80))


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"objective": "errors"}, STOP_RULE),
        ({"objective": "brier"}, STOP_RULE_OF_SHARES),
        ({"class_weight": {"high": 2}}, STOP_RULE_OF_SHARES),
    ],
)
def test_the_rule_follows_the_loss(parameters, rule):
    clf = hr.PrivateTreeClassifier(Fraction(1), release_counts=False, **parameters)
    assert prior_of(clf) == rule.prior(Fraction(1))


def test_blocks_below_continue_at_their_depth():
    plan = specification_of(hr.PrivateTreeClassifier(1.0, max_depth=4, lookahead=2)).plan(SCHEMA)
    assert plan.block(0).prior.log_odds(3) == plan.block(1).prior.log_odds(1) > plan.block(1).prior.log_odds(0)


def test_a_default_tree_is_smaller_than_one_with_a_constant_prior():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 6)).astype(bool)
    X[:, 3:] &= X[:, :3]
    y = X[:, 0] ^ (rng.random(300) < 0.3)

    def leaves(stop):
        options = {"max_depth": 4, "stop_probability": stop}
        fitted = (hr.PrivateTreeClassifier(0.3, random_state=seed, **options).fit(X, y) for seed in range(4))
        return [len(clf.tree_.leaves) for clf in fitted]

    assert max(leaves("auto")) < min(leaves(0.1))


@pytest.mark.parametrize("epsilon", [1e6, 2.0**40, 1e200])
def test_a_huge_epsilon_caps_the_prior_and_still_finds_the_rule(epsilon):
    X, y = conjunction(200)
    clf = hr.PrivateTreeClassifier(epsilon, random_state=0).fit(X, y)
    assert (clf.predict(X) == y).all()
    assert prior_of(clf, clf.tree_.schema).log_odds(4) == MOST_LOG_ODDS


GOLDEN = {  # predictions of version 0.2.0 for 24 rows, by three seeds
    "drawn depth": ({}, ["hllhllllhlllhllllhlllllh", "hmmhllmmhlmlhmllmhllmmmh", "hmlhmhmhhhmlhhlhhhhmlhmh"]),
    "depth 3": ({"max_depth": 3}, ["hmmhllmmhlmlhmllmhllmmmh", "hmmhllmmhlmlhmllmhllmmmh", "hmmhllhmhlmhhmllmhlhmmhh"]),
    "blocks": (
        {"max_depth": 3, "lookahead": 1},
        ["hhhhlhhhhlhhhhllhhhhhhhh", "mmhmhhmmmhhmhhhmhhhmhhmm", "hhmhmlhmhhmhllmmlhlhhlhh"],
    ),
    "mixed": (
        {"max_depth": 2, "objective": "mixed"},
        ["hllhllllhlllhllllhlllllh", "hmmhmmmmhmmmhmmmmhmmmmmh", "hmmhmmmmhmmmhmmmmhmmmmmh"],
    ),
    "counts": (
        {"max_depth": 3, "release_counts": True},
        ["mmmhllmmmlmlhmllmhllmmmh", "hhhhhmhhhhhhmmhhmhmhhmhh", "hmmhhhmmhhmhhmhhmhhhmmmh"],
    ),
}


@pytest.mark.parametrize(("parameters", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_a_constant_stop_probability_draws_the_models_of_version_0_2(parameters, expected):
    data, few, given = people(), people(24, seed=1), {"schema": SCHEMA, "stop_probability": 0.1, **parameters}
    for seed, labels in enumerate(expected):
        clf = hr.PrivateTreeClassifier(0.05, random_state=seed, **given).fit(data, data["risk"])
        assert "".join(label[0] for label in clf.predict(few)) == labels


@pytest.mark.parametrize("stop", [0.1, 0.5])
def test_a_greedy_search_refuses_a_stop_probability(stop):
    with pytest.raises(ValueError, match=rf"stop_probability must be 'auto' with search='greedy', got {stop}"):
        hr.PrivateTreeClassifier(1.0, search="greedy", stop_probability=stop).fit(*conjunction())


def test_a_rule_list_takes_no_automatic_stop_probability():
    with pytest.raises(ValueError, match=r"stop_probability .*got 'auto'"):
        hr.PrivateRuleListClassifier(1.0, stop_probability="auto").fit(*conjunction())
