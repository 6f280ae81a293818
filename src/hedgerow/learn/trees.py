"""Private trees: drawn from all trees of a depth, or grown greedily."""

from typing import Any, Literal

from hedgerow.learn.contract import (
    Classifier,
    PrivateEstimator,
    Regressor,
    of_learner,
    of_model,
    on_rows,
    parameters_of,
)
from hedgerow.learn.learners import PrivateTreeClassification, PrivateTreeRegression
from hedgerow.learn.objectives import ClassObjective, NumberObjective
from hedgerow.learn.parameters import documented
from hedgerow.learn.searches import SearchSpecification
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.tree import Tree


@documented
class PrivateTreeClassifier(PrivateEstimator, Classifier):
    """A decision tree learned and released under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row, or all rows of the schema's `Unit`. The total is exactly
    `epsilon`, and the card adds to it what the schema's cut points cost where they were learned. Tests are ``x``,
    ``x = v``, ``x <= c``; a missing value satisfies only ``x is missing``.

    An exact search draws the whole tree, its shape and its labels included, at once by the exponential mechanism from
    *all* trees, with score −loss (monotone, sensitivity 1). By default a twentieth of ε, from ε = 0.1 on, pays for
    counts of the leaves, from which the class probabilities follow (`release_counts`). What the draw costs is known
    before any row is read (`search_cost`). The model is the tree with the fewest leaves that predicts the same as the
    drawn tree for every combination of values. Of many attributes a few are chosen first (docs/mathematics.md, fact 5),
    unless the search is "exact".

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

    tree_: Tree
    _fitted = "tree_"
    search: Literal["auto", "exact", "greedy"]
    lookahead: int | None
    release_counts: bool | Literal["auto"]
    stop_probability: float | Literal["auto"]
    verbose: bool
    max_depth: int | None
    objective: ClassObjective
    costs: Costs | None
    class_weight: ClassWeight | None

    @parameters_of(PrivateTreeClassification)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)
    search_cost = of_learner(SearchSpecification.search_cost)


@documented
class PrivateTreeRegressor(PrivateEstimator, Regressor):
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

    tree_: Tree
    _fitted = "tree_"
    search: Literal["auto", "exact", "greedy"]
    lookahead: int | None
    release_counts: bool
    stop_probability: float | Literal["auto"]
    verbose: bool
    max_depth: int | None
    objective: NumberObjective
    quantile: float
    clip: float
    release_means: bool

    @parameters_of(PrivateTreeRegression)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)
    predict_quantiles = on_rows(LeafModel.predict_quantiles)
    search_cost = of_learner(SearchSpecification.search_cost)
