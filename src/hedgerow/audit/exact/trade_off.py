"""Trade-off curves between two known distributions: the ROC curve of the most powerful test between them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError
from hedgerow.text.messages import describe_argument

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff:
    """The ROC curve of the best test between two known distributions over finitely many outcomes.

    By the lemma of Neyman and Pearson no test is better: outcomes are rejected in the order of their likelihood ratio,
    those in between with a coin. **Private** where the distributions are.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (n_points,)
        The corners of the curve, from (0, 0) to (1, 1): it is straight between them. True positives are outcomes taken
        as those of the first distribution that are its own.

    References
    ----------
    Dong, Roth and Su, *Gaussian Differential Privacy*, JRSS-B 2022, Section 2, for the trade-off function
    ``1 - tpr(fpr)``.

    Examples
    --------
    >>> curve = TradeOff.of(np.array([0.3, 0.7]), np.array([0.2, 0.8]))
    >>> float(round(curve.advantage, 3)), float(round(curve.tpr_at(0.1), 3))
    (0.1, 0.15)
    """

    fpr: Floats
    tpr: Floats

    @classmethod
    def of(cls, one: Floats, other: Floats) -> Self:
        """Return the curve of two distributions, as chances of the same outcomes, each of shape ``(n_outcomes,)``."""
        kept = (one > 0) | (other > 0)
        one, other = one[kept], other[kept]
        with np.errstate(divide="ignore"):
            order = np.argsort(-(np.log(one) - np.log(other)), kind="stable")
        tpr, fpr = (np.minimum(np.cumsum([0.0, *chances[order]]), 1.0) for chances in (one, other))
        tpr[-1] = fpr[-1] = 1.0
        return cls(fpr, tpr)

    @property
    def advantage(self) -> float:
        """The largest difference of true and false positive rate, which is the total variation."""
        return float((self.tpr - self.fpr).max())

    def tpr_at(self, fpr: float) -> float:
        """Return the true positive rate of the best test with this false positive rate.

        Raises
        ------
        ValueError
            If the rate is not between 0 and 1.
        """
        if isinstance(fpr, bool) or not isinstance(fpr, Real) or not 0 <= fpr <= 1:
            raise ArgumentError(f"fpr must be between 0 and 1, got {describe_argument(fpr)}.")
        # where the curve rises at once, the upper of two corners counts
        corners = np.flatnonzero(np.append(np.diff(self.fpr) > 0, True))
        return float(np.interp(fpr, self.fpr[corners], self.tpr[corners]))

    def __repr__(self) -> str:
        return f"<TradeOff of {len(self.fpr)} corners; private where its distributions are>"
