"""Statements of anonymity for a model: one page for the controller and the data protection officer, and a checklist.

The page follows Opinion 28/2024 of the European Data Protection Board: what was learned from which data, who is assumed
to attack with which means, how likely extraction from the parameters and by queries is, which attacks were carried out,
and what is not covered. The checklist follows NIST SP 800-226 (2025). All numbers are those of the report.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from hedgerow.audit.attack_record import MARK
from hedgerow.boundary.arguments import check_flag
from hedgerow.boundary.durable import write_whole
from hedgerow.errors import ArgumentError
from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.unit import group_privacy
from hedgerow.privacy.wording import noun, suspected
from hedgerow.report.checks import Check, SheetKind, Status
from hedgerow.report.contents import (
    Cell,
    Column,
    Grid,
    Section,
    Sheet,
    SheetLine,
    json_text,
    rendered,
    section,
    shortened,
)
from hedgerow.report.promises import largest_belief, largest_rate, mechanism_words, percent_up
from hedgerow.report.report import Report
from hedgerow.report.subject import Subject
from hedgerow.report.units import judged_bound, person_bound
from hedgerow.text.language import Language, in_language
from hedgerow.text.language import language as current_language
from hedgerow.text.messages import number_of
from hedgerow.text.values import listed

FORMAT, VERSION = "hedgerow/statement", 1
_FPR = 0.01  # the false positive rate at which a bound on membership inference is printed
_PARAMETERS = (
    *("small-leaves", "second-units", "pure-leaves", "few-of-class", "joint-cells", "small-bins", "known-rows"),
    *("dominance", "file-rows", "file-extremes"),
)
"""The checks of what the parameters store."""
_QUERIES = ("separation",)
"""The checks of what predictions show."""
Answered = Literal["stated", "open", "organisation"]
"""The status of a question of the checklist: stated by the report, open, or for the organisation to answer."""
_ANSWERED: dict[Answered, str] = {"stated": "stated", "open": "open", "organisation": "for the organisation to answer"}


@dataclass(frozen=True, repr=False)
class Statement:
    """A statement of anonymity for a model, with a checklist, made of one sheet of a report.

    It draws no conclusion: the controller does, and the data protection officer advises. Of a model with a guarantee
    the public statement has public values alone; the statement for the board, which is **private**, adds checks and
    attacks on the rows.

    Attributes
    ----------
    kind : {"public", "board"}
        The sheet that it is made of.
    title : str
        The title of the report.
    date : date
        The date of the report.
    software : str
        The software that made it.
    status : str
        The status of the sheet that decides.
    sections : tuple of Section
        The parts of the statement.
    checklist : Section
        The checklist, as one table.
    language : str
        The language of the report and of the statement.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.report import Statement
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema).fit(data.frame, data.labels)
    >>> statement = Statement.of(hr.Report.of(clf))
    >>> {line.key: line.value for line in statement.section("parameters").facts}["largest_presence_belief"]
    0.7310585786300049
    """

    kind: SheetKind
    title: str
    date: date
    software: str
    status: Status
    sections: tuple[Section, ...]
    checklist: Section
    language: Language = field(default_factory=current_language)

    @classmethod
    def of(cls, report: Report, *, private: bool = False) -> Self:
        """Make the statement of the public sheet of a report, or of the sheet for the board.

        ValueError if `private` is True and the report has no sheet for the board.
        """
        check_flag("private", private)
        sheet = report.sheet(private=private)
        with in_language(report.language):
            return cls._of(report, sheet, report.deciding if private else sheet)  # of rows for the board alone

    @classmethod
    def _of(cls, report: Report, sheet: Sheet, deciding: Sheet) -> Self:
        subject = report.subject
        sections = (
            _model(subject, sheet),
            _data(subject, sheet),
            section("attackers", template="statement/attackers", is_private=subject.is_private),
            _parameters(subject, sheet),
            _queries(subject, sheet.checks),
            _attacks(report, sheet),
            _not_covered(report, sheet.not_examined),
            _conclusion(subject, deciding),
        )
        return cls(sheet.kind, sheet.title, sheet.date, sheet.software, deciding.status, sections, _checklist(report))

    @property
    def is_private(self) -> bool:
        """True if it has exact functions of the rows."""
        return self.kind == "board"

    def section(self, key: str) -> Section:
        """Return the section with this key; KeyError if there is none."""
        return {section.key: section for section in self.sections}[key]

    def to_html(self) -> str:
        """Return it as a page that needs nothing else, and that word processors open."""
        with in_language(self.language):
            return rendered("statement.html", statement=self)

    def to_text(self) -> str:
        """Return it as plain text with the headings and tables of Markdown."""
        with in_language(self.language):
            return rendered("statement.txt", statement=self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file as the ending of its name says: .html, .txt or .json. An existing file is replaced.

        Raises
        ------
        ValueError
            If the name ends otherwise, or says PRIVATE of a public statement, or does not of a private one.
        OSError
            If the file cannot be written.
        """
        write_whole(path, self.content(path))

    def content(self, path: str | PathLike[str]) -> bytes:
        """Return the content of a file with this name; raises ValueError as `save` does.

        Plain text begins with a byte order mark, by which word processors know that it is UTF-8.
        """
        place = Path(path)
        writers = {".html": self.to_html, ".json": self.to_json, ".txt": lambda: f"\ufeff{self.to_text()}"}
        if place.suffix.lower() not in writers:
            raise ArgumentError(f"{place}: expected a name that ends in {listed(writers)}.")
        if (MARK in place.name) != self.is_private:
            wanted = "that says" if self.is_private else "without"
            raise ArgumentError(f"{place}: expected the name of a {self.kind} statement, {wanted} {MARK}.")
        return writers[place.suffix.lower()]().encode()

    def to_json(self) -> str:
        """Return it as JSON text: numbers with their intervals, and text for people."""
        return json_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data; what people decide is null."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "sheet": self.kind,
            "private": self.is_private,
            "title": self.title,
            "date": self.date.isoformat(),
            "software": self.software,
            "language": self.language,
            "status": self.status,
            "sections": [section.to_dict() for section in self.sections],
            "checklist": self.checklist.to_dict(),
            "decision": {
                "is_insignificant": None,
                "reasons": None,
                "controller": {"name": None, "date": None},
                "officer": {"name": None, "date": None, "advice": None},
            },
        }

    def __repr__(self) -> str:
        return f"<Statement of anonymity, {self.kind}: {self.title}>"


