"""Compiled inner loops of long searches through boxes, if the optional package Numba is installed.

Without Numba, or if a search is so short that importing Numba would take longer, NumPy computes the same: least losses
are equal, and total weights are equal up to the rounding that `Rounding` bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Floats, Index, Mask, Whole

LEAST_EVALUATIONS = (
    250_000_000  # about two seconds with NumPy; importing Numba and loading compiled code takes half of that
)
Sums = NDArray[np.float32]


class Steps(NamedTuple):
    """An order of sets of bins in which consecutive sets differ in few bins."""

    sets: Index  # the index of each set, in this order
    starts: Index  # for each set, and after the last, its first entry in `bins` and `signs`
    bins: Index  # the bins in which a set differs from the set before; the first set is compared with the empty set
    signs: NDArray[np.int32]  # 1 if the bin was added, -1 if it was removed

    @classmethod
    def of(cls, sets: Mask) -> Self:
        order = np.lexsort(sets.T)
        changes = np.diff(sets[order].astype(np.int8), axis=0, prepend=0)
        places, bins = np.nonzero(changes)
        return cls(
            order, np.searchsorted(places, np.arange(len(sets) + 1)), bins, changes[places, bins].astype(np.int32)
        )


class OpenTimes(NamedTuple):
    """The multiplicities of the options of a block of boxes, with 0 for options that do not divide a box."""

    times: Floats  # by the sets of all axes but the first, shape ``(n, n_options)``
    by_set: Floats  # of the options on the first axis, by its sets, shape ``(n_sets, n_options of the axis)``
    first: int  # the first option on the first axis


class Loops(NamedTuple):
    """The compiled loops."""

    largest: Callable[..., None]
    largest_supported: Callable[..., None]
    sum_weights: Callable[..., None]


def is_compiled(evaluations: int) -> bool:
    """Return whether a search with this number of evaluations uses compiled loops."""
    return evaluations >= LEAST_EVALUATIONS and find_spec("numba") is not None


def loops(evaluations: int) -> Loops | None:
    """Return the loops for a search with this number of evaluations, or None if NumPy is used."""
    return _compiled() if is_compiled(evaluations) else None


@cache
def _compiled() -> Loops | None:
    try:
        import numba  # slow to import
    except ImportError:  # Numba does not support the installed NumPy
        return None
    # Sums may be added in any order. Numbers are finite.
    options: Any = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "nnan", "nsz"}}
    compile_loop: Any = numba.njit
    functions = _largest, _largest_supported, _sum_weights
    try:
        return Loops(*(compile_loop(function, cache=True, **options) for function in functions))
    except RuntimeError:  # no folder for compiled code can be written
        return Loops(*(compile_loop(function, **options) for function in functions))


# All loops take a table of sums, summed over the sets of all axes but the first, shape ``(n_bins, n, n_options)``, and
# the sets of the first axis. They write a number for each box, shape ``(n_sets, n)``. Sums are whole numbers below 2²⁴.
# As 32-bit integers, processors add and compare many of them at once. A slice of an array in a loop would take as long.


def _largest(sides: Sums, steps: Steps, most: Floats) -> None:
    """Write the largest absolute difference of each box, over all options."""
    n_bins, n, n_options = sides.shape
    cells, line = np.empty((n_bins, n_options), dtype=np.int32), np.empty(n_options, dtype=np.int32)
    for place in range(n):
        for index in range(n_bins):
            for option in range(n_options):
                cells[index, option] = np.int32(sides[index, place, option])
        line[:] = 0
        for step in range(len(steps.sets)):
            for change in range(steps.starts[step], steps.starts[step + 1]):
                index, sign = steps.bins[change], steps.signs[change]
                for option in range(n_options):
                    line[option] += sign * cells[index, option]
            largest = np.int32(0)
            for option in range(n_options):
                largest = max(largest, abs(line[option]))
            most[steps.sets[step], place] = largest


def _largest_supported(
    sides: Sums, rows: Sums, steps: Steps, least: Whole, highest: Whole, most: Floats
) -> None:  # fmt: skip
    """Write the largest absolute difference of each box, over the options whose rows are within both limits, or -1."""
    n_bins, n, n_options = sides.shape
    cells, line = np.empty((2, n_bins, n_options), dtype=np.int32), np.empty((2, n_options), dtype=np.int32)
    for place in range(n):
        for index in range(n_bins):
            for option in range(n_options):
                cells[0, index, option] = np.int32(sides[index, place, option])
                cells[1, index, option] = np.int32(rows[index, place, option])
        line[:] = 0
        for step in range(len(steps.sets)):
            for change in range(steps.starts[step], steps.starts[step + 1]):
                index, sign = steps.bins[change], steps.signs[change]
                for option in range(n_options):
                    line[0, option] += sign * cells[0, index, option]
                    line[1, option] += sign * cells[1, index, option]
            box, largest = steps.sets[step], np.int32(-1)
            low, high = least[box, place], highest[box, place]
            for option in range(n_options):
                is_supported = low <= line[1, option] and line[1, option] <= high
                largest = max(largest, abs(line[0, option]) if is_supported else np.int32(-1))
            most[box, place] = largest


def _sum_weights(
    sides: Sums, steps: Steps, open_times: OpenTimes, table: Floats, near: int, sums: Floats, most: Floats
) -> None:  # fmt: skip
    """Write the sum of weights of each box as in `SumOfSpreads`, and the largest difference, which scales it."""
    n_bins, n, n_options = sides.shape
    cells, line = np.empty((n_bins, n_options), dtype=np.int32), np.empty(n_options, dtype=np.int32)
    (times, by_set, first), last = open_times, np.int32(len(table) - 1)
    for place in range(n):
        for index in range(n_bins):
            for option in range(n_options):
                cells[index, option] = np.int32(sides[index, place, option])
        line[:] = 0
        for step in range(len(steps.sets)):
            for change in range(steps.starts[step], steps.starts[step + 1]):
                index, sign = steps.bins[change], steps.signs[change]
                for option in range(n_options):
                    line[option] += sign * cells[index, option]
            box, largest = steps.sets[step], np.int32(0)
            for option in range(by_set.shape[1]):
                times[place, first + option] = by_set[box, option]
            for option in range(n_options):
                largest = max(largest, abs(line[option]))
            is_near, far = largest <= near, np.int32(near + 2 + largest)
            start, sign, total = np.int32(1) if is_near else far, np.int32(1 if is_near else -1), 0.0
            for option in range(n_options):
                total += times[place, option] * table[np.uint32(min(start + sign * abs(line[option]), last))]
            sums[box, place] = total * (2 * table[min(far, last)] if is_near else 1.0)
            most[box, place] = largest
