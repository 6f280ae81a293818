"""What a row can be: the variables of a table, the values behind their bins, and the regions of a model in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, isfinite, log2, prod
from typing import Self

from hedgerow.audit.counting.bin_sizes import Resolution, bin_weights
from hedgerow.audit.counting.outside import Box, Weights
from hedgerow.audit.counting.regions import Region
from hedgerow.audit.readers.paths import Path, Paths
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import Value, quoted_text

_Bit = tuple[str, str, Value | None]


@dataclass(frozen=True)
class Domain:
    """The rows that are possible before a model is read.

    Attributes
    ----------
    schema : Schema
        The public schema, with the cut points that the model adds to it.
    weights : tuple of tuple of int
        How many values each bin of each variable holds.
    independent_bits : bool
        Whether the variables are the columns of a binarised table, each independent of the others, and not the
        schema's attributes: see `of`.
    """

    schema: Schema
    weights: Weights
    independent_bits: bool = False

    @classmethod
    def of(
        cls,
        schema: Schema,
        literals: Iterable[Literal] = (),
        *,
        independent_bits: bool = False,
        resolution: Resolution | None = None,
    ) -> Self:
        """Return the domain of a schema in which some literals, as a model's, can be told.

        Parameters
        ----------
        schema : Schema
            The public schema.
        literals : iterable of Literal
            What a model asks. Numbers that it compares with, if they are not among the cut points, become such.
        independent_bits : bool, default=False
            Take each category, each cut point, ``missing`` and ``outside`` for a column of 0 and 1 of its own, all
            combinations possible, as PDR does: a category of 7 values is then ``2**7`` worlds and not 7.
        resolution : mapping of str to float, optional
            As in `bin_weights`.

        Raises
        ------
        SchemaError
            If the schema lacks an attribute, or a literal does not fit it, such as by a number outside its bounds.
        """
        refined = _refined(schema, literals)
        if not independent_bits:
            return cls(refined, bin_weights(refined, resolution=resolution))
        if resolution:
            raise ArgumentError("a resolution has no meaning for independent bits, which are 0 or 1.")
        n_bits = sum(len(_bits_of(name, attribute)) for name, attribute in refined.attributes)
        return cls(refined, ((1, 1),) * n_bits, independent_bits=True)

    @cached_property
    def worlds(self) -> int:
        """The number of different rows: the product of the variables' numbers of values."""
        return prod(map(sum, self.weights))

    @cached_property
    def bits(self) -> float:
        """The entropy, in bits, of a row of which nothing is known."""
        return log2(self.worlds)

    def regions(self, model: Paths) -> tuple[Region, ...]:
        """Return the region of each leaf of a model."""
        boxes = [self._box(path) for path in model.paths]
        if model.exclusive:
            return tuple(Region(box, others) for box, others in boxes)
        if any(others for _, others in boxes[:-1]):
            raise ArgumentError("expected rules of literals that hold, got one on several bits that must fail.")
        before = tuple(box for box, _ in boxes)
        return tuple(Region(box, (*before[:i], *others)) for i, (box, others) in enumerate(boxes))

    def settled(self, model: Paths) -> Paths:
        """Return the ways to the leaves with whole numbers compared with whole numbers, as the schema's cuts are."""
        paths = (tuple((_settled(x, self.schema[x.attribute]), holds) for x, holds in path) for path in model.paths)
        return replace(model, paths=tuple(paths))

    def _box(self, path: Path) -> tuple[Box, tuple[Box, ...]]:
        """Return the rows whose every step is as the path says: a box, and boxes taken off it."""
        box = list(self._everything)
        others: list[Box] = []
        for literal, holds in path:
            masks = self._masks(literal)
            if holds or len(masks) == 1:
                for index, mask in masks.items():
                    box[index] &= mask if holds else ~mask
            else:
                others.append(tuple(masks.get(i, full) for i, full in enumerate(self._everything)))
        return tuple(box), tuple(others)

    @cached_property
    def _everything(self) -> Box:
        return tuple((1 << len(bins)) - 1 for bins in self.weights)

    @cached_property
    def _places(self) -> dict[_Bit, int]:
        if not self.independent_bits:
            return {(name, "", None): place for place, name in enumerate(self.schema)}
        bits = (bit for name, attribute in self.schema.attributes for bit in _bits_of(name, attribute))
        return {bit: place for place, bit in enumerate(bits)}

    def _masks(self, literal: Literal) -> dict[int, int]:
        """Return the allowed bins of the variables that a literal speaks of."""
        attribute = self.schema[literal.attribute]
        literal = _settled(literal, attribute)
        if self.independent_bits:
            return {self._places[bit]: 0b10 if true else 0b01 for bit, true in _bits_in(literal, attribute).items()}
        truth = attribute.truth(literal)
        return {self._places[literal.attribute, "", None]: sum(1 << i for i, true in enumerate(truth) if true)}


