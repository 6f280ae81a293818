"""Residual entropy of the training rows given a scorecard, with their numbers by total, by bin, or both."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, log2, nan
from typing import Any, Literal, Self, cast, get_args

import numpy as np

from hedgerow.audit.counting.bin_values import Resolution
from hedgerow.audit.entropy.bin_rows import BinRows, arrangement_bits, joint_bits
from hedgerow.audit.entropy.domain import AttributeMarginals, Domain, RowPrior
from hedgerow.audit.entropy.result import Reconstruction, whole_supports
from hedgerow.audit.entropy.totals import PointTotal, bits_by_total, points_by_attribute, rows_by_total, total_text
from hedgerow.audit.inference.count_comparison import compare_bins
from hedgerow.audit.readers.paths import bins_of
from hedgerow.boundary.arguments import check_choice
from hedgerow.boundary.arrays import Index, Integers, Whole
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.models.scorecard import Scorecard
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

KnownCounts = Literal["totals", "bins", "both"]
Supports = Sequence[int] | Mapping[Any, int]


def scorecard_reconstruction(
    card: Scorecard,
    schema: Schema | None = None,
    *,
    counts: KnownCounts | None = None,
    supports: Supports | None = None,
    data: Any = None,
    resolution: Resolution | None = None,
    prior: AttributeMarginals | None = None,
) -> Reconstruction:
    """Return the result of `reconstruction` for a scorecard."""
    counts = _checked_counts(card, counts, supports, data)
    if counts == "both" and prior is not None:
        raise ArgumentError("prior is not supported with counts='both'; use 'totals' or 'bins'.")
    domain = Domain.of(_whole_schema(card, schema), resolution=resolution)
    of_rows = None if prior is None else RowPrior.of(prior, domain.schema, domain)
    rows = None if data is None else _Rows.of(card, domain.schema, data)
    bins = None if counts == "totals" else _bin_rows(card, domain, rows, of_rows)
    compared = None if rows is None else compare_bins(card, data)
    note = compared.sentence if compared is not None and compared.is_mismatch else ""
    if counts == "bins":
        assert bins is not None
        return replace(_by_bins(bins, domain, of_rows), note=note)
    by_totals, totals = _by_totals(card, domain, supports, data, rows, of_rows)
    result = replace(by_totals, note=note)
    return result if bins is None else _with_bins(card, result, totals, bins, rows)


def _checked_counts(card: Scorecard, counts: KnownCounts | None, supports: Any, data: Any) -> KnownCounts:
    """Return the numbers that the reader knows; ArgumentError if they are not given or stored."""
    stores_bins = any(part.rows is not None for part in card.parts)
    if supports is not None and data is not None:
        raise ArgumentError("for a scorecard, pass either supports (rows by total) or data, not both.")
    if counts is None:
        if supports is None and data is None and not stores_bins:
            raise ArgumentError(
                "the scorecard stores no numbers of rows, so its file excludes no table (Dist_G is 1 for a reader who "
                "does not use the learner); pass `supports=` (rows by total) or `data=`."
            )
        return "bins" if supports is None and data is None else "totals"
    check_choice("counts", counts, get_args(KnownCounts))
    if counts == "bins" and supports is not None:
        raise ArgumentError("supports are rows by total; set counts to 'totals' or 'both', or leave supports out.")
    if counts != "bins" and supports is None and data is None:
        raise ArgumentError(
            "a scorecard does not store its rows by total; pass `supports=` (rows by total) or `data=`."
        )
    if counts != "totals" and data is None and not stores_bins:
        raise ArgumentError("the scorecard stores no rows by bin; pass `data=`.")
    return counts


def _whole_schema(card: Scorecard, schema: Schema | None) -> Schema:
    if schema is None:
        return card.schema
    if not isinstance(schema, Schema):
        raise ArgumentTypeError(f"schema must be a Schema or None, got {type(schema).__name__}.")
    for name in card.used_attributes:
        if name not in schema or schema[name] != card.schema[name]:
            raise SchemaError("must be declared as in the scorecard, whose points are by bin.", attribute=name)
    return schema


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a table, or patterns of a tally: their bins and totals, and the number of rows of each. **Private**."""

    bins: Mapping[str, Whole]
    totals: list[PointTotal]
    counts: Integers

    @classmethod
    def of(cls, card: Scorecard, schema: Schema, data: Any) -> Self:
        bins, size = bins_of(data, schema, card.used_attributes)
        counts = data.rows() if isinstance(data, Tally) else np.ones(size, dtype=np.int64)
        totals = card.totals_of(bins, size).reshape(size, len(card.base)).tolist()
        return cls(bins, list(map(tuple, totals)), counts)

    @property
    def arrangement_bits(self) -> float:
        """The logarithm of the number of orders of the rows in which each row keeps its total."""
        patterns = Counter[tuple[PointTotal, tuple[int, ...]]]()
        own = np.column_stack([self.counts, *self.bins.values()]).tolist()
        for total, (count, *pattern) in zip(self.totals, own, strict=True):
            patterns[total, tuple(pattern)] += count
        by_total: dict[PointTotal, list[int]] = defaultdict(list)
        for (total, _), count in patterns.items():
            by_total[total].append(count)
        return fsum(map(arrangement_bits, by_total.values()))


