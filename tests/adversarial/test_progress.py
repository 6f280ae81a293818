"""The number of distinct patterns is private: progress displays do not show it."""

import numpy as np
import pytest

from hedgerow.learn.search import lattice
from hedgerow.learn.search.lattice import exhaustive_levels
from hedgerow.learn.search.sampler import Draw, ModelSampler
from hedgerow.learn.search.space import Space
from hedgerow.schema import Integer, Label, Schema
from hedgerow.tally import Tally
from tests.learn.enumerate_models import constant

SCHEMA = Schema({f"x{i}": Integer(0, 9, cuts=(1, 2, 3, 4)) for i in range(5)}, Label("y", (0, 1)))


def steps(patterns, block_bytes, monkeypatch):
    """Return what the progress of a search over so many patterns is told."""
    monkeypatch.setattr(lattice, "_BLOCK_BYTES", block_bytes)
    rows = np.unique(np.random.default_rng(0).integers(0, 6, (4000, 5)), axis=0)[:patterns]
    tally = Tally.count(rows, np.arange(len(rows)) % 2, SCHEMA)
    told = []
    plan = Draw(Space.of_trees(SCHEMA), 3, constant(0.1))
    ModelSampler(tally, plan, exhaustive_levels(plan.space, 3), told.append).sample(1.0, lambda _: 0)
    return told


@pytest.mark.parametrize("block_bytes", [2**12, 2**16, 2**24])
@pytest.mark.claim("number of distinct patterns")
def test_the_progress_of_a_search_goes_in_public_steps(block_bytes, monkeypatch):
    """It went in the steps in which states are worked on, whose size is by the number of patterns."""
    item, other = (steps(patterns, block_bytes, monkeypatch) for patterns in (300, 900))
    assert item == other
    assert len(item) <= 100
    assert sum(item) == sum(len(level.states) for level in exhaustive_levels(Space.of_trees(SCHEMA), 3))
