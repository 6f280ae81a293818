"""The noise on the counts of an answer: its variances, and the mechanism for pure ε."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import inf, sqrt
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.shared_histograms import SharedHistograms, attribute_groups

_ROUNDING = 1 / 12  # the variance that rounding to a whole number adds
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class AnswerNoise:
    """Variances of the noise on counts by bin for a kind of rows, such as a class or the misclassified rows.

    The noise for different kinds of rows is independent. Attributes of the same group share the noise on the sum of
    their counts, which is the number of rows.

    Attributes
    ----------
    sizes : tuple of int
        The number of bins of each attribute.
    differences : tuple of float
        For each attribute, half the variance of the noise on the difference of two of its counts. If the noise on
        counts is independent, this is the variance of the noise on a count.
    totals : tuple of float
        For each attribute, the variance of the noise on the sum of its counts.
    groups : tuple of int
        For each attribute, the number of its group.

    Examples
    --------
    >>> noise = AnswerNoise.independent((3, 5), 8.0)
    >>> noise.counts, noise.totals
    ((8.0, 8.0), (24.0, 40.0))
    """

    sizes: tuple[int, ...]
    differences: tuple[float, ...]
    totals: tuple[float, ...]
    groups: tuple[int, ...]

    @classmethod
    def independent(cls, sizes: Sequence[int], variance: float) -> Self:
        """Return the variances for independent noise of the same variance on all counts."""
        totals = tuple(size * variance for size in sizes)
        return cls(tuple(sizes), (variance,) * len(sizes), totals, tuple(range(len(sizes))))

    @property
    def is_exact(self) -> bool:
        """Whether there is no noise."""
        return not any(self.differences)

    @property
    def counts(self) -> tuple[float, ...]:
        """For each attribute, the variance of the noise on a count."""
        attributes = zip(self.sizes, self.differences, self.totals, strict=True)
        return tuple(difference + (total / size - difference) / size for size, difference, total in attributes)

    @property
    def by_bin(self) -> Floats:
        """For each bin, the entry of `differences` for its attribute, shape ``(n_bins,)``."""
        return np.repeat(self.differences, self.sizes)

    @property
    def scale(self) -> float:
        """The scale λ of Laplace noise with the mean of `differences` as its variance, ``2λ²``."""
        return sqrt(sum(self.differences) / len(self.sizes) / 2)

    def rows(self, counts: Floats) -> float:
        """Return an estimate of the number of rows: the mean of the attributes' sums, weighted by inverse variance."""
        starts = np.cumsum([0, *self.sizes[:-1]])
        group_sizes = Counter(self.groups)
        sharing = [group_sizes[group] for group in self.groups]
        variances = np.array(self.sizes if self.is_exact else self.totals) * sharing
        return float(np.average(np.add.reduceat(counts, starts), weights=1 / variances))

    def times(self, factor: float) -> Self:
        """Return the variances multiplied by a factor."""
        differences = tuple(factor * variance for variance in self.differences)
        return replace(self, differences=differences, totals=tuple(factor * variance for variance in self.totals))

    def plus(self, other: Self) -> Self:
        """Return the variances for sums with the counts of other rows, by the common refinement of both groupings."""
        pairs = [*zip(self.groups, other.groups, strict=True)]
        return replace(
            self,
            differences=tuple(map(sum, zip(self.differences, other.differences, strict=True))),
            totals=tuple(map(sum, zip(self.totals, other.totals, strict=True))),
            groups=tuple(map(pairs.index, pairs)),
        )


@dataclass(frozen=True)
class _Part:
    """The attributes of an answer that share a mechanism."""

    columns: tuple[int, ...]  # the columns of the counts of these attributes
    mechanism: SharedHistograms | DiscreteLaplace
    shape: tuple[int, ...]  # the shape of the mechanism's input

    def input(self, counts: Integers) -> Integers:
        return counts[:, self.columns].reshape(self.shape)


