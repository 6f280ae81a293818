"""Decision paths: the literals on the way to a leaf, and the first path that holds of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema

Path = tuple[tuple[Literal, bool], ...]
"""The literals on the decision path to a leaf, each with whether it holds there."""


def literals_of(paths: Sequence[Path]) -> dict[Literal, None]:
    """Return the literals of paths, each once."""
    return {literal: None for path in paths for literal, _ in path}


def first_that_holds(
    paths: Sequence[Path], schema: Schema, bins: Mapping[str, NDArray[np.integer[Any]]], n_rows: int
) -> NDArray[np.intp]:
    """Return the index of the first path that holds of each row, shape ``(n_rows,)``; -1 where none does.

    What paths next to one another begin with, as those of a tree do, is evaluated once.
    """
    found = np.full(n_rows, -1, dtype=np.intp)
    before, truths, coming = Path(), list[NDArray[np.bool_]](), [np.arange(n_rows)]  # coming: rows at each step
    for index in reversed(range(len(paths))):
        path = paths[index]
        same = _begin_alike(path, before)
        tested = _begin_alike([literal for literal, _ in path], [literal for literal, _ in before])
        del coming[same + 1 :], truths[min(same + 1, tested) :]
        for depth, (literal, holds) in enumerate(path[same:], same):
            rows = coming[depth]
            if depth == len(truths):
                codes = bins[literal.attribute]
                truths.append(schema[literal.attribute].truth(literal)[codes[rows] if depth else codes])
            coming.append(rows[truths[depth] if holds else ~truths[depth]])
        found[coming[-1]] = index
        before = path
    return found


def _begin_alike(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how many elements two sequences begin with that are equal."""
    different = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(different, min(len(one), len(other)))
