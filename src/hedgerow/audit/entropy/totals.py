"""Residual entropy of a row given its total on a scorecard, by counting the possible rows of each total."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.counting.bin_values import Resolution, bin_weights
from hedgerow.audit.entropy.result import count_text
from hedgerow.errors import ArgumentError
from hedgerow.models.released import released_scorecard
from hedgerow.models.scorecard import Scorecard

MOST_TOTALS = 2**20  # the most different totals that are counted
Total = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class TotalEntropy:
    """The residual entropy of a row, given its total on a scorecard. It follows from the scorecard alone.

    `rows_by_total` is how many rows of the domain have each total: one number for two classes, else one for each.

    Examples
    --------
    >>> from hedgerow.models import AttributePoints
    >>> from hedgerow.privacy.card import PrivacyCard
    >>> from hedgerow.schema import Boolean, Label, Schema
    >>> schema = Schema({"smoker": Boolean(), "diabetic": Boolean()}, Label("ill", ("no", "yes")))
    >>> parts = tuple(AttributePoints(name, ((0,), (2,))) for name in schema)
    >>> found = totals(Scorecard(schema, (-3,), parts, 0.5, None, PrivacyCard.none("example", software="hedgerow")))
    >>> found.rows_by_total
    {(-3,): 1, (-1,): 2, (1,): 1}
    >>> print(found)
    a row of the domain: 2.00 bits; given its total: 0.50 bits on average
    fewest rows: 1 of 4 with the total -3, which leaves 0.00 bits
    """

    scorecard: Scorecard
    rows_by_total: Mapping[Total, int]

    @cached_property
    def possible_rows(self) -> int:
        """The number of different rows of the domain."""
        return sum(self.rows_by_total.values())

    @property
    def bits(self) -> float:
        """The entropy of a row, in bits, all rows of the domain being equally likely."""
        return log2(self.possible_rows)

    @cached_property
    def residual_bits(self) -> float:
        """The residual entropy of a row given its total, in bits, on average over the rows of the domain."""
        rows = self.possible_rows
        return float(sum(float(Fraction(count, rows)) * log2(count) for count in self.rows_by_total.values()))

    def bits_of(self, X: Any) -> NDArray[np.float64]:
        """Return the residual entropy of each row given its total, in bits, shape ``(n_rows,)``. **Private**."""
        found = self.scorecard.totals(X)
        keys = map(tuple, found.reshape(len(found), -1).tolist())
        return np.array([log2(self.rows_by_total[key]) for key in keys], dtype=np.float64)

    def __str__(self) -> str:
        total, rows = min(self.rows_by_total.items(), key=lambda item: (item[1], item[0]))
        shown = f"total {total[0]}" if len(total) == 1 else f"totals {', '.join(map(str, total))}"
        fewest = f"{count_text(rows)} of {count_text(self.possible_rows)}"
        return (
            f"a row of the domain: {self.bits:.2f} bits; given its total: {self.residual_bits:.2f} bits on average\n"
            f"fewest rows: {fewest} with the {shown}, which leaves {log2(rows):.2f} bits"
        )

    def __repr__(self) -> str:
        return f"<TotalEntropy: {self.residual_bits:.2f} of {self.bits:.2f} bits given the total>"


def totals(scorecard: Any, *, resolution: Resolution | None = None) -> TotalEntropy:
    """Count the possible rows of each total of a scorecard, attribute by attribute.

    Points add up, so the number of rows with a total is a convolution over attributes, in whole numbers. A scorecard
    that is published discloses of its training rows what its card bounds; **a total that is published with a person**
    discloses that the person's row is one of the rows with that total, all equally likely here; no row is read.

    Parameters
    ----------
    scorecard : Scorecard or fitted PrivateScorecardClassifier
        The scorecard; TypeError for another model, ValueError for one of more than a million different totals.
    resolution : mapping of str to float, optional
        As for `reconstruction`.
    """
    card = released_scorecard(scorecard)
    points = {part.attribute: part.points for part in card.parts}
    counts: dict[Total, int] = {tuple(card.base): 1}
    for name, weights in zip(card.schema.names, bin_weights(card.schema, resolution=resolution), strict=True):
        by_points = Counter[Total]()
        for row, weight in zip(points.get(name, [(0,) * len(card.base)] * len(weights)), weights, strict=True):
            by_points[row] += weight
        counts = _convolved(counts, by_points)
    return TotalEntropy(card, {total: counts[total] for total in sorted(counts)})


def _convolved(counts: Mapping[Total, int], by_points: Mapping[Total, int]) -> dict[Total, int]:
    found = Counter[Total]()
    for points, weight in by_points.items():
        if not weight:
            continue  # a bin without values
        for total, rows in counts.items():
            found[tuple(one + other for one, other in zip(total, points, strict=True))] += rows * weight
        if len(found) > MOST_TOTALS:
            raise ArgumentError(f"expected at most {MOST_TOTALS:,} different totals, got more; use fewer points.")
    return dict(found)
