"""Audits by one run, of learners whose loss is known and of some without privacy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import one_run_epsilon
from hedgerow.audit.empirical.one_run import epsilon_bound, own_label, right_guesses

pytestmark = pytest.mark.statistics

RNG = np.random.default_rng(0)
SURE = 1 - 1e-6
ROWS = np.arange(300)[:, np.newaxis], np.zeros(300, dtype=bool)
STRIPES = np.arange(240.0)[:, np.newaxis], np.arange(240) % 2  # a row that is left out gets its neighbours' label
SCHEMA = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Label("y", (False, True)))


def responds(epsilon, seed=0, n=300):
    """A learner that answers by randomised response whether each of `n` rows is there; seeded, whoever ran before."""
    rng = np.random.default_rng([seed, 1])

    def response(X, y):  # noqa: ARG001
        there = np.isin(np.arange(n), X[:, 0])
        return there ^ (rng.random(n) < 1 / (1 + np.exp(epsilon)))

    return response


def answers(fitted, X, y):  # noqa: ARG001
    return fitted[X[:, 0]]


def audited(fit, **options):
    return one_run_epsilon(fit, *ROWS, score=answers, **options)


def test_the_bound_on_randomised_response_is_close_and_valid():
    """Of 100 audits at 80 % at most 20 % may exceed it, less 5 deviations; half of ε is seen in most."""
    result = [
        audited(responds(1.0, seed), guesses=300, confidence=0.8, random_state=seed).epsilon for seed in range(100)
    ]
    assert np.mean(np.array(result) > 1) < 0.2 + 5 * np.sqrt(0.2 * 0.8 / 100)
    assert np.median(result) > 0.5


@pytest.mark.parametrize(("loses", "refuted"), [(1.0, False), (2.0, True)])
def test_a_response_with_half_its_noise_is_caught(loses, refuted):
    result = audited(responds(loses), guesses=300, claim=1.0, confidence=0.999, random_state=0)
    assert result.refutes == refuted
    assert result.power(2.0) > 0.99


def test_a_memorising_learner_is_refuted():
    result = one_run_epsilon(DecisionTreeClassifier(), *STRIPES, claim=1.0, confidence=0.999, random_state=0)
    assert result.refutes
    assert result.mu > 0


def test_a_private_tree_is_not_refuted():
    X, y = RNG.random((400, 2)) < 0.5, RNG.random(400) < 0.5
    learner = hr.PrivateTreeClassifier(1.0, max_depth=2, schema=SCHEMA)
    assert not one_run_epsilon(learner, X, y, claim=1.0, confidence=SURE, random_state=1).refutes


def test_exact_counts_with_single_row_leaves_are_refuted():
    """A count of 0 or 1 for each row tells everything."""

    def counted(X, y):  # noqa: ARG001
        return np.bincount(X[:, 0], minlength=300)

    result = audited(counted, claim=3.0, random_state=0)
    assert result.refutes
    assert result.right == result.guesses
    assert result.epsilon == pytest.approx(epsilon_bound(result.right, result.guesses, 300, 0, 0.05 / result.tried))


def test_only_canaries_are_ever_left_out_and_about_half_of_them():
    seen = []

    def keeps(X, y):  # noqa: ARG001
        seen.append(X[:, 0])
        return np.zeros(300)

    mask = np.arange(300) % 3 == 0
    result = audited(keeps, canaries=mask, random_state=0)
    left_out = np.setdiff1d(np.arange(300), seen[0])
    assert mask[left_out].all()
    assert (result.canaries, result.included) == (100, 100 - len(left_out))
    assert 25 < result.included < 75
    assert audited(keeps, canaries=40, random_state=0).canaries == 40


def test_equal_scores_are_guessed_by_chance():
    def nothing(X, y):  # noqa: ARG001
        return np.zeros(300)

    right = [audited(nothing, guesses=300, random_state=seed).right for seed in range(40)]
    assert abs(np.mean(right) - 150) < 5 * np.sqrt(300 / 4 / 40)


def test_guesses_are_the_highest_and_the_lowest_scores():
    included = np.array([True, True, False, False, True])
    scores = np.array([0.9, 0.1, 0.2, 0.8, 0.5])
    for guesses, right in [(2, 1), (3, 1), (4, 2), (5, 3)]:
        high = scores >= np.sort(scores)[::-1][(guesses + 1) // 2 - 1]
        low = scores <= np.sort(scores)[guesses // 2 - 1]
        slow = int((high & included).sum() + (low & ~high & ~included).sum())
        assert right_guesses(scores, included, guesses, RNG) == slow == right


def test_default_scores_are_label_probabilities_or_correctness():
    X, y = np.array([[0.0], [1.0]]), np.array(["no", "yes"])
    assert own_label(DecisionTreeClassifier().fit(X, y), X, y[::-1]).tolist() == [0, 0]
    assert own_label(LinearSVC().fit(X, y), X, y).tolist() == [1, 1]


def test_frames_and_text_labels_are_taken():
    frame = pd.DataFrame(STRIPES[0], columns=["a"], index=range(5, 245))
    labels = pd.Series(np.where(STRIPES[1], "yes", "no"), index=range(5, 245))
    result = one_run_epsilon(DecisionTreeClassifier(), frame, labels, random_state=0)
    assert result.epsilon > 1
    assert one_run_epsilon(DecisionTreeClassifier(), frame, labels.tolist(), random_state=0) == result


def test_the_text_has_the_bound_the_claim_and_the_power():
    result = audited(responds(1.0), claim=1.0, random_state=0)
    text = str(result)
    assert "learner     response" in text
    assert "300 canaries" in text
    assert "epsilon = 1: not refuted" in text
    assert "power       " in text
    assert repr(result) == f"<OneRunEpsilon of response: at least {result.epsilon:.4g}>"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"confidence": 1}, ValueError, "confidence"),
        ({"delta": 1.0}, ValueError, "delta"),
        ({"claim": 0}, ValueError, "claim"),
        ({"fit": DecisionTreeClassifier}, TypeError, "fit"),
        ({"canaries": 1}, ValueError, "canaries"),
        ({"canaries": 301}, ValueError, "got 301"),
        ({"canaries": np.zeros(2, dtype=bool)}, ValueError, "canaries"),
        ({"canaries": np.zeros(300, dtype=bool)}, ValueError, "at least two canaries"),
        ({"guesses": 1}, ValueError, "guesses"),
        ({"guesses": 301}, ValueError, "got 301"),
        ({"score": lambda *_: 1.0}, ValueError, "score"),
        ({"score": None}, TypeError, "ndarray"),
    ],
)
def test_invalid_audit_arguments_raise(options, kind, message):
    given = {"fit": responds(1.0), "score": answers} | options
    with pytest.raises(kind, match=message):
        one_run_epsilon(given.pop("fit"), *ROWS, **given)


def test_refutes_and_power_need_a_claim():
    result = audited(responds(1.0), random_state=0)
    with pytest.raises(ValueError, match="claim"):
        assert result.refutes
    for factor in (1, float("nan")):
        with pytest.raises(ValueError, match="factor"):
            result.power(factor)
