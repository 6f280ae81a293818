"""Exact inference about one row, by an attacker who knows all other rows and some candidates for this one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from numbers import Real
from operator import mul
from typing import Any

import numpy as np

from hedgerow.audit.attack_record import AttackMeasure, AttackResult
from hedgerow.audit.attack_subject import AttackSubject
from hedgerow.audit.exact.membership import Drawn, cells_of, drawn_learner, whole_weight
from hedgerow.audit.exact.outcomes import Cells, number_chances, repeated
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.inference.membership import PRIVATE
from hedgerow.boundary.arguments import check_integer, check_share
from hedgerow.boundary.arrays import Floats, Index, Mask
from hedgerow.errors import ArgumentError
from hedgerow.learn.searches import SearchSpecification, draw_probabilities

_MOST_PASSES = 1_000
_MOST_LIKELIHOODS = 10_000_000
_NEGLIGIBLE = 1e-40  # combinations with a probability below this number times e^(−weight) are omitted
_LEAST_WEIGHT = 1e-5  # a smaller weight needs too many rows to condition a draw


def exact_inference(
    estimator: Drawn,
    X: Any,
    y: Any,
    *,
    candidates: tuple[Any, Any],
    prior: Sequence[float] | None = None,
    absent: float = 0.0,
    n_models: int = 1,
) -> "ExactInference":
    """Compute how often the best attacker guesses which of several candidates is in the table of a private fit.

    The attacker knows the learner, its parameters, the schema, **all other rows** and the probability of each
    candidate, and sees the released model. The candidates determine the kind of attack:

    - candidates that differ in one attribute: attribute inference;
    - candidates that differ in the label or number: label inference;
    - candidates that differ in everything: reconstruction of a row;
    - one candidate that may be absent: membership inference.

    **The result is private**: an exact function of the rows, like the result of `exact_membership`.

    Parameters
    ----------
    estimator, X, y
        As in `exact_membership`; the rows that the attacker knows.
    candidates : tuple of X and y
        Candidate rows with their labels or numbers. At most one candidate is in the table in addition to `X`.
        Candidates that differ only in their label take one pass over the table. For n candidates with different
        attributes, each with k possible losses, the number of passes is about k to the power of n − 1. If counts or
        means of leaves are released, the candidates must not differ in an attribute.
    prior : sequence of float, optional
        The probability of each candidate before the model is seen; together with `absent` they sum to 1. Default:
        equal probabilities.
    absent : float, default=0
        The probability that no candidate is in the table.
    n_models : int, default=1
        Number of independent fits of the same table that the attacker sees, each with the estimator's ε.

    Raises
    ------
    ValueError, TypeError
        The same errors as `exact_membership`, and ValueError if the probabilities do not sum to 1 or there are too many
        candidates.

    References
    ----------
    Salem et al., *SoK: Let the Privacy Games Begin!*, IEEE S&P 2023, for the game. Cherubin et al., *Closed-Form Bounds
    for DP-SGD against Record-level Inference*, USENIX Security 2024; Chatzikokolakis et al., *Bayes Security: A Not So
    Average Metric*, CSF 2023: Bayes security is the minimum over all priors of 1 minus the advantage.

    Examples
    --------
    >>> import hedgerow as hr
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 1, 0])
    >>> learner = hr.PrivateTreeClassifier(epsilon=2.0, max_depth=1, release_counts=False)
    >>> inference = exact_inference(learner, X, y, candidates=(np.array([[0, 0], [1, 0]]), [1, 1]))
    >>> inference.baseline, round(inference.success, 3), round(inference.advantage, 3)
    (0.5, 0.665, 0.33)
    """
    rows = LabelledRows.of_pair("candidates", candidates)
    learner = drawn_learner(estimator)
    cells = cells_of(learner, X, y, rows)
    probabilities, n = _prior(prior, absent, len(rows)), check_integer("n_models", n_models, 1)
    joint = _JointLosses(learner, cells)
    numbers = joint.numbers()
    joint.enumerate({}, 1.0, np.zeros(len(rows)))
    combinations, shares = np.array(joint.losses), np.array(joint.probabilities)
    shares /= shares.sum()
    evidence = np.exp(-joint.weight * combinations)
    likelihoods = np.column_stack([shares[:, None] * evidence / (shares @ evidence), shares])
    outcomes = repeated((numbers * likelihoods[:, None]).reshape(-1, len(probabilities)), n)
    subject = AttackSubject.of(estimator, LabelledRows.of(X, y), candidates=rows, uses_seed=False)
    success = float((outcomes * probabilities).max(axis=1).sum())
    return ExactInference(combinations, shares, probabilities, success, outcomes, n, subject=subject)


class _JointLosses:
    """Joint distribution of the candidates' losses in a draw without them. Exact and private."""

    # The likelihood of a candidate depends only on its loss. So the values of a leaf form groups in which every
    # candidate of the same pattern has the same loss. A draw gives the probabilities of the groups of the first
    # pattern; a draw conditioned on one of these groups gives the probabilities of the groups of the second, and so on.

    def __init__(self, learner: SearchSpecification, cells: Cells) -> None:
        self._learner, self._tally = learner, cells.tally
        self._base = draw_probabilities(learner, cells.tally)
        self.weight = whole_weight(self._base, cells.tally.schema)
        self.losses, self.probabilities = list[Floats](), list[float]()
        patterns, levels, steps = (codes[cells.n_members :] for codes in (cells.patterns, cells.levels, cells.steps))
        self._levels = levels
        table, shares = self._base.loss.by_value / self._base.loss.steps, steps / cells.tally.schema.steps
        self._parts: list[tuple[int, Mask, Floats, Index]] = []
        for pattern in np.unique(patterns):
            members = np.flatnonzero(patterns == pattern)
            losses, groups = np.unique(table[:, levels[members]] * shares[members], axis=0, return_inverse=True)
            self._parts.append((pattern, groups.reshape(-1) == np.arange(len(losses))[:, None], losses, members))
        self._parts.sort(key=lambda part: len(part[1]))
        self._check()

    def _check(self) -> None:
        if self._base.counts_epsilon and len(self._parts) > 1:
            problem = "candidates that differ in an attribute are not supported if counts or means of leaves are"
            advice = "set release_counts=False (and release_means=False for a regressor)"
            raise ArgumentError(f"{problem} released; {advice}.")
        passes = sum(accumulate((len(part[1]) for part in self._parts[:-1]), mul, initial=1))
        if passes > _MOST_PASSES:
            problem = f"these candidates need {passes:,} passes over the table, and the limit is {_MOST_PASSES:,}"
            raise ArgumentError(f"{problem}; use fewer candidates that differ in an attribute.")
        if len(self._parts) > 1 and self.weight < _LEAST_WEIGHT:
            problem = f"candidates that differ in an attribute need a draw with a weight of at least {_LEAST_WEIGHT:g}"
            raise ArgumentError(f"{problem}, got {self.weight:.3g}; use a larger epsilon.")

    def numbers(self) -> Floats:
        """Return likelihoods of the candidates' released leaf numbers, ``(n_outcomes, n_candidates + 1)``."""
        values = np.vstack([self._base.added[self._levels], np.zeros_like(self._base.added[:1])])
        size = prod((np.ptp(values, axis=0) + 1).tolist()) * len(values)
        if size > _MOST_LIKELIHOODS:
            raise ArgumentError(
                f"the released counts or means of leaves have {size:,} likelihoods, and the limit is "
                f"{_MOST_LIKELIHOODS:,}; use fewer candidates, or set release_counts=False (and release_means=False "
                "for a regressor)."
            )
        likelihoods = np.ones((1, len(values)))
        for column in values.T:
            likelihoods = (likelihoods[:, None] * number_chances(column, self._base.step)).reshape(-1, len(values))
        return likelihoods

    def enumerate(self, condition: dict[int, Mask], probability: float, losses: Floats) -> None:
        """Add all combinations that extend groups of the first patterns, whose joint probability is given."""
        pattern, groups, group_losses, members = self._parts[len(condition)]
        draw = draw_probabilities(self._learner, self._tally, condition) if condition else self._base
        for group, amounts in zip(groups, group_losses, strict=True):
            share = probability * float(draw.chances.values[pattern] @ group)
            if share < _NEGLIGIBLE * np.exp(-self.weight):
                continue
            extended = losses.copy()
            extended[members] = amounts
            if len(condition) + 1 < len(self._parts):
                self.enumerate({**condition, pattern: group}, share, extended)
            else:
                self.losses.append(extended)
                self.probabilities.append(share)


