"""Residuals of a model of numbers on rows, by group, in units of the target beside a constant's. **Private**."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Self

import numpy as np

from hedgerow.audit.entropy.result import groups_of
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.boundary.arrays import Floats, Mask
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.report.accuracy import (
    ROWS,
    Pair,
    Role,
    advice_of,
    filled_groups,
    gain_check,
    group_checks,
    group_confidence,
)
from hedgerow.report.checks import Check, Status
from hedgerow.report.comparisons import CONFIDENCE, Clusters, Gain, Words
from hedgerow.report.contents import Column, Grid, GridValue, Section, SheetLine, section
from hedgerow.report.subject import Subject, public_release
from hedgerow.text.values import printable

_ABSOLUTE, _QUANTILE = ("absolute", "absolute_classes"), "quantile"
"""Codes of the losses that the median, and another quantile, minimise; the mean minimises the squared loss."""
_NAMES = {"mae": "mean absolute error", "rmse": "root mean squared error", "r2": "R²"}
_KEYS = {"absolute": "mae", "median": "baseline_mae", "squared": "rmse", "mean": "baseline_rmse"}
_GAINS = {"gain_mae": "MAE over the median", "gain_mse": "mean squared error over the mean"}
_INTERVAL, _WIDEST = 1.96, 0.25  # half the width of an interval of R² that says something
COLUMNS = (
    Column("rows", "rows"),
    Column("mae", "MAE"),
    Column("mae_of_median", "MAE of median"),
    Column("rmse", "RMSE"),
    Column("rmse_of_mean", "RMSE of mean"),
    Column("r2", "R²"),
    Column("bias", "bias"),
)


@dataclass(frozen=True)
class Residuals:
    """Means over the rows of a group, beside those of a constant: the median, or the mean, of the training rows."""

    group: str  # the group in words
    rows: int
    absolute: float  # mean absolute error
    median: float  # the same of the median
    squared: float  # mean squared error
    mean: float  # the same of the mean
    variance: float  # of the true numbers: the mean squared error of their own mean
    bias: float  # mean of the predicted number less the true one
    reached: float  # the share of rows whose number is no more than the predicted one
    gains: tuple[Gain, Gain]  # in absolute error over the median, and in squared error over the mean

    @classmethod
    def of(
        cls,
        group: str,
        truth: Floats,
        said: Floats,
        constants: tuple[float, float],
        clusters: Clusters,
        confidence: float,
    ) -> Self:
        """Return the means of a group's rows; `constants` are the mean and the median of known numbers."""
        off, (mean, median) = said - truth, constants
        sizes, squares = (np.abs(off), np.abs(median - truth)), (off**2, (mean - truth) ** 2)
        absolute, of_median, squared, of_mean = (float(one.mean()) for one in (*sizes, *squares))
        bias, reached = float(off.mean()), float((off >= 0).mean())
        by_absolute, by_squared = (
            Gain.of(theirs - ours, clusters, confidence=confidence) for ours, theirs in (sizes, squares)
        )
        means = absolute, of_median, squared, of_mean, float(truth.var()), bias, reached
        return cls(group, len(truth), *means, (by_absolute, by_squared))

    @property
    def r2(self) -> float | None:
        """R²: the share of the variance of these rows that is explained; None where there is none."""
        return 1 - self.squared / self.variance if self.variance else None

    def compared(self, loss: str) -> tuple[float, float]:
        """Return the error and the constant's: root mean squared ones, or absolute ones where these were learned by."""
        is_absolute = loss in _ABSOLUTE
        return (self.absolute, self.median) if is_absolute else (sqrt(self.squared), sqrt(self.mean))

    def gain(self, loss: str) -> Gain:
        """Return the gain over the constant: in squared error, or in absolute error if that was minimised."""
        return self.gains[loss not in _ABSOLUTE]


