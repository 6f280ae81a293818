"""ROC curves of a membership inference attack over repeated splits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from hedgerow.audit.plot import roc_band
from hedgerow.errors import ArgumentError
from hedgerow.text.messages import describe_argument

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
FPR: Array = np.geomspace(1e-4, 1, 201)
"""The false positive rates of stored curves: 50 a decade."""
FPR.setflags(write=False)
RATES = (0.001, 0.01, 0.1)
"""The false positive rates whose true positive rates are printed, where there are enough rows to measure them."""
BAND = (0.05, 0.95)
"""The quantiles over splits that bound intervals and bands."""


@dataclass(frozen=True, eq=False, repr=False)
class Membership:
    """ROC curves and AUCs of a membership inference attack. **Private**: a function of the rows.

    Attributes
    ----------
    target : str
        The learner attacked.
    attack : str
        The attack in words.
    sizes : tuple of int
        Rows in each split: known members, known non-members, members to score, non-members to score.
    curves : ndarray of shape (n_repeats, len(fpr))
        The true positive rate of each split at each of `fpr`.
    aucs : ndarray of shape (n_repeats,)
        The area under the whole ROC curve of each split: the chance that a member scores higher than a non-member.
    fpr : ndarray
        False positive rates, logarithmically spaced from 1e-4 to 1.
    """

    target: str
    attack: str
    sizes: tuple[int, int, int, int]
    curves: Array
    aucs: Array
    fpr: Array = field(default_factory=lambda: FPR)

    def __post_init__(self) -> None:
        if self.curves.shape != (len(self.aucs), len(self.fpr)) or not len(self.aucs):
            raise ArgumentError(
                "expected one ROC curve and AUC per repeat, and one point of a curve per rate, got other shapes."
            )

    @property
    def repeats(self) -> int:
        """The number of times that the rows were split, the target fitted and attacked."""
        return len(self.aucs)

    @property
    def tpr(self) -> Array:
        """The mean of the curves."""
        return self.curves.mean(axis=0)

    @property
    def tpr_band(self) -> tuple[Array, Array]:
        """The 5 % and 95 % quantiles of the curves over the splits, point by point."""
        low, high = np.quantile(self.curves, BAND, axis=0)
        return low, high

    @property
    def auc(self) -> float:
        """The mean area under the curve over the splits; 0.5 is random guessing."""
        return float(self.aucs.mean())

    @property
    def auc_interval(self) -> tuple[float, float]:
        """The interval of 90 % of the splits: the 5 % and 95 % quantiles of the areas."""
        low, high = np.quantile(self.aucs, BAND)
        return float(low), float(high)

    @property
    def auc_standard_error(self) -> float:
        """The standard error of `auc` over random splits of these rows; NaN for a single one."""
        return float(self.aucs.std(ddof=1) / np.sqrt(self.repeats)) if self.repeats > 1 else float("nan")

    @property
    def finest_fpr(self) -> float:
        """The rate of a single non-member to score: below it, a curve is interpolated and shows nothing."""
        return 1 / self.sizes[3]

    def tpr_at(self, fpr: float) -> float:
        """Return the mean true positive rate at a false positive rate, interpolated between the stored ones.

        Raises
        ------
        ValueError
            If the rate is not between `finest_fpr`, or the smallest stored one, and 1.
        """
        finest = max(float(self.fpr[0]), self.finest_fpr)
        if not finest <= fpr <= 1:
            raise ArgumentError(
                f"expected fpr between {finest:.3g} and 1, got {describe_argument(fpr)}; with {self.sizes[3]} "
                "non-members, lower rates cannot be measured: audit more rows."
            )
        return float(np.interp(fpr, self.fpr, self.tpr))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean curve and its band with logarithmic axes, and return the axes."""
        caption = f"{self.attack}, on {self.target}. {self._splits} AUC {self.auc:.3f}. {PRIVATE}"
        name = f"90 % of {self.repeats} splits"
        return roc_band(self.fpr, self.tpr, self.tpr_band, name, self.finest_fpr, caption, ax)

    @property
    def _splits(self) -> str:
        known, known_others, members, others = self.sizes
        return (
            f"{self.repeats} splits of {known + members} members and {known_others + others} non-members; the attacker "
            f"knows {known} and {known_others} of them and is evaluated on the other {members} and {others}."
        )

    @property
    def _rates(self) -> list[str]:
        """The rates that can be measured, in a line, and the finest one in another line if some are below it."""
        seen = [f"{100 * rate:g} %: {100 * self.tpr_at(rate):.2g} %" for rate in RATES if rate >= self.finest_fpr]
        lines = [f"TPR at FPR of  {'  '.join(seen)}  (random guessing: TPR = FPR)"]
        finest = (
            f"{self.sizes[3]} non-members: false positive rates below {100 * self.finest_fpr:.3g} % cannot be measured"
        )
        return lines * bool(seen) + [finest] * (len(seen) < len(RATES))

    def __str__(self) -> str:
        low, high = self.auc_interval
        return "\n".join(
            [
                f"attack   {self.attack}",
                f"target   {self.target}",
                f"AUC      {self.auc:.3f} (0.5: random guessing), standard error {self.auc_standard_error:.3f}; "
                f"90 % of splits between {low:.3f} and {high:.3f}",
                *self._rates,
                f"splits   {self._splits}",
                PRIVATE,
            ]
        )

    def __repr__(self) -> str:
        return f"<Membership of {self.target} by {self.attack}: AUC {self.auc:.3f} over {self.repeats} splits>"


PRIVATE = "A function of the rows: for the curator's eyes only, not for release."


def curve(members: Array, others: Array) -> tuple[Array, float]:
    """Return the true positive rates at `FPR` and the AUC, from the scores of members and non-members.

    Between the points of thresholds, the curve is interpolated linearly, which an attacker achieves by deciding equal
    scores at random. Where several points have the same false positive rate, the highest counts.
    """
    truth = np.repeat([1, 0], [len(members), len(others)])
    scores = np.concatenate([members, others])
    fpr, tpr, _ = roc_curve(truth, scores, drop_intermediate=False)
    return np.interp(FPR, fpr, tpr), float(roc_auc_score(truth, scores))
