"""Entropy of a table given its numbers of rows by bin of each attribute, alone or together with its rows by total.

All tables with these numbers are equally likely, since attributes are independent and the values of a bin are equally
likely. The tables are ordered: n rows, each with a value of every attribute.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import fsum, lgamma, log, log2, prod
from typing import Self

import numpy as np

from hedgerow.audit.counting.outside import PerBin
from hedgerow.audit.entropy.domain import Domain, RowPrior
from hedgerow.boundary.arrays import Integers, Whole
from hedgerow.errors import ArgumentError
from hedgerow.models.points import AttributePoints, Points
from hedgerow.models.scorecard import Scorecard

MOST_STEPS = 200_000
"""The largest number of steps of an exact count of tables with given rows by bin and by total."""
_MOST_PATTERNS = 2**14  # combinations of bins that an exact count lists


@dataclass(frozen=True)
class BinRows:
    """Numbers of rows by bin in a domain.

    Attributes
    ----------
    rows : tuple of (tuple of int or None)
        For each attribute the number of rows in each bin; None if it is unknown.
    view : {"exact", "noisy", "data"}
        The origin of the numbers.
    n_rows : int
        The number of rows, the sum over the bins of any attribute.
    """

    rows: tuple[tuple[int, ...] | None, ...]
    view: str
    n_rows: int

    @classmethod
    def stored(cls, card: Scorecard, domain: Domain) -> Self | None:
        """Return the numbers that a scorecard stores, or None if it stores none.

        Noisy numbers of different attributes have different sums. They are scaled to the mean of these sums and
        rounded, after negative numbers and numbers of bins without values were replaced by 0. ValueError if exact
        numbers are negative or have different sums.
        """
        parts = {part.attribute: part for part in card.parts if part.rows is not None}
        if not parts:
            return None
        if card.schema.weight is not None:
            raise ArgumentError("the scorecard stores sums of weights by bin, not numbers of rows; pass `data=`.")
        is_noisy = card.privacy.has_noise or any(part.rows_error for part in parts.values())
        named = list(zip(domain.schema.names, domain.weights, strict=True))
        given = [_stored_rows(parts[name], sizes, is_noisy) if name in parts else None for name, sizes in named]
        sums = [sum(rows) for rows in given if rows is not None]
        if not is_noisy:
            if len(set(sums)) > 1:
                problem = "the rows by bin that the scorecard stores have different sums for different attributes"
                raise ArgumentError(f"{problem}, so no table has them; correct the file.")
            return cls(tuple(given), "exact", sums[0])
        total = round(Fraction(sum(sums), len(sums)))
        scaled = tuple(None if rows is None else _scaled(rows, total) for rows in given)
        return cls(scaled, "noisy", total)

    @classmethod
    def counted(cls, bins: Mapping[str, Whole], counts: Integers, domain: Domain) -> Self:
        """Return the numbers of rows in the bins of these attributes; `counts` has the multiplicity of each row."""
        rows = tuple(
            tuple(np.bincount(bins[name], counts, len(own)).astype(np.int64).tolist()) if name in bins else None
            for name, own in zip(domain.schema.names, domain.weights, strict=True)
        )
        return cls(rows, "data", int(counts.sum()))

    def possible_rows(self, domain: Domain) -> int:
        """Return the number of rows of the domain whose bins have rows."""
        return prod(
            sum(weights) if rows is None else sum(w for m, w in zip(rows, weights, strict=True) if m)
            for rows, weights in zip(self.rows, domain.weights, strict=True)
        )

    def row_bits(self, domain: Domain, prior: RowPrior | None) -> float:
        """Return the entropy of a row in bits; its attributes are independent."""
        bits = 0.0
        for rows, free, weights in zip(self.rows, _free_bits(domain, prior), domain.weights, strict=True):
            if rows is None:
                bits += free
            else:
                bits += fsum(
                    m / self.n_rows * log2(self.n_rows * w / m) for m, w in zip(rows, weights, strict=True) if m
                )
        return bits

    def table_bits(self, domain: Domain, prior: RowPrior | None = None) -> float:
        """Return the entropy of the table in bits: the logarithm of ``Π_k n! · Π_b w_kb^h_kb / h_kb!`` tables.

        Attributes without numbers add the entropy of their n values.
        """
        return fsum(self.values_bits(domain, prior)) + fsum(map(arrangement_bits, filter(None, self.rows)))

    def values_bits(self, domain: Domain, prior: RowPrior | None = None) -> list[float]:
        """Return the entropy of each attribute's values given their bins, or of all values if numbers are unknown."""
        return [
            self.n_rows * free if rows is None else fsum(m * log2(w) for m, w in zip(rows, weights, strict=True) if m)
            for rows, free, weights in zip(self.rows, _free_bits(domain, prior), domain.weights, strict=True)
        ]


def _stored_rows(part: AttributePoints, sizes: Sequence[int], is_noisy: bool) -> tuple[int, ...]:
    assert part.rows is not None
    if not is_noisy and min(part.rows) < 0:
        raise ArgumentError("the scorecard stores a negative number of rows without noise; correct the file.")
    return tuple(max(rows, 0) if size or not is_noisy else 0 for rows, size in zip(part.rows, sizes, strict=True))


