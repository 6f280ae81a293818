"""Objectives in tests by name: those of the library, and tables of costs and distances for any number of classes."""

from fractions import Fraction

import numpy as np

from hedgerow.learn.search.losses import OBJECTIVES, LossTable
from hedgerow.privacy.facts import Fact

TABLES = ("costs", "absolute", "squared", "quantile")
ALL_OBJECTIVES = (*OBJECTIVES, *TABLES)
ANY_TABLE = "any table"
KINDS_OF_LOSS = (*OBJECTIVES, ANY_TABLE)
"""Each of the library's, and one of the tables, drawn: all of these go the same way."""
_COSTS = np.array([[0, 1, 2], [5, 0, 1.25], [3, 0.5, 0]])


def objective_of(name, n_classes):
    """Return what the search takes as the objective of this name."""
    if name not in TABLES:
        return name
    if name == "costs":
        of = (
            _COSTS[:n_classes, :n_classes]
            if n_classes <= 3
            else np.triu(np.arange(n_classes), 1) + np.tri(n_classes, k=-1)
        )
        return LossTable.of_costs(of)
    bound = Fraction(max(n_classes - 2, 1))
    of = {
        "absolute": abs,
        "squared": lambda off: min(abs(off), bound) ** 2,
        "quantile": lambda off: Fraction(9, 10) * off if off > 0 else Fraction(-1, 10) * off,
    }[name]
    return LossTable.of_distances(range(n_classes), of, Fact("absolute_classes", classes=1))