def _model(subject: Subject, sheet: Sheet) -> Section:
    facts = _identity(sheet, "kind", "model_sha256", "content_digest", "software")
    title, purpose = shortened(subject.title), shortened(subject.form.purpose)
    return section("model", facts, template="statement/model", title=title, purpose=purpose)


def _identity(sheet: Sheet, *keys: str) -> list[SheetLine]:
    """Return lines of a sheet about the model and the files that the report is made of."""
    return [line for line in sheet.section("identity").facts if line.key in keys]


def _data(subject: Subject, sheet: Sheet) -> Section:
    form = subject.form
    names = {"rows": "rows", "unit": "one row is", "curator": "who answers for the table"}
    facts = [SheetLine(key, name, shortened(getattr(form, key))) for key, name in names.items() if getattr(form, key)]
    if form.sensitive:
        facts.append(SheetLine("sensitive", "sensitive attributes", shortened(", ".join(form.sensitive))))
    facts += _identity(sheet, "training_rows_sha256", "held_out_rows_sha256")
    missing = [name for key, name in names.items() if not getattr(form, key)]
    return section("data", facts, template="statement/data", population=shortened(form.population), missing=missing)


def _parameters(subject: Subject, sheet: Sheet) -> Section:
    facts, words, bound = list[SheetLine](), dict[str, Any](), judged_bound(subject)
    if bound is not None:
        # Another version of the rows: these are removed, and others added.
        twice, both, _ = group_privacy(*bound, None, 2)
        presence, attribute = largest_belief(0.5, bound[0]), largest_belief(0.5, twice)
        facts = [
            SheetLine("epsilon", "ε", amount_text(bound[0]), float(bound[0])),
            SheetLine("delta", "δ", amount_text(bound[1]), float(bound[1])),
            _belief("presence", "50 % belief in presence rises to at most", presence),
            _belief("attribute", "50 % belief in one of two versions, to at most", attribute),
        ]
        words = {"presence": percent_up(presence), "attribute": percent_up(attribute)}
        words["delta"] = percent_up(float(both)) if both else ""
        words |= _protected(subject)
    facts += _checked(sheet.checks, _PARAMETERS)
    is_hidden = not subject.is_private and not sheet.is_private
    return section("parameters", facts, template="statement/parameters", is_hidden=is_hidden, bound=words)


def _protected(subject: Subject) -> dict[str, Any]:
    """Return in words whose presence, and which rows, the bounds are about."""
    unit = subject.card.unit
    if person_bound(subject) is not None:
        return {"is_person": True, "suspected": "a person is", "rows": "the person's rows"}
    rows = "one row" if unit is None else f"the rows of one {noun(unit)}"
    return {"is_person": False, "suspected": suspected(unit), "rows": rows}


