"""Accuracy of a model of classes on rows, by group, beside the baseline of always one class. **Private**."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from hedgerow.audit.entropy.result import groups_of
from hedgerow.audit.inference.labelled import LabelledRows, distinct
from hedgerow.boundary.arrays import Array, Floats, Index, Integers, Mask
from hedgerow.evaluation.intervals import Interval, mean_on_rows
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.report.checks import Check, Status, check
from hedgerow.report.comparisons import CONFIDENCE, PLAIN, Clusters, Gain, Words
from hedgerow.report.contents import Column, Grid, Section, SheetLine, section
from hedgerow.report.subject import Subject, public_release
from hedgerow.schema.targets import Label
from hedgerow.text.values import shown_text, value_text

Pair = tuple[Any, Any]  # Rows without the target, and the target
ON_ITS_OWN_ROWS = " It was learned from these rows, which the test does not allow for: measure it on held-out rows."
COST, PLACES = "cost", "absolute error in classes"
Role = Literal["training", "held_out"]
ROWS: dict[Role, str] = {"training": "training rows", "held_out": "held-out rows"}  # which rows they are, in words
COLUMNS = tuple(Column(name, name) for name in ("rows", "right", "accuracy", "baseline"))
_POINTS = Words(100.0, ".1f", " percentage points")


@dataclass(frozen=True)
class Penalty:
    """What a decision costs: as somebody said it, or how many places of the order it is off."""

    name: str
    matrix: Floats  # a row of the class of a line, decided for the class of a column
    constant: int  # the class that costs least if it is always decided for, by the first rows that were given

    @property
    def key(self) -> str:
        """The id of what is counted."""
        return "cost" if self.name == COST else "error_in_classes"

    @property
    def short(self) -> str:
        return "cost" if self.name == COST else "MAE"

    @property
    def gains(self) -> tuple[float, float]:
        """The worst and the best penalty that one row can be spared by the model."""
        gains = self.matrix[:, [self.constant]] - self.matrix
        return float(gains.min()), float(gains.max())


@dataclass(frozen=True)
class Hits:
    """Rows of a group, with those that a model is right about."""

    group: str  # the group in words
    rows: int
    right: int  # rows that get their own class
    base: int  # rows that have the commonest class of the training rows
    gains: tuple[Gain, ...]  # in accuracy, then by each penalty
    penalties: tuple[tuple[float, float], ...] = ()  # the mean of each penalty, and that of its constant class

    @property
    def accuracy(self) -> float:
        return self.right / self.rows

    @property
    def baseline(self) -> float:
        return self.base / self.rows


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of a model on all of some rows, and in the groups of some columns."""

    role: Role
    of: str  # which rows they are
    overall: Hits  # all rows
    groups: tuple[tuple[str, tuple[Hits, ...]], ...]  # for each column, its groups, that of the least accuracy first
    penalties: tuple[Penalty, ...] = ()

    @classmethod
    def measure(
        cls,
        subject: Subject,
        pair: Pair,
        role: Role,
        common: str,
        by: Sequence[str],
        penalties: tuple[Penalty, ...] = (),
    ) -> Self:
        rows, truth = LabelledRows.of(*pair), subject.class_words(pair[1])
        said = subject.class_words(subject.predict(pair[0]))
        numbers = _places(subject, truth), _places(subject, said)
        each = [(one.matrix[numbers], one.matrix[numbers[0], one.constant]) for one in penalties]
        right, base = said == truth, truth == common
        clusters = Clusters.of(subject.schema, pair[0])
        pairs = [(right.astype(np.float64) - base, (-1.0, 1.0))]
        pairs += [(theirs - ours, one.gains) for one, (ours, theirs) in zip(penalties, each, strict=True)]

        def hits(name: str, inside: Mask, confidence: float) -> Hits:
            n_rows, n_right, n_base = (int(one[inside].sum()) for one in (inside, right, base))
            own = clusters.inside(inside)
            gains = (Gain.of(gain[inside], own, ends, confidence=confidence) for gain, ends in pairs)
            costs = ((float(ours[inside].mean()), float(theirs[inside].mean())) for ours, theirs in each)
            return Hits(name, n_rows, n_right, n_base, tuple(gains), tuple(costs))

        by_column = {name: filled_groups(*groups_of(rows.table, subject.schema, name)) for name in by}
        confidence = group_confidence(by_column)
        overall = hits("all rows", np.ones(len(rows), dtype=bool), CONFIDENCE)
        groups = {name: [hits(*group, confidence) for group in own] for name, own in by_column.items()}
        ordered = ((name, tuple(sorted(own, key=lambda one: one.accuracy))) for name, own in groups.items())
        return cls(role, subject.called(ROWS[role]), overall, tuple(ordered), penalties)


def commonest(subject: Subject, labels: Any) -> str:
    """Return the commonest class of some labels in words, the first of equals."""
    names, codes = distinct(subject.class_words(labels))
    return names[int(np.bincount(codes).argmax())]


