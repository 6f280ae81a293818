"""RMIA: membership inference by a row's likelihood ratio relative to that of other rows, on shadow fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from hedgerow.audit.inference.roc import Array
from hedgerow.audit.inference.shadows import Shadows
from hedgerow.boundary.arguments import check_share

_DIGITS = 9  # of ratios: sums of the same confidences in another order are equal


@dataclass(frozen=True)
class Rmia:
    """The share of other rows for which the fit under attack is less evidence of membership than for this one.

    The evidence is ``P[y | x, fit] / P(x)``, where P(x) is the mean confidence of shadow fits, half with the row and
    half without it. The share is over all rows of the table, of which the attacker does not know which are members;
    equal ones count half. This is the paper's score with γ = 1, as in its authors' code, where the rows that a row is
    compared with are rows of a population instead.

    References
    ----------
    Zarifzadeh, Liu and Shokri, *Low-Cost High-Power Membership Inference Attacks*, ICML 2024.
    """

    def scores(self, shadows: Shadows) -> tuple[Array, Array]:
        """Return the scores of members and of non-members, from 0 to 1."""
        return _shares(shadows, (_of_others(shadows.inside) + _of_others(shadows.outside)) / 2)

    def __str__(self) -> str:
        return "relative likelihood ratio (RMIA), online"


@dataclass(frozen=True)
class OfflineRmia:
    """RMIA by shadow fits without the row alone: ``P(x) = ((1 + a)·P_out(x) + 1 − a)/2``.

    Attributes
    ----------
    a : float, default=0.3
        How fast the confidence of fits with a row grows with that of fits without it, at least 0 and below 1.

    References
    ----------
    Zarifzadeh, Liu and Shokri, *Low-Cost High-Power Membership Inference Attacks*, ICML 2024; its
    authors tune a on two models.
    """

    a: float = 0.3

    def __post_init__(self) -> None:
        check_share("a", self.a)

    def scores(self, shadows: Shadows) -> tuple[Array, Array]:
        """Return the scores of members and of non-members, from 0 to 1."""
        return _shares(shadows, ((1 + self.a) * _of_others(shadows.outside) + 1 - self.a) / 2)

    def __str__(self) -> str:
        return f"relative likelihood ratio (RMIA), offline with a = {self.a:g}"


def _of_others(confidences: Array) -> Array:
    """Return the mean of the other splits, for each split and row."""
    return (confidences.sum(axis=0) - confidences) / (len(confidences) - 1)


def _shares(shadows: Shadows, usual: Array) -> tuple[Array, Array]:
    """Return the share of rows with less evidence in the same fit, for members and for non-members."""
    members, others = np.empty(usual.shape), np.empty(usual.shape)
    usual = usual.round(_DIGITS)
    for has in (shadows.first, ~shadows.first):
        said = np.where(has, shadows.inside, shadows.outside)
        alone = np.where(said > 0, np.inf, 1.0)  # where all others have confidence 0
        ratio = np.divide(said, usual, out=alone, where=usual > 0)
        share = (rankdata(ratio.round(_DIGITS), axis=1) - 0.5) / ratio.shape[1]
        members[has], others[~has] = share[has], share[~has]
    return members, others
