"""Comparisons of a model with a constant prediction on the same rows, overall and by group, and their tests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.stats import t as student

from hedgerow.audit.entropy.result import groups_of
from hedgerow.audit.inference.labelled import Clusters
from hedgerow.boundary.arrays import Floats, Mask
from hedgerow.report.checks import Check, Status, check, rows_text
from hedgerow.report.subject import Subject
from hedgerow.tables.frames import Table
from hedgerow.text.language import N_, _, decimal, ngettext, significant
from hedgerow.text.values import shown_text

Pair = tuple[Any, Any]  # rows without the target, and the target
Role = Literal["training", "held_out"]
_ROWS: dict[Role, str] = {"training": N_("training rows"), "held_out": N_("held-out rows")}
_WEIGHTED_ROWS: dict[Role, str] = {
    "training": N_("training rows, each counted once"),
    "held_out": N_("held-out rows, each counted once"),
}
CONFIDENCE = 0.95
FALSE_ALARMS = 0.05
"""The largest probability that chance alone flags, or supports, a model, for all checks of a sheet together."""
ALARM_SHARES = {
    "accuracy": Fraction(1, 2),
    "groups": Fraction(1, 5),
    "separation": Fraction(1, 10),
    "attacks": Fraction(1, 5),
}
"""The share of the false alarms that each check may cause: fixed, so that no check depends on another."""
_ON_ITS_OWN_ROWS = N_("The model was learned from these rows, so the test is not valid: measure it on held-out rows.")
Verdict = Literal["better", "unclear", "worse"]


def alarm_share(check: str) -> float:
    """Return the false-alarm probability of a check: "accuracy", "groups", "separation" or "attacks".

    All attacks of a sheet share this probability.
    """
    return float(ALARM_SHARES[check]) * FALSE_ALARMS


def holm(p_values: Sequence[float], alarm: float) -> list[bool]:
    """Return which hypotheses Holm's method rejects, with a false-rejection probability of at most `alarm`."""
    order, n = np.argsort(p_values, kind="stable"), len(p_values)
    rejected = np.zeros(n, dtype=bool)
    rejected[order] = np.cumprod(np.array(p_values)[order] <= alarm / np.arange(n, 0, -1)).astype(bool)
    return rejected.tolist()


class Scale(NamedTuple):
    """The notation of a difference: its factor, its decimals (None: four digits), and the message with its interval."""

    factor: float = 1.0
    places: int | None = None
    message: str = N_("{value}, 95 % interval {low} to {high}")
    amount: str = "{value}"

    def number(self, value: float) -> str:
        scaled = self.factor * value
        text = significant(scaled) if self.places is None else decimal(scaled, self.places)
        return text.replace("-", "−")

    def text(self, value: float) -> str:
        """Return a difference with its unit."""
        return _(self.amount, value=self.number(value))


PLAIN = Scale()


