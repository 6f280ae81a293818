"""Sections that people fill in: identity, purpose, preparation, relation to other outputs, residual risk, decision."""

from __future__ import annotations

from datetime import date

from hedgerow.privacy.card import SOFTWARE
from hedgerow.report.contents import Fact, Kind, Section
from hedgerow.report.promises import BY_FORM, NOT_STATED
from hedgerow.report.subject import Subject

LINES = (
    "Decision (release, release with conditions, do not release)",
    "Reasons",
    "Conditions",
    "First checker: name, date, signature",
    "Second checker: name, date, signature",
)
"""The lines that a board fills in by hand."""
_NO_DIGEST = {True: "none: not a file of hedgerow", False: "on the sheet for the board: it depends on the rows"}


def identity(subject: Subject, made: date, kind: Kind) -> Section:
    """Return what the report is about.

    The digest of a model without a guarantee is a function of its rows, by which guesses can be confirmed: it is for
    the board.
    """
    released = subject.released if subject.is_private or kind == "board" else None
    digest = _NO_DIGEST[subject.released is None] if released is None else released.to_dict()["digest"]
    facts = (
        Fact("name", subject.title),
        Fact("kind of model", subject.kind),
        Fact("digest (SHA-256) of the model file", digest),
        Fact("software that made the model", subject.card.software),
        Fact("software that made this report", SOFTWARE),
        Fact("date of this report", made.isoformat()),
    )
    told = "its digest tells it from every other model, and is no signature." if released else "no digest is shown."
    answer = f"{subject.title}: {subject.kind}; {told}"
    return Section("identity", "What is reported on?", answer, facts)


def purpose(subject: Subject) -> Section:
    """Return what the model is for, whom it describes, and who answers for it."""
    return _stated(
        subject,
        "purpose",
        "What is it for, whom does it describe, and who answers for it?",
        ("purpose", "population", "rows", "curator", "curator_type", "region", "sector"),
        "As the form says. No file of a model states these, and nothing here has been checked.",
    )


def preparation(subject: Subject) -> Section:
    """Return what was done before the model was learned."""
    return _stated(
        subject,
        "preparation",
        "What was done with the rows before, and how were the settings chosen?",
        ("preprocessing", "tuning"),
        "As the form says. What was looked at before and was not charged is outside every guarantee.",
    )


def relation(subject: Subject) -> Section:
    """Return how the model relates to other outputs."""
    return _stated(
        subject,
        "relation",
        "How does it relate to other outputs of the same people?",
        ("relation",),
        "As the form says. Two outputs that are harmless alone can disclose by their difference; under differential "
        "privacy their losses add up.",
    )


def residual_risk(subject: Subject) -> Section:
    """Return which risk remains."""
    return _stated(
        subject,
        "residual-risk",
        "Which risk remains, and why is it acceptable?",
        ("residual_risk",),
        "As the form says. No number on this sheet answers this question.",
    )


def decision(kind: Kind) -> Section:
    """Return the lines to sign."""
    of = "public sheet" if kind == "public" else "sheet for the board"
    answer = f"The board decides. Findings of this {of} are reasons, not the decision."
    return Section("decision", "What is decided, by whom, and why?", answer, tuple(Fact(line, "") for line in LINES))


def _stated(subject: Subject, key: str, question: str, names: tuple[str, ...], answer: str) -> Section:
    stated = {name: getattr(subject.form, name) for name in names}
    facts = tuple(Fact(name.replace("_", " "), text or NOT_STATED) for name, text in stated.items())
    return Section(key, question, answer, facts, measure="" if all(stated.values()) else BY_FORM)
