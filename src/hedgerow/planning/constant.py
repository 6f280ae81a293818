"""Probability that a drawn model predicts the same class for every row, as can happen if a class is rare."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import log
from typing import Literal

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.learn.search.sampler import Draw
from hedgerow.learn.search.space import CAUGHT

DrawnKind = Literal["tree", "rule list"]
CAPTURED = 0.5  # share of the rows of the rare class that the informative test finds
PURE, _PUREST = 0.75, 0.9


@dataclass(frozen=True)
class ConstantRisk:
    """Probability that a private model predicts the same class for every row of a table with a rare class.

    The table is an assumption. A single test finds half of the rows of the rare class, in a group of rows in which the
    class has the share `purity`. Every other test is uninformative and halves the rows. Every attribute has the same
    number of tests, and only two classes have rows. The probability is exact for such a table; several informative
    tests make it lower.

    Attributes
    ----------
    kind : {"tree", "rule list"}
        The model.
    epsilon : Fraction
        The ε of the model.
    class_weight : float or None
        The cost of an error on the rare class; None if all errors cost the same.
    share : float
        The share of the rare class among the rows.
    purity : float
        The share of the rare class in the group that the informative test finds.
    probability : float
        The probability that the model predicts the same class for every row.
    """

    kind: DrawnKind
    epsilon: Fraction
    class_weight: float | None
    share: float
    purity: float
    probability: float


def purities(share: float) -> tuple[float, ...]:
    """Return the shares of a rare class in the informative test's group: two and four times its share, and 75 %."""
    return tuple(sorted({purity for purity in (2 * share, 4 * share, PURE) if 1.5 * share <= purity <= _PUREST}))


def constant_probabilities(
    draw: Draw, weight: float, rows: float, share: Floats, purity: Floats, rare: int = 0
) -> Floats:
    """Return the probabilities that a draw predicts the same class for every row of the tables of `ConstantRisk`.

    Parameters
    ----------
    draw : Draw
        The search space, its prior and its loss.
    weight : float
        The weight of a loss of 1.
    rows : float
        The number of rows.
    share, purity : array
        By case, the share of the rare class among all rows, and in the group that the informative test finds.
    rare : int
        The index of the rare class.
    """
    # The recursion of draws over three groups of rows: rows that the informative test finds, rows that it leaves, and
    # all rows, as long as its attribute is `open`. A model predicts the same class for every row if all of its leaves
    # do. The recursion restricted to leaves with a given label therefore sums the weights of these models.
    space, prior = draw.space, draw.prior  # if the size is drawn, the prior is constant
    is_tree, attributes = CAUGHT in space.branches, len(space.candidates.schema)
    per_attribute = space.n_options / attributes  # options; an attribute is used at most once on a path
    group = CAPTURED * share / purity
    rarer = {"found": purity, "left": (1 - CAPTURED) * share / (1 - group), "open": share}
    sizes = {"found": group * rows, "left": (1 - group) * rows, "open": np.full_like(share, rows)}
    ways = [("found", "left"), *([] if is_tree else [("left", "found")])]  # a list has the complement of the test
    losses = np.array(draw.loss.table, dtype=np.float64) / draw.loss.steps
    of_rare, of_common = losses[rare], losses[1 if rare == 0 else 0]
    values = range(len(draw.loss.values))

    def log_weight(label: int | None) -> Floats:
        """Return the log weight of all models, or of the models that predict only the given label."""
        allowed = [value for value in values if label is None or draw.loss.labels[value] == label]

        def leaf(kind: str, size: Floats) -> Floats:
            lost = [rarer[kind] * of_rare[value] + (1 - rarer[kind]) * of_common[value] for value in allowed]
            return np.logaddexp.reduce([-weight * size * loss for loss in lost]) - log(len(values))

        @cache
        def weigh(kind: str, level: int, depth: int) -> Floats:
            size, unused = sizes[kind] * 0.5 ** (level - (kind != "open")), attributes - level
            if level == depth or not unused:
                return leaf(kind, size)

            def split(first: str, second: str, first_size: Floats) -> Floats:
                of_first = weigh(first, level + 1, depth) if is_tree else leaf(first, first_size)
                return of_first + weigh(second, level + 1, depth)

            informative = ways if kind == "open" else []
            log_stop, log_go = prior.log_stop(draw.depth - depth + level), prior.log_go(draw.depth - depth + level)
            useless, log_each = per_attribute * unused - len(informative), log_go - log(per_attribute * unused)
            weights = [log_stop + leaf(kind, size)]
            weights += [log_each + split(*way, sizes[way[0]] * 0.5**level) for way in informative]
            weights += [log_each + log(useless) + split(kind, kind, 0.5 * size)] if useless > 0 else []
            return np.logaddexp.reduce(weights)

        return np.logaddexp.reduce([weigh("open", 0, depth) for depth in draw.sizes])

    labels = sorted(set(draw.loss.labels))
    constant = np.logaddexp.reduce([log_weight(label) for label in labels])
    return np.minimum(1.0, np.exp(constant - log_weight(None)))
