"""Binning: a public schema with the bins of a question, and the bins of the source rows."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, isinf, sqrt
from typing import Any

import numpy as np

from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Array, Floats
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError, SchemaError
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Categorical, Real, Schema
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import Value, plain_word

ROWS_PER_NOISE = 4  # the intended rows of a bin, in standard deviations of their noise (EXPRIL §4.2)
MOST_BINS = 12
"""The most bins per attribute with ``bins="auto"``. EXPRIL's rule has no such limit."""
_LIMITS = {"auto": MOST_BINS, "published": float("inf")}
_RARE = 1 / 4  # of an equal share: rarer categories share a bin


def n_bins(n_rows: float, scale: Callable[[int], float], most: float = MOST_BINS) -> int:
    """Return the number q of bins per attribute for which ``n/(q·√2·λ)`` is about 4 (EXPRIL §4.2), within limits.

    `scale` returns λ for a number of bins. Since more bins may have more noise, q is the largest number that does not
    exceed the rule's result for the noise of q bins.
    """

    def best(bins: int) -> float:
        noise = ROWS_PER_NOISE * sqrt(2) * scale(bins)
        return n_rows / noise if noise else inf

    if isinf(best(2)):
        return MOST_BINS
    low, high = 2, int(np.clip(round(best(2)), 2, most))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle <= round(best(middle)) else (low, middle - 1)
    return low


def choose_bins(data: Any, bins: int, weights: Floats | None = None) -> Schema:
    """Return a schema with bins of about equal mass, chosen on *public*, weighted rows.

    Every possible value has a bin, so that no private row causes an error. Numbers outside the range of the source are
    clipped. Missing values have their own bin, as do categories that are rare or absent in the source. The schema has
    an attribute for every column, and no label.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame, or array of shape (n_rows, n_columns)
        Public rows.
    bins : int
        The most bins of an attribute, at least 2, not counting the bins for missing and rare values.
    weights : ndarray of shape (n_rows,), optional
        The weights of the rows; by default equal weights.

    Raises
    ------
    DomainError
        If a column is constant, has infinite numbers, or has no values.
    """
    bins = check_integer("bins", bins, 2)
    table = Table.of(data)
    problem = ArgumentError("weights must be a finite number >= 0 for each row of the source, and not all 0.")
    mass = np.ones(len(table)) if weights is None else guarded(lambda: np.asarray(weights, dtype=np.float64), problem)
    if mass.shape != (len(table),) or not np.isfinite(mass).all() or (mass < 0).any() or not mass.any():
        raise problem
    columns = [table.column(name, place) for place, name in enumerate(table.column_names)]
    return Schema(tuple((column.name, _attribute(column, bins, mass)) for column in columns))


def _attribute(column: Column, most: int, mass: Floats) -> Attribute:
    is_present = np.ones(len(column), dtype=bool) if column.missing is None else ~column.missing
    values, weights = column.present(), mass[is_present]
    if is_constant(column):
        problem = "the source has fewer than two values; omit the column"
        raise DomainError(f"{problem}, since it carries no information and costs privacy.", column=column.name)
    if column.is_text:
        return Categorical(_frequent(values, weights, most), missing="bin", outside="bin")
    if values.dtype.kind == "b":
        return Boolean(missing="bin")
    if not np.isfinite(values).all():
        raise DomainError("expected finite numbers, found infinity.", column=column.name)
    numbers = values.astype(np.float64)
    cuts = _cuts(numbers, weights, most) or _cuts(numbers, np.ones(len(numbers)), most)
    return Real(float(numbers.min()), float(numbers.max()), cuts, missing="bin", outside="clip")


def is_constant(column: Column) -> bool:
    values = column.present()
    return len(np.unique(values.astype(str) if column.is_text else values)) < 2


def _cuts(numbers: Floats, weights: Floats, most: int) -> tuple[float, ...]:
    """Return the cut points: weighted quantiles or, if these do not split the values, a cut below the largest."""
    order = np.argsort(numbers, kind="stable")
    below = np.cumsum(weights[order])
    if not below[-1] > 0:
        return ()
    quantiles = np.searchsorted(below, below[-1] * np.arange(1, most) / most * (1 - 1e-12))
    cuts = np.unique(numbers[order][quantiles])
    cuts = cuts[cuts < numbers.max()]
    return tuple(map(float, cuts if len(cuts) else np.unique(numbers)[-2:-1]))


def _frequent(values: Array, weights: Floats, most: int) -> tuple[str, ...]:
    words, codes = np.unique([plain_word(str(value)) for value in values], return_inverse=True)
    shares = np.bincount(codes, weights=weights) / max(weights.sum(), np.finfo(float).tiny)
    frequent = [str(word) for word, share in zip(words, shares, strict=True) if share >= _RARE / most]
    return tuple(frequent or [str(words[int(np.argmax(shares))])])


