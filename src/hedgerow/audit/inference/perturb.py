"""Rows near a row: some attributes changed to other values that occur."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.audit.inference.labelled import Index, Rows
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.schema import Schema


@dataclass(frozen=True, repr=False, eq=False)
class Donors:
    """Rows to take another value of one attribute from.

    Attributes
    ----------
    bins : ndarray of int, shape (n_rows,)
        For every row of the table, the place of its bin among the bins that donors have; -1 if none has it.
    order : ndarray of int
        The donors, one bin after the other.
    starts, counts : ndarray of int
        Where the donors of each bin begin in `order`, and how many they are.
    """

    bins: Index
    order: Index
    starts: Index
    counts: Index

    @classmethod
    def of(cls, bins: Index, known: Index) -> Self:
        """Group the known rows by bin."""
        present, starts, counts = np.unique(np.sort(bins[known]), return_index=True, return_counts=True)
        place = np.full(int(bins.max()) + 1, -1)
        place[present] = np.arange(len(present))
        return cls(place[bins], known[np.argsort(bins[known], kind="stable")], starts, counts)

    def draw(self, rows: Index, rng: np.random.Generator) -> Index:
        """Return, for each row, a donor in another bin: the bin drawn evenly, then one of its donors."""
        own = self.bins[rows]
        bin = rng.integers(len(self.counts) - (own >= 0))
        bin += (own >= 0) & (bin >= own)
        return self.order[self.starts[bin] + rng.integers(self.counts[bin])]


@dataclass(frozen=True, repr=False, eq=False)
class Neighbours:
    """Draws rows that differ from given ones in so many attributes.

    Attributes
    ----------
    rows : Rows
        The table.
    schema : Schema
        What its attributes are, and which values count as the same.
    donors : mapping of str to Donors
        For each attribute that can change, where other values come from.
    """

    rows: Rows
    schema: Schema
    donors: Mapping[str, Donors]

    @classmethod
    def of(cls, rows: Rows, known: Index, schema: Schema | None) -> Self:
        """Prepare to take values from the known rows; without a schema, every column is one bit.

        Raises
        ------
        DomainError
            If the table does not fit the schema, or, without one, is not all booleans or 0/1.
        ValueError
            If all known rows are alike.
        """
        attributes = boolean_schema(rows.table.column_names, rows.labels) if schema is None else schema
        problem = None
        try:
            bins = attributes.encode(rows.table)
        except DomainError as error:
            if schema is not None:
                raise
            problem, bins = error.column, {}
        if problem is not None:
            raise DomainError(
                "not boolean; without a schema a label-only attack flips bits. Attack with LabelOnlyAttack(schema).",
                column=problem,
            )
        donors = {name: Donors.of(found.astype(np.intp), known) for name, found in bins.items()}
        usable = {name: found for name, found in donors.items() if len(found.counts) > 1}
        if not usable:
            raise ArgumentError("expected rows that differ in some attribute, found all of them alike.")
        return cls(rows, attributes, usable)

    def __len__(self) -> int:
        return len(self.donors)

    def draw(self, index: Index, distance: int, rng: np.random.Generator) -> Any:
        """Return each of these rows with other values in `distance` attributes, drawn at random for each."""
        order = rng.random((len(index), len(self))).argpartition(distance - 1, axis=1)[:, :distance]
        changes = np.zeros((len(index), len(self)), dtype=bool)
        np.put_along_axis(changes, order, True, axis=1)
        sources: dict[str, Index] = {}
        for place, (name, donors) in enumerate(self.donors.items()):
            changed = np.flatnonzero(changes[:, place])
            if len(changed):
                sources[name] = index.copy()
                sources[name][changed] = donors.draw(index[changed], rng)
        return self.rows.mixed(index, sources, self.schema)
