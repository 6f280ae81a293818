"""Likelihood-ratio attacks by shadow models: LiRA, adapted to models with few distinct confidences, and RMIA."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logit
from scipy.stats import rankdata
from scipy.stats import t as student

from hedgerow.audit.inference.targets import Shadows
from hedgerow.boundary.arguments import check_share
from hedgerow.boundary.arrays import Floats, Index, Mask

_CLIP = 1e-6  # confidences are clipped to [_CLIP, 1 - _CLIP] before their logit
_COMMON = 0.1  # the smallest share of a row's fits with a common confidence
_FEWEST = 3  # smallest number of fits with a common confidence, and of logits on each side for a density
_FLAT = 1e-9  # a smaller variance of logits is due to rounding


@dataclass(frozen=True)
class OnlineLira:
    """Log-likelihood ratio of a model's confidence in a row, from shadow models with and without the row.

    A confidence is common if at least a tenth of the fits have it, and at least three. If k shadow models with the row
    and k′ without it have a common confidence, its likelihood ratio is ``(k + ½)/(k′ + ½)``. All other confidences
    together are counted in the same way, and this ratio is multiplied by the ratio of the densities of their logits.
    The densities are predictive (Student's t), since two means and a common variance are estimated from few fits. The
    ratio of densities is 1 if a side has fewer than three such logits, or if all are equal.

    References
    ----------
    Carlini, Chien, Nasr, Song, Terzis and Tramèr, *Membership Inference Attacks From First Principles*, S&P 2022,
    Algorithm 1. Brännvall, *Exponential-Family Membership Inference*, 2026, for Student's t.
    """

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the log-likelihood ratios of members and non-members; 0 means no evidence."""
        inside, outside = sides = _Side.both(shadows)
        members, others = (
            np.where(
                at.rare,
                _log_ratio(inside.other_rare, outside.other_rare) + _log_densities(at.logits, inside, outside),
                _log_ratio(inside.ties(at.codes), outside.ties(at.codes)),
            )
            for at in sides
        )
        return members, others

    def __str__(self) -> str:
        return "likelihood ratio, online"


@dataclass(frozen=True)
class OfflineLira:
    """Score of a row: rarity of the model's confidence, compared with shadow models without the row.

    The score is ``−ln P[a model without the row is at least as confident]``, from Student's t distribution of the
    logits. If all logits are equal, models are counted, with ties as half. It is the offline test of Carlini et al.
    (see `OnlineLira`), whose shadow models are fitted before the row is known, with estimated mean and variance.
    """

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the scores of members and non-members."""
        inside, outside = _logits(shadows.inside), _logits(shadows.outside)
        moments = _moments(outside, np.ones(outside.shape, dtype=bool))
        members, others = (_log_rarity(logits, *moments) for logits in (inside, outside))
        return members, others

    def __str__(self) -> str:
        return "likelihood ratio, offline"


@dataclass(frozen=True, eq=False)
class _Side:
    """Confidences in each row of the fits with the row, or of the fits without it, ``(n_splits, n_rows)``."""

    codes: Index  # number of each distinct confidence in a row, the same on both sides
    counts: Index  # number of occurrences of each code on this side
    rare: Mask  # whether a confidence is not common, on both sides together
    logits: Floats

    @classmethod
    def both(cls, shadows: Shadows) -> tuple[Self, Self]:
        confidences = np.stack([shadows.inside, shadows.outside])
        codes = rankdata(np.concatenate(confidences), method="dense", axis=0).astype(np.intp) - 1
        codes = codes.reshape(confidences.shape)
        counts = [_counts(part, 2 * len(shadows)) for part in codes]
        rare = counts[0] + counts[1] < max(_COMMON * 2 * len(shadows), _FEWEST)
        inside, outside = (
            cls(part, count, np.take_along_axis(rare, part, axis=0), _logits(values))
            for part, count, values in zip(codes, counts, confidences, strict=True)
        )
        return inside, outside

    def ties(self, codes: Index) -> Index:
        """Return the number of other splits with the same confidence on this side."""
        return np.take_along_axis(self.counts, codes, axis=0) - (self.codes == codes)

    @property
    def other_rare(self) -> Index:
        return self.rare.sum(axis=0) - self.rare


def _moments(logits: Floats, used: Mask) -> tuple[Floats, Floats, Floats]:
    """Return the number, mean and sum of squared deviations of the other splits' used logits, by split and row."""
    centre = logits.mean(axis=0)
    values = np.where(used, logits - centre, 0.0)
    number, total, squares = (part.sum(axis=0) - part for part in (used.astype(np.float64), values, values**2))
    mean = total / np.maximum(number, 1)
    return number, centre + mean, np.maximum(squares - number * mean**2, 0.0)


def _log_ratio(inside: Index, outside: Index) -> Floats:
    return np.log(inside + 0.5) - np.log(outside + 0.5)


def _log_densities(at: Floats, inside: _Side, outside: _Side) -> Floats:
    """Return the log-ratio of the densities of logits, estimated from rare logits of other splits; 0 if too few."""
    (n_inside, mean_inside, squares_inside), (n_outside, mean_outside, squares_outside) = (
        _moments(side.logits, side.rare) for side in (inside, outside)
    )
    degrees = np.maximum(n_inside + n_outside - 2, 1)
    variance = (squares_inside + squares_outside) / degrees
    known = (np.minimum(n_inside, n_outside) >= _FEWEST) & (variance > _FLAT)
    variance = np.where(known, variance, 1.0)

    def log_density(number: Floats, mean: Floats) -> Floats:
        scale = variance * (1 + 1 / np.maximum(number, 1))
        return -np.log(scale) / 2 - (degrees + 1) / 2 * np.log1p((at - mean) ** 2 / (scale * degrees))

    return np.where(known, log_density(n_inside, mean_inside) - log_density(n_outside, mean_outside), 0.0)


def _log_rarity(at: Floats, number: Floats, mean: Floats, squares: Floats) -> Floats:
    """Return minus the log-probability of a logit that is at least as large."""
    degrees = number - 1
    variance = squares / degrees
    known = variance > _FLAT
    scale = np.sqrt(np.where(known, variance, 1.0) * (1 + 1 / number))
    equal = np.abs(at - mean) < _FLAT
    counted = (np.where(equal, 0.5, mean > at) * number + 0.5) / (number + 1)
    return np.where(known, -student.logsf((at - mean) / scale, degrees), -np.log(counted))


def _counts(codes: Index, size: int) -> Index:
    """Return the number of occurrences of each code in each column, shape ``(size, n_columns)``."""
    columns = codes.shape[1]
    return np.bincount((codes * columns + np.arange(columns)).ravel(), minlength=size * columns).reshape(size, columns)


def _logits(confidences: Floats) -> Floats:
    return logit(confidences.clip(_CLIP, 1 - _CLIP))


_DIGITS = 9  # ratios are rounded, so that the order of sums does not matter


@dataclass(frozen=True)
class Rmia:
    """Share of rows for which the attacked model gives less evidence of membership than for this row.

    The evidence is ``P[y | x, model] / P(x)``. P(x) is the mean confidence of shadow models; one half contains the row.
    The row is compared with all rows of the table, whose membership the attacker does not know; ties count half. This
    is the paper's score with γ = 1, as in its authors' code, which compares with rows of a population instead.

    References
    ----------
    Zarifzadeh, Liu and Shokri, *Low-Cost High-Power Membership Inference Attacks*, ICML 2024.
    """

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the scores of members and non-members, from 0 to 1."""
        return _shares(shadows, (_mean_of_others(shadows.inside) + _mean_of_others(shadows.outside)) / 2)

    def __str__(self) -> str:
        return "relative likelihood ratio (RMIA), online"


@dataclass(frozen=True)
class OfflineRmia:
    """RMIA with only shadow models without the row: ``P(x) = ((1 + a)·P_out(x) + 1 − a)/2``.

    Parameters
    ----------
    a : float, default=0.3
        Slope of the confidence of models with the row against the confidence of models without it, at least 0 and
        below 1. The authors of `Rmia` tune it on two models.
    """

    a: float = 0.3

    def __post_init__(self) -> None:
        check_share("a", self.a)

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the scores of members and non-members, from 0 to 1."""
        return _shares(shadows, ((1 + self.a) * _mean_of_others(shadows.outside) + 1 - self.a) / 2)

    def __str__(self) -> str:
        return f"relative likelihood ratio (RMIA), offline with a = {self.a:g}"


def _mean_of_others(confidences: Floats) -> Floats:
    """Return, for each split, the mean confidence of all other splits."""
    return (confidences.sum(axis=0) - confidences) / (len(confidences) - 1)


def _shares(shadows: Shadows, expected: Floats) -> tuple[Floats, Floats]:
    """Return the share of rows with less evidence in the same fit, for members and non-members."""
    members, others = np.empty(expected.shape), np.empty(expected.shape)
    expected = expected.round(_DIGITS)
    for is_member in (shadows.first, ~shadows.first):
        confidences = np.where(is_member, shadows.inside, shadows.outside)
        undefined = np.where(confidences > 0, np.inf, 1.0)  # the ratio if all other fits have confidence 0
        ratio = np.divide(confidences, expected, out=undefined, where=expected > 0)
        share = (rankdata(ratio.round(_DIGITS), axis=1) - 0.5) / ratio.shape[1]
        members[is_member], others[~is_member] = share[is_member], share[~is_member]
    return members, others
