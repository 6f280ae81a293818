"""Every private learner, run on a table and replayed on its neighbours with the noisy answers frozen."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn import blocks, greedy, plans, releases
from hedgerow.learn.releases import ReleaseRunner
from hedgerow.learn.scorecard import class_plan, counts, fit
from hedgerow.learn.search import cost
from hedgerow.learn.search import sampler as exact
from hedgerow.learn.search.pairs import Pairs
from hedgerow.learn.search.sampler import ModelSampler
from hedgerow.learn.search.space import Space
from hedgerow.privacy.gini import Gini, split_scores
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from tests.learn.learners import (
    EXACT_LIST,
    EXACT_TREE,
    GREEDY_LIST,
    GREEDY_TREE,
    LEARNERS,
    PATIENT,
    SCORECARD,
    TWO,
    given_to,
    released,
)
from tests.learn.replay import Recorder, Replayer
from tests.learn.tables import ROW, SCHEMA, frame


def learner(estimator, **parameters):
    """Return what fits the estimator with a given source of noise."""

    def learn(table, source):
        given = {"schema": SCHEMA, **given_to(estimator), "random_state": source, **parameters}
        return type(estimator)(**given).fit(table, table["risk"])

    return learn


def learn_cuts(table, source):
    declared = hr.Schema({"age": hr.Integer(0, 120), "dose": hr.Real(0.0, 1.0, missing="bin", outside="clip")})
    return hr.Schema.learn(table, declared, epsilon=1.0, bins=3, random_state=source)


def check(learn, rows, row, source, epsilon=1):
    """Record on one table, replay on the other, both ways: the same noisy answers must make the same model."""
    item, other = frame(rows), frame([*rows, row])
    for table, neighbour in ((item, other), (other, item)):
        recorder = Recorder(source)
        result = learn(table, recorder)
        spent = sum((mechanism.epsilon for mechanism, _, _ in recorder.trace), Fraction(0))
        is_scorecard = getattr(recorder.trace[-1][0], "handicap", None) is not None  # it was kept: no leaf is counted
        assert epsilon * Fraction(9, 10) <= spent <= epsilon if is_scorecard else spent == epsilon
        replayer = Replayer(recorder.trace)
        assert released(learn(neighbour, replayer)) == released(result), "the neighbouring table changed the model"
        replayer.finish(epsilon)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("examples", [3, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.claim("so a single charge covers all of them")
@pytest.mark.claim("No candidate is dropped because of its support")
def test_private_learners_do_the_same_on_neighbouring_tables(examples, name):
    estimator, choices = LEARNERS[name]
    schema, rows_of = (TWO, PATIENT) if name.endswith("of two classes") else (SCHEMA, ROW)
    parameters = st.fixed_dictionaries({key: st.sampled_from(values) for key, values in choices.items()})

    @settings(max_examples=examples)
    @given(st.lists(rows_of, max_size=30), rows_of, parameters, st.none() | st.integers(0, 2**32))
    def same(rows, row, parameters, seed):
        source = SecureNoise() if seed is None else SeededNoise(np.random.default_rng(seed))
        check(learner(estimator, schema=schema, **parameters), rows, row, source, parameters.get("epsilon", 1))

    same()


@pytest.mark.parametrize("examples", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_learning_cut_points_does_the_same_on_neighbouring_tables(examples):
    @settings(max_examples=examples)
    @given(st.lists(ROW, max_size=30), ROW)
    def same(rows, row):
        check(learn_cuts, rows, row, SecureNoise())

    same()


@pytest.mark.parametrize("max_rules", [3, 4])
@pytest.mark.parametrize("examples", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_lists_drawn_by_pairs_do_the_same_on_neighbouring_tables(monkeypatch, examples, max_rules):
    """Two rules jointly by pairs, whatever masks would cost; then, of three, one more."""
    for differences in (True, False):
        monkeypatch.setitem(cost._SECONDS, ("masks", differences), (1.0, 0.0, 0.0, 0.0, 0.0))
    estimator = hr.PrivateRuleListClassifier(1.0, search="exact", max_literals=2, max_rules=max_rules, lookahead=2)
    recorder = Recorder(SecureNoise())
    learner(estimator)(frame(ROWS), recorder)
    *draws, _ = recorder.trace  # the last release is that of the counts
    assert [type(sampler._states) for _, sampler, _ in draws] == [Pairs] * (max_rules - 2)

    @settings(max_examples=examples)
    @given(rows=st.lists(ROW, max_size=30), row=ROW)
    def same(rows, row):
        check(learner(estimator), rows, row, SecureNoise())

    same()


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("classes", [2, 3, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.claim("The releases and their shares depend only on released values")
def test_every_release_of_a_scorecard_is_replayed(classes, delta):
    """Much epsilon, for residuals; less, for totals, too; a choice among attributes; and very many classes."""
    names = tuple(f"{i:03}" for i in range(classes))
    schema = hr.Schema(SCHEMA.attributes, hr.Label("risk", names))
    rows = [{**item, "risk": names[i % classes]} for i, item in enumerate(ROWS * 5)]
    for place, (n, most, epsilon) in enumerate(((0, 2, 1000), (100, 2, 1000), (100, None, 1000), (100, None, 30))):
        learn = learner(SCORECARD, schema=schema, epsilon=epsilon, max_attributes=most, delta=delta)
        check(learn, rows[:n], {**NEW, "risk": names[(0, 1, -1)[place % 3]]}, SecureNoise(), epsilon)
    queries = [charge.query for charge in learn(frame(rows), SEEDED).privacy_.charges]
    codes = {query.code for query in queries}
    assert ("bin_residuals" in codes) == (classes == 2)
    assert ("class_residuals" in codes) == (classes > 2)
    assert any(query.get("by") == "lead" for query in queries) == (classes > 2)


ROWS = [
    {"smoker": bool(i % 2), "sex": "F", "age": 20 + i, "dose": 0.3, "risk": ["high", "low"][i % 2]} for i in range(20)
]
NEW = {"smoker": True, "sex": "M", "age": 90, "dose": None, "risk": "mid"}
SEEDED = SeededNoise(np.random.default_rng(1))


@pytest.mark.parametrize("estimator", [GREEDY_LIST, GREEDY_TREE], ids=["lists", "trees"])
def test_the_replay_catches_a_sensitivity_declared_too_small(estimator, monkeypatch):
    monkeypatch.setattr(Gini, "sensitivity", 2**18)
    with pytest.raises(AssertionError, match="further than declared"):
        check(learner(estimator), ROWS, {**NEW, "smoker": True, "risk": "high"}, SEEDED)


@pytest.mark.parametrize("estimator", [GREEDY_LIST, GREEDY_TREE], ids=["lists", "trees"])
@pytest.mark.claim("No candidate is dropped because of its support")
def test_the_replay_catches_candidates_filtered_by_their_support(estimator, monkeypatch):
    """What SSRL's released code does (docs/privacy.md): the candidates that are left depend on the rows."""

    def filtered(_, caught, total):
        return split_scores(caught[caught.sum(axis=1) > 0], total)

    monkeypatch.setattr(Gini, "split_scores", filtered)
    with pytest.raises(AssertionError, match="question"):
        check(learner(estimator), ROWS, NEW, SEEDED)


