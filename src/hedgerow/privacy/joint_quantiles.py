"""All quantiles of one column, drawn jointly by the exponential mechanism, with a bound on the rounding errors."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.errors import TooManyRowsError
from hedgerow.privacy import exponential_mechanism as em
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.zcdp import drawn_rho

_MOST_TERMS = 10**8  # that a draw adds up, in about a second; with one part a candidate up to 5e8
_MOST_PARTS = 2**10 - 1  # for each quantile, so that a weight has some digits left
_BLOCK = 64  # starts at a time, whose terms fit into a processor's cache


@dataclass(frozen=True)
class JointQuantiles:
    """Draw the ``bins - 1`` quantiles of a column jointly: places in a row of candidates, which never fall.

    Input: int64 counts, one more than there are candidates: the rows up to the first candidate, those above it up to
    the second, …, those above the last. Neighbouring inputs differ by one in one count.

    The rows up to each candidate are spread evenly over `parts` positions, so that quantiles can lie among equal
    values. A tuple of positions cuts the ``n`` rows into intervals of ``n_j`` rows, fractions included. Its score is
    ``-parts*sum_j |bins*n_j - n|``: a whole number. A row added or removed changes the intervals by ``a_j``, which sum
    to 1, and the score by ``parts*sum_j |bins*a_j - 1|`` at most, which is largest where the row is in one interval:
    ``2*parts*(bins - 1)``; in which direction depends on the tuple. Drawn with probability proportional to
    ``exp(weight*score)``, the tuple therefore costs twice that times the weight. `epsilon` is that plus the bound on
    what rounding adds to the loss. The place of a position is the nearer candidate.

    Gillenwater, Joseph and Kulesza, *Differentially Private Quantiles*, ICML 2021, Section 3; McSherry and Talwar,
    *Mechanism Design via Differential Privacy*, FOCS 2007, Theorem 6.
    """

    epsilon: Fraction  # the loss of all quantiles together
    bins: int  # how many intervals of about equal mass to aim at: 2 to 2¹⁹, as a weight for more has no digit left
    candidates: int  # how many candidates there are: public
    weight: Fraction = field(init=False)  # the weight of one unit of the score
    sensitivity: int = field(init=False, default=1)
    delta = Fraction(0)

    def __post_init__(self) -> None:
        weight = _weight(self.epsilon, self.bins - 1, self.parts, self.parts * self.candidates)
        object.__setattr__(self, "weight", weight)

    @property
    def parts(self) -> int:
        """The number of positions of a candidate: one a bin, or fewer where a draw would take too long."""
        quantiles = self.bins - 1
        positions = math.isqrt(2 * _MOST_TERMS // quantiles)
        return max(1, min(self.bins, positions // self.candidates, _MOST_PARTS // quantiles))

    @property
    def rho(self) -> Fraction:
        """ρ: the log-ratios of all tuples on neighbouring tables have a range of 2·`score_sensitivity`·`weight`."""
        return drawn_rho(self.epsilon, 2 * self.score_sensitivity * self.weight)

    @property
    def score_sensitivity(self) -> int:
        """The most by which one row can change the score."""
        return 2 * self.parts * (self.bins - 1)

    def distance(self, one: Integers, other: Integers) -> float:
        """Return how many rows must be added to or removed from one to get the other."""
        return float(np.abs(other - one).sum())

    def build(self) -> Callable[[Integers], tuple[int, ...]]:
        choose = em.gumbel_choice()
        return lambda counts: self.places(self.sampler(counts, choose)())

    def simulate(self, values: Integers, rng: np.random.Generator) -> tuple[int, ...]:
        return self.places(self.sampler(values, em.seeded_choice(rng))())

    def sampler(self, counts: Integers, choose: em.Choose) -> Callable[[], tuple[int, ...]]:
        """Return a function that draws a tuple of positions, which never fall, every choice by `choose`."""
        if counts.sum() >= em.MOST_ROWS:
            raise TooManyRowsError("Expected fewer than 2^32 rows for joint private quantiles, got 2^32 or more.")
        spread = np.append(np.repeat(counts[:-1], self.parts), self.parts * counts[-1])
        intervals = Intervals(np.cumsum(spread), self.bins, float(self.weight))
        following = _following(intervals, self.bins - 1)
        return lambda: _draw(intervals, following, choose)

    def places(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """Return the nearer candidate of each position; the first for those below it."""
        return tuple(max(2 * position + 2 - self.parts, 0) // (2 * self.parts) for position in positions)

    @property
    def record(self) -> Fact:
        kept = self.epsilon - 2 * self.score_sensitivity * self.weight
        sizes = {"bins": self.bins, "candidates": self.candidates, "sensitivity": self.score_sensitivity}
        return Fact("joint_quantiles", **sizes, weight=self.weight, kept=kept)


def _weight(epsilon: Fraction, quantiles: int, parts: int, positions: int) -> Fraction:
    """Return the largest weight of one unit of the score at which a draw costs no more than `epsilon`.

    With exact arithmetic the loss of ``m`` quantiles is ``4m*r*w``, with ``r`` parts. The log-weights are computed in
    float64. Let ``u = 2⁻⁵³``, ``k`` be the positions, ``n`` the rows, ``S = 2m*r*w*n`` the most that the intervals of a
    tuple weigh, and ``L = m*ln k``, which bounds the logarithm of how many tuples there are: every log-sum lies between
    −S and L.

    An interval's log-weight is exact: ``w`` has so few digits. Adding the log-sum of what may follow rounds by
    ``u(S + L)``. The log-sum of up to k such terms rounds their distances from the largest, ``u(S + L)``; their
    exponentials, ``8u`` by four units in the last place; the sum, ``(k - 1)u``; its logarithm, ``8u*ln k``; and the
    result, ``u(S + L)``: in all ``2u(S + L) + uK`` with ``K = k + 8 + 8 ln k``.

    A tuple's log-probability is the sum of its m choices' log-weights less their log-sums. The computed log-sum after
    one choice stands once in that choice's log-weight and is, but for its own rounding, the log-sum of the next; so the
    ``m - 1`` inner ones cancel up to their own errors. What remains are these, the m additions, and the first log-sum,
    in which the errors of all levels add up:
    ``(m - 1)(2u(S + L) + uK) + m*u(S + L) + (m - 1)(3u(S + L) + uK) + u(S + L)``, at most ``m*u(6(S + L) + 2K)``. What
    this is too much by covers products of errors, and exponentials too small for a normal number. With two tables the
    loss is ``4m*r*w(1 + 6m*u*n) + 4m*u(3L + K)``, with ``n`` below `MOST_ROWS`. The choices themselves, by OpenDP, are
    exact for the log-weights they are given.
    """
    logarithm = math.log(positions)
    constant = math.ceil(3 * quantiles * logarithm + positions + 9 * logarithm + 20)
    return em.largest_weight(
        epsilon,
        loss=4 * quantiles * parts * (1 + 6 * quantiles * em.UNIT * em.MOST_ROWS),
        absolute=4 * quantiles * em.UNIT * constant,
        digits=em.WEIGHT_DIGITS - (quantiles * parts).bit_length(),  # a term of the score has as many more
    )


@dataclass(frozen=True, eq=False)
class Intervals:
    """The log-weights ``-weight*|bins*rows - all|`` of intervals between positions, exactly."""

    ends: Integers  # the rows up to each position, and all
    bins: int
    weight: float

    def after(self, below: Integers, first: int) -> Floats:
        """Return those of intervals above so many rows, by where they start and by where they end, from `first` on."""
        rows = self.ends[first:] - below[:, np.newaxis]
        return -self.weight * np.abs(self.bins * rows - self.ends[-1])


def _draw(intervals: Intervals, following: Floats, choose: em.Choose) -> tuple[int, ...]:
    """Draw positions, each from the one before it on, in proportion to the exponential of their intervals' sum."""
    # The steps depend on the numbers of positions and of quantiles alone, and on the positions that were drawn.
    first, below, drawn = 0, np.zeros(1, dtype=np.int64), []
    for after in following:
        first += choose(intervals.after(below, first)[0, :-1] + after[first:])
        below = intervals.ends[first : first + 1]
        drawn.append(first)
    return tuple(drawn)


def _following(intervals: Intervals, quantiles: int) -> Floats:
    """Return the log-sum over all that may follow a quantile at a position, shape ``(quantiles, n_positions)``."""
    # From the last positions to the first, a block at a time, and from the last quantile to the first.
    positions = len(intervals.ends) - 1
    found, earlier = np.empty((quantiles, positions)), np.tri(_BLOCK, k=-1, dtype=bool)
    for first in range((positions - 1) // _BLOCK * _BLOCK, -1, -_BLOCK):
        block = slice(first, min(first + _BLOCK, positions))
        after = intervals.after(intervals.ends[block], first)
        size = len(after)
        after[:, :size][earlier[:size, :size]] = -np.inf  # no interval ends below its start
        found[-1, block] = after[:, -1]
        for level in range(quantiles - 2, -1, -1):
            found[level, block] = _log_sums(after[:, :-1] + found[level + 1, first:])
    return found


def _log_sums(terms: Floats) -> Floats:
    most = terms.max(axis=1)
    return most + np.log(np.exp(terms - most[:, np.newaxis]).sum(axis=1))
