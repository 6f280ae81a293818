"""Outcomes of a draw that depend on one row, by cells: the value of its leaf, and the noisy count of its level there.

A level is a class, or of a number the interval that is counted. With the losses of all other rows as they are, a row of
level k changes the chance of a model by a factor that depends on the value v of the leaf that it falls into only,
whatever the public table of losses is:

    P(v | with the row) = P(v | without) · e^(-w·loss_k(v)) / Σ_u P(u | without) · e^(-w·loss_k(u))

So the values are all the outcomes that a test needs (docs/attacks.md has the theorem). Where counts are released too,
one of them is one larger with the row, and a test needs one bit of it: whether it is at least the larger of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.learn.plans import DrawProbabilities
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import column_of
from hedgerow.tally import Tally

Floats = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes:
    """The chances of a row's outcomes, for each of some rows. **Private**."""

    draw: DrawProbabilities  # the draw
    without: Floats  # natural logarithms of the chances of the values of each row's leaf in a draw without the row

    @classmethod
    def of(cls, draw: DrawProbabilities, patterns: Index, levels: Index, is_member: NDArray[np.bool_]) -> Outcomes:
        """Return the outcomes of rows of these patterns and levels, those of members being in the table now."""
        with np.errstate(divide="ignore"):
            now = np.log(draw.chances.values[patterns])
        without = now + is_member[:, None] * losses(draw, levels)
        return cls(draw, without - np.asarray(logsumexp(without, axis=1, keepdims=True)))

    def inside(self, levels: Index) -> Floats:
        """Return the logarithms of the chances of each value in a draw with the row, if that is of this level."""
        return self.without + self.log_ratios(levels)

    def log_ratios(self, levels: Index) -> Floats:
        """Return the log-ratio of each value's chance with the row to that without it, shape ``(n_rows, n_values)``."""
        # finite for every value, however small its chance: the prior gives every leaf every value
        weighted = losses(self.draw, levels)
        return -weighted - logsumexp(self.without - weighted, axis=1, keepdims=True)

    def largest_ratio(self, levels: Index) -> Floats:
        """Return the largest logarithm of a likelihood ratio of releases with and without the row, either way."""
        return np.abs(self.log_ratios(levels)).max(axis=1) + float(self.draw.for_counts)

    def released(self, chances: Floats, counted: Sequence[bool]) -> Floats:
        """Return the chances of all outcomes, from those of the values, shape ``(n_rows, …)``."""
        # each released count doubles the outcomes; `counted` has for some counts whether the row is in there
        for is_counted in counted if self.draw.for_counts else ():
            high = float(expit(float(self.draw.for_counts) * (1 if is_counted else -1)))
            chances = np.concatenate([high * chances, (1 - high) * chances], axis=1)
        return chances

    def membership(self, levels: Index) -> tuple[Floats, Floats]:
        """Return the chances of all outcomes with and without the row."""
        return self.released(self._inside_chances(levels), [True]), self.released(self._chances, [False])

    def label_distance(self, levels: Index, other: Index) -> Floats:
        """Return the total variation between releases with rows of these levels and of others, shape ``(n_rows,)``."""
        one = self.released(self._inside_chances(levels), [True, False])
        two = self.released(self._inside_chances(other), [False, True])
        return np.where(levels == other, 0, distance(one, two))

    @cached_property
    def _chances(self) -> Floats:
        return np.exp(self.without)

    @cached_property
    def _factors(self) -> Floats:
        return np.exp(-losses(self.draw, np.arange(len(self.draw.loss.table))))

    def _inside_chances(self, levels: Index) -> Floats:
        # the sum is at least e^(-w), which is no smaller than e^(-500)
        found = self._chances * self._factors[levels]
        return found / found.sum(axis=1, keepdims=True)


def losses(draw: DrawProbabilities, levels: Index) -> Floats:
    """Return the weight times the loss of rows of these levels by value, shape ``(n_rows, n_values)``."""
    return float(draw.weight) / draw.loss.steps * draw.loss.by_value.T[levels]


def distance(one: Floats, other: Floats) -> Floats:
    """Return the total variation of each two distributions, shape ``(n_rows,)``."""
    return np.abs(one - other).sum(axis=1) / 2


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Rows by pattern and level, those of a table and others that are not in it."""

    tally: Tally  # the table; patterns of the other rows alone have no rows
    patterns: Index  # the pattern of each row, those of the table first
    levels: Index  # and its level
    n_members: int  # how many are in the table

    @classmethod
    def of(cls, rows: LabelledRows, others: LabelledRows | None, schema: Schema) -> Self:
        """Encode rows."""
        parts = [_encoded(part, schema) for part in (rows, others) if part is not None]
        bins, levels = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        distinct, patterns = np.unique(bins, axis=0, return_inverse=True)
        patterns = patterns.reshape(-1)
        counts = np.zeros((len(distinct), schema.target.n_levels), dtype=np.int64)
        members = slice(len(rows))
        np.add.at(counts, (patterns[members], levels[members]), 1)
        return cls(Tally(schema, distinct, counts), patterns, levels, len(rows))


def _encoded(rows: LabelledRows, schema: Schema) -> tuple[Index, Index]:
    """Return the bins of the rows, shape ``(n_rows, n_attributes)``, and their levels."""
    levels = schema.target.encode(column_of(rows.labels, schema.target.name))
    bins = np.column_stack([np.asarray(codes) for codes in schema.encode(rows.table).values()])
    return bins.astype(np.intp), np.asarray(levels, dtype=np.intp)
