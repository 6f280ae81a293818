"""Learners, by which commands learn, and the estimators that are their faces in scikit-learn."""

from dataclasses import FrozenInstanceError, fields, replace
from inspect import signature
from typing import get_type_hints

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn import learners
from hedgerow.learn.contract import TallyEstimator, learner_of, specification_of
from hedgerow.privacy.noise import SeededNoise
from hedgerow.schema import Boolean, Integer, Label, Number, Schema

ATTRIBUTES = {"smoker": Boolean(), "age": Integer(0, 99, cuts=(30, 60))}
BINS = np.array([[i % 2, i % 3] for i in range(60)])
TARGETS = {False: Label("ill", (False, True)), True: Number("days", 0, 8, 4)}
KINDS = [
    (kind, makers is learners.REGRESSORS) for makers in (learners.CLASSIFIERS, learners.REGRESSORS) for kind in makers
]


@pytest.mark.parametrize(("kind", "of_number"), KINDS)
def test_an_estimator_is_the_face_of_its_learner(kind, of_number):
    learner = (learners.REGRESSORS if of_number else learners.CLASSIFIERS)[kind]
    estimator = getattr(hr, learner.estimator)
    assert learner_of(estimator) is learner
    own, *parameters = signature(estimator.__init__).parameters.values()
    assert (own.name, parameters) == ("self", list(signature(learner).parameters.values()))
    schema = Schema(ATTRIBUTES, TARGETS[of_number])
    counts = np.arange(60 * schema.target.n_levels).reshape(60, -1) % 7
    given = {"mechanism": "exponential"} if kind == "dp-greedyrl" else {}
    tally = hr.Tally(schema, BINS, counts)
    model, face = (
        make(2, random_state=SeededNoise(np.random.default_rng(3)), **given).fit_tally(tally)
        for make in (learner, estimator)
    )
    assert model.to_dict() == face._model.to_dict()


ESTIMATORS = [one for name in hr.__all__ if hasattr(one := getattr(hr, name), "fit") and hasattr(one, "predict")]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_estimator_or_learner_has_more_than_five_of_our_classes(estimator):
    chains = [estimator.__mro__]
    if issubclass(estimator, TallyEstimator):
        chains.append(learner_of(estimator).__mro__)
    for chain in chains:
        assert len([item for item in chain if item.__module__.startswith("hedgerow.")]) <= 5


@pytest.mark.parametrize("estimator", [item for item in ESTIMATORS if issubclass(item, TallyEstimator)])
def test_an_estimator_declares_the_types_of_its_learners_parameters(estimator):
    """For type checkers: `parameters_of` alone gives the types of arguments, not those of attributes."""
    learner, declared = learner_of(estimator), get_type_hints(estimator)
    parameters = {field.name for field in fields(learner) if field.init}
    assert {name: declared.get(name) for name in parameters} == {
        name: hint for name, hint in get_type_hints(learner).items() if name in parameters
    }


@pytest.mark.parametrize("estimator", [item for item in ESTIMATORS if issubclass(item, TallyEstimator)])
def test_a_specification_is_frozen_and_checked_when_it_is_made(estimator):
    private = {"epsilon": 1} if "epsilon" in signature(estimator).parameters else {}
    more = {"delta": 1e-9} if estimator is hr.DPGreedyRLClassifier else {}
    learner = specification_of(estimator(**private, **more))
    assert specification_of(learner) is learner
    with pytest.raises(FrozenInstanceError):
        learner.schema = None
    with pytest.raises(ArgumentError, match="schema must be a Schema"):
        replace(learner, schema=3)


def test_what_is_no_estimator_of_ours_has_no_specification():
    with pytest.raises(ArgumentTypeError, match="expected a hedgerow estimator, got LogisticRegression"):
        specification_of(LogisticRegression())


class Shallow(hr.PrivateTreeClassifier):
    """An estimator of a user's, with fewer parameters."""

    def __init__(self, epsilon=1.0):
        super().__init__(epsilon, max_depth=1, random_state=0)
        self.epsilon = epsilon


def test_a_subclass_may_have_parameters_of_its_own():
    X = np.array([[0, 1], [1, 0]] * 100)
    result = clone(Shallow(2.0)).fit(X, X[:, 0])
    assert result.get_params() == {"epsilon": 2.0}
    assert result.privacy_.epsilon == 2
    assert result.tree_.depth == 1
    assert result.search_cost(result.tree_.schema).states >= 1


@pytest.mark.parametrize("estimator", [item for item in ESTIMATORS if hasattr(item, "caveats")])
def test_without_a_fit_an_estimator_has_no_caveats_whatever_its_parameters(estimator):
    """As of any fitted attribute: `inspect.getmembers` and notebooks look at all of them."""
    assert not hasattr(estimator(), "caveats")
    assert not hasattr(estimator(schema=3), "caveats")


def test_caveats_describe_the_fitted_model_after_set_params():
    X = np.array([[0, 1], [1, 0]] * 100)
    result = hr.PrivateTreeClassifier(1, max_depth=1, search="greedy", random_state=0).fit(X, X[:, 0])
    assert result.set_params(epsilon=None).caveats == ()


@pytest.mark.parametrize("estimator", [item for item in ESTIMATORS if issubclass(item, TallyEstimator)])
def test_an_estimator_names_itself_if_it_has_no_such_parameter(estimator):
    with pytest.raises(TypeError, match=f"^{estimator.__name__}: got an unexpected keyword argument 'depths'"):
        estimator(depths=2)
    with pytest.raises(TypeError, match=f"^{estimator.__name__}: too many positional arguments"):
        estimator(1.0, 2)
    with pytest.raises(TypeError, match=r"Did you mean 'schema'\?"):
        estimator(shema=None)
