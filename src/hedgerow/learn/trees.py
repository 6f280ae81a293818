"""Private trees: drawn from all trees of a depth, or grown greedily."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hedgerow.learn.base import Classifier, Regressor, TreeEstimator
from hedgerow.learn.blocks import TreeDraw, longest_path, tree_costs
from hedgerow.learn.objectives import OfClasses, OfReleasedNumbers
from hedgerow.learn.parameters import documented
from hedgerow.learn.plans import DrawnTree, GreedyTree, Plan
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.space import Space
from hedgerow.learn.searches import SearchEstimator, SearchPlan, choose_search
from hedgerow.schema.schema import Schema

LARGEST_DEPTH = 5
"""The largest depth that is drawn: 32 leaves, of which a reader can still follow each."""
GREEDY_DEPTH = 3
"""The levels of a tree that is grown greedily, if nobody chose their number."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeEstimator(SearchEstimator, TreeEstimator):
    """A private estimator whose model is a tree."""

    max_depth: int | None = None
    _size_name, _parts = "max_depth", "levels"

    def _search_plan(self, schema: Schema) -> SearchPlan:
        space = Space.of_trees(schema)
        return choose_search(
            self.search,
            None if self.max_depth is None else self._depth(schema),
            None if self.lookahead is None else int(self.lookahead),
            min(LARGEST_DEPTH, space.n_options),
            tree_costs(space, self._row_loss(schema)),
            self._parts,
            "Use a smaller max_depth, fewer attributes, values or cut points, or search='auto'.",
        )

    def _drawn(self, schema: Schema, chosen: SearchPlan, cost: Cost, epsilon: Fraction, notes: tuple[str, ...]) -> Plan:
        stop = float(self.stop_probability)
        draw = TreeDraw(Space.of_trees(schema), chosen.blocks, stop, chosen.draws_size, self._row_loss(schema))
        return DrawnTree(epsilon=epsilon, notes=notes, cost=cost, draw=draw, **self._leaf_plan(schema))

    def _grown(self, schema: Schema, epsilon: Fraction, notes: tuple[str, ...]) -> Plan:
        space, most, leaves = Space.of_trees(schema), self._depth(schema), self._grown_leaves(schema)
        return GreedyTree(epsilon=epsilon, notes=notes, space=space, most=most, **leaves)

    def _depth(self, schema: Schema) -> int:
        """Return the depth, which is no more than there are tests one after the other, so that no share is idle."""
        depth = GREEDY_DEPTH if self.max_depth is None else int(self.max_depth)
        return min(depth, longest_path(schema, 1, negations=False))


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeClassifier(OfClasses, Classifier, PrivateTreeEstimator):
    """A decision tree learned and released under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row, or all rows of the schema's `Unit`. The total is exactly
    `epsilon`, and the card adds to it what the schema's cut points cost where they were learned. Tests are ``x``,
    ``x = v``, ``x <= c``; a missing value satisfies only ``x is missing``.

    An exact search draws the whole tree, its depth and its labels included, at once by the exponential mechanism from
    *all* trees, with score −loss (monotone, sensitivity 1). No other release is needed, so the model has labels and
    no counts, unless `release_counts` asks for them at a fifth of ε. The draw visits every conjunction of tests: what
    that costs depends on the schema and the depth, not on the labels, and is known before any row is read
    (`search_cost`). A test whose two leaves say the same is left out of the model.

    With `lookahead`, the upper levels are drawn jointly, then the subtrees below them, and so on, each block for an
    equal share of ε. The subtrees of a block hold different rows and share one charge (parallel composition).

    A greedy search chooses every node's test by permute-and-flip on the negated Gini impurity in rows, a monotone score
    of sensitivity 2; by any other loss than errors, on that of the best values of both sides (sensitivity 1). The nodes
    of a level hold different rows and share one charge; 80 % of ε is shared equally by the levels, and the rest buys
    one histogram of leaves by class, which gives the predictions.

    Parameters
    ----------
    %(epsilon)s
    max_depth : int or None, default=None
        Tests one after the other at most. None: an exact search draws the depth too, from those up to 5 of which it
        takes about ten seconds at most, each with the same prior probability; a greedy search grows three levels.
    %(public schema)s
    %(budget)s
    %(exact search)s
    %(verbose)s
    %(loss of classes)s

    Attributes
    ----------
    tree_ : Tree
        The released model.
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

    The tree, its depth and what its leaves predict are one draw from *all* trees, as of `PrivateTreeClassifier`; the
    loss of a row is a public function of its level (`hedgerow.schema.Number`) and of what its leaf predicts, between 0
    and 1, so that one row raises the loss of a tree by at most 1: a monotone score of sensitivity 1. Then the means of
    the leaves are released for a tenth of ε (`release_means`). Neighbouring tables differ by adding or removing one
    row, or all rows of the schema's `Unit`. The total is exactly `epsilon`.

    Parameters
    ----------
    %(epsilon)s
    max_depth : int or None, default=None
        Tests one after the other at most. None: an exact search draws the depth too, from those up to 5 of which it
        takes about ten seconds at most, each with the same prior probability; a greedy search grows three levels.
    %(number schema)s
    %(budget)s
    %(exact search of numbers)s
    %(verbose)s
    %(regression)s

    Attributes
    ----------
    tree_ : Tree
        The released model.
    %(fitted to numbers)s

    References
    ----------
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
    Nijssen and Fromont, *Mining Optimal Decision Trees from Itemset Lattices*, KDD 2007, for the lattice.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.schema import Boolean, Number
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> schema = Schema({"a": Boolean(), "b": Boolean()}, Number("y", 0, 32))
    >>> tree = PrivateTreeRegressor(epsilon=1.0, schema=schema).fit(X, 20.0 * X[:, 0] + 10.0 * X[:, 1])
    >>> tree.score(X, 20.0 * X[:, 0] + 10.0 * X[:, 1]) > 0.9
    True
    """
