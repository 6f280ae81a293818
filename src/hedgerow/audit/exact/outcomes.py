"""Distribution of the outcomes of a draw that depend on one row: the value of its leaf, and noisy numbers of the leaf.

A level is a class, or the counted interval of a number. Let all other rows be fixed. A row of level k then changes the
probability of a model by a factor that depends only on the value v of the row's leaf. This holds for every public table
of losses:

    P(v | with the row) = P(v | without) · e^(-w·loss_k(v)) / Σ_u P(u | without) · e^(-w·loss_k(u))

The values are therefore the only outcomes that a test needs (docs/attacks.md has the theorem). If counts or sums of the
leaf are released too, a row adds whole numbers to them. With discrete Laplace noise, a number that is larger by t has
t + 1 likelihood ratios. A test needs only the product of these ratios, which has d + 1 values for a row that adds d in
total.

A row with a weight counts as `steps` equal rows, and its loss is the sum of their losses.
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
    """Probabilities of the outcomes for each row. **Private**."""

    draw: DrawProbabilities
    without: Floats  # log-probability of each value of each row's leaf, in a draw without the row
    steps: Index  # number of equal rows that each row counts as, shape (n_rows, 1)

    @classmethod
    def of(
        cls, draw: DrawProbabilities, patterns: Index, levels: Index, is_member: Mask, steps: Index | None = None
    ) -> "DrawOutcomes":
        """Return the outcomes of rows by pattern and level; `is_member` marks the rows that the draw contains."""
        column = np.ones((len(levels), 1), dtype=np.intp) if steps is None else steps[:, None]
        with np.errstate(divide="ignore"):
            drawn = np.log(draw.chances.values[patterns])
        without = drawn + is_member[:, None] * column * losses(draw, levels)
        return cls(draw, without - np.asarray(logsumexp(without, axis=1, keepdims=True)), column)

    def inside(self, levels: Index) -> Floats:
        """Return the log-probability of each value in a draw with the row, given the row's level."""
        return self.without + self.log_ratios(levels)

    def log_ratios(self, levels: Index) -> Floats:
        """Return the log-ratio of each value's probability with and without the row, ``(n_rows, n_values)``."""
        # Finite for every value, however improbable: under the prior, every leaf can have every value.
        weighted = self.steps * losses(self.draw, levels)
        return -weighted - logsumexp(self.without - weighted, axis=1, keepdims=True)

    def largest_ratio(self, levels: Index) -> Floats:
        """Return the largest absolute log-likelihood ratio of releases with and without the row."""
        return np.abs(self.log_ratios(levels)).max(axis=1) + float(self.draw.counts_epsilon)

    def membership(self, levels: Index) -> tuple[Floats, Floats]:
        """Return the probabilities of the outcomes with and without the row, each ``(n_rows, n_outcomes)``."""
        n_outcomes = self.without.size * (int(self.draw.added[0].sum()) + 1)
        if n_outcomes > _MOST_OUTCOMES:
            raise ArgumentError(
                f"the rows have {n_outcomes:,} outcomes in total, and the limit is {_MOST_OUTCOMES:,}; set "
                "release_counts=False and release_means=False, or count fewer levels of a number."
            )
        numbers = np.array([ratio_chances(added, self.draw.step) for added in self.draw.added])[levels][:, :, None]
        inside, outside = numbers * self._inside_chances(levels)[:, None], numbers[:, ::-1] * self._chances[:, None]
        return inside.reshape(len(levels), -1), outside.reshape(len(levels), -1)

    def label_distance(self, levels: Index, other: int) -> Floats:
        """Return the total variation distance of releases with each row's level and with `other`, ``(n_rows,)``."""
        distances, other_levels = np.zeros(len(levels)), np.full(len(levels), other)
        own_values, other_values = self._inside_chances(levels), self._inside_chances(other_levels)
        logs = self.log_ratios(levels) - self.log_ratios(other_levels)
        for level in set(levels.tolist()) - {other}:
            rows, difference = levels == level, self.draw.added[level] - self.draw.added[other]
            numbers = ratio_chances(difference, self.draw.step)
            # The first outcomes favour the level: their ratio of numbers exceeds the inverse of the draw's ratio.
            ratios = self.draw.step * np.arange(1 - len(numbers), len(numbers), 2)
            first = np.searchsorted(ratios, logs[rows])
            own, others = (np.cumsum([0.0, *chances])[first] for chances in (numbers, numbers[::-1]))
            distances[rows] = (own * own_values[rows] - others * other_values[rows]).sum(axis=1)
        return distances

    @cached_property
    def _chances(self) -> Floats:
        return np.exp(self.without)

    @cached_property
    def _factors(self) -> Floats:
        return np.exp(-losses(self.draw, np.arange(len(self.draw.loss.table))))

    def _inside_chances(self, levels: Index) -> Floats:
        # The sum is at least e^(-w), and w is at most 500, so it does not underflow.
        masses = self._chances * self._factors[levels] ** self.steps
        return masses / masses.sum(axis=1, keepdims=True)


