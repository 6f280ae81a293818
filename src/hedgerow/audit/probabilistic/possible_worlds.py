"""Possible worlds: explicit sets of tables with their probabilities, PDR's generalised probabilistic datasets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum, isfinite, log2
from typing import Any

from hedgerow.audit.entropy.values import Values
from hedgerow.errors import ArgumentError
from hedgerow.tables.frames import Table

World = tuple[tuple[Any, ...], ...]  # a table: its rows, each with a value for every attribute in the domains' order


@dataclass(frozen=True, repr=False, eq=False, init=False)
class PossibleWorlds:
    """A set of possible tables, each with its probability (PDR, Definition 3): any distribution over tables.

    Attributes
    ----------
    worlds, probabilities : tuple of tuple of tuple, tuple of Fraction
        The possible tables, different and of one shape, each row with a value for every attribute, in order; and the
        probability of each, above 0, with sum 1. Default: all equally likely.
    domains : tuple of Values
        The possible values of each attribute, each once; given as a mapping of str to sequence.

    Examples
    --------
    Two rows of one bit, known to differ:

    >>> known = PossibleWorlds([[(0,), (1,)], [(1,), (0,)]], domains={"a": (0, 1)})
    >>> known.entropy_bits, known.uncertainty
    (1.0, 0.5)
    """

    worlds: tuple[World, ...]
    probabilities: tuple[Fraction, ...]
    domains: tuple[Values, ...]

    def __init__(
        self,
        worlds: Sequence[Sequence[Sequence[Any]]],
        probabilities: Sequence[Fraction | float] | None = None,
        *,
        domains: Mapping[str, Sequence[Any]] | Sequence[Values],
    ) -> None:
        checked = domains_of(domains)
        tables = tuple(tuple(tuple(row) for row in world) for world in worlds)
        if not tables or not tables[0]:
            raise ArgumentError("expected one or more possible tables of one or more rows, got none.")
        if any(len(table) != len(tables[0]) or any(len(row) != len(checked) for row in table) for table in tables):
            raise ArgumentError(f"expected tables of {len(tables[0])} rows of {len(checked)} values each, got others.")
        for k, values in enumerate(checked):
            if any(values.bin_of(row[k]) < 0 for table in tables for row in table):
                raise ArgumentError(f"attribute {values.name!r}: expected values of its domain, got others.")
        if len(set(tables)) < len(tables):
            raise ArgumentError("expected each possible table once, got one twice.")
        given = [Fraction(1, len(tables))] * len(tables) if probabilities is None else probabilities
        if len(given) != len(tables):
            raise ArgumentError(f"expected one probability for each of {len(tables)} tables, got {len(given)}.")
        self.__dict__.update(worlds=tables, probabilities=exact_probabilities(given), domains=checked)

    @property
    def n_rows(self) -> int:
        """The number of rows of each table."""
        return len(self.worlds[0])

    @cached_property
    def entropy_bits(self) -> float:
        """The joint entropy of all bins in bits: ``−Σ_w P(w) log2 P(w)``."""
        if len(set(self.probabilities)) == 1:
            return log2(len(self.worlds))
        return fsum(float(p) * (log2(p.denominator) - log2(p.numerator)) for p in self.probabilities)

    @property
    def uncertainty(self) -> float:
        """Dist_G (Definition 4, eq. 3): entropy as a share of the domain's, from 0 (deterministic) to 1 (uniform)."""
        return self.entropy_bits / domain_bits(self.domains, self.n_rows)

    @property
    def is_deterministic(self) -> bool:
        """True if only one table is possible."""
        return len(self.worlds) == 1

    def is_compatible(self, data: Any) -> bool:
        """Return whether a table is one of the possible ones, row for row; DomainError if it lacks an attribute."""
        table = Table.of(data)
        table.require([values.name for values in self.domains])
        columns = [values.raw(table, k) for k, values in enumerate(self.domains)]
        return tuple(zip(*columns, strict=True)) in self.worlds

    def __repr__(self) -> str:
        return f"<PossibleWorlds: {len(self.worlds)} tables of {self.n_rows} rows, {self.entropy_bits:.3f} bits>"


def domains_of(domains: Mapping[str, Sequence[Any]] | Sequence[Values]) -> tuple[Values, ...]:
    if isinstance(domains, Mapping):
        domains = tuple(Values.listed(name, values) for name, values in domains.items())
    if not domains:
        raise ArgumentError("expected the domains of one or more attributes, got none.")
    return tuple(domains)


def domain_bits(domains: Sequence[Values], n_rows: int) -> float:
    """Return the entropy, in bits, of a table that is uniform on its domain (PDR eq. 4)."""
    bits = n_rows * fsum(values.bits for values in domains)
    if not bits:
        raise ArgumentError("expected domains of two or more rows, got one; uncertainty is undefined.")
    return bits


def exact_probabilities(given: Sequence[Fraction | float]) -> tuple[Fraction, ...]:
    """Normalise probabilities that sum to 1 up to rounding, so that they sum to 1 exactly."""
    if not all(isfinite(p) and p > 0 for p in given) or abs(fsum(given) - 1) > 1e-9:
        raise ArgumentError("expected probabilities above 0 that sum to 1, got others.")
    exact = [Fraction(p) for p in given]
    return tuple(p / sum(exact) for p in exact)
