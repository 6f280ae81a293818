"""Conditions and decision paths of models: checks against the schema, texts, and the search for the first match."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from hedgerow.boundary.arrays import Index, Mask, Whole
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.schema import Attribute, Extent, Literal, Schema
from hedgerow.text.language import _, gettext_noop
from hedgerow.text.values import Value, printable, quoted_text

if TYPE_CHECKING:
    from hedgerow.models.dialects import Dialect as Dialect
else:
    Dialect = Any  # sqlglot takes long to import

Cases = Sequence[tuple[Sequence[Literal], Value]]
"""The cases of a model: literals and a prediction. The first matching case decides; the last has no literals."""
MOST_CHARACTERS = 2**23
"""Maximum number of characters of SQL, of Python, and of all decision paths; 10,000 rules have about half as many."""
_K = TypeVar("_K", bound=Hashable)


class Pieces(Generic[_K]):
    """Cache of the texts of a model's parts. All returned texts together have at most `MOST_CHARACTERS` characters."""

    def __init__(self, render: Callable[[_K], str], language: str) -> None:
        self._render, self._language = render, language
        self._texts: dict[_K, str] = {}
        self._left = MOST_CHARACTERS

    @property
    def parts(self) -> tuple[_K, ...]:
        return tuple(self._texts)

    def __call__(self, part: _K) -> str:
        if part not in self._texts:
            self._texts[part] = self._render(part)
        self._left -= len(self._texts[part])
        if self._left < 0:
            problem = f"the model is too large: it has more than {MOST_CHARACTERS:,} characters as {self._language}"
            raise ArgumentError(f"{problem}; use `predict`.")
        return self._texts[part]


def check_literals(literals: Iterable[Literal], schema: Schema, user: str) -> None:
    for literal in literals:
        if literal.attribute not in schema:
            raise SchemaError(f"is used by {user} but not declared in the schema.", attribute=literal.attribute)
        schema[literal.attribute].extent(literal)


def complement(literal: Literal, attribute: Attribute) -> Literal | None:
    """Return the negation of a literal, or None if no literal expresses it."""
    return attribute.literal_on(literal.attribute, attribute.extent(literal).complement())


Path = tuple[tuple[Literal, bool], ...]  # the literals on the decision path to a leaf, each with its truth value


def conditions(
    paths: Iterable[Path], schema: Schema, without: str, text: Callable[[Literal], str] = str
) -> Iterator[str]:
    """Yield each decision path as text, with one condition for each attribute; a path without tests is `without`.

    The tests of an attribute are combined into a short condition such as ``20 < age <= 30``. If there is none, the
    tests are joined by "and".
    """

    @cache
    def words(steps: Path) -> tuple[str, bool]:
        """Return the condition of the tests of one attribute, and whether it has alternatives joined by "or"."""
        attribute = schema[steps[0][0].attribute]
        literals = [literal if holds else complement(literal, attribute) for literal, holds in steps]
        if len(steps) == 1 and literals[0] is not None:
            return text(literals[0]), False
        truth = np.logical_and.reduce([attribute.truth(literal) == holds for literal, holds in steps])
        texts = [
            _("not ({condition})", condition=text(step[0])) if literal is None else text(literal)
            for step, literal in zip(steps, literals, strict=True)
        ]
        return _condition(steps[0][0].attribute, attribute, truth, text) or (all_of(texts), False)

    for path in paths:
        steps = dict[str, dict[tuple[Literal, bool], None]]()
        for step in path:
            steps.setdefault(step[0].attribute, {})[step] = None
        parts = [part for part in (words(tuple(own)) for own in steps.values()) if part[0]]
        texts = [f"({part})" if either and len(parts) > 1 else part for part, either in parts]
        yield all_of(texts) or without


def _condition(name: str, attribute: Attribute, truth: Mask, text: Callable[[Literal], str]) -> tuple[str, bool] | None:
    """Return a short condition for exactly these bins, and whether it has alternatives; None if there is none."""
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
                    return _or_missing(text(literal), either), either
    if not attribute.listed:
        return None
    is_in = len(places) <= len(others) if outside is None else not outside
    values = ", ".join(quoted_text(attribute.listed[place]) for place in (places if is_in else others))
    message = gettext_noop("{attribute} in {{{values}}}") if is_in else gettext_noop("{attribute} not in {{{values}}}")
    return _or_missing(_(message, attribute=printable(name), values=values), bool(missing)), bool(missing)


def all_of(conditions: Sequence[str]) -> str:
    """Return conditions joined by "and"; empty if there are none."""
    text = "".join(conditions[:1])
    for condition in conditions[1:]:
        text = _("{conditions} and {condition}", conditions=text, condition=condition)
    return text


def _or_missing(condition: str, is_allowed: bool) -> str:
    return _("{condition} or missing", condition=condition) if is_allowed else condition


def literals_of(paths: Sequence[Path]) -> dict[Literal, None]:
    return {literal: None for path in paths for literal, _holds in path}


def first_that_holds(paths: Sequence[Path], schema: Schema, bins: Mapping[str, Whole], n_rows: int) -> Index:
    """Return the index of the first matching path of each row.

    Neighbouring paths often share a prefix: the rows that reach each step of the previous path are kept for the next.
    """
    matches = np.full(n_rows, -1, dtype=np.intp)
    previous, truths, reached = Path(), list[Mask](), [np.arange(n_rows)]  # reached: the rows at each step
    for index in reversed(range(len(paths))):  # so that earlier paths overwrite later paths
        path = paths[index]
        same = _common_prefix(path, previous)
        tested = _common_prefix([literal for literal, _holds in path], [literal for literal, _holds in previous])
        del reached[same + 1 :], truths[min(same + 1, tested) :]
        for depth, (literal, holds) in enumerate(path[same:], same):
            rows = reached[depth]
            if depth == len(truths):
                codes = bins[literal.attribute]
                truths.append(schema[literal.attribute].truth(literal)[codes[rows] if depth else codes])
            reached.append(rows[truths[depth] if holds else ~truths[depth]])
        matches[reached[-1]] = index
        previous = path
    return matches


def _common_prefix(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return the length of the common prefix of two sequences."""
    different = (place for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    return next(different, min(len(first), len(second)))
