"""Residuals of a model of numbers on rows, by group, in units of the target beside a constant's. **Private**."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Self

import numpy as np

from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.boundary.arrays import Floats
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.report.checks import Check
from hedgerow.report.comparisons import Losses, Pair, Part, Performance, Role, Words, gain_check, group_checks, pairs_of
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


@dataclass(frozen=True, eq=False)
class Error:
    """Errors of a model on rows: absolute ones, beside those of the median, and squared ones, beside the mean's."""

    performance: Performance
    truth: Floats
    off: Floats  # the predicted number less the true one

    @classmethod
    def measure(cls, subject: Subject, pair: Pair, role: Role, known: Floats, by: Sequence[str]) -> Self:
        """Apply the model to rows; the constants are the mean and the median of known numbers."""
        LabelledRows.of(*pair)  # checks that they belong together
        truth = subject.numbers(pair[1])
        off, mean, median = subject.predict(pair[0]) - truth, float(known.mean()), float(np.median(known))
        losses = Losses.of(np.abs(off), np.abs(median - truth)), Losses.of(off**2, (mean - truth) ** 2)
        return cls(Performance.measure(subject, pair[0], role, losses, by), truth, off)

    def r2(self, part: Part) -> float | None:
        """Return R²: the share of the variance of a group that is explained; None if there is no variance."""
        variance = float(self.truth[part.inside].var())
        return 1 - part.means[1][0] / variance if variance else None

    def bias(self, part: Part) -> float:
        return float(self.off[part.inside].mean())

    @property
    def reached(self) -> float:
        """The share of rows whose number is no more than the predicted number."""
        return float((self.off >= 0).mean())

    def sizes(self, part: Part) -> dict[str, float]:
        """Return the errors of a group in units of the target."""
        (absolute, median), squares = part.means
        squared, mean = map(sqrt, squares)
        return {"absolute": absolute, "median": median, "squared": squared, "mean": mean, "bias": self.bias(part)}


def measured(
    subject: Subject, train: Pair | None, test: Pair | None, by: Sequence[str]
) -> tuple[Section, tuple[Check, ...]]:
    first, found = train if train is not None else test, list[Error]()
    if first is not None:
        known = subject.numbers(first[1])
        found = [Error.measure(subject, *own, known, by) for own in pairs_of(train, test)]
    facts = [fact for one in found for fact in _facts(one, subject.loss)]
    grids = [_grid(one, place) for one in found for place in range(len(one.performance.groups))]
    values: dict[str, Any] = {"of": "", "shown": None, "r2": None, "target": _target(subject)}
    for last in found[-1:]:
        whole = last.performance.overall
        shown = {name: f"{value:.4g}" for name, value in last.sizes(whole).items()}
        values |= {"of": last.performance.of, "shown": shown, "r2": last.r2(whole)}
    values |= {"has_groups": bool(grids), "has_test": len(found) > 1}
    reached = _checks(subject.loss, found[-1].performance) if found else ()
    return section("accuracy", facts, grids, template="residuals", **values), tuple(reached)


def _target(subject: Subject) -> str:
    return printable(subject.number.name) if subject.number else ""


def _facts(one: Error, loss: str) -> Iterator[SheetLine]:
    of, on, all_rows = one.performance.of, one.performance.role, one.performance.overall
    sizes, r2 = one.sizes(all_rows), one.r2(all_rows)
    named = {
        "absolute": f"mean absolute error (MAE) on {of}",
        "median": "baseline: MAE of always the median",
        "squared": f"root mean squared error (RMSE) on {of}",
        "mean": "baseline: RMSE of always the mean",
    }
    for key, name in named.items():
        yield SheetLine(f"{_KEYS[key]}_{on}", name, f"{sizes[key]:.4g}", sizes[key])
    for gain, (key, name) in zip(all_rows.gains, _GAINS.items(), strict=True):
        yield SheetLine(f"{key}_{on}", f"gain in {name}, on {of}", gain.interval(), gain.value, gain.ends)
    text = "no two numbers differ" if r2 is None else f"{r2:.3f} of {all_rows.rows:,} rows"
    yield SheetLine(f"r2_{on}", f"R² on {of}", text, r2)
    if loss == _QUANTILE:
        share = one.reached
        name = f"rows with no more than is predicted, on {of}"
        yield SheetLine(f"rows_reached_{on}", name, f"{100 * share:.1f} %", share)


def _grid(one: Error, place: int) -> Grid:
    measured, rows = one.performance, list[tuple[GridValue, ...]]()
    name, groups = measured.groups[place]
    for part in groups:
        shown = {key: float(f"{value:.4g}") for key, value in one.sizes(part).items()}
        errors = shown["absolute"], shown["median"], shown["squared"], shown["mean"]
        rows.append((part.group, part.rows, *errors, one.r2(part), shown["bias"]))
    columns = (Column("group", name, is_text=True), *COLUMNS)
    return Grid(f"by_{place + 1}_{measured.role}", f"By {name}, on {measured.of}", columns, tuple(rows))


def _checks(loss: str, measured: Performance) -> Iterator[Check]:
    """Yield whether the model is better than a constant; nothing of a quantile, whose error is not its aim.

    The loss is the absolute error if that was minimised, and else the squared one.
    """
    if loss == _QUANTILE:
        return
    place = int(loss not in _ABSOLUTE)
    what, constant, unit = _JUDGED[place]
    ours, base = measured.overall.means[place] if place == 0 else map(sqrt, measured.overall.means[place])
    sentence = f"On {measured.of} the {what} error is {ours:.4g}; always saying the {constant}, {base:.4g}."
    words = Words(unit=f" in {unit} error")
    yield gain_check("accuracy/number", sentence, measured, place, words)
    yield from group_checks(measured, place, f"the {constant}", words)


_JUDGED = (("mean absolute", "median", "mean absolute"), ("root mean squared", "mean", "mean squared"))


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
    rows, predicted = counts.sum(), np.array(release.predictions)[:, np.newaxis]
    if noise is None or rows <= 0:
        return {}
    shares, off = counts / rows, np.abs(middles - predicted)
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
