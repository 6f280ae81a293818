"""Conditions and decision paths of a model: literals that fit its schema, texts, and the first path that holds."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from hedgerow.boundary.arrays import Index, Mask, Whole
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.schema import Attribute, Literal, Schema
from hedgerow.text.values import Value

if TYPE_CHECKING:
    from hedgerow.models.dialects import Dialect as Dialect
else:
    Dialect = Any  # sqlglot takes long to import

Cases = Sequence[tuple[Sequence[Literal], Value]]
"""The cases of a model in order of first match: literals, and the class. The last case has no literals."""
MOST_CHARACTERS = 2**23
"""Maximum size of SQL, of Python, and of all decision paths in words: 10,000 rules have half as many."""
_K = TypeVar("_K", bound=Hashable)


class Pieces(Generic[_K]):
    """Cache of the texts of a model's parts; all texts returned have at most `MOST_CHARACTERS` together."""

    def __init__(self, make: Callable[[_K], str], what: str) -> None:
        self._make, self._what = make, what
        self._texts: dict[_K, str] = {}
        self._left = MOST_CHARACTERS

    @property
    def parts(self) -> tuple[_K, ...]:
        return tuple(self._texts)

    def __call__(self, part: _K) -> str:
        if part not in self._texts:
            self._texts[part] = self._make(part)
        self._left -= len(self._texts[part])
        if self._left < 0:
            problem = f"expected a model of at most {MOST_CHARACTERS:,} characters of {self._what}, got a larger one"
            raise ArgumentError(f"{problem}; apply it by `predict`.")
        return self._texts[part]


def check_literals(literals: Iterable[Literal], schema: Schema, user: str) -> None:
    for literal in literals:
        if literal.attribute not in schema:
            raise SchemaError(f"is used by {user} but not declared.", attribute=literal.attribute)
        schema[literal.attribute].extent(literal)


def complement(literal: Literal, attribute: Attribute) -> Literal | None:
    """Return the literal that holds exactly where another one does not; None if there is none."""
    return attribute.literal_on(literal.attribute, attribute.extent(literal).complement())


def in_words(literal: Literal, attribute: Attribute, *, holds: bool) -> str:
    if holds:
        return str(literal)
    other = complement(literal, attribute)
    return f"not ({literal})" if other is None else str(other)


Path = tuple[tuple[Literal, bool], ...]  # the literals on the decision path to a leaf, each with whether it holds there


def literals_of(paths: Sequence[Path]) -> dict[Literal, None]:
    return {literal: None for path in paths for literal, _ in path}


def first_that_holds(paths: Sequence[Path], schema: Schema, bins: Mapping[str, Whole], n_rows: int) -> Index:
    """Return the index of the first path that holds of each row; a common beginning of neighbours is evaluated once."""
    found = np.full(n_rows, -1, dtype=np.intp)
    before, truths, coming = Path(), list[Mask](), [np.arange(n_rows)]  # coming: rows at each step
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
    different = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(different, min(len(one), len(other)))
