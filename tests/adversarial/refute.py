"""What privacy loss the outputs of a mechanism on two neighbouring tables refute: a bound by counting alone.

Outputs are reduced to a few outcomes. On the first tenth of the draws, or 250 of them, `refuted` chooses an event, that
is a set of outcomes, and a direction; on the rest it bounds ``ln((p − δ)/q)`` from below, p and q being the chances of
the event under either table, by the exact intervals of Clopper and Pearson (1934). A mechanism that keeps (ε, δ) has
``p ≤ e^ε·q + δ`` for every event: the bound exceeds ε with a chance of at most `alarm`, however its outputs are
distributed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import inf, log

from scipy.stats import beta

Event = frozenset[Hashable]
Outcomes = Sequence[Hashable]


@dataclass(frozen=True)
class Check:
    """What draws on two tables show.

    Attributes
    ----------
    bound : float
        ε is no smaller than this, or what happens with a chance of `alarm` has happened.
    event : frozenset
        The outcomes that were chosen.
    likely, unlikely : int
        How often the event came under the table where it is likelier, and under the other.
    draws : int
        Draws tested on each.
    """

    bound: float
    event: Event
    likely: int
    unlikely: int
    draws: int


def refuted(smaller: Outcomes, larger: Outcomes, *, delta: float, alarm: float) -> Check:
    """Return the largest ε that as many outcomes on a table and on its neighbour refute, at a false-alarm rate."""
    cut = max(len(smaller) // 10, min(250, len(smaller) // 2))
    draws = len(smaller) - cut
    event, turned = _choose(Counter(smaller[:cut]), Counter(larger[:cut]), draws, delta, alarm)
    hits = [sum(outcome in event for outcome in outcomes[cut:]) for outcomes in (smaller, larger)]
    likely, unlikely = hits[::-1] if turned else hits
    return Check(lower_bound(likely, unlikely, draws, delta, alarm), event, likely, unlikely, draws)


def lower_bound(likely: float, unlikely: float, draws: int, delta: float, alarm: float) -> float:
    """Return a lower bound of ``ln((p − δ)/q)`` from how often an event came in so many draws under p and under q.

    Half of `alarm` goes to each of two bounds: of p from below and of q from above.
    """
    low = float(beta.ppf(alarm / 2, likely, draws - likely + 1)) if likely else 0.0
    high = float(beta.isf(alarm / 2, unlikely + 1, draws - unlikely)) if unlikely < draws else 1.0
    return log((low - delta) / high) if low > delta else -inf


def _choose(
    smaller: Counter[Hashable], larger: Counter[Hashable], draws: int, delta: float, alarm: float
) -> tuple[Event, bool]:
    """Return the event whose bound is expected to be largest, and whether it is likelier on the larger table.

    Events are the outcomes of the largest quotients. What is expected are the shares seen here, with half a draw more
    for the unlikely table.
    """
    share = draws / sum(smaller.values())
    best: tuple[float, Event, bool] = (-inf, frozenset(), False)
    for turned, likely, unlikely in ((False, smaller, larger), (True, larger, smaller)):
        order = sorted(likely, key=lambda outcome: (unlikely[outcome] + 0.5) / (likely[outcome] + 0.5))
        p, q = 0.0, 0.5
        for place, outcome in enumerate(order, start=1):
            p, q = p + likely[outcome], q + unlikely[outcome]
            expected = lower_bound(p * share, min(q * share, draws), draws, delta, alarm)
            if expected > best[0]:
                best = expected, frozenset(order[:place]), turned
    return best[1], best[2]
