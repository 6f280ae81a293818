"""Accuracy of a classifier on rows and by group, compared with always predicting one class. **Private**."""

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
    COMMONEST,
    ONE_CLASS,
    PLAIN,
    Losses,
    Pair,
    Part,
    Performance,
    Role,
    Scale,
    gain_check,
    group_checks,
    pairs_of,
)
from hedgerow.report.contents import Column, Grid, Section, SheetLine, section
from hedgerow.report.subject import Subject, public_release
from hedgerow.schema.targets import Label
from hedgerow.text.language import N_, _, decimal, percent, significant
from hedgerow.text.values import value_text

_POINTS = Scale(
    100.0,
    1,
    N_("{value} percentage points, 95 % interval {low} to {high}"),
    N_("{value} percentage points"),
)


@dataclass(frozen=True)
class Penalty:
    """The penalty of a prediction: a stated cost, or the distance of ordered classes."""

    is_cost: bool
    matrix: Floats  # a row of the class of a line, predicted as the class of a column
    constant: int  # the constant class with the lowest cost on the first given rows

    @property
    def key(self) -> str:
        """The id of the penalty."""
        return "cost" if self.is_cost else "error_in_classes"

    @property
    def short(self) -> str:
        return _("cost") if self.is_cost else "MAE"

    @property
    def names(self) -> tuple[str, str, str]:
        """The names of the model's mean, the constant's mean, and the gain."""
        if self.is_cost:
            return N_("mean cost ({rows})"), N_("mean cost of one class ({rows})"), N_("gain in mean cost ({rows})")
        return (
            N_("mean absolute error in classes ({rows})"),
            N_("mean absolute error in classes of one class ({rows})"),
            N_("gain in mean absolute error in classes ({rows})"),
        )

    def losses(self, truth: Index, predicted: Index) -> Losses:
        gains = self.matrix[:, [self.constant]] - self.matrix
        ends = float(gains.min()), float(gains.max())
        return Losses.of(self.matrix[truth, predicted], self.matrix[truth, self.constant], ends)


def measure(
    subject: Subject, pair: Pair, role: Role, common: str, by: Sequence[str], penalties: tuple[Penalty, ...] = ()
) -> Performance:
    """Return the share of misclassified rows and the mean of each penalty, for the model and for one class."""
    LabelledRows.of(*pair)  # checks that rows and labels belong together
    truth, predicted = subject.class_words(pair[1]), subject.class_words(subject.predict(pair[0]))
    wrong = Losses.of(
        (predicted != truth).astype(np.float64), (truth != common).astype(np.float64), (-1.0, 1.0), scale=1.0
    )
    places = _places(subject, truth), _places(subject, predicted)
    return Performance.measure(subject, pair[0], role, [wrong, *(penalty.losses(*places) for penalty in penalties)], by)


def accuracies(part: Part) -> tuple[float, float]:
    """Return the accuracy of the model on a group, and the accuracy of the constant."""
    model, constant = part.means[0]
    return 1 - model, 1 - constant


def commonest(subject: Subject, labels: Any) -> str:
    """Return the most common class of labels in words; ties go to the first."""
    names, codes = distinct(subject.class_words(labels))
    return names[int(np.bincount(codes).argmax())]


def penalties_of(subject: Subject, labels: Any) -> tuple[Penalty, ...]:
    label = None if subject.schema is None else subject.schema.label
    if not isinstance(label, Label):
        return ()
    matrices = [] if subject.cost_matrix is None else [(True, subject.cost_matrix)]
    if label.ordered and len(label.classes) > 2:
        places = np.arange(len(label.classes), dtype=np.float64)
        matrices.append((False, np.abs(places[:, np.newaxis] - places)))
    truth = _places(subject, subject.class_words(labels)) if matrices else []
    return tuple(Penalty(is_cost, matrix, int(matrix[truth].sum(axis=0).argmin())) for is_cost, matrix in matrices)


def _places(subject: Subject, words: Array) -> Index:
    """Return the index of the class that each word names; 0 for all words if no schema lists classes."""
    label = None if subject.schema is None else subject.schema.label
    known = {value_text(value): place for place, value in enumerate(label.values if label else ())}
    return np.array([known.get(word, 0) for word in words], dtype=np.intp)


def measured(
    subject: Subject, train: Pair | None, test: Pair | None, by: Sequence[str]
) -> tuple[Section, tuple[Check, ...]]:
    known, penalties, results = train if train is not None else test, tuple[Penalty, ...](), list[Performance]()
    if known is not None:
        common, penalties = commonest(subject, known[1]), penalties_of(subject, known[1])
        results = [measure(subject, *own, common, by, penalties) for own in pairs_of(train, test)]
        results[0] = replace(results[0], constants=len(set(subject.class_words(known[1]).tolist())))
    are_missing = subject.loss == "cost" and subject.cost_matrix is None
    reached = checks(results[-1], penalties) if results else ()
    return measured_accuracy(results, penalties, costs_missing=are_missing), tuple(reached)


def measured_accuracy(
    measured: Sequence[Performance], penalties: Sequence[Penalty] = (), *, costs_missing: bool = False
) -> Section:
    facts = [fact for result in measured for fact in _facts(result, penalties)]
    grids = [_grid(result, place, penalties) for result in measured for place in range(len(result.groups))]
    values: dict[str, Any] = {"costs_missing": costs_missing, "of": "", "penalties": ()}
    for last in measured[-1:]:
        means = zip(penalties, last.overall.means[1:], strict=True)
        shown = [
            {"is_cost": penalty.is_cost, "own": significant(own), "base": significant(base)}
            for penalty, (own, base) in means
        ]
        values |= {"of": last.rows, "penalties": shown, "gain": last.overall.gains[0].text(_POINTS)}
        share, base = accuracies(last.overall)
        values |= {"share": percent(share, 1), "base": percent(base, 1)}
    return section("accuracy", facts, grids, has_groups=bool(grids), has_test=len(measured) > 1, **values)


