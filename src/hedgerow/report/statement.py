"""Statements of anonymity for a model: one page for the controller and the data protection officer, and a checklist.

The page follows Opinion 28/2024 of the European Data Protection Board. It describes the model and its data, and the
assumed attackers and their means. It states the likelihood of extraction from the parameters and by queries, the
attacks that were carried out, and the limits of the statement. The checklist follows NIST SP 800-226 (2025). All
numbers are from the report.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from hedgerow.boundary.arguments import check_flag
from hedgerow.boundary.durable import MARK, write_whole
from hedgerow.errors import ArgumentError
from hedgerow.privacy.unit import group_privacy
from hedgerow.privacy.wording import noun
from hedgerow.report.checks import STATUS_NAMES, Check, SheetKind, Status
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
from hedgerow.report.promises import (
    PERSON_ROWS,
    largest_belief,
    largest_rate,
    local_amount,
    mechanism_words,
    percent_up,
    suspected_rows,
)
from hedgerow.report.report import Report
from hedgerow.report.subject import Subject
from hedgerow.report.units import judged_bound, person_bound
from hedgerow.text.language import N_, Language, _, in_language, ngettext
from hedgerow.text.language import language as current_language
from hedgerow.text.values import listed

FORMAT, VERSION = "hedgerow/statement", 1
_FPR = 0.01  # the false positive rate at which a bound on membership inference is printed
_PARAMETERS = (
    *("small-leaves", "second-units", "pure-leaves", "few-of-class", "joint-cells", "small-bins", "known-rows"),
    *("pure-bins", "dominance", "file-rows", "file-extremes", "declared-values"),
)
"""The checks of the contents of the parameters."""
_QUERIES = ("separation",)
"""The checks of predictions."""
Answered = Literal["stated", "open", "organisation"]
"""The status of a question of the checklist: stated by the report, open, or for the organisation to answer."""
_ANSWERED: dict[Answered, str] = {
    "stated": N_("stated"),
    "open": N_("open"),
    "organisation": N_("to be answered by the organisation"),
}


@dataclass(frozen=True, repr=False)
class Statement:
    """A statement of anonymity for a model, with a checklist, made from one sheet of a report.

    It draws no conclusion; the controller draws the conclusion, on the advice of the data protection officer. For a
    model with a guarantee the public statement has public values only; the board's statement, which is **private**,
    adds checks and attacks on the rows.

    Attributes
    ----------
    kind : {"public", "board"}
        The sheet from which it is made.
    title : str
        The title of the report.
    date : date
        The date of the report.
    software : str
        The software that made the statement.
    status : str
        The status of the sheet that decides.
    sections : tuple of Section
        The parts of the statement.
    checklist : Section
        The checklist, as one table.
    language : {"en", "de", "fr"}
        The language of the report.

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
        """Return the statement from the public sheet of a report, or from the board's sheet, in the report's language.

        ValueError if `private` is True and the report has no board's sheet.
        """
        check_flag("private", private)
        sheet = report.sheet(private=private)
        with in_language(sheet.language):
            return cls._of(report, sheet)

    @classmethod
    def _of(cls, report: Report, sheet: Sheet) -> Self:
        subject = report.subject
        deciding = report.deciding if sheet.is_private else sheet  # results on rows are for the board alone
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
        identity = (sheet.kind, sheet.title, sheet.date, sheet.software)
        return cls(*identity, deciding.status, sections, _checklist(report), sheet.language)

    @property
    def is_private(self) -> bool:
        """True if it has exact functions of the rows."""
        return self.kind == "board"

    def section(self, key: str) -> Section:
        """Return the section with this key; KeyError if there is none."""
        return {section.key: section for section in self.sections}[key]

    def to_html(self) -> str:
        """Return the statement as a self-contained page, which word processors can open."""
        with in_language(self.language):
            return rendered("statement.html", statement=self)

    def to_text(self) -> str:
        """Return the statement as plain text."""
        with in_language(self.language):
            return rendered("statement.txt", statement=self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the statement to a .html, .txt or .json file; an existing file is replaced.

        Raises
        ------
        ValueError
            If the name has another extension, the name of a public statement contains PRIVATE, or the name of a private
            statement does not contain it.
        OSError
            If the file cannot be written.
        """
        write_whole(path, self.content(path))

    def content(self, path: str | PathLike[str]) -> bytes:
        """Return the content of a file with this name; raises ValueError as `save` does.

        Plain text begins with a byte order mark, by which word processors recognise UTF-8.
        """
        place = Path(path)
        writers = {".html": self.to_html, ".json": self.to_json, ".txt": lambda: f"\ufeff{self.to_text()}"}
        if place.suffix.lower() not in writers:
            raise ArgumentError(f"{place}: the name of a statement must end in {listed(writers)}.")
        if (MARK in place.name) != self.is_private:
            rule = f"must contain {MARK}" if self.is_private else f"must not contain {MARK}"
            raise ArgumentError(f"{place}: the name of a {self.kind} statement {rule}.")
        return writers[place.suffix.lower()]().encode()

    def to_json(self) -> str:
        """Return the statement as JSON text: numbers with their intervals, and text for people."""
        return json_text(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as JSON-ready data; the decision, which people make, is null."""
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
    """Return lines of a sheet about the model and the files that the report is made from."""
    return [line for line in sheet.section("identity").facts if line.key in keys]


def _data(subject: Subject, sheet: Sheet) -> Section:
    form = subject.form
    names = {"rows": _("rows of the table"), "unit": _("meaning of one row"), "curator": _("curator of the table")}
    facts = [SheetLine(key, name, shortened(getattr(form, key))) for key, name in names.items() if getattr(form, key)]
    if form.sensitive:
        facts.append(SheetLine("sensitive", _("sensitive attributes"), shortened(", ".join(form.sensitive))))
    facts += _identity(sheet, "training_rows_sha256", "held_out_rows_sha256")
    missing = [name for key, name in names.items() if not getattr(form, key)]
    return section("data", facts, template="statement/data", population=shortened(form.population), missing=missing)


def _parameters(subject: Subject, sheet: Sheet) -> Section:
    facts, words, bound = list[SheetLine](), dict[str, Any](), judged_bound(subject)
    if bound is not None:
        # Another version of the rows: the old rows are removed, and new rows added.
        twice, both, _rho = group_privacy(*bound, None, 2)
        presence, attribute = largest_belief(0.5, bound[0]), largest_belief(0.5, twice)
        facts = [
            SheetLine("epsilon", "ε", local_amount(bound[0]), float(bound[0])),
            SheetLine("delta", "δ", local_amount(bound[1]), float(bound[1])),
            _belief("presence", _("a belief of 50 % in presence rises to at most"), presence),
            _belief("attribute", _("a belief of 50 % in one of two versions rises to at most"), attribute),
        ]
        words = {"presence": percent_up(presence), "attribute": percent_up(attribute)}
        words["delta"] = percent_up(float(both)) if both else ""
        words |= _protected(subject)
    facts += _checked(sheet.checks, _PARAMETERS)
    is_hidden = not subject.is_private and not sheet.is_private
    return section("parameters", facts, template="statement/parameters", is_hidden=is_hidden, bound=words)


def _protected(subject: Subject) -> dict[str, Any]:
    """Return text on the persons and the rows whose presence the bounds concern."""
    unit = subject.card.unit
    if person_bound(subject) is not None:
        return {"is_person": True, "rows": _(PERSON_ROWS), "versions": _("the person's rows")}
    versions = _("the row") if unit is None else _("the rows of the {unit}", unit=noun(unit))
    return {"is_person": False, "rows": suspected_rows(subject), "versions": versions}


def _belief(name: str, words: str, most: float) -> SheetLine:
    return SheetLine(f"largest_{name}_belief", words, percent_up(most), most)


def _queries(subject: Subject, checks: Sequence[Check]) -> Section:
    facts, rate, bound = list[SheetLine](), "", judged_bound(subject)
    if bound is not None:
        most = largest_rate(_FPR, *bound)
        rate = percent_up(most)
        facts.append(SheetLine("largest_tpr", _("true positive rate of membership inference, at most"), rate, most))
    facts += _checked(checks, _QUERIES)
    return section("queries", facts, template="statement/queries", rate=rate)


def _checked(checks: Sequence[Check], keys: Sequence[str]) -> Iterator[SheetLine]:
    """Yield a line for each check that was run, with its value; of several results, the most severe is used."""
    for key in keys:
        results = [check for check in checks if check.key == key and check.status in ("fail", "review", "pass")]
        if results:
            check = min(results, key=lambda result: result.rank)
            is_plain = check.status == "pass" and check.value is None
            text, sentence = _(STATUS_NAMES[check.status]), shortened(check.sentence)
            text = text if is_plain else _("{status}: {finding}", status=text, finding=sentence)
            yield SheetLine(key.replace("-", "_"), check.title, text, check.value, check.interval)


def _attacks(report: Report, sheet: Sheet) -> Section:
    """Return the text on the attacks and their results, which are functions of the rows."""
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
        Column("attack", _("attack")),
        Column("measure", _("measure")),
        Column("fpr", _("false positive rate")),
        Column("value", _("value")),
        Column("low", _("interval from")),
        Column("high", _("interval to")),
        Column("confidence", _("confidence")),
        Column("repeats", _("repeats")),
    )
    facts = [
        SheetLine(check.key.replace("-", "_"), check.title, _(STATUS_NAMES[check.status]), check.status)
        for check in (sheet.checks if records else ())
        if check.key.startswith("attack-") and check.status != "not_applicable"
    ]
    title = _("Results of the attacks, with intervals")
    grids = [Grid("attacks", title, columns, tuple(rows), _MOST_REACHED)] if rows else []
    is_public, count = not sheet.is_private, len(records)
    return section("attacks", facts, grids, template="statement/attacks", is_public=is_public, count=count)


