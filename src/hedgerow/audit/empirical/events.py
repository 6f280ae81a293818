"""Distinguishing events: chosen on some draws, counted on others; and the ε that their counts refute."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom, norm

Floats = NDArray[np.float64]
Outcomes = Sequence[Hashable]
_LEVELS = 200  # counts of the unlikely side that the power is computed at, the others taken as the next larger


@dataclass(frozen=True)
class Event:
    """A set of outcomes, and the table under which they are likelier."""

    outcomes: frozenset[Hashable]  # the outcomes
    on_neighbour: bool  # whether they are likelier on the neighbour than on the table

    def count(self, table: Outcomes, neighbour: Outcomes) -> tuple[int, int]:
        """Return how often it comes under the table where it is likelier, and under the other one."""
        hits = [sum(outcome in self.outcomes for outcome in side) for side in (table, neighbour)]
        likely, unlikely = hits[::-1] if self.on_neighbour else hits
        return likely, unlikely


def choose(table: Outcomes, neighbour: Outcomes, tested: int, delta: float, alarm: float) -> Event:
    """Return the event whose bound on ε is expected to be largest when `tested` other draws a side are counted."""
    # The shares seen here are expected again, with half a draw more for the unlikely table. By Neyman and Pearson 1933
    # no events can be better on these draws than those that take one outcome more each, by falling likelihood ratio.
    share, best, event = tested / max(len(table), 1), 0.0, Event(frozenset(), on_neighbour=False)
    for nested in _both(table, neighbour):
        likely, unlikely = nested.likely * share, np.minimum((nested.unlikely + 0.5) * share, tested)
        bounds = epsilon_bounds(likely, unlikely, tested, delta, alarm)
        place = int(np.argmax(bounds))
        if bounds[place] > best:
            best, event = float(bounds[place]), nested.event(place)
    return event


def spread_events(table: Outcomes, neighbour: Outcomes, most: int) -> list[Event]:
    """Return up to so many events, half of each direction, spread over the false positive rates seen here."""
    found: list[Event] = []
    for nested in _both(table, neighbour):
        targets = np.geomspace(1 / max(len(table), 2), 1, most // 2 + 1)[:-1] * len(table)
        places = {int(np.abs(nested.unlikely - target).argmin()) for target in targets}
        found += [nested.event(place) for place in sorted(places)]
    return found


@dataclass(frozen=True, eq=False)
class _Nested:
    """Events that take one outcome more each, and how often each came under the likely and the unlikely table."""

    order: Sequence[Hashable]
    likely: Floats
    unlikely: Floats
    on_neighbour: bool

    def event(self, place: int) -> Event:
        return Event(frozenset(self.order[: place + 1]), self.on_neighbour)


def _both(table: Outcomes, neighbour: Outcomes) -> Iterator[_Nested]:
    sides = Counter(table), Counter(neighbour)
    for on_neighbour in (False, True):
        likely, unlikely = sides[::-1] if on_neighbour else sides
        order = sorted(likely, key=lambda one: (unlikely[one] + 0.5) / (likely[one] + 0.5))
        p, q = (np.cumsum([float(counts[one]) for one in order]) for counts in (likely, unlikely))
        if order:
            yield _Nested(order, p, q, on_neighbour)


def chances(likely: Any, unlikely: Any, draws: int, alarm: float) -> tuple[Floats, Floats]:
    """Return lower bounds of p and upper bounds of q, half of `alarm` for each (Clopper and Pearson 1934)."""
    likely, unlikely = np.asarray(likely, dtype=np.float64), np.asarray(unlikely, dtype=np.float64)
    low = beta.ppf(alarm / 2, np.maximum(likely, 1), draws - np.maximum(likely, 1) + 1)
    high = beta.isf(alarm / 2, unlikely + 1, np.maximum(draws - unlikely, 1))
    return np.where(likely >= 1, low, 0.0), np.where(unlikely < draws, high, 1.0)


def epsilon_bounds(likely: Any, unlikely: Any, draws: int, delta: float, alarm: float) -> Floats:
    """Return lower bounds of ``ln((p − δ)/q)`` from how often events came in so many draws under p and under q."""
    low, high = chances(likely, unlikely, draws, alarm)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - delta, 0.0)) - np.log(high)


def gaussian_bound(likely: float, unlikely: float, draws: int, alarm: float) -> float:
    """Return a lower bound of μ by ``p ≤ Φ(Φ⁻¹(q) + μ)`` (Dong, Roth and Su, JRSS-B 2022, Section 2.2)."""
    low, high = chances(likely, unlikely, draws, alarm)
    return float(norm.ppf(low) - norm.ppf(high)) if low > 0 and high < 1 else -inf


def power(epsilon: float, claim: float, q: float, draws: int, delta: float, alarm: float) -> float:
    """Return the chance, from below, to refute a claim by an event of chance q where all of `epsilon` is lost."""
    # p is the most that (ε, δ) allows
    p = min(np.exp(epsilon) * q + delta, 1 - np.exp(-epsilon) * max(1 - q - delta, 0.0), 1.0)
    low, high = binom.ppf([1e-9, 1 - 1e-9], draws, q)
    unlikely = np.unique(np.linspace(low, high, _LEVELS).astype(int))
    highs = np.where(unlikely < draws, beta.isf(alarm / 2, unlikely + 1, np.maximum(draws - unlikely, 1)), 1.0)
    fewest = np.array([_fewest(np.exp(claim) * chance + delta, draws, alarm) for chance in highs])
    mass = np.diff(binom.cdf(unlikely, draws, q), prepend=0.0)  # of as many as that, and fewer: from above
    return float((mass * binom.sf(fewest - 1, draws, p)).sum())


def _fewest(chance: float, draws: int, alarm: float) -> int:
    """Return the fewest successes whose lower bound exceeds a chance; more than `draws` where none do."""
    counts = range(1, draws + 1)
    return 1 + bisect_right(counts, chance, key=lambda n: float(beta.ppf(alarm / 2, n, draws - n + 1)))
