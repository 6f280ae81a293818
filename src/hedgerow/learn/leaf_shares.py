"""Class shares of leaves whose labels were drawn: posterior means, given released counts and their noise.

The model of a leaf's rows: every number of rows is equally likely beforehand, the class shares have a Dirichlet
distribution, and each released count is a true count with discrete Laplace noise. The means of the Dirichlet
distribution and its strength are the same for all leaves of one label. Both are unknown: the result averages over a
small grid of them, weighted by a prior and by their evidence, that is, the probability of the released counts. Released
counts and public numbers alone are used, so that shares are post-processing (docs/mathematics.md, "Shares of leaves").

Given a scale λ of the leaf, with density dλ, the true counts of a Dirichlet-multinomial distribution are independent:
count n of class c has the negative binomial probability Γ(α+n) / (Γ(α)·n!) · x^n · (1−x)^α with x = λ/(1+λ). So the sum
over all true counts of all classes is a product of sums over those of one class, integrated over λ.
"""

import math
from collections.abc import Sequence

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.models.leaf_release import with_mode

_STRENGTHS = np.array([2.0, 4.0, 8.0, 16.0, 32.0])  # sums of the Dirichlet parameters, each more than 1
_CENTRES = (np.arange(8) + 0.5) / 8  # prior shares of a label, from that of chance at 0 to 1
_LOG_PRIOR = np.tile(np.log(_CENTRES * (1 - _CENTRES)), len(_STRENGTHS))  # of each strength and centre
_STEP = 0.25  # of ln λ: the integrand is smooth, and at most as narrow as the strongest prior
_TAILS = 12.0  # how far ln λ goes beyond the counts: what is left out is below 10^-5
_REACH = 60  # scales of noise beyond which a count cannot be off
_CELLS = 8  # cells of true counts to a scale of the noise
_DECIMALS = 4  # of a share, and more of many classes: platforms differ in far later digits
_BELOW = 1e-3  # of the last decimal: how far rounding of floats may put a share, such as a half, below its decimals

_MANY = 2.0**12  # true counts from which the ratio of gamma functions is its series to the second order


def leaf_shares(counts: Integers, labels: Sequence[int], scale: float) -> list[tuple[float, ...]]:
    """Return the class shares of each leaf, from its released counts with discrete Laplace noise of this scale.

    The label of a leaf is the most probable class: if the counts contradict it, its share and the largest of others are
    averaged until it is.
    """
    found = np.empty(counts.shape)
    for label in set(labels):
        places = np.flatnonzero(np.array(labels) == label)
        found[places] = _shares(counts[places], _priors(counts[places], label, scale), scale)
    return [rounded_shares(with_mode(own, label), label) for own, label in zip(found, labels, strict=True)]


def _priors(counts: Integers, label: int, scale: float) -> Floats:
    """Return a grid of Dirichlet parameters, shape ``(n_priors, n_classes)``, for the leaves of one label.

    Classes other than the label are as frequent as in all of these leaves, or as the noise on that.
    """
    n_leaves, n_classes = counts.shape
    own = np.arange(n_classes) == label
    noise = scale * math.sqrt(2 * n_leaves)
    others = np.where(own, 0.0, np.maximum(counts.sum(axis=0), max(noise, 1.0)))
    centres = (1 + (n_classes - 1) * _CENTRES[:, np.newaxis]) / n_classes
    means = np.where(own, centres, (1 - centres) * others / others.sum())
    return (_STRENGTHS[:, np.newaxis, np.newaxis] * means).reshape(-1, n_classes)


def _shares(counts: Integers, priors: Floats, scale: float) -> Floats:
    """Return the posterior mean of the shares of each leaf, averaged over the priors by their evidence."""
    evidence, means = zip(*(posteriors(row, priors, scale) for row in counts.tolist()), strict=True)
    total = _LOG_PRIOR + np.sum(evidence, axis=0)
    weights = np.exp(total - total.max())
    return np.einsum("p,lpc->lc", weights / weights.sum(), np.array(means))


def posteriors(counts: Sequence[int], priors: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return the logarithm of the evidence of each prior, up to a constant, and the posterior means of the shares."""
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
    """Return ln Γ(z) by Stirling's series, which is off by less than 10^-9 above 8."""
    far = z + 8
    series = 1 / (12 * far) - 1 / (360 * far**3) + 1 / (1260 * far**5)
    ends = z * (z + 7)
    below = ends * (ends + 6) * (ends + 10) * (ends + 12)  # z (z + 1) ... (z + 7), two factors at a time
    return (far - 0.5) * np.log(far) - far + math.log(2 * math.pi) / 2 + series - np.log(below)


def _cells(count: int, scale: float) -> tuple[Floats, Floats]:
    """Return the means of cells of true counts, and the probability of the noise in each, up to a constant.

    With little noise a cell is one true count. A cell is narrow beside the scale of the noise and beside its count.
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
    with np.errstate(over="ignore"):  # of hardly any noise
        inward = 1 / np.expm1(1 / scale) - sizes / np.expm1(sizes / scale)  # mean distance from the nearest count
    return nearest + np.where(is_below, -inward, inward), mass


def rounded_shares(shares: Floats, label: int) -> tuple[float, ...]:
    """Round shares to decimals that add up to 1, each more than 0, and that of the label the largest."""
    digits = len(str(len(shares)))
    unit = 10 ** (max(_DECIMALS, digits) + digits)
    parts = np.floor(shares * unit + _BELOW).astype(np.int64)
    parts = np.clip(parts, 1, parts[label] - len(shares))  # the label keeps more, whatever is added to others
    parts[label] += unit - parts.sum()
    return tuple((parts / unit).tolist())