def _belief(name: str, words: str, most: float) -> SheetLine:
    return SheetLine(f"largest_{name}_belief", words, percent_up(most), most)


def _queries(subject: Subject, checks: Sequence[Check]) -> Section:
    facts, rate, bound = list[SheetLine](), "", judged_bound(subject)
    if bound is not None:
        most = largest_rate(_FPR, *bound)
        rate = percent_up(most)
        facts.append(SheetLine("largest_tpr", "true positive rate of membership inference, at most", rate, most))
    facts += _checked(checks, _QUERIES)
    return section("queries", facts, template="statement/queries", rate=rate)


def _checked(checks: Sequence[Check], keys: Sequence[str]) -> Iterator[SheetLine]:
    """Yield a line for each check that was run, with its number; of a check with several results, the gravest."""
    for key in keys:
        results = [check for check in checks if check.key == key and check.status in ("fail", "review", "pass")]
        if results:
            check = min(results, key=lambda result: result.rank)
            is_plain = check.status == "pass" and check.value is None
            text = check.status if is_plain else f"{check.status}. {shortened(check.sentence)}"
            yield SheetLine(key.replace("-", "_"), check.title, text, check.value, check.interval)


def _attacks(report: Report, sheet: Sheet) -> Section:
    """Return the attacks with what they reached, which are functions of the rows."""
    records = report.attacks if sheet.is_private else ()
    rows = [
        (
            Cell(f"{record.kind}: {shortened(record.method)}", record.kind),
            Cell(measure.code.replace("_", " "), measure.code),
            measure.at,
            measure.value,
            measure.low,
            measure.high,
            measure.confidence,
            record.repeats,
        )
        for record in records
        for measure in record.measures
    ]
    rows.sort(key=lambda row: row[1].value not in _FIRST)  # stable
    columns = (
        Column("attack", "attack"),
        Column("measure", "measure"),
        Column("fpr", "false positive rate"),
        Column("value", "value"),
        Column("low", "from"),
        Column("high", "to"),
        Column("confidence", "confidence"),
        Column("repeats", "repeats"),
    )
    facts = [
        SheetLine(check.key.replace("-", "_"), check.title, check.status.replace("_", " "), check.status)
        for check in (sheet.checks if records else ())
        if check.key.startswith("attack-") and check.status != "not_applicable"
    ]
    title = "What the attacks reached, with intervals"
    grids = [Grid("attacks", title, columns, tuple(rows), _MOST_REACHED)] if rows else []
    is_public, count = not sheet.is_private, len(records)
    return section("attacks", facts, grids, template="statement/attacks", is_public=is_public, count=count)


_FIRST = ("auc", "privacy_loss", "label_advantage", "epsilon")  # the numbers of attacks that a page shows first
_MOST_REACHED = 6  # numbers of attacks on a page


