"""Evaluations: the noisy histogram of a model's predictions on rows, with what follows from it. Public."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.evaluation.measures import MISSES, Estimate, Interval, Measure, measures_of, sum_of
from hedgerow.models import envelope
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.decisions import Costs, cost_matrix
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.serialize import label_from_dict
from hedgerow.schema.targets import Label, Target
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
    """The predictions of a model on rows, counted with noise by group, true and predicted class, and what follows.

    All of it is public once it is released. Counts are as the noise left them: some may be below 0. Figures and
    intervals are computed from them, which costs no more.

    Attributes
    ----------
    kind, model : str
        The kind of the model, and its digest.
    target : Label, OrderedLabel or Number
        What is predicted.
    counts : tuple of tuple of int
        For each group, the noisy rows of each cell: of classes true by predicted, true first; of a number by `errors`.
    privacy : PrivacyCard
        What it cost, and what is guaranteed to the rows that were counted.
    errors : tuple of (float, float)
        Of a number: the least and the largest error, true less predicted, of each bin; a true number beyond a bound is
        taken as the bound.
    by : str, optional
        The column of the groups.
    groups : tuple of str
        The groups in words.
    """

    kind: str
    model: str
    target: Target
    counts: tuple[tuple[int, ...], ...]
    privacy: PrivacyCard
    errors: tuple[Interval, ...] = ()
    by: str | None = None
    groups: tuple[str, ...] = (ALL,)
    format: ClassVar[str] = "hedgerow/evaluation"

    def __post_init__(self) -> None:
        is_number = self.target.as_number is not None
        cells = len(self.errors) if is_number else self.target.n_levels**2
        rows = {len(row) for row in self.counts}
        if rows != {cells} or len(self.counts) != len(self.groups) or bool(self.errors) != is_number or not cells:
            raise ArgumentError("expected a count for each group and cell, got others.")
        if not all(type(count) is int and count in _COUNTS for row in self.counts for count in row):
            raise ArgumentError("expected whole numbers of 64 bits as counts, got other values.")
        names = (self.kind, self.model, *self.groups, *([] if self.by is None else [self.by]))
        if not all(isinstance(name, str) for name in names):
            raise ArgumentError("expected text as kind, digest and groups, got something else.")
        check_groups(self.by, self.groups)
        if not all(low < high for low, high in self.errors):
            raise ArgumentError("expected errors from the least to the largest, got others.")
        if not self.privacy.charges or not self.privacy.charges[-1].epsilon:
            raise ArgumentError("expected a card with the charge of the counts, got one without.")

    @property
    def scale(self) -> float:
        """The scale of the discrete Laplace noise on each count, in rows."""
        return float(min(rows_of(self.privacy.unit) / self.privacy.charges[-1].epsilon, _WIDEST))

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
        return self._matrix.reshape(self.target.n_levels, -1)

    @cached_property
    def _matrix(self) -> Integers:
        """The sums over groups, which are Python's whole numbers if one has more than 64 bits."""
        sums = [sum(column) for column in zip(*self.counts, strict=True)]
        return np.array(sums, dtype=np.int64 if all(one in _COUNTS for one in sums) else object)

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """Of all rows: accuracy, and the share that is wrong of each true class; or the errors of a number."""
        return tuple(self._estimate(one) for one in measures_of(self.target, self.errors))

    @cached_property
    def by_group(self) -> Mapping[str, tuple[Estimate, ...]]:
        """The same of each group; each interval is right in 95 % of cases by itself, and not all of them at once."""
        if self.by is None:
            return {}
        every = tuple(measures_of(self.target, self.errors))
        return {name: tuple(self._estimate(one, at) for one in every) for at, name in enumerate(self.groups)}

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
        return max(sum_of(own), 0), self._noise.interval(sum_of(own), own.size)

    @cached_property
    def baseline(self) -> tuple[Any, Estimate]:
        """The most frequent true class by the noisy counts, and the accuracy of always predicting it."""
        place = int(self.matrix.astype(object).sum(axis=1).argmax())
        own = np.zeros((self.target.n_levels,) * 2, dtype=bool)
        own[place] = True
        value = self.target.values[place]
        return value, self._estimate(Measure.share(f"always {shown_text(value)}", own))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the model is right on more of these rows than any one class is, said wrongly in 5 % at most."""
        matrix, others = self.matrix, 2 * (self.target.n_levels - 1)
        ahead = sum_of(np.diagonal(matrix)) - matrix.astype(object).sum(axis=1)
        far = self._noise.spread(others * len(self.counts), 1 - MISSES / self.target.n_levels)
        return "better" if ahead.min() > far else "worse" if ahead.min() < -far else "too noisy to say"

    def mean_cost(self, costs: Costs) -> Estimate:
        """Return the mean cost of the predictions by costs as ``costs[actual][decided]``, as `Model.decide` has them.

        Raises TypeError of a number, and ValueError if a cost is missing or not finite.
        """
        self._check_classes()
        matrix = cost_matrix(self.target.values, class_weight=None, costs=costs)
        return self._estimate(Measure.mean("mean cost", matrix, float(np.ptp(matrix)) / 2))

    def _estimate(self, measure: Measure, group: int | None = None) -> Estimate:
        counts = self._cells.ravel() if group is None else self._cells[group]
        one = measure if group is not None else measure.repeated(len(self.counts))
        return one.estimate(counts, self._noise, has_others=rows_of(self.privacy.unit) == 1)

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
                "privacy": self.privacy.to_dict(),
            }
        )

    @classmethod
    def _opened(cls, sealed: Mapping[str, Any]) -> Self:
        kind, model = sealed["model"]["kind"], sealed["model"]["digest"]
        counts, errors = map(tuple, sealed["counts"]), ((low, high) for low, high in sealed["errors"])
        target, card = label_from_dict(sealed["label"]), PrivacyCard.from_dict(sealed["privacy"])
        groups = tuple(sealed["groups"])
        return cls(kind, model, target, tuple(counts), card, tuple(errors), sealed["by"], groups)

    @property
    def sentences(self) -> list[str]:
        """What the counts say, a line each."""
        lines = [f"{one.name}: {one}" for one in self.estimates]
        if isinstance(self.target, Label):
            value, share = self.baseline
            than = {"better": "more often right than", "worse": "less often right than"}.get(self.verdict)
            lines.append(f"always predicting the most frequent class, {shown_text(value)}: {share}")
            compared = "too noisy to say whether it is more often right" if than is None else f"the model is {than}"
            lines.append(f"{compared} {'than ' if than is None else ''}always predicting one class")
        return lines

    def __str__(self) -> str:
        about, (low, high) = self.rows()
        on = f"about {_rows(about)} ({low:,} to {high:,})"
        lines = [f"evaluation of the {self.kind} {self.model[:12]} on {on}", "", *self._matrix_lines, *self.sentences]
        for group, found in self.by_group.items():
            about, (low, high) = self.rows(group)
            named = f"{printable(self.by or '')} = {printable(group)}"
            lines += ["", f"{named}: about {_rows(about)} ({low:,} to {high:,})"]
            lines += [f"  {one.name}: {one}" for one in found]
        return "\n".join([*lines, "", *self._notes])

    @property
    def _notes(self) -> list[str]:
        """What to know of counts and intervals."""
        below = " Some are below 0 for that reason; none is changed." if (self._cells < 0).any() else ""
        chance = "; of others like them, by noise and chance" if rows_of(self.privacy.unit) == 1 else ""
        return [
            f"Each count is off by up to {self._noise.spread(1):,} rows (95 %), by the noise.{below}",
            f"Each interval is right in 95 % of cases at least: on these rows, by the noise{chance}.",
        ]

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
        return element("pre", str(self)) + element("pre", str(self.privacy))


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