def _refined(schema: Schema, literals: Iterable[Literal]) -> Schema:
    """Return the schema with the numbers that literals compare with among its cut points."""
    found: dict[str, Attribute] = {}
    for literal in set(literals):
        name = literal.attribute
        if name not in schema:
            declared = ", ".join(map(quoted_text, schema.names))
            raise SchemaError(f"is used by the model but not declared; the schema has {declared}.", attribute=name)
        attribute = found.get(name, schema[name])
        if isinstance(attribute, (Integer, Real)) and literal.operands:
            attribute = _with_cuts(attribute, _settled(literal, attribute))
        attribute.truth(_settled(literal, attribute))
        found[name] = attribute
    return replace(
        schema, attributes=tuple((name, found.get(name, attribute)) for name, attribute in schema.attributes)
    )


def _with_cuts(attribute: Integer | Real, literal: Literal) -> Integer | Real:
    for value in literal.operands:
        if isinstance(value, str) or not attribute.low <= value < attribute.high:
            raise SchemaError(
                f"the model compares it with {value!r}, outside the declared domain ({attribute.domain}); declare the "
                "bounds that the training rows had.",
                attribute=literal.attribute,
            )
    return replace(attribute, cuts=tuple(sorted({*attribute.cuts, *literal.operands})))


def _settled(literal: Literal, attribute: Attribute) -> Literal:
    """Return the literal on whole numbers that says the same of an integer attribute, as ``age <= 30`` for 30.5."""
    if not isinstance(attribute, Integer) or literal.operator not in ("<=", ">", "between"):
        return literal
    whole = tuple(floor(x) if isinstance(x, (int, float)) and isfinite(x) else x for x in literal.operands)
    return Literal(literal.attribute, literal.operator, whole)


def _bits_of(name: str, attribute: Attribute) -> list[_Bit]:
    """Return the columns of 0 and 1 that an attribute is binarised to."""
    own: list[_Bit] = []
    if isinstance(attribute, Boolean):
        own = [(name, "true", None)]
    elif isinstance(attribute, Categorical):
        own = [(name, "=", value) for value in attribute.known_bins]
    elif isinstance(attribute, (Integer, Real)):
        own = [(name, "<=", cut) for cut in attribute.cuts]
    return own + [(name, bin, None) for bin in attribute.bins[len(attribute.known_bins) :]]


def _bits_in(literal: Literal, attribute: Attribute) -> dict[_Bit, bool]:
    """Return what columns of 0 and 1 are where a literal holds; those of no value are all 0 where it is missing."""
    name, values = literal.attribute, literal.operands
    known: dict[_Bit, bool] = {(name, "missing", None): False} if attribute.missing == "bin" else {}
    inside: dict[_Bit, bool] = {(name, "outside", None): False} if attribute.outside == "bin" else {}
    match literal.operator:
        case "true":
            return {(name, "true", None): True}
        case "false":
            return {(name, "true", None): False, **known}
        case "=":
            return {(name, "=", str(values[0])): True}
        case "!=":
            return {(name, "=", str(values[0])): False, **known}
        case "<=":
            return {(name, "<=", values[0]): True}
        case ">":
            return {(name, "<=", values[0]): False, **known, **inside}
        case "between":
            return {(name, "<=", values[0]): False, (name, "<=", values[1]): True}
        case "known":
            return known
        case _:
            return {(name, literal.operator, None): True}
