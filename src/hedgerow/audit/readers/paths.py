"""Decision paths of a model: all that an audit needs of a model of any library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Path, first_that_holds, in_words, literals_of
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table
from hedgerow.tally import Tally


@runtime_checkable
class HasRegions(Protocol):
    """A model with regions and supports, as reconstruction audits need it.

    Examples
    --------
    >>> class Scorecard:
    ...     supports = (40, 60)  # rows in each region; None if the model stores none
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
    """The decision path to each leaf of a model, one at least, and the leaf counts that the model stores.

    Attributes
    ----------
    paths : tuple of Path
        The decision path to each leaf. A row belongs to the first path whose literals all hold, or fail, as it says.
    supports : tuple of int, optional
        Rows in each leaf, as stored in the model. None if it stores none.
    counts : tuple of tuple of int, optional
        Rows of each class, or level of a number, in each leaf, as stored in the model.
    classes : tuple, optional
        The class labels, or the middles of the levels.
    view : {"exact", "noisy", "weighted"}
        Whether supports and counts are true; noisy, so that they may be negative and need not sum to the number of
        rows; or weighted, where a row that was drawn twice counts twice.
    exclusive : bool
        Whether the paths are mutually exclusive, as in a tree, so that their order does not matter.
    """

    paths: tuple[Path, ...]
    supports: tuple[int, ...] | None = None
    counts: tuple[tuple[int, ...], ...] | None = None
    classes: tuple[Any, ...] | None = None
    view: str = "exact"
    exclusive: bool = False

    def __post_init__(self) -> None:
        if not self.paths:
            raise ArgumentError("expected a model with at least one leaf, got one without leaves.")
        for name, values in (("support", self.supports), ("row of counts", self.counts)):
            if values is not None and len(values) != len(self.paths):
                raise ArgumentError(f"expected one {name} for each of {len(self.paths)} leaves, got {len(values)}.")

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def exact(self) -> bool:
        """True if supports and counts are true numbers of rows."""
        return self.view == "exact"

    @property
    def literals(self) -> Iterable[Literal]:
        """The literals of all paths, each once."""
        return literals_of(self.paths)

    def conditions(self, schema: Schema) -> tuple[str, ...]:
        """Return the decision path to each leaf in words."""
        rest = "otherwise" if len(self) > 1 else "always"
        return tuple(
            " and ".join(in_words(x, schema[x.attribute], holds=holds) for x, holds in path) or rest
            for path in self.paths
        )

    def apply(self, data: Any, schema: Schema) -> NDArray[np.intp]:
        """Return the leaf of each row of a table, or pattern of a tally, shape ``(n_rows,)``, counted from 0.

        `DomainError` if a column that the model uses is absent or holds values that the schema does not allow;
        `ValueError` if some row is in no leaf.
        """
        wanted = {literal.attribute for literal in self.literals}
        used = [name for name in schema.names if name in wanted]
        bins: Mapping[str, NDArray[np.integer[Any]]]
        if isinstance(data, Tally):
            if data.schema.attributes != schema.attributes:
                raise ArgumentError(
                    "expected a tally on the model's schema, got one on another schema; count it on the model's."
                )
            bins, size = data.bins(used), len(data.rows())
        else:
            table = Table.of(data)
            bins, size = schema.encode(table, used), len(table)
        found = first_that_holds(self.paths, schema, bins, size)
        if (found < 0).any():
            raise ArgumentError(
                "expected a leaf for every row, got rows in no region; the last region must hold all remaining rows."
            )
        return found