@dataclass(frozen=True)
class Gain:
    """The mean loss of a constant less the mean loss of a model on the same rows, with an interval.

    The interval is Student's t interval for paired differences, by units if a unit has several rows. The lower end
    includes one more row with the worst difference, and the upper end one more row with the best difference. Rare and
    costly errors may be missing among the rows. If a unit has several rows, an end includes one more unit instead, with
    as many such rows as the largest unit. For independent rows that are right or wrong, this is McNemar's test with
    Edwards' correction. `p_worse` is the p-value of the one-sided test of whether the model is worse.
    """

    value: float
    low: float
    high: float
    p_worse: float = 1.0

    @classmethod
    def of(
        cls, gains: Floats, clusters: Clusters, ends: tuple[float, float], *, confidence: float = CONFIDENCE
    ) -> Self:
        """Return the gain from the rows' differences; `ends` are the worst and the best possible difference of a row.

        `confidence` is for both ends together. If the unit of each row is unknown, the interval is as wide as if every
        unit had the maximum number of rows, all equal.
        """
        sums, rows, largest = gains.astype(np.float64), np.ones(len(gains), dtype=np.float64), clusters.most
        if clusters.numbers is not None:
            units = np.unique(clusters.numbers, return_inverse=True)[1]
            sums = np.bincount(units, gains).astype(np.float64)
            rows = np.bincount(units).astype(np.float64)
            largest = int(rows.max())
        worst, best = (_Mean.of(sums, rows, (end, largest), clusters.most) for end in ends)
        half = (1 + confidence) / 2
        return cls(float(gains.mean()), worst.quantile(1 - half), best.quantile(half), best.p_below)

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval."""
        return self.low, self.high

    @property
    def verdict(self) -> Verdict:
        """Whether the model is better or worse by more than chance explains; "unclear" if neither is shown."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "unclear"

    def interval(self, scale: Scale = PLAIN) -> str:
        """Return the difference and its interval."""
        value, low, high = map(scale.number, (self.value, self.low, self.high))
        return _(scale.message, value=value, low=low, high=high)

    def text(self, scale: Scale = PLAIN) -> str:
        """Return the verdict in a sentence, with the difference and its interval."""
        return _(_VERDICTS[self.verdict], gain=self.interval(scale))


_VERDICTS: dict[Verdict, str] = {
    "better": N_("The model is better by more than chance explains (gain {gain})."),
    "unclear": N_("Chance alone can explain the difference (gain {gain})."),
    "worse": N_("The model is worse by more than chance explains (gain {gain})."),
}


class _Mean(NamedTuple):
    """The mean of rows, computed from independent units and one additional extreme unit, with its standard error."""

    value: float
    error: float
    freedom: float

    @classmethod
    def of(cls, sums: Floats, rows: Floats, extreme: tuple[float, int], most: int) -> "_Mean":
        """Return the mean; `extreme` is the difference of each row of the extreme unit, and the number of these rows.

        If units may have up to `most` rows each and the unit of a row is unknown, all units are assumed to have `most`
        equal rows. The variance and the degrees of freedom follow from this assumption.
        """
        difference, size = extreme
        sums, rows = np.append(sums, size * difference), np.append(rows, float(size))
        mean, n = float(sums.sum() / rows.sum()), len(sums)
        variance = most * float(((sums[:-1] - mean * rows[:-1]) ** 2).sum()) + float((sums[-1] - mean * size) ** 2)
        return cls(mean, sqrt(n / (n - 1) * variance) / float(rows.sum()), max(n / most - 1, 1.0))

    def quantile(self, probability: float) -> float:
        return self.value + float(student.ppf(probability, self.freedom)) * self.error

    @property
    def p_below(self) -> float:
        """The p-value of the one-sided test of whether the mean is below 0."""
        return float(student.cdf(self.value / self.error, self.freedom)) if self.error else float(self.value >= 0)


@dataclass(frozen=True, eq=False)
class Losses:
    """The loss of each row for a model and for a constant prediction."""

    model: Floats
    constant: Floats
    ends: tuple[float, float]  # the smallest and the largest possible gain of a row, or the extreme gains of these rows
    scale: float  # the loss by which a deficit is measured

    @classmethod
    def of(cls, model: Floats, constant: Floats, ends: tuple[float, float] | None = None, scale: float = 0.0) -> Self:
        """Return losses; by default `ends` are the extreme differences, and the scale is the constant's mean loss."""
        gains = constant - model
        return cls(model, constant, ends or (float(gains.min()), float(gains.max())), scale or float(constant.mean()))


@dataclass(frozen=True, eq=False)
class Part:
    """Mean losses of the rows of a group, and the gain over the constant in each loss."""

    group: str  # the group in words
    inside: Mask  # its rows
    means: tuple[tuple[float, float], ...]  # the model's mean and the constant's mean of each loss
    gains: tuple[Gain, ...]

    @property
    def rows(self) -> int:
        return int(self.inside.sum())


