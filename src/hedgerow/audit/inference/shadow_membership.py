"""Membership inference by shadow fits: ROC curve with intervals over random splits, and the separation of each row."""

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

SHADOW_ATTACKS: Mapping[str, Callable[[], ShadowAttack]]  # the attacks by shadow fits that have a name
SHADOW_ATTACKS = {"online": OnlineLira, "offline": OfflineLira, "rmia": Rmia, "rmia-offline": OfflineRmia}
_ALARM = 0.01  # of all intervals of true positive rates of a record
RATES = (0.001, 0.01)  # the false positive rates whose true positive rates are printed


@dataclass(frozen=True, eq=False, repr=False)
class ShadowMembership(AttackResult):
    """The result of an attack by shadow fits. **Private**: a function of the rows.

    Each split makes one attack on each of its two fits, so that every row is scored once as a member and once as a
    non-member; the curve is that of the scores of all splits together, with one threshold. **The unit of independence
    is a split**, not a row. So standard errors are those of the jackknife over splits, in which the whole attack is
    done again without a split, and intervals are over random splits of *these* rows.

    Attributes
    ----------
    target, attack : str
        The learner attacked, and the attack in words.
    shadows : Shadows
        The confidences of all fits.
    auc : float
        The area under the ROC curve: the chance that a member scores higher than a non-member; 0.5 is random guessing.
    fpr, tpr : ndarray of shape (n_rates,)
        False positive rates, logarithmically spaced from 1e-4 to 1, and the true positive rate at each.
    aucs, curves : ndarray of shape (n_splits,), (n_splits, n_rates)
        The area and the curve without one split each.
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
        """Carry out an attack, and again without each split."""
        how = chosen_attack(attack, SHADOW_ATTACKS, "a ShadowAttack", "shadows")
        tpr, auc = _rates(how, shadows)
        curves, aucs = zip(*(_rates(how, shadows.without(split)) for split in range(len(shadows))), strict=True)
        return cls(target, str(how), shadows, auc, tpr, np.array(aucs), np.array(curves), FPR, subject=subject)

    def by(self, attack: str | ShadowAttack) -> Self:
        """Return the result of another attack by the same fits; errors are those of `hedgerow.audit.lira`."""
        return self.of(self.target, attack, self.shadows, self.subject)

    @property
    def repeats(self) -> int:
        """The number of splits, each with two fits."""
        return len(self.shadows)

    @property
    def fewest_repeats(self) -> int:
        """The fewest splits by which `significant_rows` could find a row, with a false alarm of 5 %."""
        return math.ceil(math.log2(self.shadows.inside.shape[1] / 0.05))

    @property
    def finest_fpr(self) -> float:
        """The rate of a single false positive: below it, the curve is interpolated and shows nothing."""
        return 1 / self.shadows.outside.size

    @property
    def auc_standard_error(self) -> float:
        """The standard error of `auc` over random splits of these rows, by the jackknife."""
        return float(np.sqrt(_jackknife(self.aucs)))

    @property
    def auc_interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of `auc`, by Student's t with one degree of freedom less than splits."""
        half = student.ppf((1 + CONFIDENCE) / 2, self.repeats - 1) * self.auc_standard_error
        return max(float(self.auc - half), 0.0), min(float(self.auc + half), 1.0)

    @property
    def auc_p_value(self) -> float:
        """The one-sided p-value of `auc` for guesses; at least ``2**-repeats``, if all splits agree."""
        error = self.auc_standard_error
        p_value = float(student.sf((self.auc - 0.5) / error, self.repeats - 1)) if error else 0.0
        return max(p_value, 2.0**-self.repeats) if self.auc > 0.5 else max(p_value, 0.5)

    def tpr_at(self, fpr: float) -> float:
        """Return the true positive rate at a false positive rate, from `finest_fpr`, or the first stored one, to 1."""
        scored = f"{self.shadows.outside.size} scores of non-members"
        check_rate(fpr, max(float(self.fpr[0]), self.finest_fpr), scored, "rows, or more repeats")
        return float(np.interp(fpr, self.fpr, self.tpr))

    def tpr_interval(self, fpr: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return a confidence interval of `tpr_at`, with its errors.

        It is that of Clopper and Pearson for as many independent decisions as would vary like the splits do, the
        threshold included (Korn and Graubard, Survey Methodology 24(2), 1998), from splits to scores.
        """
        check_probability("confidence", confidence)
        share = self.tpr_at(fpr)
        without = np.array([np.interp(fpr, self.fpr, one) for one in self.curves])
        low, high = self._interval(np.array(share), _jackknife(without), confidence)
        return float(low), float(high)

    @property
    def tpr_band(self) -> tuple[Floats, Floats]:
        """The 95 % confidence interval of `tpr`, point by point."""
        return self._interval(self.tpr, _jackknife(self.curves), CONFIDENCE)

    def _interval(self, share: Floats, variance: Floats, confidence: float) -> tuple[Floats, Floats]:
        scores, splits, alarm = self.shadows.inside.size, self.repeats, (1 - confidence) / 2
        fewer = (student.ppf(alarm, scores - 1) / student.ppf(alarm, splits - 1)) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            alike = np.where(variance > 0, share * (1 - share) / variance * fewer, splits)
        size = np.clip(alike, splits, scores)
        hits = share * size
        with np.errstate(invalid="ignore"):
            low, high = beta.ppf(alarm, hits, size - hits + 1), beta.isf(alarm, hits + 1, size - hits)
        return np.where(hits > 0, low, 0.0), np.where(hits < size, high, 1.0)

    def by_row(self) -> pd.DataFrame:
        """Return what each row shows by itself, whatever the attack, one row a row.

        `confidence_in` and `confidence_out` are the mean confidences in the row's label of fits with it and without it.
        `separation` is the share of splits in which the fit with the row is the more confident one, less the share in
        which it is the less confident one: from −1 to 1, and for hard labels the true less the false positive rate of
        "the label is right: a member". `p_value` is that of the one-sided sign test.
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
        """Return the rows with the largest separation, with their place as index; see `significant_rows`."""
        check_integer("n", n, 1)
        return self.by_row().sort_values("separation", ascending=False, kind="stable").head(n)

    def significant_rows(self, alarm: float = 0.05) -> pd.DataFrame:
        """Return the rows with a significant separation: sign tests of all rows, by Holm's method.

        Of a learner that ignores the row, none is returned but with probability `alarm`, whatever the other rows do.
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
        together = 1 - _ALARM / len(RECORDED)  # so that all intervals hold together
        for rate in RECORDED:
            if rate >= self.finest_fpr:
                yield AttackMeasure("tpr", self.tpr_at(rate), *self.tpr_interval(rate, together), together, rate)
        p_values = self.by_row()["p_value"].to_numpy()
        adjusted = min(float(p_values.min()) * len(p_values), 1.0)
        yield AttackMeasure("significant_rows", len(self.significant_rows()), p_value=adjusted)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve and its intervals with logarithmic axes, and return the axes."""
        caption = f"{self.attack}, on {self.target}. {self._design} AUC {self.auc:.3f}. {PRIVATE}"
        band = f"{100 * CONFIDENCE:.0f} % intervals over splits"
        return roc_band(self.fpr, self.tpr, self.tpr_band, band, self.finest_fpr, caption, ax)

    @property
    def _design(self) -> str:
        rows = self.shadows.inside.shape[1]
        return (
            f"{self.repeats} splits of {rows} rows in halves, {2 * self.repeats} fits, each attacked with the fits of "
            "all other splits as shadows."
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
        none = f"; by fewer than {fewest} splits none can be" if self.repeats < fewest else ""
        lines += [
            f"rows     {len(self.significant_rows())} of {self.shadows.inside.shape[1]} are significant (Holm); "
            f"the largest separation is {row['separation']:.2f}{none}",
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
    """Return the variance of an estimate from those without one split each, shape ``(n_splits, ...)``."""
    splits = len(without)
    return (splits - 1) / splits * ((without - without.mean(axis=0)) ** 2).sum(axis=0)


_FEWEST = 5  # splits: the jackknife leaves one out, and an attack on one of four is learned from three
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
    """Attack a learner by likelihood ratios: fit it on both sides of random splits, and infer who was in which.

    The attacker knows the rows, their labels and the learner, refits it at will, and sees the model under attack as a
    black box. Each time, a coin for each row decides on which side of a split it is, with a fit on each side; every fit
    is attacked once, with the fits of all *other* splits as shadows, so every row is in half of the shadow fits.
    `ShadowMembership` has the ROC curve, and what each row shows by itself; its `by` tries another attack by the same
    fits. An attack that fails proves nothing: differential privacy bounds all of them, and `exact_membership` computes
    the best one where a model is drawn as a whole. **The result is private**, as that of `membership`.

    Parameters
    ----------
    target, X, y, random_state, n_jobs, verbose
        As in `membership`. The target's `predict_proba` is attacked, or, if it has none, its `predict`.
    attack : {"online", "offline", "rmia", "rmia-offline"} or ShadowAttack, default="online"
        The likelihood ratio of shadow fits with the row and without it, `OnlineLira`, or a test by those without it
        alone, `OfflineLira`; `Rmia` and `OfflineRmia` compare a row with other rows.
    repeats : int, default=32
        The number of splits, each with two fits; at least 5. A row that every split separates has the p-value
        ``2**-repeats``: of 1,000 rows, fewer than 15 splits show none.

    Raises
    ------
    ValueError, TypeError
        As `membership` does, and if there are fewer than 20 rows.

    References
    ----------
    Those of `OnlineLira` and `Rmia`; the code of the latter's authors, too, leaves out the other fit of a split.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import hedgerow as hr
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    >>> found = hr.audit.lira(DecisionTreeClassifier(), X, y, repeats=8, random_state=0)
    >>> found.auc > 0.7, found.by("rmia").auc > 0.7  # a fully grown tree memorises its training rows
    (True, True)
    """
    how = chosen_attack(attack, SHADOW_ATTACKS, "a ShadowAttack", "shadows")
    check_integer("repeats", repeats, _FEWEST)
    learner = AttackTarget.of(target, X, y, seeded=random_state is not None)
    if len(learner.rows) < _FEWEST_ROWS:
        raise ArgumentError(f"expected {_FEWEST_ROWS} rows or more, got {len(learner.rows)}: a fit could have none.")
    shadows = shadow_fits(learner, generator(random_state).spawn(repeats), n_jobs, verbose=verbose)
    return ShadowMembership.of(learner.name, how, shadows, learner.subject)
