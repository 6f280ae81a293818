"""All quantiles of a column, drawn jointly by the exponential mechanism, with a bound on the rounding errors."""

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

_MOST_TERMS = 10**8  # the number of terms of a draw, which take about a second; up to 5e8 with one part per candidate
_MOST_PARTS = 2**10 - 1  # per quantile, so that enough digits are left for a weight
_BLOCK = 64  # starts per block, whose terms fit into a processor's cache


@dataclass(frozen=True)
class JointQuantiles:
    """A joint draw of the ``bins - 1`` quantiles of a column, as a nondecreasing sequence of candidates.

    The input is a vector of int64 counts, one more than the number of candidates. They count the rows up to the first
    candidate, the rows between the first and the second, …, and the rows above the last. Neighbouring inputs differ by
    1 in one count.

    The rows up to each candidate are spread evenly over `parts` positions, so that quantiles can lie among equal
    values. A tuple of positions cuts the ``n`` rows into intervals of ``n_j`` rows, including fractions of rows. Its
    score, ``-parts*sum_j |bins*n_j - n|``, is a whole number. Adding or removing a row changes the intervals by
    ``a_j``, which sum to 1, and the score by at most ``parts*sum_j |bins*a_j - 1|``. This is at most ``2*parts*(bins -
    1)``, which is reached if the row is in a single interval. The direction of the change depends on the tuple. A draw
    with probability proportional to ``exp(weight*score)`` therefore costs twice this sensitivity times the weight.
    `epsilon` is this loss plus the bound on the rounding errors. A position stands for the nearest candidate.

    Gillenwater, Joseph and Kulesza, *Differentially Private Quantiles*, ICML 2021, Section 3; McSherry and Talwar,
    *Mechanism Design via Differential Privacy*, FOCS 2007, Theorem 6.
    """

    epsilon: Fraction  # the loss of all quantiles together
    bins: int  # the number of intervals of about equal mass: 2 to 2¹⁹, since a weight for more has no digit left
    candidates: int  # the public number of candidates
    weight: Fraction = field(init=False)  # the weight of a unit of the score
    sensitivity: int = field(init=False, default=1)
    delta = Fraction(0)

    def __post_init__(self) -> None:
        weight = _weight(self.epsilon, self.bins - 1, self.parts, self.parts * self.candidates)
        object.__setattr__(self, "weight", weight)

    @property
    def parts(self) -> int:
        """The number of positions per candidate: one per bin, or fewer if a draw would take too long."""
        quantiles = self.bins - 1
        positions = math.isqrt(2 * _MOST_TERMS // quantiles)
        return max(1, min(self.bins, positions // self.candidates, _MOST_PARTS // quantiles))

    @property
    def rho(self) -> Fraction:
        """The loss ρ: log-ratios of tuples on neighbouring tables have a range of 2·`score_sensitivity`·`weight`."""
        return drawn_rho(self.epsilon, 2 * self.score_sensitivity * self.weight)

    @property
    def score_sensitivity(self) -> int:
        """The largest change of the score by a row."""
        return 2 * self.parts * (self.bins - 1)

    def distance(self, first: Integers, second: Integers) -> float:
        """Return the number of rows by which the inputs differ."""
        return float(np.abs(second - first).sum())

    def build(self) -> Callable[[Integers], tuple[int, ...]]:
        choose = em.gumbel_choice()
        return lambda counts: self.places(self.sampler(counts, choose)())

    def simulate(self, values: Integers, rng: np.random.Generator) -> tuple[int, ...]:
        return self.places(self.sampler(values, em.seeded_choice(rng))())

    def sampler(self, counts: Integers, choose: em.Choose) -> Callable[[], tuple[int, ...]]:
        """Return a function that draws a nondecreasing tuple of positions; `choose` makes every choice."""
        if counts.sum() >= em.MOST_ROWS:
            raise TooManyRowsError("joint private quantiles need a table of fewer than 2^32 rows; this one has more.")
        spread = np.append(np.repeat(counts[:-1], self.parts), self.parts * counts[-1])
        intervals = Intervals(np.cumsum(spread), self.bins, float(self.weight))
        following = _following(intervals, self.bins - 1)
        return lambda: _draw(intervals, following, choose)

    def places(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """Return the nearest candidate of each position; the first candidate for positions below it."""
        return tuple(max(2 * position + 2 - self.parts, 0) // (2 * self.parts) for position in positions)

    @property
    def record(self) -> Fact:
        kept = self.epsilon - 2 * self.score_sensitivity * self.weight
        sizes = {"bins": self.bins, "candidates": self.candidates, "sensitivity": self.score_sensitivity}
        return Fact("joint_quantiles", **sizes, weight=self.weight, kept=kept)


def _weight(epsilon: Fraction, quantiles: int, parts: int, positions: int) -> Fraction:
    """Return the largest weight of a unit of the score at which a draw costs at most `epsilon`.

    With exact arithmetic the loss of ``m`` quantiles is ``4m*r*w``, with ``r`` parts. The log-weights are computed in
    float64. Let ``u = 2⁻⁵³``, and let there be ``k`` positions and ``n`` rows. The intervals of a tuple have a total
    weight of at most ``S = 2m*r*w*n``. ``L = m*ln k`` bounds the logarithm of the number of tuples. Every log-sum lies
    between −S and L.

    The log-weight of an interval is exact, because ``w`` has few digits. Adding the log-sum of the later intervals
    rounds by ``u(S + L)``. The log-sum of up to k such terms has the following errors: ``u(S + L)`` for the distances
    of the terms from the largest, ``8u`` for their exponentials (four units in the last place), ``(k - 1)u`` for the
    sum, ``8u*ln k`` for its logarithm, and ``u(S + L)`` for the result. Together these are ``2u(S + L) + uK`` with ``K
    = k + 8 + 8 ln k``.

    The log-probability of a tuple is the sum of the log-weights of its m choices minus the sum of their log-sums. The
    computed log-sum after a choice is a term of the log-weight of that choice. Except for its own rounding, it is also
    the log-sum of the next choice. The ``m - 1`` inner log-sums therefore cancel up to their own errors. The remaining
    errors are these, the errors of the m additions, and the error of the first log-sum, in which the errors of all
    levels add up: ``(m - 1)(2u(S + L) + uK) + m*u(S + L) + (m - 1)(3u(S + L) + uK) + u(S + L)``, at most ``m*u(6(S + L)
    + 2K)``. The slack in this bound covers products of errors and exponentials below the normal range. For two tables
    the loss is ``4m*r*w(1 + 6m*u*n) + 4m*u(3L + K)``, with ``n`` below `MOST_ROWS`. OpenDP makes the choices exactly
    for the given log-weights.
    """
    logarithm = math.log(positions)
    constant = math.ceil(3 * quantiles * logarithm + positions + 9 * logarithm + 20)
    return em.largest_weight(
        epsilon,
        loss=4 * quantiles * parts * (1 + 6 * quantiles * em.UNIT * em.MOST_ROWS),
        absolute=4 * quantiles * em.UNIT * constant,
        digits=em.WEIGHT_DIGITS - (quantiles * parts).bit_length(),  # the digits by which a term of the score is longer
    )


@dataclass(frozen=True, eq=False)
class Intervals:
    """The exact log-weights ``-weight*|bins*rows - all|`` of intervals between positions."""

    ends: Integers  # the rows up to each position, and the number of all rows
    bins: int
    weight: float

    def after(self, below: Integers, first: int) -> Floats:
        """Return the log-weights of intervals that begin after `below` rows and end at position `first` or later."""
        rows = self.ends[first:] - below[:, np.newaxis]
        return -self.weight * np.abs(self.bins * rows - self.ends[-1])


def _draw(intervals: Intervals, following: Floats, choose: em.Choose) -> tuple[int, ...]:
    """Draw nondecreasing positions with probability proportional to the exponential of their total log-weight."""
    # The steps depend only on the numbers of positions and quantiles and on the drawn positions.
    first, below, drawn = 0, np.zeros(1, dtype=np.int64), []
    for after in following:
        first += choose(intervals.after(below, first)[0, :-1] + after[first:])
        below = intervals.ends[first : first + 1]
        drawn.append(first)
    return tuple(drawn)


def _following(intervals: Intervals, quantiles: int) -> Floats:
    """Return the log-sums over all continuations after a quantile at a position, shape ``(quantiles, n_positions)``."""
    # Backwards: by blocks from the last position to the first, and from the last quantile to the first.
    positions = len(intervals.ends) - 1
    log_sums, earlier = np.empty((quantiles, positions)), np.tri(_BLOCK, k=-1, dtype=bool)
    for first in range((positions - 1) // _BLOCK * _BLOCK, -1, -_BLOCK):
        block = slice(first, min(first + _BLOCK, positions))
        after = intervals.after(intervals.ends[block], first)
        size = len(after)
        after[:, :size][earlier[:size, :size]] = -np.inf  # no interval ends below its start
        log_sums[-1, block] = after[:, -1]
        for level in range(quantiles - 2, -1, -1):
            log_sums[level, block] = _log_sums(after[:, :-1] + log_sums[level + 1, first:])
    return log_sums


def _log_sums(terms: Floats) -> Floats:
    most = terms.max(axis=1)
    return most + np.log(np.exp(terms - most[:, np.newaxis]).sum(axis=1))
