"""Evaluations: the noisy histogram of a model's predictions on rows, with what follows from it. Public."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.errors import ArgumentError, ArgumentTypeError, HedgerowError
from hedgerow.evaluation.intervals import Interval, NoisyCounts
from hedgerow.evaluation.measures import ClassMeasures, Estimate, Mean, Measure, NumberMeasures
from hedgerow.evaluation.plot import reliability_plot
from hedgerow.models import envelope
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.decisions import Costs, CostTable, cost_matrix, cost_table
from hedgerow.models.plot import svg_of
from hedgerow.models.score_bands import ScoreBand
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.serialize import label_from_dict
from hedgerow.schema.targets import Label, Target
from hedgerow.text.axes import Axes
from hedgerow.text.markup import element
from hedgerow.text.messages import aligned
from hedgerow.text.values import printable, shown_text

Verdict = Literal["better", "worse", "too noisy to say"]
ALL = "all rows"
_MOST_CLASSES = 12  # of a matrix that is printed
_WIDEST = 2**62  # of a scale: beyond all counts
_COUNTS = range(-(2**63), 2**63)  # what discrete Laplace noise on 64 bits may return, whatever its scale


def check_groups(by: str | None, groups: Sequence[str]) -> None:
    if by is not None and len({ALL, *groups}) <= len(groups):
        raise ArgumentError(f"expected groups with names of their own, got two alike, or {ALL!r}; use other values.")


@dataclass(frozen=True)
class Evaluation(envelope.SealedFile):
    """The predictions of a model on rows, counted with noise by group, true class and score band, and what follows.

    All of it is public once it is released. Counts are as the noise left them: some may be below 0. Measures and
    intervals are computed from them, which costs no more.

    Attributes
    ----------
    kind, model : str
        The kind of the model, and its digest.
    target : Label, OrderedLabel or Number
        What is predicted.
    counts : tuple of tuple of int
        For each group, the noisy rows of each cell: of classes by true class, then by score band; of a number by
        `errors`.
    privacy : PrivacyCard
        What it cost, and what is guaranteed to the rows that were counted.
    errors : tuple of (float, float)
        Of a number: the least and the largest error, true less predicted, of each bin; a true number beyond a bound is
        taken as the bound.
    by : str, optional
        The column of the groups.
    groups : tuple of str
        The groups in words.
    bands : tuple of ScoreBand
        Of classes: the score bands by which rows were counted. By default one for each predicted class.
    costs : tuple of tuple of float, optional
        Of classes: the costs by true class, then by predicted class, of which the mean is estimated.
    numbers : tuple of tuple of int
        Of a number: for each group, the noisy rows of each band of the true number; none in files of 0.2.0.
    number_bands : tuple of (float, float)
        Of a number: the least and the largest number of each band.
    """

    kind: str
    model: str
    target: Target
    counts: tuple[tuple[int, ...], ...]
    privacy: PrivacyCard
    errors: tuple[Interval, ...] = ()
    by: str | None = None
    groups: tuple[str, ...] = (ALL,)
    bands: tuple[ScoreBand, ...] = ()
    costs: CostTable | None = None
    numbers: tuple[tuple[int, ...], ...] = ()
    number_bands: tuple[Interval, ...] = ()
    format: ClassVar[str] = "hedgerow/evaluation"

    def __post_init__(self) -> None:
        is_number, classes = self.target.as_number is not None, self.target.n_levels
        if not (is_number or self.bands):
            object.__setattr__(self, "bands", tuple(map(ScoreBand, range(classes))))
        for band in self.bands:
            band.check(0 if is_number else classes)
        object.__setattr__(self, "costs", cost_table(self.costs, self.target))
        cells = len(self.errors) if is_number else classes * len(self.bands)
        rows = {len(row) for row in self.counts}
        if rows != {cells} or len(self.counts) != len(self.groups) or bool(self.errors) != is_number or not cells:
            raise ArgumentError("expected a count for each group and cell, got others.")
        has_bands = bool(self.numbers) and {len(row) for row in self.numbers} == {len(self.number_bands)}
        if bool(self.numbers or self.number_bands) != (is_number and has_bands):
            raise ArgumentError("expected bands of a number with a count for each group, got other counts or none.")
        if self.numbers and len(self.numbers) != len(self.groups):
            raise ArgumentError(f"expected counts by band for {len(self.groups)} groups, got {len(self.numbers)}.")
        if not all(type(count) is int and count in _COUNTS for row in (*self.counts, *self.numbers) for count in row):
            raise ArgumentError("expected whole numbers of 64 bits as counts, got other values.")
        names = (self.kind, self.model, *self.groups, *([] if self.by is None else [self.by]))
        if not all(isinstance(name, str) for name in names):
            raise ArgumentError("expected text as kind, digest and groups, got something else.")
        check_groups(self.by, self.groups)
        if not all(low < high for low, high in (*self.errors, *self.number_bands)):
            raise ArgumentError("expected errors from the least to the largest, got others.")
        needed = self.privacy.charges[-2 if self.numbers else -1 :]
        if len(needed) < (2 if self.numbers else 1) or not all(charge.epsilon for charge in needed):
            raise ArgumentError("expected a card with the charge of the counts, got one without.")

    @property
    def scale(self) -> float:
        """The scale of the discrete Laplace noise on each count, in rows; of a number, on the counts by `errors`."""
        return self._scale(-2 if self.numbers else -1)

    def _scale(self, place: int) -> float:
        return float(min(rows_of(self.privacy.unit) / self.privacy.charges[place].epsilon, _WIDEST))

    @property
    def _noise(self) -> CountNoise:
        return CountNoise(self.scale)

    @cached_property
    def _cells(self) -> Integers:
        return np.array(self.counts, dtype=np.int64)

    @property
    def matrix(self) -> Integers:
        """The noisy rows of true by predicted class, shape ``(n_classes, n_classes)``; TypeError of a number."""
        self._check_classes()
        return self._matrix

    @cached_property
    def _matrix(self) -> Integers:
        """The sums over groups and bands, which are Python's whole numbers if one has more than 64 bits."""
        levels = self.target.n_levels
        sums = [[0] * levels for _ in range(levels)]
        for row, place in product(self.counts, range(len(self.counts[0]))):
            level, band = divmod(place, len(self.bands))
            sums[level][self.bands[band].predicted] += row[place]
        is_small = all(number in _COUNTS for line in sums for number in line)
        return np.array(sums, dtype=np.int64 if is_small else object)

    @cached_property
    def _class_measures(self) -> tuple[Measure, ...]:
        return tuple(self._of_classes)

    @cached_property
    def _of_number(self) -> NumberMeasures:
        number = self.target.as_number
        assert number is not None  # of a number
        totals = np.array(self.numbers or [[0] * len(self.number_bands)], dtype=np.float64).sum(axis=0)
        return NumberMeasures(number, self.errors, self.number_bands, totals)

    @cached_property
    def _of_classes(self) -> ClassMeasures:
        self._check_classes()
        totals = self._matrix.astype(np.float64).sum(axis=1)
        return ClassMeasures(cast("Label", self.target), self.bands, self.costs, totals)

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """The measures on all rows. Of classes accuracy first, then the share of errors of each true class.

        The mean cost follows if there are costs, the mean distance if classes are in an order, and log-loss,
        calibration and AUROC if the model has probabilities. Of a number: its errors.
        """
        return self._estimates()

    @cached_property
    def by_group(self) -> Mapping[str, tuple[Estimate, ...]]:
        """The same of each group; each interval is right in 95 % of cases by itself, and not all of them at once."""
        if self.by is None:
            return {}
        places = {name: place for place, name in enumerate(self.groups)}
        return {name: self._estimates(place) for name, place in places.items()}

    @property
    def accuracy(self) -> Estimate:
        """The share of the rows that get their own class; TypeError of a number."""
        self._check_classes()
        return self.estimates[0]

    def rows(self, group: str | None = None) -> tuple[int, tuple[int, int]]:
        """Return about how many rows were counted, in all or in a group, with an interval for the exact number.

        Noise can make the sum of the counts negative. The result is then 0, as no table has fewer rows.
        """
        at = None if group is None else self.groups.index(group)
        own = self._cells.ravel() if at is None else self._cells[at]
        return max(_sum(own), 0), self._noise.interval(_sum(own), own.size)

    @cached_property
    def baseline(self) -> tuple[Any, Estimate]:
        """The most frequent true class by the noisy counts, and the accuracy of always predicting it."""
        measures = self._of_classes
        return self.target.values[measures.commonest], self._estimate(measures.always(measures.commonest))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the model has fewer errors on these rows than any one class, or lower costs if there are costs.

        It is wrong in 5 % of cases at most; sampling is not counted.
        """
        measures, levels = self._of_classes, self.target.n_levels
        costs = 1 - np.eye(levels) if self.costs is None else np.array(self.costs)
        costs /= max(float(np.abs(costs).max()), 1e-300)  # the squares of large costs would overflow
        counts = self._noisy(self._cells, self.scale, None)
        # A row costs as much less with the model than with one class for all; cells in which it does not have no noise.
        saved = [costs[:, [place]] - costs[:, measures.predicted] for place in range(levels)]
        signs = [counts.sign(np.tile(each.ravel(), len(self.counts)), levels) for each in saved]
        return "better" if min(signs) > 0 else "worse" if min(signs) < 0 else "too noisy to say"

    def mean_cost(self, costs: Costs) -> Estimate:
        """Return the mean cost of the predictions by costs as ``costs[actual][decided]``, as `Model.decide` has them.

        Raises TypeError of a number, and ValueError if a cost is missing or not finite.
        """
        self._check_classes()
        matrix = cost_matrix(self.target.values, class_weight=None, costs=costs)
        return self._estimate(self._of_classes.mean_cost("mean_cost", "mean cost", matrix))

    def _estimates(self, group: int | None = None) -> tuple[Estimate, ...]:
        if self.target.as_number is None:
            return tuple(self._estimate(measure, group) for measure in self._class_measures)
        bands = np.array(self.numbers, dtype=np.int64)
        counts = self._noisy(self._cells, self.scale, group, rare=0.0)
        return self._of_number.estimates(
            counts, self._noisy(bands, self._scale(-1), group, rare=0.0) if bands.size else None
        )

    def _estimate(self, measure: Measure, group: int | None = None) -> Estimate:
        everywhere = measure if group is not None else measure.repeated(len(self.counts))
        return everywhere.estimate(self._noisy(self._cells, self.scale, group))

    def _noisy(self, cells: Integers, scale: float, group: int | None, rare: float = 2.0) -> NoisyCounts:
        """Return the counts of a group, or of all groups one after the other."""
        own = cells.ravel() if group is None else cells[group]
        return NoisyCounts(own, CountNoise(scale), rows_of(self.privacy.unit) == 1, rare)

    def _check_classes(self) -> None:
        if not isinstance(self.target, Label):
            raise ArgumentTypeError("expected a model of classes, got one of a number; use `estimates`.")

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each figure, with its group: ``pandas.DataFrame(evaluation.records())``."""
        every = {ALL: self.estimates, **self.by_group}
        return [{"group": group, **one.to_dict()} for group, found in every.items() for one in found]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data, sealed with a digest of its content."""
        return envelope.seal(
            {
                "format": self.format,
                "version": self.version,
                "model": {"kind": self.kind, "digest": self.model},
                "label": self.target.to_dict(),
                "by": self.by,
                "groups": list(self.groups),
                "errors": [list(ends) for ends in self.errors],
                "counts": [list(row) for row in self.counts],
                **({"bands": [band.to_dict() for band in self.bands]} if self._has_own_bands else {}),
                **self._number_entries,
                **({} if self.costs is None else {"costs": [list(line) for line in self.costs]}),
                "privacy": self.privacy.to_dict(),
            }
        )

    @property
    def _number_entries(self) -> dict[str, Any]:
        if not self.numbers:
            return {}
        return {
            "numbers": [list(row) for row in self.numbers],
            "number_bands": [list(one) for one in self.number_bands],
        }

    @property
    def _has_own_bands(self) -> bool:
        """False if the bands are one for each class, which files do not state."""
        return self.bands != tuple(map(ScoreBand, range(self.target.n_levels))) and self.target.as_number is None

    @classmethod
    def _opened(cls, sealed: Mapping[str, Any]) -> Self:
        kind, model = sealed["model"]["kind"], sealed["model"]["digest"]
        counts, errors = map(tuple, sealed["counts"]), ((low, high) for low, high in sealed["errors"])
        target, card = label_from_dict(sealed["label"]), PrivacyCard.from_dict(sealed["privacy"])
        groups, bands = tuple(sealed["groups"]), tuple(map(ScoreBand.from_dict, sealed.get("bands", ())))
        numbers = tuple(map(tuple, sealed.get("numbers", ())))
        number_bands = tuple((low, high) for low, high in sealed.get("number_bands", ()))
        found = tuple(counts), card, tuple(errors), sealed["by"], groups, bands, sealed.get("costs")
        return cls(kind, model, target, *found, numbers, number_bands)

    @property
    def sentences(self) -> list[str]:
        """What the counts say, a line each."""
        return [*(f"{estimate.name}: {estimate}" for estimate in self.estimates), *self._comparison]

    @property
    def _comparison(self) -> list[str]:
        if not isinstance(self.target, Label):
            return []
        better, worse = ("fewer", "more") if self.costs is None else ("lower", "higher")
        what = "errors" if self.costs is None else "costs"
        if self.verdict == "too noisy to say":
            return [f"too noisy to say whether the model has {better} {what} than always predicting one class"]
        word = better if self.verdict == "better" else worse
        return [f"the model has {word} {what} than always predicting one class"]

    def __str__(self) -> str:
        about, (low, high) = self.rows()
        on = f"about {_rows(about)} ({low:,} to {high:,})"
        lines = [f"evaluation of the {self.kind} {self.model[:12]} on {on}", "", *self._matrix_lines]
        lines += [*_table(self.estimates), *(["", *self._band_lines, *self._comparison] if not self.errors else [])]
        for group, estimates in self.by_group.items():
            about, (low, high) = self.rows(group)
            named = f"{printable(self.by or '')} = {printable(group)}"
            lines += ["", f"{named}: about {_rows(about)} ({low:,} to {high:,})", *_table(estimates)]
        return "\n".join([*lines, "", *self._notes])

    @property
    def _notes(self) -> list[str]:
        """What to know of counts and intervals."""
        below = " Some are below 0 for that reason; none is changed." if (self._cells < 0).any() else ""
        sampling = "for other rows from the same population, noise and sampling"
        others = f"; {sampling}" if rows_of(self.privacy.unit) == 1 else ""
        rounded = []
        if self.errors:
            rounded = ["Errors are rounded to bins, which the intervals do not contain."]
            if self.numbers and self._of_number.is_clipped:
                rounded += ["Larger errors are clipped in all measures, and distances from the constants likewise."]
        elif any(band.low < band.high and band.probabilities is not None for band in self.bands):
            rounded = ["Probabilities are rounded to score bands in log-loss, calibration and AUROC."]
        return [
            f"Each count is off by up to {self._noise.spread(1):,} rows (95 %), by the noise.{below}",
            f"95 % intervals: for the rows that were counted, noise only{others}.",
            *rounded,
        ]

    @property
    def reliability(self) -> tuple[tuple[ScoreBand, int, Estimate], ...]:
        """Of two classes with probabilities: each score band, its noisy rows, and the second class's share of them."""
        if not isinstance(self.target, Label) or self.target.n_levels > 2 or self.bands[0].probabilities is None:
            return ()
        cells, found = self._cells.reshape(-1, 2, len(self.bands)), list[tuple[ScoreBand, int, Estimate]]()
        for place, band in enumerate(self.bands):
            own = self._noisy(cells[:, :, place].ravel(), self.scale, None)
            hits = np.tile([False, True], len(cells))
            found.append(
                (band, max(_sum(own.own), 0), Mean.share("observed_share", "observed share", hits).estimate(own))
            )
        return tuple(found)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability diagram of two classes, and return the axes.

        For each score band: the predicted probability of the second class and its share among the rows that were
        counted, with the 95 % interval by the noise. Bands that are too noisy are left out.

        Raises
        ------
        TypeError
            If the model does not give probabilities of two classes.
        """
        if not self.reliability:
            raise ArgumentTypeError("expected a model with probabilities of two classes, for a reliability diagram.")
        event = f"{printable(self.target.name)} = {shown_text(self.target.values[1])}"
        points = [
            (band.probabilities[1], share.value, share.on_rows)
            for band, _, share in self.reliability
            if band.probabilities is not None and share.value is not None and share.says_something
        ]
        return reliability_plot(points, event, printable(self.privacy.headline), ax)

    @property
    def _band_lines(self) -> list[str]:
        if not self.reliability:
            return []
        value = shown_text(self.target.values[1])
        rows = [[f"score band: P({value})", "predicted", "rows", "observed", "noise only"]]
        for band, count, share in self.reliability:
            predicted = 0.0 if band.probabilities is None else band.probabilities[1]
            low, high = f"{100 * band.low:.1f}", f"{100 * band.high:.1f}"
            ends = f"{high} %" if low == high else f"{low} to {high} %"
            shown = [share.value_text, share.span_text(share.on_rows)]
            rows.append([ends, f"{100 * predicted:.1f} %", f"{count:,}", *shown])
        return [*aligned(rows, left=1), ""]

    @property
    def _matrix_lines(self) -> list[str]:
        if not isinstance(self.target, Label) or self.target.n_levels > _MOST_CLASSES:
            return []
        names = [shown_text(value) for value in self.target.values]
        rows = [["true", *(f"predicted {name}" for name in names)]]
        found = zip(names, self.matrix.tolist(), strict=True)
        rows += [[name, *(f"{count:,}" for count in line)] for name, line in found]
        return [*aligned(rows, left=1), ""]

    def __repr__(self) -> str:
        return f"<Evaluation of the {self.kind} {self.model[:12]}; {printable(self.privacy.headline)}>"

    def _repr_html_(self) -> str:
        return self._picture + element("pre", str(self)) + element("pre", str(self.privacy))

    @property
    def _picture(self) -> str:
        if not self.reliability:
            return ""
        try:
            return svg_of(self.plot, "Reliability diagram, whose numbers are below")
        except HedgerowError:  # Matplotlib is not installed
            return ""


def _sum(counts: Integers) -> int:
    """Return a sum that does not wrap around."""
    return sum(counts.ravel().tolist())


def _table(estimates: Sequence[Estimate]) -> list[str]:
    """Return measures as lines: value, intervals, and the value of the best constant prediction with its interval."""
    has_others = any(estimate.of_others is not None for estimate in estimates)
    lines = [["measure", "value", "noise only", *(["noise and sampling"] if has_others else []), "best constant"]]
    for estimate in estimates:
        others = [] if estimate.of_others is None else [estimate.span_text(estimate.of_others)]
        spans = [estimate.span_text(estimate.on_rows), *others]
        lines.append([estimate.name, estimate.value_text, *spans, _constant_text(estimate.constant)])
    return aligned(lines, left=1)


def _constant_text(constant: Estimate | None) -> str:
    if constant is None:
        return ""
    is_exact = constant.on_rows[0] == constant.on_rows[1] or not constant.says_something
    return constant.value_text if is_exact else f"{constant.value_text} ({constant.span_text(constant.on_rows)})"


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