_FIRST = ("auc", "privacy_loss", "label_advantage", "epsilon")  # the measures of attacks that a page shows first
_MOST_REACHED = 6  # the maximum number of measures of attacks on a page


def _not_covered(report: Report, not_examined: Sequence[str]) -> Section:
    subject, more = report.subject, len(not_examined) - _MOST_NAMED
    rest = [ngettext("{count} more", "{count} more", more)] if more > 0 else []
    named = [*not_examined[:_MOST_NAMED], *rest]
    return section(
        "not_covered",
        template="statement/not_covered",
        is_private=subject.is_private,
        has_record=report.releases is not None,
        not_examined=named,
    )


_MOST_NAMED = 8  # the maximum number of checks on a page that were not run


_FIELDS = {
    "is_insignificant": N_("Is the likelihood insignificant for every person? Reasons"),
    "controller": N_("Controller: name, date, signature"),
    "advice": N_("Advice of the data protection officer"),
    "officer": N_("Data protection officer: name, date, signature"),
}


def _conclusion(subject: Subject, sheet: Sheet) -> Section:
    """Return text on the bounds or their absence; people decide whether a likelihood is insignificant."""
    counts = {status: sum(not check.informative for check in sheet.by_status(status)) for status in _OPEN}
    is_weak = any(check.key == "guarantee" and check.status in ("fail", "review") for check in sheet.checks)
    facts = [SheetLine("status", _("status of the checks"), _(STATUS_NAMES[sheet.status]), sheet.status)]
    facts += [SheetLine(key, _(name), "") for key, name in _FIELDS.items()]
    values: dict[str, Any] = {"counts": counts, "is_private": subject.is_private, "is_weak": is_weak}
    values |= {"status": sheet.status, "bounded": _bounded(subject)}
    return section("conclusion", facts, template="statement/conclusion", **values)


