"""Default grid of a number: cut points that follow from its declared bounds alone."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from functools import cache
from itertools import count

from hedgerow.errors import SchemaError
from hedgerow.schema.literals import is_number
from hedgerow.text.messages import shown

SCHEMA_VERSION = 2
"""The version of the schema format, which includes the default grids."""
MOST_WIDTHS, MOST_NEAR_ZERO = 20, 20
"""The most equal widths of a grid, and the most cut points between zero and the first equal width on either side."""
_LARGEST_WHOLE = 2**53 - 1  # float64 rounds larger whole numbers
_STEPS = tuple(map(Decimal, ("1", "2", "2.5", "5", "10")))
_EXACT = Context(prec=1_000, traps=[Inexact])  # enough digits for the sum of any two floats


def default_cuts(low: float, high: float, *, whole: bool, version: int = SCHEMA_VERSION) -> tuple[float, ...]:
    """Return the default grid for a number from `low` to `high`: cut points that cost no privacy budget.

    The grid depends only on the bounds, which are public, and not on any row. Cut points increase, and
    ``low <= cut < high``.

    1. *Equal widths.* The step is 1, 2, 2.5 or 5 times a power of ten, and a whole number for whole numbers. It is the
       smallest such step for which `low` and `high` are at most 20 steps apart. Each multiple of the step is a cut
       point. Such cut points are easy to read, ``age <= 45`` and not ``age <= 44.375``. The step is at most twice as
       wide as necessary.
    2. *Decades near zero.* Counts and amounts are often concentrated near zero, far below wide bounds. Therefore 1, 2,
       5, 10, 20, 50, … are cut points between zero and the first step, on both sides. For whole numbers they start at
       1. For real numbers they also start at 1 if the domain has both signs. Otherwise they start at 1 or, if this is
       smaller, at a hundredth of the bound with the larger absolute value. If there are more than 20 of them, only
       powers of ten are used, or every second power, or every third power, and so on.

    A grid has at least 1 and at most 40 cut points. If the domain contains zero, zero is a cut point unless it is
    `high`. If `low` is one of these round numbers, it is a cut point, and its bin contains ``x = low`` alone. Bounds
    are read as their shortest decimals and all arithmetic is exact, so that the grid is the same on all machines.
    Schema files omit the grid, which is part of their format. In version 1 of the format, cut points near zero started
    at a thousandth of the bound, regardless of the signs.

    Parameters
    ----------
    low, high : float
        The bounds of the domain; SchemaError if they are invalid.
    whole : bool
        Whether the values are whole numbers (`Integer`) or not (`Real`).
    version : int, default=2
        The version of the schema format.

    Examples
    --------
    >>> default_cuts(17, 90, whole=True)
    (20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85)
    >>> default_cuts(0, 100, whole=True)
    (0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95)
    >>> default_cuts(36, 42, whole=False)
    (36.0, 36.5, 37.0, 37.5, 38.0, 38.5, 39.0, 39.5, 40.0, 40.5, 41.0, 41.5)
    >>> default_cuts(0, 2, whole=False)
    (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9)
    """
    check_bounds(low, high, whole=whole)
    with localcontext(_EXACT):
        first, last = (Decimal(repr(bound if whole else float(bound))) for bound in (low, high))
        step = _step(last - first, whole=whole)
        multiples = [step * i for i in range(int(first // step), int(last // step) + 1)]
        unit = Decimal(1)
        if not whole and (version == 1 or first >= 0 or last <= 0):
            unit = min(unit, max(abs(first), abs(last)).scaleb(-3 if version == 1 else -2))
    kind = int if whole else float
    cuts = {kind(cut) for cut in (*multiples, *_near_zero(low, high, unit, step))}
    return tuple(sorted(cut for cut in cuts if low <= cut < high))  # a float next to `high` may be `high`


def _step(width: Decimal, *, whole: bool) -> Decimal:
    """Return the smallest round step that fits into a width at most `MOST_WIDTHS` times."""
    least = max(width / MOST_WIDTHS, Decimal(whole))
    steps = (digits.scaleb(least.adjusted()) for digits in _STEPS)
    return next(step for step in steps if step >= least and not (whole and step % 1))


def _near_zero(low: float, high: float, unit: Decimal, step: Decimal) -> set[float]:
    """Return the cut points from `unit` to a step on either side of zero, rounded to the nearest float64."""
    first, end = float(unit), float(step)
    least = max(unit, Decimal(low), Decimal(-high))  # the domain has no smaller size
    sides = max((high >= end) + (low <= -end), 1)  # the sides of zero with all sizes
    sets = (
        {cut for size in sizes if first <= size < end for cut in (size, -size) if low <= cut < high}
        for sizes in _series(range(least.adjusted(), step.adjusted() + 1), MOST_NEAR_ZERO // sides)
    )
    return next(cuts for cuts in sets if len(cuts) <= MOST_NEAR_ZERO)


def _series(decades: range, most: int) -> Iterator[Sequence[float]]:
    """Yield series of round numbers that get sparser: 1, 2, 5, 10, …; then powers of ten."""
    least = len(decades) // (most + 2)  # a denser series has more than `most` numbers between its first and its last
    if least == 0:
        yield [_round_number(digit, decade) for decade in decades for digit in (1, 2, 5)]
    yield from ([_round_number(1, decade) for decade in decades[::every]] for every in count(max(least, 1)))


@cache
def _round_number(digit: int, decade: int) -> float:
    return float(f"{digit}e{decade}")


def check_bounds(low: float, high: float, *, whole: bool) -> None:
    check_numbers("low", [low], whole=whole)
    check_numbers("high", [high], whole=whole)
    if not (low < high and math.isfinite(float(high) - float(low))):
        raise SchemaError(f"high must be larger than low, got low={shown(low)} and high={shown(high)}.", key="high")


def check_numbers(key: str, values: Iterable[object], *, whole: bool) -> None:
    for value in values:
        if not whole and not is_number(value):
            raise SchemaError(f"expected a finite number, got {shown(value)}.", key=key)
        if whole and (isinstance(value, bool) or not isinstance(value, int)):
            raise SchemaError(f"expected a whole number, got {shown(value)}.", key=key)
        if whole and isinstance(value, int) and abs(value) > _LARGEST_WHOLE:
            raise SchemaError(f"expected a whole number below 2^53 in size, got {shown(value)}.", key=key)


MOST_SPACED = 1_000  # the maximum number of cut points that `cuts: 5` and similar numbers can request
_LOG = re.compile("log ([1-9][0-9]{0,3})")
_DIGITS = Context(prec=50)  # decimal logarithms are correctly rounded, so they are the same on all machines
_FEWEST_DIGITS, _MOST_DIGITS = 2, 17


def spaced_cuts(low: float, high: float, cuts: int | str, *, whole: bool) -> tuple[float, ...]:
    """Return cut points that depend only on the bounds and on the requested number, such as 5 or ``log 5``.

    For a number, the intervals have equal width. For ``log`` and a number, the ratio of consecutive cut points is
    constant. These are rounded to the fewest digits (at least two) that keep the cut points distinct and between the
    bounds. For whole numbers, cut points are rounded down and duplicates are merged, so there may be fewer of them.
    """
    check_bounds(low, high, whole=whole)
    logarithmic = isinstance(cuts, str)
    match = _LOG.fullmatch(cuts) if isinstance(cuts, str) else None
    number = int(match[1]) if match else cuts
    if isinstance(number, (bool, str)) or not 1 <= number <= MOST_SPACED:
        problem = f"expected a list of numbers, auto, or a number of cut points from 1 to {MOST_SPACED:,}"
        raise SchemaError(f"{problem}, such as 5 or log 5; got {shown(cuts)}.", key="cuts")
    if logarithmic and low <= 0:
        raise SchemaError(f"logarithmic cut points need low > 0, got low={shown(low)}.", key="cuts")
    exact = _by_ratio(low, high, number) if logarithmic else _by_difference(low, high, number)
    rounded = {int(cut // 1) if whole else float(cut) for cut in exact}
    return tuple(sorted(cut for cut in rounded if low <= cut < high))


def _decimal(bound: float) -> Decimal:
    return Decimal(bound) if isinstance(bound, int) else Decimal(repr(float(bound)))


def _by_difference(low: float, high: float, number: int) -> list[Fraction]:
    first, last = (Fraction(_decimal(bound)) for bound in (low, high))
    return [first + (last - first) * i / (number + 1) for i in range(1, number + 1)]


def _by_ratio(low: float, high: float, number: int) -> list[Decimal]:
    with localcontext(_DIGITS):
        first, last = (_decimal(bound).ln() for bound in (low, high))
        exact = [(first + (last - first) * i / (number + 1)).exp() for i in range(1, number + 1)]
    rounded = [[Context(prec=digits).plus(cut) for cut in exact] for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1)]
    return next((cuts for cuts in rounded if low < cuts[0] and cuts[-1] < high and len({*cuts}) == number), exact)
