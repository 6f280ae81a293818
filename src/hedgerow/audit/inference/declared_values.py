"""Comparison of a schema's bounds and cut points with the minimum, maximum and quantiles of a table. **Private**."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.errors import DomainError
from hedgerow.schema import Date, Schema
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table, column_of

_ALARM = 1e-3  # the probability that public cut points of any attribute coincide with quantiles
_LONG = 3  # significant digits from which a number does not equal an extreme by chance
_NATURAL = frozenset({180, 255, 256, 360, 365, 366, 1024, 1440, 65535})  # angles, days, minutes and computer numbers


@dataclass(frozen=True)
class TakenValues:
    """Bounds and cut points of a column that were probably computed from the rows. **Private**.

    Attributes
    ----------
    column : str
        The column.
    low, high : float, optional
        The bound, if it equals the smallest or the largest given value and chance does not explain this.
    quantiles : int
        The number of parts of equal size into which the cut points divide the rows; 0 if they are not quantiles.
    """

    column: str
    low: float | None = None
    high: float | None = None
    quantiles: int = 0


def taken_values(schema: Schema, X: Any, labels: Any, threshold: int) -> tuple[TakenValues, ...]:
    """Return the columns whose bounds or cut points probably come from these rows.

    - A bound counts if it equals the extreme of the rows, fewer than `threshold` rows have this value, and it is not
      round. One such bound with at least three significant digits is sufficient; otherwise both bounds are needed.
    - Cut points count if each of them is a quantile of the rows, up to rounding, and the probability that public cut
      points with other than round values do this is below 0.001 for all attributes together. Suppose that the rank of a
      public cut point is uniform between the middles of its neighbouring parts. Then the probability is the product of
      the shares of rows within the rounding of each cut point, times the number of parts.

    Cut points that were learned under a charge, and default grids, are not examined. Neither are dates and derived
    attributes. Natural limits, such as 365, count as round.
    """
    return tuple(taken for taken in _taken(schema, X, labels, threshold) if taken != TakenValues(taken.column))


def _taken(schema: Schema, X: Any, labels: Any, threshold: int) -> Iterator[TakenValues]:
    table, alarm = Table.of(X), _ALARM / max(1, len(schema.numbers))
    for name, number in schema.numbers.items():
        is_read = table.names is not None and name in table.names and number.derived is None
        if not is_read or isinstance(number, Date):
            continue
        values = _values(table.exact_column(name).without(number.missing_values))
        low, high = _extremes(number.low, number.high, values, threshold)
        is_public = bool(schema.charges) or number.has_default_cuts
        parts = 0 if is_public or not _are_quantiles(number.cuts, values, alarm) else len(number.cuts) + 1
        yield TakenValues(name, low, high, parts)
    target = None if schema.label is None else schema.label.as_number
    if target is not None:
        values = _values(column_of(labels, target.name))
        yield TakenValues(target.name, *_extremes(target.low, target.high, values, threshold))


def _values(column: Column) -> Floats:
    """Return the numbers of a column that are not missing, in order; none if it is not a column of numbers."""
    try:
        values = column.numbers()
    except DomainError:
        return np.zeros(0)
    return np.sort(values if column.missing is None else values[~column.missing])


def _extremes(low: float, high: float, values: Floats, threshold: int) -> tuple[float | None, float | None]:
    """Return the bounds that equal the smallest or largest value beyond chance; None otherwise."""
    if not len(values):
        return None, None
    is_low, is_high = (
        end == own and int((values == own).sum()) < threshold and not _is_round(end)
        for end, own in ((low, values[0]), (high, values[-1]))
    )
    is_long = any(is_own and len(_digits(end)) >= _LONG for is_own, end in ((is_low, low), (is_high, high)))
    if not is_long and not (is_low and is_high):
        return None, None
    return (low if low == values[0] else None), (high if high == values[-1] else None)


def _are_quantiles(cuts: Sequence[float], values: Floats, alarm: float) -> bool:
    """Return whether cut points are quantiles of sorted values, exactly or up to the rounding of the cut points."""
    return any(2 * _chance(cuts, values, is_rounded=is_rounded) <= alarm for is_rounded in (False, True))


def _chance(cuts: Sequence[float], values: Floats, *, is_rounded: bool) -> float:
    """Return the probability that public cut points are quantiles; 1 if they are not."""
    n, parts, chance = len(values), len(cuts) + 1, 1.0
    if not n or not cuts:
        return 1.0
    for i, cut in enumerate(cuts, 1):
        step = _unit(cut) if is_rounded else 0.0
        least = (np.searchsorted(values, cut - step, "left") - 1) / n
        most = (np.searchsorted(values, cut + step, "right") + 1) / n
        if not least <= i / parts <= most:
            return 1.0
        chance *= 1.0 if _is_round(cut) else min(1.0, (most - least) * parts)
    return chance


def _digits(value: float) -> str:
    """Return the significant digits of a number, without zeros at either end."""
    mantissa = f"{abs(value):.12g}".partition("e")[0]
    return mantissa.replace(".", "").strip("0")


def _unit(value: float) -> float:
    """Return the value of the last printed digit: 1 for 1637, 0.1 for 22.5."""
    text = f"{abs(value):.12g}"
    return 10.0 ** -len(text.partition(".")[2]) if "e" not in text else 0.0


def _is_round(value: float) -> bool:
    """Return whether people choose a number without looking at rows: 0, 300, 0.25, 99, 365."""
    digits = _digits(value)
    return len(digits) <= 1 or (len(digits) == 2 and digits[1] == "5") or set(digits) == {"9"} or value in _NATURAL
