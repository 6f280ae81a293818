"""Sections on reconstruction: how much of a row is left to guess once the model is known. **Private** where exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10
from typing import Any

from hedgerow.audit.entropy.measure import reconstruction
from hedgerow.audit.entropy.result import VIEWS, Reconstruction
from hedgerow.audit.entropy.totals import totals
from hedgerow.errors import HedgerowError
from hedgerow.models.scorecard import Scorecard
from hedgerow.report.contents import Fact, Finding, Grid, Section
from hedgerow.report.findings import finding
from hedgerow.report.page import section as sentences
from hedgerow.report.subject import Subject
from hedgerow.text.values import shown_text

MOST_RULES = 200
"""The most rules of a list whose possible rows are counted for a report; their regions can be many more."""


def measured(subject: Subject, data: Any = None) -> Reconstruction | str:
    """Return the reconstruction audit of the model, or why there is none."""
    if subject.paths is None:
        return "The decision paths of this model are not known."
    if not subject.paths.exclusive and len(subject.paths) > MOST_RULES:
        return f"A list of more than {MOST_RULES} rules may take long to count: hedgerow audit does."
    if data is None and subject.paths.supports is None:
        return "The model stores no numbers of rows in its leaves."
    try:
        return reconstruction(subject.own, subject.schema, data=data, features=subject.features)
    except HedgerowError as error:
        if data is not None:  # the curator is to correct the rows
            raise
        return f"{error}"


def section(subject: Subject, found: Reconstruction | str) -> Section:
    """Return how many bits of a row are left once the model is known, and of whom the fewest."""
    if isinstance(subject.released, Scorecard):
        left = totals(subject.released)
        facts = (
            Fact("bits of a row without a total", f"{left.bits:.1f}", left.bits),
            Fact("bits left by a total, on average", f"{left.residual_bits:.1f}", left.residual_bits),
        )
        return sentences("reconstruction", facts, totals=left, problem="", view="")
    if isinstance(found, str):
        return sentences("reconstruction", totals=None, problem=found, view="")
    values: dict[str, Any] = {
        "possible": _number(found.domain.possible_rows),
        "mean": found.uncertainty,
        "least": found.curve()[0][0],
    }
    return sentences("reconstruction", _facts(found), totals=None, problem="", view=VIEWS[found.view], **values)


def _facts(found: Reconstruction) -> tuple[Fact, ...]:
    mean, least = found.entropy_bits / found.n_rows, found.curve()[0][0]
    lost, known = found.loss_of_most_exposed(), _known(found)
    worst = min((i for i, n in enumerate(found.supports) if n), key=lambda i: found.bits[i])
    return (
        Fact("bits of a row without the model", f"{found.domain.bits:.1f}", found.domain.bits),
        Fact("bits left, mean over rows", f"{mean:.1f}", mean),
        Fact("Dist_G", f"{found.uncertainty:.3f}", found.uncertainty),
        Fact("least share of bits left", f"{least:.3f}", float(least)),
        Fact("bits lost by each of the most exposed 5 % of rows, at least", f"{100 * lost:.0f} %", lost),
        Fact("most exposed leaf", f"{found.conditions[worst]} ({found.bits[worst]:.1f} bits left)"),
        Fact("rows disclosed exactly", f"{known:,}", known),
    )


def _known(found: Reconstruction) -> int:
    """Return the number of rows that are the only possible ones of their leaf."""
    return sum(n for n, possible in zip(found.supports, found.possible_rows, strict=True) if possible == 1)


def by_group(found: Reconstruction | str, by: Sequence[str]) -> tuple[Section, ...]:
    """Return of whom the fewest bits are left, group by group. **Private**."""
    if isinstance(found, str) or not by:
        return ()
    tables = [(name, found.by_group(name)) for name in by]
    name, worst = min(((name, groups[0]) for name, groups in tables), key=lambda one: one[1]["uncertainty"])
    names = ("rows", "share of bits left, mean", "share of bits left, least")
    grids = [
        Grid(
            f"By {column}",
            (column, *names),
            tuple((shown_text(one["group"]), one["rows"], one["uncertainty"], one["lowest"]) for one in groups),
        )
        for column, groups in tables
    ]
    values: dict[str, Any] = {
        "group": shown_text(worst["group"]),
        "mean": worst["uncertainty"],
        "least": worst["lowest"],
    }
    return (sentences("groups", grids=grids, name=name, **values),)


def findings(subject: Subject, found: Reconstruction | str) -> Iterator[Finding]:
    """Yield what the reconstruction says for and against a release: a mean supports none."""
    known = 0 if isinstance(found, str) else _known(found)
    if known:
        sentence = f"{known:,} rows are the only possible ones of their leaf: the model discloses them whole."
        yield finding("known-rows", "look" if subject.is_private else "reject", sentence, known)


def _number(count: int) -> str:
    return f"{count:,}" if count < 10**15 else f"about 10^{floor(count.bit_length() * log10(2))}"
