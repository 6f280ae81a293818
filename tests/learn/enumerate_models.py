"""Tiny tables, and all rule lists or trees of a space one by one: too simple to be wrong, and too slow for more.

Nothing here looks at the search. Which options are open is decided by listing the *worlds*, all combinations of schema
bins; priors are fractions; losses are summed by sending every row through the model; logarithms have 60 digits.
"""

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import cache, cached_property
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import strategies as st

from hedgerow.learn.search import losses
from hedgerow.learn.search.lattice import InnerNode, LeafNode
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean, Candidates, Categorical, Integer, Label, Real, Schema
from hedgerow.tally import Tally
from tests.learn.objectives import ANY_TABLE, TABLES, objective_of

constant = StopPrior.constant
PRECISE = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)


@dataclass(frozen=True)
class Table:
    """Rows of a schema, as (bins, class, how many of them)."""

    schema: Schema
    rows: tuple[tuple[tuple[int, ...], int, int], ...]

    @property
    def tally(self):
        counts = {bins: [0] * self.schema.target.n_levels for bins, _, _ in self.rows}
        for bins, label, times in self.rows:
            counts[bins][label] += times
        return Tally(
            self.schema,
            np.array(list(counts), dtype=np.uint8).reshape(-1, len(self.schema)),
            np.array(list(counts.values()), dtype=np.int64).reshape(-1, self.schema.target.n_levels),
        )

    def plus(self, bins, label):
        return replace(self, rows=(*self.rows, (bins, label, 1)))

    def only(self, worlds):
        return replace(self, rows=tuple(row for row in self.rows if row[0] in worlds))


def all_worlds(schema):
    return list(product(*(range(len(schema[name].bins)) for name in schema)))


def holds(schema, antecedent, world):
    return all(schema[x.attribute].truth(x)[world[schema.names.index(x.attribute)]] for x in antecedent)


@dataclass(frozen=True)
class Models:
    """All models of a space with up to `depth` options one after the other, and the prior with this chance to stop."""

    space: Space
    depth: int
    stop: Fraction = Fraction(1, 2)
    objective: str = "errors"
    by_depth: StopPrior | None = None  # instead of `stop`, a prior that depends on the depth

    @property
    def stop_prior(self):
        return self.by_depth or constant(float(self.stop))

    @property
    def sizes(self):
        """The sizes whose values one search has: if the prior depends on the depth, its depth alone."""
        return range(self.depth + 1) if self.by_depth is None else [self.depth]

    def stop_at(self, depth):
        """The probability of stopping at a depth; by depth, the logistic function of the log-odds to 60 digits."""
        return self.stop if self.by_depth is None else logistic(self.by_depth.log_odds(depth))

    @cached_property
    def row_loss(self):
        return Loss.of(self.given_objective, self.schema.target.n_levels)

    @property
    def given_objective(self):
        return objective_of(self.objective, self.schema.target.n_levels)

    @property
    def n_values(self):
        return len(self.row_loss.values)

    @property
    def schema(self):
        return self.space.candidates.schema

    @property
    def is_tree(self):
        return CAUGHT in self.space.branches

    @cached_property
    def worlds(self):
        return frozenset(all_worlds(self.schema))

    @cached_property
    def catches(self):
        """The worlds that each option catches."""
        return [frozenset(w for w in self.worlds if holds(self.schema, a, w)) for a in self.space.antecedents]

    def open(self, sides):
        """Options that divide the worlds on all sides; of several literals, those that no one of the sides empties."""
        if self.space.has_boxes:
            here = frozenset.intersection(self.begin, *sides)
            return [option for option, caught in enumerate(self.catches) if here & caught and here - caught]
        return [option for option, caught in enumerate(self.catches) if not any(not side & caught for side in sides)]

    @cached_property
    def begin(self):
        """The worlds where the search begins."""
        sizes = [len(self.schema[name].bins) for name in self.schema]
        starts = [sum(sizes[:place]) for place in range(len(sizes))]
        return frozenset(
            w for w in self.worlds if all(self.space.root[s + bin] for s, bin in zip(starts, w, strict=True))
        )

    @cached_property
    def count(self):
        """How many models there are."""

        @cache
        def below(depth, sides):
            return self.n_values + sum(
                (below(depth - 1, sides | {self.catches[o]}) if self.is_tree else self.n_values)
                * below(depth - 1, sides | {self.worlds - self.catches[o]})
                for o in (self.open(sides) if depth else ())
            )

        return below(self.depth, frozenset())

    @cached_property
    def priors(self):
        """Every model with its prior probability."""
        return dict(self._below(self.depth, frozenset()))

    def _below(self, depth, sides):
        options, stop = self.open(sides) if depth else [], self.stop_at(self.depth - depth)
        for value in range(self.n_values):
            yield LeafNode(value), Fraction(1, self.n_values) * (stop if options else 1)
        for option in options:
            share = (1 - stop) / len(options)
            caught, left = self.catches[option], self.worlds - self.catches[option]
            inside = list(self._below(depth - 1 if self.is_tree else 0, sides | {caught}))
            for (yes, p), (no, q) in product(inside, list(self._below(depth - 1, sides | {left}))):
                yield InnerNode(option, yes, no), share * p * q

    def value_of(self, model, world):
        while isinstance(model, InnerNode):
            model = model.caught if world in self.catches[model.option] else model.left
        return model.value

    def loss(self, model, table):
        """The loss of a model: of errors, how many there are."""
        losses = (self.row_loss.table[label][self.value_of(model, bins)] * n for bins, label, n in table.rows)
        return Fraction(sum(losses), self.row_loss.steps)

    def support(self, model, worlds=None):
        """Yield the worlds that each option of a model catches and leaves where it stands."""
        here = self.worlds if worlds is None else worlds
        if isinstance(model, InnerNode):
            caught = self.catches[model.option]
            yield here & caught, here - caught
            yield from self.support(model.caught, here & caught)
            yield from self.support(model.left, here - caught)

    def log_weights(self, table, weight):
        """Return ``ln(prior·exp(−weight·loss))`` of every model, to 60 digits."""
        weight = Fraction(weight)
        return {
            model: PRECISE.subtract(_ln(prior), decimal(weight * self.loss(model, table)))
            for model, prior in self.priors.items()
        }

    def log_probabilities(self, table, weight):
        """Return the exact log-probability of every model, to 60 digits."""
        weights = self.log_weights(table, weight)
        total = log_sum(weights.values())
        return {model: PRECISE.subtract(value, total) for model, value in weights.items()}


