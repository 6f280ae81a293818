"""Prior knowledge of an attacker: public marginals, one attribute at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, lcm, log2, nan
from typing import Self

from hedgerow.audit.counting.outside import PerBin
from hedgerow.audit.counting.regions import Region, count_rows_by_bin
from hedgerow.audit.entropy.domain import Domain
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument

Marginals = Mapping[str, Sequence[float] | Mapping[str, float]]
"""For some attributes, the probability of each bin of the schema, in order or under the bin's name."""


@dataclass(frozen=True)
class Prior:
    """A distribution of rows in which attributes are independent, and the values of a bin equally likely."""

    masses: PerBin  # the probability of each bin of each attribute, times a whole number
    # Minus the logarithm, base 2, of the probability of one value of each bin; 0 where that probability is 0
    surprisals: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, marginals: Marginals, schema: Schema, domain: Domain) -> Self:
        """Return the prior of public marginals; attributes without one have all values equally likely."""
        if domain.independent_bits:
            raise ArgumentError("expected no prior with independent bits, got one; set `independent_bits=False`.")
        if not isinstance(marginals, Mapping):
            raise ArgumentTypeError(
                f"expected a mapping of attributes to probabilities as prior, got {type(marginals).__name__}."
            )
        unknown = sorted(set(marginals) - set(schema))
        if unknown:
            raise SchemaError(
                "expected priors of declared attributes only; declare it in the schema.", attribute=unknown[0]
            )
        masses: list[tuple[int, ...]] = []
        surprisals: list[tuple[float, ...]] = []
        for (name, attribute), values in zip(domain.schema.attributes, domain.weights, strict=True):
            shares = [Fraction(w, sum(values)) for w in values]
            if name in marginals:
                given = _probabilities(name, schema[name], marginals[name])
                shares = _refined_shares(name, given, schema[name].coarse_bins(attribute), values)
            scale = lcm(*(share.denominator for share in shares))
            masses.append(tuple(int(share * scale) for share in shares))
            surprisals.append(tuple(log2(w / s) if s else 0.0 for s, w in zip(shares, values, strict=True)))
        return cls(tuple(masses), tuple(surprisals))

    def entropy_bits(self, region: Region) -> float:
        """Return the entropy, in bits, of a row given its region; NaN if the region has no possible row.

        It is the mean surprisal of the row's values less that of the region,
        ``Σ_k Σ_c P(c | R) s_k(c) + log2 P(R)``, with the probabilities counted exactly.
        """
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
    def bits(self) -> float:
        """The entropy, in bits, of a row before any model is read."""
        return sum(
            mass / sum(masses) * surprisal
            for masses, surprisals in zip(self.masses, self.surprisals, strict=True)
            for mass, surprisal in zip(masses, surprisals, strict=True)
        )


def _probabilities(name: str, attribute: Attribute, given: Sequence[float] | Mapping[str, float]) -> list[Fraction]:
    if isinstance(given, Mapping):
        unknown = sorted(set(map(str, given)) - set(attribute.bins))
        if unknown:
            raise SchemaError(
                f"has no bin {describe_argument(unknown[0])}; its bins are {', '.join(attribute.bins)}.", attribute=name
            )
        values = [float({str(bin): p for bin, p in given.items()}.get(bin, 0.0)) for bin in attribute.bins]
    else:
        problem = SchemaError("expected a sequence of probabilities, one for each bin.", attribute=name)
        values = guarded(lambda: [float(p) for p in given], problem)
    if len(values) != len(attribute.bins):
        raise SchemaError(f"expected {len(attribute.bins)} probabilities, got {len(values)}.", attribute=name)
    if not all(isfinite(p) and p >= 0 for p in values) or abs(sum(values) - 1) > 1e-6:
        raise SchemaError("expected probabilities of at least 0 that sum to 1, got others.", attribute=name)
    exact = [Fraction(p) for p in values]
    return [p / sum(exact) for p in exact]


def _refined_shares(
    name: str, given: Sequence[Fraction], parents: Sequence[int], values: Sequence[int]
) -> list[Fraction]:
    """Distribute the probability of each bin over the finer bins in it, in proportion to their numbers of values."""
    whole = [0] * len(given)
    for parent, count in zip(parents, values, strict=True):
        whole[parent] += count
    if any(p and not count for p, count in zip(given, whole, strict=True)):
        raise SchemaError("expected probability 0 for each bin without values, got more.", attribute=name)
    return [
        given[p] * Fraction(count, whole[p]) if count else Fraction(0) for p, count in zip(parents, values, strict=True)
    ]