def _not_covered(report: Report, not_examined: Sequence[str]) -> Section:
    subject, more = report.subject, len(not_examined) - _MOST_NAMED
    named = [*not_examined[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return section(
        "not_covered",
        template="statement/not_covered",
        is_private=subject.is_private,
        has_record=report.releases is not None,
        not_examined=named,
    )


_MOST_NAMED = 8  # checks that were not run, on a page


_FIELDS = {
    "is_insignificant": "Is the likelihood insignificant for every person? Reasons",
    "controller": "Controller: name, date, signature",
    "advice": "Advice of the data protection officer",
    "officer": "Data protection officer: name, date, signature",
}


def _conclusion(subject: Subject, sheet: Sheet) -> Section:
    """Return what the numbers carry: bounds, or none; whether a likelihood is insignificant is for people to decide."""
    counts = {status: len([one for one in sheet.by_status(status) if not one.informative]) for status in _OPEN}
    is_weak = any(one.key == "guarantee" and one.status in ("fail", "review") for one in sheet.checks)
    facts = [SheetLine("status", "status of the checks", sheet.status.replace("_", " "), sheet.status)]
    facts += [SheetLine(key, name, "") for key, name in _FIELDS.items()]
    scope = noun(subject.card.unit) if person_bound(subject) is None else "person"
    return section(
        "conclusion",
        facts,
        template="statement/conclusion",
        counts=counts,
        is_private=subject.is_private,
        is_weak=is_weak,
        status=sheet.status,
        scope=scope,
    )


_OPEN: tuple[Status, ...] = ("fail", "review", "not_run")


QUESTIONS: dict[str, tuple[str, str]] = {
    "loss": ("guarantee", "ε and δ"),
    "unit": ("guarantee", "unit of privacy"),
    "rows-per-person": ("guarantee", "rows of one person"),
    "neighbours": ("guarantee", "neighbouring tables"),
    "composition": ("guarantee", "composition with other releases"),
    "mechanisms": ("algorithms", "mechanisms"),
    "utility": ("algorithms", "utility"),
    "bias": ("algorithms", "bias between groups"),
    "tuning": ("algorithms", "choice of settings"),
    "preprocessing": ("algorithms", "preprocessing of the rows"),
    "floating-point": ("implementation", "floating point"),
    "randomness": ("implementation", "source of randomness"),
    "side-channels": ("implementation", "timing and other side channels"),
    "query-model": ("deployment", "query model"),
    "trust": ("deployment", "who sees the rows and is trusted"),
    "access": ("deployment", "security and access control"),
    "collection": ("deployment", "exposure by data collection"),
}
"""The questions of the checklist by their stable id, each with its component."""
_ORGANISATION = {
    "side-channels": "Run time and messages about values outside of the schema are not noised: who can observe them?",
    "access": "Who can read the rows, and how are they kept?",
    "collection": "Who else holds the data, and since when?",
}
"""What only the organisation can answer."""
_NO_GUARANTEE = "The model has no guarantee."


def _checklist(report: Report) -> Section:
    answers = {**_of_guarantee(report), **_of_card_and_form(report)}
    rows = tuple(
        (Cell(component, component), Cell(question, key), *_answered(key, *answers.get(key, ("", ""))))
        for key, (component, question) in QUESTIONS.items()
    )
    columns = (
        Column("component", "component"),
        Column("question", "question"),
        Column("status", "status"),
        Column("answer", "answer", is_text=True),
    )
    grid = Grid("checklist", "Components of the guarantee", columns, rows, len(rows))
    return section("checklist", (), (grid,), template="statement/checklist")


def _answered(key: str, answer: str, missing: str) -> tuple[Cell, str]:
    """Return the status of a question and its answer; one without an answer is open, and says what is missing."""
    status: Answered = "organisation" if key in _ORGANISATION else "stated" if answer else "open"
    return Cell(_ANSWERED[status], status), shortened(answer or missing or _ORGANISATION.get(key, "Not stated."))


def _of_guarantee(report: Report) -> dict[str, tuple[str, str]]:
    """Return the answers about the guarantee, and what is missing; a model without one leaves them open."""
    card, form, bound, record = report.subject.card, report.subject.form, report.subject.bound, report.releases
    total = "" if record is None else f"{number_of(len(record.releases), 'release')} on record"
    composition = {"composition": (total, "No record of releases was given.")}
    if bound is None:
        return composition | dict.fromkeys(("loss", "unit", "rows-per-person", "neighbours"), ("", _NO_GUARANTEE))
    unit = "one row" if card.unit is None else f"all rows of one {noun(card.unit)}"
    return composition | {
        "loss": (f"ε = {amount_text(bound[0])}, δ = {amount_text(bound[1])}", ""),
        "unit": ("; ".join(filter(None, (unit, form.unit))), ""),
        "rows-per-person": ("" if form.rows_per_unit is None else f"at most {form.rows_per_unit}", "Not stated."),
        "neighbours": (card.neighbours, ""),
    }


def _of_card_and_form(report: Report) -> dict[str, tuple[str, str]]:
    """Return the answers about mechanisms, their use and their deployment, and what is missing."""
    card, form, sections = report.subject.card, report.subject.form, report.public.sections
    charges = card.charges if card.is_private else ()  # without a guarantee their list is a function of the rows
    measured = [one.answer for one in sections if one.key in _UTILITY and any(x.value is not None for x in one.facts)]
    by_group = any(grid.key == "by_group" for one in sections for grid in one.grids)
    return {
        "mechanisms": ("; ".join(dict.fromkeys(map(mechanism_words, charges))), _NO_GUARANTEE),
        "utility": (measured[-1] if measured and card.is_private else "", "No evaluation with a guarantee was given."),
        "bias": ("Released by group." if by_group else "", "Not released by group."),
        "tuning": (form.tuning, "Not stated."),
        "preprocessing": (form.preprocessing, "Not stated."),
        "floating-point": (_ARITHMETIC if card.is_private and card.software.code == "hedgerow" else "", _NO_GUARANTEE),
        "randomness": (card.noise.words if card.is_private else "", _NO_GUARANTEE),
        "query-model": ("One release: recipients have the file, or its predictions.", ""),
        "trust": (form.curator, "Not stated."),
    }


_UTILITY = ("accuracy", "evaluation")
_ARITHMETIC = "How rounding is accounted for is in the documentation of hedgerow (mathematics.md)."
