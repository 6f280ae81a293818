"""The rows of a table by pattern and class, with patterns that may have no rows in it. Private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import column_of
from hedgerow.tally import Tally

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Rows by pattern and class, those of a table and others that are not in it."""

    tally: Tally  # the table; patterns of the other rows alone have no rows
    patterns: Index  # the pattern and the class of each row, those of the table first
    classes: Index  # the pattern and the class of each row, those of the table first
    n_members: int  # how many are in the table

    @classmethod
    def of(cls, rows: LabelledRows, others: LabelledRows | None, schema: Schema) -> Self:
        """Encode rows."""
        parts = [_encoded(part, schema) for part in (rows, others) if part is not None]
        bins, classes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        distinct, patterns = np.unique(bins, axis=0, return_inverse=True)
        patterns = patterns.reshape(-1)
        counts = np.zeros((len(distinct), len(schema.classes)), dtype=np.int64)
        np.add.at(counts, (patterns[: len(rows)], classes[: len(rows)]), 1)
        return cls(Tally(schema, distinct, counts), patterns, classes, len(rows))

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