@dataclass(frozen=True, eq=False)
class Performance:
    """Losses of a model on some rows, overall and in the groups of some columns."""

    role: Role
    rows: str  # the rows in words
    overall: Part
    groups: tuple[tuple[str, tuple[Part, ...]], ...]  # the groups of each column in descending order of loss
    limits: tuple[float, ...]  # the largest permitted deficit of a group in each loss
    constants: int = 1  # the number of constant predictions from which the best was chosen on these rows

    @classmethod
    def measure(cls, subject: Subject, X: Any, role: Role, losses: Sequence[Losses], by: Sequence[str]) -> Self:
        table, clusters = Table.of(X), clusters_of(subject, X)

        def part(group: str, inside: Mask, confidence: float) -> Part:
            own, means, gains = clusters.inside(inside), list[tuple[float, float]](), list[Gain]()
            for loss in losses:
                model, constant = loss.model[inside], loss.constant[inside]
                means.append((float(model.mean()), float(constant.mean())))
                gains.append(Gain.of(constant - model, own, loss.ends, confidence=confidence))
            return Part(group, inside, tuple(means), tuple(gains))

        groups = {name: _filled(*groups_of(table, subject.schema, name)) for name in by}
        together = 1 - (1 - CONFIDENCE) / max(sum(map(len, groups.values())), 1)  # Bonferroni: intervals hold at once
        parts = ((name, (part(*own, together) for own in of_column)) for name, of_column in groups.items())
        ordered = ((name, tuple(sorted(own, key=lambda group: -group.means[0][0]))) for name, own in parts)
        whole = part("all rows", np.ones(len(table), dtype=bool), CONFIDENCE)
        limits = tuple(subject.appetite.largest_deficit * loss.scale for loss in losses)
        # The model of weighted rows is evaluated on rows with equal weights.
        names = _WEIGHTED_ROWS if subject.schema is not None and subject.schema.weight is not None else _ROWS
        return cls(role, _(names[role]), whole, tuple(ordered), limits)


def clusters_of(subject: Subject, X: Any) -> Clusters:
    """Return the rows of each person, which are not independent of each other."""
    return Clusters.of(subject.schema, X, subject.person_unit, subject.form.rows_per_unit or 1)


def pairs_of(train: Pair | None, test: Pair | None) -> list[tuple[Pair, Role]]:
    """Return the given pairs of rows and labels with their roles."""
    pairs: tuple[tuple[Pair | None, Role], ...] = ((train, "training"), (test, "held_out"))
    return [(pair, role) for pair, role in pairs if pair is not None]


def _filled(names: Sequence[Any], codes: Any) -> list[tuple[str, Mask]]:
    """Return the groups that have rows: their names in words, and their rows."""
    groups = ((shown_text(name), codes == code) for code, name in enumerate(names))
    return [(name, inside) for name, inside in groups if inside.any()]


def gain_check(rule: str, sentence: str, measured: Performance, place: int, scale: Scale) -> Check:
    """Return the check of whether the model is significantly better than a constant, in the loss at a place.

    A better result on the training rows supports no conclusion, so the check is then not run. Differential privacy does
    not change this. With ε = 0.3 and labels that are pure noise, a quarter of the fitted trees were significantly
    better than the most common class on their training rows.
    """
    gain, is_held_out = measured.overall.gains[place], measured.role == "held_out"
    is_better = gain.verdict == "better"
    status: Status = "review" if not is_better else "pass" if is_held_out else "not_run"
    sentences = [sentence, gain.text(scale), *([_(_ON_ITS_OWN_ROWS)] if is_better and not is_held_out else [])]
    return check(rule, status, " ".join(sentences), gain.value, interval=gain.ends, limit=0)


class Constant(NamedTuple):
    """The sentences on groups that compare a model with one kind of constant prediction."""

    worse: tuple[str, str]
    not_shown: str


