"""Comparisons of a model with a constant on the same rows, overall and by group, and what chance explains of them."""

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
from hedgerow.report.checks import Check, Status, check
from hedgerow.report.subject import Subject
from hedgerow.tables.frames import Table
from hedgerow.text.messages import number_of
from hedgerow.text.values import shown_text

Pair = tuple[Any, Any]  # Rows without the target, and the target
Role = Literal["training", "held_out"]
ROWS: dict[Role, str] = {"training": "training rows", "held_out": "held-out rows"}  # which rows they are, in words
CONFIDENCE = 0.95
FALSE_ALARMS = 0.05
"""The largest probability that chance alone flags, or supports, a model: all checks of a sheet together."""
ALARM_SHARES = {
    "accuracy": Fraction(1, 2),
    "groups": Fraction(1, 5),
    "separation": Fraction(1, 10),
    "attacks": Fraction(1, 5),
}
"""The share of the false alarms that each check may cause; a fixed one, so that no check depends on the others."""
ON_ITS_OWN_ROWS = " It was learned from these rows, which the test does not allow for: measure it on held-out rows."
Verdict = Literal["better", "unclear", "worse"]


def alarm_share(check: str) -> float:
    """Return the probability of a false alarm that a check may have: "accuracy", "groups", "separation" or "attacks".

    The attacks of a sheet have one share together.
    """
    return float(ALARM_SHARES[check]) * FALSE_ALARMS


def holm(p_values: Sequence[float], alarm: float) -> list[bool]:
    """Return which hypotheses are rejected by Holm's method, with a probability of a false rejection of `alarm`."""
    order, n = np.argsort(p_values, kind="stable"), len(p_values)
    rejected = np.zeros(n, dtype=bool)
    rejected[order] = np.cumprod(np.array(p_values)[order] <= alarm / np.arange(n, 0, -1)).astype(bool)
    return rejected.tolist()


class Words(NamedTuple):
    """The form of a difference in sentences."""

    scale: float = 1.0
    form: str = ".4g"
    unit: str = ""

    def number(self, value: float) -> str:
        return f"{self.scale * value:{self.form}}".replace("-", "−")


PLAIN = Words()


@dataclass(frozen=True)
class Gain:
    """The mean loss of a constant less the mean loss of a model on the same rows, with an interval.

    The interval is that of Student's t for paired differences, by units if a unit has several rows, where each end has
    one more row of the worst, or best, difference: an error that is rare and costly may be missing among the rows. If a
    unit has several rows, it is one more unit with as many such rows as the largest unit has. For independent rows that
    are right or wrong, this is McNemar's test with Edwards' correction. `p_worse` is that of the one-sided test whether
    the model is worse.
    """

    value: float
    low: float
    high: float
    p_worse: float = 1.0

    @classmethod
    def of(
        cls, gains: Floats, clusters: Clusters, ends: tuple[float, float], *, confidence: float = CONFIDENCE
    ) -> Self:
        """Return the gain by the differences of rows; `ends` are the worst and the best that a row can have.

        `confidence` is for both ends together. If units are not known by row, the interval is as wide as if every unit
        had as many equal rows as it may have.
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
        """The model is better, or worse, than chance explains; or neither is shown."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "unclear"

    def interval(self, words: Words = PLAIN) -> str:
        """Return the difference and its interval."""
        value, low, high = map(words.number, (self.value, self.low, self.high))
        return f"{value}{words.unit}, 95 % interval {low} to {high}"

    def text(self, words: Words = PLAIN) -> str:
        """Return the verdict in a sentence, with the difference and its interval."""
        amount = self.interval(words)
        return {
            "better": f"The model is better than chance explains (gain {amount}).",
            "unclear": f"No difference is shown (gain {amount}): chance can explain it.",
            "worse": f"The model is worse than chance explains (gain {amount}).",
        }[self.verdict]


