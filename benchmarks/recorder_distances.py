"""Distances of the private inputs of mechanisms, from the definitions of the norms in which sensitivities are declared.

They do not use the methods `distance` of the mechanisms.
"""

from itertools import accumulate, pairwise
from math import inf

import numpy as np

from hedgerow.learn.ssrl.mechanisms import Exponential, NoisyMin
from hedgerow.oracle.answer_noise import AnswerHistograms
from hedgerow.oracle.release_forms import PublishedRatios
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.noise import (
    DiscreteLaplace,
    GaussianCounts,
    GumbelChoice,
    PermuteAndFlip,
    Siblings,
    TwoSidedGumbelChoice,
    TwoSidedPermuteAndFlip,
)
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.shared_histograms import SharedHistograms


def change_of(first, second):
    """Return the change of a vector, or None if its length differs."""
    return second - first if first.shape == second.shape else None


def l1(change, _):
    return float(np.abs(change).sum())


def l2(change, _):
    return float(np.sqrt((change.astype(float) ** 2).sum()))


def linf(change, _):
    return float(np.abs(change).max(initial=0))


def monotone(change, _):
    return inf if (change > 0).any() and (change < 0).any() else float(np.abs(change).max(initial=0))


def laplace(change, mechanism):
    share = 0 if mechanism.each is None else np.abs(change).max(initial=0) * mechanism.sensitivity / mechanism.each
    return max(l1(change, mechanism), float(share))


def gauge(change, mechanism):
    """Return the sum over classes of the largest ℓ1 norm of an attribute's counts."""
    ends = [*accumulate(mechanism.sizes, initial=0)]
    attributes = [np.abs(change[:, start:stop]).sum(axis=1) for start, stop in pairwise(ends)]
    return float(np.max(attributes, axis=0).sum())


def gauge_of_equal_totals(change, mechanism):
    ends = [*accumulate(mechanism.sizes, initial=0)]
    totals = np.array([change[:, start:stop].sum(axis=1) for start, stop in pairwise(ends)])
    return gauge(change, mechanism) if (totals == totals[0]).all() else inf


DISTANCES = {
    DiscreteLaplace: ("l1", laplace),
    GaussianCounts: ("l2", l2),
    GumbelPeeling: ("linf", linf),
    PermuteAndFlip: ("linf, one direction", monotone),
    TwoSidedPermuteAndFlip: ("linf", linf),
    GumbelChoice: ("linf, one direction", monotone),
    TwoSidedGumbelChoice: ("linf", linf),
    SharedHistograms: ("gauge", gauge_of_equal_totals),
    AnswerHistograms: ("gauge", gauge),
    JointQuantiles: ("rows", l1),
    ModelDraw: ("rows, one direction", None),
    NoisyMin: ("linf", linf),
    Exponential: ("linf", linf),
    PublishedRatios: ("l1, equal denominators", None),
    Siblings: ("sum over disjoint parts", None),
}
"""The norm of the sensitivity of each mechanism, and the norm of a change in it."""


def inputs(mechanism, values):
    """Return the private input of a mechanism as a dictionary of vectors, or of the counts of kinds of rows."""
    if isinstance(mechanism, Siblings):
        return {place: inputs(mechanism.each, part) for place, part in enumerate(values)}
    if isinstance(mechanism, ModelDraw):
        bins, counts = values._tally.bins_and_counts()
        return {(*row, level): count for row, line in zip(bins.tolist(), counts.tolist(), strict=True)
                for level, count in enumerate(line) if count}  # fmt: skip
    if isinstance(mechanism, PublishedRatios):
        return {"numerators": np.array(values[0]), "denominators": np.array(values[1])}
    return {"values": np.array(values)}


def distance(mechanism, first, second):
    """Return the distance of two inputs in the norm of the sensitivity; infinite if their forms differ."""
    if isinstance(mechanism, ModelDraw):
        changes = [second.get(row, 0) - first.get(row, 0) for row in first.keys() | second.keys()]
        return inf if min(changes, default=0) < 0 < max(changes, default=0) else float(sum(map(abs, changes)))
    if first.keys() != second.keys():
        return inf
    if isinstance(mechanism, Siblings):
        return sum(distance(mechanism.each, first[place], second[place]) for place in first)
    changes = {name: change_of(first[name], second[name]) for name in first}
    if any(change is None for change in changes.values()):
        return inf
    if isinstance(mechanism, PublishedRatios):
        return inf if changes["denominators"].any() else l1(changes["numerators"], mechanism)
    return DISTANCES[type(mechanism)][1](changes["values"], mechanism)
