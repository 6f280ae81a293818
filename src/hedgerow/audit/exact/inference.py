"""Exact attribute inference: the best inference about one row by an attacker who knows all others, and candidates."""

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
_NEGLIGIBLE = 1e-40  # the chance, times e^(−weight), of combinations that are left out
_LEAST_WEIGHT = 1e-5  # below it the rows that condition a draw are too many


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
    """Compute how often the best attacker guesses which of some candidates is in a table, from private fits.

    The attacker knows the learner, all its parameters, the schema, **all other rows** and the chance of each candidate,
    and sees the released model. Candidates that differ in one attribute make this attribute inference; in the label, or
    the number, label inference; in everything reconstruction; one candidate that may be absent membership inference.
    **The result is private**, as that of `exact_membership`.

    Parameters
    ----------
    estimator, X, y
        As in `exact_membership`; the rows are those that the attacker knows.
    candidates : tuple of X and y
        Rows with their labels, or numbers, one of which is in the table besides. Those that differ in their label
        alone take one pass over the table; n different rows, of which each may lose k amounts, about k to the power of
        n − 1 passes. If counts or means of leaves are released, they must not differ in an attribute.
    prior : sequence of float, optional
        The chance of each candidate before the model is seen; they and `absent` sum to 1. Default: all alike.
    absent : float, default=0
        The chance that none is in the table.
    n_models : int, default=1
        Independent fits of the same table, each for the estimator's ε, which the attacker sees together.

    Raises
    ------
    ValueError, TypeError
        As `exact_membership` does, and if the chances do not sum to 1, or there are too many candidates.

    References
    ----------
    Salem et al., *SoK: Let the Privacy Games Begin!*, IEEE S&P 2023, for the game. Cherubin et al., *Closed-Form Bounds
    for DP-SGD against Record-level Inference*, USENIX Security 2024; Chatzikokolakis et al., *Bayes Security: A Not So
    Average Metric*, CSF 2023: Bayes security is the least of 1 less the advantage over all priors.

    Examples
    --------
    >>> import hedgerow as hr
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 1, 0])
    >>> learner = hr.PrivateTreeClassifier(epsilon=2.0, max_depth=1, release_counts=False)
    >>> found = exact_inference(learner, X, y, candidates=(np.array([[0, 0], [1, 0]]), [1, 1]))
    >>> found.baseline, round(found.success, 3), round(found.advantage, 3)
    (0.5, 0.665, 0.33)
    """
    others = LabelledRows.of_pair("candidates", candidates)
    learner = drawn_learner(estimator)
    cells = cells_of(learner, X, y, others)
    chances, n = _prior(prior, absent, len(others)), check_integer("n_models", n_models, 1)
    joint = _Joint(learner, cells)
    numbers = joint.numbers()
    joint.find({}, 1.0, np.zeros(len(others)))
    lost, shares = np.array(joint.losses), np.array(joint.chances)
    shares /= shares.sum()
    evidence = np.exp(-joint.weight * lost)
    likelihoods = np.column_stack([shares[:, None] * evidence / (shares @ evidence), shares])
    each = (numbers * likelihoods[:, None]).reshape(-1, len(chances))
    outcomes = repeated(each, n)
    subject = AttackSubject.of(estimator, LabelledRows.of(X, y), candidates=others, uses_seed=False)
    success = float((outcomes * chances).max(axis=1).sum())
    return ExactInference(lost, shares, chances, success, outcomes, n, subject=subject)


