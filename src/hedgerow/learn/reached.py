"""The rules of a list that rows can reach, by the schema alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hedgerow.schema.candidates import Antecedent
from hedgerow.schema.schema import Schema

Box = dict[str, int]
"""The rows of an antecedent: the bins of each attribute that it restricts, bit i for bin i. Others may have any bin."""
_MOST_LOOKS = 1_000_000


def reached(schema: Schema, antecedents: Sequence[Antecedent]) -> tuple[int, ...]:
    """Return the places of the rules that some row of the domain reaches, in order, the default rule included.

    Only the schema decides. If earlier rules leave nothing to the default rule, the last of these takes its place.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Label, Literal
    >>> schema = Schema({"a": Boolean()}, Label("y", (0, 1)))
    >>> reached(schema, [(Literal("a", "true"),), (Literal("a", "false"),)])
    (0, 1)
    """
    whole = {name: (1 << attribute.n_bins) - 1 for name, attribute in schema.attributes}
    boxes = [_box(schema, antecedent) for antecedent in (*antecedents, ())]
    looks = iter(range(_MOST_LOOKS))
    return tuple(place for place, box in enumerate(boxes) if _is_reached(whole, box, boxes[:place], looks))


def _box(schema: Schema, antecedent: Antecedent) -> Box:
    box: Box = {}
    for literal in antecedent:
        bins = sum(1 << int(place) for place in schema[literal.attribute].truth(literal).nonzero()[0])
        box[literal.attribute] = box.get(literal.attribute, bins) & bins
    return box


def _is_reached(whole: Box, box: Box, earlier: Sequence[Box], looks: Iterator[int]) -> bool:
    """Return whether a box has rows outside all of some others.

    What one of the others leaves of it is divided into boxes, attribute by attribute, and the first that meets none of
    the rest decides. When all looks at a pair of boxes are spent, which a list that can be read does not need, the
    answer is yes.
    """
    stack = [(box, 0)] if all(box.values()) else []
    while stack:
        part, place = stack.pop()
        while place < len(earlier) and not _meet(whole, part, earlier[place]):
            place += 1
            if next(looks, None) is None:
                return True
        if place == len(earlier) or next(looks, None) is None:
            return True
        for name, bins in earlier[place].items():
            own = part.get(name, whole[name])
            if own & ~bins:
                stack.append(({**part, name: own & ~bins}, place + 1))
            part = {**part, name: own & bins}
    return False


def _meet(whole: Box, box: Box, other: Box) -> bool:
    return all(box.get(name, whole[name]) & bins for name, bins in other.items())
