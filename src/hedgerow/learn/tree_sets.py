"""Private sets of trees: several drawn from all trees of a depth, none twice, for one charge."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError
from hedgerow.learn.base import MAX_DEPTH
from hedgerow.learn.contract import Contract
from hedgerow.learn.inputs import check_learnable
from hedgerow.learn.learned import LearnedTree
from hedgerow.learn.parameters import documented
from hedgerow.learn.plans import Plan
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.sampler import Progress
from hedgerow.learn.search.sets import Part, SetDraw, SetSearch, TreeSampler
from hedgerow.learn.search.space import Space
from hedgerow.learn.searches import STOP_PROBABILITY
from hedgerow.models.caveats import Caveat
from hedgerow.models.tree import Tree
from hedgerow.models.tree_set import MOST_MODELS, TreeSet
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.exponential_mechanism import MOST_ROWS
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import NoiseSource
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument

_TOO_LARGE = "Use a smaller max_depth, fewer attributes, values or cut points."


@dataclass(frozen=True)
class LearnedSet:
    """The trees that were drawn."""

    space: Space
    trees: tuple[Part, ...]

    def model(self, schema: Schema, card: PrivacyCard) -> TreeSet:
        return TreeSet(tuple(LearnedTree(self.space, one).model(schema, card) for one in self.trees))


@dataclass(frozen=True, kw_only=True)
class SetPlan(Plan):
    """Several trees drawn one after the other, each for an equal share of ε."""

    search: SetSearch
    n_models: int
    model = "set of trees"

    @property
    def mechanism(self) -> SetDraw:
        return self.search.mechanism(self.epsilon, self.n_models)

    @property
    def rho(self) -> Fraction:
        return self.mechanism.rho

    @property
    def most_rows(self) -> int:
        return MOST_ROWS

    def prepare(self, noise: NoiseSource) -> None:
        noise.prepare(self.mechanism)

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> LearnedSet:
        purpose = f"draw of {self.n_models} trees of depth up to {self.search.depth} with their labels"
        drawn = gate.release(self.mechanism, lambda: TreeSampler(tally, self.search, progress), purpose=purpose)
        return LearnedSet(self.search.space, drawn)


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeSet(PrivateEstimator, Contract):
    """Several decision trees, drawn and released together under pure ε-differential privacy, to choose from.

    Neighbouring tables differ by adding or removing one row, or all rows of the schema's `Unit`. The trees, with their
    labels, are drawn one after the other by the exponential mechanism from all trees but those drawn before, with score
    −errors (monotone, sensitivity 1), each for ε/n_models: `epsilon` is charged once, for all (basic composition,
    adaptive). No test has two leaves that say the same, so that no tree is published twice; two may predict the same by
    other tests, which `TreeSet.differences` shows. Labels alone are released, no counts.

    Whoever has the set chooses by public wishes for free: `TreeSet.pick`. The first tree is as good as one drawn alone
    for ε/n_models, later ones are less good. Within ε a set can disclose more than as many independent draws, up to
    hundreds of times, and less on other tables: who needs one tree draws one (docs/studies/sets.md).

    Parameters
    ----------
    %(epsilon)s
    n_models : int, default=5
        Trees in the set, at most 100, and no more than there are.
    max_depth : int, default=3
        Tests one after the other at most. The search is exact, and refused beforehand where it is too large.
    %(public schema)s
    %(budget)s
    %(verbose)s

    %(fitted)s

    References
    ----------
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007. Rudin et al., *Amazing Things Come From
    Having Many Good Models*, ICML 2024, for sets to choose from.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]] * 500)
    >>> found = PrivateTreeSet(4.0, 2, max_depth=1).fit(X, X[:, 0])
    >>> len(found.models_), len(found.set_.pick(max_leaves=2))
    (2, 2)
    """

    n_models: int = field(default=5, kw_only=False)
    max_depth: int = 3
    verbose: bool = False
    set_: TreeSet = field(init=False)
    _fitted = "set_"

    @property
    def models_(self) -> tuple[Tree, ...]:
        """The trees, in the order in which they were drawn."""
        return self._read.models

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what each tree predicts of each row, shape ``(n_samples, n_models)``; see `Tree.predict`."""
        return super().predict(X)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Reasons why the set is of little use: those of its first tree, if no tree has a test."""
        models = self.models_
        return () if self.max_depth == 0 or any(one.n_splits for one in models) else models[0].caveats

    def search_cost(self, schema: Schema) -> Cost | None:
        """Return the cost of the search of a fit with this schema, which no row changes; raises as a fit does."""
        self._check_parameters()
        check_learnable(self, schema)
        return self._plan(schema).cost

    def _plan(self, schema: Schema) -> SetPlan:
        space = Space.of_trees(schema)
        search = SetSearch(space, min(int(self.max_depth), space.n_options), STOP_PROBABILITY)
        cost = search.cost
        cost.check(_TOO_LARGE)
        if not search.has(int(self.n_models)):
            raise ArgumentError(
                f"expected n_models of {int(search.n_trees):,} at most, which is how many trees of this depth there "
                f"are, got {int(self.n_models):,}."
            )
        share = self._epsilon_of_a_row(schema)
        return SetPlan(epsilon=share, search=search, n_models=int(self.n_models), cost=cost)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_integer("n_models", self.n_models, 1) > MOST_MODELS:
            raise ArgumentError(
                f"n_models must be a whole number <= {MOST_MODELS}, got {describe_argument(self.n_models)}."
            )
        if check_integer("max_depth", self.max_depth, 0) > MAX_DEPTH:
            raise ArgumentError(
                f"max_depth must be a whole number <= {MAX_DEPTH}, got {describe_argument(self.max_depth)}."
            )
