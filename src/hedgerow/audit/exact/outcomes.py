"""Outcomes of a draw that depend on one row, by cells: the value of its leaf, and what noisy numbers of it say.

A level is a class, or of a number the interval that is counted. With the losses of all other rows as they are, a row of
level k changes the chance of a model by a factor that depends on the value v of the leaf that it falls into only,
whatever the public table of losses is:

    P(v | with the row) = P(v | without) · e^(-w·loss_k(v)) / Σ_u P(u | without) · e^(-w·loss_k(u))

So the values are all the outcomes that a test needs (docs/attacks.md has the theorem). Where counts or sums of the leaf
are released too, a row adds whole numbers to them. Discrete Laplace noise has t + 1 likelihood ratios for a number that
is t larger, so that a test needs the product of these, one of d + 1 for a row that adds d in all.

A row with a weight is as many equal rows as that has steps: its loss is that of all of them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import logsumexp

from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.boundary.arrays import Floats, Index, Integers, Mask
from hedgerow.errors import ArgumentError
from hedgerow.learn.blocks import DrawProbabilities
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import column_of
from hedgerow.tally import Tally

_MOST_OUTCOMES = 2**27  # 1 GiB of chances
_MOST_REPEATED = 2**22


@dataclass(frozen=True, eq=False, repr=False)
class DrawOutcomes:
    """The chances of a row's outcomes, for each of some rows. **Private**."""

    draw: DrawProbabilities  # the draw
    without: Floats  # natural logarithms of the chances of the values of each row's leaf in a draw without the row
    steps: Index  # as how many rows each counts, shape (n_rows, 1)

    @classmethod
    def of(
        cls, draw: DrawProbabilities, patterns: Index, levels: Index, is_member: Mask, steps: Index | None = None
    ) -> "DrawOutcomes":
        """Return the outcomes of rows of these patterns and levels, those of members being in the table now."""
        many = np.ones((len(levels), 1), dtype=np.intp) if steps is None else steps[:, None]
        with np.errstate(divide="ignore"):
            now = np.log(draw.chances.values[patterns])
        without = now + is_member[:, None] * many * losses(draw, levels)
        return cls(draw, without - np.asarray(logsumexp(without, axis=1, keepdims=True)), many)

    def inside(self, levels: Index) -> Floats:
        """Return the logarithms of the chances of each value in a draw with the row, if that is of this level."""
        return self.without + self.log_ratios(levels)

    def log_ratios(self, levels: Index) -> Floats:
        """Return the log-ratio of each value's chance with the row to that without it, shape ``(n_rows, n_values)``."""
        # finite for every value, however small its chance: the prior gives every leaf every value
        weighted = self.steps * losses(self.draw, levels)
        return -weighted - logsumexp(self.without - weighted, axis=1, keepdims=True)

    def largest_ratio(self, levels: Index) -> Floats:
        """Return the largest logarithm of a likelihood ratio of releases with and without the row, either way."""
        return np.abs(self.log_ratios(levels)).max(axis=1) + float(self.draw.counts_epsilon)

    def membership(self, levels: Index) -> tuple[Floats, Floats]:
        n_outcomes = self.without.size * (int(self.draw.added[0].sum()) + 1)
        if n_outcomes > _MOST_OUTCOMES:
            raise ArgumentError(
                f"expected {_MOST_OUTCOMES:,} outcomes of all rows at most, got {n_outcomes:,}; release labels or "
                "numbers alone, with release_counts=False and release_means=False, or count fewer levels of a number."
            )
        numbers = np.array([ratio_chances(added, self.draw.step) for added in self.draw.added])[levels][:, :, None]
        found = numbers * self._inside_chances(levels)[:, None], numbers[:, ::-1] * self._chances[:, None]
        return found[0].reshape(len(levels), -1), found[1].reshape(len(levels), -1)

    def label_distance(self, levels: Index, other: int) -> Floats:
        """Return the total variation between releases with rows of these levels and of another, ``(n_rows,)``."""
        found, others_level = np.zeros(len(levels)), np.full(len(levels), other)
        one, two = self._inside_chances(levels), self._inside_chances(others_level)
        logs = self.log_ratios(levels) - self.log_ratios(others_level)
        for level in set(levels.tolist()) - {other}:
            rows, more = levels == level, self.draw.added[level] - self.draw.added[other]
            numbers = ratio_chances(more, self.draw.step)
            # the first outcomes speak for the level: their ratio in the numbers is above the inverse of the draw's
            ratios = self.draw.step * np.arange(1 - len(numbers), len(numbers), 2)
            first = np.searchsorted(ratios, logs[rows])
            own, others = (np.cumsum([0.0, *chances])[first] for chances in (numbers, numbers[::-1]))
            found[rows] = (own * one[rows] - others * two[rows]).sum(axis=1)
        return found

    @cached_property
    def _chances(self) -> Floats:
        return np.exp(self.without)

    @cached_property
    def _factors(self) -> Floats:
        return np.exp(-losses(self.draw, np.arange(len(self.draw.loss.table))))

    def _inside_chances(self, levels: Index) -> Floats:
        # the sum is at least e^(-w), which is no smaller than e^(-500)
        found = self._chances * self._factors[levels] ** self.steps
        return found / found.sum(axis=1, keepdims=True)


