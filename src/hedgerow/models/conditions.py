"""Conditions and decision paths of a model: literals that fit its schema, texts, and the first path that holds."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from hedgerow.boundary.arrays import Index, Mask, Whole
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.schema import Attribute, Extent, Literal, Schema
from hedgerow.text.values import Value, printable, quoted_text

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


Path = tuple[tuple[Literal, bool], ...]  # the literals on the decision path to a leaf, each with whether it holds there


def conditions(
    paths: Iterable[Path], schema: Schema, without: str, text: Callable[[Literal], str] = str
) -> Iterator[str]:
    """Yield each decision path in words, the tests of an attribute as one condition; `without` for one without tests.

    A condition says what the tests of a path leave of an attribute, such as ``20 < age <= 30``. If no short condition
    says it, the tests are written one by one.
    """

    @cache
    def words(steps: Path) -> tuple[str, bool]:
        """Return the condition of the tests of one attribute, and whether it has alternatives, joined by "or"."""
        attribute = schema[steps[0][0].attribute]
        alone = [literal if holds else complement(literal, attribute) for literal, holds in steps]
        if len(steps) == 1 and alone[0] is not None:
            return text(alone[0]), False
        left = np.logical_and.reduce([attribute.truth(literal) == holds for literal, holds in steps])
        plain = [f"not ({text(step[0])})" if one is None else text(one) for step, one in zip(steps, alone, strict=True)]
        return _condition(steps[0][0].attribute, attribute, left, text) or (" and ".join(plain), False)

    for path in paths:
        steps = dict[str, dict[tuple[Literal, bool], None]]()
        for step in path:
            steps.setdefault(step[0].attribute, {})[step] = None
        parts = [part for part in (words(tuple(own)) for own in steps.values()) if part[0]]
        yield " and ".join(f"({part})" if either and len(parts) > 1 else part for part, either in parts) or without


def _condition(name: str, attribute: Attribute, truth: Mask, text: Callable[[Literal], str]) -> tuple[str, bool] | None:
    """Return the condition that holds on exactly these bins, and whether it has alternatives; None for no short one."""
    known = truth[: attribute.n_known]
    missing = bool(truth[attribute.n_known]) if attribute.missing == "bin" else None
    outside = bool(truth[-1]) if attribute.outside == "bin" else None
    if truth.all():
        return "", False
    places, others = np.flatnonzero(known), np.flatnonzero(~known)
    if not len(places):
        literal = attribute.literal_on(name, Extent(len(known), 0, 0, False, missing, outside)) if truth.any() else None
        return None if literal is None else (text(literal), False)
    for run, inverted in ((places, False), (others, True)):
        if len(run) and run[-1] - run[0] < len(run):
            for with_missing in dict.fromkeys([missing, missing and False]):
                extent = Extent(len(known), int(run[0]), int(run[-1]) + 1, inverted, with_missing, outside)
                literal = None if extent.is_trivial else attribute.literal_on(name, extent)
                if literal is not None:
                    either = bool(missing and not with_missing)
                    return text(literal) + " or missing" * either, either
    if not attribute.listed:
        return None
    is_in = len(places) <= len(others) if outside is None else not outside
    values = ", ".join(quoted_text(attribute.listed[place]) for place in (places if is_in else others))
    return f"{printable(name)} {'in' if is_in else 'not in'} {{{values}}}" + " or missing" * bool(missing), bool(
        missing
    )


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
