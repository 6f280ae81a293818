"""Noise that the caller hands in carries no guarantee, whatever it says of itself."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.privacy.noise import SecureNoise, SeededNoise

ROWS = pd.DataFrame({"a": [0, 1, 1, 0] * 10, "age": range(40)})
Y = [0, 1, 1, 0] * 10
REASON = "noise from a source other than hedgerow's"


class Silent:
    """A source without noise that claims to be secure."""

    no_guarantee_reason, description = None, "OpenDP, cryptographic generator of OpenSSL"

    def prepare(self, mechanism):
        return lambda values: mechanism.simulate(values, np.random.default_rng(0))


class Claiming(SecureNoise):
    """A source of a derived type."""


SOURCES = {
    "silent": Silent(),
    "derived": Claiming(),
    "seeded": SeededNoise(np.random.default_rng(0), no_guarantee_reason=None),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("search", ["greedy", "exact"])
@pytest.mark.claim("Custom noise sources have no guarantee")
def test_a_model_of_another_source_has_no_guarantee(name, search):
    budget = hr.Budget(3)
    clf = hr.PrivateTreeClassifier(1, max_depth=1, search=search, budget=budget, random_state=SOURCES[name])
    card = clf.fit(ROWS[["a"]], Y).privacy_
    assert (card.is_private, card.no_guarantee_reason, budget.no_guarantee_reason) == (False, REASON, REASON)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.claim("Custom noise sources have no guarantee")
def test_nor_has_an_oracles_answer(name):
    oracle = hr.Oracle(ROWS[["a"]].astype(bool), Y, hr.Budget(1), random_state=SOURCES[name])
    oracle.marginals(hr.Schema({"a": hr.Boolean(missing="bin")}))
    assert (oracle.privacy.is_private, oracle.privacy.no_guarantee_reason) == (False, REASON)


@pytest.mark.parametrize("name", SOURCES)
def test_nor_have_learned_cut_points(name):
    declared, budget = hr.Schema({"age": hr.Integer(0, 99)}), hr.Budget(1)
    learned = hr.Schema.learn(ROWS[["age"]], declared, epsilon=1, budget=budget, random_state=SOURCES[name])
    assert {charge.no_guarantee_reason for charge in learned.charges} == {REASON}
    assert budget.no_guarantee_reason == REASON


def test_secure_noise_that_is_handed_in_is_hedgerows():
    clf = hr.PrivateTreeClassifier(1, max_depth=1, random_state=SecureNoise()).fit(ROWS[["a"]], Y)
    assert clf.privacy_.is_private


def test_what_is_no_source_is_refused_before_a_charge():
    declared, budget = hr.Schema({"age": hr.Integer(0, 99)}), hr.Budget(1)
    with pytest.raises(ValueError, match="random_state must be None, a whole number, a numpy"):
        hr.Schema.learn(ROWS[["age"]], declared, epsilon=1, budget=budget, random_state="secure")
    assert budget.spent == 0