class _Mean(NamedTuple):
    """The mean of rows by sums of independent units and one more, extreme unit, with its standard error."""

    value: float
    error: float
    freedom: float

    @classmethod
    def of(cls, sums: Floats, rows: Floats, extreme: tuple[float, int], most: int) -> "_Mean":
        """`extreme` is the difference of each row of the extreme unit, and their number.

        If units may have `most` rows each and it is not known which, the variance and the degrees of freedom are those
        of units of so many equal rows.
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
        """The p-value of the one-sided test whether the mean is below 0."""
        return float(student.cdf(self.value / self.error, self.freedom)) if self.error else float(self.value >= 0)


@dataclass(frozen=True, eq=False)
class Losses:
    """The loss of each row by a model, and by a constant."""

    model: Floats
    constant: Floats
    ends: tuple[float, float]  # the worst and the best that the model can spare a row, or spares one of these
    scale: float  # the loss of which a share is a deficit to report

    @classmethod
    def of(cls, model: Floats, constant: Floats, ends: tuple[float, float] | None = None, scale: float = 0.0) -> Self:
        """Return losses; by default `ends` are those of these rows, and the scale is the mean loss of the constant."""
        gains = constant - model
        return cls(model, constant, ends or (float(gains.min()), float(gains.max())), scale or float(constant.mean()))


@dataclass(frozen=True, eq=False)
class Part:
    """Mean losses of the rows of a group, and the gain over the constant in each."""

    group: str  # the group in words
    inside: Mask  # its rows
    means: tuple[tuple[float, float], ...]  # of each loss: the model's mean, and the constant's
    gains: tuple[Gain, ...]

    @property
    def rows(self) -> int:
        return int(self.inside.sum())


@dataclass(frozen=True, eq=False)
class Performance:
    """Losses of a model on all of some rows, and in the groups of some columns."""

    role: Role
    of: str  # which rows they are, in words
    overall: Part
    groups: tuple[tuple[str, tuple[Part, ...]], ...]  # for each column, its groups, the largest first loss first
    limits: tuple[float, ...]  # the largest deficit in each loss that a group may have
    constants: int = 1  # of which these same rows chose the best

    @classmethod
    def measure(cls, subject: Subject, X: Any, role: Role, losses: Sequence[Losses], by: Sequence[str]) -> Self:
        table, clusters = Table.of(X), clusters_of(subject, X)

        def part(group: str, inside: Mask, confidence: float) -> Part:
            own, means, gains = clusters.inside(inside), list[tuple[float, float]](), list[Gain]()
            for one in losses:
                model, constant = one.model[inside], one.constant[inside]
                means.append((float(model.mean()), float(constant.mean())))
                gains.append(Gain.of(constant - model, own, one.ends, confidence=confidence))
            return Part(group, inside, tuple(means), tuple(gains))

        groups = {name: _filled(*groups_of(table, subject.schema, name)) for name in by}
        together = 1 - (1 - CONFIDENCE) / max(sum(map(len, groups.values())), 1)  # Bonferroni: intervals hold at once
        parts = ((name, (part(*own, together) for own in of_column)) for name, of_column in groups.items())
        ordered = ((name, tuple(sorted(own, key=lambda each: -each.means[0][0]))) for name, own in parts)
        whole = part("all rows", np.ones(len(table), dtype=bool), CONFIDENCE)
        limits = tuple(subject.appetite.largest_deficit * one.scale for one in losses)
        return cls(role, subject.called(ROWS[role]), whole, tuple(ordered), limits)


def clusters_of(subject: Subject, X: Any) -> Clusters:
    """Return the rows of each person, which are not independent of each other."""
    return Clusters.of(subject.schema, X, subject.person_unit, subject.form.rows_per_unit or 1)


def pairs_of(train: Pair | None, test: Pair | None) -> list[tuple[Pair, Role]]:
    """Return the sets of rows that are given."""
    pairs: tuple[tuple[Pair | None, Role], ...] = ((train, "training"), (test, "held_out"))
    return [(pair, role) for pair, role in pairs if pair is not None]


def _filled(names: Sequence[Any], codes: Any) -> list[tuple[str, Mask]]:
    """Return the groups that have rows: their names in words, and their rows."""
    groups = ((shown_text(name), codes == code) for code, name in enumerate(names))
    return [(name, inside) for name, inside in groups if inside.any()]


def gain_check(rule: str, sentence: str, measured: Performance, place: int, words: Words) -> Check:
    """Return whether the model is better than a constant by more than chance explains, in the loss at a place.

    On the rows that the model was learned from, being better supports nothing: the check is not run. Differential
    privacy does not change that: learned from labels that are noise alone, trees of ε = 0.3 are better than the
    commonest class by a test on their own rows in a quarter of the fits.
    """
    gain, is_held_out = measured.overall.gains[place], measured.role == "held_out"
    is_better = gain.verdict == "better"
    status: Status = "review" if not is_better else "pass" if is_held_out else "not_run"
    advice = ON_ITS_OWN_ROWS if is_better and not is_held_out else ""
    return check(rule, status, f"{sentence} {gain.text(words)}{advice}", gain.value, interval=gain.ends, limit=0)


def group_checks(measured: Performance, place: int, what: str, words: Words) -> Iterator[Check]:
    """Yield whether a group is served worse than by a constant, by more than chance explains for all groups together.

    If no group is shown to be worse, the check passes if it excludes a deficit beyond the limit for every group; else
    the groups are too small, and it is not run. Its value is the gain of the group whose interval ends lowest.
    """
    named = [(f"{name} = {part.group}", part.rows, part.gains[place]) for name, own in measured.groups for part in own]
    if not named:
        return
    limit, constant = measured.limits[place], f"served worse than by always saying {what}"
    rejected = holm([gain.p_worse for *_, gain in named], alarm_share("groups") / measured.constants)
    worse = [one for one, is_worse in zip(named, rejected, strict=True) if is_worse]
    few = [one for one in named if one[2].low < -limit]
    name, rows, gain = min(worse or named, key=lambda one: one[2].low)
    most = f"{words.number(limit)}{words.unit}"
    if worse:
        status, are = "review", "1 group is" if len(worse) == 1 else f"{len(worse)} groups are"
        sentence = f"{are} {constant}, such as {name} (gain {gain.interval(words)}, all groups together)."
    elif few:
        needed = f"; about {ceil(rows * (gain.low / limit) ** 2):,} would do" if limit else ""
        are = f"{len(few)} of {number_of(len(named), 'group')} {'has' if len(few) == 1 else 'have'} too few rows"
        amount = f"a deficit of {most}, such as {name} with {number_of(rows, 'row')}"
        status, sentence = "not_run", f"No group is shown to be {constant}, but {are} to exclude {amount}{needed}."
    else:
        status = "pass" if measured.role == "held_out" else "not_run"
        amount = f"a deficit of more than {words.number(max(-gain.low, 0.0))}{words.unit} is excluded"
        sentence = f"No group is shown to be {constant}; {amount} (95 % for all groups together)."
        sentence += "" if status == "pass" else ON_ITS_OWN_ROWS
    yield check("groups", status, sentence, gain.value, interval=gain.ends, limit=-limit, most=most)