def _bounded(subject: Subject) -> str:
    """Return a sentence on the persons whom the bounds concern."""
    if person_bound(subject) is not None:
        return _("The likelihood of extraction is bounded as stated, for every person in the table.")
    if subject.card.unit is None:
        return _("The likelihood of extraction is bounded as stated, for every row of the table.")
    unit = noun(subject.card.unit)
    return _("The likelihood of extraction is bounded as stated, for every {unit} in the table.", unit=unit)


_OPEN: tuple[Status, ...] = ("fail", "review", "not_run")


_COMPONENTS = {
    "guarantee": N_("guarantee"),
    "algorithms": N_("algorithms"),
    "implementation": N_("implementation"),
    "deployment": N_("deployment"),
}
QUESTIONS: dict[str, tuple[str, str]] = {
    "loss": ("guarantee", N_("ε and δ")),
    "unit": ("guarantee", N_("unit of privacy")),
    "rows-per-person": ("guarantee", N_("rows of one person")),
    "neighbours": ("guarantee", N_("neighbouring tables")),
    "composition": ("guarantee", N_("composition with other releases")),
    "mechanisms": ("algorithms", N_("mechanisms")),
    "utility": ("algorithms", N_("utility")),
    "bias": ("algorithms", N_("bias between groups")),
    "tuning": ("algorithms", N_("choice of settings")),
    "preprocessing": ("algorithms", N_("preprocessing of the rows")),
    "floating-point": ("implementation", N_("floating point")),
    "randomness": ("implementation", N_("source of randomness")),
    "side-channels": ("implementation", N_("timing and other side channels")),
    "query-model": ("deployment", N_("query model")),
    "trust": ("deployment", N_("trusted party with access to the rows")),
    "access": ("deployment", N_("security and access control")),
    "collection": ("deployment", N_("exposure by data collection")),
}
"""The questions of the checklist by their stable id, each with its component."""
_ORGANISATION = {
    "side-channels": N_(
        "Run time and errors about values outside the schema are not protected by noise: who can observe them?"
    ),
    "access": N_("Who can read the rows, and how are they stored?"),
    "collection": N_("Who else has the data, and since when?"),
}
"""The questions that only the organisation can answer."""
_NO_GUARANTEE, _NOT_STATED = N_("The model has no guarantee."), N_("Not stated.")


