"""Which states are visited after the first sweep depends on the trees drawn, and on nothing else."""

import numpy as np

import hedgerow as hr
from hedgerow.tally import Tally
from lab.tree_sets import search as sets
from tests.learn.enumerate_models import constant


def test_what_is_visited_follows_from_the_trees_drawn(monkeypatch):
    """Two tables with the same patterns and other labels: if the same trees are drawn, the same states are valued."""
    visited, valued = [], sets._Weights.options

    def counted(self, depth, chosen, rows):
        visited.append((depth, chosen.tolist(), rows.tolist()))
        return valued(self, depth, chosen, rows)

    monkeypatch.setattr(sets._Weights, "options", counted)
    schema = hr.Schema({name: hr.Boolean() for name in "abc"}, hr.Label("y", (0, 1)))
    search = sets.SetSearch(sets.Space.of_trees(schema), 2, constant(0.1))
    every = np.array(list(np.ndindex(2, 2, 2)))

    def visits(labels, places):
        visited.clear()
        sampler = sets.TreeSampler(Tally(schema, every, labels), search)
        script = iter(places)
        trees = [sampler.sample(0.5, lambda weights: next(script, 0) % len(weights)) for _ in range(3)]
        return trees, list(visited)

    for seed in range(20):
        rng = np.random.default_rng(seed)
        places = rng.integers(0, 50, 30).tolist()
        item, other = (visits(rng.integers(0, 9, (8, 2)), places) for _ in range(2))
        assert item == other
        assert len(set(item[0])) == 3
