"""Private trees: drawn from all trees of a depth, grown greedily, or several drawn as a set."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hedgerow.boundary.arrays import Array
from hedgerow.errors import ArgumentError
from hedgerow.learn.base import MAX_DEPTH, check_up_to
from hedgerow.learn.contract import Classifier, Contract, Regressor
from hedgerow.learn.inputs import check_learnable
from hedgerow.learn.learned import LearnedTree
from hedgerow.learn.learners import PrivateTreeEstimator
from hedgerow.learn.objectives import STOP_RULE, OfClasses, OfReleasedNumbers
from hedgerow.learn.parameters import documented
from hedgerow.learn.plans import Plan
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.sampler import Progress
from hedgerow.learn.search.sets import Part, SetDraw, SetSearch, TreeSampler
from hedgerow.learn.search.space import Space
from hedgerow.models.caveats import Caveat
from hedgerow.models.tree import Tree
from hedgerow.models.tree_set import MOST_MODELS, TreeSet
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.exponential_mechanism import MOST_ROWS
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import NoiseSource
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeClassifier(OfClasses, Classifier, PrivateTreeEstimator):
    """A decision tree learned and released under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row, or all rows of the schema's `Unit`. The total is exactly
    `epsilon`, and the card adds to it what the schema's cut points cost where they were learned. Tests are ``x``,
    ``x = v``, ``x <= c``; a missing value satisfies only ``x is missing``.

    An exact search draws the whole tree, its shape and its labels included, at once by the exponential mechanism from
    *all* trees, with score −loss (monotone, sensitivity 1). The model has labels and no counts, unless `release_counts`
    asks for them at a fifth of ε. What the draw costs is known before any row is read (`search_cost`). The model is
    the tree with the fewest leaves that predicts the same as the drawn one for every combination of values. Of many
    attributes a few are chosen first (docs/mathematics.md, fact 5), unless the search is "exact".

    With `lookahead`, the upper levels are drawn jointly, then the subtrees below them, and so on, each block for an
    equal share of ε. The subtrees of a block hold different rows and share one charge (parallel composition).

    A greedy search chooses every node's test by permute-and-flip, or Gumbel noise if `budget` adds up ρ, on the negated
    Gini impurity in rows, a monotone score of sensitivity 2; by any other loss than errors, on that of the best values
    of both sides (sensitivity 1). The nodes of a level hold different rows and share one charge; 80 % of ε is shared
    equally by the levels, and the rest buys one histogram of leaves by class, which gives the predictions.

    Parameters
    ----------
    %(epsilon)s
    %(max_depth)s
    %(public schema)s
    %(budget)s
    %(exact search of trees)s
    %(verbose)s
    %(loss of classes)s

    %(fitted)s

    References
    ----------
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
    Kasiviswanathan et al., *What Can We Learn Privately?*, SIAM Journal on Computing 2011, for draws by errors.
    Nijssen and Fromont, *Mining Optimal Decision Trees from Itemset Lattices*, KDD 2007, for the lattice.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = PrivateTreeClassifier(epsilon=1.0).fit(X, X[:, 0] ^ X[:, 1])
    >>> clf.score(X, X[:, 0] ^ X[:, 1])
    1.0
    """


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeRegressor(OfReleasedNumbers, Regressor, PrivateTreeEstimator):
    """A regression tree learned and released under pure ε-differential privacy.

    The tree, its shape and what its leaves predict are one draw from *all* trees, as of `PrivateTreeClassifier`; the
    loss of a row is a public function of its level (`hedgerow.schema.Number`) and of what its leaf predicts, between 0
    and 1, so that one row raises the loss of a tree by at most 1: a monotone score of sensitivity 1. Then the means of
    the leaves are released for a tenth of ε (`release_means`). Neighbouring tables differ by adding or removing one
    row, or all rows of the schema's `Unit`. The total is exactly `epsilon`.

    Parameters
    ----------
    %(epsilon)s
    %(max_depth)s
    %(number schema)s
    %(budget)s
    %(exact search of trees with numbers)s
    %(verbose)s
    %(regression)s

    %(fitted)s

    References
    ----------
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
    Nijssen and Fromont, *Mining Optimal Decision Trees from Itemset Lattices*, KDD 2007, for the lattice.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.schema import Boolean, Number, Schema
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> schema = Schema({"a": Boolean(), "b": Boolean()}, Number("y", 0, 32))
    >>> tree = PrivateTreeRegressor(epsilon=1.0, schema=schema).fit(X, 20.0 * X[:, 0] + 10.0 * X[:, 1])
    >>> tree.score(X, 20.0 * X[:, 0] + 10.0 * X[:, 1]) > 0.9
    True
    """


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

    def predict(self, X: Any) -> Array:
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
        epsilon, n_models = self._epsilon_of_a_row(schema), int(self.n_models)
        search = SetSearch(space, min(int(self.max_depth), space.n_options), STOP_RULE.prior(epsilon / n_models))
        cost = search.cost
        cost.check(_TOO_LARGE)
        if not search.has(n_models):
            problem = f"expected n_models of {int(search.n_trees):,} at most, which is how many trees"
            raise ArgumentError(f"{problem} of this depth there are, got {n_models:,}.")
        return SetPlan(epsilon=epsilon, search=search, n_models=n_models, cost=cost)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_up_to("n_models", self.n_models, 1, MOST_MODELS)
        check_up_to("max_depth", self.max_depth, 0, MAX_DEPTH)
