"""Cost of an exact search, estimated from public parameters before any row is read."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Self

from hedgerow.errors import SearchTooLargeError

MOST_OPTIONS = 10_000
MOST_STATES = 20_000_000
MOST_EVALUATIONS = 2_000_000_000
"""The largest exact search: minutes on one core for a thousand patterns, or gigabytes of memory."""

# Seconds on one core of an x86-64 server (benchmarks/exact.py): for any search; for each evaluation of an option; for
# each of those and each pattern and class; and for each state and pattern.
_ANY, _WEIGH, _COUNT, _MASK = 4.5e-4, 2.7e-8, 1.6e-11, 2.2e-9


@dataclass(frozen=True)
class Cost:
    """Cost of an exact search, from public parameters alone.

    Attributes
    ----------
    options : int
        Rules or tests to choose from.
    states : int
        Sets of choices to be visited.
    evaluations : int
        Pairs of a state and an option to be evaluated.
    classes : int
        Classes of the label.

    Examples
    --------
    >>> print(Cost.of(options=40, sides=40, depth=4, classes=2))
    40 options, 10,701 states, 428,040 evaluations; about 0.05 s for 1,000 distinct patterns of rows
    """

    options: int
    states: int
    evaluations: int
    classes: int

    @classmethod
    def of(cls, *, options: int, sides: int, depth: int, classes: int) -> Self:
        """Return the cost of all states of up to `depth` options."""
        states = sum(comb(sides, taken) for taken in range(min(depth, sides + 1)))
        return cls(options, states, states * options, classes)

    @property
    def is_sensible(self) -> bool:
        """Whether the search is within the limits."""
        return self.options <= MOST_OPTIONS and self.states <= MOST_STATES and self.evaluations <= MOST_EVALUATIONS

    def seconds(self, patterns: int) -> float:
        """Return about how long the search takes on one core for a table of so many distinct patterns.

        An upper estimate for small tables, where many states hold no rows. The number of patterns is private.
        """
        counting = self.evaluations * self.classes * _COUNT + self.states * _MASK
        return _ANY + self.evaluations * _WEIGH + patterns * counting

    def check(self, advice: str) -> None:
        """Refuse a search that would take too long or too much memory.

        Raises
        ------
        SearchTooLargeError
            With `advice` on what to change.
        """
        if self.is_sensible:
            return
        raise SearchTooLargeError(
            f"Expected an exact search of at most {MOST_OPTIONS:,} options, {MOST_STATES:,} states and "
            f"{MOST_EVALUATIONS:,} evaluations of an option in a state, got {self.options:,} options, "
            f"{self.states:,} states and {self.evaluations:,} evaluations. {advice}",
            states=self.states,
            evaluations=self.evaluations,
        )

    def __str__(self) -> str:
        return (
            f"{self.options:,} options, {self.states:,} states, {self.evaluations:,} evaluations; "
            f"about {self.seconds(1000):.1g} s for 1,000 distinct patterns of rows"
        )