def penalties_of(subject: Subject, labels: Any) -> tuple[Penalty, ...]:
    label = None if subject.schema is None else subject.schema.label
    if not isinstance(label, Label):
        return ()
    found = [] if subject.cost_matrix is None else [(COST, subject.cost_matrix)]
    if label.ordered and len(label.classes) > 2:
        places = np.arange(len(label.classes), dtype=np.float64)
        found.append((PLACES, np.abs(places[:, np.newaxis] - places)))
    truth = _places(subject, subject.class_words(labels)) if found else []
    return tuple(Penalty(name, matrix, int(matrix[truth].sum(axis=0).argmin())) for name, matrix in found)


def _places(subject: Subject, words: Array) -> Index:
    """Return the numbers of classes in words; 0 for all where no schema numbers them."""
    label = None if subject.schema is None else subject.schema.label
    known = {value_text(value): place for place, value in enumerate(label.values if label else ())}
    return np.array([known.get(word, 0) for word in words], dtype=np.intp)


def measured(
    subject: Subject, train: Pair | None, test: Pair | None, by: Sequence[str]
) -> tuple[Section, tuple[Check, ...]]:
    known, hits = train if train is not None else test, list[Accuracy]()
    if known is not None:
        common, penalties = commonest(subject, known[1]), penalties_of(subject, known[1])
        pairs: tuple[tuple[Pair | None, Role], ...] = ((train, "training"), (test, "held_out"))
        hits = [Accuracy.measure(subject, one, role, common, by, penalties) for one, role in pairs if one is not None]
    are_missing = subject.loss == "cost" and subject.cost_matrix is None
    return measured_accuracy(hits, costs_missing=are_missing), tuple(checks(hits, advice_of(test)))


def measured_accuracy(measured: Sequence[Accuracy], *, costs_missing: bool = False) -> Section:
    facts = [fact for one in measured for fact in _facts(one)]
    grids = [_grid(one, i, name, groups) for one in measured for i, (name, groups) in enumerate(one.groups, 1)]
    last = measured[-1] if measured else None
    both = [] if last is None else zip(last.penalties, last.overall.penalties, strict=True)
    means = [{"name": one.name, "ours": f"{ours:.4g}", "base": f"{base:.4g}"} for one, (ours, base) in both]
    gain = "" if last is None else last.overall.gains[0].text(_POINTS)
    values: dict[str, Any] = {"costs_missing": costs_missing, "penalties": means, "gain": gain}
    return section("accuracy", facts, grids, last=last, has_groups=bool(grids), has_test=len(measured) > 1, **values)


def filled_groups(names: Sequence[Any], codes: Index) -> list[tuple[str, Mask]]:
    """Return the groups that have rows: their names in words, and their rows."""
    groups = ((shown_text(name), codes == code) for code, name in enumerate(names))
    return [(name, inside) for name, inside in groups if inside.any()]


def group_confidence(groups: Mapping[str, Sequence[Any]]) -> float:
    """Return the confidence of each group's interval for 95 % of all groups together (Bonferroni)."""
    return 1 - (1 - CONFIDENCE) / max(sum(map(len, groups.values())), 1)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _facts(one: Accuracy) -> Iterator[SheetLine]:
    right, base = one.overall.accuracy, one.overall.baseline
    on = one.role
    yield SheetLine(f"accuracy_{on}", f"accuracy on {one.of}", f"{_percent(right)} of {one.overall.rows:,}", right)
    yield SheetLine(f"baseline_{on}", f"always the commonest class, on {one.of}", _percent(base), base)
    gain, *by_penalty = one.overall.gains
    name = f"gain over the commonest class, on {one.of}"
    yield SheetLine(f"gain_{on}", name, gain.interval(_POINTS), gain.value, gain.ends)
    for penalty, (ours, base), gain in zip(one.penalties, one.overall.penalties, by_penalty, strict=True):
        key = f"{penalty.key}_{on}"
        yield SheetLine(f"mean_{key}", f"mean {penalty.name} on {one.of}", f"{ours:.4g}", ours)
        name = f"baseline: mean {penalty.name} of always one class"
        yield SheetLine(f"baseline_{key}", name, f"{base:.4g}", base)
        name = f"gain over always one class: mean {penalty.name} on {one.of}"
        yield SheetLine(f"gain_{key}", name, gain.interval(), gain.value, gain.ends)


def _grid(one: Accuracy, place: int, name: str, groups: tuple[Hits, ...]) -> Grid:
    more = [
        column
        for each in one.penalties
        for column in (
            Column(f"mean_{each.key}", each.short),
            Column(f"baseline_{each.key}", f"{each.short}, one class"),
        )
    ]
    columns = (Column("group", name, is_text=True), *COLUMNS, *more)
    rows = tuple(
        (hits.group, hits.rows, hits.right, hits.accuracy, hits.baseline, *(x for both in hits.penalties for x in both))
        for hits in groups
    )
    return Grid(f"by_{place}_{one.role}", f"By {name}, on {one.of}", columns, rows)