def _prior(prior: Sequence[float] | None, absent: Any, n: int) -> Floats:
    if not n:
        raise ArgumentError("candidates must contain at least one row, got none.")
    check_share("absent", absent)
    shares = [(1 - float(absent)) / n] * n if prior is None else list(prior)
    are_shares = all(isinstance(p, Real) and not isinstance(p, bool) and 0 <= float(p) <= 1 for p in shares)
    if len(shares) != n or not are_shares or abs(sum(shares) + float(absent) - 1) > 1e-9:
        raise ArgumentError(f"prior must be {n} probabilities >= 0 (one per candidate) that sum to 1 - absent.")
    probabilities = np.array([*shares, float(absent)], dtype=np.float64)
    if probabilities.max() >= 1:
        raise ArgumentError("one candidate has probability 1; pass two possible candidates, or set absent above 0.")
    return probabilities / probabilities.sum()


@dataclass(frozen=True, eq=False, repr=False)
class ExactInference(AttackResult):
    """Exact success of the best inference about one row from private draws. **Private**: a function of the rows.

    Attributes
    ----------
    losses, joint : ndarray of shape (n_combinations, n_candidates), (n_combinations,)
        The possible combinations of the candidates' losses, which are numbers from 0 to 1 (0 or 1 for errors). `joint`
        has the probability of each combination in a draw from the other rows alone.
    prior : ndarray of shape (n_candidates + 1,)
        The probability of each candidate before the model is seen; the last entry is the probability of no candidate.
    success : float
        The probability that the best attacker guesses correctly; includes released counts or means of leaves.
    likelihoods : ndarray of shape (n_outcomes, n_candidates + 1)
        The probability of each distinguishable outcome with each candidate; the last column is without a candidate.
    n_models : int
        Number of independent fits that the attacker sees.
    """

    kind = "exact-inference"
    losses: Floats
    joint: Floats
    prior: Floats
    success: float
    likelihoods: Floats
    n_models: int = 1

    @property
    def baseline(self) -> float:
        """The probability of a correct guess without a model: the largest prior probability."""
        return float(self.prior.max())

    @property
    def advantage(self) -> float:
        """The share of wrong guesses that the model corrects, from 0 to 1.

        For two equally probable candidates this is the total variation distance.
        """
        return max((self.success - self.baseline) / (1 - self.baseline), 0.0)

    @property
    def _method(self) -> str:
        return f"the best guess among {len(self.prior) - 1} candidates, computed"

    def _measures(self) -> Iterator[AttackMeasure]:
        yield AttackMeasure("success", min(self.success, 1.0))
        yield AttackMeasure("baseline", self.baseline)
        yield AttackMeasure("advantage", min(self.advantage, 1.0))
        yield AttackMeasure("models", self.n_models)

    def __str__(self) -> str:
        return (
            f"success    best attack correct with probability {self.success:.4g}; without a model {self.baseline:.4g}\n"
            f"advantage  {self.advantage:.4g} (share of the wrong guesses that the model corrects)\n{PRIVATE}"
        )

    def __repr__(self) -> str:
        return f"<ExactInference among {len(self.prior) - 1} candidates; private>"
