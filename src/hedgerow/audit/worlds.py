"""How many different rows could stand in each leaf of a model: the worlds that are left to whoever reads it.

A released model and its schema are public, and nothing here looks at a row. All numbers are exact Python integers.

References
----------
Ferry, Aïvodji, Gambs, Huguet, Siala, *Probabilistic Dataset Reconstruction from Interpretable Models*, 2024 (PDR):
eq. 11 for trees, eq. 12 to 16 for rule lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, isfinite, prod

from hedgerow.audit.counting import Box, BoxCounter, Weights
from hedgerow.columns import plain_word
from hedgerow.errors import SchemaError
from hedgerow.models.model import Model
from hedgerow.models.rule_list import RuleList
from hedgerow.models.tree import Tree
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import Value

_Path = tuple[tuple[Literal, bool], ...]


@dataclass(frozen=True)
class Region:
    """The rows of a box that lie in none of the earlier boxes.

    Attributes
    ----------
    box : tuple of int
        For each attribute of the schema, in its order, the allowed cells: bit i stands for cell i.
    earlier : tuple of tuple of int
        The boxes taken off it, such as those of the rules before.

    Raises
    ------
    ValueError
        If the boxes are not all of the same number of attributes.
    """

    box: Box
    earlier: tuple[Box, ...] = ()

    def __post_init__(self) -> None:
        if any(len(other) != len(self.box) for other in self.earlier):
            raise ValueError(f"expected earlier boxes of {len(self.box)} attributes, as the box itself.")


def regions_of(model: Model) -> tuple[Region, ...]:
    """Return the region of each leaf, in the order of `model.leaves`.

    A leaf of a tree is a box; rule j of a list is the box of its antecedent without those of rules 1 to j - 1.

    Raises
    ------
    TypeError
        If the model is neither a RuleList nor a Tree.

    Examples
    --------
    Rule List 1 of PDR: two worlds, three and three, as in its Table IV.

    >>> from hedgerow.models import Rule, RuleList
    >>> from hedgerow.privacy.card import PrivacyCard
    >>> from hedgerow.schema import Boolean, Label, Literal, Schema
    >>> schema = Schema({"a1": Boolean(), "a2": Boolean(), "a3": Boolean()}, Label("y", (False, True)))
    >>> one, two, three = (Literal(name, "true") for name in schema)
    >>> rules = Rule((one, two), (0, 2)), Rule((three,), (2, 0)), Rule((), (0, 1))
    >>> model = RuleList(schema, rules, PrivacyCard.none("example", software="hedgerow"))
    >>> worlds_of(regions_of(model), cell_weights(schema))
    (2, 3, 3)
    """
    if isinstance(model, RuleList):
        antecedents = (tuple((literal, True) for literal in rule.antecedent) for rule in model.rules)
        boxes = _boxes(antecedents, model.schema)
        return tuple(Region(box, boxes[:index]) for index, box in enumerate(boxes))
    if isinstance(model, Tree):
        return tuple(map(Region, _boxes(_paths(model), model.schema)))
    raise TypeError(f"expected a RuleList or a Tree, got {type(model).__name__}.")


def worlds(region: Region, weights: Weights) -> int:
    """Return how many different rows a region holds, exactly.

    This is ``Capt(f_j)`` of PDR's eq. 12. Its eq. 13 and 15 add and subtract over all sets of overlapping rules; here
    earlier boxes that do not meet the box, or lie within others, are dropped, what is left is split into components
    without a common attribute, whose numbers multiply, and each of these over the cells, as far as the boxes tell them
    apart, of the attribute that most boxes use. The worst case is still exponential: the problem is #P-complete.

    Parameters
    ----------
    region : Region
        A box without earlier boxes.
    weights : tuple of tuple of int
        How many values each cell of each attribute holds: see `cell_weights`.

    Raises
    ------
    ValueError
        If the weights are not of the region's attributes and cells.

    Examples
    --------
    >>> bits = ((1, 1), (1, 1), (1, 1))
    >>> worlds(Region((0b11, 0b11, 0b10), earlier=((0b10, 0b10, 0b11),)), bits)
    3
    """
    return worlds_of((region,), weights)[0]


def worlds_of(regions: Sequence[Region], weights: Weights) -> tuple[int, ...]:
    """Return how many different rows each region holds, exactly; sub-problems that they share are solved once.

    Raises
    ------
    ValueError
        If the weights are not of the regions' attributes and cells.

    Examples
    --------
    >>> worlds_of((Region((0b01,)), Region((0b11,), earlier=((0b01,),))), weights=((14, 60),))
    (14, 60)
    """
    for box in {box for region in regions for box in (region.box, *region.earlier)}:
        if len(box) != len(weights) or any(mask >> len(cells) for mask, cells in zip(box, weights, strict=True)):
            raise ValueError("expected one weight for each cell of each attribute of the regions.")
    counter = BoxCounter(weights, max((len(region.earlier) for region in regions), default=0))
    return tuple(counter.outside(region.box, region.earlier) for region in regions)


def domain_worlds(schema: Schema, *, resolution: Mapping[str, float] | None = None) -> int:
    """Return how many different rows a schema allows: the product of the attributes' numbers of values.

    Examples
    --------
    >>> from hedgerow.schema import Boolean
    >>> domain_worlds(Schema({"age": Integer(17, 90, cuts=(30, 45)), "smoker": Boolean()}))
    148
    """
    return prod(sum(cells) for cells in cell_weights(schema, resolution=resolution))


def cell_weights(schema: Schema, *, resolution: Mapping[str, float] | None = None) -> Weights:
    """Return how many values each cell of each attribute holds, in the order of the schema and of the cells.

    A boolean's cells and a categorical's hold one value each; an integer's interval its whole numbers, but not those
    declared to mean "missing". ``missing`` and ``outside`` cells count as one value each, since what is behind them is
    not declared. Where numbers beyond the bounds are clipped, they are the bound, and no other value.

    Parameters
    ----------
    schema : Schema
        The public schema.
    resolution : mapping of str to float, optional
        For real attributes, the step in which they are recorded: the values are then ``low, low + step, ...`` up to
        `high`, decimals meant as written. A real attribute without one has one value a cell, as its cell is all that
        any model can tell of it.

    Raises
    ------
    SchemaError
        If a resolution is given for what is no real attribute, or is not a step above 0.

    Examples
    --------
    >>> from hedgerow.schema import Boolean
    >>> schema = Schema({"age": Integer(17, 90, cuts=(30, 45)), "bmi": Real(10, 60, cuts=(25,)), "smoker": Boolean()})
    >>> cell_weights(schema)
    ((14, 15, 45), (1, 1), (1, 1))
    >>> cell_weights(schema, resolution={"bmi": 0.1})
    ((14, 15, 45), (151, 350), (1, 1))
    """
    steps = {} if resolution is None else dict(resolution)
    for name, step in steps.items():
        if name not in schema or not isinstance(schema[name], Real):
            raise SchemaError("expected a resolution for real attributes only.", attribute=name)
        if not 0 < step < float("inf"):
            raise SchemaError(f"expected a resolution above 0, got {step!r}.", attribute=name)
    return tuple(_weights(attribute, steps.get(name)) for name, attribute in schema.attributes)


def _weights(attribute: Attribute, step: float | None) -> tuple[int, ...]:
    known = (1,) * len(attribute.known_cells)
    if isinstance(attribute, Integer):
        known = _numbers_in(attribute, Fraction(1))
    elif isinstance(attribute, Real) and step is not None:
        known = _numbers_in(attribute, _as_written(step))
    return known + (1,) * (len(attribute.cells) - len(known))


def _numbers_in(attribute: Integer | Real, step: Fraction) -> tuple[int, ...]:
    """Return how many of the numbers low, low + step, ... fall into each interval and do not mean "missing"."""
    low = _as_written(attribute.low)
    edges = [(_as_written(edge) - low) / step for edge in (*attribute.cuts, attribute.high)]
    missing = {(n - low) / step for n in map(_spelled, attribute.missing_values) if n is not None}
    found: list[int] = []
    first = 0
    for edge in edges:
        after = floor(edge) + 1
        tokens = sum(token.denominator == 1 and first <= token < after for token in missing)
        found.append(after - first - tokens)
        first = after
    return tuple(found)


def _as_written(number: float) -> Fraction:
    return Fraction(repr(number))


def _spelled(value: Value) -> Fraction | None:
    """Return the number that a value is, or spells just as numbers are written; None for other text."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return _as_written(number) if isfinite(number) and plain_word(number) == plain_word(value) else None


def _boxes(paths: Iterable[_Path], schema: Schema) -> tuple[Box, ...]:
    """Return the box of each conjunction of literals that hold or do not."""
    place = {name: index for index, name in enumerate(schema)}
    everything = [(1 << len(attribute.cells)) - 1 for _, attribute in schema.attributes]
    masks: dict[Literal, int] = {}
    boxes: list[Box] = []
    for path in paths:
        box = everything.copy()
        for literal, holds in path:
            if literal not in masks:
                truth = schema[literal.attribute].truth(literal)
                masks[literal] = sum(1 << cell for cell, true in enumerate(truth) if true)
            box[place[literal.attribute]] &= masks[literal] if holds else ~masks[literal]
        boxes.append(tuple(box))
    return tuple(boxes)


def _paths(tree: Tree) -> tuple[_Path, ...]:
    """Return the literals on the way to each leaf, and whether they hold there."""

    def split(literal: Literal, true: tuple[_Path, ...], false: tuple[_Path, ...]) -> tuple[_Path, ...]:
        return tuple(((literal, True), *path) for path in true) + tuple(((literal, False), *path) for path in false)

    def leaf(_: int) -> tuple[_Path, ...]:
        return ((),)

    return tree.fold(split, leaf)
