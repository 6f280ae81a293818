"""The rules of a list that rows can reach, by the schema alone."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.schema.candidates import Antecedent
from hedgerow.schema.schema import Schema

Box = dict[str, int]
"""The rows of an antecedent: the bins of each attribute that it restricts, bit i for bin i. Others may have any bin."""
_MOST_BOXES = 100_000


def reached(schema: Schema, antecedents: Sequence[Antecedent]) -> tuple[int, ...]:
    """Return the places of the rules that some row of the domain reaches, in order, the default rule included.

    Only the schema decides. If earlier rules leave nothing to the default rule, the last of these takes its place.

    Parameters
    ----------
    schema : Schema
        The schema.
    antecedents : sequence of Antecedent
        Those of the rules, without the default rule, whose place is the last.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Label, Literal
    >>> schema = Schema({"a": Boolean()}, Label("y", (0, 1)))
    >>> reached(schema, [(Literal("a", "true"),), (Literal("a", "false"),)])
    (0, 1)
    """
    boxes = [_box(schema, antecedent) for antecedent in (*antecedents, ())]
    return tuple(place for place, box in enumerate(boxes) if _is_reached(schema, box, boxes[:place]))


def _box(schema: Schema, antecedent: Antecedent) -> Box:
    box: Box = {}
    for literal in antecedent:
        truth = schema[literal.attribute].truth(literal)
        bins = sum(1 << int(place) for place in truth.nonzero()[0])
        box[literal.attribute] = _bins(schema, box, literal.attribute) & bins
    return box


def _bins(schema: Schema, box: Box, name: str) -> int:
    return box.get(name, (1 << schema[name].n_bins) - 1)


def _is_reached(schema: Schema, box: Box, earlier: Sequence[Box]) -> bool:
    """Return whether a box has rows outside all of some others.

    What one of the others leaves of it is divided into boxes, attribute by attribute, and the first that meets none of
    the rest decides. After very many of them, which a list that can be read does not need, the answer is yes.
    """
    stack = [(box, 0)] if all(box.values()) else []
    for _ in range(_MOST_BOXES):
        if not stack:
            return False
        part, first = stack.pop()
        meeting = (place for place in range(first, len(earlier)) if _meet(schema, part, earlier[place]))
        place = next(meeting, None)
        if place is None:
            return True
        for name, bins in earlier[place].items():
            own = _bins(schema, part, name)
            if own & ~bins:
                stack.append(({**part, name: own & ~bins}, place + 1))
            part = {**part, name: own & bins}
    return True


def _meet(schema: Schema, box: Box, other: Box) -> bool:
    return all(_bins(schema, box, name) & bins for name, bins in other.items())
