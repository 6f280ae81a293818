"""Leaf counts: the rows of each class in each leaf or rule, exact or released with noise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from hedgerow.learn.search.lattice import Stop, Take
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.messages import number_of
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema.candidates import Antecedent
from hedgerow.tally import Counts, Tally

LEAF_SHARE = Fraction(1, 5)
"""The share of a model's epsilon for its leaf counts."""


def release_leaf_counts(tally: Tally, antecedents: Sequence[Antecedent], gate: Gate, epsilon: Fraction) -> Counts:
    """Release the histogram of leaf and class, shape ``(n_rules, n_classes)``, the default rule last.

    The rules of a list partition the rows, so one added row changes one count by one: ℓ1 sensitivity 1 for all counts
    together, and one charge of ε for them all (docs/privacy.md, fact 2; parallel composition).
    """
    shape = (len(antecedents) + 1, len(tally.schema.classes))
    noisy = gate.release(
        DiscreteLaplace(epsilon),
        lambda: tally.leaf_counts(antecedents).ravel(),
        purpose=f"counts of {number_of(shape[0], 'rule')} by class",
    )
    return np.array(noisy, dtype=np.int64).reshape(shape)


def divided(tally: Tally, space: Space, option: int) -> tuple[tuple[int, Tally], tuple[int, Tally]]:
    """Return both branches of an option with their rows."""
    antecedent = space.antecedents[option]
    return (CAUGHT, tally.within(antecedent)), (LEFT, tally.without(antecedent))


def leaf_totals(tally: Tally, space: Space, tree: Take | Stop) -> Iterator[Counts]:
    """Yield the rows of each class in each leaf, the rows that satisfy a test first. Exact, private."""
    if isinstance(tree, Stop):
        yield tally.total()
        return
    (_, caught), (_, left) = divided(tally, space, tree.option)
    yield from leaf_totals(caught, space, tree.caught)
    yield from leaf_totals(left, space, tree.left)


def release_tree_counts(tally: Tally, space: Space, tree: Take | Stop, gate: Gate, epsilon: Fraction) -> Counts:
    """Release the histogram of leaf and class, shape ``(n_leaves, n_classes)``, the rows that satisfy a test first.

    The leaves of a tree partition the rows, so one added row changes one count by one: ℓ1 sensitivity 1 for all counts
    together, and one charge of ε for them all (docs/privacy.md, fact 2; parallel composition).
    """
    n_classes = len(tally.schema.classes)
    noisy = gate.release(
        DiscreteLaplace(epsilon),
        lambda: np.concatenate(list(leaf_totals(tally, space, tree))),
        purpose="counts of the leaves by class",
    )
    return np.array(noisy, dtype=np.int64).reshape(-1, n_classes)