def _facts(result: Performance, penalties: Sequence[Penalty]) -> Iterator[SheetLine]:
    (share, base), on = accuracies(result.overall), result.role
    text = _("{share} of {rows}", share=percent(share, 1), rows=result.overall.rows)
    yield SheetLine(f"accuracy_{on}", _("accuracy ({rows})", rows=result.rows), text, share)
    name = _("accuracy of the most common class ({rows})", rows=result.rows)
    yield SheetLine(f"baseline_{on}", name, percent(base, 1), base)
    gain, *by_penalty = result.overall.gains
    name = _("gain in accuracy ({rows})", rows=result.rows)
    yield SheetLine(f"gain_{on}", name, gain.interval(_POINTS), gain.value, gain.ends)
    for penalty, (own, base), gain in zip(penalties, result.overall.means[1:], by_penalty, strict=True):
        key, names = f"{penalty.key}_{on}", [_(name, rows=result.rows) for name in penalty.names]
        yield SheetLine(f"mean_{key}", names[0], significant(own), own)
        yield SheetLine(f"baseline_{key}", names[1], significant(base), base)
        yield SheetLine(f"gain_{key}", names[2], gain.interval(), gain.value, gain.ends)


def _grid(result: Performance, place: int, penalties: Sequence[Penalty]) -> Grid:
    name, groups = result.groups[place]
    columns = [
        Column("group", name, is_text=True),
        Column("rows", _("rows")),
        Column("right", _("correct")),
        Column("accuracy", _("accuracy")),
        Column("baseline", _("most common class")),
    ]
    for penalty in penalties:
        columns.append(Column(f"mean_{penalty.key}", penalty.short))
        columns.append(Column(f"baseline_{penalty.key}", _("{penalty}, one class", penalty=penalty.short)))
    rows = list[tuple[Any, ...]]()
    for part in groups:
        share, constant = accuracies(part)
        costs = (mean for both in part.means[1:] for mean in both)
        rows.append((part.group, part.rows, round(share * part.rows), share, constant, *costs))
    title = _("By {column} ({rows})", column=name, rows=result.rows)
    return Grid(f"by_{place + 1}_{result.role}", title, tuple(columns), tuple(rows))


def checks(measured: Performance, penalties: Sequence[Penalty] = ()) -> Iterator[Check]:
    """Yield the checks of whether the model is significantly better than a constant, overall and for each group."""
    overall, cost = measured.overall, next((i for i, penalty in enumerate(penalties) if penalty.is_cost), None)
    if cost is None:
        place, rule, constant, scale = 0, "accuracy", COMMONEST, _POINTS
        share, base = (percent(accuracy, 1) for accuracy in accuracies(overall))
        sentence = _(
            "The model predicts {share} of the rows correctly ({rows}); always predicting the most common class would "
            "be correct for {base}.",
            share=share,
            rows=measured.rows,
            base=base,
        )
    else:
        place, rule, constant, scale = 1 + cost, "accuracy/cost", ONE_CLASS, PLAIN
        own, base = map(significant, overall.means[place])
        sentence = _(
            "The mean cost of a row is {own} ({rows}); always predicting one class would cost {base}.",
            own=own,
            rows=measured.rows,
            base=base,
        )
    yield gain_check(rule, sentence, measured, place, scale)
    yield from group_checks(measured, place, constant, scale)


def released_accuracy(subject: Subject) -> Section:
    """Return the section on accuracy and costs from released counts, with intervals if the noise is known."""
    release = public_release(subject)
    has_counts = release is not None and release.is_histogram
    means = {} if release is None or not has_counts else _by_counts(release, subject.cost_matrix)
    texts = {name: _released_text(mean, "g" if name.startswith("cost") else "%") for name, mean in means.items()}
    facts = [SheetLine(name, _(_RELEASED[name]), texts[name], *means[name]) for name in means]
    values: dict[str, Any] = {name: texts.get(name) for name in _RELEASED}
    values |= {
        "has_counts": has_counts,
        "has_noise": release is not None and release.noise is not None,
        "has_leaves": subject.has_leaves,
    }
    return section("accuracy", facts, template="accuracy-released", **values)


_RELEASED = {
    "share": N_("accuracy on the training rows, by released counts"),
    "base": N_("accuracy of the most common class, by released counts"),
    "cost": N_("mean cost of the training rows, by released counts"),
    "cost_of_constant": N_("mean cost of one class, by released counts"),
}
_Mean = tuple[float, Interval]  # the mean from the released counts, and its 95 % noise interval


def _by_counts(release: LeafRelease, costs: Floats | None) -> dict[str, _Mean]:
    """Return means over the training rows from released counts; none without a positive count or known noise."""
    own, classes, noise = release.counts, release.target.values, release.noise
    predicted = np.array([classes.index(prediction) for prediction in release.predictions])
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


def _released_text(estimate: _Mean, form: Literal["g", "%"]) -> str:
    mean, (low, high) = estimate
    if form == "g":
        return _("{mean} ({low} to {high})", mean=significant(mean), low=significant(low), high=significant(high))
    low_text = decimal(100 * low, 1)
    return _("{mean} ({low} to {high})", mean=percent(mean, 1), low=low_text, high=percent(high, 1))
