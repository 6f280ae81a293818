"""Cut points that are spaced evenly between the declared bounds, by difference or by ratio: ``5`` and ``"log 5"``."""

from __future__ import annotations

import re
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from hedgerow.errors import SchemaError
from hedgerow.messages import shown
from hedgerow.schema.grid import check_bounds

MOST_SPACED = 1_000
"""The most cut points that are spaced evenly."""
_LOG = re.compile("log ([1-9][0-9]{0,3})")
_DIGITS = Context(prec=50)  # decimal logarithms are correctly rounded, and so the same on all machines
_FEWEST_DIGITS, _MOST_DIGITS = 2, 17


def spaced_cuts(low: float, high: float, cuts: int | str, *, whole: bool) -> tuple[float, ...]:
    """Return so many cut points between the bounds, which is all that they depend on.

    Of a number, the intervals have equal width. Of ``log`` and a number, each cut point is the same multiple of the one
    before, rounded to the fewest digits, two or more, that tell the cut points apart. Cut points of whole numbers are
    whole, rounded down; equal ones are merged, so that there may be fewer.

    Examples
    --------
    >>> spaced_cuts(0, 120, 5, whole=True)
    (20, 40, 60, 80, 100)
    >>> spaced_cuts(1, 10_000, "log 3", whole=False)
    (10.0, 100.0, 1000.0)
    """
    check_bounds(low, high, whole=whole)
    logarithmic = isinstance(cuts, str)
    found = _LOG.fullmatch(cuts) if isinstance(cuts, str) else None
    number = int(found[1]) if found else cuts
    if isinstance(number, (bool, str)) or not 1 <= number <= MOST_SPACED:
        raise SchemaError(
            f"expected a list of numbers, auto, or a number of cut points from 1 to {MOST_SPACED:,}, as in 5 or log 5; "
            f"got {shown(cuts)}.",
            key="cuts",
        )
    if logarithmic and low <= 0:
        raise SchemaError(f"expected a low above 0 for cut points by ratio, got {shown(low)}.", key="cuts")
    made = _by_ratio(low, high, number) if logarithmic else _by_difference(low, high, number)
    kept = {int(cut // 1) if whole else float(cut) for cut in made}
    return tuple(sorted(cut for cut in kept if low <= cut < high))


def _decimal(bound: float) -> Decimal:
    """Return the shortest decimal that stands for a bound."""
    return Decimal(bound) if isinstance(bound, int) else Decimal(repr(float(bound)))


def _by_difference(low: float, high: float, number: int) -> list[Fraction]:
    first, last = (Fraction(_decimal(bound)) for bound in (low, high))
    return [first + (last - first) * i / (number + 1) for i in range(1, number + 1)]


def _by_ratio(low: float, high: float, number: int) -> list[Decimal]:
    with localcontext(_DIGITS):
        first, last = (_decimal(bound).ln() for bound in (low, high))
        exact = [(first + (last - first) * i / (number + 1)).exp() for i in range(1, number + 1)]
    rounded = [[Context(prec=digits).plus(cut) for cut in exact] for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1)]
    return next((cuts for cuts in rounded if len({*cuts, low, high}) == number + 2), exact)
