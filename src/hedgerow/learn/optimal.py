"""Estimators of certified optima (`search/certified.py`), lists and trees, by any loss; not private."""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Literal, Self

from hedgerow.boundary.arguments import check_share
from hedgerow.errors import ArgumentError, SearchLimitWarning, TooManyRowsError
from hedgerow.learn.base import FROM_DATA, RuleListEstimator, TallyEstimator, TrainingRows, TreeEstimator
from hedgerow.learn.contract import Classifier, Regressor
from hedgerow.learn.learned import LearnedList, LearnedTree, leaf_totals
from hedgerow.learn.objectives import OfClasses, OfNumbers, RowLoss
from hedgerow.learn.parameters import documented
from hedgerow.learn.search.certified import MOST_BYTES, Optimum, SearchSettings, find_optimum, rows_needed
from hedgerow.learn.search.lattice import Take, value_of
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.space import Space
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument
from hedgerow.text.progress import progress_bar

_STEPS = 2**20  # per row, at most: the resolution of penalties, so that objectives add up exactly
_SMALLER = "use a smaller size or fewer cut points, or a larger min_support or regularization"
_LIMITS = {
    "time": ("time limit (time_limit={:g} seconds)", f"Raise time_limit, or {_SMALLER}."),
    "memory": (f"memory limit ({MOST_BYTES / 2**30:g} GiB for one level)", f"To stay below it, {_SMALLER}."),
}
_EXACT = 2**50  # steps of rows whose sums, of a few penalties and a loss, float64 holds


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalEstimator(TallyEstimator, RowLoss):
    """An estimator whose model is proven to have the least loss, or comes with a proven gap."""

    min_support: float = 0.01
    regularization: float = 0.0
    time_limit: float | None = None
    schema: Schema | Literal["from-data"] | None = FROM_DATA
    verbose: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_share("min_support", self.min_support)
        check_share("regularization", self.regularization)
        self._check_objective()
        limit = self.time_limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, Real) or not limit > 0):
            raise ArgumentError(f"time_limit must be a number of seconds > 0 or None, got {describe_argument(limit)}.")

    def _find(self, tally: Tally, space: Space, depth: int) -> Optimum:
        n = int(tally.total().sum())
        most = _EXACT // self._loss(tally.schema).steps
        if n >= most:
            raise TooManyRowsError(f"Expected fewer than {most:,} rows, whose loss is exact in float64, got more.")
        steps = min(_STEPS, 2 ** ((_EXACT // max(n, 1)).bit_length() - 1))
        penalty = round(float(self.regularization) * n * steps) / steps
        rows, loss = rows_needed(tally, float(self.min_support)), self._row_loss(tally.schema)
        settings = SearchSettings(depth, rows, penalty, loss)
        with progress_bar("searching", verbose=self.verbose) as update:

            def progress(level: int, done: int, states: int) -> None:
                update(description=f"level {level}, {states:,} states", completed=done, total=states)

            optimum = find_optimum(tally, space, settings, self.time_limit, progress)
        self.objective_, self.lower_bound_ = optimum.objective / max(n, 1), optimum.lower_bound / max(n, 1)
        self.optimal_ = optimum.lower_bound >= optimum.objective
        self.n_states_ = optimum.n_states
        self.stopped_by_ = None if self.optimal_ else optimum.stopped_by
        return optimum

    def _warn_of_limit(self) -> None:
        """Warn if a limit stopped the search; `_learn` calls this once the model is published."""
        if self.stopped_by_ is not None:
            limit, advice = _LIMITS[self.stopped_by_]
            problem = (
                f"The search reached its {limit.format(self.time_limit)} before optimality was proven: the model's "
                f"objective is {self.objective_:.6g}, and no model is below {self.lower_bound_:.6g} "
                f"(gap {self.objective_ - self.lower_bound_:.2g})."
            )
            # The caller of `fit` is four frames up: _warn_of_limit, _learn, fit.
            warnings.warn(f"{problem} {advice}", SearchLimitWarning, stacklevel=4)

    def _loss(self, schema: Schema) -> Loss:
        return Loss.of(self._row_loss(schema), schema.target.n_levels, FINE_STEPS)


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalRuleListEstimator(OptimalEstimator, RuleListEstimator):
    """An estimator whose model is the rule list with the least loss."""

    max_literals: int = 1

    def _learn(self, schema: Schema, rows: TrainingRows) -> Self:
        candidates = Candidates.of(schema, self.max_literals, negations=bool(self.negations))
        space, tally = Space.of_lists(candidates), rows.count()
        part = self._find(tally, space, int(self.max_rules or 1) - 1).model
        antecedents: list[Antecedent] = []
        values: list[int] = []
        while isinstance(part, Take):
            antecedents.append(space.antecedents[part.option])
            values.append(value_of(part.caught))
            part = part.left
        values.append(value_of(part))
        learned = LearnedList(antecedents, tally.leaf_counts(antecedents), values, self._loss(schema))
        self._publish(schema, learned, PrivacyCard.none("not private"))
        self._warn_of_limit()
        return self


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class OptimalRuleListClassifier(OfClasses, Classifier, OptimalRuleListEstimator):
    """The rule list with the least loss on the table, certified. **Not private**: the list and its counts are exact.

    Among all lists of up to ``max_rules - 1`` rules, each with enough support at its position in the list, and a
    default rule. States that hold the same rows are searched once, and bounds prune those that cannot be part of
    anything better; what is left is searched in full, so the result is the optimum and not an approximation.

    Parameters
    ----------
    max_rules : int, default=5
        Rules in the list, the default rule included.
    max_literals : int, default=1
        Literals in a rule. Greedy and private lists have 2: to certify more than two such rules can take hours.
    %(negations)s
    %(min_support)s
    %(certified search)s
    %(schema)s
    %(verbose)s
    %(loss of classes)s

    %(fitted)s
    %(certified)s

    References
    ----------
    Angelino, Larus-Stone, Alabi, Seltzer and Rudin, *Learning Certifiably Optimal Rule Lists for Categorical Data*,
    JMLR 2018, for the problem and the equivalent-points bound.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> clf = OptimalRuleListClassifier(max_rules=3, schema=None).fit(X, X[:, 0] & X[:, 1])
    >>> print(clf.rule_list_)
    if not x0 then 0     # 100.0 % of 20
    else if x1 then 1    # 100.0 % of 10
    else 0               # 100.0 % of 10
    >>> clf.optimal_
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalTreeEstimator(OptimalEstimator, TreeEstimator):
    """An estimator whose model is the tree with the least loss."""

    def _learn(self, schema: Schema, rows: TrainingRows) -> Self:
        space, tally = Space.of_trees(schema), rows.count()
        tree = self._find(tally, space, int(self.max_depth or 0)).model
        learned = LearnedTree(space, tree, leaf_totals(tally, space, tree), self._loss(schema))
        self._publish(schema, learned, PrivacyCard.none("not private"))
        self._warn_of_limit()
        return self


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class OptimalTreeClassifier(OfClasses, Classifier, OptimalTreeEstimator):
    """The decision tree with the least loss on the table, certified. **Not private**: tree and counts are exact.

    Among all trees of depth up to `max_depth` whose leaves have enough support. Nodes that hold the same rows are
    searched once, and bounds prune those that cannot be part of a better tree; the rest is searched exhaustively.

    Parameters
    ----------
    max_depth : int, default=3
        Tests one after the other at most.
    %(min_support)s
    %(certified search)s
    %(schema)s
    %(verbose)s
    %(loss of classes)s

    %(fitted)s
    %(certified)s

    References
    ----------
    Nijssen and Fromont, *Mining Optimal Decision Trees from Itemset Lattices*, KDD 2007; Aglin, Nijssen and Schaus,
    *Learning Optimal Decision Trees Using Caching Branch-and-Bound Search*, AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> clf = OptimalTreeClassifier(max_depth=2, schema=None).fit(X, X[:, 0] ^ X[:, 1])
    >>> [clf.score(X, X[:, 0] ^ X[:, 1]), clf.optimal_]
    [1.0, True]
    """


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class OptimalRuleListRegressor(OfNumbers, Regressor, OptimalRuleListEstimator):
    """The rule list of a number with the least loss on the table, certified. **Not private**: its counts are exact.

    %(certificate of numbers)s

    Parameters
    ----------
    max_rules : int, default=5
        Rules in the list, the default rule included.
    max_literals : int, default=1
        Literals in a rule.
    %(negations)s
    %(min_support)s
    %(certified search)s
    %(schema)s
    %(verbose)s
    %(regression)s

    %(fitted)s
    %(certified)s

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> model = OptimalRuleListRegressor(clip=1.0).fit(X, 8.0 * X[:, 0] + 4.0 * X[:, 1])
    >>> [round(model.score(X, 8.0 * X[:, 0] + 4.0 * X[:, 1]), 1), model.optimal_]
    [0.9, True]
    """


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class OptimalTreeRegressor(OfNumbers, Regressor, OptimalTreeEstimator):
    """The tree of a number with the least loss on the table, certified. **Not private**: its counts are exact.

    %(certificate of numbers)s

    Parameters
    ----------
    max_depth : int, default=3
        Tests one after the other at most.
    %(min_support)s
    %(certified search)s
    %(schema)s
    %(verbose)s
    %(regression)s

    %(fitted)s
    %(certified)s

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> model = OptimalTreeRegressor(clip=1.0).fit(X, 8.0 * X[:, 0] + 4.0 * X[:, 1])
    >>> [bool(model.score(X, 8.0 * X[:, 0] + 4.0 * X[:, 1]) > 0.99), model.optimal_]
    [True, True]
    """
