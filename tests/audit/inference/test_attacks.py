"""Attacks, each with a learner that must be caught, one that cannot be, and a slow or foreign version."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import Attempt, LabelOnlyAttack, RandomForestAttack, membership
from hedgerow.audit.inference.labelled import LabelledRows
from tests.learn.tables import SCHEMA, people
from tests.peers import peer

TREE = DecisionTreeClassifier()


def noisy_bits(n=600, width=12, noise=0.3, seed=0):
    """Return bits, and labels that are the first of them in all but a share `noise` of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, width))
    return X, X[:, 0] ^ (rng.random(n) < noise)


def attempt(predict, X, y, *, known=0.7, schema=None, seed=0):
    """Return what an attacker has whose members are the first half of the rows."""
    half, split = len(X) // 2, int(len(X) // 2 * known)
    order = np.arange(len(X))
    members, others = order[:half], order[half:]
    return Attempt(
        LabelledRows.of(X, y),
        predict,
        predict(X),
        members[:split],
        others[:split],
        np.concatenate([members[split:], others[split:]]),
        schema,
        np.random.default_rng(seed),
    )


@pytest.mark.parametrize("attack", ["random-forest", "label-only"])
def test_a_tree_that_knows_its_rows_by_heart_is_caught(attack):
    found = membership(TREE, *noisy_bits(), attack=attack, repeats=5, random_state=0)
    assert found.auc > 0.6
    assert found.auc_interval[0] > 0.6
    assert found.tpr_at(0.1) > 0.1


@pytest.mark.parametrize("attack", ["random-forest", "label-only"])
def test_a_constant_is_not_caught(attack):
    constant = DummyClassifier(strategy="constant", constant=1)
    found = membership(constant, *noisy_bits(200), attack=attack, repeats=40, random_state=0)
    assert abs(found.auc - 0.5) < 4 * max(found.auc_standard_error, 1e-3)  # false alarm: 1 in 16,000
    low, high = found.auc_interval
    assert low <= 0.5 <= high


def test_the_forest_tells_what_share_of_like_rows_are_members():
    X, y = np.zeros((400, 1)), np.tile([0, 1], 200)
    predictions = y.copy()
    predictions[200::4] = 1  # others of class 0 are wrong in half of the cases
    scores = RandomForestAttack().scores(attempt(lambda _: predictions, X, y))
    wrong = scores[60:][predictions[340:] != y[340:]]
    right = scores[60:][(predictions[340:] == 0) & (y[340:] == 0)]
    assert wrong.max() < 0.01
    assert right == pytest.approx(2 / 3, abs=0.1)  # of rows predicted 0 that are 0, twice as many are members


@pytest.mark.peers("art")
def test_the_forest_scores_as_the_adversarial_robustness_toolbox_does():
    inference = peer("art.attacks.inference.membership_inference")
    classification = peer("art.estimators.classification")
    X, y = noisy_bits(1000)
    target = DecisionTreeClassifier(random_state=0).fit(X[:500], y[:500])
    made = attempt(target.predict, X, y)
    ours = RandomForestAttack().scores(made)

    black_box = classification.BlackBoxClassifier(
        lambda x: np.eye(2)[target.predict(x)], input_shape=(X.shape[1],), nb_classes=2
    )
    theirs = inference.MembershipInferenceBlackBox(black_box, attack_model_type="rf")
    theirs.attack_model.set_params(random_state=int(np.random.default_rng(0).integers(2**31)))
    x = X.astype(np.float32)
    theirs.fit(x[made.members], y[made.members], x[made.non_members], y[made.non_members])
    expected = theirs.infer(x[made.suspects], y[made.suspects], probabilities=True)[:, 0]
    np.testing.assert_allclose(ours, expected, atol=1e-12)
    assert len(np.unique(ours)) > 1


def test_robustness_is_the_share_of_flips_that_leave_the_label():
    # predicted is the first of 5 bits: a flip of d bits leaves it with chance 1 - d/5, 0.6 on average for d = 1, 2, 3
    X, _ = noisy_bits(400, width=5)
    y = X[:, 0].copy()
    y[::10] ^= 1
    made = attempt(lambda table: table[:, 0], X, y)
    scores = LabelOnlyAttack(max_distance=3, draws=200).scores(made)
    right = X[made.suspects, 0] == y[made.suspects]
    assert (scores[~right] == 0).all()
    draws = 200 * right.sum()
    spread = (sum(d / 5 * (1 - d / 5) for d in (1, 2, 3)) / draws) ** 0.5 / 3 / 2
    assert abs(scores[right].mean() - (0.5 + 0.6 / 2)) < 4 * spread  # false alarm: 1 in 16,000
    assert scores[right].std() > 0


def test_rows_far_from_the_boundary_score_higher():
    # predicted is whether at least 4 of 8 bits are true
    X = np.random.default_rng(0).integers(0, 2, (200, 8))
    y = X.sum(axis=1) >= 4
    made = attempt(lambda table: table.sum(axis=1) >= 4, X, y)
    scores, size = LabelOnlyAttack(max_distance=3).scores(made), X[made.suspects].sum(axis=1)
    assert scores[size >= 7].min() > scores[size == 4].max()


def test_copies_are_drawn_in_batches_of_bounded_size(monkeypatch):
    monkeypatch.setattr("hedgerow.audit.inference.label_only._MOST_ROWS", 50)
    X, y = noisy_bits(100)
    seen = []

    def predict(table):
        seen.append(len(table))
        return y if len(table) == 100 else table[:, 0]

    LabelOnlyAttack(max_distance=2, draws=3).scores(attempt(predict, X, y, known=0.8))
    assert max(seen[1:]) <= 50
    assert sum(seen[1:]) == 2 * 3 * 20


def test_the_attributes_of_a_frame_are_changed_by_the_schema_of_the_model():
    frame = people(300)
    target = hr.GreedyRuleListClassifier(schema=SCHEMA)
    by_model = membership(target, frame, frame["risk"], attack="label-only", repeats=2, random_state=0)
    given = membership(target, frame, frame["risk"], attack=LabelOnlyAttack(SCHEMA), repeats=2, random_state=0)
    np.testing.assert_array_equal(by_model.aucs, given.aucs)
    assert str(by_model).startswith("attack   label-only, up to 4 attributes perturbed, 10 copies each\n")


@pytest.mark.parametrize("options", [{"max_distance": 0}, {"draws": 1.5}, {"draws": True}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match="must be a whole number >= 1"):
        LabelOnlyAttack(**options)
