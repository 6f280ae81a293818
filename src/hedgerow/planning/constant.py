"""The chance that a default model predicts one class for every row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from typing import Literal

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.learn.search.sampler import Draw
from hedgerow.learn.search.space import CAUGHT

DrawnKind = Literal["tree", "rule list"]
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
"""The shares of the rarer class for which the chance of a constant model is forecast."""
SAVED = (0.1, 0.25, 0.5)
"""The shares of the rarer class's rows that the one informative test saves from error, in these forecasts."""
_PURITY = 0.75  # of the rarer class where that test finds it


@dataclass(frozen=True)
class Constant:
    """Chance that a default model predicts one class for every row.

    It is exact for a table where one test finds rows of which three in four are of the rarer class, so that a model
    with this test saves the share `saved` of the rarer class's rows from error, every other test tells nothing and
    halves the rows, and each attribute has as many tests. With several good tests the chance is less.

    Attributes
    ----------
    kind : {"tree", "rule list"}
        The model.
    share : float
        The share of the rarer class among the rows.
    saved : float
        The share of its rows that the best test saves from error.
    chance : float
        The probability.
    """

    kind: DrawnKind
    share: float
    saved: float
    chance: float


def chances_of_constant(draw: Draw, weight: float, rows: float, share: Floats, saved: Floats) -> Floats:
    """Return the chances that a draw predicts one class for every row, by case; see `Constant` for the rows."""
    # `weigh` is the recursion of all draws over three kinds of rows: those that the informative test finds, those that
    # it leaves, and both, in which its attribute is `open`. Every other test halves the rows. `agreed` is the prior of
    # models whose leaves agree.
    space, prior = draw.space, draw.prior  # if the size is drawn, the prior is constant
    is_tree, attributes = CAUGHT in space.branches, len(space.candidates.schema)
    each = space.n_options / attributes  # options of an attribute, of which none is open once one is taken
    log_classes, found = log(len(draw.loss.values)), saved * share / (2 * _PURITY - 1)
    rarer = {"found": _PURITY, "left": (share - found * _PURITY) / (1 - found), "open": share}
    caught = {"found": found * rows, "left": (1 - found) * rows}
    sizes = {
        "open": np.full_like(share, rows),
        "left": rows - caught["found"],
        "found": caught["found"] if is_tree else rows - caught["left"],
    }
    ways = [("found", "left"), *([] if is_tree else [("left", "found")])]  # a list has the complement of the test

    def leaf(kind: str, size: Floats) -> Floats:
        missed = [rarer[kind], 1 - rarer[kind], *[1.0] * (len(draw.loss.values) - 2)]
        return np.logaddexp.reduce([-weight * size * one for one in missed]) - log_classes

    @cache
    def weigh(kind: str, level: int, depth: int) -> Floats:
        size, unused = sizes[kind] * 0.5 ** (level - (kind != "open")), attributes - level
        if level == depth or not unused:
            return leaf(kind, size)

        def taken(first: str, second: str, first_size: Floats) -> Floats:
            of_first = weigh(first, level + 1, depth) if is_tree else leaf(first, first_size)
            return of_first + weigh(second, level + 1, depth)

        informative = ways if kind == "open" else []
        log_stop, log_go = prior.log_stop(draw.depth - depth + level), prior.log_go(draw.depth - depth + level)
        useless, log_each = each * unused - len(informative), log_go - log(each * unused)
        weights = [log_stop + leaf(kind, size)]
        weights += [log_each + taken(*way, caught[way[0]] * 0.5**level) for way in informative]
        weights += [log_each + log(useless) + taken(kind, kind, 0.5 * size)] if useless > 0 else []
        return np.logaddexp.reduce(weights)

    def agreed(depth: int, unused: int) -> float:
        if not depth or not unused:
            return -log_classes
        log_stop, log_go = prior.log_stop(draw.depth - depth), prior.log_go(draw.depth - depth)
        below = agreed(depth - 1, unused - 1)
        return float(np.logaddexp(log_stop - log_classes, log_go + below + (below if is_tree else -log_classes)))

    whole = np.logaddexp.reduce([weigh("open", 0, depth) for depth in draw.sizes])
    same = np.logaddexp.reduce([agreed(depth, attributes) for depth in draw.sizes])
    return np.array([min(1.0, exp(chance)) for chance in same + leaf("open", sizes["open"]) + log_classes - whole])


_LEAST_CHANCE = 0.01


def constant_lines(found: Sequence[Constant]) -> list[str]:
    """Return the chances of constant models as a table by the share of the rarer class, where there is any."""
    if not found:
        return []

    def text(chance: float) -> str:
        return "< 1 %" if chance < _LEAST_CHANCE else "> 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"

    chances = {(one.kind, one.share, one.saved): one.chance for one in found}
    columns = [(kind, saved) for kind in dict.fromkeys(one.kind for one in found) for saved in SAVED]
    heads = ["rarer class", *(f"{kind}: {100 * saved:g} %" for kind, saved in columns)]
    rows = [
        [f"{100 * share:g} %", *(text(chances[kind, share, saved]) for kind, saved in columns)]
        for share in SHARES
        if max(chances[kind, share, saved] for kind, saved in columns) >= _LEAST_CHANCE
    ]
    what = "chance of one class for every row, if one test saves so much of the rarer class from error"
    if not rows:
        what = f"one class for every row is unlikely if one test saves {100 * min(SAVED):g} % of the rarer class"
    lines = ["  ".join(cell.rjust(len(head)) for cell, head in zip(row, heads, strict=True)) for row in [heads, *rows]]
    last = "if none saves any, one class is the best answer by errors: declare what these cost"
    return ["", what, *(lines if rows else []), last]
