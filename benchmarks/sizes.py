"""Sizes of models as a reader meets them; the other benchmarks import them.

Of trees and lists: leaves (for a list its rules, the default rule included), how many of them hold at least 1 % of some
rows, the share of the others, and how many tests a row passes on average. Of scorecards: attributes that have points,
printed bins of a number (neighbouring bins with the same points are one), turns of the points along a number, and the
largest points.
"""

from itertools import groupby

import numpy as np

from hedgerow.models import RuleList, Scorecard
from hedgerow.schema import Integer, Real

LEAST_SHARE = 0.01  # of the rows: what a leaf with support has
OF_LEAVES = ["leaves", "supported leaves", "share of small leaves", "tests a row passes"]
MODELS = ("tree_", "rule_list_", "scorecard_")  # as estimators name them
OF_CARDS = ["attributes", "bins of a number", "turns", "largest points"]


def of_fitted(estimator, X):
    """Return the sizes of an estimator's model; leaves hold the rows of `X`."""
    return of_model(next(getattr(estimator, name) for name in MODELS if hasattr(estimator, name)), X)


def of_model(model, X):
    """Return the sizes of a model; leaves hold the rows of `X`."""
    if isinstance(model, Scorecard):
        return of_card(model)
    lengths = np.array([len(path) for path in model.paths])
    tests = np.cumsum(lengths) if isinstance(model, RuleList) else lengths  # a list is read from its first rule
    return leaf_numbers(model.apply(X), tests)


def of_cart(tree, X):
    """Return the sizes of a scikit-learn tree; leaves hold the rows of `X`, as the tree takes them."""
    held, places = np.unique(tree.apply(X), return_inverse=True)
    tests = np.zeros(max(tree.get_n_leaves(), len(held)))
    tests[places] = np.asarray(tree.decision_path(X).sum(axis=1)).ravel() - 1
    return leaf_numbers(places, tests)


def leaf_numbers(places, tests):
    """Return sizes by the leaf of each row, and by how many tests lead to each leaf."""
    rows = np.bincount(places, minlength=len(tests))
    supported = int((rows >= LEAST_SHARE * len(places)).sum())
    passed = float(np.asarray(tests)[places].mean())
    return dict(zip(OF_LEAVES, (len(tests), supported, 1 - supported / len(tests), passed), strict=True))


def of_card(card):
    """Return the sizes of a scorecard: bins and turns are means over the numbers that have points."""
    declared = {part.attribute: card.schema[part.attribute] for part in card.parts}
    curves = [
        part.points[: declared[part.attribute].n_ordered]
        for part in card.parts
        if isinstance(declared[part.attribute], (Integer, Real))
    ]
    bins = np.mean([len(list(groupby(curve))) for curve in curves]) if curves else np.nan
    turned = np.mean([turns(curve) for curve in curves]) if curves else np.nan
    largest = max((abs(item) for part in card.parts for row in part.points for item in row), default=0)
    return dict(zip(OF_CARDS, (len(card.parts), bins, turned, largest), strict=True))


def turns(curve):
    """Return how often points along a number change their direction, on average over the columns of points."""
    return float(np.mean([_turns(column) for column in np.array(curve).T]))


def _turns(column):
    steps = np.sign(np.diff(column))
    steps = steps[steps != 0]
    return int((steps[1:] != steps[:-1]).sum())
