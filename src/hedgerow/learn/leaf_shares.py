"""Class shares of leaves with drawn labels: posterior means, given released counts and their noise.

The model: the number of rows of a leaf has a uniform (improper) prior, the class shares have a Dirichlet prior, and a
released count is a true count with discrete Laplace noise. The mean and the concentration of the Dirichlet prior are
the same for all leaves with the same label. Both are unknown, so the result averages over a small grid of them,
weighted by a prior and by their evidence (the marginal likelihood of the released counts). The computation uses
released counts and public numbers only: shares are post-processing (docs/mathematics.md, "Shares of leaves").

Given a scale λ of the leaf, with density dλ, the true counts of a Dirichlet-multinomial distribution are independent:
count n of class c has the negative binomial probability Γ(α+n) / (Γ(α)·n!) · x^n · (1−x)^α with x = λ/(1+λ). The sum
over the true counts of all classes is therefore a product of one sum for each class, integrated over λ.
"""

import math
from collections.abc import Sequence

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers

_STRENGTHS = np.array([2.0, 4.0, 8.0, 16.0, 32.0])  # concentrations (sums of the Dirichlet parameters), all above 1
_CENTRES = (np.arange(8) + 0.5) / 8  # prior means of the label's share, on a scale from 1/n_classes (0) to 1 (1)
_LOG_PRIOR = np.tile(np.log(_CENTRES * (1 - _CENTRES)), len(_STRENGTHS))  # for each concentration and mean
_STEP = 0.25  # grid step of ln λ; the integrand is smooth, and its width is at least the width of the strongest prior
_TAILS = 12.0  # margin of the grid of ln λ beyond the counts; the omitted mass is below 10^-5
_REACH = 60  # bound on the noise of a count, in scales of the noise; the omitted probability is negligible
_CELLS = 8  # cells of true counts for each scale of the noise
_DECIMALS = 4  # of a share, more with many classes; platforms differ only in far later digits
_BELOW = 1e-3  # in units of the last decimal: tolerance for shares, such as 0.5, that floats may put slightly below

_MANY = 2.0**12  # true counts from which on a second-order series approximates the ratio of gamma functions


def leaf_shares(counts: Integers, labels: Sequence[int], scale: float) -> list[tuple[float, ...]]:
    """Return the class shares of each leaf, from its released counts with discrete Laplace noise of this scale.

    The label of a leaf has the largest share. If the counts contradict the label, its share and the largest share of
    the other classes are averaged until it has.
    """
    shares = np.empty(counts.shape)
    for label in set(labels):
        places = np.flatnonzero(np.array(labels) == label)
        shares[places] = _shares(counts[places], _priors(counts[places], label, scale), scale)
    return [rounded_shares(with_mode(own, label), label) for own, label in zip(shares, labels, strict=True)]


def _priors(counts: Integers, label: int, scale: float) -> Floats:
    """Return a grid of Dirichlet parameters, shape ``(n_priors, n_classes)``, for the leaves of one label.

    The other classes are in proportion to their counts in all of these leaves, or to the noise if that is larger.
    """
    n_leaves, n_classes = counts.shape
    own = np.arange(n_classes) == label
    noise = scale * math.sqrt(2 * n_leaves)
    weights = np.where(own, 0.0, np.maximum(counts.sum(axis=0), max(noise, 1.0)))
    centres = (1 + (n_classes - 1) * _CENTRES[:, np.newaxis]) / n_classes
    means = np.where(own, centres, (1 - centres) * weights / weights.sum())
    return (_STRENGTHS[:, np.newaxis, np.newaxis] * means).reshape(-1, n_classes)


def _shares(counts: Integers, priors: Floats, scale: float) -> Floats:
    """Return the posterior means of the shares of each leaf, averaged over the priors by their evidence."""
    evidence, means = zip(*(posteriors(row, priors, scale) for row in counts.tolist()), strict=True)
    total = _LOG_PRIOR + np.sum(evidence, axis=0)
    weights = np.exp(total - total.max())
    return np.einsum("p,lpc->lc", weights / weights.sum(), np.array(means))


