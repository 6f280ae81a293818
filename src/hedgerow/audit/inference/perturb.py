"""Perturbed copies of rows for the label-only attack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.audit.inference.labelled import Index, LabelledRows
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.schema import Schema


@dataclass(frozen=True, repr=False, eq=False)
class Donors:
    """Rows that other values of one attribute are drawn from."""

    bins: Index  # for every row of the table, the index of its bin among the donors' bins; -1 if no donor has it
    order: Index  # the donors, one bin after the other
    starts: Index  # the start of the donors of each bin in `order`, and their number
    counts: Index  # the start of the donors of each bin in `order`, and their number

    @classmethod
    def of(cls, bins: Index, known: Index) -> Self:
        """Group the known rows by bin."""
        present, starts, counts = np.unique(np.sort(bins[known]), return_index=True, return_counts=True)
        place = np.full(int(bins.max()) + 1, -1)
        place[present] = np.arange(len(present))
        return cls(place[bins], known[np.argsort(bins[known], kind="stable")], starts, counts)

    def draw(self, rows: Index, rng: np.random.Generator) -> Index:
        """Draw, for each row, a donor in another bin: first the bin, uniformly, then one of its donors."""
        own = self.bins[rows]
        bin = rng.integers(len(self.counts) - (own >= 0))
        bin += (own >= 0) & (bin >= own)
        return self.order[self.starts[bin] + rng.integers(self.counts[bin])]


@dataclass(frozen=True, repr=False, eq=False)
class Perturber:
    """Sampler of perturbed copies of rows, with other values in a given number of attributes."""

    rows: LabelledRows  # the table
    schema: Schema  # the attributes; values in the same bin count as equal
    donors: Mapping[str, Donors]  # for each attribute that can be perturbed, the rows that other values are drawn from

    @classmethod
    def of(cls, rows: LabelledRows, known: Index, schema: Schema | None) -> Self:
        """Return a sampler that draws values from the known rows; without a schema, every column is one bit."""
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
                "expected booleans without a schema, got others; pass one: LabelOnlyAttack(schema).",
                column=problem,
            )
        donors = {name: Donors.of(found.astype(np.intp), known) for name, found in bins.items()}
        usable = {name: found for name, found in donors.items() if len(found.counts) > 1}
        if not usable:
            raise ArgumentError("expected rows that differ in some attribute, got equal ones.")
        return cls(rows, attributes, usable)

    def __len__(self) -> int:
        return len(self.donors)

    def draw(self, index: Index, distance: int, rng: np.random.Generator) -> Any:
        """Return a perturbed copy of each of these rows, with other values in `distance` attributes drawn at random."""
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
