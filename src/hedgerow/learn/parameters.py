"""Documentation of the parameters and attributes that several estimators share."""

import re
from typing import TypeVar, get_type_hints

SHARED = {
    "epsilon": """
epsilon : float, Fraction, Decimal or str
    The privacy budget ε of the whole model, > 0. There is no default.
""",
    "max_literals": """
max_literals : int, default=2
    The maximum number of literals in a rule.
""",
    "negations": """
negations : bool, default=True
    Whether rules may use negated literals, ``not a`` and ``a != v``.
""",
    "search": """
search : {"auto", "exact", "greedy"}, default="auto"
    The search algorithm. "auto" takes an exact search if public numbers predict that it takes at most eight seconds:
    first of the whole model, then block by block. Otherwise it searches greedily. The privacy card states which search
    was used.
""",
    "lookahead": """
lookahead : int, optional
    The number of rules or tree levels that an exact search draws jointly. None: all of them, or the number that "auto"
    chooses.
""",
    "stop_probability": """
stop_probability : float, default=0.1
    The prior probability that the list ends at a given position, in an exact search. docs/exact.md explains the
    default.
""",
    "stop_probability of trees": """
stop_probability : float or "auto", default="auto"
    The prior probability that a node is a leaf, in an exact search. "auto": the probability increases with the depth of
    the node and with ε, so that a test is added only if it reduces the loss noticeably (docs/exact.md has the rule). A
    number: the same probability at every depth.
""",
    "release_counts": """
release_counts : bool or "auto", default="auto"
    Whether an exact search also releases a noisy count of each class in each rule or leaf. Class probabilities are
    estimated from these counts (docs/exact.md). "auto": release them for a twentieth of ε if the ε of a row is at least
    0.1, the loss is the number of errors and there are at most 20 classes; otherwise release labels only. True: release
    them for a fifth of ε. A greedy search always releases them.
""",
    "exact search of trees": """
%(search)s
%(lookahead)s
%(release_counts)s
%(stop_probability of trees)s
""",
    "exact search": """
%(search)s
%(lookahead)s
%(release_counts)s
%(stop_probability)s
""",
    "loss of classes": """
objective : {"errors", "brier", "mixed", "absolute"}, default="errors"
    The loss of a row.

    - "errors": 1 if the row is misclassified, else 0. Leaves have labels; a greedy search minimises the Gini impurity.
    - "brier": the Brier score, shifted and scaled to [0, 1]. Leaves have class probabilities from a public grid
      (docs/exact.md), which `predict_proba` returns even if no counts are released.
    - "mixed": the mean of "errors" and "brier".
    - "absolute": the distance between the positions of the predicted and the actual class, for ordered classes.
costs : mapping of class to mapping of class to float, optional
    Misclassification costs ``costs[actual][predicted]``, at least 0. Every error needs a cost. The loss of a row is its
    cost divided by the largest cost.
class_weight : mapping of class to float, optional
    A shorthand for `costs`: the cost of every error on a row of the class, > 0. The default of a class is 1.
""",
    "regression": """
objective : {"squared", "absolute", "quantile"}, default="squared"
    The loss of a row: the squared error, capped at `clip`; the absolute error; or the pinball loss of a quantile. Each
    is divided by its largest possible value, so that it is between 0 and 1.
quantile : float, default=0.5
    The quantile that a leaf predicts, with objective="quantile".
clip : float, default=0.5
    The error, as a share of the target's range, beyond which the squared loss is constant, with objective="squared". A
    larger value needs more ε for the same accuracy.
""",
    "exact search of numbers": """
%(search of numbers)s
%(stop_probability)s
""",
    "exact search of trees with numbers": """
%(search of numbers)s
%(stop_probability of trees)s
""",
    "search of numbers": """
%(search)s
    A greedy search spends 80 % of ε on its choices. It makes each by permute-and-flip on the loss of the best
    predictions of both sides (monotone score, sensitivity 1).
%(lookahead)s
release_counts : bool, default=False
    Whether to release, for a fifth of ε, a noisy count of the rows at each level of the target in each rule or leaf.
    `predict_quantiles` needs these counts.
release_means : bool, default=True
    Whether to release, for a tenth of ε, two noisy sums of each rule or leaf, with objective="squared" and without
    `release_counts`. The number of rows and their mean follow from the sums. The model predicts the average of this
    mean and the drawn value, weighted by inverse variance. A greedy search releases the sums for a fifth of ε, or the
    counts if `release_means` is False or the objective is not "squared".
""",
    "number schema": """
schema : Schema or "from-data"
    The public schema, whose label is a `hedgerow.schema.Number`. "from-data" infers the schema from the rows, which
    voids the privacy guarantee; the privacy card states this.
""",
    "certificate of numbers": """
The search is the search of the classifier. The target is divided into levels (`hedgerow.schema.Number`), and a leaf
predicts the midpoint of a level. The model is optimal among the models that predict such midpoints.
""",
    "min_support": """
min_support : float, default=0.01
    The minimum share of all rows in a leaf; for a rule, the minimum share that satisfies it and no earlier rule.
""",
    "certified search": """
regularization : float, default=0
    The penalty for every rule except the default rule, or for every split, as a share of all rows. The objective is the
    mean loss plus these penalties.
time_limit : float, optional
    The approximate time limit in seconds. If it is reached, `fit` returns the best model found so far with its proven
    optimality gap and issues a `SearchLimitWarning`. Ctrl-C (`KeyboardInterrupt`) during the search has the same effect
    at any time, with or without a limit.
""",
    "points": """
points : int, default=20
    The largest absolute number of points of a bin. Small numbers are easier to add up by hand.
%(monotone)s
""",
    "monotone": """
monotone : mapping of str to {"increasing", "decreasing"} or None, optional
    The direction in which the points of a numeric or ordered attribute may change; with two classes, points count
    towards the second class. None removes the direction that the schema declares. Attributes that are not listed keep
    the direction of the schema.
""",
    "max_depth": """
max_depth : int or None, default=None
    The maximum number of tests on a path. None: an exact search takes the largest depth up to 5 that is expected to
    take at most eight seconds; if `stop_probability` is a number, it also draws the depth, with a uniform prior. A
    greedy search grows three levels. Greedy trees have at most 12 levels. If three levels of a regression tree would
    take longer, and not with every second cut point of the attributes that have more than five, the search uses those
    cut points. If the time limits a tree to two or three levels and the table has many rows, max_depth=4 may be more
    accurate: its levels are drawn in blocks, with all cut points.
""",
    "max_attributes and points": """
max_attributes : int, optional
    The maximum number of attributes. None: all attributes or, if they are too many for the noise level, those most
    strongly associated with the target (docs/models.md).
points : int, default=40
    The largest absolute number of points of a bin. Small numbers are easier to add up by hand. The scorecard uses
    smaller numbers if rounding to them costs almost no accuracy.
%(monotone)s
""",
    "delta": """
delta : float, Fraction, Decimal or str, optional
    The largest δ to spend. None: pure ε-differential privacy. With a δ, the fit uses Gaussian noise if that adds less
    noise (docs/models.md), and is otherwise the same as without. If the schema rules Gaussian noise out, no δ is
    charged.
""",
    "public schema": """
schema : Schema, None or "from-data", default=None
    The public schema. None: all columns and the label are Boolean or 0/1, whose domain is public. "from-data" infers
    the schema from the rows, which voids the privacy guarantee; the privacy card states this.
""",
    "schema": """
schema : Schema, None or "from-data", default="from-data"
    The schema of the table. None: all columns are Boolean or 0/1. "from-data" infers the schema from the rows.
""",
    "budget": """
budget : Budget, optional
    The budget to charge, which several releases may share. `fit` raises `BudgetExceededError` if too little is left.
    None: every fit has its own budget of ε.
random_state : NoiseSource, int, RandomState, Generator or None, default=None
    None: cryptographically secure noise. Any other value seeds the noise, for research and tests, and voids the privacy
    guarantee.
""",
    "verbose": """
verbose : bool, default=False
    Whether to print the cost of an exact search, if it is known, and its progress to stderr.
""",
    "fitted": """
Attributes
----------
%(model)s
privacy_ : PrivacyCard
    The privacy card: the guarantee, and every charge with its purpose. The card of a non-private model states that
    there is no guarantee.
n_features_in_ : int
    The number of columns.
feature_names_in_ : ndarray of shape (n_columns,)
    The names of the columns.
""",
    "certified": """
optimal_ : bool
    Whether the model is proven to be optimal.
objective_ : float
    The mean loss of the model, such as its error rate, plus penalties.
lower_bound_ : float
    A proven lower bound on the objective of every model that the parameters allow.
n_states_ : int
    The number of states that were searched.
stopped_by_ : {"time", "interrupt"} or None
    What ended the search before the model was proven to be optimal: `time_limit`, or Ctrl-C. None if the model is
    optimal. `fit` issues a `SearchLimitWarning` with the gap.
""",
}
"""Entries of numpydoc sections by name, without the indent of a class's docstring."""

Documented = TypeVar("Documented", bound=type)
_PLACE = re.compile(r"^( *)%\((.+)\)s$", re.MULTILINE)


def documented(estimator: Documented) -> Documented:
    """Replace each line ``%(name)s`` in a class's docstring by its shared entry."""
    fitted = getattr(estimator, "_fitted")  # noqa: B009 -- the protected name of the attribute with the model
    kind = get_type_hints(estimator)[fitted].__name__
    classes = "\nclasses_ : ndarray of shape (n_classes,)\n    The class labels."
    learned = f"{fitted} : {kind}\n    The fitted model." + (classes if hasattr(estimator, "predict_proba") else "")
    shared = SHARED | {"model": learned}

    def entries(text: str, indent: str = "") -> str:
        lines = _PLACE.sub(lambda place: entries(shared[place[2]].strip(), place[1]), text).splitlines()
        return "\n".join(f"{indent}{line}" if line else line for line in lines)

    estimator.__doc__ = estimator.__doc__ and entries(estimator.__doc__)
    return estimator
