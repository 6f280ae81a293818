"""Spaces, tables and values that tests of searches through boxes share."""

import numpy as np
from hypothesis import strategies as st

from hedgerow.learn.search.lattice import Masks, PatternMatrix, Search, exhaustive_levels
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Categorical, Integer
from tests.learn.enumerate_models import Models, Table, list_space, schema_of, schemas

wide = st.one_of(schemas.map(Space.of_trees), schemas.map(list_space))


DEEP = {
    "trees": Space.of_trees(schema_of(Integer(0, 9, (1, 3, 5)), Categorical(tuple("abcd")), Boolean(missing="bin"))),
    "trees of every second cut point": Space.of_trees(schema_of(Integer(0, 9, tuple(range(7))), Boolean()), 2),
    "trees of 3 classes": Space.of_trees(schema_of(Integer(0, 9, (1, 3)), Boolean(), Boolean(), classes=3)),
    "lists": list_space(schema_of(Integer(0, 9, (1, 3)), Categorical(tuple("abc")), Boolean())),
    "trees below a box": Space.of_trees(schema_of(Integer(0, 9, (1, 3, 5)), Boolean(), Boolean())).below(
        np.array([1, 1, 1, 0, 1, 1, 0, 1], dtype=bool)
    ),
}


def by_masks(table, space, depth, semiring, min_rows=0.0):
    search = Search(PatternMatrix(table.tally, space), exhaustive_levels(space, depth), semiring, min_rows)
    return Masks(search, range(depth + 1))


def rows_of(space, seed, scale=1):
    """Rows anywhere where the search begins, counted so many times."""
    rng = np.random.default_rng(seed)
    worlds = sorted(Models(space, 0).begin)
    classes = len(space.candidates.schema.classes)
    return Table(
        space.candidates.schema,
        tuple((worlds[i], int(rng.integers(classes)), scale) for i in rng.integers(len(worlds), size=40)),
    )
