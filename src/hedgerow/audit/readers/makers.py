"""Whose model an object is, told by names: none of the libraries needs to be there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def is_made_by(model: Any, library: str, *classes: str) -> bool:
    """Return whether a model is of one of these classes of a library, or of a class derived from one.

    Examples
    --------
    >>> is_made_by(3, "builtins", "int", "float"), is_made_by(3, "corels", "CorelsClassifier")
    (True, False)
    """
    return any(
        kind.__name__ in classes and kind.__module__.partition(".")[0] == library for kind in type(model).__mro__
    )


def own_names(names: Sequence[Any], pattern: str, first: int = 0) -> list[str] | None:
    """Return the names that columns were given, None if they are those that a library numbers them with.

    Examples
    --------
    >>> own_names(["age", "sex"], "X{}"), own_names(["X0", "X1"], "X{}")
    (['age', 'sex'], None)
    """
    given = [str(name) for name in names]
    return None if given == [pattern.format(i) for i in range(first, first + len(given))] else given
