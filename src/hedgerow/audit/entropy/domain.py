"""Domain of the possible rows of a table, regions of a model in it, and priors from public marginals."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite, lcm, log2, nan, prod
from typing import Self

from hedgerow.audit.counting.bin_values import Resolution, bin_weights
from hedgerow.audit.counting.outside import BinMasks, PerBin
from hedgerow.audit.counting.regions import Region, count_rows_by_bin
from hedgerow.audit.readers.paths import Paths
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.models.conditions import Path
from hedgerow.schema import Attribute, Literal, Schema
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import Value, quoted_text

_Bit = tuple[str, str, Value | None]
AttributeMarginals = Mapping[str, Sequence[float] | Mapping[str, float]]
"""The probabilities of an attribute's bins, in order or by the bin's name; attributes may be omitted."""


@dataclass(frozen=True)
class Domain:
    """Possible rows without knowledge of the model.

    Attributes
    ----------
    schema : Schema
        The public schema, with the model's thresholds added to its cut points.
    weights : tuple of tuple of int
        The number of values in each bin of each variable.
    independent_bits : bool
        Whether the variables are independent columns of a binarised table instead of the schema's attributes.
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
        """Return the domain of a schema, with the numbers of the literals added to the cut points.

        `independent_bits` and `resolution` are as for `reconstruction`; with independent bits, each ``missing`` and
        ``outside`` is a bit, too. `SchemaError` for a literal that does not fit the schema.
        """
        refined = _refined(schema, literals)
        if not independent_bits:
            return cls(refined, bin_weights(refined, resolution=resolution))
        if resolution:
            raise ArgumentError("resolution cannot be combined with independent_bits=True; pass only one of them.")
        n_bits = sum(len(_bits_of(name, attribute)) for name, attribute in refined.attributes)
        return cls(refined, ((1, 1),) * n_bits, independent_bits=True)

    @cached_property
    def possible_rows(self) -> int:
        """The number of possible rows: the product of the variables' numbers of values."""
        return prod(map(sum, self.weights))

    @cached_property
    def bits(self) -> float:
        """The entropy of a row in bits, if all rows of the domain are equally likely."""
        return log2(self.possible_rows)

    def regions(self, model: Paths) -> tuple[Region, ...]:
        """Return the region of each leaf of a model."""
        boxes = [self._box(path) for path in model.paths]
        if model.exclusive:
            return tuple(Region(box, others) for box, others in boxes)
        if any(others for _, others in boxes[:-1]):
            raise ArgumentError("a rule negates a literal on several bits; set `independent_bits=False`.")
        before = tuple(box for box, _ in boxes)
        return tuple(Region(box, (*before[:i], *others)) for i, (box, others) in enumerate(boxes))

    def _box(self, path: Path) -> tuple[BinMasks, tuple[BinMasks, ...]]:
        """Return the rows of a decision path: a box, and the boxes removed from it."""
        box = list(self._everything)
        others: list[BinMasks] = []
        for literal, holds in path:
            masks = self._masks(literal)
            if holds or len(masks) == 1:
                for index, mask in masks.items():
                    box[index] &= mask if holds else ~mask
            else:
                others.append(tuple(masks.get(i, full) for i, full in enumerate(self._everything)))
        return tuple(box), tuple(others)

    @cached_property
    def _everything(self) -> BinMasks:
        return tuple((1 << len(bins)) - 1 for bins in self.weights)

    @cached_property
    def _places(self) -> dict[_Bit, int]:
        if not self.independent_bits:
            return {(name, "", None): place for place, name in enumerate(self.schema)}
        bits = (bit for name, attribute in self.schema.attributes for bit in _bits_of(name, attribute))
        return {bit: place for place, bit in enumerate(bits)}

    def _masks(self, literal: Literal) -> dict[int, int]:
        attribute = self.schema[literal.attribute]
        literal = attribute.normalised(literal)
        if self.independent_bits:
            return {self._places[bit]: 0b10 if true else 0b01 for bit, true in _bits_in(literal, attribute).items()}
        truth = attribute.truth(literal)
        return {self._places[literal.attribute, "", None]: sum(1 << i for i, true in enumerate(truth) if true)}


def _refined(schema: Schema, literals: Iterable[Literal]) -> Schema:
    refined: dict[str, Attribute] = {}
    for literal in set(literals):
        name = literal.attribute
        if name not in schema:
            declared = ", ".join(map(quoted_text, schema.names))
            raise SchemaError(f"is used by the model but not declared; the schema declares {declared}.", attribute=name)
        attribute = refined.get(name, schema[name])
        literal = attribute.normalised(literal)
        attribute = attribute.refined_by(literal)
        attribute.truth(literal)
        refined[name] = attribute
    return replace(schema, attributes=tuple((name, refined.get(name, own)) for name, own in schema.attributes))


def normalised(model: Paths, schema: Schema) -> Paths:
    """Return the decision paths with integer thresholds for integer attributes, like the schema's cut points."""
    paths = (tuple((schema[x.attribute].normalised(x), holds) for x, holds in path) for path in model.paths)
    return replace(model, paths=tuple(paths))


