"""The estimator that chooses between a private tree and a private scorecard."""

from typing import Any

from hedgerow.learn.auto import PrivateAutoClassification, Scoring
from hedgerow.learn.contract import Classifier, PrivateEstimator, parameters_of
from hedgerow.learn.parameters import documented
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.models.model import Model
from hedgerow.privacy.facts import Fact


@documented
class PrivateAutoClassifier(PrivateEstimator, Classifier):
    """A differentially private tree or scorecard, whichever suits the table, within one ε.

    With fewer than 3,000 rows times ε, the model is the tree of `PrivateTreeClassifier` with all of ε. With more, the
    scorecard of `PrivateScorecardClassifier` is released for half of ε, or three quarters from 12,000 on. The rest pays
    for one draw, by the exponential mechanism, from all trees *and* this scorecard by the rows that they misclassify
    (docs/mathematics.md, fact 3). So the comparison costs no ε and needs no held-out rows. Trees of very wide tables
    are not drawn at once: with so many rows these get a scorecard with all of ε.

    Whatever is chosen, the total is exactly `epsilon`. Neighbouring tables differ by adding or removing one row, or all
    rows of the schema's `Unit`; ε is then that of a row, which is `epsilon` divided by `max_rows`.

    Parameters
    ----------
    %(epsilon)s
    scoring : {"accuracy", "roc_auc"}, default="accuracy"
        What the model is for. "accuracy": few misclassified rows. "roc_auc": ranking rows by their probability, for
        which the model is always a scorecard.
    n_rows : int, optional
        The number of rows, if it is public; with a `Unit`, the rows that are counted. None: a noisy count, which costs
        a hundredth of ε, decides.
    costs : mapping of class to mapping of class to float, optional
        ``costs[actual][predicted]``, as for `PrivateTreeClassifier`. The model is then a tree, whose labels have the
        least cost.
    class_weight : mapping of class to float, optional
        A shorthand of `costs`: the cost of any error about a row of the class, > 0; 1 for classes that are left out.
    %(public schema)s
        If it declares monotone attributes, the model is a scorecard; if it declares weights of rows, a tree.
    %(budget)s

    %(fitted)s
    choice_ : Fact
        The kind of model and why it was chosen: ``choice_["model"]`` is "tree" or "scorecard", and ``choice_.words`` is
        the sentence of the card.

    See Also
    --------
    PrivateTreeClassifier : Trees alone, with all their parameters.
    PrivateScorecardClassifier : Scorecards alone, with all their parameters.

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
        """The kind of model and why it was chosen, as on the privacy card."""
        return next(note for note in self._fitted_model.privacy.notes if note.code == "model_choice")
