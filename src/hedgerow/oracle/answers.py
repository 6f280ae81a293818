"""Answers of an oracle: noisy counts or ratios by bin, public once released, and estimates from them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.oracle.answer_noise import AnswerNoise
from hedgerow.schema.schema import Schema

PARTS = {"rows": ("rows",), "classes": ("rows",), "levels": ("below", "above"), "errors": ("wrong", "right")}
"""The numbers of an answer, by what was asked."""


class _BinCounts(ABC):
    """Counts by bin, from which the number of rows and the share of each bin are estimated."""

    bins: Schema

    @property
    @abstractmethod
    def _in_all(self) -> tuple[Floats, AnswerNoise]:
        """The rows in each bin, and the noise on them."""
        # As floats: sums of noise on 64 bits, which is as large as epsilon is small, could wrap around.

    @property
    def n_rows(self) -> float:
        """The estimated number of rows, at least 1: sums over the bins of attributes, averaged by inverse variance."""
        rows, noise = self._in_all
        return max(noise.rows(rows), 1.0)

    @property
    def masses(self) -> Floats:
        """The share of the rows in each bin, shape ``(n_bins,)``; not below 0."""
        return np.maximum(self._in_all[0] / self.n_rows, 0.0)

    @property
    def variance(self) -> Floats:
        """Half of the variance of the noise on the difference of two shares, by bin, shape ``(n_bins,)``."""
        return self._in_all[1].by_bin / self.n_rows**2


@dataclass(frozen=True, eq=False)
class RowCounts(_BinCounts):
    """Noisy counts of the rows in each bin: `rows` of shape ``(n_bins,)``; `noise` has the variances of the noise."""

    bins: Schema
    rows: Integers
    noise: AnswerNoise

    @property
    def _in_all(self) -> tuple[Floats, AnswerNoise]:
        return self.rows.astype(np.float64), self.noise


@dataclass(frozen=True, eq=False)
class ErrorCounts(_BinCounts):
    """Noisy counts of the rows in each bin that a hypothesis gets wrong, and that it gets right.

    Attributes
    ----------
    wrong, right : ndarray of shape (n_bins,)
        The numbers, which may be negative, for each of `bins`.
    noise : AnswerNoise
        The variances of the noise on the numbers of one of the two arrays.
    steps : int
        The sum of what each row adds to both arrays: 1, or of a number the steps between its levels.
    """

    bins: Schema
    wrong: Integers
    right: Integers
    noise: AnswerNoise
    steps: int = 1

    @property
    def _in_all(self) -> tuple[Floats, AnswerNoise]:
        return (self.wrong.astype(np.float64) + self.right) / self.steps, self.noise.times(2 / self.steps**2)

    @property
    def error_rate(self) -> float:
        """The estimated error rate of the hypothesis, from 0 to 1."""
        return float(np.clip(self.wrong.sum(dtype=np.float64) / self.steps / len(self.bins) / self.n_rows, 0.0, 1.0))

    def errors(self, source: Floats) -> tuple[Floats, Floats]:
        """Return the mean of two estimates of each error mass, which halves the noise, and their variances."""
        # the rows got wrong, and what the weighted source has in the bin less the rows got right
        steps = self.n_rows * self.steps
        found = (self.wrong / steps + source - self.right / steps) / 2
        return found, self.noise.by_bin / 2 / steps**2


@dataclass(frozen=True, eq=False)
class ClassCounts(_BinCounts):
    """Noisy counts of the rows of each class in each bin: `rows` of shape ``(n_bins, n_classes)``."""

    bins: Schema
    rows: Integers
    noise: AnswerNoise  # on the rows of one class

    @property
    def _in_all(self) -> tuple[Floats, AnswerNoise]:
        return self.rows.sum(axis=1, dtype=np.float64), self.noise.times(self.rows.shape[1])


@dataclass(frozen=True, eq=False)
class LevelSums(_BinCounts):
    """Noisy sums, over the rows in each bin, of the levels of a number, counted from both ends.

    A row of level ℓ of 0 to `steps` adds ℓ to `above` and ``steps − ℓ`` to `below`, each of shape ``(n_bins,)``;
    together they are `steps` times the rows. They may be negative; `noise` has the variances of the noise on one array.
    """

    bins: Schema
    below: Integers
    above: Integers
    noise: AnswerNoise
    steps: int

    @property
    def _in_all(self) -> tuple[Floats, AnswerNoise]:
        return (self.below.astype(np.float64) + self.above) / self.steps, self.noise.times(2 / self.steps**2)


@dataclass(frozen=True, eq=False)
class RowShares:
    """The share of rows in each bin, from 0 to 1, in EXPRIL's published form: noisy count over exact total."""

    bins: Schema
    masses: Floats

    @property
    def variance(self) -> Floats:
        """The noise is unknown to the reader of this form: 0 for each bin."""
        return np.zeros(len(self.masses))


@dataclass(frozen=True, eq=False)
class ErrorRatios:
    """The share of errors in each bin, 0 in one without rows, as EXPRIL published it: noisy count over exact rows."""

    bins: Schema
    ratios: Floats

    def errors(self, source: Floats) -> tuple[Floats, Floats]:
        """Return ``(R1)∘q`` of EXPRIL's eq. 5; the noise is unknown, since it depends on the private rows in a bin."""
        return source * self.ratios, np.zeros(len(self.ratios))


def answer_of(by: str, bins: Schema, numbers: Sequence[Integers], noise: AnswerNoise, steps: int) -> Any:
    made: Any = {"rows": RowCounts, "classes": ClassCounts, "levels": LevelSums, "errors": ErrorCounts}[by]
    return made(bins, *numbers, noise, *([steps] if len(numbers) == 2 else []))


ErrorMasses = ErrorCounts | ErrorRatios
"""Answers that have the share of the rows that are in a bin and that a hypothesis gets wrong: `errors`."""
