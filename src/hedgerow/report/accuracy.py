"""Accuracy of a model on rows, by group, beside the baseline that always says the commonest class. **Private**."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.entropy.result import groups_of
from hedgerow.audit.inference.labelled import LabelledRows, distinct
from hedgerow.models.model import Model
from hedgerow.report.contents import Fact, Finding, Grid, Section, section
from hedgerow.report.findings import finding
from hedgerow.report.subject import Subject
from hedgerow.text.values import shown_text


@dataclass(frozen=True)
class Hits:
    """Rows of a group, with those that a model is right about."""

    group: str  # the group in words
    rows: int
    right: int  # rows that get their own class
    base: int  # rows that have the commonest class of the training rows

    @property
    def accuracy(self) -> float:
        """The share of rows that get their own class."""
        return self.right / self.rows

    @property
    def baseline(self) -> float:
        """The share of rows that have the commonest class."""
        return self.base / self.rows


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of a model on all of some rows, and in the groups of some columns."""

    of: str  # which rows they are
    overall: Hits  # all rows
    groups: tuple[tuple[str, tuple[Hits, ...]], ...]  # for each column, its groups, that of the least accuracy first

    @classmethod
    def measure(cls, subject: Subject, pair: tuple[Any, Any], of: str, commonest: str, by: Sequence[str]) -> Self:
        """Apply the model to rows and count; the rows fit together, as `LabelledRows` checks."""
        rows, truth = LabelledRows.of(*pair), subject.class_words(pair[1])
        right, base = subject.class_words(subject.predict(pair[0])) == truth, truth == commonest
        everyone = np.zeros(len(rows), dtype=np.intp)
        (overall,) = _counted(["all rows"], everyone, right, base)
        groups = tuple((name, _counted(*groups_of(rows.table, subject.schema, name), right, base)) for name in by)
        return cls(of, overall, groups)


def commonest(subject: Subject, labels: Any) -> str:
    """Return the commonest class of some labels in words, the first of equals."""
    names, codes = distinct(subject.class_words(labels))
    return names[int(np.bincount(codes).argmax())]


def _counted(
    names: Sequence[Any], codes: NDArray[np.intp], right: NDArray[np.bool_], base: NDArray[np.bool_]
) -> tuple[Hits, ...]:
    found = [
        Hits(shown_text(name), int(inside.sum()), int(right[inside].sum()), int(base[inside].sum()))
        for code, name in enumerate(names)
        for inside in [codes == code]
        if inside.any()
    ]
    return tuple(sorted(found, key=lambda one: one.accuracy))


def measured_accuracy(measured: Sequence[Accuracy]) -> Section:
    """Return the section of the board's sheet."""
    facts = [
        fact
        for one in measured
        for fact in (
            Fact(f"accuracy on {one.of}", f"{one.overall.accuracy:.3f} of {one.overall.rows:,}", one.overall.accuracy),
            Fact(f"baseline on {one.of}", f"{one.overall.baseline:.3f}", one.overall.baseline),
        )
    ]
    grids = [_grid(one.of, name, groups) for one in measured for name, groups in one.groups]
    last = measured[-1] if measured else None
    return section("accuracy", facts, grids, last=last, has_groups=bool(grids), has_test=len(measured) > 1)


def _grid(of: str, name: str, groups: tuple[Hits, ...]) -> Grid:
    rows = tuple((one.group, one.rows, one.right, one.accuracy, one.baseline) for one in groups)
    return Grid(f"By {name}, on {of}", (name, "rows", "right", "accuracy", "baseline"), rows)


def findings(measured: Sequence[Accuracy]) -> Iterator[Finding]:
    """Yield where the model is no better than the baseline, which speaks against any use of it."""
    for one in measured[-1:]:
        share, base = one.overall.accuracy, one.overall.baseline
        sentence = f"On {one.of} the model is right for {share:.3f}, the commonest class for {base:.3f}."
        yield finding("accuracy", "supports" if one.overall.right > one.overall.base else "look", sentence, share)
        worse = [(name, hits) for name, groups in one.groups for hits in groups if hits.right < hits.base]
        if worse:
            name, hits = worse[0]
            many = "1 group is" if len(worse) == 1 else f"{len(worse)} groups are"
            sentence = f"{many} served worse than by the commonest class, such as {name} = {hits.group}."
            yield finding("groups", "look", sentence, len(worse))


def released_accuracy(subject: Subject) -> Section:
    """Return how often the model is right on its training rows, by the counts released with it."""
    released = subject.released if subject.is_private else None
    has_counts, facts = released is not None and released.has_counts, list[Fact]()
    share, base = (None, None) if released is None or not has_counts else _shares(released)
    if share is not None:
        facts.append(Fact("accuracy on the training rows, by released counts", f"{share:.3f}", share))
        facts.append(Fact("baseline: the commonest class", f"{base:.3f}", base))
    values: dict[str, Any] = {"share": share, "base": base, "has_counts": has_counts}
    return section("accuracy", facts, template="accuracy-released", **values)


def _shares(released: Model) -> tuple[float | None, float | None]:
    """Return the shares of rows that get their own class, and of the commonest class; None where all counts are 0."""
    right, by_class = 0, [0] * released.schema.target.n_levels
    for leaf, said in zip(released.leaves, released.outcomes, strict=True):
        counts = [max(count, 0) for count in leaf.counts or [0] * len(by_class)]
        right += counts[released.schema.classes.index(said)]
        by_class = [total + count for total, count in zip(by_class, counts, strict=True)]
    rows = sum(by_class)
    return (right / rows, max(by_class) / rows) if rows else (None, None)
