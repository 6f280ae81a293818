from itertools import product

import numpy as np
import pytest

from hedgerow.audit import Domain, Paths
from hedgerow.errors import SearchTooLargeError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Schema
from lab.forests import search as module
from lab.forests.search import Cells

SCHEMA = Schema({"age": Integer(0, 9, cuts=(2, 4, 7)), "hue": Categorical(("red", "green", "blue")), "old": Boolean()})
PATHS = Paths(
    (
        ((Literal("age", "<=", (4,)), True), (Literal("hue", "=", ("red",)), True)),
        ((Literal("age", "<=", (4,)), True), (Literal("hue", "=", ("red",)), False)),
        ((Literal("age", "<=", (4,)), False),),
    ),
    supports=(1, 1, 1),
)


def cells_of(*models):
    domain = Domain.of(SCHEMA, [x for paths in models for x in paths.literals])
    return Cells.of(domain, models, domain.weights, 2)


def test_cells_are_what_the_models_distinguish():
    """All rows of the domain, one by one: those in the same leaves are in one cell, whose share is theirs."""
    result = cells_of(PATHS)
    assert len(result) == 4
    rows = list(product(range(10), range(3), range(2)))
    kinds = {}
    for age, hue, _ in rows:
        kinds.setdefault((age <= 4, hue == 0), []).append(1)
    shares = sorted(len(items) / len(rows) for items in kinds.values())
    assert np.exp(sorted(result.log_chances)) == pytest.approx(shares)
    assert np.exp(result.log_chances).sum() == pytest.approx(1)


def test_a_cell_lies_in_the_leaf_of_its_pattern():
    result = cells_of(PATHS)
    for bins, leaf in zip(result.bins.tolist(), result.leaves(PATHS).tolist(), strict=True):
        young, red = bins[0] <= 1, bins[1] == 0
        assert leaf == (2 if not young else 0 if red else 1)


def test_too_many_cells_are_told_before_they_are_made(monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 7)
    with pytest.raises(SearchTooLargeError, match="4 patterns of 2 classes, in 3 leaves") as caught:
        cells_of(PATHS)
    assert (caught.value.states, caught.value.evaluations) == (8, 12)
