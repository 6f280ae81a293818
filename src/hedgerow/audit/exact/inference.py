"""Exact attribute inference: the best inference about one row by an attacker who knows all others, and candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.exact.membership import cells_of
from hedgerow.audit.exact.outcomes import Cells, losses
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.inference.membership import PRIVATE
from hedgerow.errors import ArgumentError
from hedgerow.learn.plans import DrawProbabilities
from hedgerow.learn.rule_lists import PrivateRuleListClassifier
from hedgerow.learn.searches import SearchEstimator, draw_probabilities
from hedgerow.learn.trees import PrivateTreeClassifier

_MOST_CANDIDATES = 6  # each doubles the number of passes over the table
_WORST = 1e9  # by how much rounding may be magnified

Floats = NDArray[np.float64]


def exact_inference(
    estimator: PrivateTreeClassifier | PrivateRuleListClassifier,
    X: Any,
    y: Any,
    *,
    candidates: tuple[Any, Any],
    prior: Sequence[float] | None = None,
    absent: float = 0.0,
) -> ExactInference:
    """Compute how often the best attacker guesses which of some candidates is in a table, from one private fit.

    The attacker knows the learner, all its parameters, the schema, **all other rows** and the chance of each candidate,
    and sees the released model. Candidates that differ in one attribute make this attribute inference, in the label
    label inference, in everything reconstruction; one candidate that may be absent makes it membership inference.

    **The result is private**: an exact function of the rows, for the curator's eyes only. Nothing is charged, and
    nothing is released.

    Parameters
    ----------
    estimator, X, y
        As in `exact_membership`; the draw is by errors, without counts, and the rows are those that the attacker knows.
    candidates : tuple of X and y
        Up to six rows with their labels, one of which is in the table besides.
    prior : sequence of float, optional
        The chance of each candidate before the model is seen; they and `absent` sum to 1. Default: all alike.
    absent : float, default=0
        The chance that none is in the table.

    Raises
    ------
    ValueError
        If the chances do not sum to 1, there are too many candidates, or more than float64 can distinguish at this ε,
        or the draw is by another objective or has counts; and as `exact_membership` does.
    TypeError
        If the estimator is of another kind.

    References
    ----------
    Salem et al., *SoK: Let the Privacy Games Begin!*, IEEE S&P 2023, for the game. Cherubin et al., *Closed-Form Bounds
    for DP-SGD against Record-level Inference*, USENIX Security 2024; Chatzikokolakis et al., *Bayes Security: A Not So
    Average Metric*, CSF 2023: Bayes security is the least of 1 less the advantage over all priors.

    Examples
    --------
    >>> import hedgerow as hr
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 1, 0])
    >>> learner = hr.PrivateTreeClassifier(epsilon=2.0, max_depth=1)
    >>> found = exact_inference(learner, X, y, candidates=(np.array([[0, 0], [1, 0]]), [1, 1]))
    >>> found.baseline, round(found.success, 3), round(found.advantage, 3)
    (0.5, 0.666, 0.332)
    """
    others = LabelledRows.of_pair("candidates", candidates)
    cells = cells_of(estimator, X, y, others)
    chances = _prior(prior, absent, len(others))
    joint, factors = _joint(estimator, cells, len(others))
    is_wrong = np.array(list(np.ndindex(*joint.shape)), dtype=np.float64)
    likelihoods = [
        joint.ravel() * np.where(is_wrong[:, j], factors[0], 1.0) / factors[1 + j] for j in range(len(others))
    ]
    each = np.array([*likelihoods, joint.ravel()]) * chances[:, None]
    return ExactInference(joint, chances, float(each.max(axis=0).sum()))


def _joint(estimator: SearchEstimator, cells: Cells, n: int) -> tuple[Floats, Floats]:
    """Return the chances of all combinations of errors on `n` candidates in a draw without them, and some factors."""
    # Factors: a = e^(-w), and for each candidate the mean of a to the power of its error. The means of a to the power
    # of the errors in all subsets S are Z(rows and S) / Z(rows): each is that of S less one candidate j, times the mean
    # for j in a draw from the table with the others of S. They are the joint chances under the n-fold tensor power of
    # [[1, 1], [1, a]], which is inverted.
    means = np.ones((2,) * n)
    base = 0.0
    for subset in np.ndindex(*means.shape):
        if all(subset):
            break  # the last one
        draw = draw_probabilities(estimator, cells.joined([j for j in range(n) if subset[j]]))
        base = _base(draw, n)
        places = cells.n_members + np.arange(n)
        own = np.exp(-losses(draw, cells.classes[places]))
        mean = (draw.chances.values[cells.patterns[places]] * own).sum(axis=1)
        for j in range(n):
            if not subset[j]:
                more = (*subset[:j], 1, *subset[j + 1 :])
                means[more] = means[subset] * mean[j]
    joint = means
    inverse = np.array([[base, -1.0], [-1.0, 1.0]]) / (base - 1)
    for axis in range(n):
        joint = np.moveaxis(np.tensordot(inverse, joint, axes=(1, axis)), 0, axis)
    joint = np.maximum(joint, 0)
    single = [means[tuple(int(i == j) for i in range(n))] for j in range(n)]
    return joint / joint.sum(), np.array([base, *single])


def _base(draw: DrawProbabilities, n: int) -> float:
    if draw.for_counts or not np.isin(draw.loss.by_value, (0, draw.loss.steps)).all():
        raise ArgumentError(
            "expected a draw by errors without counts, got another one; set objective='errors' and "
            "release_counts=False."
        )
    base = float(np.exp(-float(draw.weight)))
    if (2 / (1 - base)) ** n > _WORST:
        raise ArgumentError(
            f"expected fewer candidates, or a larger epsilon, got {n} candidates and a weight of "
            f"{float(draw.weight):.3g}, which float64 cannot distinguish."
        )
    return base


def _prior(given: Sequence[float] | None, absent: Any, n: int) -> Floats:
    if not 1 <= n <= _MOST_CANDIDATES:
        raise ArgumentError(f"expected 1 to {_MOST_CANDIDATES} candidates, got {n}.")
    if isinstance(absent, bool) or not isinstance(absent, Real) or not 0 <= float(absent) < 1:
        raise ArgumentError("absent must be in [0, 1), got something else.")
    chances = [(1 - float(absent)) / n] * n if given is None else list(given)
    numbers = all(isinstance(p, Real) and not isinstance(p, bool) and 0 <= float(p) <= 1 for p in chances)
    if len(chances) != n or not numbers or abs(sum(chances) + float(absent) - 1) > 1e-9:
        raise ArgumentError(f"expected {n} chances of at least 0 that sum to 1 with that of absence, got others.")
    found = np.array([*chances, float(absent)], dtype=np.float64)
    if found.max() >= 1:
        raise ArgumentError("expected two or more candidates that are possible, or one that may be absent, got one.")
    return found / found.sum()


@dataclass(frozen=True, eq=False, repr=False)
class ExactInference:
    """The inference from one private draw about one row of known candidates. **Private**: a function of the rows.

    Attributes
    ----------
    joint : ndarray of shape (2,) * n_candidates
        The chance of each combination of errors on the candidates, in a draw from the other rows alone.
    prior : ndarray of shape (n_candidates + 1,)
        The chance of each candidate before the model is seen, and at the end that of none.
    success : float
        The chance that the best attacker guesses right.
    """

    joint: Floats
    prior: Floats
    success: float

    @property
    def baseline(self) -> float:
        """The chance of guessing right without a model: that of the likeliest candidate."""
        return float(self.prior.max())

    @property
    def advantage(self) -> float:
        """The share of the wrong guesses without a model that the model puts right, from 0 to 1.

        For one candidate that is absent with chance 1/2 it is the advantage of `exact_membership`, the difference of
        true and false positive rate; for two candidates that are equally likely the total variation.
        """
        return max((self.success - self.baseline) / (1 - self.baseline), 0.0)

    def __str__(self) -> str:
        return (
            f"success    {self.success:.4g} of the best attack, {self.baseline:.4g} without a model\n"
            f"advantage  {self.advantage:.4g}\n{PRIVATE}"
        )

    def __repr__(self) -> str:
        return f"<ExactInference among {len(self.prior) - 1} candidates; private>"
