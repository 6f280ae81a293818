"""Learners that are audited, and their names."""

import pytest
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit.empirical.learner import check_claim, check_factor, check_learner, learner_name


class Called:
    def __call__(self, X, y): ...


def test_a_learner_is_an_estimator_or_a_function_and_has_a_name():
    for learner, name in [(DecisionTreeClassifier(max_depth=1), "DecisionTreeClassifier(max_depth=1)"), (max, "max")]:
        check_learner(learner)
        assert learner_name(learner) == name
    check_learner(Called())
    assert learner_name(Called()) == "Called"


@pytest.mark.parametrize("claim", [0, -1.0, float("inf"), float("nan"), "1"])
def test_a_claim_is_a_finite_number_above_zero(claim):
    check_claim(None)
    check_claim(2)
    with pytest.raises(ValueError, match="claim must be a number > 0 or None"):
        check_claim(claim)


def test_a_loss_is_above_the_claim():
    check_factor(1.1)
    with pytest.raises(ValueError, match="factor must be a number > 1"):
        check_factor(float("nan"))
