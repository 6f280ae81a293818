"""Errors of a regressor on rows and by group, compared with a constant prediction. **Private**."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Self

import numpy as np

from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.boundary.arrays import Floats
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.report.checks import Check
from hedgerow.report.comparisons import (
    MEAN,
    MEDIAN,
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
from hedgerow.report.contents import Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.subject import Subject, public_release
from hedgerow.text.language import N_, _, decimal, percent, significant
from hedgerow.text.values import printable

_ABSOLUTE, _QUANTILE = ("absolute", "absolute_classes"), "quantile"
"""Codes of the losses that the median, and another quantile, minimise; the mean minimises the squared loss."""
_RELEASED = {
    "mae": N_("mean absolute error on the training rows, by released counts"),
    "rmse": N_("root mean squared error on the training rows, by released counts"),
    "r2": N_("R² on the training rows, by released counts"),
}
_MEANS = {
    "absolute": ("mae", N_("mean absolute error, MAE ({rows})")),
    "median": ("baseline_mae", N_("MAE of always predicting the median ({rows})")),
    "squared": ("rmse", N_("root mean squared error, RMSE ({rows})")),
    "mean": ("baseline_rmse", N_("RMSE of always predicting the mean ({rows})")),
}
_GAINS = {
    "gain_mae": N_("gain in MAE over the median ({rows})"),
    "gain_mse": N_("gain in mean squared error over the mean ({rows})"),
}
_INTERVAL, _WIDEST = 1.96, 0.25  # the largest half-width of an informative interval of R²


@dataclass(frozen=True, eq=False)
class Error:
    """Errors of a model on rows: absolute errors compared with the median, squared errors with the mean."""

    performance: Performance
    truth: Floats
    off: Floats  # the predicted number minus the true number

    @classmethod
    def measure(cls, subject: Subject, pair: Pair, role: Role, known: Floats, by: Sequence[str]) -> Self:
        """Apply the model to rows; the constants are the mean and the median of known numbers."""
        LabelledRows.of(*pair)  # checks that rows and numbers belong together
        truth = subject.numbers(pair[1])
        off, mean, median = subject.predict(pair[0]) - truth, float(known.mean()), float(np.median(known))
        losses = Losses.of(np.abs(off), np.abs(median - truth)), Losses.of(off**2, (mean - truth) ** 2)
        return cls(Performance.measure(subject, pair[0], role, losses, by), truth, off)

    def r2(self, part: Part) -> float | None:
        """Return R², the explained share of the variance of a group; None if there is no variance."""
        variance = float(self.truth[part.inside].var())
        return 1 - part.means[1][0] / variance if variance else None

    def bias(self, part: Part) -> float:
        return float(self.off[part.inside].mean())

    @property
    def reached(self) -> float:
        """The share of rows whose number is at most the predicted number."""
        return float((self.off >= 0).mean())

    def sizes(self, part: Part) -> dict[str, float]:
        """Return the sizes of the errors of a group in units of the target."""
        (absolute, median), squares = part.means
        squared, mean = map(sqrt, squares)
        return {"absolute": absolute, "median": median, "squared": squared, "mean": mean, "bias": self.bias(part)}


def measured(
    subject: Subject, train: Pair | None, test: Pair | None, by: Sequence[str]
) -> tuple[Section, tuple[Check, ...]]:
    first, errors = train if train is not None else test, list[Error]()
    if first is not None:
        known = subject.numbers(first[1])
        errors = [Error.measure(subject, *own, known, by) for own in pairs_of(train, test)]
    facts = [fact for error in errors for fact in _facts(error, subject.loss)]
    grids = [_grid(error, place) for error in errors for place in range(len(error.performance.groups))]
    values: dict[str, Any] = {"of": "", "shown": None, "r2": None, "target": _target(subject)}
    for last in errors[-1:]:
        whole = last.performance.overall
        shown, r2 = {name: significant(value) for name, value in last.sizes(whole).items()}, last.r2(whole)
        explained = percent(r2) if r2 is not None and r2 > 0 else ""
        values |= {"of": last.performance.rows, "shown": shown, "r2": r2, "explained": explained}
    values |= {"has_groups": bool(grids), "has_test": len(errors) > 1}
    reached = _checks(subject.loss, errors[-1].performance) if errors else ()
    return section("accuracy", facts, grids, template="residuals", **values), tuple(reached)


def _target(subject: Subject) -> str:
    return printable(subject.number.name) if subject.number else ""


def _facts(error: Error, loss: str) -> Iterator[SheetLine]:
    rows, on, whole = error.performance.rows, error.performance.role, error.performance.overall
    sizes, r2 = error.sizes(whole), error.r2(whole)
    for size, (key, name) in _MEANS.items():
        yield SheetLine(f"{key}_{on}", _(name, rows=rows), significant(sizes[size]), sizes[size])
    for gain, (key, name) in zip(whole.gains, _GAINS.items(), strict=True):
        yield SheetLine(f"{key}_{on}", _(name, rows=rows), gain.interval(), gain.value, gain.ends)
    text = _("not defined: all values are equal")
    if r2 is not None:
        text = _("{r2} for {rows} rows", r2=decimal(r2, 3), rows=whole.rows)
    yield SheetLine(f"r2_{on}", _("R² ({rows})", rows=rows), text, r2)
    if loss == _QUANTILE:
        name = _("rows whose value is at most the prediction ({rows})", rows=rows)
        yield SheetLine(f"rows_reached_{on}", name, percent(error.reached, 1), error.reached)


def _grid(error: Error, place: int) -> Grid:
    measured, rows = error.performance, list[tuple[GridValue, ...]]()
    name, groups = measured.groups[place]
    for part in groups:
        shown = {key: float(f"{value:.4g}") for key, value in error.sizes(part).items()}
        errors = shown["absolute"], shown["median"], shown["squared"], shown["mean"]
        rows.append((part.group, part.rows, *errors, error.r2(part), shown["bias"]))
    columns = (
        Column("group", name, is_text=True),
        Column("rows", _("rows")),
        Column("mae", "MAE"),
        Column("mae_of_median", _("MAE of median")),
        Column("rmse", "RMSE"),
        Column("rmse_of_mean", _("RMSE of mean")),
        Column("r2", "R²"),
        Column("bias", _("bias")),
    )
    title = _("By {column} ({rows})", column=name, rows=measured.rows)
    return Grid(f"by_{place + 1}_{measured.role}", title, columns, tuple(rows))


def _checks(loss: str, measured: Performance) -> Iterator[Check]:
    """Yield the check of whether the model is better than a constant; none for a quantile, which minimises no error.

    The loss is the absolute error if the model minimised it, and otherwise the squared error.
    """
    if loss == _QUANTILE:
        return
    place = int(loss not in _ABSOLUTE)
    ours, base = measured.overall.means[place] if place == 0 else map(sqrt, measured.overall.means[place])
    message, constant, scale = _JUDGED[place]
    sentence = _(message, rows=measured.rows, own=significant(ours), base=significant(base))
    yield gain_check("accuracy/number", sentence, measured, place, scale)
    yield from group_checks(measured, place, constant, scale)


_JUDGED = (
    (
        N_("The mean absolute error is {own} ({rows}); always predicting the median would have {base}."),
        MEDIAN,
        Scale(
            message=N_("{value} in mean absolute error, 95 % interval {low} to {high}"),
            amount=N_("{value} in mean absolute error"),
        ),
    ),
    (
        N_("The root mean squared error is {own} ({rows}); always predicting the mean would have {base}."),
        MEAN,
        Scale(
            message=N_("{value} in mean squared error, 95 % interval {low} to {high}"),
            amount=N_("{value} in mean squared error"),
        ),
    ),
)


def released_error(subject: Subject) -> Section:
    release = public_release(subject)
    has_counts = release is not None and release.is_histogram
    errors = {} if release is None or not has_counts else _by_counts(release)
    texts = {name: _around_text(*error) for name, error in errors.items()}
    facts = [
        SheetLine(key, _(_RELEASED[key]), texts[key], value, _around(value, half))
        for key, (value, half) in errors.items()
    ]
    values: dict[str, Any] = {"absolute": texts.get("mae"), "r2": texts.get("r2"), "target": _target(subject)}
    values |= {
        "has_counts": has_counts,
        "has_noise": release is not None and release.noise is not None,
        "has_leaves": subject.has_leaves,
    }
    return section("accuracy", facts, template="residuals-released", **values)


def _around_text(value: float, half: float) -> str:
    text = significant(value, 3)
    return f"{text} ± {significant(half, 2)}" if half else text


def _around(value: float, half: float) -> tuple[float, float]:
    return value - half, value + half


def _by_counts(release: LeafRelease) -> dict[str, tuple[float, float]]:
    """Return errors and R² from released counts with half their 95 % noise intervals; none if these are too wide."""
    middles, counts, noise = np.array(release.target.values), release.counts.astype(np.float64), release.noise
    rows, predicted = counts.sum(), np.array(release.predictions)[:, np.newaxis]
    if noise is None or rows <= 0:
        return {}
    shares, off = counts / rows, np.abs(middles - predicted)
    around = np.broadcast_to((middles - (shares * middles).sum()) ** 2, off.shape)
    absolute, squared, variance = (float((shares * error).sum()) for error in (off, off**2, around))
    if absolute <= 0 or squared <= 0 or variance <= 0:
        return {}
    scale = _INTERVAL * noise.deviation / float(rows)
    of_squared, of_variance = off**2 - squared, around - variance
    of_r2 = (of_squared - squared / variance * of_variance) / variance
    slopes = off - absolute, of_squared / (2 * sqrt(squared)), of_r2
    values = absolute, sqrt(squared), 1 - squared / variance
    halves = [scale * float(np.sqrt((slope**2).sum())) for slope in slopes]
    return dict(zip(_RELEASED, zip(values, halves, strict=True), strict=True)) if halves[2] < _WIDEST else {}
