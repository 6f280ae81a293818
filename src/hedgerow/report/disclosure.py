"""Sections on the model itself: what it says, and how often it is right by the counts that were released with it.

They are functions of the model and what it stores. Where that has a guarantee they are public; else they are for the
board.
"""

from __future__ import annotations

from typing import Any

from hedgerow.models.leaf_model import LeafModel
from hedgerow.report.contents import Fact, Grid, Section
from hedgerow.report.page import NOT_STATED, section
from hedgerow.report.subject import Subject


def model(subject: Subject) -> Section:
    """Return the model, to be read."""
    released, limits = subject.released, subject.form.limits
    if released is not None:
        grids = [Grid.of_first(one.title, one.columns, one.rows) for one in released.listings()]
    else:
        rows = [(f"{number}. {text}",) for number, text in enumerate(subject.conditions, 1)]
        grids = [Grid.of_first("The decision paths", ("leaf",), rows)] if rows else []
    facts = [Fact("limits of use, as the form says", limits or NOT_STATED)]
    return section("model", facts, grids, is_shown=bool(grids), is_own=released is not None, is_stated=bool(limits))


def released_accuracy(subject: Subject) -> Section:
    """Return how often the model is right on its training rows, by the counts released with it."""
    released = subject.released if subject.is_private and isinstance(subject.released, LeafModel) else None
    has_counts, facts = released is not None and released.has_counts, list[Fact]()
    share, base = (None, None) if released is None or not has_counts else _shares(released)
    if share is not None:
        facts.append(Fact("accuracy on the training rows, by released counts", f"{share:.3f}", share))
        facts.append(Fact("baseline: the commonest class", f"{base:.3f}", base))
    values: dict[str, Any] = {"share": share, "base": base, "has_counts": has_counts}
    return section("accuracy", facts, template="accuracy-released", **values)


def _shares(released: LeafModel) -> tuple[float | None, float | None]:
    """Return the shares of rows that get their own class, and of the commonest class; None where all counts are 0."""
    right, by_class = 0, [0] * released.schema.target.n_levels
    for leaf, said in zip(released.leaves, released.predictions, strict=True):
        counts = [max(count, 0) for count in leaf.counts or [0] * len(by_class)]
        right += counts[released.schema.classes.index(said)]
        by_class = [total + count for total, count in zip(by_class, counts, strict=True)]
    rows = sum(by_class)
    return (right / rows, max(by_class) / rows) if rows else (None, None)
