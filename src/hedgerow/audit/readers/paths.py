"""The ways to a model's leaves: all that an audit needs to know of a model, whoever made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import Table
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import in_words
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

Path = tuple[tuple[Literal, bool], ...]
"""The literals on the way to a leaf, each with whether it holds there."""


@runtime_checkable
class HasRegions(Protocol):
    """What a model needs to have for an audit of what it tells about its rows.

    Examples
    --------
    >>> class Scorecard:
    ...     supports = (40, 60)  # rows in each region; None if the model does not tell
    ...
    ...     def regions(self):  # conjunctions of literals: a row belongs to the first that holds
    ...         return [[Literal("age", "<=", (30,))], []]
    >>> isinstance(Scorecard(), HasRegions)
    True
    """

    supports: Sequence[int] | None

    def regions(self) -> Sequence[Sequence[Literal]]:
        """Return a conjunction of literals for each region; a row belongs to the first one that holds."""
        ...


@dataclass(frozen=True)
class Paths:
    """The way to each leaf of a model, and what the model tells of the rows that came there.

    Attributes
    ----------
    paths : tuple of Path
        The way to each leaf. A row comes to the first whose every step is as it says.
    supports : tuple of int, optional
        Rows in each leaf, as the model tells them. None where it does not.
    counts : tuple of tuple of int, optional
        Rows of each class in each leaf, as the model tells them.
    classes : tuple, optional
        The class labels.
    view : {"exact", "noisy", "weighted"}
        What these numbers are: true ones; noisy ones, which may be negative and need not sum to the number of rows; or
        weighted ones, in which a row that was drawn twice counts twice.
    exclusive : bool
        Whether no row can go two ways, as in a tree, so that the order does not matter.

    Raises
    ------
    ValueError
        If there is no path, or not one support or row of counts a path.
    """

    paths: tuple[Path, ...]
    supports: tuple[int, ...] | None = None
    counts: tuple[tuple[int, ...], ...] | None = None
    classes: tuple[Any, ...] | None = None
    view: str = "exact"
    exclusive: bool = False

    def __post_init__(self) -> None:
        if not self.paths:
            raise ArgumentError("expected a model with at least one leaf, got one without.")
        for name, values in (("support", self.supports), ("row of counts", self.counts)):
            if values is not None and len(values) != len(self.paths):
                raise ArgumentError(f"expected one {name} for each of {len(self.paths)} leaves, got {len(values)}.")

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def exact(self) -> bool:
        """Whether supports and counts are true numbers of rows."""
        return self.view == "exact"

    @property
    def literals(self) -> Iterable[Literal]:
        """The literals of all steps."""
        return (literal for path in self.paths for literal, _ in path)

    def conditions(self, schema: Schema) -> tuple[str, ...]:
        """Return the way to each leaf in words."""
        rest = "otherwise" if len(self) > 1 else "always"
        return tuple(
            " and ".join(in_words(x, schema[x.attribute], holds=holds) for x, holds in path) or rest
            for path in self.paths
        )

    def sort(self, data: Any, schema: Schema) -> NDArray[np.intp]:
        """Return which leaf each row of a table, or pattern of a tally, comes to, shape ``(n_rows,)``, counted from 0.

        Raises
        ------
        DomainError
            If a column that the model uses is absent or holds values the schema does not allow.
        ValueError
            If some row comes to no leaf.
        """
        wanted = {literal.attribute for literal in self.literals}
        used = [name for name in schema.names if name in wanted]
        bins: Mapping[str, NDArray[np.integer[Any]]]
        if isinstance(data, Tally):
            if data.schema.attributes != schema.attributes:
                raise ArgumentError(
                    "the tally was counted on another schema than the model's: count it on the model's."
                )
            bins, size = data.bins(used), len(data.rows())
        else:
            table = Table.of(data)
            bins, size = schema.encode(table, used), len(table)
        found = np.full(size, -1, dtype=np.intp)
        for index in reversed(range(len(self))):
            here = np.ones(size, dtype=bool)
            for literal, holds in self.paths[index]:
                here &= schema[literal.attribute].truth(literal)[bins[literal.attribute]] == holds
            found[here] = index
        if (found < 0).any():
            raise ArgumentError("some rows come to no leaf of the model; its last region must hold all others.")
        return found
