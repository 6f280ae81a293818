"""The real loss of one choice by smooth sensitivity: a bound for all tables, and the exact loss on some.

A choice takes the smallest ``x_i + b·Z_i``, with ``x_i = G_i/S*`` and b = 2/ε₁ (Laplace) or 6/ε₁ (Cauchy). Given the
noise of the other candidates, candidate i wins if ``Z_i`` is below a threshold. Between neighbouring tables the
threshold moves by at most Γ/b, with Γ the largest change of a difference ``x_j − x_i``. So the loss is at most
``sup over c of ln(F(c + Γ/b)/F(c))`` for the distribution F of Z; for Laplace noise this is Γ/b, without δ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from hedgerow.boundary.arrays import Floats
from hedgerow.learn.ssrl.greedy import confidence_threshold
from hedgerow.learn.ssrl.mechanisms import NoisyMin, gini_scores, local_sensitivity, smooth_sensitivity

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class Standard:
    """The distribution of noise of scale 1, which is symmetric."""

    density: Callable[[Floats], Floats]
    survival: Callable[[Floats], Floats]  # the probability that the noise exceeds a number
    span: Floats  # ends of intervals around 0 on which densities are smooth; less than 10⁻¹⁸ is outside

    def chances(self, scores: ArrayLike, numbers: ArrayLike) -> Floats:
        """Return the probability that the smallest noisy score is of each group of candidates with the same score.

        Scores are in units of the scale of the noise, `numbers` are the sizes of the groups. By Gauss-Legendre
        quadrature between the points at which integrands bend.
        """
        x, m = np.asarray(scores, dtype=np.float64), np.asarray(numbers, dtype=np.float64)
        return np.array([m[i] * self._first_wins(x - x[i], m - (np.arange(len(x)) == i)) for i in range(len(x))])

    def _first_wins(self, ahead: Floats, numbers: Floats) -> float:
        """Return the probability that a candidate with score 0 has the smallest noisy score."""
        ends = np.unique((self.span[:, None] + np.append(ahead, 0.0)).ravel())
        half, middle = np.diff(ends)[:, None] / 2, (ends[1:] + ends[:-1])[:, None] / 2
        z, weights = (middle + half * _POINTS).ravel(), (half * _WEIGHTS).ravel()
        others = np.log(self.survival(z[:, None] - ahead)) @ numbers
        return float((weights * self.density(z)) @ np.exp(others))

    def loss_of_shift(self, shift: float) -> float:
        """Return ``sup over c of ln(F(c + shift)/F(c))``."""

        def negative(c: float) -> float:
            ends = self.survival(np.array([-c, -c - shift]))
            return float(np.log(ends[0] / ends[1]))

        result: Any = minimize_scalar(negative, bounds=(-shift - 4, 4), method="bounded")
        return -float(result.fun)


def _laplace_survival(z: Floats) -> Floats:
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z > 0, tail, 1 - tail)


STANDARD = {
    "laplace": Standard(lambda z: np.exp(-np.abs(z)) / 2, _laplace_survival, np.arange(-75.0, 76.0)),
    "cauchy": Standard(
        lambda z: 1 / (np.pi * (1 + z * z)),
        lambda z: np.arctan2(1.0, z) / np.pi,
        np.sinh(np.arange(-45.0, 45.5, 0.5)),
    ),
}
"""The noise of choices by its code."""


def standard(choice: NoisyMin) -> Standard:
    return STANDARD[choice.noise.code]


def loss(p: Floats, q: Floats) -> float:
    """Return the pure loss ε between two distributions."""
    return float(np.abs(np.log(p / q)).max())


def delta_at(epsilon: float, p: Floats, q: Floats) -> float:
    """Return the smallest δ for which two distributions are (ε, δ)-close."""
    factor = np.exp(epsilon)
    return float(max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum()))


def scaled_scores(caught: ArrayLike, total: ArrayLike, choice: NoisyMin, min_support: int) -> Floats:
    """Return G/S* of every candidate and last of stopping, in units of the scale of the noise."""
    rows = np.asarray(total, dtype=np.int64)
    smooth = smooth_sensitivity(rows.sum(), min_support=min_support, beta=choice.beta)
    return gini_scores(np.asarray(caught, dtype=np.int64), rows) / smooth / choice.scale


def change_bound(n: ArrayLike, min_support: int, beta: float) -> Floats:
    """Return a bound on Γ, the largest change of a difference of two scores G/S*, if a row is added to n ≥ 1 rows.

    With ``S, S'`` the smooth sensitivities of n and n + 1 rows and ``U = nG``, a row raises U by 0 to 2n/(n + 1), and U
    is at most n/2. So all changes ``G'/S' − G/S`` are within a range of
    ``2n/((n + 1)²S') + |1/((n + 1)S') − 1/(nS)|·n/2``.
    """
    n = np.asarray(n, dtype=np.float64)
    before, after = (smooth_sensitivity(rows, min_support=min_support, beta=beta) for rows in (n, n + 1))
    return local_sensitivity(n) / after + np.abs(1 / ((n + 1) * after) - 1 / (n * before)) * n / 2


def passing(epsilon: float, missing: int) -> float:
    """Return the probability that discrete Laplace noise of scale 1/ε is at least `missing`."""
    tail = np.exp(-epsilon * max(missing, 1 - missing)) / (1 + np.exp(-epsilon))
    return float(tail if missing > 0 else 1 - tail)


@dataclass(frozen=True)
class Node:
    """A test of the support and the choice after it, as published: claimed to cost 2ε₁ and δ₁ together."""

    choice: NoisyMin
    min_support: int  # Λ
    confidence: float  # C
    continuous: bool = False  # whether the noise on the number of rows is continuous, as in the paper
    negative_steps: bool = False  # whether S* of n < Λ rows has the term ξ(n − Λ) of Theorem 4.1

    @property
    def share(self) -> float:
        return float(self.choice.epsilon)

    def passes(self, rows: int) -> float:
        """Return the probability that a node passes the test of the support."""
        missing = self.min_support + confidence_threshold(self.confidence, self.choice.epsilon) - rows
        if self.continuous:
            return float(_laplace_survival(np.array(self.share * missing)))
        return passing(self.share, missing)

    def supported_loss(self, most: int) -> float:
        """Return a bound on the pure loss of the choice for all tables of Λ to `most` rows."""
        n = np.arange(self.min_support, most + 1)
        shift = change_bound(n, self.min_support, self.choice.beta).max() / self.choice.scale
        return standard(self.choice).loss_of_shift(float(shift))

    def proven_delta(self) -> float:
        """Return a δ with which the node costs at most 2ε₁: the chance to pass with so few rows that Γ is too large."""
        n = np.arange(1, max(self.min_support, 2))
        shifts = change_bound(n, self.min_support, self.choice.beta) / self.choice.scale
        too_large = [rows for rows, shift in zip(n.tolist(), shifts.tolist(), strict=True) if self._exceeds(shift)]
        return self.passes(max(too_large) + 1) if too_large else 0.0

    def _exceeds(self, shift: float) -> bool:
        return standard(self.choice).loss_of_shift(shift) > self.share

    def chances(self, caught: Sequence[Sequence[int]], total: Sequence[int], numbers: Sequence[int]) -> Floats:
        """Return the probability of each group of candidates and of stopping by choice."""
        scores = scaled_scores(caught, total, self.choice, self.min_support)
        if self.negative_steps:
            scores = scores * np.exp(-self.choice.beta * max(self.min_support - sum(total), 0))
        return standard(self.choice).chances(scores, (*numbers, 1))


def neighbours(rows: int) -> Iterator[tuple[Any, Any]]:
    """Yield the counts of all pairs of tests on all tables of some rows, before and after a row is added."""
    for first in range(rows + 1):
        total = np.array([first, rows - first])
        splits = [np.array(caught) for caught in product(range(first + 1), range(rows - first + 1))]
        for pair, label, sides in product(product(splits, splits), (0, 1), product((0, 1), (0, 1))):
            new, caught = np.eye(2, dtype=np.int64)[label], np.array(pair)
            yield (caught, total), (caught + np.outer(sides, new), total + new)


@dataclass(frozen=True)
class RareRows:
    """Two neighbouring tables on which a published list spends more than it claims, if few rows are left.

    All rows have class 0. Each of `first` rules catches all rows except the last `rest`, and `second` rules catch none.
    The larger table has one row more, of class 1, that only the second rules catch. After the first of the first rules,
    the next of them catch nothing. On the smaller table all scores are 0 at every node. On the larger table, the second
    rules are better by g(n) if n rows are left, and the noise fits Λ rows. After a second rule, the rows left are the
    same.
    """

    rows: int
    rest: int
    first: int
    second: int

    def caught(self, place: int, *, larger: bool) -> tuple[tuple[tuple[int, int], tuple[int, int]], tuple[int, int]]:
        """Return the counts of both kinds of rules, and of all rows, at a place in the list."""
        whole = self.rest if place else self.rows
        return ((whole - self.rest, 0), (0, int(larger))), (whole, int(larger))

    def log_chances(self, node: Node, rules: int, *, larger: bool) -> Floats:
        """Return the logarithm of the probability of every beginning of a list.

        For k = 0, 1, … `rules` − 1: k of the first rules and then a second rule, and k of the first rules and no more;
        last, `rules` of the first rules.
        """
        result, before = [], 0.0
        for place in range(rules):
            caught, total = self.caught(place, larger=larger)
            first, second, _ = node.chances(caught, total, (self.first - place, self.second))
            passes = node.passes(sum(total))
            chances = np.array([passes * second, 1 - passes * (first + second), passes * first])
            with_second, end, before = before + np.log(chances)
            result += [with_second, end]
        return np.append(result, before)

    def difference(self, node: Node, rules: int, epsilon: float) -> tuple[float, float]:
        """Return δ at ε, and the loss, of the beginnings of lists of up to so many rules and the default rule."""
        smaller, larger = (self.log_chances(node, rules, larger=larger) for larger in (False, True))
        return delta_at(epsilon, np.exp(smaller), np.exp(larger)), float(np.abs(smaller - larger).max())


def many_candidates(
    rows: int, pure: int, candidates: int, choice: NoisyMin, *, fewer: int = 0
) -> tuple[Floats, Floats]:
    """Return the chances of a pure rule, many impure rules, and stopping, on two neighbouring tables. Λ is 1.

    `rows` rows are left. The pure rule separates the classes. Each impure rule catches `pure` rows of class 0, and
    leaves equally many rows of both classes. The larger table has one row more, of class 1, that all rules catch except
    the pure rule. S* is that of `fewer` rows less: with 1 it covers added and removed rows, since a row removed from n
    rows changes G by up to g(n − 1).
    """
    half, result = (rows - pure) // 2, list[Floats]()
    for new in (0, 1):
        caught, total = np.array([(pure + half, 0), (pure, new)]), np.array([pure + half, half + new])
        smooth = smooth_sensitivity(total.sum() - fewer, min_support=1, beta=choice.beta)
        scores = gini_scores(caught, total) / smooth / choice.scale
        result.append(standard(choice).chances(scores, (1, candidates, 1)))
    return result[0], result[1]