@pytest.mark.parametrize("estimator", [EXACT_LIST, EXACT_TREE], ids=["lists", "trees"])
def test_the_replay_detects_options_of_a_draw_filtered_by_support(estimator, monkeypatch):
    def filtered(tally, plan, gate, *more, draw=exact.draw_model):
        space = plan.space
        kept = tally.class_counts(space.candidates)[space.options].sum(axis=1) > 0
        fewer = Space(space.candidates, space.options[kept], space.branches, space.root)
        return draw(tally, replace(plan, space=fewer), gate, *more)

    monkeypatch.setattr(blocks, "draw_model", filtered)
    with pytest.raises(AssertionError, match=r"question|mechanism"):
        check(learner(estimator), ROWS, NEW, SEEDED)


@pytest.mark.parametrize("estimator", [EXACT_LIST, EXACT_TREE], ids=["lists", "trees"])
def test_the_replay_detects_states_of_a_draw_that_depend_on_the_rows(estimator, monkeypatch):
    def pruned(self, tally, plan, levels, progress, make=ModelSampler.__init__):
        make(self, tally, plan, levels[: tally.total().sum() - 19], progress)

    monkeypatch.setattr(ModelSampler, "__init__", pruned)
    with pytest.raises(AssertionError, match="question"):
        check(learner(estimator), ROWS, NEW, SEEDED)


