"""Attacks on a set of trees: whoever has it reads rows by no wish, and nothing but the trees drawn decides the next.

Claims of docs/mathematics.md: "none is drawn twice, and the draws add up"; "depends on the drawn trees alone".
"""

import gc
import pickle

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.search import sets
from hedgerow.models.tree_set import TreeSet
from hedgerow.tally import Tally
from tests.learn.enumerate_models import constant

X = np.random.default_rng(0).integers(0, 2, (300, 3))
Y = X[:, 0] ^ (X[:, 1] & X[:, 2])


def reached(*found):
    """Everything that a holder can reach by references from some objects, modules and classes left out."""
    waiting, seen = list(found), {}
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type | type(gc)) or callable(one):
            continue
        seen[id(one)] = one
        waiting += gc.get_referents(one)
    return seen.values()


@pytest.mark.claim("none is drawn twice, and the draws add up")
def test_wishes_cost_nothing_and_reach_no_row():
    budget = hr.Budget(2)
    found = hr.PrivateTreeSet(2.0, 6, max_depth=2, budget=budget).fit(X, Y)
    before = budget.charges
    assert len(before) == 1
    chosen = [
        found.set_.pick(),
        found.set_.pick(key=lambda tree: -len(tree)),
        *(found.set_.pick(max_leaves=n) for n in range(4, 9) if min(map(len, found.models_)) <= n),
    ]
    found.set_.differences(), str(found.set_), found.set_.to_page()
    assert {one.privacy.epsilon for one in chosen} == {2}  # a tree picked has the card of all
    assert budget.charges == before
    assert not any(isinstance(one, Tally | sets.TreeSampler | sets.Node) for one in reached(found.set_))
    assert pickle.loads(pickle.dumps(found.set_)) == found.set_


@pytest.mark.claim("none is drawn twice, and the draws add up")
def test_a_set_of_which_a_tree_was_exchanged_or_whose_card_was_lowered_is_refused():
    mine, other = (hr.PrivateTreeSet(e, 2, max_depth=1, random_state=0).fit(X, Y).set_.to_dict() for e in (1.0, 0.1))
    for models in (
        [mine["models"][0], other["models"][0]],
        [mine["models"][0] | {"privacy": other["models"][0]["privacy"]}],
    ):
        with pytest.raises(hr.errors.ModelFormatError):
            TreeSet.from_dict(hr.models.envelope.seal({"format": TreeSet.format, "version": 1, "models": models}))


@pytest.mark.claim("depends on the drawn trees alone")
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
        one, other = (visits(rng.integers(0, 9, (8, 2)), places) for _ in range(2))
        assert one == other
        assert len(set(one[0])) == 3
