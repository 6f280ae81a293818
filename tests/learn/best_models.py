"""The best rule list and the best tree by trying all of them, row by row; and small problems to try them on."""

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from types import SimpleNamespace

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from hedgerow import Tally
from hedgerow.learn.search.branch_and_bound import prune
from hedgerow.learn.search.lattice import LeafNode
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.optimum import best_leaf
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.schema import Boolean, Candidates, Categorical, Integer, Label, Schema
from tests.learn.objectives import objective_of
from tests.schema.values import holds

VALUES = {
    Boolean(): [True, False],
    Boolean(missing="bin"): [True, False, None],
    Categorical(("a", "b", "c")): ["a", "b", "c"],
    Categorical(("a", "b"), outside="bin"): ["a", "b", "z"],
    Integer(0, 9, (2, 4, 6), outside="clip"): [0, 3, 5, 99],
    Integer(0, 9, (3, 5), missing="bin"): [1, 4, 8, None],
}
"""Kinds of attributes, each with values that reach all of its bins."""


def pruned(rows, settings, deadline=np.inf):
    """Return the optimum by branch and bound, from the best leaf."""
    return prune(rows, settings, best_leaf(rows.weights.sum(axis=1), rows.loss), deadline, lambda *_: None)


@dataclass(frozen=True)
class Problem:
    """A small table and the space of models over it."""

    schema: Schema
    rows: tuple
    space: Space
    candidates: tuple = (("max_literals", 1), ("negations", True))
    """For lists, the parameters that make the space."""

    @cached_property
    def tally(self):
        frame = pd.DataFrame(list(self.rows), columns=[*self.schema, "y"], dtype=object)
        return Tally.count(frame, frame["y"].astype("int64"), self.schema)

    @cached_property
    def labels(self):
        return [row["y"] for row in self.rows]

    @cached_property
    def facts(self):
        """Which rows satisfy each option, one literal at a time."""
        return [self.satisfying(antecedent) for antecedent in self.space.antecedents]

    def satisfying(self, antecedent):
        return frozenset(
            i
            for i, row in enumerate(self.rows)
            if all(holds(self.schema[x.attribute], x, row[x.attribute]) for x in antecedent)
        )

    def wrong(self, rows):
        labels = [self.labels[i] for i in rows]
        return len(labels) - max((labels.count(label) for label in set(labels)), default=0)

    def cost(self, rows, objective="errors"):
        """The least loss of some rows in one leaf: under each value in turn, row by row."""
        if objective == "errors":
            return self.wrong(rows)
        loss = loss_of(objective, len(self.schema.classes))
        each = [loss.table[self.labels[i]] for i in rows]
        return Fraction(min(sum(row[value] for row in each) for value in range(len(loss.values))), loss.steps)

    def least(self, depth, min_rows=0, penalty=Fraction(0), objective="errors"):
        """The smallest objective of any model, by trying each option in each place."""
        facts, is_tree = self.facts, CAUGHT in self.space.branches

        @cache
        def cost(rows):
            return self.cost(rows, objective)

        @cache
        def least(rows, depth):
            result = [cost(rows)]
            for fact in facts if depth else ():
                caught, left = rows & fact, rows - fact
                if min(len(caught), len(left) if is_tree else len(caught)) >= min_rows:
                    inside = least(caught, depth - 1) if is_tree else cost(caught)
                    result.append(penalty + inside + least(left, depth - 1))
            return min(result)

        return least(frozenset(range(len(self.rows))), depth)


@cache
def loss_of(objective, n_classes):
    return Loss.of(objective_of(objective, n_classes), n_classes, FINE_STEPS)


def make_problem(seed, kind=None, most_rows=24):
    """Make a problem of rule lists or of trees, as `kind` says: rows of a few patterns, each mostly of one class."""
    rng = np.random.default_rng(seed)

    def pick(values):
        return values[rng.integers(len(values))]

    classes = tuple(range(rng.integers(2, 4)))
    kinds = {f"x{i}": pick(list(VALUES)) for i in range(pick([1, 2, 3, 4, 4]))}
    schema = Schema(kinds, Label("y", classes))
    patterns = [{name: pick(VALUES[kind]) for name, kind in kinds.items()} | {"y": pick(classes)} for _ in range(20)]
    patterns = patterns[: pick([1, 6, 10, 15, 20])]
    noise = pick([0.0, 0.1, 0.5])
    rows = [dict(pick(patterns)) for _ in range(most_rows if rng.integers(2) else rng.integers(1, most_rows + 1))]
    rows = tuple(row | {"y": pick(classes)} if rng.random() < noise else row for row in rows)
    if (kind or pick(["list", "tree"])) == "tree":
        return Problem(schema, rows, Space.of_trees(schema))
    made = {"max_literals": 1 + (len(kinds) < 3) * int(rng.integers(2)), "negations": bool(rng.integers(2))}
    return Problem(schema, rows, Space.of_lists(Candidates.of(schema, **made)), tuple(made.items()))


def problems(kind=None, most_rows=24):
    """Generate problems. All comes from one seed: generated part by part, most would be trivial."""
    return st.integers(0, 2**32 - 1).map(lambda seed: make_problem(seed, kind, most_rows))


def leaves_of(problem, model, rows=None, depth=0):
    """Yield (rows, value, depth) of each leaf of a model, and (rows, None, depth) of what each option catches."""
    rows = frozenset(range(len(problem.rows))) if rows is None else rows
    if isinstance(model, LeafNode):
        yield rows, model.value, depth
        return
    fact = problem.satisfying(problem.space.antecedents[model.option])
    yield rows & fact, None, depth
    yield from leaves_of(problem, model.caught, rows & fact, depth + 1)
    yield from leaves_of(problem, model.left, rows - fact, depth + 1)


def account(problem, model, objective="errors"):
    """Return (loss, options, depth, smallest support) of a model, row by row."""
    parts, loss = list(leaves_of(problem, model)), loss_of(objective, len(problem.schema.classes))
    leaves = [(rows, value, depth) for rows, value, depth in parts if value is not None]
    lost = sum(Fraction(loss.table[problem.labels[i]][value], loss.steps) for rows, value, _ in leaves for i in rows)
    caught = [rows for rows, value, _ in parts if value is None]
    supports = caught if CAUGHT not in problem.space.branches else [rows for rows, _, _ in leaves] if caught else []
    depth = max(depth for _, _, depth in leaves)
    return lost, len(caught), depth, min(map(len, supports), default=len(problem.rows))


def as_given(problem, settings):
    """Return the settings as the search takes them: with tables in the place of their names."""
    return replace(settings, objective=objective_of(settings.objective, len(problem.schema.classes)))


def least(problem, settings):
    return problem.least(settings.depth, settings.min_rows, settings.penalty, settings.objective)


def check_model(problem, settings, found):
    """Check that the model is one within the terms, and that its objective is its own, all row by row."""
    loss, options, depth, support = account(problem, found.model, settings.objective)
    assert found.objective == loss + settings.penalty * options
    assert depth <= settings.depth
    assert not options or support >= max(settings.min_rows, 1)


def clock(ticks):
    """A clock that is early until it has been read so often, and then late."""
    readings = itertools.chain([0.0] * ticks, itertools.repeat(1e9))
    return SimpleNamespace(monotonic=lambda: next(readings))