def test_the_replay_catches_a_stop_that_looks_at_the_rows(monkeypatch):
    def stopping(tally, candidates, most, choose, grow=greedy.grow):
        return grow(tally, candidates, most if tally.total().sum() > 20 else 1, choose)

    monkeypatch.setattr(plans, "grow", stopping)
    with pytest.raises(AssertionError, match=r"neighbouring table"):
        check(learner(GREEDY_LIST), ROWS, NEW, SEEDED)


def test_the_replay_catches_a_tree_whose_depth_looks_at_the_rows(monkeypatch):
    def stopping(tally, space, most, choose, grow=greedy.grow_tree):
        return grow(tally, space, most if tally.total().sum() > 20 else 1, choose)

    monkeypatch.setattr(plans, "grow_tree", stopping)
    with pytest.raises(AssertionError, match=r"neighbouring table"):
        check(learner(GREEDY_TREE), ROWS, NEW, SeededNoise(np.random.default_rng(2)))


def test_the_replay_catches_nodes_left_out_because_they_hold_no_rows(monkeypatch):
    def growing(tally, space, most, choose):
        def answered(query, level):
            nodes = query()
            asked = [i for i, (_, total) in enumerate(nodes) if (total > 0).sum() > 1]  # impure, hence not empty
            picks = iter(choose(lambda: [nodes[i] for i in asked], level))
            return [next(picks) if i in asked else len(caught) for i, (caught, _) in enumerate(nodes)]

        return greedy.grow_tree(tally, space, most, answered)

    monkeypatch.setattr(plans, "grow_tree", growing)
    with pytest.raises(AssertionError, match="question"):
        check(learner(GREEDY_TREE), ROWS[:1], NEW, SEEDED)


@pytest.mark.parametrize("estimator", [EXACT_LIST, EXACT_TREE], ids=["lists", "trees"])
def test_the_replay_catches_an_exact_draw_whose_depth_looks_at_the_rows(estimator, monkeypatch):
    def shallow(tally, plan, *more, draw=exact.draw_model):
        return draw(tally, replace(plan, depth=1 if tally.total().sum() <= 20 else 2), *more)

    monkeypatch.setattr(blocks, "draw_model", shallow)
    with pytest.raises(AssertionError, match=r"question|mechanism"):
        check(learner(estimator), ROWS, NEW, SEEDED)


def test_the_replay_catches_blocks_left_out_because_no_rows_are_left(monkeypatch):
    def ending(plan, tally, *more, draw=blocks.ListDrawPlan.draw):
        if tally.total().sum() > 20:
            plan = replace(plan, blocks=plan.blocks[:1])
        return draw(plan, tally, *more)

    monkeypatch.setattr(blocks.ListDrawPlan, "draw", ending)
    monkeypatch.setattr(ReleaseRunner, "finish", lambda _: None)  # which would refuse it before the replay
    with pytest.raises(AssertionError, match=r"neighbouring table"):
        check(learner(EXACT_LIST, lookahead=1, release_counts=False), ROWS, NEW, SEEDED)


