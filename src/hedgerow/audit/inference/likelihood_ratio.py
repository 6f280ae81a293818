"""Likelihood-ratio attacks on shadow fits: LiRA, for models of few confidences, and RMIA, relative to other rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logit
from scipy.stats import rankdata
from scipy.stats import t as student

from hedgerow.audit.inference.targets import Shadows
from hedgerow.boundary.arguments import check_share
from hedgerow.boundary.arrays import Floats, Index, Mask

_CLIP = 1e-6  # of confidences, before their logit
_COMMON = 0.1  # the share of a row's fits from which on a confidence is counted by itself
_FEWEST = 3  # of these fits; and logits a side, for a density
_FLAT = 1e-9  # a variance of logits that is rounding


@dataclass(frozen=True)
class OnlineLira:
    """Log-likelihood ratio of a fit's confidence in a row, by the shadow fits with the row and those without it.

    A confidence that a tenth or more of the fits have in a row, three at least, is counted: if k shadow fits with the
    row and k′ without it have it, its ratio is ``(k + ½)/(k′ + ½)``. The other confidences count together in the same
    way, times the ratio of the densities of their logits: predictive ones, Student's t, as two means and a common
    variance are estimated from few fits. That ratio is 1 if a side has fewer than three such logits, or all are equal.

    References
    ----------
    Carlini, Chien, Nasr, Song, Terzis and Tramèr, *Membership Inference Attacks From First Principles*, S&P 2022,
    Algorithm 1. Brännvall, *Exponential-Family Membership Inference*, 2026, for Student's t.
    """

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the log-likelihood ratios of members and of non-members; 0 says nothing."""
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
    """The score of a row by a fit's confidence in it, above that of the shadow fits without the row.

    The score is ``−ln P[a fit without the row is at least as confident]``, by Student's t of the logits, or, where all
    of these are equal, by counting them, equal ones as half. With mean and variance estimated, it is the test of
    Carlini et al. (see `OnlineLira`) for fits that were made before anybody thought of the row.
    """

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the scores of members and of non-members."""
        inside, outside = _logits(shadows.inside), _logits(shadows.outside)
        found = _moments(outside, np.ones(outside.shape, dtype=bool))
        members, others = (_log_rarity(at, *found) for at in (inside, outside))
        return members, others

    def __str__(self) -> str:
        return "likelihood ratio, offline"


@dataclass(frozen=True, eq=False)
class _Side:
    """The confidences in each row on one side, with it or without it, shape ``(n_splits, n_rows)``."""

    codes: Index  # numbers of the row's different confidences, the same on both sides
    counts: Index  # how often each of these numbers occurs on this side
    rare: Mask  # whether a confidence is not common enough, on both sides, to be counted by itself
    logits: Floats  # of the confidences

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
        """Return how many other splits have the same confidence on this side."""
        return np.take_along_axis(self.counts, codes, axis=0) - (self.codes == codes)

    @property
    def other_rare(self) -> Index:
        return self.rare.sum(axis=0) - self.rare


def _moments(logits: Floats, used: Mask) -> tuple[Floats, Floats, Floats]:
    """Return the number, mean and squared deviations of the used logits of the other splits, for each split and row."""
    centre = logits.mean(axis=0)
    values = np.where(used, logits - centre, 0.0)
    number, total, squares = (part.sum(axis=0) - part for part in (used.astype(np.float64), values, values**2))
    mean = total / np.maximum(number, 1)
    return number, centre + mean, np.maximum(squares - number * mean**2, 0.0)


def _log_ratio(inside: Index, outside: Index) -> Floats:
    return np.log(inside + 0.5) - np.log(outside + 0.5)


def _log_densities(at: Floats, inside: _Side, outside: _Side) -> Floats:
    """Return the log-ratio of the densities of logits by the rare ones of the other splits; 0 where there are none."""
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
    """Return minus the log of the chance of a logit that is at least this one."""
    degrees = number - 1
    variance = squares / degrees
    known = variance > _FLAT
    scale = np.sqrt(np.where(known, variance, 1.0) * (1 + 1 / number))
    equal = np.abs(at - mean) < _FLAT
    counted = (np.where(equal, 0.5, mean > at) * number + 0.5) / (number + 1)
    return np.where(known, -student.logsf((at - mean) / scale, degrees), -np.log(counted))


def _counts(codes: Index, size: int) -> Index:
    """Return how often each code occurs in each column, shape ``(size, n_columns)``."""
    columns = codes.shape[1]
    return np.bincount((codes * columns + np.arange(columns)).ravel(), minlength=size * columns).reshape(size, columns)


def _logits(confidences: Floats) -> Floats:
    return logit(confidences.clip(_CLIP, 1 - _CLIP))


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

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the scores of members and of non-members, from 0 to 1."""
        return _shares(shadows, (_of_others(shadows.inside) + _of_others(shadows.outside)) / 2)

    def __str__(self) -> str:
        return "relative likelihood ratio (RMIA), online"


@dataclass(frozen=True)
class OfflineRmia:
    """RMIA by shadow fits without the row alone: ``P(x) = ((1 + a)·P_out(x) + 1 − a)/2``.

    Parameters
    ----------
    a : float, default=0.3
        How fast the confidence of fits with a row grows with the confidence of fits without it, at least 0 and below 1.
        The authors of `Rmia` tune it on two models.
    """

    a: float = 0.3

    def __post_init__(self) -> None:
        check_share("a", self.a)

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the scores of members and of non-members, from 0 to 1."""
        return _shares(shadows, ((1 + self.a) * _of_others(shadows.outside) + 1 - self.a) / 2)

    def __str__(self) -> str:
        return f"relative likelihood ratio (RMIA), offline with a = {self.a:g}"


def _of_others(confidences: Floats) -> Floats:
    return (confidences.sum(axis=0) - confidences) / (len(confidences) - 1)


def _shares(shadows: Shadows, usual: Floats) -> tuple[Floats, Floats]:
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
