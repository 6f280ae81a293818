"""Many models drawn from one table, whose states are computed once."""

import numpy as np

from hedgerow.learn.search.sampler import ModelSampler
from hedgerow.planning import expected
from hedgerow.privacy.exponential_mechanism import seeded_choice


def whole_draw(estimator, schema):
    plan = expected._whole_plan(estimator, schema)
    return plan.draw.block(0), float(plan.mechanism.weight)


def drawn_models(estimator, tally, times):
    """Return so many models, drawn with seeded noise as the estimator draws one."""
    draw, weight = whole_draw(estimator, tally.schema)
    models = ModelSampler(tally, draw, draw.states(), lambda _: None)._models(weight)
    choose, totals = seeded_choice(np.random.default_rng(0)), np.array([models.total(size) for size in draw.sizes])

    def value(counts):
        return choose(-weight / draw.loss.steps * draw.loss.totals(counts))

    return [models.walk(draw.sizes[choose(totals)], choose, value) for _ in range(times)]