def check_total(bins: Schema) -> None:
    """Raise SchemaError unless every value of a column has a bin, so that no private row can cause an error."""
    if bins.weight is not None:
        raise SchemaError("bins must have no weight: an oracle counts every row once.", key="weight")
    for name, attribute in bins.attributes:
        if attribute.missing != "bin":
            problem = f"bins must declare `missing: bin`, got `missing: {attribute.missing}`"
            raise SchemaError(f"{problem}. Every private row needs a bin.", attribute=name)
        allowed = [policy for policy in attribute.outside_policies if policy != "error"]
        if attribute.outside == "error" and allowed:
            policies = "` or `outside: ".join(allowed)
            problem = f"bins must declare `outside: {policies}`, got `outside: error`"
            raise SchemaError(f"{problem}. Every private row needs a bin.", attribute=name)


_KINDS_OF: Mapping[CellType, tuple[str, ...]] = {
    CellType.TRUTH: ("boolean",),
    CellType.WORD: ("boolean",),
    CellType.VALUE: ("numbers", "text"),
    CellType.NUMBER: ("numbers",),
}


def check_kind(name: str, attribute: Attribute, kind: str) -> None:
    """Raise SchemaError unless every value of a column of kind ``boolean``, ``numbers`` or ``text`` has a bin."""
    if attribute.cell_type is CellType.DATE:
        problem = f"date bins do not fit a column of {kind}. For a column of type date, declare integer or real bins"
        raise SchemaError(f"{problem} of the days since 1970-01-01.", attribute=name)
    if kind not in _KINDS_OF[attribute.cell_type]:
        raise SchemaError(f"{attribute.kind} bins do not fit a column of {kind}.", attribute=name)
    if kind == "numbers" and not all(map(_spells, attribute.listed)):
        raise SchemaError("all categories must be numbers for a column of numbers.", attribute=name)


def _spells(value: Value) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (ValueError, OverflowError):
        return False


def plain_bins(bins: Any) -> Schema:
    """Return bins rebuilt from plain data, without code of a subclass; derived attributes become columns."""
    if not isinstance(bins, Schema):
        raise ArgumentTypeError(f"bins must be a Schema, got {type(bins).__name__}.")
    plain = Schema.from_dict(json.loads(json.dumps(Schema.to_dict(bins)))).without_derivations
    charges = tuple(charge for charge in bins.charges if type(charge) is Charge)
    return replace(plain, charges=charges) if charges else plain


def bin_matrix(bins: Schema, data: Any) -> Floats:
    """Return the bin indicators of rows (R of EXPRIL), one attribute after the other, shape ``(n_bins, n_rows)``."""
    table = Table.of(data)
    bins.check_columns(table)
    blocks = [
        (attribute.encode(in_numbers(bins.column(table, name)))[None, :] == np.arange(attribute.n_bins)[:, None])
        for name, attribute in bins.attributes
    ]
    return np.vstack(blocks).astype(np.float64)


def in_numbers(column: Column) -> Column:
    """Return a column of dates as days since 1970-01-01, the unit of an oracle's bins."""
    return replace(column, holds_dates=False)


def bin_names(bins: Schema) -> Sequence[tuple[str, str]]:
    """Return the names of the attribute and the bin for each row of `bin_matrix`."""
    return [(name, bin) for name, attribute in bins.attributes for bin in attribute.bins]


def bins_or_chosen(
    bins: Any, source: Any, n_rows: float, noise_scale: Callable[[Sequence[int]], float], weights: Floats | None = None
) -> Schema:
    """Return the bins of a question: the given schema, or bins chosen on the weighted source for an oracle's noise."""
    if isinstance(bins, Schema):
        for name in bins.monotone:
            problem = "models of marginals do not support `monotone`"
            raise SchemaError(f"{problem}; remove it from the bins.", attribute=name)
        rows = bin_matrix(bins, source).sum(axis=1).tolist()
        for (name, bin), count in zip(bin_names(bins), rows, strict=True):
            if not count and bin not in ("missing", "outside"):
                problem = f"the source has no rows in bin {bin}"
                raise DomainError(f"{problem}; choose other bins.", column=name)
        return bins
    if isinstance(bins, str) and bins in _LIMITS:
        width = Table.of(source).width
        return choose_bins(source, n_bins(n_rows, lambda q: noise_scale([q + 1] * width), _LIMITS[bins]), weights)
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 2:
        problem = f"bins must be 'auto', 'published', a whole number >= 2 or a Schema, got {describe_argument(bins)}."
        raise ArgumentError(problem)
    return choose_bins(source, bins, weights)