COMMONEST = Constant(
    (
        N_(
            "For {count} group the model is worse than always predicting the most common class: for example {group} "
            "(gain {gain}, for all groups together)."
        ),
        N_(
            "For {count} groups the model is worse than always predicting the most common class: for example {group} "
            "(gain {gain}, for all groups together)."
        ),
    ),
    N_("For no group is the model shown to be worse than always predicting the most common class."),
)
ONE_CLASS = Constant(
    (
        N_(
            "For {count} group the model is worse than always predicting one class: for example {group} (gain {gain}, "
            "for all groups together)."
        ),
        N_(
            "For {count} groups the model is worse than always predicting one class: for example {group} (gain {gain}, "
            "for all groups together)."
        ),
    ),
    N_("For no group is the model shown to be worse than always predicting one class."),
)
MEDIAN = Constant(
    (
        N_(
            "For {count} group the model is worse than always predicting the median: for example {group} (gain {gain}, "
            "for all groups together)."
        ),
        N_(
            "For {count} groups the model is worse than always predicting the median: for example {group} (gain "
            "{gain}, "
            "for all groups together)."
        ),
    ),
    N_("For no group is the model shown to be worse than always predicting the median."),
)
MEAN = Constant(
    (
        N_(
            "For {count} group the model is worse than always predicting the mean: for example {group} (gain {gain}, "
            "for all groups together)."
        ),
        N_(
            "For {count} groups the model is worse than always predicting the mean: for example {group} (gain {gain}, "
            "for all groups together)."
        ),
    ),
    N_("For no group is the model shown to be worse than always predicting the mean."),
)


def group_checks(measured: Performance, place: int, constant: Constant, scale: Scale) -> Iterator[Check]:
    """Yield the check of whether the model is significantly worse than a constant for a group, tested jointly.

    If no group is shown to be worse, the check passes if a deficit beyond the limit is excluded for every group.
    Otherwise the groups are too small, and the check is not run. Its value is the gain of the group with the lowest end
    of the interval.
    """
    named = [(f"{name} = {part.group}", part.rows, part.gains[place]) for name, own in measured.groups for part in own]
    if not named:
        return
    limit = measured.limits[place]
    rejected = holm([gain.p_worse for *_name, gain in named], alarm_share("groups") / measured.constants)
    worse = [group for group, is_worse in zip(named, rejected, strict=True) if is_worse]
    few = [group for group in named if group[2].low < -limit]
    name, rows, gain = min(worse or named, key=lambda group: group[2].low)
    most = scale.text(limit)
    if worse:
        status: Status = "review"
        sentences = [
            _(constant.worse[len(worse) > 1], count=len(worse), group=name, gain=gain.interval(scale)),
        ]
    elif few:
        status, sentences = "not_run", [_(constant.not_shown), _too_few(few, len(named), most, name, rows)]
        if limit:
            sentences.append(_("About {rows} rows would suffice.", rows=ceil(rows * (gain.low / limit) ** 2)))
    else:
        status = "pass" if measured.role == "held_out" else "not_run"
        deficit = scale.text(max(-gain.low, 0.0))
        excluded = _("A deficit of more than {deficit} is excluded (95 % for all groups together).", deficit=deficit)
        sentences = [_(constant.not_shown), excluded, *([] if status == "pass" else [_(_ON_ITS_OWN_ROWS)])]
    yield check("groups", status, " ".join(sentences), gain.value, interval=gain.ends, limit=-limit, most=most)


def _too_few(few: Sequence[Any], groups: int, most: str, name: str, rows: int) -> str:
    return ngettext(
        "{count} of {groups} groups has too few rows to exclude a deficit of {most}: for example {name} with {rows}.",
        "{count} of {groups} groups have too few rows to exclude a deficit of {most}: for example {name} with {rows}.",
        len(few),
        groups=groups,
        most=most,
        name=name,
        rows=rows_text(rows),
    )