@cache
def logistic(x):
    return Fraction(PRECISE.divide(1, PRECISE.add(1, PRECISE.exp(-Decimal(x)))))


def decimal(value):
    return PRECISE.divide(Decimal(value.numerator), Decimal(value.denominator))


@cache
def _ln(value):
    return PRECISE.ln(decimal(value))


def log_sum(values):
    """Return the logarithm of the sum of exponentials, to 60 digits."""
    total = Decimal(0)
    for value, times in Counter(values).items():
        total = PRECISE.add(total, PRECISE.multiply(PRECISE.exp(value), Decimal(times)))
    return PRECISE.ln(total)


def irreducible(tree):
    """Whether no test has two leaves with the same value."""
    if isinstance(tree, LeafNode):
        return True
    same = isinstance(tree.caught, LeafNode) and tree.caught == tree.left
    return not same and irreducible(tree.caught) and irreducible(tree.left)


def sets_one_by_one(models, table, n, weight):
    """Every sequence of different trees with its log-probability to 60 digits: draws from what is left."""
    weights = {
        tree: PRECISE.exp(value) for tree, value in models.log_weights(table, weight).items() if irreducible(tree)
    }
    weighed, total = {}, sum(weights.values())
    for several in permutations(weights, n):
        probability, left = Decimal(1), total
        for tree in several:
            probability = PRECISE.divide(PRECISE.multiply(probability, weights[tree]), left)
            left = PRECISE.subtract(left, weights[tree])
        weighed[several] = PRECISE.ln(probability)
    return weighed


def executions(run):
    """Yield every way that `run(choose)` can go: its outcome, and what it was offered and chose at each draw.

    The first one always chooses the first place; each next one takes the next place at the last draw that has one.
    """
    path = []
    while True:
        offered = []

        def choose(log_weights, offered=offered):
            if len(offered) == len(path):
                path.append(0)
            offered.append(log_weights.copy())
            return path[len(offered) - 1]

        outcome = run(choose)
        yield outcome, list(zip(offered, path, strict=True))
        while path and path[-1] == len(offered[len(path) - 1]) - 1:
            path.pop()
        if not path:
            return
        path[-1] += 1


