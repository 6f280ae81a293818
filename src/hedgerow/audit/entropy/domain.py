"""Domain of the rows of a table: its variables, the sizes of their bins, and the regions of a model in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import log2, prod
from typing import Self

from hedgerow.audit.counting.bin_values import Resolution, bin_weights
from hedgerow.audit.counting.outside import Box, PerBin
from hedgerow.audit.counting.regions import Region
from hedgerow.audit.readers.paths import Paths
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.models.conditions import Path
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema
from hedgerow.text.values import Value, quoted_text

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
    weights: PerBin
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
        """Return the domain of a schema whose bins resolve some literals, such as a model's.

        Parameters
        ----------
        schema : Schema
            The public schema.
        literals : iterable of Literal
            The literals of a model. Numbers that they compare with are added to the cut points.
        independent_bits : bool, default=False
            Take each category, each cut point, ``missing`` and ``outside`` for a column of 0 and 1 of its own, all
            combinations possible, as PDR does: a category of 7 values then has ``2**7`` possible values and not 7.
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
            raise ArgumentError(
                "expected no resolution with independent bits, which are 0 or 1, got one; leave it out."
            )
        n_bits = sum(len(_bits_of(name, attribute)) for name, attribute in refined.attributes)
        return cls(refined, ((1, 1),) * n_bits, independent_bits=True)

    @cached_property
    def possible_rows(self) -> int:
        """The number of different rows: the product of the variables' numbers of values."""
        return prod(map(sum, self.weights))

    @cached_property
    def bits(self) -> float:
        """The entropy of a row, in bits, all rows of the domain being equally likely."""
        return log2(self.possible_rows)

    def regions(self, model: Paths) -> tuple[Region, ...]:
        """Return the region of each leaf of a model."""
        boxes = [self._box(path) for path in model.paths]
        if model.exclusive:
            return tuple(Region(box, others) for box, others in boxes)
        if any(others for _, others in boxes[:-1]):
            raise ArgumentError(
                "expected rules without negated literals on several bits, got one; set `independent_bits=False`."
            )
        before = tuple(box for box, _ in boxes)
        return tuple(Region(box, (*before[:i], *others)) for i, (box, others) in enumerate(boxes))

    def _box(self, path: Path) -> tuple[Box, tuple[Box, ...]]:
        """Return the rows of a decision path: a box, and boxes removed from it."""
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
        """Return the allowed bins of the variables that a literal restricts."""
        attribute = self.schema[literal.attribute]
        literal = attribute.normalised(literal)
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
            raise SchemaError(f"is used by the model but not declared; the schema declares {declared}.", attribute=name)
        attribute = found.get(name, schema[name])
        literal = attribute.normalised(literal)
        attribute = attribute.refined_by(literal)
        attribute.truth(literal)
        found[name] = attribute
    return replace(
        schema, attributes=tuple((name, found.get(name, attribute)) for name, attribute in schema.attributes)
    )


def normalised(model: Paths, schema: Schema) -> Paths:
    """Return the decision paths with integer attributes compared with integers, like the schema's cut points."""
    paths = (tuple((schema[x.attribute].normalised(x), holds) for x, holds in path) for path in model.paths)
    return replace(model, paths=tuple(paths))


def _bits_of(name: str, attribute: Attribute) -> list[_Bit]:
    """Return the columns of 0 and 1 into which an attribute is binarised."""
    own: list[_Bit] = [(name, operator, operand) for operator, operand in attribute.indicators]
    return own + [(name, bin, None) for bin in attribute.bins[len(attribute.known_bins) :]]


def _bits_in(literal: Literal, attribute: Attribute) -> dict[_Bit, bool]:
    """Return the values of the columns of 0 and 1 where a literal holds; the others are 0 where it is missing."""
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