def checks(measured: Sequence[Accuracy], good: Status = "pass") -> Iterator[Check]:
    """Yield whether the model is better than a constant by more than chance explains; `good` is the advice then."""
    for one in measured[-1:]:
        cost = next((place for place, each in enumerate(one.penalties) if each.name == COST), None)
        if cost is None:
            place, rule, what = 0, "accuracy", "the commonest class"
            share, base, words = one.overall.accuracy, one.overall.baseline, _POINTS
            sentence = (
                f"The model is right on {_percent(share)} of {one.of}; always saying {what}, on {_percent(base)}."
            )
        else:
            place, rule, what, words = 1 + cost, "accuracy/cost", "always one class", PLAIN
            share, base = one.overall.penalties[cost]
            sentence = f"On {one.of} a row costs {share:.4g} on average; always saying one class, {base:.4g}."
        gain = one.overall.gains[place]
        yield gain_check(rule, good, f"{sentence} {gain.text(words)}", share, gain)
        named = [(f"{name} = {hits.group}", hits.gains[place]) for name, groups in one.groups for hits in groups]
        yield from group_checks(named, what, words)


def advice_of(test: Pair | None) -> Status:
    """Return what being better than a constant speaks for: nothing on the rows that the model was learned from.

    Differential privacy does not change that: learned from labels that are noise alone, trees of ε = 0.3 are better
    than the commonest class by a test on their own rows in a quarter of the fits.
    """
    return "pass" if test is not None else "review"


def gain_check(rule: str, good: Status, sentence: str, value: float, gain: Gain) -> Check:
    is_better = gain.verdict == "better"
    sentence += ON_ITS_OWN_ROWS if is_better and good == "review" else ""
    return check(rule, good if is_better else "review", sentence, value)


def group_checks(groups: Sequence[tuple[str, Gain]], what: str, words: Words) -> Iterator[Check]:
    """Yield which groups are served worse than by a constant, or may be; intervals are of all groups together."""
    worse = [name for name, gain in groups if gain.verdict == "worse"]
    unclear = [(name, gain) for name, gain in groups if gain.verdict == "unclear" and gain.value < 0]
    parts = list[str]()
    if worse:
        parts.append(f"{_groups_are(len(worse))} served worse than by always saying {what}, such as {worse[0]}.")
    if unclear:
        name, gain = min(unclear, key=lambda one: one[1].value)
        more = f"{_groups_are(len(unclear))} served worse by no more than chance can explain"
        parts.append(f"{more}, such as {name} (gain {gain.interval(words)}, all groups together).")
    if parts:
        yield check("groups", "review", " ".join(parts), len(worse))


def _groups_are(number: int) -> str:
    return "1 group is" if number == 1 else f"{number} groups are"


def released_accuracy(subject: Subject) -> Section:
    """Return the section on accuracy and costs by released counts, with intervals by their noise, if it is known."""
    release = public_release(subject)
    has_counts = release is not None and release.is_histogram
    found = {} if release is None or not has_counts else _by_counts(release, subject.cost_matrix)
    texts = {name: _released_text(of, "g" if name.startswith("cost") else "%") for name, of in found.items()}
    facts = [SheetLine(name, _RELEASED[name], texts[name], *found[name]) for name in found]
    values: dict[str, Any] = {name: texts.get(name) for name in _RELEASED}
    values |= {
        "has_counts": has_counts,
        "has_noise": release is not None and release.noise is not None,
        "has_leaves": subject.has_leaves,
    }
    return section("accuracy", facts, template="accuracy-released", **values)


_RELEASED = {
    "share": "accuracy on the training rows, by released counts",
    "base": "baseline: the commonest class",
    "cost": "mean cost on the training rows, by released counts",
    "cost_of_constant": "baseline: mean cost of always one class",
}
_Mean = tuple[float, Interval]  # by the released counts, and its 95 % interval by the noise


def _by_counts(release: LeafRelease, costs: Floats | None) -> dict[str, _Mean]:
    """Return means over the training rows by released counts; none if no count is above 0, or the noise is unknown."""
    own, classes, noise = release.counts, release.target.values, release.noise
    said = np.array([classes.index(one) for one in release.predictions])
    of_class = np.maximum(own, 0.0).sum(axis=0)
    if noise is None or not of_class.any():
        return {}
    is_class = np.eye(len(classes))
    values = {"share": is_class[said], "base": is_class[[of_class.argmax()] * len(own)]}
    if costs is not None:
        cheapest = (of_class @ costs).argmin()
        values |= {"cost": costs.T[said], "cost_of_constant": costs.T[[cheapest] * len(own)]}
    return {name: _mean_by_counts(own, of_cell, noise) for name, of_cell in values.items()}


def _mean_by_counts(own: Integers, values: Floats, noise: CountNoise) -> _Mean:
    held = np.maximum(own, 0.0)  # a negative count is noise
    mean, of_cell = float((held * values).sum() / held.sum()), values.ravel()
    if noise.is_exact:
        return mean, (mean, mean)
    low, high = mean_on_rows(own.ravel(), of_cell, noise)
    return mean, (min(low, mean), max(high, mean))


def _released_text(found: _Mean, form: Literal["g", "%"]) -> str:
    mean, ends = found
    if form == "g":
        return f"{mean:.4g} ({ends[0]:.4g} to {ends[1]:.4g})"
    return f"{_percent(mean)} ({100 * ends[0]:.1f} to {_percent(ends[1])})"