def chance(draws):
    """Return the log-probability of these choices as drawn from the log-weights offered, in float64."""
    return sum(float(offered[place] - np.logaddexp.reduce(offered)) for offered, place in draws)


def exact_chance(draws):
    """Return the log-probability of these choices as drawn from the log-weights offered, to 60 digits."""
    total = Decimal(0)
    for offered, place in draws:
        values = [Decimal(float(x)) for x in offered]
        total = PRECISE.add(total, PRECISE.subtract(values[place], log_sum(values)))
    return total


ATTRIBUTES = (
    Boolean(),
    Boolean(missing="bin"),
    Categorical(("a", "b", "c")),
    Categorical(("a", "b"), missing="bin"),
    Integer(0, 9, (4,)),
    Integer(0, 9, (3, 5), outside="clip"),
    Real(0.0, 1.0, (0.5,), missing="bin", outside="bin"),
)


def schema_of(*kinds, classes=2):
    return Schema({f"x{i}": kind for i, kind in enumerate(kinds)}, Label("y", tuple(range(classes))))


schemas = st.builds(
    lambda kinds, classes: schema_of(*kinds, classes=classes),
    st.lists(st.sampled_from(ATTRIBUTES), min_size=1, max_size=3),
    st.integers(2, 3),
)


def list_space(schema, max_literals=1, *, negations=True, chosen=()):
    return Space.of_lists(Candidates.of(schema, max_literals, negations=negations), chosen)


def spaces_over(schemas):
    lists = st.builds(lambda *a, n: list_space(*a, negations=n), schemas, st.integers(1, 2), n=st.booleans())
    return st.one_of(schemas.map(Space.of_trees), lists)


spaces = spaces_over(schemas)
narrow = st.builds(
    lambda kinds, classes: schema_of(*kinds, classes=classes),
    st.lists(st.sampled_from((Boolean(), *ATTRIBUTES)), min_size=1, max_size=2),
    st.integers(2, 3),
)
STOPS = st.sampled_from([0.5, 0.25, 0.9])
BY_DEPTH = st.sampled_from([None, None, StopPrior(-2.0, 3.0), StopPrior(1.5, -2.0), StopPrior(-3.0, 0.5, 1.25, 2)])


@contextmanager
def coarse_grid():
    """Leaves of two probabilities a class: so that all models can be listed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses, "_MIXTURES", (Fraction(1, 4), Fraction(4, 5)))
        losses.Loss.of.cache_clear()  # tables are kept, and would be those of the other grid
        try:
            yield
        finally:
            losses.Loss.of.cache_clear()


@st.composite
def models(draw, most=1500, objective="errors", *, by_depth=True):
    """Spaces with a depth of 0 to 3, less where there would be more than so many models."""
    objective = draw(st.sampled_from(TABLES)) if objective == ANY_TABLE else objective
    wide = draw(st.sampled_from([False, False, True]))
    space = draw(spaces if wide else spaces_over(narrow))
    depth, stop = draw(st.sampled_from([0, 1, 2, 3, 3, 3])), Fraction(draw(STOPS))
    while depth and (space.n_options**depth > 20 * most or Models(space, depth, stop, objective).count > most):
        depth -= 1
    return Models(space, depth, stop, objective, draw(BY_DEPTH) if by_depth else None)


@st.composite
def tables(draw, schema, most=12):
    """Tables without rows, with one, with all rows in one bin, or with rows anywhere."""
    worlds = all_worlds(schema)
    if draw(st.booleans()):
        worlds = draw(st.lists(st.sampled_from(worlds), min_size=1, max_size=3))
    row = st.tuples(st.sampled_from(worlds), st.integers(0, schema.target.n_levels - 1), st.just(1))
    low, high = draw(st.sampled_from([(0, 0), (1, 1), (2, most), (most // 2, most), (most, most)]))
    return Table(schema, tuple(draw(st.lists(row, min_size=low, max_size=high))))


@st.composite
def neighbours(draw, schema, most=12):
    """A table, and the same with one more row, at times where no row was."""
    table = draw(tables(schema, most))
    empty = sorted(set(all_worlds(schema)) - {bins for bins, _, _ in table.rows}) or all_worlds(schema)
    bins = draw(st.sampled_from(empty if draw(st.booleans()) else all_worlds(schema)))
    return table, table.plus(bins, draw(st.integers(0, schema.target.n_levels - 1)))
