"""Private trees: drawn from all trees of a depth, or grown greedily."""

from __future__ import annotations

from typing import Literal

from hedgerow.learn.base import TreeEstimator
from hedgerow.learn.plans import DrawnTree, GreedyTree
from hedgerow.learn.private_base import Plan, SearchEstimator
from hedgerow.learn.search.cost import Cost, largest_size
from hedgerow.learn.search.sampler import Draw
from hedgerow.learn.search.space import Space
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.noise import NoiseSource
from hedgerow.randomness import RandomState
from hedgerow.schema.schema import Schema

LARGEST_DEPTH = 5
"""The largest depth that is drawn: 32 leaves, of which a reader can still follow each."""


class PrivateTreeClassifier(SearchEstimator, TreeEstimator):
    """A decision tree learned and released under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row. The total is exactly `epsilon`, and the card adds to it
    what the schema's cut points cost where they were learned. Tests are ``x``, ``x = v``, ``x <= c``; a missing value
    satisfies only ``x is missing``.

    With ``search="exact"`` the whole tree, its labels included, is one draw by the exponential mechanism from *all*
    trees of that depth, with score −errors (monotone, sensitivity 1). No other release is needed, so the model has
    labels and no counts, unless `release_counts` asks for them at a fifth of ε. The draw visits every conjunction of
    tests: what that costs depends on the schema and the depth, not on the labels, and is checked before any row is
    read (`search_cost`). A test whose two leaves have the same label is left out of the model.

    With ``search="greedy"`` every node's test is chosen by permute-and-flip on the negated Gini impurity in rows, a
    monotone score of sensitivity 2. The nodes of a level hold different rows and share one charge; 80 % of ε is shared
    equally by the levels, and the rest buys one histogram of leaves by class, which gives the predictions.

    Parameters
    ----------
    epsilon : float
        The privacy loss of the whole model, > 0. Must be chosen.
    max_depth : int or None, default=3
        Tests one after the other at most. None, with exact search: the depth is drawn too, from those up to 5 of which
        a search takes about ten seconds at most, each with the same prior probability.
    search : {"exact", "greedy"}, default="exact"
        The search. Exact search is far more accurate at small ε, where it is affordable.
    release_counts : bool, default=False
        With exact search: whether to release the rows of each class in each leaf too. Greedy search always does.
    stop_probability : float, default=0.1
        With exact search: the prior probability that a branch ends at any one node. docs/exact.md says how the default
        was chosen.
    schema : Schema, None or "from-data", default=None
        The public schema. None: all columns and the label are booleans or 0/1, whose domain is public. "from-data"
        infers the domain from the rows, which voids the guarantee; the card says so.
    budget : Budget, optional
        A budget to charge `epsilon` to, shared with other releases; a fit that would overdraw it is refused. Default: a
        budget of its own for every fit.
    random_state : NoiseSource, int, RandomState, Generator or None, default=None
        None: secure noise. Anything else: a seeded generator, for research and tests, which voids the guarantee.
    verbose : bool, default=False
        Whether to print the cost and progress of an exact search on stderr.

    Attributes
    ----------
    tree_ : Tree
        The released model.
    privacy_ : PrivacyCard
        What was spent, on what, and what is guaranteed.
    classes_ : ndarray of shape (n_classes,)
        The class labels, from the schema.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
    Nijssen and Fromont, *Mining Optimal Decision Trees from Itemset Lattices*, KDD 2007, for the lattice.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = PrivateTreeClassifier(epsilon=1.0, max_depth=None).fit(X, X[:, 0] ^ X[:, 1])
    >>> clf.score(X, X[:, 0] ^ X[:, 1])
    1.0
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        max_depth: int | None = 3,
        search: Literal["greedy", "exact"] = "exact",
        release_counts: bool = False,
        stop_probability: float = 0.1,
        schema: Schema | Literal["from-data"] | None = None,
        budget: Budget | None = None,
        random_state: NoiseSource | RandomState = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.max_depth = max_depth
        self.search = search
        self.release_counts = release_counts
        self.stop_probability = stop_probability
        self.schema = schema
        self.budget = budget
        self.random_state = random_state
        self.verbose = verbose

    def search_cost(self, schema: Schema) -> Cost:
        """Return the cost of an exact search with this schema, which does not depend on the rows.

        Raises
        ------
        SearchTooLargeError
            If it exceeds the limits, with what to change.
        ValueError
            If a parameter is out of range.
        """
        self._check_parameters()
        cost = self._draw(schema).cost
        advice = "Use a smaller max_depth, fewer attributes, values or cut points, or search='greedy'."
        cost.check(advice)
        return cost

    def _plan(self, schema: Schema) -> Plan:
        epsilon = exact(self.epsilon or 0, "epsilon")
        if self.search == "exact":
            cost, draw = self.search_cost(schema), self._draw(schema)
            return DrawnTree(epsilon=epsilon, cost=cost, release_counts=bool(self.release_counts), draw=draw)
        return GreedyTree(epsilon=epsilon, space=Space.of_trees(schema), depth=int(self.max_depth or 0))

    def _draw(self, schema: Schema) -> Draw:
        space, stop = Space.of_trees(schema), float(self.stop_probability)
        if self.max_depth is not None:
            return Draw(space, int(self.max_depth), stop)
        most = min(LARGEST_DEPTH, space.n_options)
        depth = largest_size(lambda depth: Draw(space, depth, stop, draws_size=True).cost, most)
        return Draw(space, depth, stop, draws_size=True)
