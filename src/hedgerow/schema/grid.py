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
"""The version of the format of schemas: default grids are a part of it."""
MOST_WIDTHS, MOST_NEAR_ZERO = 20, 20
"""The most equal widths of a grid, and the most cut points between zero and the nearest of these on either side."""
_LARGEST_WHOLE = 2**53 - 1  # beyond it, float64 rounds whole numbers
_STEPS = tuple(map(Decimal, ("1", "2", "2.5", "5", "10")))
_EXACT = Context(prec=1_000, traps=[Inexact])  # enough digits for the sum of any two floats


def default_cuts(low: float, high: float, *, whole: bool, version: int = SCHEMA_VERSION) -> tuple[float, ...]:
    """Return the default grid of a number from `low` to `high`: cut points that nobody chooses and nobody pays for.

    They depend on the bounds alone, which are public, and on no row; they increase, and ``low <= cut < high``.

    1. *Equal widths.* The step is the smallest of 1, 2, 2.5 or 5 times a power of ten (a whole number for whole
       numbers) that makes at most 20 steps from `low` to `high`. Each multiple of it is a cut point. They are round
       because people read them: ``age <= 45`` and not ``age <= 44.375``, for a step at most twice as wide.
    2. *Decades near zero.* Counts and amounts crowd at zero, and wide bounds say little about them. Between zero and
       the first step, on either side, 1, 2, 5, 10, 20, 50, … are cut points: from 1 for whole numbers, and for others
       from 1 or, where the domain has one sign, a hundredth of the bound that is larger in size, whichever is less.
       Where these are more than 20, the powers of ten are, or every second one, or every third one, …

    There are at least 1 and at most 40. Zero is one of them where the domain holds it, unless it is `high`; so is `low`
    where it is such a round number, and then tells ``x = low`` from the rest. Bounds are read as the shortest decimals
    that stand for them, and all arithmetic is exact, so that the grid is the same on all machines. Files of schemas
    leave it out: it is a part of their format. In version 1 of the format, cut points near zero began at a thousandth
    of the bound, whatever the signs.

    Parameters
    ----------
    low, high : float
        The bounds of the domain; SchemaError if they are none.
    whole : bool
        Whether the values are whole numbers, as of `Integer`, or not, as of `Real`.
    version : int, default=2
        The version of the format of schemas.

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
    """Return the smallest round step that makes at most `MOST_WIDTHS` steps of a width."""
    least = max(width / MOST_WIDTHS, Decimal(whole))
    steps = (digits.scaleb(least.adjusted()) for digits in _STEPS)
    return next(step for step in steps if step >= least and not (whole and step % 1))


def _near_zero(low: float, high: float, unit: Decimal, step: Decimal) -> set[float]:
    """Return the cut points from `unit` to a step on either side of zero; floats, each nearest to its decimal."""
    first, end = float(unit), float(step)
    least = max(unit, Decimal(low), Decimal(-high))  # no smaller size is in the domain
    sides = max((high >= end) + (low <= -end), 1)  # on which all sizes are
    sets = (
        {cut for size in sizes if first <= size < end for cut in (size, -size) if low <= cut < high}
        for sizes in _series(range(least.adjusted(), step.adjusted() + 1), MOST_NEAR_ZERO // sides)
    )
    return next(cuts for cuts in sets if len(cuts) <= MOST_NEAR_ZERO)


def _series(decades: range, most: int) -> Iterator[Sequence[float]]:
    """Yield series of round numbers, each sparser: 1, 2, 5, 10, …; then powers of ten."""
    least = len(decades) // (most + 2)  # a denser series has more than `most` between its first and its last
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
        raise SchemaError(f"expected low < high, got {shown(low)} and {shown(high)}.", key="high")


def check_numbers(key: str, values: Iterable[object], *, whole: bool) -> None:
    for value in values:
        if not whole and not is_number(value):
            raise SchemaError(f"expected a finite number, got {shown(value)}.", key=key)
        if whole and (isinstance(value, bool) or not isinstance(value, int)):
            raise SchemaError(f"expected a whole number, got {shown(value)}.", key=key)
        if whole and isinstance(value, int) and abs(value) > _LARGEST_WHOLE:
            raise SchemaError(f"expected a whole number below 2^53 in size, got {shown(value)}.", key=key)


MOST_SPACED = 1_000  # the most cut points that are spaced evenly
_LOG = re.compile("log ([1-9][0-9]{0,3})")
_DIGITS = Context(prec=50)  # decimal logarithms are correctly rounded, and so the same on all machines
_FEWEST_DIGITS, _MOST_DIGITS = 2, 17


def spaced_cuts(low: float, high: float, cuts: int | str, *, whole: bool) -> tuple[float, ...]:
    """Return so many cut points between the bounds, which is all that they depend on.

    Of a number, the intervals have equal width. Of ``log`` and a number, each cut point is the same multiple of the one
    before, rounded to the fewest digits, two or more, that keep the cut points distinct and between the bounds.
    Cut points of whole numbers are whole, rounded down; equal ones are merged, so that there may be fewer.
    """
    check_bounds(low, high, whole=whole)
    logarithmic = isinstance(cuts, str)
    found = _LOG.fullmatch(cuts) if isinstance(cuts, str) else None
    number = int(found[1]) if found else cuts
    if isinstance(number, (bool, str)) or not 1 <= number <= MOST_SPACED:
        problem = f"expected a list of numbers, auto, or a number of cut points from 1 to {MOST_SPACED:,}"
        raise SchemaError(f"{problem}, as in 5 or log 5; got {shown(cuts)}.", key="cuts")
    if logarithmic and low <= 0:
        raise SchemaError(f"expected a low above 0 for cut points by ratio, got {shown(low)}.", key="cuts")
    made = _by_ratio(low, high, number) if logarithmic else _by_difference(low, high, number)
    kept = {int(cut // 1) if whole else float(cut) for cut in made}
    return tuple(sorted(cut for cut in kept if low <= cut < high))


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
