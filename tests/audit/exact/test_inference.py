"""Inference of one row among candidates: by hand, beside membership and label inference, and by real draws."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.audit import exact_inference, exact_membership
from hedgerow.errors import ArgumentError, ArgumentTypeError

SCHEMA = hr.Schema(
    {"smoker": hr.Boolean(), "sex": hr.Categorical(("F", "M")), "age": hr.Integer(0, 99, (30, 60))},
    hr.Label("risk", ("high", "low")),
)
TREE = hr.PrivateTreeClassifier(epsilon=2.0, release_counts=False, max_depth=2, schema=SCHEMA)
LIST = hr.PrivateRuleListClassifier(epsilon=2.0, release_counts=False, max_rules=2, schema=SCHEMA)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"smoker": rng.random(n) < 0.5, "sex": rng.choice(["F", "M"], n), "age": rng.integers(0, 100, n)}
    )
    return frame, np.where(frame["smoker"] ^ (rng.random(n) < 0.3), "high", "low")


def candidates(*rows):
    frame = pd.DataFrame([row[:-1] for row in rows], columns=list(SCHEMA))
    return frame, [row[-1] for row in rows]


ALICE, BOB = (True, "F", 20, "high"), (False, "F", 70, "high")


@pytest.mark.parametrize("estimator", [TREE, LIST], ids=["tree", "list"])
def test_one_candidate_that_may_be_absent_is_membership_inference(estimator):
    frame, labels = people(15)
    others = candidates(ALICE)
    result = exact_inference(estimator, frame, labels, candidates=others, absent=0.5)
    assert result.advantage == pytest.approx(exact_membership(estimator, frame, labels, others=others).advantage[-1])


@pytest.mark.parametrize("estimator", [TREE, LIST], ids=["tree", "list"])
def test_two_labels_of_a_row_are_label_inference(estimator):
    frame, labels = people(15)
    others = candidates(ALICE, (*ALICE[:-1], "low"))
    result = exact_inference(estimator, frame, labels, candidates=others)
    assert result.advantage == pytest.approx(
        exact_membership(estimator, frame, labels, others=others).label_advantage[-1]
    )


def test_inference_of_a_constant_tree_by_hand():
    """Two labels, whose odds are e^(-w) for each error: a prior of 1/4 on a row of the other label."""
    X, y = np.zeros((3, 1)), np.array([0, 0, 1])
    learner = hr.PrivateTreeClassifier(epsilon=1.0, release_counts=False, max_depth=0)
    w = float(exact_membership(learner, X, y).weight)
    result = exact_inference(learner, X, y, candidates=(np.zeros((2, 1)), [0, 1]), prior=[0.75, 0.25])
    label_is_1 = [1 / (1 + np.exp(w * k)) for k in (2, 0)]  # one more row of 0: errors 3 and 1; of 1: 2 and 2
    chances = [[1 - p, p] for p in label_is_1]
    success = sum(max(0.75 * chances[0][v], 0.25 * chances[1][v]) for v in (0, 1))
    assert result.success == pytest.approx(success)
    assert result.baseline == 0.75
    assert result.advantage == pytest.approx(max(success - 0.75, 0) / 0.25)
    even = exact_inference(learner, X, y, candidates=(np.zeros((2, 1)), [0, 1]))
    assert even.advantage == pytest.approx(abs(chances[0][0] - chances[1][0]))


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_joint_errors_of_candidates_match_real_draws(draws):
    """Seeded. Chances of combinations of errors on three candidates, within four standard deviations."""
    frame, labels = people(8, seed=1)
    others = candidates(ALICE, BOB, (True, "M", 90, "low"))
    learner = hr.PrivateTreeClassifier(epsilon=2.0, release_counts=False, max_depth=1, schema=SCHEMA)
    result = exact_inference(learner, frame, labels, candidates=others)
    tally = hr.Tally.count(frame, labels, SCHEMA)
    seen = np.zeros(result.joint.shape)
    for seed in range(draws):
        learner = hr.PrivateTreeClassifier(
            epsilon=2.0, release_counts=False, max_depth=1, schema=SCHEMA, random_state=seed
        )
        wrong = learner.fit_tally(tally).predict(others[0]) != np.array(others[1])
        seen += (result.losses == wrong).all(axis=1) / draws
    assert result.joint.sum() == pytest.approx(1)
    assert (np.abs(seen - result.joint) <= 4 * np.sqrt(result.joint / draws) + 1e-3).all()
    assert (result.joint > 0.01).sum() >= 4


def test_advantage_on_two_candidates_is_at_most_the_sum_of_single_ones():
    """The attacker among two candidates gains less than both candidates' memberships together allow."""
    frame, labels = people(10, seed=2)
    both = exact_inference(TREE, frame, labels, candidates=candidates(ALICE, BOB))
    single = exact_membership(TREE, frame, labels, others=candidates(ALICE, BOB)).advantage[-2:]
    assert 0 < both.advantage <= single.sum()
    same = exact_inference(TREE, frame, labels, candidates=candidates(ALICE, ALICE))
    assert same.advantage == pytest.approx(0, abs=1e-9)
    sure = exact_inference(TREE, frame, labels, candidates=candidates(ALICE, BOB), prior=[0.99, 0.01])
    assert sure.advantage == pytest.approx(0, abs=1e-9)
    assert "advantage  " in str(both)
    assert repr(both) == "<ExactInference among 2 candidates; private>"


@pytest.mark.parametrize(
    ("learner", "arguments", "message"),
    [
        (TREE, {"prior": [0.5, 0.6]}, "prior"),
        (TREE, {"prior": [1.0]}, "prior"),
        (TREE, {"prior": [1.0, 0.0]}, "absent"),
        (TREE, {"absent": 1}, "absent must be"),
        (TREE, {"candidates": (candidates(ALICE)[0][:0], [])}, "candidates"),
        (hr.PrivateTreeClassifier(1.0, max_depth=1, schema=SCHEMA, release_counts=True), {}, "release_counts"),
    ],
)
def test_invalid_priors_and_candidates_raise(learner, arguments, message):
    frame, labels = people(5)
    with pytest.raises(ArgumentError, match=message):
        exact_inference(learner, frame, labels, **{"candidates": candidates(ALICE, BOB)} | arguments)


def test_wrong_types_of_inference_arguments_raise():
    frame, labels = people(5)
    with pytest.raises(ArgumentTypeError, match="estimator"):
        exact_inference(hr.GreedyRuleListClassifier(schema=SCHEMA), frame, labels, candidates=candidates(ALICE))
    with pytest.raises(ArgumentTypeError, match="candidates"):
        exact_inference(TREE, frame, labels, candidates=frame)
