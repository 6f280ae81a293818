"""Learners that are audited, and their names."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit import one_run_epsilon
from hedgerow.audit.empirical.learner import check_settings, learner_name


class Called:
    def __call__(self, X, y): ...


def test_a_learner_is_an_estimator_or_a_function_and_has_a_name():
    tree = DecisionTreeClassifier(max_depth=1)
    for learner, name in [(tree, "DecisionTreeClassifier(max_depth=1)"), (max, "max"), (Called(), "Called")]:
        check_settings(learner, None, 0.0, 0.95)
        assert learner_name(learner) == name


@pytest.mark.parametrize("claim", [0, -1.0, float("inf"), float("nan"), "1"])
def test_a_claim_is_a_finite_number_above_zero(claim):
    check_settings(max, 2, 0.0, 0.95)
    with pytest.raises(ValueError, match="claim"):
        check_settings(max, claim, 0.0, 0.95)


def test_guesses_may_be_as_many_as_canaries():
    asked = {"score": lambda *_: np.arange(4.0), "guesses": 4, "random_state": 0}
    assert one_run_epsilon(lambda *rows: rows, np.zeros((4, 1)), np.zeros(4), **asked).guesses == 4