def _checklist(report: Report) -> Section:
    answers = {**_of_guarantee(report), **_of_card_and_form(report)}
    rows = tuple(
        (
            Cell(_(_COMPONENTS[component]), component),
            Cell(_(question), key),
            *_answered(key, *answers.get(key, ("", ""))),
        )
        for key, (component, question) in QUESTIONS.items()
    )
    columns = (
        Column("component", _("component")),
        Column("question", _("question")),
        Column("status", _("status")),
        Column("answer", _("answer"), is_text=True),
    )
    grid = Grid("checklist", _("Components of the guarantee"), columns, rows, len(rows))
    return section("checklist", (), (grid,), template="statement/checklist")


def _answered(key: str, answer: str, missing: str) -> tuple[Cell, str]:
    """Return the status of a question and its answer; an open question states the missing input."""
    status: Answered = "organisation" if key in _ORGANISATION else "stated" if answer else "open"
    text = answer or _(missing or _ORGANISATION.get(key, _NOT_STATED))
    return Cell(_(_ANSWERED[status]), status), shortened(text)


def _of_guarantee(report: Report) -> dict[str, tuple[str, str]]:
    """Return the answers about the guarantee, and the missing inputs; a model without a guarantee leaves them open."""
    card, form, bound, record = report.subject.card, report.subject.form, report.subject.bound, report.releases
    total = ""
    if record is not None:
        total = ngettext("{count} release on record", "{count} releases on record", len(record.releases))
    composition = {"composition": (total, N_("No record of releases was given."))}
    if bound is None:
        return composition | dict.fromkeys(("loss", "unit", "rows-per-person", "neighbours"), ("", _NO_GUARANTEE))
    unit = _("one row") if card.unit is None else _("all rows of one {unit}", unit=noun(card.unit))
    most = "" if form.rows_per_unit is None else _("at most {some}", some=form.rows_per_unit)
    return composition | {
        "loss": (f"ε = {local_amount(bound[0])}, δ = {local_amount(bound[1])}", ""),
        "unit": ("; ".join(filter(None, (unit, form.unit))), ""),
        "rows-per-person": (most, _NOT_STATED),
        "neighbours": (card.neighbours, ""),
    }


def _of_card_and_form(report: Report) -> dict[str, tuple[str, str]]:
    """Return the answers about mechanisms, their use and their deployment, and the missing inputs."""
    card, form, sections = report.subject.card, report.subject.form, report.public.sections
    charges = card.charges if card.is_private else ()  # without a guarantee, the list is a function of the rows
    measured = [
        part.answer for part in sections if part.key in _UTILITY and any(fact.value is not None for fact in part.facts)
    ]
    by_group = any(grid.key == "by_group" for part in sections for grid in part.grids)
    is_own = card.is_private and card.software.code == "hedgerow"
    utility = measured[-1] if measured and card.is_private else ""
    return {
        "mechanisms": ("; ".join(dict.fromkeys(map(mechanism_words, charges))), _NO_GUARANTEE),
        "utility": (utility, N_("No evaluation with a guarantee was given.")),
        "bias": (_("Released by group.") if by_group else "", N_("Not released by group.")),
        "tuning": (form.tuning, _NOT_STATED),
        "preprocessing": (form.preprocessing, _NOT_STATED),
        "floating-point": (_(_ARITHMETIC) if is_own else "", _NO_GUARANTEE),
        "randomness": (card.noise.words if card.is_private else "", _NO_GUARANTEE),
        "query-model": (_("One release: recipients have the file, or its predictions."), ""),
        "trust": (form.curator, _NOT_STATED),
    }


_UTILITY = ("accuracy", "evaluation")
_ARITHMETIC = N_("The documentation of hedgerow (mathematics.md) explains how rounding is accounted for.")
