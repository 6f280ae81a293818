"""Private decision and regression trees, drawn by the exponential mechanism or grown greedily."""

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
    """A decision tree with pure ε-differential privacy.

    Neighbouring tables differ in one row, added or removed, or in all rows of the schema's `Unit`. A fit spends exactly
    `epsilon`. If the schema's cut points were learned privately, the privacy card adds their charge. Tests are
    ``x``, ``x = v`` and ``x <= c``; a missing value satisfies only ``x is missing``.

    Read more in the :doc:`guide </fit>`.

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

    See Also
    --------
    PrivateAutoClassifier : A tree or a scorecard, chosen under the same ε.
    PrivateRuleListClassifier : A rule list instead of a tree.
    OptimalTreeClassifier : The tree with the smallest loss, without privacy.

    Notes
    -----
    **Exact search.** The exponential mechanism draws the whole tree, with its shape and labels, from *all* trees within
    the limits. The score is −loss (monotone, sensitivity 1). `search_cost` returns the computational cost before any
    row is read. The released model is an equivalent tree that is easier to read: it predicts the same for every
    combination of values that the schema allows. If the schema has many attributes, a few are chosen privately first
    (docs/mathematics.md, fact 5), unless ``search="exact"``.

    **Exact search with lookahead.** The upper levels are drawn jointly, then the subtrees below them, and so on. Every
    block takes an equal share of ε. The subtrees of a block hold disjoint sets of rows and share one charge (parallel
    composition).

    **Greedy search.** Permute-and-flip chooses the test of every node, or report-noisy-max with Gumbel noise if
    `budget` accounts in ρ (zCDP). The score is the negated Gini impurity in rows (monotone, sensitivity 2). With any
    loss other than errors it is the negated loss of the best predictions of both sides (sensitivity 1). The nodes of a
    level hold disjoint sets of rows and share one charge. The levels share 80 % of ε equally. The rest pays for one
    histogram of leaves by class, from which the predictions follow.

    References
    ----------
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
    Kasiviswanathan et al., *What Can We Learn Privately?*, SIAM Journal on Computing 2011, for the error as the score.
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
    """A regression tree with pure ε-differential privacy.

    Neighbouring tables differ in one row, added or removed, or in all rows of the schema's `Unit`. A fit spends exactly
    `epsilon`.

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

    See Also
    --------
    PrivateScorecardRegressor : A scorecard instead of a tree.
    OptimalTreeRegressor : The tree with the smallest loss, without privacy.

    Notes
    -----
    An exact search draws the tree, with its shape and the predictions of its leaves, from *all* trees, as
    `PrivateTreeClassifier` does. The loss of a row is a public function of the level of its target
    (`hedgerow.schema.Number`) and of the prediction of its leaf. It is between 0 and 1, so one row raises the loss of a
    tree by at most 1: the score −loss is monotone with sensitivity 1. Then the means of the leaves are released for a
    tenth of ε (`release_means`).

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
