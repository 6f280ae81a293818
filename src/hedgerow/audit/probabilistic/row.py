"""What is known of one row of a table: parts that are independent of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import fsum, lcm, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.entropy.values import Index, Values
from hedgerow.audit.probabilistic.factors import Listed, Outcome, Part
from hedgerow.audit.probabilistic.possible_worlds import exact_probabilities
from hedgerow.errors import SchemaError


@dataclass(frozen=True, eq=False)
class Row:
    """What is known of one row.

    Attributes
    ----------
    parts : tuple of Part
        What is known of some attributes each, every attribute once.
    """

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, known: Mapping[Any, Any], domains: Sequence[Values]) -> Self:
        """Read what is known of attributes, and of tuples of attributes; of all others nothing is.

        Raises
        ------
        SchemaError
            If an attribute is unknown or mentioned twice, its values are not in the domain, or probabilities are not
            above 0 with sum 1.
        """
        places = {values.name: place for place, values in enumerate(domains)}
        parts: list[Listed] = []
        for key, given in known.items():
            names = key if isinstance(key, tuple) else (key,)
            for name in names:
                if name not in places:
                    raise SchemaError(f"expected one of the attributes {', '.join(places)}, each once.", attribute=name)
            chosen = tuple(places.pop(name) for name in names) if len(set(names)) == len(names) else ()
            if not chosen:
                raise SchemaError("expected each attribute once.", attribute=names[0] if names else None)
            parts.append(_listed(key, chosen, domains, given))
        parts += [_everything(place, domains[place]) for place in places.values()]
        return cls(tuple(sorted(parts, key=lambda part: part.attributes)))

    @cached_property
    def worlds(self) -> int:
        """How many rows are possible."""
        return prod(part.worlds for part in self.parts)

    @cached_property
    def entropy_bits(self) -> float:
        """The joint entropy of its bins in bits."""
        return fsum(part.entropy_bits for part in self.parts)

    def allows(self, codes: Index) -> NDArray[np.bool_]:
        """Return which of some rows of bins, shape ``(n_rows, n_attributes)``, are possible."""
        return np.logical_and.reduce([part.allows(codes[:, list(part.attributes)]) for part in self.parts])

    def marginals(self) -> Iterator[tuple[int, tuple[Fraction, ...]]]:
        """Yield each attribute with the probability of each of its bins."""
        for part in self.parts:
            yield from zip(part.attributes, part.marginals, strict=True)

    def outcomes(self, domains: Sequence[Values]) -> Iterator[Outcome]:
        """Yield the rows that are possible with their probabilities."""
        order = [place for part in self.parts for place in part.attributes]
        for choice in product(*(list(part.outcomes(domains)) for part in self.parts)):
            values = dict(zip(order, (value for own, _ in choice for value in own), strict=True))
            yield (
                tuple(values[place] for place in range(len(order))),
                prod((chance for _, chance in choice), start=Fraction(1)),
            )


def _everything(place: int, values: Values) -> Listed:
    n = len(values.bins)
    return Listed((place,), tuple((bin,) for bin in range(n)), (1,) * n, (n,))


def _listed(key: Any, places: tuple[int, ...], domains: Sequence[Values], given: Any) -> Listed:
    """Return what is known of some attributes, as the user wrote it: one value, several, or their probabilities."""
    name = ", ".join(domains[place].name for place in places)
    values: Sequence[Any] = list(given) if isinstance(given, (Mapping, set, frozenset, list, range)) else [given]
    chances: Sequence[Any] = (
        list(given.values()) if isinstance(given, Mapping) else [Fraction(1, len(values) or 1)] * len(values)
    )
    if not values:
        raise SchemaError("expected one possible value or more, got none.", attribute=name)
    bins = tuple(_bins_of(value if isinstance(key, tuple) else (value,), places, domains, name) for value in values)
    if len(set(bins)) < len(bins):
        raise SchemaError("expected each possible value once.", attribute=name)
    try:
        exact = exact_probabilities([chance for chance in chances if chance != 0])
    except (ValueError, TypeError):
        raise SchemaError("expected probabilities from 0 on that sum to 1.", attribute=name) from None
    possible = [bin for bin, chance in zip(bins, chances, strict=True) if chance != 0]
    scale = lcm(*(chance.denominator for chance in exact))
    together = sorted(zip(possible, (int(chance * scale) for chance in exact), strict=True))
    n_bins = tuple(len(domains[place].bins) for place in places)
    return Listed(places, tuple(bin for bin, _ in together), tuple(mass for _, mass in together), n_bins)


def _bins_of(value: Any, places: tuple[int, ...], domains: Sequence[Values], name: str) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) != len(places):
        raise SchemaError(f"expected tuples of {len(places)} values.", attribute=name)
    bins = tuple(domains[place].bin_of(own) for place, own in zip(places, value, strict=True))
    if min(bins) < 0:
        raise SchemaError("expected values of the domain, got others.", attribute=name)
    return bins
