"""Draws in tests: choices that a script makes, tables, and what is compared."""

from contextlib import contextmanager
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.search.lattice import Search
from hedgerow.learn.search.sampler import Draw, ModelSampler, draw_model
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import Siblings
from hedgerow.schema import Boolean
from tests.learn.enumerate_models import Table, chance, executions, schema_of

ALARM = 1e-6
A_DRAW = Fact("tree_draw", depth=2, values="labels")
FACTORS = [Fraction(7, 10), Fraction(13, 10)]
EPSILONS = [Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(10)]
SIZES = [6, pytest.param(400, marks=pytest.mark.slow)]
DRAWS = [700, pytest.param(10_000, marks=pytest.mark.slow)]


class Scripted:
    """A noise source that leaves every choice to a function."""

    no_guarantee_reason, description = "scripted", "scripted"

    def __init__(self, choose):
        self.choose = choose

    def prepare(self, mechanism):
        if isinstance(mechanism, Siblings):
            item = self.prepare(mechanism.each)
            return lambda samplers: [item(sampler) for sampler in samplers]
        return lambda sampler: sampler.sample(float(mechanism.weight), self.choose)


def quiet(_):
    """Progress that nobody looks at."""


def draw(table, plan, epsilon, source):
    gate = Gate(hr.Budget(epsilon), source)
    return draw_model(table.tally, plan, drawing(plan, epsilon, gate), A_DRAW, quiet)


def drawing(plan, epsilon, gate):
    """Return a runner of one draw."""
    return ReleaseRunner((PlannedRelease(A_DRAW.code, plan.mechanism(epsilon)),), gate)


@contextmanager
def valued_once():
    """Keep the values of a search that is done many times over, on one table with one weight."""
    kept, sweep = {}, Search.sweep

    def once(self, **options):
        if len(self.levels) not in kept:
            kept[len(self.levels)] = sweep(self, **options)
        return kept[len(self.levels)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "sweep", once)
        yield


@contextmanager
def valued_once_each():
    """Keep mechanisms and states of searches that are done many times over, and values: by plan; by rows and weight."""
    kept, states, models, loss, mechanism = {}, Draw.states, ModelSampler._models, Draw.loss.func, Draw.mechanism

    def key(plan):
        return plan.space.options.tobytes(), plan.space.root.tobytes(), plan.sizes, plan.objective, plan.prior

    def states_once(self):
        if key(self) not in kept:
            kept[key(self)] = states(self)
        return kept[key(self)]

    def loss_once(self):
        valued = self.objective, self.space.candidates.schema.target.n_levels, self.row_loss
        if valued not in kept:
            kept[valued] = loss(self)
        return kept[valued]

    def mechanism_once(self, epsilon):
        charged = *key(self), self.space.branches, self.depth, self.siblings, self.loss, epsilon
        if charged not in kept:
            kept[charged] = mechanism(self, epsilon)
        return kept[charged]

    def models_once(self, weight):
        bins, counts = self._tally.bins_and_counts()
        valued = *key(self._plan), bins.tobytes(), counts.tobytes(), weight
        if valued not in kept:
            kept[valued] = models(self, weight)
        return kept[valued]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Draw, "loss", property(loss_once))
        patch.setattr(Draw, "mechanism", mechanism_once)
        patch.setattr(Draw, "states", states_once)
        patch.setattr(ModelSampler, "_models", models_once)
        with weighed_once():
            yield


@contextmanager
def weighed_once():
    """Keep what walks through a search weigh at a position, which many walks come to."""
    kept, weigh = {}, Search.weigh

    def once(self, depth, chosen, rows, following):
        if len(chosen) != 1:
            return weigh(self, depth, chosen, rows, following)
        key = id(self), depth, int(chosen[0]), rows.tobytes()
        if key not in kept:
            kept[key] = self, weigh(self, depth, chosen, rows, following)  # itself too, so that none has its id
        return kept[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "weigh", once)
        yield


class Keeping:
    """A noise source that keeps what it is to draw from, and the weight."""

    no_guarantee_reason, description = "keeping", "keeping"

    def prepare(self, mechanism):
        self.weight = float(mechanism.weight)
        return lambda sampler: vars(self).update(sampler=sampler)


def probabilities(table, plan, epsilon):
    """The log-probability of every model as the implementation draws it: by the sampler that the gate was given."""
    result, kept = {}, Keeping()
    draw(table, plan, epsilon, kept)
    kept.sampler._models = cache(kept.sampler._models)
    with weighed_once():
        for model, draws in executions(lambda choose: kept.sampler.sample(kept.weight, choose)):
            assert model not in result
            result[model] = chance(draws)
    return result


def plan_of(models):
    return Draw(models.space, models.depth, models.stop_prior, objective=models.given_objective)


TWO = schema_of(Boolean(), Boolean(missing="bin"))
MIXED_ROWS = Table(
    TWO,
    (((0, 0), 0, 5), ((0, 1), 1, 4), ((0, 1), 0, 2), ((1, 0), 1, 3), ((1, 1), 0, 2), ((1, 2), 1, 1), ((0, 2), 0, 1)),
)


def frequencies(outcomes, expected):
    places = {outcome: place for place, outcome in enumerate(expected)}
    return np.bincount([places[outcome] for outcome in outcomes], minlength=len(places)), list(expected.values())


def in_floats(logarithms):
    chances = {model: float(value.exp()) for model, value in logarithms.items()}
    assert sum(chances.values()) == pytest.approx(1)
    return chances


class Reweighted(ModelDraw):
    """A draw of another weight than it records, since a record of more than its epsilon is refused."""

    @property
    def record(self):
        return Fact("model_draw", weight=self.epsilon, loss=self.loss, kept=Fraction(0))


def reweighted(monkeypatch, factor):
    mechanism = Draw.mechanism

    def heavier(self, epsilon):
        result = vars(mechanism(self, epsilon))
        return Reweighted(**result | {"weight": result["weight"] * factor})

    monkeypatch.setattr(Draw, "mechanism", heavier)


def loss(log_probabilities, neighbours):
    """The largest difference of log-probabilities, either way."""
    assert log_probabilities.keys() == neighbours.keys(), "the keys differ"
    return max(abs(log_probabilities[key] - neighbours[key]) for key in log_probabilities)