def losses(draw: DrawProbabilities, levels: Index) -> Floats:
    return float(draw.weight) / draw.loss.steps * draw.loss.by_value.T[levels]


def number_chances(values: Integers, step: float) -> Floats:
    """Return the chances of a number with noise of scale 1/step by what it is, with outcomes of equal ratios as one."""
    places = np.arange(values.max(), values.min() - 1, -1)
    if len(places) == 1:
        return np.ones((1, len(values)))
    found = np.exp(-step * np.abs(places[:, None] - values)) / (1 + np.exp(-step))
    found[1:-1] *= -np.expm1(-step)
    return found


def ratio_chances(more: Integers, step: float) -> Floats:
    """Return the chances of log-ratios step times d, d − 2, …, −d of numbers that differ by these amounts, d in all."""
    found = np.ones(1)
    for amount in np.abs(more):
        found = np.convolve(found, number_chances(np.array([amount, 0]), step)[:, 0])
    return found


def repeated(chances: Floats, n: int) -> Floats:
    """Return the chances of what n independent draws say together, outcomes of equal likelihood ratios as one.

    From those of one draw, shape ``(n_outcomes, n_cases)``, to ``(n, n_cases)``; ratios are equal to nine digits.
    """
    found = np.ones((1, chances.shape[1]))
    for _ in range(n):
        if len(found) * len(chances) > _MOST_REPEATED:
            raise ArgumentError("expected fewer outcomes of several draws; ask for fewer models, or fewer candidates.")
        found = (found[:, None] * chances).reshape(-1, chances.shape[1])
        found = found[found.any(axis=1)]  # less than the smallest float is nothing
        with np.errstate(divide="ignore"):
            ratios = np.log(found) - np.log(found.max(axis=1, keepdims=True))
        _, places = np.unique(ratios.round(9), axis=0, return_inverse=True)
        summed = np.zeros((places.max() + 1, chances.shape[1]))
        np.add.at(summed, places.reshape(-1), found)
        found = summed
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Rows by pattern and level, those of a table and others that are not in it."""

    tally: Tally  # the table; patterns of the other rows alone have no rows
    patterns: Index  # the pattern of each row, those of the table first
    levels: Index  # and its level
    steps: Index  # and as how many rows it counts: the steps of its weight, or 1
    n_members: int  # how many are in the table

    @classmethod
    def of(cls, rows: LabelledRows, others: LabelledRows | None, schema: Schema) -> Self:
        parts = [_encoded(part, schema) for part in (rows, others) if part is not None]
        bins, levels, steps = (np.concatenate([part[i] for part in parts]) for i in (0, 1, 2))
        distinct, patterns = np.unique(bins, axis=0, return_inverse=True)
        patterns = patterns.reshape(-1)
        counts = np.zeros((len(distinct), schema.target.n_levels), dtype=np.int64)
        members = slice(len(rows))
        np.add.at(counts, (patterns[members], levels[members]), steps[members])
        return cls(Tally(schema, distinct, counts), patterns, levels, steps, len(rows))


def _encoded(rows: LabelledRows, schema: Schema) -> tuple[Index, Index, Index]:
    """Return the bins of the rows, shape ``(n_rows, n_attributes)``, their levels, and as how many rows they count."""
    levels = schema.target.encode(column_of(rows.labels, schema.target.name))
    bins = np.column_stack([np.asarray(codes) for codes in schema.encode(rows.table).values()])
    steps = np.ones(len(rows), dtype=np.intp) if schema.weight is None else schema.weight.encode(rows.table)
    return bins.astype(np.intp), np.asarray(levels, dtype=np.intp), steps
