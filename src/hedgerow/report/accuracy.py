"""Accuracy of a model of classes on rows, by group, beside the baseline of always one class. **Private**."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hedgerow.audit.inference.labelled import LabelledRows, distinct
from hedgerow.boundary.arrays import Array, Floats, Index, Integers
from hedgerow.evaluation.intervals import Interval, mean_on_rows
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.report.checks import Check
from hedgerow.report.comparisons import (
    PLAIN,
    Losses,
    Pair,
    Part,
    Performance,
    Role,
    Words,
    gain_check,
    group_checks,
    pairs_of,
)
from hedgerow.report.contents import Column, Grid, Section, SheetLine, section
from hedgerow.report.subject import Subject, public_release
from hedgerow.schema.targets import Label
from hedgerow.text.values import value_text

COST, PLACES = "cost", "absolute error in classes"
COLUMNS = tuple(Column(name, name) for name in ("rows", "right", "accuracy", "baseline"))
_POINTS = Words(100.0, ".1f", " percentage points")


@dataclass(frozen=True)
class Penalty:
    """Cost of a decision: as stated by a matrix, or the distance of ordered classes."""

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

    def losses(self, truth: Index, predicted: Index) -> Losses:
        gains = self.matrix[:, [self.constant]] - self.matrix
        ends = float(gains.min()), float(gains.max())
        return Losses.of(self.matrix[truth, predicted], self.matrix[truth, self.constant], ends)


def measure(
    subject: Subject, pair: Pair, role: Role, common: str, by: Sequence[str], penalties: tuple[Penalty, ...] = ()
) -> Performance:
    """Return the share of rows with a wrong class, and the mean of each penalty, beside those of always one class."""
    LabelledRows.of(*pair)  # checks that they belong together
    truth, predicted = subject.class_words(pair[1]), subject.class_words(subject.predict(pair[0]))
    wrong = Losses.of(
        (predicted != truth).astype(np.float64), (truth != common).astype(np.float64), (-1.0, 1.0), scale=1.0
    )
    places = _places(subject, truth), _places(subject, predicted)
    return Performance.measure(subject, pair[0], role, [wrong, *(one.losses(*places) for one in penalties)], by)


def shares_right(part: Part) -> tuple[float, float]:
    """Return the accuracy of the model on a group, and the accuracy of the constant."""
    model, constant = part.means[0]
    return 1 - model, 1 - constant


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
    known, penalties, found = train if train is not None else test, tuple[Penalty, ...](), list[Performance]()
    if known is not None:
        common, penalties = commonest(subject, known[1]), penalties_of(subject, known[1])
        found = [measure(subject, *own, common, by, penalties) for own in pairs_of(train, test)]
        found[0] = replace(found[0], constants=len(set(subject.class_words(known[1]).tolist())))
    are_missing = subject.loss == "cost" and subject.cost_matrix is None
    reached = checks(found[-1], penalties) if found else ()
    return measured_accuracy(found, penalties, costs_missing=are_missing), tuple(reached)


def measured_accuracy(
    measured: Sequence[Performance], penalties: Sequence[Penalty] = (), *, costs_missing: bool = False
) -> Section:
    facts = [fact for one in measured for fact in _facts(one, penalties)]
    grids = [_grid(one, place, penalties) for one in measured for place in range(len(one.groups))]
    values: dict[str, Any] = {"costs_missing": costs_missing, "of": "", "penalties": ()}
    for last in measured[-1:]:
        means = zip(penalties, last.overall.means[1:], strict=True)
        shown = [{"name": one.name, "ours": f"{ours:.4g}", "base": f"{base:.4g}"} for one, (ours, base) in means]
        values |= {"of": last.of, "penalties": shown, "gain": last.overall.gains[0].text(_POINTS)}
        values |= dict(zip(("share", "base"), map(_percent, shares_right(last.overall)), strict=True))
    return section("accuracy", facts, grids, has_groups=bool(grids), has_test=len(measured) > 1, **values)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _facts(one: Performance, penalties: Sequence[Penalty]) -> Iterator[SheetLine]:
    (right, base), on = shares_right(one.overall), one.role
    yield SheetLine(f"accuracy_{on}", f"accuracy on {one.of}", f"{_percent(right)} of {one.overall.rows:,}", right)
    yield SheetLine(f"baseline_{on}", f"always the commonest class, on {one.of}", _percent(base), base)
    gain, *by_penalty = one.overall.gains
    name = f"gain over the commonest class, on {one.of}"
    yield SheetLine(f"gain_{on}", name, gain.interval(_POINTS), gain.value, gain.ends)
    for penalty, (ours, base), gain in zip(penalties, one.overall.means[1:], by_penalty, strict=True):
        key = f"{penalty.key}_{on}"
        yield SheetLine(f"mean_{key}", f"mean {penalty.name} on {one.of}", f"{ours:.4g}", ours)
        name = f"baseline: mean {penalty.name} of always one class"
        yield SheetLine(f"baseline_{key}", name, f"{base:.4g}", base)
        name = f"gain over always one class: mean {penalty.name} on {one.of}"
        yield SheetLine(f"gain_{key}", name, gain.interval(), gain.value, gain.ends)


def _grid(one: Performance, place: int, penalties: Sequence[Penalty]) -> Grid:
    name, groups = one.groups[place]
    ours = [Column(f"mean_{each.key}", each.short) for each in penalties]
    base = [Column(f"baseline_{each.key}", f"{each.short}, one class") for each in penalties]
    more = [column for both in zip(ours, base, strict=True) for column in both]
    rows = list[tuple[Any, ...]]()
    for part in groups:
        right, constant = shares_right(part)
        costs = (mean for both in part.means[1:] for mean in both)
        rows.append((part.group, part.rows, round(right * part.rows), right, constant, *costs))
    columns = (Column("group", name, is_text=True), *COLUMNS, *more)
    return Grid(f"by_{place + 1}_{one.role}", f"By {name}, on {one.of}", columns, tuple(rows))


def checks(measured: Performance, penalties: Sequence[Penalty] = ()) -> Iterator[Check]:
    """Yield whether the model is better than a constant by more than chance explains, and whether a group is not."""
    overall, cost = measured.overall, next((i for i, one in enumerate(penalties) if one.name == COST), None)
    if cost is None:
        place, rule, what, words = 0, "accuracy", "the commonest class", _POINTS
        share, base = shares_right(overall)
        sentence = (
            f"The model is right on {_percent(share)} of {measured.of}; always saying {what}, on {_percent(base)}."
        )
    else:
        place, rule, what, words = 1 + cost, "accuracy/cost", "always one class", PLAIN
        share, base = overall.means[place]
        sentence = f"On {measured.of} a row costs {share:.4g} on average; always saying one class, {base:.4g}."
    yield gain_check(rule, sentence, measured, place, words)
    yield from group_checks(measured, place, what, words)


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
    predicted = np.array([classes.index(one) for one in release.predictions])
    of_class = np.maximum(own, 0.0).sum(axis=0)
    if noise is None or not of_class.any():
        return {}
    is_class = np.eye(len(classes))
    values = {"share": is_class[predicted], "base": is_class[[of_class.argmax()] * len(own)]}
    if costs is not None:
        cheapest = (of_class @ costs).argmin()
        values |= {"cost": costs.T[predicted], "cost_of_constant": costs.T[[cheapest] * len(own)]}
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
