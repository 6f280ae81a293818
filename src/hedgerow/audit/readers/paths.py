"""Decision paths of a model, the form in which audits use models of any library."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nextafter
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hedgerow.boundary.arrays import Index, Whole
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Path, conditions, first_that_holds, literals_of
from hedgerow.schema import Literal, Schema
from hedgerow.tables.frames import Table
from hedgerow.tally import Tally

_LONG = 10  # numbers with at most this number of characters are not shortened
_LARGEST = 1e38  # about the largest number in single precision


@runtime_checkable
class HasRegions(Protocol):
    """Model with regions and supports, as reconstruction audits need it.

    Examples
    --------
    >>> class Scorecard:
    ...     supports = (40, 60)  # rows in each region, or None if unknown; None if the model stores no counts
    ...
    ...     def regions(self):  # conjunctions of literals: a row belongs to the first that holds
    ...         return [[Literal("age", "<=", (30,))], []]
    >>> isinstance(Scorecard(), HasRegions)
    True
    """

    supports: Sequence[int | None] | None

    def regions(self) -> Sequence[Sequence[Literal]]:
        """Return a conjunction of literals for each region; a row belongs to the first conjunction that holds."""
        ...


@dataclass(frozen=True)
class Paths:
    """Decision paths to the leaves of a model (at least one), and the leaf counts that the model stores.

    Attributes
    ----------
    paths : tuple of Path
        The decision path to each leaf: literals, each with a flag that is True if it must hold. A row belongs to the
        first path that it satisfies.
    supports, counts : tuple of int, tuple of tuple of int, optional
        The number of rows in each leaf, and the number of each class (or level of a number), as stored in the model. An
        entry is None if the model does not store it; `supports` and `counts` are None if it stores no counts at all.
    classes : tuple, optional
        The class labels, or the midpoints of the levels.
    view : {"exact", "noisy", "weighted"}
        The kind of supports and counts. Noisy counts may be negative and need not sum to the number of rows. In
        weighted counts, a row that was sampled twice counts twice.
    exclusive : bool
        True if the paths are mutually exclusive, as in a tree, so that their order does not matter.
    predictions : tuple, optional
        The class or number that each leaf predicts. None if unknown.
    """

    paths: tuple[Path, ...]
    supports: tuple[int | None, ...] | None = None
    counts: tuple[tuple[int, ...] | None, ...] | None = None
    classes: tuple[Any, ...] | None = None
    view: str = "exact"
    exclusive: bool = False
    predictions: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if not self.paths:
            raise ArgumentError("the model must have at least one leaf.")
        for name in ("supports", "counts", "predictions"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.paths):
                problem = f"{name} must have an entry for each of {len(self.paths)} leaves"
                raise ArgumentError(f"{problem}, got {len(values)}.")
        for name in ("supports", "counts"):
            if all(entry is None for entry in getattr(self, name) or ()):
                object.__setattr__(self, name, None)

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def exact(self) -> bool:
        """True if supports and counts are exact numbers of rows."""
        return self.view == "exact"

    @property
    def complete_supports(self) -> tuple[int, ...] | None:
        """The number of rows in each leaf; None if the model does not store it for every leaf."""
        known = tuple(rows for rows in self.supports or () if rows is not None)
        return known if len(known) == len(self) else None

    @property
    def literals(self) -> Iterable[Literal]:
        """The distinct literals of all paths."""
        return literals_of(self.paths)

    def conditions(self, schema: Schema) -> tuple[str, ...]:
        """Return the decision path to each leaf as text, with the shortest numbers that separate the same values."""
        return tuple(conditions(self.paths, schema, "otherwise" if len(self) > 1 else "always", _text))

    def apply(self, data: Any, schema: Schema) -> Index:
        """Return the leaf of each row of a table, or pattern of a tally, shape ``(n_rows,)``, counted from 0."""
        attributes = {literal.attribute for literal in self.literals}
        bins, size = bins_of(data, schema, [name for name in schema.names if name in attributes])
        leaves = first_that_holds(self.paths, schema, bins, size)
        if (leaves < 0).any():
            raise ArgumentError("some rows are in no leaf; the last region must contain all remaining rows.")
        return leaves


def bins_of(data: Any, schema: Schema, names: Sequence[str]) -> tuple[Mapping[str, Whole], int]:
    """Return the bins of attributes for each row of a table, or pattern of a tally, and their number. **Private**."""
    if isinstance(data, Tally):
        if data.schema.attributes != schema.attributes:
            raise ArgumentError("the tally must be counted on the schema of the model.")
        return data.bins(names), len(data.rows())
    table = Table.of(data)
    return schema.encode(table, names), len(table)


def leaf_paths(root: Any, children: Callable[[Any], Sequence[tuple[Any, Path]]]) -> Iterator[tuple[Any, Path]]:
    """Yield the leaves below a root from left to right, each with its decision path."""
    waiting: list[tuple[Any, Path]] = [(root, ())]
    while waiting:
        node, path = waiting.pop()
        below = children(node)
        waiting += [(child, (*path, *step)) for child, step in reversed(below)]
        if not below:
            yield node, path


def _text(literal: Literal) -> str:
    return str(replace(literal, operands=tuple(map(_shortest, literal.operands))))


def _shortest(value: Any) -> Any:
    """Return the shortest number that separates the same float32 numbers as a threshold midway between two of them."""
    if not isinstance(value, float) or len(str(value)) <= _LONG or abs(value) > _LARGEST:
        return value
    low = np.float32(value)
    above = float(np.nextafter(low, np.float32(inf)))
    middle = (float(low) + above) / 2
    if value not in (middle, nextafter(middle, -inf)):
        return value
    rounded = (float(f"{middle:.{digits}g}") for digits in range(1, 18))
    return next(number for number in rounded if float(low) <= number < above)
