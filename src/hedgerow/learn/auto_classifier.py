"""Estimator that chooses between a private tree and a private scorecard."""

from typing import Any

from hedgerow.learn.auto import PrivateAutoClassification, Scoring
from hedgerow.learn.contract import Classifier, PrivateEstimator, parameters_of
from hedgerow.learn.parameters import documented
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.models.model import Model
from hedgerow.privacy.facts import Fact


@documented
class PrivateAutoClassifier(PrivateEstimator, Classifier):
    """A decision tree or a scorecard with pure ε-differential privacy, chosen by the size of the table.

    A fit spends exactly `epsilon`, whichever model it chooses. Neighbouring tables differ in one row, added or removed,
    or in all rows of the schema's `Unit`.

    Read more in the :doc:`guide </fit>`.

    Parameters
    ----------
    %(epsilon)s
    scoring : {"accuracy", "roc_auc"}, default="accuracy"
        The purpose of the model. "accuracy": few misclassified rows. "roc_auc": ranking rows by their probability; the
        model is then always a scorecard.
    n_rows : int, optional
        The number of rows, if it is public; with a `Unit`, the number of rows after limiting each unit to its
        `max_rows`. None: the fit spends a hundredth of ε on a noisy count.
    costs : mapping of class to mapping of class to float, optional
        Misclassification costs ``costs[actual][predicted]``, as for `PrivateTreeClassifier`. The model is then a tree.
    class_weight : mapping of class to float, optional
        A shorthand for `costs`: the cost of every error on a row of the class, > 0. The default of a class is 1. The
        model is then a tree.
    %(public schema)s
        If the schema declares monotone attributes, the model is a scorecard; if it declares row weights, a tree.
    %(budget)s

    %(fitted)s
    choice_ : Fact
        The kind of model and the reason for it. ``choice_["model"]`` is "tree" or "scorecard", and ``choice_.words`` is
        the sentence on the privacy card.

    See Also
    --------
    PrivateTreeClassifier : A tree, with all its parameters.
    PrivateScorecardClassifier : A scorecard, with all its parameters.

    Notes
    -----
    The choice depends on the number of rows times ε. Below 3,000, the model is the tree of `PrivateTreeClassifier` with
    all of ε. From 3,000 on, the scorecard of `PrivateScorecardClassifier` is released for half of ε; from 12,000 on,
    for three quarters. The rest pays for one draw by the exponential mechanism from all trees *and* this scorecard. The
    score is the negated number of misclassified training rows (docs/mathematics.md, fact 3). The comparison therefore
    costs no extra ε and needs no held-out rows. If the table is too wide to draw a whole tree at once and has that many
    rows, the model is a scorecard with all of ε.

    With a `Unit`, the rule uses the ε of a row, which is `epsilon` divided by `max_rows`.

    References
    ----------
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007, for the draw.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = PrivateAutoClassifier(epsilon=1.0, n_rows=2000).fit(X, X[:, 0] ^ X[:, 1])
    >>> clf.choice_["model"], clf.score(X, X[:, 0] ^ X[:, 1]), float(clf.privacy_.epsilon)
    ('tree', 1.0, 1.0)
    """

    model_: Model
    _fitted = "model_"
    scoring: Scoring
    n_rows: int | None
    costs: Costs | None
    class_weight: ClassWeight | None

    @parameters_of(PrivateAutoClassification)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    @property
    def choice_(self) -> Fact:
        """The kind of model and the reason for it, as on the privacy card."""
        return next(note for note in self._fitted_model.privacy.notes if note.code == "model_choice")