def _bits_of(name: str, attribute: Attribute) -> list[_Bit]:
    own: list[_Bit] = [(name, operator, operand) for operator, operand in attribute.indicators]
    return own + [(name, bin, None) for bin in attribute.bins[len(attribute.known_bins) :]]


def _bits_in(literal: Literal, attribute: Attribute) -> dict[_Bit, bool]:
    """Return the values that a literal determines of an attribute's columns of 0 and 1."""
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
        case "!=" if attribute.ordered:
            raise ArgumentError(f"{literal.brief} is not a comparison by order; set `independent_bits=False`.")
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


@dataclass(frozen=True)
class RowPrior:
    """Distribution of rows with independent attributes and equally likely values within each bin."""

    masses: PerBin  # the probability of each bin of each attribute, times a whole number
    # Minus the binary logarithm of the probability of each value of a bin; 0 if that probability is 0
    surprisals: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, marginals: AttributeMarginals, schema: Schema, domain: Domain) -> Self:
        """Return the prior with these public marginals; the values of all other attributes are equally likely."""
        if domain.independent_bits:
            raise ArgumentError("prior is not supported with independent bits; set `independent_bits=False`.")
        if not isinstance(marginals, Mapping):
            raise ArgumentTypeError(f"prior must map attributes to probabilities, got {type(marginals).__name__}.")
        unknown = sorted(set(marginals) - set(schema))
        if unknown:
            raise SchemaError("has a prior but is not declared; declare it in the schema.", attribute=unknown[0])
        masses: list[tuple[int, ...]] = []
        surprisals: list[tuple[float, ...]] = []
        for (name, attribute), values in zip(domain.schema.attributes, domain.weights, strict=True):
            shares = [Fraction(w, sum(values)) for w in values]
            if name in marginals:
                coarse = _probabilities(name, schema[name], marginals[name])
                shares = _refined_shares(name, coarse, schema[name].coarse_bins(attribute), values)
            scale = lcm(*(share.denominator for share in shares))
            masses.append(tuple(int(share * scale) for share in shares))
            surprisals.append(tuple(log2(w / s) if s else 0.0 for s, w in zip(shares, values, strict=True)))
        return cls(tuple(masses), tuple(surprisals))

    def entropy_bits(self, region: Region) -> float:
        """Return the entropy of a row given its region, ``Σ_k Σ_c P(c | R) s_k(c) + log2 P(R)``; NaN if empty."""
        bins = count_rows_by_bin(region, self.masses)
        inside, everything = sum(bins[0]), [sum(masses) for masses in self.masses]
        if not inside:
            return nan
        expected = sum(
            count / inside * surprisal
            for counts, surprisals in zip(bins, self.surprisals, strict=True)
            for count, surprisal in zip(counts, surprisals, strict=True)
            if count
        )
        return max(expected + log2(inside) - sum(map(log2, everything)), 0.0)

    @property
    def bits_by_attribute(self) -> list[float]:
        """The entropy of each attribute of a row in bits."""
        return [
            sum(mass / sum(masses) * surprisal for mass, surprisal in zip(masses, surprisals, strict=True))
            for masses, surprisals in zip(self.masses, self.surprisals, strict=True)
        ]

    @property
    def bits(self) -> float:
        return sum(self.bits_by_attribute)


def _probabilities(name: str, attribute: Attribute, given: Sequence[float] | Mapping[str, float]) -> list[Fraction]:
    if isinstance(given, Mapping):
        unknown = sorted(set(map(str, given)) - set(attribute.bins))
        if unknown:
            problem = f"has no bin {describe_argument(unknown[0])}"
            raise SchemaError(f"{problem}; its bins are {', '.join(attribute.bins)}.", attribute=name)
        values = [float({str(bin): p for bin, p in given.items()}.get(bin, 0.0)) for bin in attribute.bins]
    else:
        problem = SchemaError("prior must be a sequence of probabilities, one for each bin.", attribute=name)
        values = guarded(lambda: [float(p) for p in given], problem)
    if len(values) != len(attribute.bins):
        problem = f"prior must have {len(attribute.bins)} probabilities, one for each bin"
        raise SchemaError(f"{problem}; got {len(values)}.", attribute=name)
    if not all(isfinite(p) and p >= 0 for p in values):
        raise SchemaError("the probabilities of prior must be finite and at least 0.", attribute=name)
    if abs(sum(values) - 1) > 1e-6:
        raise SchemaError(f"the probabilities of prior must sum to 1, got {sum(values):.6g}.", attribute=name)
    exact = [Fraction(p) for p in values]
    return [p / sum(exact) for p in exact]


def _refined_shares(
    name: str, given: Sequence[Fraction], parents: Sequence[int], values: Sequence[int]
) -> list[Fraction]:
    """Return the probabilities of finer bins, in proportion to their numbers of values within each bin."""
    whole = [0] * len(given)
    for parent, count in zip(parents, values, strict=True):
        whole[parent] += count
    if any(p and not count for p, count in zip(given, whole, strict=True)):
        raise SchemaError("the probability of a bin without values must be 0.", attribute=name)
    return [given[p] * Fraction(n, whole[p]) if n else Fraction(0) for p, n in zip(parents, values, strict=True)]
