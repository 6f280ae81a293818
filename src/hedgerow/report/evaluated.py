"""Sections on a released evaluation, which is public, and on the exact membership risk by group. **Private**."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hedgerow.audit.entropy.result import groups_of
from hedgerow.audit.exact.membership import ExactMembership
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.privacy.charge import amount_text
from hedgerow.report.accuracy import Pair
from hedgerow.report.contents import Fact, Grid, Section, section
from hedgerow.report.subject import Subject
from hedgerow.text.values import shown_text


def check_evaluation(given: object, subject: Subject) -> Evaluation | None:
    """Check that an evaluation, if any, is of the model that the report is about, and may be shown to all."""
    if given is None:
        return None
    if not isinstance(given, Evaluation):
        raise ArgumentTypeError(f"expected an Evaluation or None as evaluation, got {type(given).__name__}.")
    if subject.released is None or subject.released.to_dict()["digest"] != given.model:
        raise ArgumentError("expected an evaluation of this model, got one of another model.")
    if not given.privacy.is_private:
        raise ArgumentError(
            f"expected an evaluation with a guarantee for the public sheet, got one with {given.privacy.headline}."
        )
    return given


def evaluated(found: Evaluation | None) -> tuple[Section, ...]:
    """Return what was released about held-out rows, by group."""
    if found is None:
        return ()
    about, (low, high) = found.rows()
    facts = [Fact("rows", f"about {about:,} ({low:,} to {high:,})", about)]
    facts += [Fact(one.name, str(one), one.value if one.says_something else None) for one in found.estimates]
    facts += [
        Fact("guarantee", found.privacy.headline),
        Fact("scale of the noise on each count, in rows", amount_text(found.scale)),
    ]
    grids = []
    if found.by is not None:
        columns = (found.by, "rows", *(one.name for one in found.estimates))
        rows = [(name, found.rows(name)[0], *map(str, ones)) for name, ones in found.by_group.items()]
        grids = [Grid(f"By {found.by}", columns, tuple(rows))]
    return (section("evaluation", facts, grids, sentences=_most_said(found)),)


def _most_said(found: Evaluation) -> list[str]:
    """Return the sentences but for those that are facts beside them, except the first."""
    return [found.sentences[0], *found.sentences[len(found.estimates) :]]


def exposed(found: Any, train: Pair | None, subject: Subject, by: Sequence[str]) -> tuple[Section, ...]:
    """Return the largest advantage of any attack in each group of the training rows. **Private**."""
    if not isinstance(found, ExactMembership) or train is None or not by:
        return ()
    rows = LabelledRows.of(*train)
    if len(found.advantage) < len(rows):
        raise ArgumentError("expected exact_membership of the training rows, got that of fewer rows.")
    grids, worst = list[Grid](), list[tuple[float, str]]()
    for name in by:
        names, codes = groups_of(rows.table, subject.schema, name)
        own = [(shown_text(one), found.advantage[: len(rows)][codes == code]) for code, one in enumerate(names)]
        lines = [(group, len(each), float(each.max()), float(each.mean())) for group, each in own if len(each)]
        lines.sort(key=lambda line: -line[2])
        grids.append(Grid(f"By {name}", (name, "rows", "worst advantage", "mean advantage"), tuple(lines)))
        worst += [(line[2], f"{name} = {line[0]}") for line in lines[:1]]
    advantage, group = max(worst, default=(0.0, ""))
    return (section("exposure", grids=grids, group=group, advantage=advantage),)
