"""Origin of a model, recognised by the names of its classes: none of the libraries needs to be installed."""

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
    """Return the names of columns; None if they are the default names that a library generates.

    Examples
    --------
    >>> own_names(["age", "sex"], "X{}"), own_names(["X0", "X1"], "X{}")
    (['age', 'sex'], None)
    """
    given = [str(name) for name in names]
    return None if given == [pattern.format(i) for i in range(first, first + len(given))] else given