def _scaled(rows: Sequence[int], total: int) -> tuple[int, ...]:
    """Return whole numbers with this sum, in proportion to rows; the largest remainders are rounded up."""
    if not sum(rows):
        raise ArgumentError("the noise exceeds the rows by bin of an attribute, so they cannot be used; pass `data=`.")
    shares = [Fraction(number * total, sum(rows)) for number in rows]
    whole = [int(share) for share in shares]
    order = sorted(range(len(rows)), key=lambda place: (whole[place] - shares[place], place))
    for place in order[: total - sum(whole)]:
        whole[place] += 1
    return tuple(whole)


def _free_bits(domain: Domain, prior: RowPrior | None) -> list[float]:
    """Return the entropy of each attribute without knowledge of its bins."""
    if prior is None:
        return [log2(sum(weights)) for weights in domain.weights]
    return prior.bits_by_attribute


def arrangement_bits(counts: Sequence[int]) -> float:
    """Return the logarithm of the number of orders of rows of several kinds, ``log2(n! / Π_j C_j!)``."""
    return (lgamma(sum(counts) + 1) - fsum(lgamma(count + 1) for count in counts)) / log(2)


def joint_bits(
    known: BinRows,
    columns: Sequence[tuple[Points, ...] | None],
    base: Points,
    totals: Mapping[Points, tuple[int, float]],
    domain: Domain,
    patterns: float = 0.0,
) -> tuple[float, float]:
    """Return a lower and an upper bound of the entropy of a table given its rows by bin and the total of each row.

    The bounds are equal if all such tables could be counted in `MOST_STEPS` steps; ValueError if there is none.
    Otherwise, the upper bound is the smaller of two: the entropy given the totals of the rows, and the entropy given
    the rows by bin minus the logarithm of the number of assignments of totals to rows. The second holds because all
    assignments have equal numbers of tables. The lower bound is the entropy of the values given the bins of all rows,
    plus the logarithm of the number of known rearrangements. Attributes with points whose rows by bin are unknown add
    nothing to it.

    Parameters
    ----------
    known : BinRows
        The rows by bin.
    columns : sequence of (tuple of Points or None)
        The points of each attribute by bin; None without points.
    base : tuple of int
        The points of every row.
    totals : mapping of total to (int, float)
        The number of rows of the table with each total, and the entropy of a row with this total.
    domain : Domain
        The possible rows.
    patterns : float, default=0
        The logarithm of the number of rearrangements of the rows within totals, if the rows are known.
    """
    counts = {total: count for total, (count, _) in totals.items()}
    tables = count_tables(known, columns, base, counts, domain)
    if tables == 0:
        raise ArgumentError("no table has these numbers of rows by total and by bin; pass the numbers of one table.")
    if tables is not None:
        free = sum(
            log2(sum(weights)) for column, weights in zip(columns, domain.weights, strict=True) if column is None
        )
        exact = log2(tables) + known.n_rows * free
        return exact, exact
    by_totals = fsum(count * bits for count, bits in totals.values())
    upper = min(by_totals, known.table_bits(domain) - arrangement_bits(list(counts.values())))
    # Totals may determine the values of attributes with points but without known rows by bin.
    certain = [column is None or rows is not None for column, rows in zip(columns, known.rows, strict=True)]
    lower = patterns + fsum(bits for bits, is_free in zip(known.values_bits(domain), certain, strict=True) if is_free)
    return min(lower, upper), upper


def count_tables(
    known: BinRows,
    columns: Sequence[tuple[Points, ...] | None],
    base: Points,
    totals: Mapping[Points, int],
    domain: Domain,
) -> int | None:
    """Count the tables of the attributes with points that have these rows by bin, given the total of each row.

    None if the count takes more than `MOST_STEPS` steps. Rows are added one after the other; partial tables with the
    same rows left by bin are merged.
    """
    used = [place for place, column in enumerate(columns) if column is not None]
    if prod(len(domain.weights[place]) for place in used) > _MOST_PATTERNS:
        return None
    by_total = _patterns(known, columns, base, used, domain.weights)
    left = tuple(rows for place in used for rows in known.rows[place] or ())
    states, steps = {left: 1}, 0
    for total, count in totals.items():
        patterns = by_total.get(total, {})
        for _ in range(count):
            steps += len(states) * len(patterns)
            if steps > MOST_STEPS:
                return None
            longer: dict[tuple[int, ...], int] = defaultdict(int)
            for rest, ways in states.items():
                for places, weight in patterns.items():
                    if all(rest[place] for place in places):
                        after = list(rest)
                        for place in places:
                            after[place] -= 1
                        longer[tuple(after)] += ways * weight
            if not longer:
                return 0
            states = longer
    return sum(states.values())


def _patterns(
    known: BinRows, columns: Sequence[tuple[Points, ...] | None], base: Points, used: Sequence[int], weights: PerBin
) -> dict[Points, dict[tuple[int, ...], int]]:
    """Return the rows of each total by their bins, as places among the numbers of rows, with their number of values."""
    starts, size = dict[int, int](), 0
    for place in used:
        if (rows := known.rows[place]) is not None:
            starts[place], size = size, size + len(rows)
    result: dict[Points, dict[tuple[int, ...], int]] = defaultdict(lambda: defaultdict(int))
    for bins in product(*(range(len(weights[place])) for place in used)):
        pairs = list(zip(used, bins, strict=True))
        amounts = [column[bin] for place, bin in pairs if (column := columns[place]) is not None]
        total = tuple(map(sum, zip(base, *amounts, strict=True)))
        values = prod(weights[place][bin] for place, bin in pairs)
        if values:
            result[total][tuple(starts[place] + bin for place, bin in pairs if place in starts)] += values
    return result
