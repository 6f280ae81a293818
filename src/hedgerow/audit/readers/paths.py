"""Decision paths of a model: all that an audit needs of a model of any library."""

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

_LONG = 10  # characters up to which a number is as it is
_LARGEST = 1e38  # in single precision


@runtime_checkable
class HasRegions(Protocol):
    """A model with regions and supports, as reconstruction audits need it.

    Examples
    --------
    >>> class Scorecard:
    ...     supports = (40, 60)  # rows in each region, None if unknown; None in all if the model stores none
    ...
    ...     def regions(self):  # conjunctions of literals: a row belongs to the first that holds
    ...         return [[Literal("age", "<=", (30,))], []]
    >>> isinstance(Scorecard(), HasRegions)
    True
    """

    supports: Sequence[int | None] | None

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
    supports, counts : tuple of int, tuple of tuple of int, optional
        Rows in each leaf, and rows of each class, or level of a number, as stored in the model. The entry of a leaf is
        None if the model does not store its numbers; `supports` and `counts` are None if it stores none at all.
    classes : tuple, optional
        The class labels, or the middles of the levels.
    view : {"exact", "noisy", "weighted"}
        Whether supports and counts are true; noisy, so that they may be negative and need not sum to the number of
        rows; or weighted, where a row that was drawn twice counts twice.
    exclusive : bool
        Whether the paths are mutually exclusive, as in a tree, so that their order does not matter.
    predictions : tuple, optional
        The class, or the number, that each leaf predicts. None if it is not read.
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
            raise ArgumentError("expected a model with at least one leaf, got one without leaves.")
        parts = {"support": self.supports, "row of counts": self.counts, "prediction": self.predictions}
        for name, values in parts.items():
            if values is not None and len(values) != len(self.paths):
                raise ArgumentError(f"expected one {name} for each of {len(self.paths)} leaves, got {len(values)}.")
        for name in ("supports", "counts"):
            if all(one is None for one in getattr(self, name) or ()):
                object.__setattr__(self, name, None)

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def exact(self) -> bool:
        """True if supports and counts are true numbers of rows."""
        return self.view == "exact"

    @property
    def complete_supports(self) -> tuple[int, ...] | None:
        """The rows in each leaf; None unless the model stores the rows of every leaf."""
        known = tuple(rows for rows in self.supports or () if rows is not None)
        return known if len(known) == len(self) else None

    @property
    def literals(self) -> Iterable[Literal]:
        """The literals of all paths, each once."""
        return literals_of(self.paths)

    def conditions(self, schema: Schema) -> tuple[str, ...]:
        """Return the decision path to each leaf in words, with the shortest numbers that separate the same values."""
        return tuple(conditions(self.paths, schema, "otherwise" if len(self) > 1 else "always", _text))

    def apply(self, data: Any, schema: Schema) -> Index:
        """Return the leaf of each row of a table, or pattern of a tally, shape ``(n_rows,)``, counted from 0."""
        wanted = {literal.attribute for literal in self.literals}
        used = [name for name in schema.names if name in wanted]
        bins: Mapping[str, Whole]
        if isinstance(data, Tally):
            if data.schema.attributes != schema.attributes:
                raise ArgumentError("expected a tally on the model's schema, got one on another; count it on that.")
            bins, size = data.bins(used), len(data.rows())
        else:
            table = Table.of(data)
            bins, size = schema.encode(table, used), len(table)
        found = first_that_holds(self.paths, schema, bins, size)
        if (found < 0).any():
            raise ArgumentError("expected a leaf for every row, got rows in none; the last must hold all others.")
        return found


def leaf_paths(root: Any, children: Callable[[Any], Sequence[tuple[Any, Path]]]) -> Iterator[tuple[Any, Path]]:
    """Yield the leaves below a root, from the first to the last child, each with the steps that lead to it."""
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
    """Return the shortest number that separates the same single-precision numbers as one midway between two of them."""
    if not isinstance(value, float) or len(str(value)) <= _LONG or abs(value) > _LARGEST:
        return value
    low = np.float32(value)
    above = float(np.nextafter(low, np.float32(inf)))
    middle = (float(low) + above) / 2
    if value not in (middle, nextafter(middle, -inf)):
        return value
    rounded = (float(f"{middle:.{digits}g}") for digits in range(1, 18))
    return next(number for number in rounded if float(low) <= number < above)