def posteriors(counts: Sequence[int], priors: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return the log-evidence of each prior, up to a constant, and the posterior means of the shares."""
    logs = np.arange(-_TAILS, math.log(max(*counts, 0) + _REACH * scale + 1) + _TAILS, _STEP)
    by_class = [_sums(count, priors[:, place], scale, logs) for place, count in enumerate(counts)]
    joint = logs[:, np.newaxis] + sum(log_sum for log_sum, _ in by_class)
    largest = joint.max(axis=0)
    joint = np.exp(joint - largest)
    evidence = largest + np.log(joint.sum(axis=0) * (priors.sum(axis=1) - 1))
    joint /= 1 + np.exp(logs)[:, np.newaxis]
    means = np.stack([(joint * rows).sum(axis=0) for _, rows in by_class], axis=1)
    return evidence, means / means.sum(axis=1, keepdims=True)


def _sums(count: int, alpha: Floats, scale: float, logs: Floats) -> tuple[Floats, Floats]:
    """Return the log-probability of a released count by scale of the leaf and prior, and the mean of α + true count."""
    true, mass = _cells(count, scale)
    size = max(count, scale, 1.0)  # keeps powers of true counts within the range of floats
    powers = np.exp(_log_ratios(true[:, np.newaxis], alpha) - alpha * math.log(size))
    log_x, log_rest = -np.log1p(np.exp(-logs)), -np.log1p(np.exp(logs))
    terms = np.exp(log_x[:, np.newaxis] * true) * mass
    total = terms @ powers
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.where(total > 0, (terms * true) @ powers / total, 0.0)
        return np.log(total) + alpha * (math.log(size) + log_rest)[:, np.newaxis], alpha + rows


def _log_ratios(true: Floats, alpha: Floats) -> Floats:
    """Return the logarithm of Γ(α+n) / (Γ(α)·n!)."""
    few, many = np.minimum(true, _MANY), np.maximum(true, _MANY) + alpha / 2
    exact = _log_gamma(alpha + few) - _log_gamma(1 + few)
    series = (alpha - 1) * (np.log(many) - alpha * (alpha - 2) / (24 * many**2))
    return np.where(true < _MANY, exact, series) - _log_gamma(alpha)


def _log_gamma(z: Floats) -> Floats:
    """Return ln Γ(z) by Stirling's series at z + 8, with an error below 10^-9."""
    far = z + 8
    series = 1 / (12 * far) - 1 / (360 * far**3) + 1 / (1260 * far**5)
    ends = z * (z + 7)
    below = ends * (ends + 6) * (ends + 10) * (ends + 12)  # z (z + 1) ... (z + 7), two factors at a time
    return (far - 0.5) * np.log(far) - far + math.log(2 * math.pi) / 2 + series - np.log(below)


def _cells(count: int, scale: float) -> tuple[Floats, Floats]:
    """Return the mean true count of each cell, and the probability of the noise in it, up to a constant.

    With little noise, a cell is a single true count. Otherwise cells are narrow compared with the noise and the count.
    """
    reach, width = math.ceil(_REACH * scale), max(math.ceil(scale / _CELLS), 1)
    edges = [max(count - reach, 0)]
    while edges[-1] <= max(count, 0) + reach:
        stop = edges[-1] + max(min(width, edges[-1] // _CELLS), 1)
        edges.append(count if edges[-1] < count < stop else stop)
    first, after = np.array(edges[:-1]), np.array(edges[1:])
    sizes, is_below = after - first, after <= count
    nearest = np.where(is_below, after - 1, first)
    mass = np.exp((abs(min(count, 0)) - np.abs(nearest - count)) / scale) * -np.expm1(-sizes / scale)
    with np.errstate(over="ignore"):  # if the scale is tiny
        inward = 1 / np.expm1(1 / scale) - sizes / np.expm1(sizes / scale)  # mean distance from the nearest count
    return nearest + np.where(is_below, -inward, inward), mass


def rounded_shares(shares: Floats, label: int) -> tuple[float, ...]:
    """Round shares to decimals that add up to 1, all positive, with the largest share for the label."""
    digits = len(str(len(shares)))
    unit = 10 ** (max(_DECIMALS, digits) + digits)
    parts = np.floor(shares * unit + _BELOW).astype(np.int64)
    parts = np.clip(parts, 1, parts[label] - len(shares))  # the label keeps the largest share
    parts[label] += unit - parts.sum()
    return tuple((parts / unit).tolist())


def with_mode(shares: Floats, mode: int) -> Floats:
    """Return shares in which the mode is pooled with the largest classes until no other share exceeds their mean."""
    others = np.argsort(-shares, kind="stable")
    others = others[others != mode]
    means = np.cumsum([shares[mode], *shares[others]]) / np.arange(1, len(shares) + 1)
    larger = shares[others] > means[:-1]
    size = len(others) if larger.all() else int(larger.argmin())
    pool = [mode, *others[:size].tolist()]
    pooled = shares.copy()
    pooled[pool] = means[size]
    return pooled
