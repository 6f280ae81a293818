"""Bounds on what drawn models lose beyond the best model of a size, from public numbers, for any ε."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, log
from typing import Self

import numpy as np

from hedgerow.learn.blocks import DrawPlan
from hedgerow.learn.search.sampler import Draw
from hedgerow.learn.search.space import CAUGHT
from hedgerow.learn.searches import SearchSpecification
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.stop_prior import StopPrior, StopRule
from hedgerow.privacy.unit import rows_of
from hedgerow.schema import Schema

LEAVES = (2, 4, 6, 8, 12, 16)
"""The sizes of trees that are forecast; few people read trees with more leaves."""
_LEAST, _MOST = 1e-9, 100.0  # of an ε that is looked for: a larger one gives next to no privacy


@dataclass(frozen=True)
class Models:
    """The models of a draw, as numbers: what their prior probabilities depend on.

    Attributes
    ----------
    is_tree : bool
        Whether they are trees; rule lists otherwise.
    depths : tuple of int
        The depths that are drawn, each with the same probability: levels of a tree, or rules besides the default.
    n_values : int
        How many values a leaf can have.
    n_options : int
        How many tests, or antecedents, there are.
    """

    is_tree: bool
    depths: tuple[int, ...]
    n_values: int
    n_options: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that are forecast: leaves of a tree, or rules besides the default."""
        deepest = max(self.depths)
        if self.is_tree:
            return tuple(leaves for leaves in LEAVES if leaves <= 2**deepest)
        return tuple(range(1, deepest + 1))

    def surprise(self, prior: StopPrior, size: int) -> float:
        """Return ``ln(1/π)`` at most, π being the probability of the models that predict as any one up to a size does.

        A leaf may also be a test, or a rule, both of whose sides have its value. If no test divides the rows of a leaf,
        the model ends there at no cost.
        """
        held = [depth for depth in self.depths if (2**depth if self.is_tree else depth) >= size]
        log_stop, log_go = (list(map(of_level, range(max(held)))) for of_level in (prior.log_stop, prior.log_go))
        found = [log(len(self.depths)) + self._of_depth(log_stop, log_go, depth, size) for depth in held]
        return max(found) if self.is_tree else min(found)  # a tree has an unknown depth, a list as many as rules

    def _of_depth(self, log_stop: Sequence[float], log_go: Sequence[float], depth: int, size: int) -> float:
        log_values, log_options = log(self.n_values), log(self.n_options)
        alike = [-log_values]  # from each level on: ln of the probability, at least, that all leaves have one value
        for level in reversed(range(depth)):
            caught = alike[0] if self.is_tree else -log_values
            alike.insert(0, float(np.logaddexp(log_stop[level] - log_values, log_go[level] + caught + alike[0])))
        if not self.is_tree:
            rules = -alike[size]
            for level in reversed(range(size)):
                rules = log_options - log_go[level] + log_values + rules
            return rules
        parts = {1: -alike[depth]}  # by the number of leaves from a level on: the surprise, at most
        for level in reversed(range(depth)):
            taken = {1: -alike[level]}
            for leaves in range(2, min(size, 2 ** (depth - level)) + 1):
                pairs = [parts[n] + parts[leaves - n] for n in parts if leaves - n in parts]
                taken[leaves] = log_options - log_go[level] + max(pairs)
            parts = taken
        return parts[size]


@dataclass(frozen=True)
class Bound:
    """Bound on the loss of a draw beyond the loss of the best model up to a size, for any ε.

    A draw has probability π(m)·exp(−w·loss(m))/Z. Of all distributions it is the one that minimises the mean loss plus
    1/w of the divergence from the prior (the variational formula of Donsker and Varadhan), so that for every model m,
    whatever the rows: mean loss ≤ loss(m) + ln(1/π(m))/w. Models that lose more than ``loss(m) + (ln(1/π(m)) + t)/w``
    weigh at most e^(−t)·π(m)·exp(−w·loss(m)) together, which is at most e^(−t)·Z: a draw is one of them with
    probability e^(−t) at most. π(m) may be the probability of all models that predict as m does.

    Attributes
    ----------
    models : Models
        The models.
    size : int
        Leaves of a tree, or rules besides the default.
    rule : StopRule
        The rule that makes the prior from the ε of the draw.
    share : Fraction
        The share of ε that the draw costs, per row.
    weight : float
        The weight of a loss of 1, w, over ε.
    scale : float
        The loss that counts as 1.
    """

    models: Models
    size: int
    rule: StopRule
    share: Fraction
    weight: float
    scale: float = 1.0

    def excess(self, epsilon: Fraction, missed: float | None = None) -> float:
        """Return by how much more a draw loses at most: on average, or except for a share `missed` of the draws."""
        prior = self.rule.prior(epsilon * self.share)
        more = 0.0 if missed is None else -log(missed)
        return self.scale * (self.models.surprise(prior, self.size) + more) / (self.weight * float(epsilon))

    def epsilon_for(self, excess: float) -> float:
        """Return the ε from which the mean excess is at most this; infinite if it is more than 100.

        With a prior that depends on ε the excess does not fall to 0: each test of the best model has to save rows, too.
        """
        low, high = _LEAST, _MOST
        if self.excess(Fraction(high)) > excess:
            return inf
        while high / low > 1.0001:
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self.excess(Fraction(middle)) <= excess else (middle, high)
        return high


@dataclass(frozen=True)
class WholeDraw:
    """The draw of a model as a whole: it is the same for every ε, except for its prior and its weight.

    Attributes
    ----------
    plan : DrawPlan
        The plan of a fit.
    rule : StopRule
        The rule that makes the prior from the ε of the draw.
    rows : int
        The rows that one protected unit counts as.
    """

    plan: DrawPlan
    rule: StopRule
    rows: int

    @classmethod
    def of(cls, learner: SearchSpecification, schema: Schema) -> Self | None:
        """Return the draw of a fit; None if the model is not drawn as a whole."""
        learner.check_public()
        plan = learner.plan(schema)
        rule = learner.stop_rule
        if not isinstance(plan, DrawPlan) or len(plan.blocks) > 1:
            return None
        return cls(plan, rule, rows_of(schema.unit) * schema.steps)

    def at(self, epsilon: Fraction) -> tuple[Draw, ModelDraw]:
        """Return the draw at an ε, and its mechanism."""
        of_row, leaves = epsilon / self.rows, self.plan.of_leaves
        prior = self.rule.prior(of_row - (Fraction(0) if leaves is None else of_row * leaves.share))
        plan = replace(self.plan, epsilon=of_row, prior=prior)
        return plan.block(0), plan.mechanism

    @cached_property
    def models(self) -> Models:
        """The models as numbers."""
        return models_of(self.plan.block(0))

    def bounds(self, epsilon: Fraction, scale: float = 1.0) -> tuple[Bound, ...]:
        """Return the bounds on the loss by size, with the weight that a draw has at this ε."""
        mechanism = self.at(epsilon)[1]
        share, weight = mechanism.epsilon / epsilon, float(mechanism.weight / epsilon)
        return tuple(Bound(self.models, size, self.rule, share, weight, scale) for size in self.models.sizes)


def models_of(draw: Draw) -> Models:
    """Return the models of a draw."""
    is_tree = CAUGHT in draw.space.branches
    return Models(is_tree, tuple(draw.sizes), len(draw.loss.values), max(draw.space.n_options, 1))