@dataclass(frozen=True)
class AnswerHistograms:
    """Noise for pure ε on the histograms of the attributes of an answer.

    The input is an array of int64 counts of shape ``(n_classes, sum(sizes))``, as for `SharedHistograms`. This
    mechanism adds the noise for every group of attributes that have less noise if they share it. The counts of the
    other attributes have discrete Laplace noise. Every attribute has an equal share of ε. Answers are rounded to whole
    numbers.
    """

    epsilon: Fraction
    sizes: tuple[int, ...]  # the number of bins of each attribute
    sensitivity: int = 1  # the most that a row adds to the counts of an attribute
    delta = Fraction(0)
    rho = None

    @property
    def shared(self) -> tuple[tuple[tuple[int, ...], SharedHistograms], ...]:
        """The indices of the attributes in each group that shares noise, and its mechanism."""
        groups = [group for group in attribute_groups(self.sizes) if len(group) > 1]
        group_sizes = [tuple(self.sizes[index] for index in group) for group in groups]
        mechanisms = [SharedHistograms(self._share(len(sizes)), sizes, self.sensitivity) for sizes in group_sizes]
        return tuple(zip(groups, mechanisms, strict=True))

    @property
    def alone(self) -> tuple[int, ...]:
        """The indices of the attributes with discrete Laplace noise."""
        return tuple(group[0] for group in attribute_groups(self.sizes) if len(group) == 1)

    def _share(self, number: int) -> Fraction:
        return self.epsilon * number / len(self.sizes)

    @property
    def _parts(self) -> list[_Part]:
        parts = [_Part(self._columns(group), shared, (-1, sum(shared.sizes))) for group, shared in self.shared]
        if number := len(self.alone):
            laplace = DiscreteLaplace(self._share(number), number * self.sensitivity, self.sensitivity)
            parts.append(_Part(self._columns(self.alone), laplace, (-1,)))
        return parts

    def _columns(self, indices: Sequence[int]) -> tuple[int, ...]:
        ends = [*accumulate(self.sizes)]
        return tuple(column for index in indices for column in range(ends[index] - self.sizes[index], ends[index]))

    @property
    def noise(self) -> AnswerNoise:
        """The variances of the noise, including rounding."""
        alone = AnswerNoise.independent(self.sizes, 2 * float(self.sensitivity * len(self.sizes) / self.epsilon) ** 2)
        differences, totals, groups = list(alone.differences), list(alone.totals), list(alone.groups)
        for indices, mechanism in self.shared:
            rounding = _ROUNDING if mechanism.grid > 1 else 0.0
            for index, size, variance in zip(indices, mechanism.sizes, mechanism.count_variances, strict=True):
                differences[index] = variance * size / max(size - 1, 1) + rounding
                totals[index] = mechanism.total_variance + size * rounding
                groups[index] = indices[0]
        return AnswerNoise(self.sizes, tuple(differences), tuple(totals), tuple(groups))

    def distance(self, first: Integers, second: Integers) -> float:
        """Return the largest distance of a part relative to the sensitivity of its mechanism, times `sensitivity`."""
        if np.shape(first) != np.shape(second):
            return inf
        shares = (
            part.mechanism.distance(part.input(first), part.input(second)) / part.mechanism.sensitivity
            for part in self._parts
        )
        return self.sensitivity * max(shares)

    def build(self) -> Callable[[Integers], list[list[int]]]:
        return self._with([(part, part.mechanism.build()) for part in self._parts])

    def simulate(self, values: Integers, rng: np.random.Generator) -> list[list[int]]:
        """Draw the noise of every part from the distribution of its mechanism."""
        return self._with([(part, partial(part.mechanism.simulate, rng=rng)) for part in self._parts])(values)

    def _with(self, runs: Sequence[tuple[_Part, Callable[[Integers], Any]]]) -> Callable[[Integers], list[list[int]]]:
        def run(counts: Integers) -> list[list[int]]:
            noisy = np.empty(counts.shape, dtype=object)
            for part, add_noise in runs:
                noisy[:, part.columns] = np.array(add_noise(part.input(counts)), dtype=object).reshape(len(counts), -1)
            return [[max(-_LARGEST, min(round(count), _LARGEST)) for count in kind] for kind in noisy.tolist()]

        return run

    @property
    def record(self) -> Fact:
        amounts = {"sensitivity": self.sensitivity, "scale": self.sensitivity / self.epsilon}
        number, alone = len(self.shared), len(self.alone)
        parts = {"groups": number if number > 1 else None, "alone": alone or None}
        return Fact("shared_histograms", attributes=len(self.sizes), bins=sum(self.sizes), **amounts, **parts)
