"""Answers of an oracle: released noisy counts or ratios by bin, and estimates from them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.oracle.answer_noise import AnswerNoise
from hedgerow.schema.schema import Schema

PARTS = {"rows": ("rows",), "classes": ("rows",), "levels": ("below", "above"), "errors": ("wrong", "right")}
"""The names of the arrays of an answer, by the kind of question."""


class _BinCounts(ABC):
    """Base class of counts by bin, with estimates of the number of rows and of the share of each bin."""

    bins: Schema

    @property
    @abstractmethod
    def _in_all(self) -> tuple[Floats, AnswerNoise]:
        """The rows in each bin with the variances of their noise."""
        # As floats: with a tiny epsilon, sums of 64-bit noise could overflow.

    @property
    def n_rows(self) -> float:
        """The estimated number of rows, at least 1: the attributes' sums, averaged by inverse variance."""
        rows, noise = self._in_all
        return max(noise.rows(rows), 1.0)

    @property
    def masses(self) -> Floats:
        """The estimated share of the rows in each bin, at least 0, shape ``(n_bins,)``."""
        return np.maximum(self._in_all[0] / self.n_rows, 0.0)

    @property
    def variance(self) -> Floats:
        """Half the variance of the noise on the difference of two shares, by bin, shape ``(n_bins,)``."""
        return self._in_all[1].by_bin / self.n_rows**2


@dataclass(frozen=True, eq=False)
class RowCounts(_BinCounts):
    """Noisy counts of the rows in each bin: `rows` has the shape ``(n_bins,)``, and `noise` has the variances."""

    bins: Schema
    rows: Integers
    noise: AnswerNoise

    @property
    def _in_all(self) -> tuple[Floats, AnswerNoise]:
        return self.rows.astype(np.float64), self.noise


@dataclass(frozen=True, eq=False)
class ErrorCounts(_BinCounts):
    """Noisy counts of the rows in each bin that a hypothesis misclassifies, and that it classifies correctly.

    Attributes
    ----------
    wrong, right : ndarray of shape (n_bins,)
        The counts of each bin, which may be negative.
    noise : AnswerNoise
        The variances of the noise on either array.
    steps : int
        The sum of the amounts that a row adds to both arrays: 1 or, for a number, the steps between its end levels.
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
        """The estimated error rate of the hypothesis, in [0, 1]."""
        return float(np.clip(self.wrong.sum(dtype=np.float64) / self.steps / len(self.bins) / self.n_rows, 0.0, 1.0))

    def errors(self, source: Floats) -> tuple[Floats, Floats]:
        """Return estimates of the error masses and their variances. Averaging two estimates halves the variance."""
        # The estimates are the wrong rows, and the weighted source rows in the bin minus the right rows.
        steps = self.n_rows * self.steps
        masses = (self.wrong / steps + source - self.right / steps) / 2
        return masses, self.noise.by_bin / 2 / steps**2


@dataclass(frozen=True, eq=False)
class ClassCounts(_BinCounts):
    """Noisy counts of the rows of each class in each bin: `rows` has the shape ``(n_bins, n_classes)``."""

    bins: Schema
    rows: Integers
    noise: AnswerNoise  # on the counts of a class

    @property
    def _in_all(self) -> tuple[Floats, AnswerNoise]:
        return self.rows.sum(axis=1, dtype=np.float64), self.noise.times(self.rows.shape[1])


@dataclass(frozen=True, eq=False)
class LevelSums(_BinCounts):
    """Noisy sums of the levels of a number over the rows in each bin, counted from both ends.

    A row with level ℓ from 0 to `steps` adds ℓ to `above` and ``steps − ℓ`` to `below`, both of shape ``(n_bins,)``.
    Without noise they add up to `steps` times the rows. The sums may be negative. `noise` has the variances of the
    noise on either array.
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
    """The share of the rows in each bin, in [0, 1], in EXPRIL's published form: noisy count over exact total."""

    bins: Schema
    masses: Floats

    @property
    def variance(self) -> Floats:
        """Zeros: this form of release does not disclose its noise."""
        return np.zeros(len(self.masses))


@dataclass(frozen=True, eq=False)
class ErrorRatios:
    """The share of errors in each bin, 0 without rows, in EXPRIL's published form: noisy count over exact rows."""

    bins: Schema
    ratios: Floats

    def errors(self, source: Floats) -> tuple[Floats, Floats]:
        """Return ``(R1)∘q`` of EXPRIL's eq. 5, with variances of 0, since the noise depends on private rows."""
        return source * self.ratios, np.zeros(len(self.ratios))


def answer_of(by: str, bins: Schema, numbers: Sequence[Integers], noise: AnswerNoise, steps: int) -> Any:
    answer: Any = {"rows": RowCounts, "classes": ClassCounts, "levels": LevelSums, "errors": ErrorCounts}[by]
    return answer(bins, *numbers, noise, *([steps] if len(numbers) == 2 else []))


ErrorMasses = ErrorCounts | ErrorRatios
"""Answers with `errors`, the share of all rows that are in a bin and misclassified."""
