"""Membership inference attacks on a learner over repeated random splits, with ROC curves."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, roc_curve

from hedgerow.audit.attack_record import RATES, AttackMeasure, AttackResult
from hedgerow.audit.inference.attacks import Attack, Attempt, LabelOnlyAttack, RandomForestAttack, chosen_attack
from hedgerow.audit.inference.labelled import label_values, predicts_numbers
from hedgerow.audit.inference.targets import AttackTarget, check_known
from hedgerow.audit.plot import roc_band
from hedgerow.boundary.arguments import RandomState, check_integer, generator
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError
from hedgerow.models.released import released_model
from hedgerow.text.axes import Axes
from hedgerow.text.messages import describe_argument

FPR: Floats = np.geomspace(1e-4, 1, 201)  # false positive rates of stored curves: 50 for each decade
FPR.setflags(write=False)
CONFIDENCE = 0.95  # confidence level of intervals
BAND = (0.05, 0.95)  # quantiles over splits that bound intervals and bands
PRIVATE = "A function of the rows: for the curator's eyes only, not for release."
ATTACKS: Mapping[str, Callable[[], Attack]] = {"random-forest": RandomForestAttack, "label-only": LabelOnlyAttack}
"""The attacks that can be selected by name."""
_TRAINED, _KNOWN = 0.5, 0.7
"""The share of rows that are members, and the share of members and non-members that the attacker knows, as in SSRL."""


def membership(
    target: Any,
    X: Any,
    y: Any,
    *,
    attack: str | Attack = "random-forest",
    repeats: int = 100,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> "Membership":
    """Attack a learner by membership inference: fit it on random halves of a table, and infer the training rows.

    Each repeat splits the rows at random into members and equally many non-members, and fits the target on all members.
    The attacker knows the membership of 70 % of the rows of both sets, and scores the remaining rows, from which the
    ROC curve is computed. These are the splits of SSRL's Figure 5, with the shares of its released code. An attack that
    fails proves nothing, whereas differential privacy bounds all attacks.

    **The result is private**: a function of the rows, for the curator's eyes only. So are the models fitted for the
    attack. They are not released, so a target that would charge several fits to the same `Budget` raises an error.

    Parameters
    ----------
    target : estimator or callable
        The learner to attack: an unfitted estimator, which is cloned, or a function that returns an unfitted estimator.
    X, y : frame or array of shape (n_rows, n_attributes), and series or array of shape (n_rows,)
        The rows, as the target's `fit` accepts them, and their labels or numbers.
    attack : {"random-forest", "label-only"} or Attack, default="random-forest"
        The attack. `RandomForestAttack` and `LabelOnlyAttack` document the two named attacks and have options.
    repeats : int, default=100
        The number of splits, each with a fit and an attack.
    random_state : int, RandomState, Generator or None, default=None
        Makes the result reproducible for every `n_jobs`. A seed is also set for parameters of the target that are named
        ``random_state`` and are None: the noise of private learners is then seeded.
    n_jobs, verbose : int, optional, and bool, default=False
        The number of processes, as in scikit-learn: None is one, -1 is all; whether to show progress on stderr.

    Raises
    ------
    ValueError
        If a parameter is out of range, lengths disagree, there are too few rows to split, or fits would share a budget.
        If labels are missing, have only one class, or are never predicted by the target. Errors of `fit` are passed on.
    TypeError
        If the target has no `fit` and `predict`, or the attack has no `scores`.

    References
    ----------
    Shokri et al., *Membership Inference Attacks Against Machine Learning Models*, S&P 2017. Ly et al. (SSRL), *Smooth
    Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, Appendix C.2, Figures 5 and 6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(400, 5)), rng.integers(2, size=400)
    >>> result = hr.audit.membership(DecisionTreeClassifier(), X, y, repeats=3, random_state=0)
    >>> result.auc > 0.6  # a fully grown tree memorises its training rows
    True
    """
    method = chosen_attack(attack, ATTACKS, "an Attack", "attempt")
    check_integer("repeats", repeats, 1)
    learner = AttackTarget.of(target, X, y, seeded=random_state is not None)
    sizes = _sizes(len(learner.rows))
    generators = generator(random_state).spawn(repeats)
    curves, aucs = learner.repeated(partial(_trial, method, sizes), generators, n_jobs, verbose=verbose)
    return Membership(learner.name, str(method), sizes, curves, aucs, subject=learner.subject)


def _trial(
    attack: Attack, sizes: tuple[int, int, int, int], target: AttackTarget, rng: np.random.Generator
) -> tuple[Floats, float]:
    rows = target.rows
    known, known_others, members, others = np.split(rng.permutation(len(rows)), np.cumsum(sizes)[:-1])
    fitted = target.fitted(np.concatenate([known, members]), rng)

    def predict(table: Any) -> Any:
        return label_values(fitted.predict(table))

    predictions = predict(rows.X(np.arange(len(rows))))
    check_known(fitted, rows, predictions)
    model = released_model(fitted)
    schema = None if model is None else model.schema
    suspects = np.concatenate([members, others])
    attempt = Attempt(rows, predict, predictions, known, known_others, suspects, schema, rng, predicts_numbers(fitted))
    scores = np.asarray(attack.scores(attempt), dtype=np.float64)
    return curve(scores[: len(members)], scores[len(members) :])


def _sizes(n: int) -> tuple[int, int, int, int]:
    """Return the number of known members, known non-members, members to score, and non-members to score."""
    members = int(n * _TRAINED)
    known, known_others = int(members * _KNOWN), int((n - members) * _KNOWN)
    sizes = known, known_others, members - known, n - members - known_others
    if min(sizes) < 1:
        problem = "too few rows to split into known and unknown members and non-members"
        raise ArgumentError(f"{problem}; each of these four sets needs at least one row.")
    return sizes


@dataclass(frozen=True, eq=False, repr=False)
class Membership(AttackResult):
    """ROC curves and AUCs of a membership inference attack. **Private**: a function of the rows.

    Attributes
    ----------
    target, attack : str
        The attacked learner, and a description of the attack.
    sizes : tuple of int
        Numbers of rows in each split: known members, known non-members, members to score, non-members to score.
    curves, aucs : ndarray of shape (n_repeats, len(fpr)), (n_repeats,)
        The true positive rate of each split at each rate in `fpr`; the area under the ROC curve of each split.
    fpr : ndarray
        False positive rates, logarithmically spaced from 1e-4 to 1.
    """

    kind = "membership"
    target: str
    attack: str
    sizes: tuple[int, int, int, int]
    curves: Floats
    aucs: Floats
    fpr: Floats = field(default_factory=lambda: FPR)

    def __post_init__(self) -> None:
        if self.curves.shape != (len(self.aucs), len(self.fpr)) or not len(self.aucs):
            raise ArgumentError("curves must have the shape (n_repeats, len(fpr)), and aucs the shape (n_repeats,).")

    @property
    def repeats(self) -> int:
        """The number of splits, each with a fit and an attack."""
        return len(self.aucs)

    @property
    def tpr(self) -> Floats:
        """The mean true positive rate at each rate in `fpr`."""
        return self.curves.mean(axis=0)

    @property
    def tpr_band(self) -> tuple[Floats, Floats]:
        """The pointwise 5 % and 95 % quantiles of the curves over the splits."""
        low, high = np.quantile(self.curves, BAND, axis=0)
        return low, high

    @property
    def auc(self) -> float:
        """The mean area under the curve over the splits; 0.5 is random guessing."""
        return float(self.aucs.mean())

    @property
    def auc_interval(self) -> tuple[float, float]:
        """The 5 % and 95 % quantiles of the areas over the splits."""
        low, high = np.quantile(self.aucs, BAND)
        return float(low), float(high)

    @property
    def auc_confidence(self) -> tuple[float, float]:
        """A 95 % confidence interval of the area for one split (Hanley and McNeil); a mean of splits varies less."""
        auc, (_, _, members, others) = self.auc, self.sizes
        both, pairs = auc / (2 - auc), 2 * auc**2 / (1 + auc)
        squared = auc * (1 - auc) + (members - 1) * (both - auc**2) + (others - 1) * (pairs - auc**2)
        half = float(norm.isf((1 - CONFIDENCE) / 2)) * sqrt(squared / (members * others))
        return max(auc - half, 0.0), min(auc + half, 1.0)

    @property
    def auc_standard_error(self) -> float:
        """The standard error of `auc` over random splits of these rows; NaN for a single split."""
        return float(self.aucs.std(ddof=1) / np.sqrt(self.repeats)) if self.repeats > 1 else float("nan")

    @property
    def finest_fpr(self) -> float:
        """The false positive rate of a single non-member; below it, curves are interpolated and not informative."""
        return 1 / self.sizes[3]

    def tpr_at(self, fpr: float) -> float:
        """Return the mean true positive rate at a false positive rate, which must be at least `finest_fpr`."""
        check_rate(fpr, max(float(self.fpr[0]), self.finest_fpr), f"{self.sizes[3]} non-members", "rows")
        return float(np.interp(fpr, self.fpr, self.tpr))

    @property
    def _method(self) -> str:
        return self.attack

    def _measures(self) -> Iterator[AttackMeasure]:
        _, _, members, others = self.sizes
        error = sqrt((members + others + 1) / (12 * members * others))  # the variance of one split, for random guesses
        p_value = float(norm.sf((self.auc - 0.5) / error))
        yield AttackMeasure("auc", self.auc, *self.auc_confidence, CONFIDENCE, p_value=p_value)
        for rate in RATES:
            if rate >= self.finest_fpr:
                yield AttackMeasure("tpr", self.tpr_at(rate), at=rate)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the mean curve and its band with logarithmic axes, and return the axes."""
        caption = f"{self.attack}, on {self.target}. {self._splits} AUC {self.auc:.3f}. {PRIVATE}"
        name = f"90 % of {self.repeats} splits"
        return roc_band(self.fpr, self.tpr, self.tpr_band, name, self.finest_fpr, caption, ax)

    @property
    def _splits(self) -> str:
        known, known_others, members, others = self.sizes
        return (
            f"{self.repeats} random splits, each into {known + members} members and {known_others + others} "
            f"non-members; the attacker knows {known} + {known_others} of these and is tested on the remaining "
            f"{members} + {others}."
        )

    def __str__(self) -> str:
        low, high = self.auc_interval
        lines = [
            f"attack   {self.attack}",
            f"target   {self.target}",
            f"AUC      {self.auc:.3f} (0.5: random guessing), standard error {self.auc_standard_error:.3f}; "
            f"90 % of splits between {low:.3f} and {high:.3f}",
        ]
        rates = [rate for rate in RATES if rate >= self.finest_fpr]
        lines += [
            f"TPR      {100 * self.tpr_at(rate):.2g} % at FPR {100 * rate:g} % (random guessing: {100 * rate:g} %)"
            for rate in rates
        ]
        if len(rates) < len(RATES):
            finest = f"FPR below {100 * self.finest_fpr:.3g} % cannot be measured with {self.sizes[3]} non-members"
            lines.append(f"         {finest}")
        return "\n".join([*lines, f"splits   {self._splits}", PRIVATE])

    def __repr__(self) -> str:
        return f"<Membership of {self.target} by {self.attack}: AUC {self.auc:.3f} over {self.repeats} splits>"


def curve(members: Floats, others: Floats) -> tuple[Floats, float]:
    """Return the true positive rates at `FPR` and the AUC, from the scores of members and non-members."""
    # Linear interpolation between thresholds corresponds to random decisions on equal scores. If several points have
    # the same false positive rate, the highest point is used.
    truth = np.repeat([1, 0], [len(members), len(others)])
    scores = np.concatenate([members, others])
    fpr, tpr, _ = roc_curve(truth, scores, drop_intermediate=False)
    return np.interp(FPR, fpr, tpr), float(roc_auc_score(truth, scores))


def check_rate(fpr: float, finest: float, scored: str, more: str) -> None:
    """Raise ArgumentError if a false positive rate cannot be measured; `more` is what would make it measurable."""
    if not finest <= fpr <= 1:
        problem = f"fpr must be between {finest:.3g} and 1, got {describe_argument(fpr)}"
        raise ArgumentError(f"{problem}. Lower rates cannot be measured with {scored}; audit more {more}.")
