"""Counts of leaves against rows sent to them one by one, and what their release costs."""

from fractions import Fraction

import numpy as np

from hedgerow.learn.learned import divided, leaf_totals, release_leaf_counts, release_tree_counts
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.search.lattice import InnerNode, LeafNode
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import DiscreteLaplace, SeededNoise
from hedgerow.schema import Boolean, Label, Literal, Schema
from hedgerow.tally import Tally

SCHEMA = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))
SPACE = Space.of_trees(SCHEMA)
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [0, 1], [1, 0]])
Y = np.array([0, 1, 0, 1, 0, 0, 1])
TALLY = Tally.count(X, Y, SCHEMA)
A, B = Literal("a", "true"), Literal("b", "true")
OPTION = {antecedent: option for option, antecedent in enumerate(SPACE.antecedents)}
TREE = InnerNode(OPTION[A,], InnerNode(OPTION[B,], LeafNode(1), LeafNode(0)), LeafNode(1))
LEAVES = [X[:, 0] & X[:, 1] == 1, (X[:, 0] == 1) & (X[:, 1] == 0), X[:, 0] == 0]


def counts_in(leaves):
    return [np.bincount(Y[rows], minlength=2).tolist() for rows in leaves]


def runner(epsilon, each, times=1):
    """Return a budget, and what releases counts of leaves a number of times."""
    budget = Budget(epsilon)
    gate = Gate(budget, SeededNoise(np.random.default_rng(0)))
    return budget, ReleaseRunner((PlannedRelease("leaf_counts", DiscreteLaplace(each), times),), gate)


def test_an_option_divides_the_rows():
    (caught, yes), (left, no) = divided(TALLY, SPACE, OPTION[B,])
    assert (caught, left) == (CAUGHT, LEFT)
    assert [yes.total().tolist(), no.total().tolist()] == counts_in([X[:, 1] == 1, X[:, 1] == 0])


def test_leaves_hold_the_rows_that_come_to_them():
    assert [counts.tolist() for counts in leaf_totals(TALLY, SPACE, TREE)] == counts_in(LEAVES)
    assert [counts.tolist() for counts in leaf_totals(TALLY, SPACE, LeafNode(0))] == [[4, 3]]


def test_counts_of_a_tree_are_released_under_one_charge():
    budget, opened = runner(100, Fraction(100))
    released = release_tree_counts(TALLY, SPACE, TREE, opened)
    assert released.tolist() == counts_in(LEAVES)  # with ε = 100, noise is 0 but for one draw in e^100
    assert [(charge.epsilon, charge.purpose) for charge in budget.charges] == [(100, "counts of the leaves by class")]


def test_counts_of_a_list_are_those_of_the_first_rule_that_catches_a_row():
    budget, opened = runner(Fraction(201, 2), Fraction(100))
    released = release_leaf_counts(TALLY, [(B,), (A,)], opened)
    assert released.tolist() == counts_in([X[:, 1] == 1, (X[:, 1] == 0) & (X[:, 0] == 1), (X == 0).all(axis=1)])
    assert budget.remaining == Fraction(1, 2)
    assert [charge.purpose for charge in budget.charges] == ["counts of 3 rules by class"]


def test_noise_is_added_to_every_count():
    _, opened = runner(1, Fraction(1, 200), 100)
    noisy = [release_leaf_counts(TALLY, [(A,)], opened) for _ in range(100)]
    exact = counts_in([X[:, 0] == 1, X[:, 0] == 0])
    assert np.std(noisy, axis=0).min() > 100  # the scale is 200; of 100 draws, less comes once in 10^9
    assert np.abs(np.mean(noisy, axis=0) - exact).max() < 200
