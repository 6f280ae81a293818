"""Cells of a domain: the sets of possible rows that no model of a set distinguishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.counting.outside import PerBin
from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.readers.paths import Paths
from hedgerow.errors import SearchTooLargeError
from hedgerow.models.conditions import first_that_holds
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema

MOST_CELLS = 200_000
"""The most cells, times classes, that a table is searched over."""
MOST_STEPS = 500_000_000
"""The most pairs of a cell and a leaf."""

Index = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Cells:
    """The product of groups of bins, one group an attribute, that all literals of some models treat alike."""

    schema: Schema  # the schema, with the cut points of the models
    bins: Index  # A pattern of bins of each cell: the most probable value, or the median of numbers
    log_chances: NDArray[np.float64]  # the logarithm of each cell's chance, as its share of what the bins weigh

    @classmethod
    def of(cls, domain: Domain, models: Sequence[Paths], masses: PerBin, n_classes: int) -> Self:
        """Return the cells of a domain, by the weight of each of its bins; those of weight 0 are left out."""
        literals = {x for paths in models for x in normalised(paths, domain.schema).literals}
        groups = [
            _groups(attribute, [x for x in literals if x.attribute == name], weights)
            for (name, attribute), weights in zip(domain.schema.attributes, masses, strict=True)
        ]
        n_cells, n_leaves = prod(len(bins) for bins, _ in groups), sum(map(len, models))
        if n_cells * n_classes > MOST_CELLS or n_cells * n_leaves > MOST_STEPS:
            raise SearchTooLargeError(
                f"the models distinguish {n_cells:,} patterns of {n_classes} classes, in {n_leaves:,} leaves; at most "
                f"{MOST_CELLS:,} patterns times classes, and {MOST_STEPS:,} patterns times leaves are searched. Pass "
                "fewer models, or shallower ones.",
                states=n_cells * n_classes,
                evaluations=n_cells * n_leaves,
            )
        bins = np.stack(np.meshgrid(*(bins for bins, _ in groups), indexing="ij"), axis=-1)
        chances = np.zeros((1,))
        for _, shares in groups:
            chances = (chances[:, None] + np.log(shares)).reshape(-1)
        return cls(domain.schema, bins.reshape(-1, len(groups)), chances)

    def __len__(self) -> int:
        return len(self.bins)

    def leaves(self, paths: Paths) -> Index:
        """Return the leaf of each cell in a model, shape ``(n_cells,)``; -1 where it is in none."""
        bins = dict(zip(self.schema.names, self.bins.T, strict=True))
        return first_that_holds(normalised(paths, self.schema).paths, self.schema, bins, len(self))


def _groups(attribute: Attribute, literals: list[Literal], weights: Sequence[int]) -> tuple[Index, NDArray[np.float64]]:
    """Return one bin for each group of bins that some literals treat alike, and the group's share of weight."""
    mass = np.array([weight / sum(weights) for weight in weights])
    truths = np.array([attribute.truth(x) for x in literals], dtype=np.int8).reshape(len(literals), len(mass))
    _, own = np.unique(truths.T, axis=0, return_inverse=True)
    own = own.reshape(-1)
    shares = np.bincount(own, mass).astype(np.float64)
    likely = [_likely(attribute, np.flatnonzero(own == group), mass) for group in range(len(shares))]
    return np.array(likely, dtype=np.intp)[shares > 0], shares[shares > 0]


def _likely(attribute: Attribute, bins: Index, mass: NDArray[np.float64]) -> int:
    """Return the bin to guess in a group: that of the median of numbers, the most probable one of other values."""
    below = np.cumsum(mass[bins])
    if bins[-1] < attribute.n_ordered:
        return int(bins[np.searchsorted(below, below[-1] / 2)])
    return int(bins[np.argmax(mass[bins])])