@dataclass(frozen=True)
class Error:
    """Residuals of a model on all of some rows, and in the groups of some columns."""

    role: Role
    of: str  # which rows they are
    overall: Residuals  # all rows
    groups: tuple[tuple[str, tuple[Residuals, ...]], ...]  # for each column, its groups, that of most error first

    @classmethod
    def measure(cls, subject: Subject, pair: Pair, role: Role, known: Floats, by: Sequence[str]) -> Self:
        """Apply the model to rows; the constants are the mean and the median of known numbers."""
        rows, truth, said = LabelledRows.of(*pair), subject.numbers(pair[1]), subject.predict(pair[0])
        constants, clusters = (float(known.mean()), float(np.median(known))), Clusters.of(subject.schema, pair[0])

        def measured(name: str, inside: Mask, confidence: float) -> Residuals:
            own = clusters.inside(inside)
            return Residuals.of(name, truth[inside], said[inside], constants, own, confidence)

        by_column = {name: filled_groups(*groups_of(rows.table, subject.schema, name)) for name in by}
        confidence = group_confidence(by_column)
        overall = measured("all rows", np.ones(len(rows), dtype=bool), CONFIDENCE)
        groups = {name: [measured(*group, confidence) for group in own] for name, own in by_column.items()}
        ordered = ((name, tuple(sorted(own, key=lambda one: -one.absolute))) for name, own in groups.items())
        return cls(role, subject.called(ROWS[role]), overall, tuple(ordered))


def measured(
    subject: Subject, train: Pair | None, test: Pair | None, by: Sequence[str]
) -> tuple[Section, tuple[Check, ...]]:
    first, found = train if train is not None else test, list[Error]()
    if first is not None:
        pairs: tuple[tuple[Pair | None, Role], ...] = ((train, "training"), (test, "held_out"))
        known = subject.numbers(first[1])
        found = [Error.measure(subject, pair, role, known, by) for pair, role in pairs if pair is not None]
    facts = [fact for one in found for fact in _facts(one, subject.loss)]
    grids = [_grid(one, i, name, groups) for one in found for i, (name, groups) in enumerate(one.groups, 1)]
    last = found[-1].overall if found else None
    values: dict[str, Any] = {
        "of": found[-1].of if found else "",
        "shown": None if last is None else {name: f"{value:.4g}" for name, value in _sizes(last).items()},
        "r2": None if last is None else last.r2,
        "has_groups": bool(grids),
        "has_test": len(found) > 1,
        "target": _target(subject),
    }
    said = tuple(_checks(subject, found, advice_of(test)))
    return section("accuracy", facts, grids, template="residuals", **values), said


def _target(subject: Subject) -> str:
    return printable(subject.number.name) if subject.number else ""


def _sizes(one: Residuals) -> dict[str, float]:
    roots = {"squared": sqrt(one.squared), "mean": sqrt(one.mean)}
    return {"absolute": one.absolute, "median": one.median, **roots, "bias": one.bias}


def _facts(one: Error, loss: str) -> Iterator[SheetLine]:
    all_rows, sizes = one.overall, _sizes(one.overall)
    named = {
        "absolute": f"mean absolute error (MAE) on {one.of}",
        "median": "baseline: MAE of always the median",
        "squared": f"root mean squared error (RMSE) on {one.of}",
        "mean": "baseline: RMSE of always the mean",
    }
    on = one.role
    for key, name in named.items():
        yield SheetLine(f"{_KEYS[key]}_{on}", name, f"{sizes[key]:.4g}", sizes[key])
    for gain, (key, name) in zip(all_rows.gains, _GAINS.items(), strict=True):
        yield SheetLine(f"{key}_{on}", f"gain in {name}, on {one.of}", gain.interval(), gain.value, gain.ends)
    r2 = all_rows.r2
    yield SheetLine(
        f"r2_{on}",
        f"R² on {one.of}",
        "no two numbers differ" if r2 is None else f"{r2:.3f} of {all_rows.rows:,} rows",
        r2,
    )
    if loss == _QUANTILE:
        share = all_rows.reached
        name = f"rows with no more than is predicted, on {one.of}"
        yield SheetLine(f"rows_reached_{on}", name, f"{100 * share:.1f} %", share)


