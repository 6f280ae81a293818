"""Outcomes of a draw that depend on one row, by cells: the value of its leaf, and the noisy count of its class there.

With the losses of all other rows as they are, a row of class c changes the chance of a model by a factor that depends
on the value v of the leaf that it falls into only:

    P(v | with the row) = P(v | without) · e^(-w·loss_c(v)) / Σ_u P(u | without) · e^(-w·loss_c(u))

So the values are all the outcomes that a test needs (docs/attacks.md has the theorem). Where counts are released too,
one of them is one larger with the row, and a test needs one bit of it: whether it is at least the larger of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    def of(cls, draw: DrawProbabilities, patterns: Index, classes: Index, is_member: NDArray[np.bool_]) -> Outcomes:
        """Return the outcomes of rows of these patterns and classes, those of members being in the table now."""
        with np.errstate(divide="ignore"):
            now = np.log(draw.chances.values[patterns])
        without = now + is_member[:, None] * losses(draw, classes)
        return cls(draw, without - np.asarray(logsumexp(without, axis=1, keepdims=True)))

    def inside(self, classes: Index) -> Floats:
        """Return the logarithms of the chances of each value in a draw with the row, if that is of this class."""
        return self.without + self.log_ratios(classes)

    def log_ratios(self, classes: Index) -> Floats:
        """Return the log-ratio of each value's chance with the row to that without it, shape ``(n_rows, n_values)``."""
        # finite for every value, however small its chance: the prior gives every leaf every value
        weighted = losses(self.draw, classes)
        return -weighted - logsumexp(self.without - weighted, axis=1, keepdims=True)

    def largest_ratio(self, classes: Index) -> Floats:
        """Return the largest logarithm of a likelihood ratio of releases with and without the row, either way."""
        return np.abs(self.log_ratios(classes)).max(axis=1) + float(self.draw.for_counts)

    def released(self, values: Floats, counted: Sequence[bool]) -> Floats:
        """Return the chances of all outcomes, from logarithms of the chances of the values, shape ``(n_rows, …)``."""
        # each released count doubles the outcomes; `counted` has for some counts whether the row is in there
        chances = np.exp(values)
        for is_counted in counted if self.draw.for_counts else ():
            high = float(expit(float(self.draw.for_counts) * (1 if is_counted else -1)))
            chances = np.concatenate([high * chances, (1 - high) * chances], axis=1)
        return chances

    def membership(self, classes: Index) -> tuple[Floats, Floats]:
        """Return the chances of all outcomes with and without the row."""
        return self.released(self.inside(classes), [True]), self.released(self.without, [False])

    def label_distance(self, classes: Index, other: Index) -> Floats:
        """Return the total variation between releases with rows of these classes and of others, shape ``(n_rows,)``."""
        one = self.released(self.inside(classes), [True, False])
        two = self.released(self.inside(other), [False, True])
        return np.where(classes == other, 0, distance(one, two))


def losses(draw: DrawProbabilities, classes: Index) -> Floats:
    """Return the weight times the loss of rows of these classes by value, shape ``(n_rows, n_values)``."""
    return float(draw.weight) / draw.loss.steps * draw.loss.by_value.T[classes]


def distance(one: Floats, other: Floats) -> Floats:
    """Return the total variation of each two distributions, shape ``(n_rows,)``."""
    return np.abs(one - other).sum(axis=1) / 2


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Rows by pattern and class, those of a table and others that are not in it."""

    tally: Tally  # the table; patterns of the other rows alone have no rows
    patterns: Index  # the pattern of each row, those of the table first
    classes: Index  # and its class
    n_members: int  # how many are in the table

    @classmethod
    def of(cls, rows: LabelledRows, others: LabelledRows | None, schema: Schema) -> Self:
        """Encode rows."""
        parts = [_encoded(part, schema) for part in (rows, others) if part is not None]
        bins, classes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        distinct, patterns = np.unique(bins, axis=0, return_inverse=True)
        patterns = patterns.reshape(-1)
        none = Tally(schema, distinct, np.zeros((len(distinct), schema.target.n_levels), dtype=np.int64))
        cells = cls(none, patterns, classes, len(rows))
        return replace(cells, tally=cells.joined([]))

    def joined(self, others: Sequence[int]) -> Tally:
        """Return the table with some of the other rows, counted from 0, in it; patterns stay as they are."""
        bins, counts = self.tally.bins_and_counts()
        counts = np.zeros_like(counts)
        rows = [*range(self.n_members), *(self.n_members + place for place in others)]
        np.add.at(counts, (self.patterns[rows], self.classes[rows]), 1)
        return Tally(self.tally.schema, bins, counts)


def _encoded(rows: LabelledRows, schema: Schema) -> tuple[Index, Index]:
    """Return the bins of the rows, shape ``(n_rows, n_attributes)``, and their classes."""
    assert schema.label is not None
    classes = schema.label.encode(column_of(rows.labels, schema.label.name))
    bins = np.column_stack([np.asarray(codes) for codes in schema.encode(rows.table).values()])
    return bins.astype(np.intp), np.asarray(classes, dtype=np.intp)
