"""Parameters and attributes that several estimators share, documented once."""

import re
from typing import TypeVar, get_type_hints

SHARED = {
    "epsilon": """
epsilon : float, Fraction, Decimal or str
    The privacy loss ε of the whole model, > 0. Must be chosen.
""",
    "max_literals": """
max_literals : int, default=2
    Literals in a rule.
""",
    "negations": """
negations : bool, default=True
    Whether ``not a`` and ``a != v`` are literals too.
""",
    "search": """
search : {"auto", "exact", "greedy"}, default="auto"
    The search. "auto": the most joint exact search that is expected to take eight seconds or less, by public numbers
    alone: everything at once, else blocks of rules or levels, else greedy; the card says which.
""",
    "lookahead": """
lookahead : int, optional
    With exact search: how many rules or levels are drawn jointly at a time. None: all, or what "auto" chooses.
""",
    "stop_probability": """
stop_probability : float, default=0.1
    With exact search: the prior probability to end at any one position. docs/exact.md says how the default was chosen.
""",
    "stop_probability of trees": """
stop_probability : float or "auto", default="auto"
    With exact search: the prior probability that a node is a leaf. "auto": it rises with the depth of the node and with
    ε, so that a test has to reduce the loss to be worth reading (docs/exact.md has the rule). A number: the same
    probability at every depth.
""",
    "release_counts": """
release_counts : bool or "auto", default="auto"
    With exact search: whether to release the rows of each class in each rule or leaf too, from which the class
    probabilities follow (docs/exact.md). "auto": for a twentieth of ε, if ε for a row is at least 0.1, the loss is the
    number of errors and there are at most 20 classes; labels alone otherwise. True: for a fifth. Greedy search
    always releases them.
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
    The loss of a row. "errors": 0 or 1, and leaves have labels; a greedy search then goes by Gini impurity. "brier":
    Brier's score, shifted and divided so that it is between 0 and 1; "mixed": half of each; leaves then have a
    probability of each class from a public grid (docs/exact.md), which `predict_proba` gives, whether there are counts
    or not. "absolute": of ordered classes, how many places they are apart.
costs : mapping of class to mapping of class to float, optional
    ``costs[actual][predicted]``, what it costs to predict one class where the row is of another, at least 0. Those of
    errors must be given. The loss of a row is its cost over the largest.
class_weight : mapping of class to float, optional
    A shorthand of `costs`: the cost of any error about a row of the class, > 0; 1 for classes that are left out.
""",
    "regression": """
objective : {"squared", "absolute", "quantile"}, default="squared"
    The loss of a row: the square of the error, up to `clip`; the error; or that of a quantile (the pinball loss). Each
    is divided by the largest that it can be, which is the unit that ε buys.
quantile : float, default=0.5
    With objective="quantile": the share of the rows of a leaf that are to be below what it predicts.
clip : float, default=0.5
    With objective="squared": the share of the number's range beyond which the loss of an error grows no more. A loss
    with a long tail spends ε on it.
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
    "greedy": choice by choice, by permute-and-flip on the loss of the best number on each side (monotone, sensitivity
    1), 80 % of ε.
%(lookahead)s
release_counts : bool, default=False
    Whether to release the rows of each level in each rule or leaf too, at a fifth of ε: `predict_quantiles` reads them.
release_means : bool, default=True
    With objective="squared" and without counts: whether to release two sums of each rule or leaf, at a tenth of ε, from
    which its rows and their mean follow. The mean is averaged with the drawn number, each by the inverse of its
    variance. A greedy search has the sums at a fifth of ε, and the counts where this is False or the loss another.
""",
    "number schema": """
schema : Schema or "from-data"
    The public schema, whose label is a `hedgerow.schema.Number`. "from-data" infers the domain from the rows, which
    voids the guarantee; the card says so.
""",
    "certificate of numbers": """
The search is that of the classifier. The number is counted in levels (`hedgerow.schema.Number`), and a leaf predicts
the middle of one: the certificate is about the loss of these.
""",
    "min_support": """
min_support : float, default=0.01
    The share of all rows that a rule must hold among those that earlier rules left, or that a leaf must hold.
""",
    "certified search": """
regularization : float, default=0
    The share of all rows whose loss a further rule or split must save to be worth it: the objective is the mean loss
    plus `regularization` for every rule but the default, or every split.
time_limit : float, optional
    Seconds, about. After that the best model found so far is returned, with its proven gap and a `SearchLimitWarning`.
    Without it a search still stops, in the same way, where the branches of one level exceed 2 GiB of memory.
""",
    "points": """
points : int, default=20
    The most points that a bin may have, in size: fewer are easier to add up by hand.
%(monotone)s
""",
    "monotone": """
monotone : mapping of str to {"increasing", "decreasing"} or None, optional
    Numbers and ordered attributes whose points, of two classes for the second, may only rise, or only fall; None where
    they may do both, whatever the schema says. Others are as the schema declares them.
""",
    "max_depth": """
max_depth : int or None, default=None
    The largest number of tests on a path. None: an exact search takes the largest depth up to 5 that is expected to
    take eight seconds or less; if `stop_probability` is a number, it draws the depth too, each depth with the same
    prior probability. A greedy search grows three levels. Greedy trees have at most 12 levels.
""",
    "max_attributes and points": """
max_attributes : int, optional
    The most attributes. None: all, or where they are many for the noise those that tell most (docs/models.md).
points : int, default=40
    The most points that a bin may have, in size: fewer are easier to add up by hand. A scorecard has fewer points if
    rounding then costs next to nothing.
%(monotone)s
""",
    "delta": """
delta : float, Fraction, Decimal or str, optional
    δ, at most. None: pure ε-differential privacy. With a δ the model is the one without, unless Gaussian noise is less
    (docs/models.md). If the schema rules that out, no δ is charged.
""",
    "public schema": """
schema : Schema, None or "from-data", default=None
    The public schema. None: all columns and the label are booleans or 0/1, whose domain is public. "from-data" infers
    the domain from the rows, which voids the guarantee; the card says so.
""",
    "schema": """
schema : Schema, None or "from-data", default="from-data"
    The public schema; None for columns that are all booleans or 0/1; "from-data" cuts one out of the rows.
""",
    "budget": """
budget : Budget, optional
    A budget to charge the model to, shared with other releases; a fit that would overdraw it is refused. Default: a
    budget of its own for every fit.
random_state : NoiseSource, int, RandomState, Generator or None, default=None
    None: secure noise. Anything else: a seeded generator, for research and tests, which voids the guarantee.
""",
    "verbose": """
verbose : bool, default=False
    Whether to show on stderr what an exact search costs, where that is known, and how far it is.
""",
    "fitted": """
Attributes
----------
%(model)s
privacy_ : PrivacyCard
    What was spent, on what, and what is guaranteed; of a model that is not private, that nothing is.
n_features_in_, feature_names_in_
    As in scikit-learn.
""",
    "certified": """
optimal_ : bool
    Whether the model is proven to be optimal.
objective_, lower_bound_ : float
    Its mean loss plus penalties, such as its share of errors, and what no model within the parameters can be below.
n_states_ : int
    States that were searched.
stopped_by_ : {"time", "memory"} or None
    The limit that ended the search before its model was proven to be optimal, `time_limit` or 2 GiB of memory for one
    level; None otherwise. `SearchLimitWarning` says so, with the gap.
""",
}
"""Entries of numpydoc sections by name, without the indent of a class's docstring."""

Documented = TypeVar("Documented", bound=type)
_PLACE = re.compile(r"^( *)%\((.+)\)s$", re.MULTILINE)


def documented(estimator: Documented) -> Documented:
    """Replace the lines ``%(name)s`` of a class's docstring by the shared entries, and those of its kind."""
    fitted = getattr(estimator, "_fitted")  # noqa: B009 -- the protected name of the attribute with the model
    kind = get_type_hints(estimator)[fitted].__name__
    classes = "\nclasses_ : ndarray of shape (n_classes,)\n    The class labels."
    learned = f"{fitted} : {kind}\n    The model." + (classes if hasattr(estimator, "predict_proba") else "")
    shared = SHARED | {"model": learned}

    def entries(text: str, indent: str = "") -> str:
        lines = _PLACE.sub(lambda place: entries(shared[place[2]].strip(), place[1]), text).splitlines()
        return "\n".join(f"{indent}{line}" if line else line for line in lines)

    estimator.__doc__ = estimator.__doc__ and entries(estimator.__doc__)
    return estimator
