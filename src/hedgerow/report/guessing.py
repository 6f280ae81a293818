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
from hedgerow.report.contents import HOUSE, Fact, Finding, Grid, Section
from hedgerow.report.disclosure import ROWS
from hedgerow.report.subject import Subject
from hedgerow.text.values import shown_text

MOST_RULES = 200
"""The most rules of a list whose possible rows are counted for a report; their regions can be many more."""
_WORLDS = (
    "A possible row is one combination of values that the schema allows; a possible world is a whole table of them. Of "
    "all that fit a leaf, a row is one, and none is known to be likelier. Their number is said in bits: 10 bits are "
    "1,024 possible rows, and one bit less is half as many.",
    "Dist_G is the share of these bits that is left once the model is known, and which row is in which leaf: 1 if the "
    "model says nothing of any row, 0 if every row is known. It is a mean, which the most exposed rows are hidden in.",
)


def measured(subject: Subject, data: Any = None) -> Reconstruction | str:
    """Return the reconstruction audit of the model, or why there is none."""
    if subject.paths is None:
        return "The decision paths of this model are not known."
    if not subject.paths.exclusive and len(subject.paths) > MOST_RULES:
        return f"A list of more than {MOST_RULES} rules may take long to count: hedgerow audit does."
    if data is None and subject.paths.supports is None:
        return "The model stores no numbers of rows in its leaves."
    try:
        source = subject.model if subject.released is None else subject.released
        return reconstruction(source, subject.schema, data=data, features=subject.features)
    except HedgerowError as error:
        if data is not None:  # the curator is to correct the rows
            raise
        return f"{error}"


def section(subject: Subject, found: Reconstruction | str) -> Section:
    """Return how many bits of a row are left once the model is known, and of whom the fewest."""
    question = "How much of a row is left to guess, once the model is known?"
    card = None if subject.released is None else subject.released.as_scorecard
    if card is not None:
        return _of_totals(card, question)
    if isinstance(found, str):
        return Section("reconstruction", question, f"Not measured. {found}", words=_WORLDS, measure=ROWS)
    mean, least = found.entropy_bits / found.n_rows, found.curve()[0][0]
    known = sum(n for n, possible in zip(found.supports, found.possible_rows, strict=True) if possible == 1)
    answer = (
        f"A row is one of {_number(found.domain.possible_rows)} that the schema allows. Knowing its leaf, "
        f"{100 * found.uncertainty:.0f} % of that uncertainty is left on average, and {100 * least:.0f} % for the rows "
        "most exposed. The mean by itself supports no release."
    )
    lost = found.loss_of_most_exposed()
    places = [i for i, n in enumerate(found.supports) if n]
    worst = min(places, key=lambda i: found.bits[i])
    facts = (
        Fact("bits of a row without the model", f"{found.domain.bits:.1f}", found.domain.bits),
        Fact("bits left, mean over rows", f"{mean:.1f}", mean),
        Fact("Dist_G", f"{found.uncertainty:.3f}", found.uncertainty),
        Fact("least share of bits left", f"{least:.3f}", float(least)),
        Fact("bits lost by each of the most exposed 5 % of rows, at least", f"{100 * lost:.0f} %", lost),
        Fact("most exposed leaf", f"{found.conditions[worst]} ({found.bits[worst]:.1f} bits left)"),
        Fact("rows disclosed exactly", f"{known:,}", known),
    )
    return Section("reconstruction", question, answer, facts, notes=(VIEWS[found.view],), words=_WORLDS)


def _of_totals(card: Scorecard, question: str) -> Section:
    found = totals(card)
    answer = (
        "The scorecard stores nothing of single rows. A total that is published with a person leaves "
        f"{found.residual_bits:.1f} of {found.bits:.1f} bits of the person's row, on average over all possible rows."
    )
    facts = (
        Fact("bits of a row without a total", f"{found.bits:.1f}", found.bits),
        Fact("bits left by a total, on average", f"{found.residual_bits:.1f}", found.residual_bits),
    )
    return Section("reconstruction", question, answer, facts, words=_WORLDS)


def by_group(found: Reconstruction | str, by: Sequence[str]) -> tuple[Section, ...]:
    """Return of whom the fewest bits are left, group by group. **Private**."""
    if isinstance(found, str) or not by:
        return ()
    tables = [(name, found.by_group(name)) for name in by]
    name, worst = min(((name, groups[0]) for name, groups in tables), key=lambda one: one[1]["uncertainty"])
    answer = (
        f"Of those with {name} = {shown_text(worst['group'])}, the model leaves least to guess: "
        f"{100 * worst['uncertainty']:.0f} % of the uncertainty on average, and {100 * worst['lowest']:.0f} % of the "
        "most exposed of them."
    )
    names = ("rows", "share of bits left, mean", "share of bits left, least")
    grids = tuple(
        Grid(
            f"By {name}",
            (name, *names),
            tuple((shown_text(one["group"]), one["rows"], one["uncertainty"], one["lowest"]) for one in groups),
        )
        for name, groups in tables
    )
    return (Section("groups", "Which group is most exposed?", answer, grids=grids, words=_WORLDS),)


def findings(subject: Subject, found: Reconstruction | str) -> Iterator[Finding]:
    """Yield what the reconstruction says for and against a release: a mean supports none."""
    if isinstance(found, str):
        return
    known = sum(n for n, possible in zip(found.supports, found.possible_rows, strict=True) if possible == 1)
    if known:
        sentence = f"{known:,} rows are the only possible ones of their leaf: the model discloses them whole."
        bucket = "look" if subject.is_private else "reject"
        yield Finding("known-rows", "reconstruction", bucket, sentence, "no leaf with one possible row", HOUSE, known)


def _number(count: int) -> str:
    return f"{count:,}" if count < 10**15 else f"about 10^{floor(count.bit_length() * log10(2))}"
