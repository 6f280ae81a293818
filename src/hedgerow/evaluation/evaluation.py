"""Evaluations: noisy histograms of a model's predictions, with the measures computed from them. Public."""

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
_MOST_CLASSES = 12  # largest number of classes of a matrix that is printed
_WIDEST = 2**62  # largest scale of noise, beyond all counts
_COUNTS = range(-(2**63), 2**63)  # range of counts with discrete Laplace noise on 64 bits, for every scale


def check_groups(by: str | None, groups: Sequence[str]) -> None:
    if by is not None and len({ALL, *groups}) <= len(groups):
        raise ArgumentError(f"the groups must have distinct names other than {ALL!r}; change the values of by.")


@dataclass(frozen=True)
class Evaluation(envelope.SealedFile):
    """Noisy counts of a model's predictions by group, true class and score band, with measures and intervals.

    An evaluation is public once it is released. Noise can make counts negative; they are not changed. Measures and
    intervals are computed from the noisy counts (post-processing), at no further ε.

    Attributes
    ----------
    kind, model : str
        The kind of the model, and its digest.
    target : Label, OrderedLabel or Number
        The target of the model.
    counts : tuple of tuple of int
        The noisy number of rows in each cell, for each group: by true class, then by score band; for a regressor by
        `errors`.
    privacy : PrivacyCard
        The charges, and the guarantee for the rows that were counted.
    errors : tuple of (float, float)
        For a regressor: the smallest and largest error (true minus predicted number) of each bin. A true number beyond
        a bound counts as the bound.
    by : str, optional
        The group column.
    groups : tuple of str
        The names of the groups.
    bands : tuple of ScoreBand
        For a classifier: the score bands by which rows were counted. Default: one for each predicted class.
    costs : tuple of tuple of float, optional
        For a classifier: the costs by true class, then by predicted class, whose mean is estimated.
    numbers : tuple of tuple of int
        For a regressor: the noisy number of rows in each band of the true number, for each group; empty in files of
        version 0.2.0.
    number_bands : tuple of (float, float)
        For a regressor: the smallest and largest number of each band.
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
            raise ArgumentError("counts must have a row for each group, with a count for each cell.")
        has_bands = bool(self.numbers) and {len(row) for row in self.numbers} == {len(self.number_bands)}
        if bool(self.numbers or self.number_bands) != (is_number and has_bands):
            raise ArgumentError("numbers must have a count for each of number_bands, and only regressors have them.")
        if self.numbers and len(self.numbers) != len(self.groups):
            raise ArgumentError(f"numbers must have a row for each of {len(self.groups)} groups.")
        if not all(type(count) is int and count in _COUNTS for row in (*self.counts, *self.numbers) for count in row):
            raise ArgumentError("counts must be whole numbers of 64 bits.")
        names = (self.kind, self.model, *self.groups, *([] if self.by is None else [self.by]))
        if not all(isinstance(name, str) for name in names):
            raise ArgumentError("kind, model, by and groups must be text.")
        check_groups(self.by, self.groups)
        if not all(low < high for low, high in (*self.errors, *self.number_bands)):
            raise ArgumentError("each bin of errors and number_bands must have a lower end below its upper end.")
        needed = self.privacy.charges[-2 if self.numbers else -1 :]
        if len(needed) < (2 if self.numbers else 1) or not all(charge.epsilon for charge in needed):
            raise ArgumentError("the privacy card has no charge for the counts.")

    @property
    def scale(self) -> float:
        """The scale of the discrete Laplace noise on each of `counts`, in rows."""
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
        """The noisy confusion matrix: rows by true and predicted class, ``(n_classes, n_classes)``.

        TypeError for a regressor.
        """
        self._check_classes()
        return self._matrix

    @cached_property
    def _matrix(self) -> Integers:
        """The sums over groups and bands, as Python's whole numbers if one exceeds 64 bits."""
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
        assert number is not None  # only called for regressors
        totals = np.array(self.numbers or [[0] * len(self.number_bands)], dtype=np.float64).sum(axis=0)
        return NumberMeasures(number, self.errors, self.number_bands, totals)

    @cached_property
    def _of_classes(self) -> ClassMeasures:
        self._check_classes()
        totals = self._matrix.astype(np.float64).sum(axis=1)
        return ClassMeasures(cast("Label", self.target), self.bands, self.costs, totals)

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """The measures on all rows.

        For a classifier: accuracy and the error rate of each true class; the mean cost if there are costs; the mean
        distance if classes are ordered; log-loss, calibration and AUROC if the model has probabilities. For a
        regressor: measures of its errors.
        """
        return self._estimates()

    @cached_property
    def by_group(self) -> Mapping[str, tuple[Estimate, ...]]:
        """The measures of each group; each interval holds with 95 % confidence, but not all of them together."""
        if self.by is None:
            return {}
        places = {name: place for place, name in enumerate(self.groups)}
        return {name: self._estimates(place) for name, place in places.items()}

    @property
    def accuracy(self) -> Estimate:
        """The share of correctly predicted rows; TypeError for a regressor."""
        self._check_classes()
        return self.estimates[0]

    def rows(self, group: str | None = None) -> tuple[int, tuple[int, int]]:
        """Return the approximate number of rows, in total or in a group, with an interval for the exact number.

        Noise can make the sum of the counts negative; the result is then 0.
        """
        at = None if group is None else self.groups.index(group)
        own = self._cells.ravel() if at is None else self._cells[at]
        return max(_sum(own), 0), self._noise.interval(_sum(own), own.size)

    @cached_property
    def baseline(self) -> tuple[Any, Estimate]:
        """The most frequent true class according to the noisy counts, and the accuracy of always predicting it."""
        measures = self._of_classes
        return self.target.values[measures.commonest], self._estimate(measures.always(measures.commonest))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the model has fewer errors (or lower costs) on these rows than every constant prediction.

        The verdict is wrong in at most 5 % of cases, over the noise. Sampling of rows is not taken into account.
        """
        measures, levels = self._of_classes, self.target.n_levels
        costs = 1 - np.eye(levels) if self.costs is None else np.array(self.costs)
        costs /= max(float(np.abs(costs).max()), 1e-300)  # the squares of large costs would overflow
        counts = self._noisy(self._cells, self.scale, None)
        # Cost that the model saves on a row, compared with each constant. Cells without a difference add no noise.
        saved = [costs[:, [place]] - costs[:, measures.predicted] for place in range(levels)]
        signs = [counts.sign(np.tile(saving.ravel(), len(self.counts)), levels) for saving in saved]
        return "better" if min(signs) > 0 else "worse" if min(signs) < 0 else "too noisy to say"

    def mean_cost(self, costs: Costs) -> Estimate:
        """Return the mean cost of the predictions for ``costs[actual][decided]``, as in `Model.decide`.

        TypeError for a regressor; ValueError if a cost is missing or not finite.
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
        """Return the counts of a group, or the concatenated counts of all groups."""
        own = cells.ravel() if group is None else cells[group]
        return NoisyCounts(own, CountNoise(scale), rows_of(self.privacy.unit) == 1, rare)

    def _check_classes(self) -> None:
        if not isinstance(self.target, Label):
            raise ArgumentTypeError("not defined for a regressor, only for classifiers; use `estimates`.")

    def records(self) -> list[dict[str, Any]]:
        """Return a record for each estimate and group, as for ``pandas.DataFrame(evaluation.records())``."""
        by_group = {ALL: self.estimates, **self.by_group}
        return [{"group": group, **x.to_dict()} for group, estimates in by_group.items() for x in estimates]

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as JSON-ready data, sealed with a digest of its content."""
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
            "number_bands": [list(ends) for ends in self.number_bands],
        }

    @property
    def _has_own_bands(self) -> bool:
        """Whether the bands differ from the default of one for each class, which files do not state."""
        return self.bands != tuple(map(ScoreBand, range(self.target.n_levels))) and self.target.as_number is None

    @classmethod
    def _opened(cls, sealed: Mapping[str, Any]) -> Self:
        kind, model = sealed["model"]["kind"], sealed["model"]["digest"]
        counts, errors = map(tuple, sealed["counts"]), ((low, high) for low, high in sealed["errors"])
        target, card = label_from_dict(sealed["label"]), PrivacyCard.from_dict(sealed["privacy"])
        groups, bands = tuple(sealed["groups"]), tuple(map(ScoreBand.from_dict, sealed.get("bands", ())))
        numbers = tuple(map(tuple, sealed.get("numbers", ())))
        number_bands = tuple((low, high) for low, high in sealed.get("number_bands", ()))
        fields = tuple(counts), card, tuple(errors), sealed["by"], groups, bands, sealed.get("costs")
        return cls(kind, model, target, *fields, numbers, number_bands)

    @property
    def sentences(self) -> list[str]:
        """The estimates and the comparison with constant predictions, a line each."""
        return [*(f"{estimate.name}: {estimate}" for estimate in self.estimates), *self._comparison]

    @property
    def _comparison(self) -> list[str]:
        if not isinstance(self.target, Label):
            return []
        better, worse = ("fewer", "more") if self.costs is None else ("lower", "higher")
        noun = "errors" if self.costs is None else "costs"
        if self.verdict == "too noisy to say":
            return [f"too noisy to say whether the model has {better} {noun} than always predicting the same class"]
        word = better if self.verdict == "better" else worse
        return [f"the model has {word} {noun} than always predicting the same class"]

    def __str__(self) -> str:
        number, (low, high) = self.rows()
        rows = f"about {_rows(number)} ({low:,} to {high:,})"
        lines = [f"evaluation of the {self.kind} {self.model[:12]} on {rows}", "", *self._matrix_lines]
        lines += [*_table(self.estimates), *(["", *self._band_lines, *self._comparison] if not self.errors else [])]
        for group, estimates in self.by_group.items():
            number, (low, high) = self.rows(group)
            named = f"{printable(self.by or '')} = {printable(group)}"
            lines += ["", f"{named}: about {_rows(number)} ({low:,} to {high:,})", *_table(estimates)]
        return "\n".join([*lines, "", *self._notes])

    @property
    def _notes(self) -> list[str]:
        """Notes on the counts and intervals."""
        below = " Negative counts are due to noise and are not changed." if (self._cells < 0).any() else ""
        sampling = 'new rows from the same population ("noise and sampling")'
        others = f", and for {sampling}" if rows_of(self.privacy.unit) == 1 else ""
        rounded = []
        if self.errors:
            rounded = ["Errors are rounded to bins; the intervals do not include this rounding."]
            if self.numbers and self._of_number.is_clipped:
                rounded += ["Larger errors are clipped in all measures, and so are distances from the constants."]
        elif any(band.low < band.high and band.probabilities is not None for band in self.bands):
            rounded = ["Log-loss, calibration and AUROC use probabilities rounded to score bands."]
        return [
            f"The noise changes each count by at most {self._noise.spread(1):,} rows (95 % confidence).{below}",
            f'Intervals have 95 % confidence, for the rows that were counted ("noise only"){others}.',
            *rounded,
        ]

    @property
    def reliability(self) -> tuple[tuple[ScoreBand, int, Estimate], ...]:
        """For two classes with probabilities: each score band, its noisy row count, and the second class's share."""
        if not isinstance(self.target, Label) or self.target.n_levels > 2 or self.bands[0].probabilities is None:
            return ()
        cells, points = self._cells.reshape(-1, 2, len(self.bands)), list[tuple[ScoreBand, int, Estimate]]()
        for place, band in enumerate(self.bands):
            own = self._noisy(cells[:, :, place].ravel(), self.scale, None)
            hits = np.tile([False, True], len(cells))
            share = Mean.share("observed_share", "observed share", hits).estimate(own)
            points.append((band, max(_sum(own.own), 0), share))
        return tuple(points)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the reliability diagram of two classes, and return the axes.

        The diagram has the predicted probability of the second class in each score band, and its observed share with
        the 95 % interval for noise only. Bands that are too noisy are omitted.

        Raises
        ------
        TypeError
            If the model does not give probabilities of two classes.
        """
        if not self.reliability:
            raise ArgumentTypeError("a reliability diagram needs a model with probabilities of two classes.")
        event = f"{printable(self.target.name)} = {shown_text(self.target.values[1])}"
        points = [
            (band.probabilities[1], share.value, share.on_rows)
            for band, _, share in self.reliability
            if band.probabilities is not None and share.value is not None and share.is_informative
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
        rows += [
            [name, *(f"{count:,}" for count in line)] for name, line in zip(names, self.matrix.tolist(), strict=True)
        ]
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
            return svg_of(self.plot, "Reliability diagram; its numbers are listed below")
        except HedgerowError:  # Matplotlib is not installed
            return ""


def _sum(counts: Integers) -> int:
    """Return a sum without overflow."""
    return sum(counts.ravel().tolist())


def _table(estimates: Sequence[Estimate]) -> list[str]:
    """Return the estimates as lines, with intervals and the best constant prediction."""
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
    is_exact = constant.on_rows[0] == constant.on_rows[1] or not constant.is_informative
    return constant.value_text if is_exact else f"{constant.value_text} ({constant.span_text(constant.on_rows)})"


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
