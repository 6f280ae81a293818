"""Distribution of a row: a product of independent factors, each over the bins of some attributes."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, islice
from math import fsum, isfinite, lcm, log2, prod
from typing import Any, Self

import numpy as np
import pandas as pd

from hedgerow.audit.counting.outside import BinMasks, BoxCounter, PerBin, bits, components
from hedgerow.audit.counting.regions import Region, count_rows, count_rows_by_bin
from hedgerow.audit.entropy.values import Values
from hedgerow.boundary.arrays import Index, Mask
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.text.values import quoted_text, value_text

_LISTED = 8  # largest number of values that are listed in full
_LONG = 72  # largest length of a list of more than two values

Outcome = tuple[tuple[Any, ...], Fraction]  # a value for each attribute of a factor, and their joint probability


@dataclass(frozen=True)
class ListedFactor:
    """Factor with listed combinations of bins, each with a probability."""

    attributes: tuple[int, ...]  # positions of the attributes in the domain
    bins: tuple[tuple[int, ...], ...]  # the possible combinations of bins; each bin has a single value
    masses: tuple[int, ...]  # the probabilities of the combinations, times a whole number
    n_bins: tuple[int, ...]  # the number of bins of each attribute

    @property
    def value_combinations(self) -> int:
        return len(self.bins)

    @property
    def uniform(self) -> bool:
        return len(set(self.masses)) == 1

    @cached_property
    def entropy_bits(self) -> float:
        if self.uniform:
            return log2(self.value_combinations)
        total = sum(self.masses)
        return log2(total) - fsum(mass / total * log2(mass) for mass in self.masses)

    @cached_property
    def marginals(self) -> tuple[tuple[Fraction, ...], ...]:
        sums = [[0] * n for n in self.n_bins]
        for combination, mass in zip(self.bins, self.masses, strict=True):
            for counts, bin in zip(sums, combination, strict=True):
                counts[bin] += mass
        total = sum(self.masses)
        return tuple(tuple(Fraction(count, total) for count in counts) for counts in sums)

    def outcomes(self, domain: Sequence[Values]) -> Iterator[Outcome]:
        total = sum(self.masses)
        for combination, mass in zip(self.bins, self.masses, strict=True):
            yield (
                tuple(domain[k].bins[bin][0] for k, bin in zip(self.attributes, combination, strict=True)),
                Fraction(mass, total),
            )

    def allows(self, codes: Index) -> Mask:
        possible = set(self.bins)
        return np.fromiter((tuple(row) in possible for row in codes.tolist()), dtype=bool, count=len(codes))

    def draw(self, n_rows: int, rng: np.random.Generator) -> Index:
        return np.array(self.bins, dtype=np.intp)[drawn_places(self.masses, n_rows, rng)]


@dataclass(frozen=True)
class BoxFactor:
    """Factor on the combinations of bins in a region: in a box, but in no earlier box."""

    attributes: tuple[int, ...]  # positions of the attributes in the domain
    region: Region  # the possible combinations
    weights: PerBin  # the number of values in each bin of these attributes
    masses: PerBin  # the prior probability of each bin of these attributes, times a whole number

    @cached_property
    def value_combinations(self) -> int:
        possible = tuple(
            tuple(w if m else 0 for w, m in zip(*both, strict=True))
            for both in zip(self.weights, self.masses, strict=True)
        )
        return count_rows(self.region, possible)

    @property
    def uniform(self) -> bool:
        return all(len(set(densities)) == 1 for densities in self._densities)

    @cached_property
    def _densities(self) -> list[list[Fraction]]:
        """The mass of each value of each possible bin, by attribute."""
        return [
            [Fraction(mass, w) for mass, w, chance in zip(masses, values, chances, strict=True) if chance]
            for masses, values, chances in zip(self.masses, self.weights, self.marginals, strict=True)
        ]

    @cached_property
    def entropy_bits(self) -> float:
        """The entropy in bits: ``log2 Σ mass − Σ_k E log2 (mass of the value of attribute k)``."""
        if self.uniform:
            return log2(self.value_combinations)
        expected = fsum(
            float(chance) * log2(density)
            for chances, densities in zip(self.marginals, self._densities, strict=True)
            for chance, density in zip(filter(None, chances), densities, strict=True)
        )
        return log2(self._total) - expected

    @cached_property
    def marginals(self) -> tuple[tuple[Fraction, ...], ...]:
        counts = count_rows_by_bin(self.region, self.masses)
        return tuple(tuple(Fraction(count, self._total) for count in by_bin) for by_bin in counts)

    @cached_property
    def _counter(self) -> BoxCounter:
        return BoxCounter(self.masses, len(self.region.earlier))

    @cached_property
    def _total(self) -> int:
        return self._counter.outside(self.region.box, self.region.earlier)

    def _by_bin(self, region: Region, place: int) -> dict[int, tuple[Region, int]]:
        """Return the region given each possible bin, in a canonical form, and the mass of the bin."""
        regions: dict[int, tuple[Region, int]] = {}
        before, after = region.box[:place], region.box[place + 1 :]
        masses = [
            (bit, self._counter.outside((*before, bit, *after), region.earlier)) for bit in bits(region.box[place])
        ]
        first = next((flag for flag, mass in masses if mass), 0)  # stands for every bin, so that regions compare equal
        for flag, mass in masses:
            if mass:
                others = {(*o[:place], first, *o[place + 1 :]) for o in region.earlier if o[place] & flag}
                regions[flag.bit_length() - 1] = Region((*before, first, *after), tuple(sorted(others))), mass
        return regions

    def outcomes(self, domain: Sequence[Values]) -> Iterator[Outcome]:
        """Yield the possible combinations of values in order, lazily since there may be very many."""
        yield from self._outcomes(domain, self.region, 0, Fraction(1, self._total))

    def _outcomes(self, domain: Sequence[Values], region: Region, place: int, chance: Fraction) -> Iterator[Outcome]:
        if place == len(self.attributes):
            yield (), chance
            return
        for bin, (left, _) in self._by_bin(region, place).items():
            density = Fraction(self.masses[place][bin], self.weights[place][bin])
            for value in domain[self.attributes[place]].bins[bin]:
                for others, probability in self._outcomes(domain, left, place + 1, chance * density):
                    yield (value, *others), probability

    def allows(self, codes: Index) -> Mask:
        allowed = self._inside(self.region.box, codes)
        for place, masses in enumerate(self.masses):
            allowed &= np.array(masses, dtype=object)[codes[:, place]] > 0
        for other in self.region.earlier:
            allowed &= ~self._inside(other, codes)
        return allowed

    def _inside(self, box: BinMasks, codes: Index) -> Mask:
        allowed = [[bool(mask >> bin & 1) for bin in range(len(w))] for mask, w in zip(box, self.weights, strict=True)]
        return np.logical_and.reduce([np.array(bins)[codes[:, k]] for k, bins in enumerate(allowed)])

    def draw(self, n_rows: int, rng: np.random.Generator) -> Index:
        """Return bins drawn with their exact probabilities by the chain rule, the most restricted attribute first."""
        uses = [sum(o[k] != full for o in self.region.earlier) for k, full in enumerate(self.region.box)]
        drawn = np.empty((n_rows, len(self.attributes)), dtype=np.intp)
        conditional = {self.region: np.arange(n_rows)}
        for place in sorted(range(len(uses)), key=lambda k: -uses[k]):
            following: dict[Region, list[Index]] = {}
            for region, rows in conditional.items():
                options = self._by_bin(region, place)
                picks = drawn_places([mass for _, mass in options.values()], len(rows), rng)
                drawn[rows, place] = np.array(list(options))[picks]
                for i, (left, _) in enumerate(options.values()):
                    following.setdefault(left, []).append(rows[picks == i])
            conditional = {left: np.concatenate(rows) for left, rows in following.items()}
        return drawn


Factor = ListedFactor | BoxFactor  # joint distribution of some attributes of a row, independent of all other attributes


def drawn_places(masses: Sequence[int], n: int, rng: np.random.Generator) -> Index:
    """Draw indices with probabilities proportional to whole numbers of any size, exactly; shape ``(n,)``."""
    ends = list(accumulate(masses))
    if ends[-1] < 2**63:
        return np.searchsorted(np.array(ends, dtype=np.int64), rng.integers(ends[-1], size=n), side="right")
    return np.array([bisect_right(ends, _below(ends[-1], rng)) for _ in range(n)], dtype=np.intp)


def _below(bound: int, rng: np.random.Generator) -> int:
    """Draw a whole number from 0 to bound − 1, uniformly."""
    n_bits = bound.bit_length()
    while True:
        number = int.from_bytes(rng.bytes(-(-n_bits // 8)), "big") >> (-n_bits % 8)
        if number < bound:
            return number


def factors_of(region: Region, weights: PerBin, masses: PerBin) -> tuple[BoxFactor, ...]:
    """Return the independent factors of a row in a region; attributes restricted by the same boxes share a factor."""
    factors = _factors(region, tuple(range(len(weights))), weights, masses)
    return tuple(sorted(factors, key=lambda factor: factor.attributes))


def _factors(region: Region, places: tuple[int, ...], weights: PerBin, masses: PerBin) -> Iterator[BoxFactor]:
    bins = count_rows_by_bin(region, masses)
    if not sum(bins[0]):
        raise ArgumentError("the region contains no possible row.")
    box = tuple(sum(1 << i for i, count in enumerate(counts) if count) for counts in bins)

    def factor(indexes: Sequence[int], others: Sequence[BinMasks]) -> BoxFactor:
        def own(everything: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(everything[k] for k in indexes)

        return BoxFactor(own(places), Region(own(box), tuple(map(own, others))), own(weights), own(masses))

    meeting = _largest(tuple(a & b for a, b in zip(box, other, strict=True)) for other in region.earlier)
    supports = {
        i: sum(1 << k for k, (a, b) in enumerate(zip(box, other, strict=True)) if a & ~b)
        for i, other in enumerate(meeting)
    }
    joint = [([k for k in range(len(box)) if flags >> k & 1], boxes) for flags, boxes in components(supports).items()]
    free = [k for k in range(len(box)) if not any(k in indexes for indexes, _ in joint)]
    yield from (factor([k], ()) for k in free)
    for indexes, boxes in joint:
        component = factor(indexes, [meeting[i] for i in sorted(boxes)])
        if len(joint) == 1 and not free and component.region == region:
            yield component
        else:  # on its own, the component may factorise further
            yield from _factors(component.region, component.attributes, component.weights, component.masses)


def _largest(boxes: Iterable[BinMasks]) -> list[BinMasks]:
    """Return the boxes that are not empty and do not lie within another box."""
    kept: list[BinMasks] = []
    for box in dict.fromkeys(boxes):
        if all(box) and not any(_within(box, other) for other in kept):
            kept = [other for other in kept if not _within(other, box)] + [box]
    return kept


def _within(box: BinMasks, other: BinMasks) -> bool:
    return all(not a & ~b for a, b in zip(box, other, strict=True))


@dataclass(frozen=True, eq=False)
class RowDistribution:
    """Distribution of a row: a product of independent factors, in which every attribute occurs once."""

    factors: "tuple[Factor, ...]"

    @classmethod
    def of(cls, known: Mapping[Any, Any], domains: Sequence[Values]) -> Self:
        """Return the product of distributions of attributes and tuples of attributes; other attributes are uniform."""
        places = {values.name: place for place, values in enumerate(domains)}
        factors: list[ListedFactor] = []
        for key, values in known.items():
            names = key if isinstance(key, tuple) else (key,)
            for name in names:
                if name not in places:
                    problem = f"is not declared, or occurs twice; the remaining attributes are {', '.join(places)}"
                    raise SchemaError(f"{problem}.", attribute=name)
            chosen = tuple(places.pop(name) for name in names) if len(set(names)) == len(names) else ()
            if not chosen:
                raise SchemaError("each attribute must occur once in a key.", attribute=names[0] if names else None)
            factors.append(_listed(key, chosen, domains, values))
        for place, n in [(place, len(domains[place].bins)) for place in places.values()]:
            factors.append(ListedFactor((place,), tuple((bin,) for bin in range(n)), (1,) * n, (n,)))
        return cls(tuple(sorted(factors, key=lambda factor: factor.attributes)))

    @cached_property
    def possible_rows(self) -> int:
        """The number of possible rows."""
        return prod(factor.value_combinations for factor in self.factors)

    @cached_property
    def entropy_bits(self) -> float:
        """The joint entropy in bits."""
        return fsum(factor.entropy_bits for factor in self.factors)

    def allows(self, codes: Index) -> Mask:
        """Return whether each row of bins, shape ``(n_rows, n_attributes)``, is possible."""
        return np.logical_and.reduce([factor.allows(codes[:, list(factor.attributes)]) for factor in self.factors])

    def marginals(self) -> Iterator[tuple[int, tuple[Fraction, ...]]]:
        """Yield each attribute with the probability of each of its bins."""
        for factor in self.factors:
            yield from zip(factor.attributes, factor.marginals, strict=True)


def _listed(key: Any, places: tuple[int, ...], domains: Sequence[Values], given: Any) -> ListedFactor:
    """Return the factor of some attributes from a value, several values, or a mapping of values to probabilities."""
    name = ", ".join(domains[place].name for place in places)
    values: Sequence[Any] = list(given) if isinstance(given, (Mapping, set, frozenset, list, range)) else [given]
    uniform = [Fraction(1, len(values) or 1)] * len(values)
    chances: Sequence[Any] = list(given.values()) if isinstance(given, Mapping) else uniform
    if not values:
        raise SchemaError("there must be at least one possible value.", attribute=name)
    bins = tuple(_bins_of(value if isinstance(key, tuple) else (value,), places, domains, name) for value in values)
    if len(set(bins)) < len(bins):
        raise SchemaError("the possible values contain a duplicate.", attribute=name)
    try:
        valid = all(isfinite(chance) and chance >= 0 for chance in chances) and abs(fsum(chances) - 1) <= 1e-9
    except (TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        raise SchemaError("the probabilities must be at least 0 and sum to 1.", attribute=name)
    fractions = [Fraction(chance) for chance in chances if chance != 0]
    exact = [fraction / sum(fractions) for fraction in fractions]  # sums to 1 exactly
    possible = [bin for bin, chance in zip(bins, chances, strict=True) if chance != 0]
    scale = lcm(*(chance.denominator for chance in exact))
    together = sorted(zip(possible, (int(chance * scale) for chance in exact), strict=True))
    n_bins = tuple(len(domains[place].bins) for place in places)
    return ListedFactor(places, tuple(bin for bin, _ in together), tuple(mass for _, mass in together), n_bins)


def _bins_of(value: Any, places: tuple[int, ...], domains: Sequence[Values], name: str) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) != len(places):
        raise SchemaError(f"each possible value must be a tuple of {len(places)} values.", attribute=name)
    bins = tuple(domains[place].bin_of(own) for place, own in zip(places, value, strict=True))
    if min(bins) < 0:
        raise SchemaError("some values are not in the domain.", attribute=name)
    return bins


def known_of(row: RowDistribution, domains: Sequence[Values]) -> Iterator[int]:
    """Yield the attributes of a row that are not uniform on their domains."""
    for factor in row.factors:
        first, *others = factor.attributes
        if others or not factor.uniform or factor.value_combinations < domains[first].count:
            yield from factor.attributes


def texts_of(row: RowDistribution, domains: Sequence[Values]) -> list[str]:
    texts = [""] * len(domains)
    for factor in row.factors:
        first, *others = factor.attributes
        names = f"({', '.join(domains[place].name for place in factor.attributes)}) ∈ " if others else ""
        texts[first] = names + _values(factor, domains)
        for place in others:
            texts[place] = f"see {domains[first].name}"
    return texts


def _values(factor: Factor, domains: Sequence[Values]) -> str:
    outcomes = islice(factor.outcomes(domains), _LISTED + 1)
    items = [text_of(values) + ("" if factor.uniform else f": {float(chance):.3g}") for values, chance in outcomes]
    if factor.value_combinations == 1:
        return text_of(next(factor.outcomes(domains))[0])
    listed = f"{{{', '.join(items)}}}"
    if factor.value_combinations <= _LISTED and (len(listed) <= _LONG or factor.value_combinations == 2):
        return listed
    items[2:] = ["…"]
    if len(factor.attributes) == 1 and factor.uniform:
        last = max(bin for bin, chance in enumerate(factor.marginals[0]) if chance)
        items.append(text_of(domains[factor.attributes[0]].bins[last][-1]))
    return f"{{{', '.join(items)}}} ({factor.value_combinations:,} values)"


def text_of(value: Any) -> str:
    if isinstance(value, tuple):
        texts = [text_of(item) for item in value]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
    if isinstance(value, pd.Interval):
        opening = "[" if value.closed == "both" else "("
        return f"{opening}{value_text(value.left)}, {value_text(value.right)}]"
    return quoted_text(value) if isinstance(value, (str, int, float)) else str(value)
