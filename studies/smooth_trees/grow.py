"""A greedy private tree that chooses every test by the smooth sensitivity of the Gini impurity, as SSRL's lists do."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from hedgerow.learn.learned import divided, leaf_totals, leaves_of
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node, value_of
from hedgerow.learn.search.space import Space
from hedgerow.learn.ssrl.greedy import PUBLISHED, confidence_threshold
from hedgerow.learn.ssrl.mechanisms import NoisyMin, gini_scores, smooth_sensitivity
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource
from hedgerow.tally import Tally

Kind = Literal["support", "test", "leaf"]
Path = tuple[int, ...]
"""The sides of the tests from the root to a node."""


@dataclass(frozen=True)
class Release:
    """A release about the rows of a node."""

    path: Path
    kind: Kind
    epsilon: Fraction
    delta: Fraction = Fraction(0)


@dataclass(frozen=True)
class SmoothTree:
    """Specification of the tree.

    At every node above the last level, a noisy count of the rows must exceed Λ by 𝒯 (SSRL, Algorithm 1, line 4). Then
    the test with the smallest noisy G is chosen, or none, with noise in units of the smooth sensitivity S* of a node of
    n rows (line 11). A leaf releases its class counts (Algorithm 2). With Λ = 1 there is no test of the support.

    The nodes of a level hold disjoint sets of rows, so a row is in one node of each level. The releases along a path
    therefore share ε: equally if the path has all levels. A leaf above the last level takes the rest of its path's ε,
    so that every path spends exactly ε. δ is shared by the choices along a path.
    """

    space: Space
    depth: int
    mechanism: Literal["smooth-laplace", "smooth-cauchy"]
    epsilon: Fraction
    delta: Fraction
    min_support: int  # Λ
    confidence: float  # C

    @property
    def tests_support(self) -> bool:
        return self.min_support > 1

    @property
    def share(self) -> Fraction:
        """The ε of a release: ``ε/(2d + 1)`` for d levels, or ``ε/(d + 1)`` without tests of the support."""
        return self.epsilon / ((1 + self.tests_support) * self.depth + 1)

    @property
    def choice(self) -> NoisyMin:
        """The mechanism of a choice."""
        made: Any = PUBLISHED[self.mechanism].mechanism(self.share, self.delta / self.depth, self.space.n_options)
        return made

    def grow(self, tally: Tally, noise: NoiseSource) -> tuple[Node, list[Release]]:
        """Return a tree with the classes of its leaves, and the releases in the order in which they were made."""
        grower = _Grower(self, noise, [])
        return grower.node(tally, (), self.epsilon), grower.releases


@dataclass(frozen=True)
class _Grower:
    tree: SmoothTree
    noise: NoiseSource
    releases: list[Release]

    def node(self, rows: Tally, path: Path, left: Fraction) -> Node:
        """Grow the part of the tree below a path, on which this ε is left."""
        tree = self.tree
        options = np.flatnonzero(tree.space.open(np.array([path], dtype=np.intp))[0])
        if len(path) == tree.depth or not len(options):
            return self.leaf(rows, path, left)
        if tree.tests_support:
            left -= tree.share
            if not self.has_support(rows, path):
                return self.leaf(rows, path, left)
        left -= tree.share
        pick = self.test(rows, path, options)
        if pick == len(options):
            return self.leaf(rows, path, left)
        option = int(options[pick])
        parts = [
            self.node(part, (*path, int(tree.space.sides(branch)[option])), left)
            for branch, part in divided(rows, tree.space, option)
        ]
        return InnerNode(option, *parts)

    def has_support(self, rows: Tally, path: Path) -> bool:
        """Return whether the noisy number of rows is at least Λ + 𝒯."""
        share = self.tree.share
        (n,) = self.noise.prepare(DiscreteLaplace(share))(rows.total().sum(keepdims=True))
        self.releases.append(Release(path, "support", share))
        return n >= self.tree.min_support + confidence_threshold(self.tree.confidence, share)

    def test(self, rows: Tally, path: Path, options: Any) -> int:
        """Return the open option with the smallest noisy G, or the number of options to stop."""
        choice, space, total = self.tree.choice, self.tree.space, rows.total()
        caught = rows.class_counts(space.candidates)[space.options[options]]
        smooth = smooth_sensitivity(total.sum(), min_support=self.tree.min_support, beta=choice.beta)
        self.releases.append(Release(path, "test", choice.epsilon, choice.delta))
        return self.noise.prepare(choice)(gini_scores(caught, total) / smooth)

    def leaf(self, rows: Tally, path: Path, left: Fraction) -> LeafNode:
        """Return a leaf with the class of the larger noisy count, by SSRL's rule for ties."""
        first, second = self.noise.prepare(DiscreteLaplace(left))(rows.total())
        self.releases.append(Release(path, "leaf", left))
        return LeafNode(int(first <= second))


def accuracy(tree: Node, space: Space, tally: Tally) -> float:
    """Return the share of rows that a tree classifies correctly."""
    totals = np.array(list(leaf_totals(tally, space, tree)))
    values = [value_of(leaf) for leaf in leaves_of(tree)]
    return float(totals[np.arange(len(values)), values].sum() / totals.sum())