@pytest.mark.parametrize("estimator", [EXACT_LIST, EXACT_TREE], ids=["lists", "trees"])
@pytest.mark.claim("An added row raises the number of errors of every ℓ by 0 or 1")
def test_the_replay_catches_rows_that_count_twice_in_an_exact_draw(estimator, monkeypatch):
    def doubled(self, tally, *more, make=ModelSampler.__init__):
        make(self, hr.Tally(tally.schema, tally._bins, 2 * tally._counts), *more)

    monkeypatch.setattr(ModelSampler, "__init__", doubled)
    with pytest.raises(AssertionError, match="further than declared"):
        check(learner(estimator), ROWS, NEW, SEEDED)


def test_the_replay_catches_labels_that_are_read_off_the_rows(monkeypatch):
    def labelling(plan, tally, *more, draw=blocks.ListDrawPlan.draw):
        antecedents, _ = draw(plan, tally, *more)
        return antecedents, tuple(tally.leaf_counts(antecedents).argmax(axis=1))

    monkeypatch.setattr(blocks.ListDrawPlan, "draw", labelling)
    with pytest.raises(AssertionError, match="changed the model"):
        check(learner(EXACT_LIST, max_rules=1), ROWS, {**NEW, "risk": "low"}, SEEDED)


def test_the_replay_catches_an_exact_draw_whose_weight_looks_at_the_rows(monkeypatch):
    def heavier(tally, plan, runner, query, progress):
        levels = exact.exhaustive_levels(plan.space, plan.depth)
        fair = runner.mechanism("tree_draw")
        draw = replace(fair, weight=fair.weight / max(int(tally.total().sum()), 1))
        return runner.release(lambda: ModelSampler(tally, plan, levels, progress), query, draw)

    monkeypatch.setattr(blocks, "draw_model", heavier)
    monkeypatch.setattr(releases, "_costs_no_more", lambda *_: True)  # which would refuse it before the replay
    with pytest.raises(AssertionError, match="mechanism"):
        check(learner(EXACT_TREE), ROWS, NEW, SEEDED)


def test_the_replay_catches_residuals_of_chances_that_depend_on_the_rows(monkeypatch):
    def residuals(tally, base, make=counts.Residuals):
        return make(tally, base + float(tally.total().sum() > 20))

    monkeypatch.setattr(class_plan, "Residuals", residuals)
    with pytest.raises(AssertionError, match="further than declared"):
        check(learner(SCORECARD, schema=TWO, epsilon=1000), ROWS, {**NEW, "risk": "low"}, SEEDED, 1000)


def test_the_replay_detects_rows_with_unclipped_features(monkeypatch):
    monkeypatch.setattr(counts, "_in_part", lambda *_, **__: 100 * counts.IN_PART)
    with pytest.raises(AssertionError, match="further than declared"):
        check(learner(SCORECARD, schema=TWO, epsilon=1000), ROWS, {**NEW, "risk": "low"}, SEEDED, 1000)


def test_the_replay_detects_associations_by_exact_class_shares(monkeypatch):
    def associations(tally, _, ask=counts.associations):
        exact = tally.total() + 1
        return ask(tally, counts.in_steps(exact / exact.sum()))

    monkeypatch.setattr(counts, "associations", associations)
    with pytest.raises(AssertionError, match="further than declared"):
        check(learner(SCORECARD, max_attributes=1, epsilon=1000), ROWS, NEW, SEEDED, 1000)


def test_the_replay_detects_a_sensitivity_of_two_classes_used_for_three(monkeypatch):
    monkeypatch.setattr(class_plan, "_residual_sensitivity", lambda _: 1)
    with pytest.raises(AssertionError, match="further than declared"):
        check(learner(SCORECARD, epsilon=1000), ROWS * 2, NEW, SEEDED, 1000)


@pytest.mark.claim("The releases and their shares depend only on released values")
def test_the_replay_detects_releases_that_depend_on_the_number_of_rows(monkeypatch):
    def enough(self, *_):
        return self._tally.total().sum() > 20

    monkeypatch.setattr(fit.Fit, "_is_enough", enough)
    with pytest.raises(AssertionError, match=r"mechanism|c(hang|aus)ed"):
        check(learner(SCORECARD), ROWS, NEW, SEEDED)
