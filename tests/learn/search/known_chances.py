"""What a draw does on a tiny table, by listing every model with its probability."""

from collections import Counter

import numpy as np

from hedgerow.learn.search.lattice import InnerNode
from hedgerow.learn.search.sampler import ModelSampler
from hedgerow.tally import Tally
from tests.learn.draws import plan_of, quiet
from tests.learn.enumerate_models import all_worlds


def whole_tally(table):
    """The table with every world as a pattern, those without rows, too."""
    worlds, counts = all_worlds(table.schema), Counter()
    for bins, label, times in table.rows:
        counts[bins, label] += times
    classes = range(len(table.schema.classes))
    rows = np.array([[counts[world, k] for k in classes] for world in worlds])
    return Tally(table.schema, np.array(worlds, dtype=np.uint8), rows)


def listed_chances(found, table, weight):
    """The chances of values by world, of the first option, and how often each is taken, model by model."""
    worlds, n = all_worlds(found.schema), found.space.n_options
    values, first, uses = np.zeros((len(worlds), found.n_values)), np.zeros(n + 1), np.zeros(n)
    for model, logarithm in found.log_probabilities(table, weight).items():
        chance = float(logarithm.exp())
        for place, world in enumerate(worlds):
            values[place, found.value_of(model, world)] += chance
        first[model.option + 1 if isinstance(model, InnerNode) else 0] += chance
        for option in taken(model):
            uses[option] += chance
    return values, first, uses


def taken(model):
    if isinstance(model, InnerNode):
        yield model.option
        yield from taken(model.caught)
        yield from taken(model.left)


def chances(found, table, weight, states):
    return ModelSampler(whole_tally(table), plan_of(found), states, quiet).chances(float(weight))


def check(found, table, weight, states):
    """Check chances against a list of all models."""
    seen = chances(found, table, weight, states)
    values, first, uses = listed_chances(found, table, weight)
    np.testing.assert_allclose(seen.values, values, rtol=1e-9, atol=1e-30)
    np.testing.assert_allclose(seen.first, first, rtol=1e-9, atol=1e-30)
    np.testing.assert_allclose(seen.uses, uses, rtol=1e-9, atol=1e-30)
    np.testing.assert_allclose(seen.sizes, [1])
