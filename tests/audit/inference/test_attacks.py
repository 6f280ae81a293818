"""Attacks, each with a learner that must be caught, one that cannot be, and a slow or foreign version."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit import RandomForestAttack, membership
from tests.audit.inference.attempts import attempt, noisy_bits
from tests.peers import peer

TREE = DecisionTreeClassifier()


@pytest.mark.statistics
@pytest.mark.parametrize("attack", ["random-forest", "label-only"])
def test_a_tree_that_knows_its_rows_by_heart_is_caught(attack):
    result = membership(TREE, *noisy_bits(), attack=attack, repeats=5, random_state=0)
    assert result.auc > 0.6
    assert result.auc_interval[0] > 0.6
    assert result.tpr_at(0.1) > 0.1


@pytest.mark.statistics
@pytest.mark.parametrize("attack", ["random-forest", "label-only"])
def test_a_constant_is_not_caught(attack):
    constant = DummyClassifier(strategy="constant", constant=1)
    result = membership(constant, *noisy_bits(200), attack=attack, repeats=8, random_state=0)
    assert abs(result.auc - 0.5) < 4 * max(result.auc_standard_error, 1e-3)  # false alarm: 1 in 16,000
    low, high = result.auc_interval
    assert low <= 0.5 <= high


def test_the_forest_scores_the_share_of_members_among_similar_rows():
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
