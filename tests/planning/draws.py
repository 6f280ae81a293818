"""Many models drawn from one table, whose states are computed once."""

from fractions import Fraction

import numpy as np

from hedgerow.learn.contract import specification_of
from hedgerow.learn.search.sampler import ModelSampler
from hedgerow.planning.bounds import WholeDraw
from hedgerow.privacy.exponential_mechanism import seeded_choice


def drawn_models(estimator, tally, times):
    """Return so many models, drawn with seeded noise as the estimator draws one."""
    draw, mechanism = WholeDraw.of(specification_of(estimator), tally.schema).at(Fraction(estimator.epsilon))
    weight = float(mechanism.weight)
    models = ModelSampler(tally, draw, draw.states(), lambda _: None)._models(weight)
    choose, totals = seeded_choice(np.random.default_rng(0)), np.array([models.total(size) for size in draw.sizes])

    def value(counts):
        return choose(-weight / draw.loss.steps * draw.loss.totals(counts))

    return [models.walk(draw.sizes[choose(totals)], choose, value) for _ in range(times)]