def _grid(error: Error, place: int, name: str, groups: tuple[Residuals, ...]) -> Grid:
    rows = list[tuple[GridValue, ...]]()
    for one in groups:
        shown = {key: float(f"{value:.4g}") for key, value in _sizes(one).items()}
        errors = shown["absolute"], shown["median"], shown["squared"], shown["mean"]
        rows.append((one.group, one.rows, *errors, one.r2, shown["bias"]))
    columns = (Column("group", name, is_text=True), *COLUMNS)
    return Grid(f"by_{place}_{error.role}", f"By {name}, on {error.of}", columns, tuple(rows))


def _checks(subject: Subject, found: Sequence[Error], good: Status) -> Iterator[Check]:
    """Yield where the model is no better than a constant; none of a quantile, whose error is not its aim."""
    loss = subject.loss
    for one in [] if loss == _QUANTILE else found[-1:]:
        ours, base = one.overall.compared(loss)
        is_absolute = loss in _ABSOLUTE
        what, constant = ("mean absolute", "median") if is_absolute else ("root mean squared", "mean")
        sentence = f"On {one.of} the {what} error is {ours:.4g}; always saying the {constant}, {base:.4g}."
        words = Words(unit=" in mean absolute error" if is_absolute else " in mean squared error")
        gain = one.overall.gain(loss)
        yield gain_check("accuracy/number", good, f"{sentence} {gain.text(words)}", ours, gain)
        named = [(f"{name} = {group.group}", group.gain(loss)) for name, groups in one.groups for group in groups]
        yield from group_checks(named, f"the {constant}", words)


def released_error(subject: Subject) -> Section:
    release = public_release(subject)
    has_counts = release is not None and release.is_histogram
    found = {} if release is None or not has_counts else _by_counts(release)
    texts = {name: f"{value:.3g}" + (f" ± {half:.2g}" if half else "") for name, (value, half) in found.items()}
    facts = [
        SheetLine(
            key, f"{_NAMES[key]} on the training rows, by released counts", texts[key], value, _around(value, half)
        )
        for key, (value, half) in found.items()
    ]
    values: dict[str, Any] = {"absolute": texts.get("mae"), "r2": texts.get("r2"), "target": _target(subject)}
    values |= {
        "has_counts": has_counts,
        "has_noise": release is not None and release.noise is not None,
        "has_leaves": subject.has_leaves,
    }
    return section("accuracy", facts, template="residuals-released", **values)


def _around(value: float, half: float) -> tuple[float, float]:
    return value - half, value + half


def _by_counts(release: LeafRelease) -> dict[str, tuple[float, float]]:
    """Return errors and R² by released counts, each with half its 95 % interval by noise; none if that is too wide."""
    middles, counts, noise = np.array(release.target.values), release.counts.astype(np.float64), release.noise
    rows, said = counts.sum(), np.array(release.predictions)[:, np.newaxis]
    if noise is None or rows <= 0:
        return {}
    shares, off = counts / rows, np.abs(middles - said)
    around = np.broadcast_to((middles - (shares * middles).sum()) ** 2, off.shape)
    absolute, squared, variance = (float((shares * each).sum()) for each in (off, off**2, around))
    if absolute <= 0 or squared <= 0 or variance <= 0:
        return {}
    scale = _INTERVAL * noise.deviation / float(rows)
    of_squared, of_variance = off**2 - squared, around - variance
    of_r2 = (of_squared - squared / variance * of_variance) / variance
    slopes = off - absolute, of_squared / (2 * sqrt(squared)), of_r2
    values = absolute, sqrt(squared), 1 - squared / variance
    halves = [scale * float(np.sqrt((each**2).sum())) for each in slopes]
    return dict(zip(_NAMES, zip(values, halves, strict=True), strict=True)) if halves[2] < _WIDEST else {}
