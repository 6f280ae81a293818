"""Bounds on the excess loss of drawn models over the best model of a size, for any ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import inf, log
from typing import Self

import numpy as np

from hedgerow.learn.blocks import DrawPlan
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.sampler import Draw
from hedgerow.learn.search.space import CAUGHT
from hedgerow.learn.searches import SearchSpecification
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Schema

_LEAST, _MOST = 1e-9, 100.0  # the range of ε that is searched: a larger ε gives next to no privacy


@dataclass(frozen=True)
class Models:
    """Numbers of a search space on which the prior probabilities of its models depend.

    Attributes
    ----------
    is_tree : bool
        Whether the models are trees; they are rule lists otherwise.
    depths : tuple of int
        The depths that are drawn, each with the same probability: levels of a tree, or rules without the default rule.
    n_values : int
        The number of values that a leaf can have.
    n_options : int
        The number of tests of a tree, or of antecedents of a rule list.
    """

    is_tree: bool
    depths: tuple[int, ...]
    n_values: int
    n_options: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes that are forecast: levels of a tree, or rules without the default rule."""
        return tuple(range(1, max(self.depths) + 1))

    def surprise(self, prior: StopPrior, size: int) -> float:
        """Return an upper bound on ``ln(1/π)`` of any model up to a size.

        π is the prior probability of all models with the same predictions. A leaf may be replaced by a test or rule
        whose two sides predict the same value. If no test divides the rows of a leaf, the model ends there at no cost.
        """
        depths = [depth for depth in self.depths if depth >= size]
        log_stop, log_go = (list(map(of_level, range(max(depths)))) for of_level in (prior.log_stop, prior.log_go))
        return log(len(self.depths)) + min(self._at_depth(log_stop, log_go, depth, size) for depth in depths)

    def _at_depth(self, log_stop: Sequence[float], log_go: Sequence[float], depth: int, size: int) -> float:
        log_values, log_options = log(self.n_values), log(self.n_options)
        alike = [-log_values]  # by level, a lower bound on ln P(all leaves have the same given value)
        for level in reversed(range(depth)):
            caught = alike[0] if self.is_tree else -log_values
            alike.insert(0, float(np.logaddexp(log_stop[level] - log_values, log_go[level] + caught + alike[0])))
        surprise = -alike[size]
        for level in reversed(range(size)):
            if self.is_tree:
                surprise = max(-alike[level], log_options - log_go[level] + 2 * surprise)
            else:
                surprise = log_options - log_go[level] + log_values + surprise
        return surprise


@dataclass(frozen=True, eq=False)
class WholeDraw:
    """Learner that draws its model as a whole, with its plan at any ε.

    Attributes
    ----------
    learner : SearchSpecification
        The learner.
    schema : Schema
        The schema of the rows.
    """

    learner: SearchSpecification
    schema: Schema
    _plans: dict[Fraction, DrawPlan] = field(default_factory=dict[Fraction, DrawPlan], repr=False)

    @classmethod
    def of(cls, learner: SearchSpecification, schema: Schema) -> Self | None:
        """Return the draw of a fit, or None if the model is not drawn as a whole."""
        learner.check_public()
        plan = learner.plan(schema)
        if not isinstance(plan, DrawPlan) or len(plan.blocks) > 1:
            return None
        return cls(learner, schema, {learner.exact_epsilon: plan})

    def plan(self, epsilon: Fraction) -> DrawPlan:
        """Return the learner's plan at an ε, including its share of ε for the leaves."""
        if epsilon not in self._plans:
            plan = replace(self.learner, epsilon=epsilon).plan(self.schema)
            assert isinstance(plan, DrawPlan)  # the kind of plan does not depend on ε
            self._plans[epsilon] = plan
        return self._plans[epsilon]

    def at(self, epsilon: Fraction) -> tuple[Draw, ModelDraw]:
        """Return the draw and its mechanism at an ε."""
        plan = self.plan(epsilon)
        return plan.block(0), plan.mechanism

    @cached_property
    def models(self) -> Models:
        """Numbers of the search space."""
        return models_of(next(iter(self._plans.values())).block(0))

    @property
    def cost(self) -> Cost | None:
        """The cost of the search; it does not depend on ε."""
        return next(iter(self._plans.values())).cost

    def bounds(self, scale: float = 1.0) -> tuple[Bound, ...]:
        """Return the bounds on the loss, by size."""
        return tuple(Bound(self.models, self._terms, size, scale) for size in self.models.sizes)

    def _terms(self, epsilon: Fraction) -> tuple[StopPrior, float]:
        plan = self.plan(epsilon)
        return plan.prior, float(plan.mechanism.weight)


@dataclass(frozen=True)
class Bound:
    """Bound on the loss of a draw beyond the loss of the best model up to a size, for any ε.

    A draw has probability π(m)·exp(−w·loss(m))/Z. Among all distributions it minimises the mean loss plus
    1/w of the divergence from the prior (the variational formula of Donsker and Varadhan), so that for every model m,
    whatever the rows: mean loss ≤ loss(m) + ln(1/π(m))/w. Models that lose more than ``loss(m) + (ln(1/π(m)) + t)/w``
    weigh at most e^(−t)·π(m)·exp(−w·loss(m)) together, which is at most e^(−t)·Z: a draw is one of them with
    probability e^(−t) at most. π(m) may be the probability of all models that predict as m does.

    Attributes
    ----------
    models : Models
        The models.
    terms : callable
        A function of ε that returns the prior and the weight w of the draw.
    size : int
        Levels of a tree, or rules without the default rule.
    scale : float
        The loss that counts as 1.
    """

    models: Models
    terms: Callable[[Fraction], tuple[StopPrior, float]]
    size: int
    scale: float = 1.0

    def excess(self, epsilon: Fraction, missed: float | None = None) -> float:
        """Return the bound on the mean excess loss or, with `missed`, a bound that fails with this probability."""
        prior, weight = self.terms(epsilon)
        more = 0.0 if missed is None else -log(missed)
        return self.scale * (self.models.surprise(prior, self.size) + more) / weight

    def epsilon_for(self, excess: float) -> float:
        """Return the smallest ε at which the mean excess is at most `excess`; infinite if it exceeds 100.

        If the prior depends on ε, the excess does not fall to 0, since each test of the best model has a prior cost.
        """
        low, high = _LEAST, _MOST
        if self.excess(Fraction(high)) > excess:
            return inf
        while high / low > 1.0001:
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self.excess(Fraction(middle)) <= excess else (middle, high)
        return high


def models_of(draw: Draw) -> Models:
    """Return the numbers of the search space of a draw."""
    is_tree = CAUGHT in draw.space.branches
    return Models(is_tree, tuple(draw.sizes), len(draw.loss.values), max(draw.space.n_options, 1))
