"""Binning: a public schema that discretises the source, and the bin of each of its rows."""

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

ROWS_PER_NOISE = 4  # target for the rows of a bin, in standard deviations of the noise on it (EXPRIL §4.2)
MOST_BINS = 12
"""The most bins per attribute with ``bins="auto"``: hedgerow's choice. EXPRIL's rule has no such limit."""
_LIMITS = {"auto": MOST_BINS, "published": float("inf")}
_RARE = 1 / 4  # of an equal share: rarer categories are merged into one bin


def n_bins(n_rows: float, scale: Callable[[int], float], most: float = MOST_BINS) -> int:
    """Return the number q of bins per attribute for which ``n/(q·√2·λ)`` is about 4 (EXPRIL §4.2), within limits.

    `scale` is λ by the number of bins. More bins may have more noise: q is the largest number that is not above the
    rule's for q.
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
    """Choose bins of about equal mass on *public*, weighted rows.

    Every value has a bin, so that no private row can be refused: numbers beyond those of the source are clipped, and
    missing values, and categories that are rare or absent in the source, have bins of their own. Returns one attribute
    a column, without a label.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame, or array of shape (n_rows, n_columns)
        Public rows; DomainError if a column is constant, or holds infinite numbers or no value.
    bins : int
        The most bins an attribute, at least 2; those for missing and rare values come on top.
    weights : ndarray of shape (n_rows,), optional
        The rows' weights. Default: equal.
    """
    bins = check_integer("bins", bins, 2)
    table = Table.of(data)
    problem = ArgumentError("expected one finite weight >= 0 for each row of the source, not all 0.")
    mass = np.ones(len(table)) if weights is None else guarded(lambda: np.asarray(weights, dtype=np.float64), problem)
    if mass.shape != (len(table),) or not np.isfinite(mass).all() or (mass < 0).any() or not mass.any():
        raise problem
    columns = [table.column(name, place) for place, name in enumerate(table.column_names)]
    return Schema(tuple((column.name, _attribute(column, bins, mass)) for column in columns))


def _attribute(column: Column, most: int, mass: Floats) -> Attribute:
    here = np.ones(len(column), dtype=bool) if column.missing is None else ~column.missing
    values, weights = column.present(), mass[here]
    if is_constant(column):
        problem = "expected two or more values in the source, found fewer; leave the column out"
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
    """Return the cut points: weighted quantiles, or between two values, even if the upper one is rare."""
    order = np.argsort(numbers, kind="stable")
    below = np.cumsum(weights[order])
    if not below[-1] > 0:
        return ()
    wanted = np.searchsorted(below, below[-1] * np.arange(1, most) / most * (1 - 1e-12))
    cuts = np.unique(numbers[order][wanted])
    cuts = cuts[cuts < numbers.max()]
    return tuple(map(float, cuts if len(cuts) else np.unique(numbers)[-2:-1]))


def _frequent(values: Array, weights: Floats, most: int) -> tuple[str, ...]:
    words, codes = np.unique([plain_word(str(value)) for value in values], return_inverse=True)
    shares = np.bincount(codes, weights=weights) / max(weights.sum(), np.finfo(float).tiny)
    kept = [str(word) for word, share in zip(words, shares, strict=True) if share >= _RARE / most]
    return tuple(kept or [str(words[int(np.argmax(shares))])])


def check_total(bins: Schema) -> None:
    """Check that every value of a column has a bin, so that no private row decides whether a question is answered."""
    if bins.weight is not None:
        raise SchemaError("expected bins without a weight: an oracle counts each row as one.", key="weight")
    for name, attribute in bins.attributes:
        if attribute.missing != "bin":
            problem = "expected bins with `missing: bin`"
            raise SchemaError(f"{problem}, so that no private row can be refused.", attribute=name)
        others = [policy for policy in attribute.outside_policies if policy != "error"]
        if attribute.outside == "error" and others:
            wanted = "` or `outside: ".join(others)
            problem = f"expected bins with `outside: {wanted}`"
            raise SchemaError(f"{problem}, so that no private row can be refused.", attribute=name)


_KINDS_OF: Mapping[CellType, tuple[str, ...]] = {
    CellType.TRUTH: ("boolean",),
    CellType.WORD: ("boolean",),
    CellType.VALUE: ("numbers", "text"),
    CellType.NUMBER: ("numbers",),
}


def check_kind(name: str, attribute: Attribute, kind: str) -> None:
    """Check that every value of a column of this kind has a bin: ``boolean``, ``numbers`` or ``text``."""
    if attribute.cell_type is CellType.DATE:
        problem = f"date bins do not fit a column of {kind}; declare the days since 1970-01-01 of a column of type date"
        raise SchemaError(f"{problem}, as integer or real bins.", attribute=name)
    if kind not in _KINDS_OF[attribute.cell_type]:
        raise SchemaError(f"{attribute.kind} bins do not fit a column of {kind}.", attribute=name)
    if kind == "numbers" and not all(map(_spells, attribute.listed)):
        raise SchemaError("categories that are not numbers do not fit a column of numbers.", attribute=name)


def _spells(value: Value) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except (ValueError, OverflowError):
        return False


def plain_bins(bins: Any) -> Schema:
    """Return bins rebuilt from plain data, so that no code of theirs is kept; derived attributes become columns."""
    if not isinstance(bins, Schema):
        raise ArgumentTypeError(f"bins must be a Schema, got {type(bins).__name__}.")
    made = Schema.from_dict(json.loads(json.dumps(Schema.to_dict(bins)))).without_derivations
    charges = tuple(charge for charge in bins.charges if type(charge) is Charge)
    return replace(made, charges=charges) if charges else made


def bin_matrix(bins: Schema, data: Any) -> Floats:
    """Return the indicator matrix of rows by bin, R of EXPRIL: shape ``(n_bins, n_rows)``, attribute by attribute."""
    table = Table.of(data)
    bins.check_columns(table)
    blocks = [
        (attribute.encode(in_numbers(bins.column(table, name)))[None, :] == np.arange(attribute.n_bins)[:, None])
        for name, attribute in bins.attributes
    ]
    return np.vstack(blocks).astype(np.float64)


def in_numbers(column: Column) -> Column:
    """Return dates as days since 1970-01-01, which bins of an oracle are made of."""
    return replace(column, holds_dates=False)


def bin_names(bins: Schema) -> Sequence[tuple[str, str]]:
    """Return the attribute and the bin of each bin, in the order of `bin_matrix`."""
    return [(name, bin) for name, attribute in bins.attributes for bin in attribute.bins]


def bins_or_chosen(
    bins: Any, source: Any, n_rows: float, noise_scale: Callable[[Sequence[int]], float], weights: Floats | None = None
) -> Schema:
    """Return the bins of a question: those given, or bins chosen on the weighted source by an oracle's noise scale."""
    if isinstance(bins, Schema):
        for name in bins.monotone:
            problem = "is declared as monotone, which models of marginals do not keep"
            raise SchemaError(f"{problem}; leave `monotone` out of the bins.", attribute=name)
        rows = bin_matrix(bins, source).sum(axis=1).tolist()
        for (name, bin), count in zip(bin_names(bins), rows, strict=True):
            if not count and bin not in ("missing", "outside"):
                problem = f"expected rows of the source in each bin, found none in bin {bin}"
                raise DomainError(f"{problem}; choose other bins.", column=name)
        return bins
    if isinstance(bins, str) and bins in _LIMITS:
        width = Table.of(source).width
        return choose_bins(source, n_bins(n_rows, lambda q: noise_scale([q + 1] * width), _LIMITS[bins]), weights)
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 2:
        problem = f"bins must be 'auto', 'published', a whole number >= 2 or a Schema, got {describe_argument(bins)}."
        raise ArgumentError(problem)
    return choose_bins(source, bins, weights)
