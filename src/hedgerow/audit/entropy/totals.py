"""Possible rows and residual entropy of a row given its total on a scorecard, by convolution over the attributes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log2
from typing import Any

import numpy as np

from hedgerow.audit.counting.bin_values import Resolution, bin_weights
from hedgerow.audit.counting.outside import PerBin
from hedgerow.audit.entropy.domain import RowPrior
from hedgerow.audit.entropy.result import count_text
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError
from hedgerow.models.points import Points
from hedgerow.models.released import released_scorecard
from hedgerow.models.scorecard import Scorecard

MOST_TOTALS = 2**20  # the largest number of different totals that are counted
_MOST_SUMS = 20_000_000  # the largest number of additions of an attribute's points to totals
_WIDTH = 40  # bits of a packed number, which hold sums of a million in absolute value of 500,000 attributes
_HALF = 1 << (_WIDTH - 1)
PointTotal = Points
"""A total of points: one number for two classes or a number, otherwise one for each class."""


@dataclass(frozen=True, repr=False)
class TotalEntropy:
    """Residual entropy of a row given its total on a scorecard, computed from the scorecard alone.

    `rows_by_total` maps each total to its number of possible rows. A total is a tuple with one number for two classes,
    and one number for each class otherwise.

    Examples
    --------
    >>> from hedgerow.models import AttributePoints
    >>> from hedgerow.privacy.card import PrivacyCard
    >>> from hedgerow.schema import Boolean, Label, Schema
    >>> schema = Schema({"smoker": Boolean(), "diabetic": Boolean()}, Label("ill", ("no", "yes")))
    >>> parts = tuple(AttributePoints(name, ((0,), (2,))) for name in schema)
    >>> entropy = totals(Scorecard(schema, (-3,), parts, 0.5, None, PrivacyCard.none("example", software="hedgerow")))
    >>> entropy.rows_by_total
    {(-3,): 1, (-1,): 2, (1,): 1}
    >>> print(entropy)
    entropy of a row: 2.00 bits without its total, 0.50 bits given its total (on average)
    most revealing total -3: 1 of 4 possible rows, 0.00 bits
    """

    scorecard: Scorecard
    rows_by_total: Mapping[PointTotal, int]

    @cached_property
    def possible_rows(self) -> int:
        """The number of possible rows of the domain."""
        return sum(self.rows_by_total.values())

    @property
    def bits(self) -> float:
        """The entropy of a row in bits, if all rows of the domain are equally likely."""
        return log2(self.possible_rows)

    @cached_property
    def residual_bits(self) -> float:
        """The mean residual entropy of a row given its total, in bits, over the rows of the domain."""
        rows = self.possible_rows
        return float(sum(float(Fraction(count, rows)) * log2(count) for count in self.rows_by_total.values()))

    def bits_of(self, X: Any) -> Floats:
        """Return the residual entropy of each row given its total, in bits, shape ``(n_rows,)``. **Private**."""
        totals = self.scorecard.totals(X)
        keys = map(tuple, totals.reshape(len(totals), len(self.scorecard.base)).tolist())
        return np.array([log2(self.rows_by_total[key]) for key in keys], dtype=np.float64)

    def __str__(self) -> str:
        total, rows = min(self.rows_by_total.items(), key=lambda item: (item[1], item[0]))
        fewest = f"{count_text(rows)} of {count_text(self.possible_rows)}"
        return (
            f"entropy of a row: {self.bits:.2f} bits without its total, {self.residual_bits:.2f} bits given its total "
            f"(on average)\nmost revealing {total_text(total)}: {fewest} possible rows, {log2(rows):.2f} bits"
        )

    def __repr__(self) -> str:
        return f"<TotalEntropy: {self.residual_bits:.2f} of {self.bits:.2f} bits given the total>"


def totals(scorecard: Any, *, resolution: Resolution | None = None) -> TotalEntropy:
    """Count the possible rows of each total of a scorecard.

    Points add up, so the number of rows with each total is a convolution over the attributes, in whole numbers. The
    privacy card bounds what a published scorecard discloses about its training rows. **A published total of a person**
    discloses more: the person's row is one of the possible rows with that total, which are assumed equally likely. No
    row is read. `reconstruction` measures what the numbers of training rows by total or by bin disclose.

    Parameters
    ----------
    scorecard : Scorecard or fitted PrivateScorecardClassifier
        The scorecard; TypeError for another model, ValueError if it has more than a million different totals, or if
        counting them takes more than 20 million additions.
    resolution : mapping of str to float, optional
        As for `reconstruction`.
    """
    card = released_scorecard(scorecard)
    columns = points_by_attribute(card, card.schema.names)
    return TotalEntropy(card, rows_by_total(card.base, columns, bin_weights(card.schema, resolution=resolution)))


def total_text(total: PointTotal) -> str:
    """Return a total as text: "total 5", or the total of each class as "totals 1, 0, 2"."""
    return f"total {total[0]}" if len(total) == 1 else f"totals {', '.join(map(str, total))}"


def points_by_attribute(card: Scorecard, names: Sequence[str]) -> list[tuple[Points, ...] | None]:
    """Return the points by bin of each named attribute; None for an attribute without points."""
    points = {part.attribute: part.points for part in card.parts}
    return list(map(points.get, names))


def rows_by_total(base: Points, columns: Sequence[tuple[Points, ...] | None], weights: PerBin) -> dict[PointTotal, int]:
    """Return the number of possible rows of each total, in increasing order of totals."""
    nothing = tuple((0.0,) * len(bins) for bins in weights)
    return {total: rows for total, (rows, _) in _sums(base, columns, weights, nothing).items()}


def bits_by_total(
    base: Points, columns: Sequence[tuple[Points, ...] | None], prior: RowPrior
) -> dict[PointTotal, float]:
    """Return the entropy of a row given each total under a prior, ``E[−log2 p(row) | total] + log2 P(total)``."""
    everything = sum(log2(sum(masses)) for masses in prior.masses)
    sums = _sums(base, columns, prior.masses, prior.surprisals)
    return {total: max(expected + log2(mass) - everything, 0.0) for total, (mass, expected) in sums.items()}


_Sum = tuple[int, float]  # a mass, and the mean surprisal of its rows


def _sums(
    base: Points, columns: Sequence[tuple[Points, ...] | None], masses: PerBin, surprisals: Sequence[Sequence[float]]
) -> dict[PointTotal, _Sum]:
    """Return the mass and the mean surprisal of the rows with each total; bins without mass are ignored."""
    sums: dict[int, _Sum] = {_packed(base): (1, 0.0)}
    steps = 0
    for column, own, bits in zip(columns, masses, surprisals, strict=True):
        points = [0] * len(own) if column is None else map(_packed, column)
        by_points = _pooled([(k, mass, bit) for k, mass, bit in zip(points, own, bits, strict=True) if mass])
        steps += len(sums) * len(by_points)
        if steps > _MOST_SUMS:
            raise ArgumentError("counting the rows with each total would take too long; use fewer bins or points.")
        sums = _pooled(
            (total + amount, rows * mass, before + surprisal)
            for amount, (mass, surprisal) in by_points.items()
            for total, (rows, before) in sums.items()
        )
    unpacked = {_unpacked(total, len(base)): both for total, both in sums.items()}
    return {total: unpacked[total] for total in sorted(unpacked)}


def _pooled(parts: Iterable[tuple[int, int, float]]) -> dict[int, _Sum]:
    """Return the sum of the masses and the mean surprisal of the parts with each packed total."""
    sums: dict[int, _Sum] = {}
    for total, mass, surprisal in parts:
        whole, mean = sums.get(total, (0, surprisal))
        whole += mass
        sums[total] = whole, mean + mass / whole * (surprisal - mean)
        if len(sums) > MOST_TOTALS:
            raise ArgumentError(f"the scorecard has more than {MOST_TOTALS:,} different totals; use fewer points.")
    return sums


def _packed(points: Points) -> int:
    """Return points as one whole number; the packed numbers of a sum of points are the sum of packed numbers."""
    return sum(own << (_WIDTH * place) for place, own in enumerate(points))


def _unpacked(packed: int, size: int) -> PointTotal:
    points = list[int]()
    for _ in range(size):
        own = (packed + _HALF) % (2 * _HALF) - _HALF
        points.append(own)
        packed = (packed - own) >> _WIDTH
    return tuple(points)