def _totals(
    possible: Iterable[PointTotal], supports: Supports | None, rows: _Rows | None
) -> tuple[dict[PointTotal, int], Index | None]:
    """Return the number of rows with each total, in increasing order, and the place of each row's total."""
    if rows is not None:
        counts = dict.fromkeys(sorted(set(rows.totals)), 0)
        for total, count in zip(rows.totals, rows.counts.tolist(), strict=True):
            counts[total] += count
        order = {total: place for place, total in enumerate(counts)}
        return counts, np.array([order[total] for total in rows.totals], dtype=np.intp)
    reachable, given = list(possible), cast("Any", supports)
    if isinstance(given, Mapping):
        keys = [key if isinstance(key, tuple) else (key,) for key in given]
        if len(set(keys)) < len(keys):
            raise ArgumentError("supports has a total twice, as a number and as a tuple; pass it once.")
        if not set(keys) <= set(reachable):
            raise ArgumentError("supports has a total that no row can have; see the keys of audit.totals.")
        named = dict(zip(keys, whole_supports(list(given.values()), len(given)), strict=True))
        given = [named.get(total, 0) for total in reachable]
    checked = whole_supports(given, len(reachable))
    return {total: count for total, count in zip(reachable, checked, strict=True) if count}, None


def _by_totals(
    card: Scorecard, domain: Domain, supports: Supports | None, data: Any, rows: _Rows | None, prior: RowPrior | None
) -> tuple[Reconstruction, dict[PointTotal, tuple[int, float]]]:
    """Return the result given the rows by total, and for each total its rows and the entropy of a row in bits."""
    columns = points_by_attribute(card, domain.schema.names)
    possible = rows_by_total(card.base, columns, domain.weights)
    totals, places = _totals(possible, supports, rows)
    bits = {total: log2(count) for total, count in possible.items()}
    if prior is not None:
        bits = bits_by_total(card.base, columns, prior)
    result = Reconstruction(
        domain.schema,
        domain,
        tuple(map(total_text, totals)),
        (),
        tuple(possible.get(total, 0) for total in totals),
        tuple(bits.get(total, nan) for total in totals),
        tuple(totals.values()),
        "given" if rows is None else "data",
        None if prior is None else prior.bits,
        places,
        data,
        rows.counts if isinstance(data, Tally) and rows is not None else None,
        known="totals",
    )
    return result, {total: (count, bits.get(total, nan)) for total, count in totals.items() if count}


def _with_bins(
    card: Scorecard,
    by_totals: Reconstruction,
    totals: Mapping[PointTotal, tuple[int, float]],
    bins: BinRows,
    rows: _Rows | None,
) -> Reconstruction:
    if bins.view == "noisy":
        raise ArgumentError("the rows by bin of the scorecard are noisy, so no table matches them; pass `data=`.")
    if bins.n_rows != by_totals.n_rows:
        problem = f"supports must sum to the number of rows by bin, {bins.n_rows}"
        raise ArgumentError(f"{problem}; got a sum of {by_totals.n_rows}.")
    domain = by_totals.domain
    columns = points_by_attribute(card, domain.schema.names)
    arranged = 0.0 if rows is None else rows.arrangement_bits
    return replace(by_totals, known="both", table_bits=joint_bits(bins, columns, card.base, totals, domain, arranged))


def _bin_rows(card: Scorecard, domain: Domain, rows: _Rows | None, prior: RowPrior | None) -> BinRows:
    bins = BinRows.stored(card, domain) if rows is None else BinRows.counted(rows.bins, rows.counts, domain)
    assert bins is not None  # `_checked_counts` raises if they are neither stored nor counted
    masses = domain.weights if prior is None else prior.masses
    for counts, own in zip(bins.rows, masses, strict=True):
        if any(count and not mass for count, mass in zip(counts or (), own, strict=bool(counts))):
            raise ArgumentError("a bin with rows has no possible value; correct the schema, prior or rows.")
    return bins


def _by_bins(bins: BinRows, domain: Domain, prior: RowPrior | None) -> Reconstruction:
    possible, row, entropy = bins.possible_rows(domain), bins.row_bits(domain, prior), bins.table_bits(domain, prior)
    return Reconstruction(
        domain.schema,
        domain,
        ("always",),
        (),
        (possible,),
        (row,),
        (bins.n_rows,),
        bins.view,
        None if prior is None else prior.bits,
        known="bins",
        table_bits=(entropy, entropy),
    )
