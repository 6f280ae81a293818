"""Tables of weighted rows, and the draw from all trees by its definition, and by all ways that a fit can go."""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.contract import specification_of
from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import STOP_RULE
from tests.learn.draws import Scripted
from tests.learn.enumerate_models import Models, Table, all_worlds, chance, executions

STEPS = 4
WEIGHT = hr.Weight("w", 2, STEPS)  # half a unit a step
TINY = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Label("y", (False, True)), weight=WEIGHT)
KINDS = list(product((False, True), repeat=3))  # rows: a, b, y
WEIGHED = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, STEPS)), max_size=8)


def table_of(rows):
    """Return rows, given as ((a, b, y), steps), as a frame."""
    cells = [(*row, WEIGHT.high * steps / STEPS) for row, steps in rows]
    return pd.DataFrame(cells, columns=["a", "b", "y", "w"]).astype({"a": bool, "b": bool, "y": bool, "w": float})


def by_definition(rows, weight, objective="errors", depth=1):
    """Return the probability of each model by fact 3, a row of so many steps having that share of a row's loss."""
    space = Space.of_trees(replace(TINY, weight=None))
    prior = STOP_RULE.prior(Fraction(1, STEPS))  # a draw costs a step's share of ε
    result = Models(space, depth, objective=objective, by_depth=prior)
    counted = Table(TINY, tuple(((a, b), int(y), Fraction(steps, STEPS)) for (a, b, y), steps in rows))
    chances = defaultdict(float)
    for model, value in result.log_probabilities(counted, weight).items():
        chances[tuple(result.value_of(model, world) for world in all_worlds(TINY))] += float(value.exp())
    return chances


def by_fits(rows, **parameters):
    """Return the probability of each model, through `fit`, by going every way that its draw can go."""
    table, worlds = table_of(rows), np.array(all_worlds(TINY))
    chances = defaultdict(float)

    def fitted(choose):
        tree = hr.PrivateTreeClassifier(1, schema=TINY, random_state=Scripted(choose), **parameters).fit(table, table.y)
        return tuple(tree.predict(worlds).astype(int).tolist())

    for predictions, draws in executions(fitted):
        chances[predictions] += np.exp(chance(draws))
    return chances


def weight_of_a_row(**parameters):
    estimator = hr.PrivateTreeClassifier(1, schema=TINY, **parameters)
    return STEPS * specification_of(estimator).plan(TINY).mechanism.weight
