"""Contents of a report: facts, grids and sections, as plain data that every form of the report is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, Literal

from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import amount_text
from hedgerow.privacy.unit import name_of
from hedgerow.report.form import Form
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject
from hedgerow.text.values import quoted_text

Kind = Literal["public", "board"]
"""Of which sheet something is: of the public one, or of that for the board."""
Cell = str | int | float | None
FORMAT = "hedgerow/report"
"""The format of the JSON of a sheet."""


@dataclass(frozen=True)
class Fact:
    """One line of a section.

    Attributes
    ----------
    name : str
        What it is.
    text : str
        What a person reads.
    value : str, int, float or None
        What a program reads, where it is not the text.
    """

    name: str
    text: str
    value: Cell = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"name": self.name, "text": self.text, "value": self.text if self.value is None else self.value}


@dataclass(frozen=True)
class Grid:
    """A table of a section: its title, the names of its columns, and its rows. The first cell of a row names it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def numeric(self) -> tuple[int, ...]:
        """The columns of numbers alone, counted from 0; the first is a name."""
        places = range(1, len(self.columns))
        return tuple(place for place in places if all(_is_number(row[place]) for row in self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Section:
    """One question of a report, with the answer in a plain sentence before any number.

    Attributes
    ----------
    key : str
        Its name in JSON and in addresses of the page.
    question, answer : str
        What is asked, and the answer.
    facts : tuple of Fact
        Single values.
    grids : tuple of Grid
        Tables.
    notes : tuple of str
        Paragraphs below them.
    words : tuple of str
        What the terms mean, for readers who ask.
    measure : str
        What to call or to give where something is not measured or not stated; empty where all is there.
    """

    key: str
    question: str
    answer: str
    facts: tuple[Fact, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    measure: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "key": self.key,
            "question": self.question,
            "answer": self.answer,
            "facts": [fact.to_dict() for fact in self.facts],
            "tables": [grid.to_dict() for grid in self.grids],
            "notes": list(self.notes),
            "words": list(self.words),
            "how_to_measure": self.measure or None,
        }


@dataclass(frozen=True)
class Sheet:
    """One sheet of a report: the public one, or that for the board, which is **private**.

    Attributes
    ----------
    kind : {"public", "board"}
        Which sheet it is.
    title : str
        What is reported on.
    date : date
        When the report was made.
    software : str
        What made it.
    findings : tuple of Finding
        What speaks for and against a release.
    sections : tuple of Section
        The questions and answers.
    """

    kind: Kind
    title: str
    date: date
    software: str
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]

    @property
    def is_private(self) -> bool:
        """Whether it has exact functions of the rows."""
        return self.kind == "board"

    def by_bucket(self, bucket: Bucket) -> tuple[Finding, ...]:
        """Return the findings of one bucket."""
        return tuple(finding for finding in self.findings if finding.bucket == bucket)

    @property
    def worst(self) -> Bucket:
        """The gravest bucket that has a finding; "look" where there is none at all."""
        found: list[Bucket] = [bucket for bucket in BUCKETS if self.by_bucket(bucket)]
        return found[0] if found else "look"

    def section(self, key: str) -> Section:
        """Return the section with this key; KeyError where there is none."""
        return {section.key: section for section in self.sections}[key]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-ready data."""
        return {
            "format": FORMAT,
            "version": 1,
            "sheet": self.kind,
            "private": self.is_private,
            "title": self.title,
            "date": self.date.isoformat(),
            "software": self.software,
            "worst": self.worst,
            "findings": [finding.to_dict() for finding in self.findings],
            "sections": [section.to_dict() for section in self.sections],
        }


_NUMBER = re.compile(r"[0-9][0-9.,]*(e[+-]?[0-9]+)?( %)?")


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float)) or (isinstance(cell, str) and _NUMBER.fullmatch(cell) is not None)


Bucket = Literal["reject", "look", "supports"]
"""What a finding says to a board: not as it is; look closer; it supports the release."""
BUCKETS: tuple[Bucket, ...] = ("reject", "look", "supports")
"""All buckets, the gravest first."""

TIERS = "Ponomareva et al., How to DP-fy ML, JAIR 77 (2023): three tiers of epsilon, up to 1, up to 10, and above"
"""Where the thresholds of ε come from."""
CRYPTIC_DELTA = (
    "Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), section 2.3: a delta of the order of "
    "1/n permits to publish the whole rows of a few"
)
"""Where the threshold of δ comes from."""
RULE_OF_TEN = (
    "safe_threshold of ACRO's default.yaml, 10; the rule of 10 of the Australian Bureau of Statistics' DataLab"
)
"""Where the least rows of a leaf come from."""
CLASS_DISCLOSURE = (
    "class disclosure: Hundepool et al., Statistical Disclosure Control (2012); the structural attack of SACRO-ML"
)
"""Where the rule on leaves of one class comes from."""
DEFINITION = "the definition of differential privacy"
"""Where a threshold comes from that the guarantee itself sets."""
HOUSE = "this report: no published threshold is known"
"""Where a rule comes from that is hedgerow's own."""


@dataclass(frozen=True)
class Finding:
    """One reason for or against a release.

    Attributes
    ----------
    key : str
        Its name in JSON.
    section : str
        The key of the section that has the numbers.
    bucket : {"reject", "look", "supports"}
        What it says.
    sentence : str
        The finding in a plain sentence.
    threshold : str
        The rule that put it into its bucket.
    source : str
        Where the rule comes from.
    value : int, float or None
        The number that the rule was applied to.
    """

    key: str
    section: str
    bucket: Bucket
    sentence: str
    threshold: str
    source: str
    value: int | float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return dict(vars(self))


STRONG, WEAK = 1, 10
"""The largest ε of a strong guarantee, and of one that needs a look."""


def findings(subject: Subject, releases: Releases | None) -> Iterator[Finding]:
    """Yield what card, record and form say for and against a release."""
    card = subject.card
    yield from promised(subject)
    if card.is_private and card.noise == "none":
        sentence = "The card claims a guarantee, and says that no noise was drawn."
        yield Finding("noise", "noise", "reject", sentence, "noise is drawn", DEFINITION)
    if any(charge.declared for charge in card.charges):
        yield Finding(
            "declared",
            "charges",
            "look",
            "A part of the loss is as the schema's file declares it, which nobody has checked here.",
            "every charge is of the software's own record",
            HOUSE,
        )
    yield from _recorded(card, releases)
    yield from _stated(subject.form)


def promised(subject: Subject, n_rows: int | None = None) -> Iterator[Finding]:
    """Yield what ε and δ say; the number of training rows, where it is known, is **private**."""
    card = subject.card
    yield _promised(card)
    if card.is_private and card.delta:
        is_large = n_rows is not None and card.delta * n_rows >= 1
        known = "one in the number of rows" if n_rows is None else f"1/{n_rows:,}, one in the number of rows"
        yield Finding(
            "delta",
            "guarantee",
            "reject" if is_large else "look",
            f"The guarantee has an exception of delta = {amount_text(card.delta)}; it should be far below {known}.",
            "delta = 0 needs no look; from 1/n on: reject",
            CRYPTIC_DELTA,
            float(card.delta),
        )


def _promised(card: PrivacyCard) -> Finding:
    if card.epsilon is None:
        sentence = "No guarantee bounds what the model discloses; what is measured of it is on the board's sheet."
        return Finding("guarantee", "guarantee", "look", sentence, "a guarantee of differential privacy", DEFINITION)
    if not card.is_private:
        sentence = f"The model was charged for, and yet has no guarantee: {card.no_guarantee_reason}."
        return Finding("guarantee", "guarantee", "reject", sentence, "no reason on the card voids it", DEFINITION)
    bucket, words = _tier(card.epsilon)
    whose = "Every row is" if card.unit is None else f"All rows of each {quoted_text(card.unit.column)} together are"
    sentence = f"{whose} protected by epsilon = {amount_text(card.epsilon)}: {words}."
    return Finding("guarantee", "guarantee", bucket, sentence, _TIERS, TIERS, float(card.epsilon))


_TIERS = f"epsilon up to {STRONG} supports; up to {WEAK}: look; above: reject"


def _tier(epsilon: Fraction) -> tuple[Bucket, str]:
    if epsilon <= STRONG:
        return "supports", "a strong guarantee"
    if epsilon <= WEAK:
        return "look", "a guarantee that needs a reason why it is enough"
    return "reject", "by itself it protects nobody; measurements would have to carry the release"


def _recorded(card: PrivacyCard, releases: Releases | None) -> Iterator[Finding]:
    if releases is None:
        if card.charges:
            sentence = "It is not known what else was released about this table: no record was given."
            yield Finding("releases", "releases", "look", sentence, "a record of all releases", HOUSE)
        return
    no_guarantee_reason, units = [charge for charge in releases.charges if charge.no_guarantee_reason], releases.by_unit
    most = max(one.epsilon for one in units.values())
    bucket, words = _tier(most)
    if len(units) > 1:
        bucket, words = "look" if bucket == "supports" else bucket, "amounts that do not add up, since units differ"
    if no_guarantee_reason:
        bucket, words = "reject", f"and {len(no_guarantee_reason)} of them have no guarantee, which no sum covers"
    amounts = " and ".join(
        amount_text(one.epsilon) + (f" for {name_of(unit)}" if len(units) > 1 else "") for unit, one in units.items()
    )
    sentence = f"All releases on record together have epsilon = {amounts}: {words}."
    yield Finding("releases", "releases", bucket, sentence, _TIERS, TIERS, float(most))
    if card.epsilon is not None and (card.unit not in units or card.epsilon > units[card.unit].epsilon):
        sentence = "The record does not have all of this model's charges: its epsilon is less than the card's."
        yield Finding("record", "releases", "reject", sentence, "the card's epsilon is in the record", HOUSE)


def _stated(form: Form) -> Iterator[Finding]:
    for name, what in (
        ("purpose", "purpose"),
        ("curator", "purpose"),
        ("unit", "guarantee"),
        ("tuning", "preparation"),
    ):
        if not getattr(form, name):
            sentence = f"The form does not state this: {_ASKED[name]}."
            yield Finding(name, what, "look", sentence, "the form is filled in", HOUSE)


_ASKED = {
    "purpose": "what the model is for",
    "curator": "who answers for the table",
    "unit": "what one row is, and how many of them a person can have",
    "tuning": "whether rows were looked at to choose the model and its parameters",
}
