"""Learners, by which commands learn, and the estimators whose names they have."""

from inspect import signature

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn import learners
from hedgerow.privacy.noise import SeededNoise
from hedgerow.schema import Boolean, Integer, Label, Number, Schema

ATTRIBUTES = {"smoker": Boolean(), "age": Integer(0, 99, cuts=(30, 60))}
BINS = np.array([[i % 2, i % 3] for i in range(60)])
TARGETS = {False: Label("ill", (False, True)), True: Number("days", 0, 8, 4)}
KINDS = [
    (kind, makers is learners.REGRESSORS) for makers in (learners.CLASSIFIERS, learners.REGRESSORS) for kind in makers
]


@pytest.mark.parametrize(("kind", "of_number"), KINDS)
def test_a_learner_is_its_estimator_but_for_scikit_learns_part(kind, of_number):
    learner = (learners.REGRESSORS if of_number else learners.CLASSIFIERS)[kind]
    estimator = getattr(hr, learner.__name__)
    assert signature(learner) == signature(estimator)
    for name in ("takes_weights", "keeps_monotone", "predicts_number"):
        assert getattr(learner, name) == getattr(estimator, name)
    schema = Schema(ATTRIBUTES, TARGETS[of_number])
    counts = np.arange(60 * schema.target.n_levels).reshape(60, -1) % 7
    given = {"mechanism": "exponential"} if kind == "dp-greedyrl" else {}
    models = [
        make(2, random_state=SeededNoise(np.random.default_rng(3)), **given).fit_tally(hr.Tally(schema, BINS, counts))
        for make in (learner, estimator)
    ]
    assert models[0]._model.to_dict() == models[1]._model.to_dict()
