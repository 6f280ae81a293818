"""One row added or removed moves the true answers no further than is declared: recorded where noise is added."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from tests.learn.replay import Recorder
from tests.marginals.tables import ALL, BINS, FRAMES, ONE, ROW, SOME, Judge, slow_counts, split

ROWS = st.lists(ROW, max_size=9)
JUDGES = st.builds(
    Judge,
    st.sampled_from([-5.0, 2.5, 9.0]),
    st.sampled_from([None, "unseen", "?"]),
    st.sampled_from([None, "unseen", "?"]),
)
RELEASES = ["counts", "counts in rho", "gaussian"]


def budget_of(release, epsilon=1, delta=1e-6):
    """Return a budget that adds up rho or not, whose cap on rho does not limit epsilon."""
    return hr.Budget(epsilon, delta, rho=10_000 if release == "counts in rho" else None)


def recorded(rows, kind, release, *questions, noise=None, budget=None):
    """Return an oracle, and what its noise source was given: (mechanism, true answer, noisy answer) a question."""
    recorder = Recorder(noise or SeededNoise(np.random.default_rng(0)))
    options = {"release": release.split()[0], "run_code": True, "random_state": recorder}
    oracle = hr.Oracle(*split(FRAMES[kind](rows)), budget or budget_of(release), len(questions), **options)
    for bins, hypothesis in questions:
        oracle.marginals(bins) if hypothesis is None else oracle.error_marginals(bins, hypothesis)
    return oracle, recorder.trace


@pytest.mark.parametrize("release", RELEASES)
@given(
    kind=st.sampled_from([*FRAMES]),
    rows=ROWS,
    row=ROW,
    place=st.integers(0, 9),
    bins=st.sampled_from(BINS),
    judge=JUDGES,
)
def test_true_answers_are_counts_and_neighbours_are_as_far_as_declared(kind, release, rows, row, place, bins, judge):
    questions = (bins, None), (bins, judge), (bins, Always(True))
    _, item = recorded(rows, kind, release, *questions)
    _, other = recorded([*rows[:place], row, *rows[place:]], kind, release, *questions)
    assert item[0][1].ravel().tolist() == slow_counts(bins, rows)
    for (_, true, _), predict in zip(item[1:], (judge.one, lambda _: True), strict=True):
        wrong = slow_counts(bins, rows, lambda row, predict=predict: predict(row) is not row["label"])
        right = slow_counts(bins, rows, lambda row, predict=predict: predict(row) is row["label"])
        assert true.ravel().tolist() == wrong + right
    for (mechanism, before, _), (same, after, _) in zip(item, other, strict=True):
        assert mechanism == same
        change = np.abs(after - before)
        assert change.sum() == len(bins)  # a row is in one bin of each attribute: exactly d in ℓ1
        assert change.max() == 1
        assert mechanism.distance(before, after) <= mechanism.sensitivity
        assert mechanism.sensitivity == declared(release, len(bins))
        if release == "counts":
            assert mechanism.distance(before, after) == mechanism.sensitivity == 1


def declared(release, attributes):
    """Return the sensitivity to a row: of shared noise 1, in ℓ1 the number of attributes, in ℓ2 its root."""
    return {"counts": 1, "counts in rho": attributes, "gaussian": np.sqrt(attributes)}[release]


@pytest.mark.parametrize("release", RELEASES)
@given(rows=ROWS, row=ROW, place=st.integers(0, 9), bins=st.sampled_from(BINS), words=st.permutations("abc"))
def test_a_row_changes_as_many_counts_of_classes_as_there_are_attributes(release, rows, row, place, bins, words):
    """However many classes there are."""
    traces = []
    for table in (rows, [*rows[:place], row, *rows[place:]]):
        frame = FRAMES["polars"](table).drop("label")
        of = [next(word for word in "abc" if _is(each, word, words)) for each in table]
        recorder = Recorder(SeededNoise(np.random.default_rng(0)))
        options = {"classes": tuple("abc"), "release": release.split()[0], "random_state": recorder}
        hr.Oracle(frame, np.array(of, dtype=str), budget_of(release), 1, **options).class_marginals(bins)
        slow = [slow_counts(bins, table, lambda each, word=word: _is(each, word, words)) for word in "abc"]
        ((mechanism, true, _),) = recorder.trace
        assert (true if true.ndim == 2 else true.reshape(-1, 3).T).tolist() == slow
        traces.append((mechanism, true))
    (mechanism, before), (same, after) = traces
    assert mechanism == same
    assert np.abs(after - before).sum() == len(bins)
    assert np.abs(after - before).max() == 1
    assert mechanism.sensitivity == declared(release, len(bins))
    assert mechanism.distance(before, after) <= mechanism.sensitivity


def _is(row, word, words):
    """Return whether a row has a class: by its label and its age."""
    return word == (words[0] if row["label"] else words[1 + (row["age"] > 17)])


@pytest.mark.parametrize("release", RELEASES)
def test_what_is_declared_is_what_the_noise_is_scaled_to(release):
    """λ = d·(questions)/ε in counts (EXPRIL eq. 14), or less if noise is shared; σ grows as √d with Gaussian noise."""
    asked, budget = (ONE, ALL, SOME), budget_of(release, 2)
    oracle, trace = recorded([], "polars", release, *((bins, None) for bins in asked), budget=budget)
    scales = [oracle.noise_scale(bins.sizes) for bins in asked]
    laplace = [1 * 3 / 2, 4 * 3 / 2, 2 * 3 / 2]
    if release == "counts":
        assert scales[0] == laplace[0]
        assert [mechanism.noise.scale for mechanism, _, _ in trace[1:]] == scales[1:]
        assert 0.5 * laplace[1] < scales[1] < 0.9 * laplace[1]
    elif release == "counts in rho":
        assert scales == pytest.approx(laplace)
        assert [float(mechanism.sensitivity / mechanism.epsilon) for mechanism, _, _ in trace] == scales
    else:
        assert scales == pytest.approx([scales[0], 2 * scales[0], np.sqrt(2) * scales[0]], rel=5e-3)  # margins
        assert [mechanism.scale / np.sqrt(2) for mechanism, _, _ in trace] == pytest.approx(scales)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("budget", [(1, 1e-6), (0.1, 1e-9), (7, 1e-3), (0.1, 0.1)])
@pytest.mark.parametrize("questions", [1, 2, 3, 7])
def test_all_questions_together_cost_exactly_the_budget(release, budget, questions):
    asked = [(BINS[i % 3], None if i % 2 else Always(True)) for i in range(questions)]
    budget = budget_of(release, *budget)
    oracle, trace = recorded([], "polars", release, *asked, budget=budget)
    assert budget.spent == budget.epsilon == sum(charge.epsilon for charge in budget.charges)
    costs = [
        mechanism.epsilon for mechanism, _, _ in trace
    ]  # later Gaussian answers cost nothing, but have no guarantee
    assert [charge.epsilon for charge in budget.charges] == costs
    assert costs[0] > 0 == sum(costs[1:]) if release == "gaussian" else all(costs)
    secure, spent = budget_of(release, budget.epsilon, budget.delta), [cost for cost in costs if cost]
    unrecorded = hr.Oracle(*split(FRAMES["polars"]([])), secure, questions, release=release.split()[0])
    for bins, hypothesis in asked:
        unrecorded.marginals(bins) if hypothesis is None else unrecorded.error_marginals(bins, hypothesis)
    assert [charge.epsilon for charge in secure.charges] == spent
    assert oracle.privacy.charges == budget.charges
    assert oracle.privacy.epsilon == budget.epsilon
    assert oracle.privacy.delta == (budget.delta if release == "gaussian" else 0)


@pytest.mark.parametrize("release", RELEASES)
def test_secure_noise_is_what_an_oracle_uses(release):
    rows = [{"flag": True, "word": "r", "size": 1.0, "age": 20, "label": True}] * 4000
    oracle, trace = recorded(rows, "polars", release, (ALL, None), noise=SecureNoise())
    (_, true, noisy), scale = trace[0], oracle.noise_scale(ALL.sizes)
    assert list(noisy) != true.tolist()
    assert np.abs(np.array(noisy) - true).max() < 60 * scale  # e⁻⁶⁰ by chance
    untouched = hr.Oracle(*split(FRAMES["polars"](rows)), budget_of(release), release=release.split()[0])
    assert untouched._noise == SecureNoise()
