"""Distribution of one row of a table, as a product of independent factors."""

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
from hedgerow.audit.probabilistic.factors import Factor, ListedFactor, Outcome
from hedgerow.audit.probabilistic.possible_worlds import exact_probabilities
from hedgerow.errors import SchemaError


@dataclass(frozen=True, eq=False)
class RowDistribution:
    """Distribution of one row: a product of independent factors, in which every attribute occurs once."""

    factors: tuple[Factor, ...]

    @classmethod
    def of(cls, known: Mapping[Any, Any], domains: Sequence[Values]) -> Self:
        """Return the distribution from those of attributes, and of tuples of attributes; all others are uniform.

        SchemaError as for `ProbabilisticDataset`.
        """
        places = {values.name: place for place, values in enumerate(domains)}
        factors: list[ListedFactor] = []
        for key, given in known.items():
            names = key if isinstance(key, tuple) else (key,)
            for name in names:
                if name not in places:
                    raise SchemaError(
                        f"expected one of the attributes {', '.join(places)}, each once, got another one or one twice.",
                        attribute=name,
                    )
            chosen = tuple(places.pop(name) for name in names) if len(set(names)) == len(names) else ()
            if not chosen:
                raise SchemaError("expected each attribute once, got it twice.", attribute=names[0] if names else None)
            factors.append(_listed(key, chosen, domains, given))
        factors += [_everything(place, domains[place]) for place in places.values()]
        return cls(tuple(sorted(factors, key=lambda factor: factor.attributes)))

    @cached_property
    def possible_rows(self) -> int:
        """The number of possible rows."""
        return prod(factor.value_combinations for factor in self.factors)

    @cached_property
    def entropy_bits(self) -> float:
        """The joint entropy of its bins in bits."""
        return fsum(factor.entropy_bits for factor in self.factors)

    def allows(self, codes: Index) -> NDArray[np.bool_]:
        """Return which of some rows of bins, shape ``(n_rows, n_attributes)``, are possible."""
        return np.logical_and.reduce([factor.allows(codes[:, list(factor.attributes)]) for factor in self.factors])

    def marginals(self) -> Iterator[tuple[int, tuple[Fraction, ...]]]:
        """Yield each attribute with the probability of each of its bins."""
        for factor in self.factors:
            yield from zip(factor.attributes, factor.marginals, strict=True)

    def outcomes(self, domains: Sequence[Values]) -> Iterator[Outcome]:
        """Yield the possible rows with their probabilities."""
        order = [place for factor in self.factors for place in factor.attributes]
        for choice in product(*(list(factor.outcomes(domains)) for factor in self.factors)):
            values = dict(zip(order, (value for own, _ in choice for value in own), strict=True))
            yield (
                tuple(values[place] for place in range(len(order))),
                prod((chance for _, chance in choice), start=Fraction(1)),
            )


def _everything(place: int, values: Values) -> ListedFactor:
    n = len(values.bins)
    return ListedFactor((place,), tuple((bin,) for bin in range(n)), (1,) * n, (n,))


def _listed(key: Any, places: tuple[int, ...], domains: Sequence[Values], given: Any) -> ListedFactor:
    """Return the factor of some attributes as given by the user: one value, several, or their probabilities."""
    name = ", ".join(domains[place].name for place in places)
    values: Sequence[Any] = list(given) if isinstance(given, (Mapping, set, frozenset, list, range)) else [given]
    chances: Sequence[Any] = (
        list(given.values()) if isinstance(given, Mapping) else [Fraction(1, len(values) or 1)] * len(values)
    )
    if not values:
        raise SchemaError("expected one or more possible values, got none.", attribute=name)
    bins = tuple(_bins_of(value if isinstance(key, tuple) else (value,), places, domains, name) for value in values)
    if len(set(bins)) < len(bins):
        raise SchemaError("expected each possible value once, got one twice.", attribute=name)
    try:
        exact = exact_probabilities([chance for chance in chances if chance != 0])
    except (ValueError, TypeError):
        raise SchemaError("expected probabilities of at least 0 that sum to 1, got others.", attribute=name) from None
    possible = [bin for bin, chance in zip(bins, chances, strict=True) if chance != 0]
    scale = lcm(*(chance.denominator for chance in exact))
    together = sorted(zip(possible, (int(chance * scale) for chance in exact), strict=True))
    n_bins = tuple(len(domains[place].bins) for place in places)
    return ListedFactor(places, tuple(bin for bin, _ in together), tuple(mass for _, mass in together), n_bins)


def _bins_of(value: Any, places: tuple[int, ...], domains: Sequence[Values], name: str) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) != len(places):
        raise SchemaError(f"expected tuples of {len(places)} values, got others.", attribute=name)
    bins = tuple(domains[place].bin_of(own) for place, own in zip(places, value, strict=True))
    if min(bins) < 0:
        raise SchemaError("expected values of the domain, got others.", attribute=name)
    return bins