def losses(draw: DrawProbabilities, levels: Index) -> Floats:
    return float(draw.weight) / draw.loss.steps * draw.loss.by_value.T[levels]


def number_chances(values: Integers, step: float) -> Floats:
    """Return the probabilities of outcomes given each value, with discrete Laplace noise of scale 1/step.

    Outcomes with equal likelihood ratios are merged; the shape is ``(n_outcomes, n_values)``.
    """
    places = np.arange(values.max(), values.min() - 1, -1)
    if len(places) == 1:
        return np.ones((1, len(values)))
    chances = np.exp(-step * np.abs(places[:, None] - values)) / (1 + np.exp(-step))
    chances[1:-1] *= -np.expm1(-step)
    return chances


def ratio_chances(differences: Integers, step: float) -> Floats:
    """Return the probabilities of the log-ratios step × (d, d − 2, …, −d); d is the sum of absolute differences."""
    chances = np.ones(1)
    for difference in np.abs(differences):
        chances = np.convolve(chances, number_chances(np.array([difference, 0]), step)[:, 0])
    return chances


def repeated(chances: Floats, n: int) -> Floats:
    """Return the probabilities of the joint outcomes of n independent draws, ``(n_joint_outcomes, n_cases)``.

    `chances` are the probabilities of one draw's outcomes, ``(n_outcomes, n_cases)``. Outcomes whose likelihood ratios
    agree to nine digits are merged.
    """
    joint = np.ones((1, chances.shape[1]))
    for _ in range(n):
        if len(joint) * len(chances) > _MOST_REPEATED:
            problem = f"{n} models have more than {_MOST_REPEATED:,} joint outcomes"
            raise ArgumentError(f"{problem}; reduce n_models, or the number of candidates.")
        joint = (joint[:, None] * chances).reshape(-1, chances.shape[1])
        joint = joint[joint.any(axis=1)]  # drop outcomes that underflow to 0
        with np.errstate(divide="ignore"):
            ratios = np.log(joint) - np.log(joint.max(axis=1, keepdims=True))
        _, places = np.unique(ratios.round(9), axis=0, return_inverse=True)
        merged = np.zeros((places.max() + 1, chances.shape[1]))
        np.add.at(merged, places.reshape(-1), joint)
        joint = merged
    return joint


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Pattern and level of each row of a table, and of rows outside of it."""

    tally: Tally  # counts of the table; it includes the patterns of outside rows, with no rows
    patterns: Index  # the pattern of each row, the table's rows first
    levels: Index  # the level of each row
    steps: Index  # number of equal rows that each row counts as: the steps of its weight, or 1
    n_members: int  # the number of rows in the table

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
    """Return the rows' bins, shape ``(n_rows, n_attributes)``, levels, and weights in steps."""
    levels = schema.target.encode(column_of(rows.labels, schema.target.name))
    bins = np.column_stack([np.asarray(codes) for codes in schema.encode(rows.table).values()])
    steps = np.ones(len(rows), dtype=np.intp) if schema.weight is None else schema.weight.encode(rows.table)
    return bins.astype(np.intp), np.asarray(levels, dtype=np.intp), steps