class _Joint:
    """The combinations of losses of candidates, with their chances in a draw without them. Exact, private."""

    # The likelihood of a candidate depends on its loss alone, so that its leaf's values fall into groups of equal
    # losses of all candidates of the same pattern. The chances of the groups of one pattern are known from a draw;
    # those of the next, given a group of the first, from a draw conditioned on that, and so on.

    def __init__(self, learner: SearchSpecification, cells: Cells) -> None:
        self._learner, self._tally = learner, cells.tally
        self._base = draw_probabilities(learner, cells.tally)
        self.weight = whole_weight(self._base, cells.tally.schema)
        self.losses, self.chances = list[Floats](), list[float]()
        patterns, levels, steps = (part[cells.n_members :] for part in (cells.patterns, cells.levels, cells.steps))
        self._levels = levels
        table, shares = self._base.loss.by_value / self._base.loss.steps, steps / cells.tally.schema.steps
        self._parts: list[tuple[int, Mask, Floats, Index]] = []
        for pattern in np.unique(patterns):
            own = np.flatnonzero(patterns == pattern)
            lost, groups = np.unique(table[:, levels[own]] * shares[own], axis=0, return_inverse=True)
            self._parts.append((pattern, groups.reshape(-1) == np.arange(len(lost))[:, None], lost, own))
        self._parts.sort(key=lambda part: len(part[1]))
        self._check()

    def _check(self) -> None:
        if self._base.counts_epsilon and len(self._parts) > 1:
            problem = "expected candidates with the same attributes, or a draw alone, got others, and counts or means"
            raise ArgumentError(f"{problem} of leaves; set release_counts=False, and release_means=False of numbers.")
        passes = sum(accumulate((len(part[1]) for part in self._parts[:-1]), mul, initial=1))
        if passes > _MOST_PASSES:
            problem = f"expected candidates whose joint chances take {_MOST_PASSES:,} passes over the table at most"
            raise ArgumentError(f"{problem}, got {passes:,}; use fewer candidates that differ in an attribute.")
        if len(self._parts) > 1 and self.weight < _LEAST_WEIGHT:
            problem = f"expected a weight of {_LEAST_WEIGHT:g} or more for candidates that differ in an attribute"
            raise ArgumentError(f"{problem}, got {self.weight:.3g}; use a larger epsilon.")

    def numbers(self) -> Floats:
        """Return the chances of what is released of the candidates' leaf, by who is there, ``(n_outcomes, n + 1)``."""
        values = np.vstack([self._base.added[self._levels], np.zeros_like(self._base.added[:1])])
        size = prod((np.ptp(values, axis=0) + 1).tolist()) * len(values)
        if size > _MOST_LIKELIHOODS:
            raise ArgumentError(
                f"expected {_MOST_LIKELIHOODS:,} likelihoods of released numbers at most, got {size:,}; use fewer "
                "candidates, or set release_counts=False, and release_means=False of numbers."
            )
        found = np.ones((1, len(values)))
        for column in values.T:
            found = (found[:, None] * number_chances(column, self._base.step)).reshape(-1, len(values))
        return found

    def find(self, given: dict[int, Mask], chance: float, lost: Floats) -> None:
        """Add all combinations that go on from those groups of the first patterns, which have this chance."""
        pattern, groups, losses, own = self._parts[len(given)]
        draw = draw_probabilities(self._learner, self._tally, given) if given else self._base
        for group, amounts in zip(groups, losses, strict=True):
            share = chance * float(draw.chances.values[pattern] @ group)
            if share < _NEGLIGIBLE * np.exp(-self.weight):
                continue
            more = lost.copy()
            more[own] = amounts
            if len(given) + 1 < len(self._parts):
                self.find({**given, pattern: group}, share, more)
            else:
                self.losses.append(more)
                self.chances.append(share)


def _prior(given: Sequence[float] | None, absent: Any, n: int) -> Floats:
    if not n:
        raise ArgumentError("expected one candidate or more, got none.")
    check_share("absent", absent)
    chances = [(1 - float(absent)) / n] * n if given is None else list(given)
    numbers = all(isinstance(p, Real) and not isinstance(p, bool) and 0 <= float(p) <= 1 for p in chances)
    if len(chances) != n or not numbers or abs(sum(chances) + float(absent) - 1) > 1e-9:
        raise ArgumentError(f"expected {n} chances of at least 0 that sum to 1 with that of absence, got others.")
    found = np.array([*chances, float(absent)], dtype=np.float64)
    if found.max() >= 1:
        raise ArgumentError("expected two or more candidates that are possible, or one that may be absent, got one.")
    return found / found.sum()


@dataclass(frozen=True, eq=False, repr=False)
class ExactInference(AttackResult):
    """The inference from one private draw about one row of known candidates. **Private**: a function of the rows.

    Attributes
    ----------
    losses, joint : ndarray of shape (n_combinations, n_candidates), (n_combinations,)
        The combinations of losses of the candidates, from 0 to 1, that a model can have (of errors, 0 and 1), and the
        chance of each in a draw from the other rows alone.
    prior : ndarray of shape (n_candidates + 1,)
        The chance of each candidate before the model is seen, and at the end that of none.
    success : float
        The chance that the best attacker guesses right, who sees the counts or means of leaves, too, if released.
    likelihoods : ndarray of shape (n_outcomes, n_candidates + 1)
        The chances of all outcomes that a test needs, with each candidate and, at the end, without any.
    n_models : int
        The independent fits that the attacker sees together.
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
        """The chance of guessing right without a model: that of the likeliest candidate."""
        return float(self.prior.max())

    @property
    def advantage(self) -> float:
        """The share of wrong guesses that the model puts right, from 0 to 1; of two alike ones the total variation."""
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
            f"success    {self.success:.4g} of the best attack, {self.baseline:.4g} without a model\n"
            f"advantage  {self.advantage:.4g}\n{PRIVATE}"
        )

    def __repr__(self) -> str:
        return f"<ExactInference among {len(self.prior) - 1} candidates; private>"
