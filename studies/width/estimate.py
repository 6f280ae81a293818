"""What lies inside the width of tables too large to search: of fair tests, all but five of which say nothing.

In the limit of many rows a test that says nothing divides any node into two alike, so that it wastes one choice, and
trees differ only by where they use the five. All sets of literals are then of few kinds, counted exactly. It holds
where the last nodes' classes are not balanced, so that no such test changes which is more frequent by chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

from studies.width.search import width_of

Chance = Callable[[tuple[int, ...]], float]
"""From the values of the tests that matter, the chance of the second class."""
Values = tuple[int | None, ...]
TELLING = 5  # tests that may matter

CHANCES: dict[str, Chance] = {
    "rare": lambda _: 0.1,  # nothing matters
    "tree": lambda x: 0.9 if x[1 + (not x[0])] else 0.1,  # a tree of three tests, 10 % noise
    "parity": lambda x: 0.9 if (x[0] + x[1] + x[2]) % 2 else 0.1,  # of three tests, 10 % noise
    "sum": lambda x: 1 / (1 + math.exp(-2 * (2 * x[0] + 1.5 * x[1] + x[2] + 0.7 * x[3] + 0.5 * x[4] - 2.85))),
}


def least_errors(chance: Chance) -> Callable[[Values, int], float]:
    """Return a function of the values that lead to a node and the choices left: the least errors there, in shares."""

    @cache
    def least(values: Values, left: int) -> float:
        free = [place for place, value in enumerate(values) if value is None]
        cells = list(product(*((0, 1) if value is None else (value,) for value in values)))
        mean = sum(map(chance, cells)) / len(cells)
        result = min(mean, 1 - mean) * 2.0 ** (len(free) - len(values))
        for place in free if left else ():
            result = min(result, sum(least(_with(values, place, side), left - 1) for side in (0, 1)))
        return result

    return least


def _with(values: Values, place: int, side: int) -> Values:
    return (*values[:place], side, *values[place + 1 :])


def share_inside(kind: str, rows: float, tests: int, depth: int, epsilon: float) -> Iterator[float]:
    """Yield the shares of nodes that hold a tree inside the width: one choice below the root, two, and so on."""
    least = least_errors(CHANCES[kind])
    # By the values of telling tests and the number of others that lead to it, what is left of the width at a node
    slacks: dict[tuple[Values, int], float] = {((None,) * TELLING, 0): width_of(tests, depth, epsilon) / rows}
    for taken in range(1, depth):
        left, following = depth - taken, dict[tuple[Values, int], float]()
        for (values, others), slack in slacks.items():
            here, scale = least(values, left + 1), 0.5**others
            options = {(values, others + 1): least(values, left) - here}
            for place in (place for place, value in enumerate(values) if value is None):
                children = [_with(values, place, side) for side in (0, 1)]
                gap = sum(least(child, left) for child in children) - here
                options |= {(child, others): gap for child in children}
            for child, gap in options.items():
                if scale * gap <= slack + 1e-12:
                    following[child] = max(following.get(child, 0.0), slack - scale * gap)
        slacks = following
        counts = Counter(others for _, others in slacks)
        inside = sum(n * math.comb(tests - TELLING, others) * 2**others for others, n in counts.items())
        yield inside / (math.comb(tests, taken) * 2**taken)
