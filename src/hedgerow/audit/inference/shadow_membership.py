"""Membership inference by shadow models: ROC curves with intervals over splits, and the separation of each row."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.stats import beta, binom
from scipy.stats import t as student

from hedgerow.audit.attack_record import RATES as RECORDED
from hedgerow.audit.attack_record import AttackMeasure, AttackResult
from hedgerow.audit.attack_subject import AttackSubject
from hedgerow.audit.inference.attacks import chosen_attack
from hedgerow.audit.inference.likelihood_ratio import OfflineLira, OfflineRmia, OnlineLira, Rmia
from hedgerow.audit.inference.membership import CONFIDENCE, FPR, PRIVATE, check_rate, curve
from hedgerow.audit.inference.targets import AttackTarget, ShadowAttack, Shadows, shadow_fits
from hedgerow.audit.plot import roc_band
from hedgerow.boundary.arguments import RandomState, check_integer, check_probability, generator
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError
from hedgerow.text.axes import Axes

SHADOW_ATTACKS: Mapping[str, Callable[[], ShadowAttack]]  # the attacks that can be selected by name
SHADOW_ATTACKS = {"online": OnlineLira, "offline": OfflineLira, "rmia": Rmia, "rmia-offline": OfflineRmia}
_ALARM = 0.01  # false-alarm rate of all intervals of true positive rates of a record together
RATES = (0.001, 0.01)  # false positive rates at which true positive rates are printed


@dataclass(frozen=True, eq=False, repr=False)
class ShadowMembership(AttackResult):
    """Result of an attack by shadow models. **Private**: a function of the rows.

    Each split has two fits, and each fit is attacked once. Every row is therefore scored once as a member and once as a
    non-member in each split; the curve pools the scores of all splits. **The unit of independence is a split**, not a
    row. Standard errors are computed by the jackknife over splits, which repeats the whole attack without each split.
    Intervals refer to random splits of *these* rows.

    Attributes
    ----------
    target, attack : str
        The attacked learner, and a description of the attack.
    shadows : Shadows
        The confidences of all fits.
    auc : float
        The area under the ROC curve: the probability that a member scores higher than a non-member; 0.5 is random
        guessing.
    fpr, tpr : ndarray of shape (n_rates,)
        False positive rates, logarithmically spaced from 1e-4 to 1, and the true positive rate at each.
    aucs, curves : ndarray of shape (n_splits,), (n_splits, n_rates)
        The area and the curve without each split.
    """

    kind = "lira"
    target: str
    attack: str
    shadows: Shadows
    auc: float
    tpr: Floats
    aucs: Floats
    curves: Floats
    fpr: Floats

    @classmethod
    def of(
        cls, target: str, attack: str | ShadowAttack, shadows: Shadows, subject: AttackSubject | None = None
    ) -> Self:
        """Return the result of an attack, which is repeated without each split."""
        method = chosen_attack(attack, SHADOW_ATTACKS, "a ShadowAttack", "shadows")
        tpr, auc = _rates(method, shadows)
        curves, aucs = zip(*(_rates(method, shadows.without(split)) for split in range(len(shadows))), strict=True)
        return cls(target, str(method), shadows, auc, tpr, np.array(aucs), np.array(curves), FPR, subject=subject)

    def by(self, attack: str | ShadowAttack) -> Self:
        """Return the result of another attack with the same fits. It raises the errors of `hedgerow.audit.lira`."""
        return self.of(self.target, attack, self.shadows, self.subject)

    @property
    def repeats(self) -> int:
        """The number of splits, each with two fits."""
        return len(self.shadows)

    @property
    def fewest_repeats(self) -> int:
        """The smallest number of splits with which `significant_rows` can return a row at a false-alarm rate of 5 %."""
        return math.ceil(math.log2(self.shadows.inside.shape[1] / 0.05))

    @property
    def finest_fpr(self) -> float:
        """The rate of a single false positive; below it, the curve is interpolated and not informative."""
        return 1 / self.shadows.outside.size

    @property
    def auc_standard_error(self) -> float:
        """The jackknife standard error of `auc` over random splits of these rows."""
        return float(np.sqrt(_jackknife(self.aucs)))

    @property
    def auc_interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of `auc`, by Student's t with `repeats` − 1 degrees of freedom."""
        half = student.ppf((1 + CONFIDENCE) / 2, self.repeats - 1) * self.auc_standard_error
        return max(float(self.auc - half), 0.0), min(float(self.auc + half), 1.0)

    @property
    def auc_p_value(self) -> float:
        """The one-sided p-value of `auc` under random guessing, at least ``2**-repeats``."""
        error = self.auc_standard_error
        p_value = float(student.sf((self.auc - 0.5) / error, self.repeats - 1)) if error else 0.0
        return max(p_value, 2.0**-self.repeats) if self.auc > 0.5 else max(p_value, 0.5)

    def tpr_at(self, fpr: float) -> float:
        """Return the true positive rate at a false positive rate, which must be at least `finest_fpr`."""
        scored = f"{self.shadows.outside.size} scores of non-members"
        check_rate(fpr, max(float(self.fpr[0]), self.finest_fpr), scored, "rows, or more repeats")
        return float(np.interp(fpr, self.fpr, self.tpr))

    def tpr_interval(self, fpr: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return a confidence interval of `tpr_at`, with the same errors.

        This is the Clopper-Pearson interval for the effective number of independent decisions (Korn and Graubard,
        Survey Methodology 24(2), 1998). This number follows from the variance over splits, which includes the choice of
        the threshold. The effective number lies between the numbers of splits and scores.
        """
        check_probability("confidence", confidence)
        share = self.tpr_at(fpr)
        without = np.array([np.interp(fpr, self.fpr, rates) for rates in self.curves])
        low, high = self._interval(np.array(share), _jackknife(without), confidence)
        return float(low), float(high)

    @property
    def tpr_band(self) -> tuple[Floats, Floats]:
        """The pointwise 95 % confidence interval of `tpr`."""
        return self._interval(self.tpr, _jackknife(self.curves), CONFIDENCE)

    def _interval(self, share: Floats, variance: Floats, confidence: float) -> tuple[Floats, Floats]:
        scores, splits, alarm = self.shadows.inside.size, self.repeats, (1 - confidence) / 2
        correction = (student.ppf(alarm, scores - 1) / student.ppf(alarm, splits - 1)) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            effective = np.where(variance > 0, share * (1 - share) / variance * correction, splits)
        size = np.clip(effective, splits, scores)
        hits = share * size
        with np.errstate(invalid="ignore"):
            low, high = beta.ppf(alarm, hits, size - hits + 1), beta.isf(alarm, hits + 1, size - hits)
        return np.where(hits > 0, low, 0.0), np.where(hits < size, high, 1.0)

    def by_row(self) -> pd.DataFrame:
        """Return the exposure of each row, which does not depend on the attack.

        `confidence_in` and `confidence_out` are the mean confidences in the row's label of fits with and without the
        row. `separation` ranges from −1 to 1. It is the share of splits in which the fit with the row is more
        confident, minus the share in which it is less confident. For models that predict labels only, it is the true
        minus the false positive rate of the guess that correctly classified rows are members. `p_value` is the p-value
        of the one-sided sign test.
        """
        inside, outside = self.shadows.inside, self.shadows.outside
        more, less = (inside > outside).sum(axis=0), (inside < outside).sum(axis=0)
        return pd.DataFrame(
            {
                "confidence_in": inside.mean(axis=0),
                "confidence_out": outside.mean(axis=0),
                "separation": (more - less) / self.repeats,
                "p_value": binom.sf(more - 1, more + less, 0.5),
            }
        )

    def worst(self, n: int = 10) -> pd.DataFrame:
        """Return the n rows with the largest separation; the index has their positions. See `significant_rows`."""
        check_integer("n", n, 1)
        return self.by_row().sort_values("separation", ascending=False, kind="stable").head(n)

    def significant_rows(self, alarm: float = 0.05) -> pd.DataFrame:
        """Return the rows with a significant separation, by sign tests of all rows with Holm's correction.

        The probability that a row is returned although the learner ignores it is at most `alarm`, for all rows
        together.
        """
        check_probability("alarm", alarm)
        rows = self.by_row().sort_values("p_value", kind="stable")
        refuted = rows["p_value"].to_numpy() <= alarm / np.arange(len(rows), 0, -1)
        return rows.head(int(refuted.cumprod().sum()))

    @property
    def _method(self) -> str:
        return self.attack

    def _measures(self) -> Iterator[AttackMeasure]:
        yield AttackMeasure("auc", self.auc, *self.auc_interval, CONFIDENCE, p_value=self.auc_p_value)
        together = 1 - _ALARM / len(RECORDED)  # Bonferroni
        for rate in RECORDED:
            if rate >= self.finest_fpr:
                yield AttackMeasure("tpr", self.tpr_at(rate), *self.tpr_interval(rate, together), together, rate)
        p_values = self.by_row()["p_value"].to_numpy()
        adjusted = min(float(p_values.min()) * len(p_values), 1.0)
        yield AttackMeasure("significant_rows", len(self.significant_rows()), p_value=adjusted)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the curve and its intervals with logarithmic axes, and return the axes."""
        caption = f"{self.attack}, on {self.target}. {self._design} AUC {self.auc:.3f}. {PRIVATE}"
        band = f"{100 * CONFIDENCE:.0f} % intervals over splits"
        return roc_band(self.fpr, self.tpr, self.tpr_band, band, self.finest_fpr, caption, ax)

    @property
    def _design(self) -> str:
        rows = self.shadows.inside.shape[1]
        return (
            f"{self.repeats} random splits of {rows} rows into halves, with {2 * self.repeats} fits; the fits of all "
            "other splits are the shadow models."
        )

    def __str__(self) -> str:
        low, high = self.auc_interval
        lines = [
            f"attack   {self.attack}",
            f"target   {self.target}",
            f"AUC      {self.auc:.3f} (0.5: random guessing), 95 % interval {low:.3f} to {high:.3f}",
        ]
        for rate in RATES:
            if rate >= self.finest_fpr:
                low, high = self.tpr_interval(rate)
                lines.append(
                    f"TPR      {100 * self.tpr_at(rate):.2g} % at FPR {100 * rate:g} %, "
                    f"95 % interval {100 * low:.2g} to {100 * high:.2g} %"
                )
        row, fewest = self.worst(1).iloc[0], self.fewest_repeats
        none = f"; with fewer than {fewest} splits no row can be significant" if self.repeats < fewest else ""
        lines += [
            f"rows     {len(self.significant_rows())} of {self.shadows.inside.shape[1]} rows are significantly exposed "
            f"(Holm); largest separation {row['separation']:.2f}{none}",
            f"splits   {self._design}",
            PRIVATE,
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ShadowMembership of {self.target} by {self.attack}: AUC {self.auc:.3f} over {self.repeats} splits>"


def _rates(attack: ShadowAttack, shadows: Shadows) -> tuple[Floats, float]:
    members, others = attack.scores(shadows)
    return curve(members.ravel(), others.ravel())


def _jackknife(without: Floats) -> Floats:
    """Return the jackknife variance of an estimate from the estimates without each split, ``(n_splits, ...)``."""
    splits = len(without)
    return (splits - 1) / splits * ((without - without.mean(axis=0)) ** 2).sum(axis=0)


_FEWEST = 5  # splits; the jackknife omits a split, and an attack on one of the other four splits learns from three
_FEWEST_ROWS = 20


def lira(
    target: Any,
    X: Any,
    y: Any,
    *,
    attack: str | ShadowAttack = "online",
    repeats: int = 32,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> ShadowMembership:
    """Attack a learner by likelihood ratios from shadow models, which are fitted on random halves of a table.

    The attacker knows the rows, their labels and the learner, can refit it, and sees the attacked model as a black box.
    Each split assigns every row to one of two halves with probability 1/2, and the learner is fitted on each half.
    Every fit is attacked once. The fits of all *other* splits are its shadow models, so half of the shadow models
    contain the row. `ShadowMembership` has the ROC curve and the exposure of each row; its method `by` repeats the
    analysis with another attack on the same fits. An attack that fails proves nothing, whereas differential privacy
    bounds all attacks. If the model is drawn as a whole, `exact_membership` computes the best attack instead. **The
    result is private**, like the result of `membership`.

    Parameters
    ----------
    target, X, y, random_state, n_jobs, verbose
        As in `membership`. The attack uses the target's `predict_proba`, or its `predict` if it has no probabilities.
    attack : {"online", "offline", "rmia", "rmia-offline"} or ShadowAttack, default="online"
        "online" (`OnlineLira`) uses shadow models with and without the row; "offline" (`OfflineLira`) uses only models
        without it. "rmia" and "rmia-offline" (`Rmia`, `OfflineRmia`) compare the row with other rows.
    repeats : int, default=32
        The number of splits, each with two fits; at least 5. A row that every split separates has the p-value
        ``2**-repeats``, so for 1,000 rows at least 15 splits are needed to find a significant row.

    Raises
    ------
    ValueError, TypeError
        The same errors as `membership`, and ValueError if there are fewer than 20 rows.

    References
    ----------
    See `OnlineLira` and `Rmia`. The code of the authors of RMIA excludes the other fit of a split, too.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    >>> result = hr.audit.lira(DecisionTreeClassifier(), X, y, repeats=8, random_state=0)
    >>> result.auc > 0.7, result.by("rmia").auc > 0.7  # a fully grown tree memorises its training rows
    (True, True)
    """
    method = chosen_attack(attack, SHADOW_ATTACKS, "a ShadowAttack", "shadows")
    check_integer("repeats", repeats, _FEWEST)
    learner = AttackTarget.of(target, X, y, seeded=random_state is not None)
    if len(learner.rows) < _FEWEST_ROWS:
        raise ArgumentError(f"at least {_FEWEST_ROWS} rows are needed, since a random half could be empty.")
    shadows = shadow_fits(learner, generator(random_state).spawn(repeats), n_jobs, verbose=verbose)
    return ShadowMembership.of(learner.name, method, shadows, learner.subject)
