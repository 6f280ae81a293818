"""Reports: a public sheet of what was released, and one for the board with exact functions of the rows, never mixed."""

import csv
import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any, Self

import hedgerow.report.accuracy as accuracy
import hedgerow.report.card_checks as card_checks
import hedgerow.report.disclosure as disclosure
import hedgerow.report.ensembles as ensembles
import hedgerow.report.leaves as leaves
import hedgerow.report.promises as promises
import hedgerow.report.residuals as residuals
import hedgerow.report.units as units
from hedgerow.audit import AttackRecord, AttackResult, LabelledRows, LeafRisk, Reconstruction
from hedgerow.audit.attack_record import MARK
from hedgerow.audit.inference.overfitting import Overfit
from hedgerow.audit.readers.columns import Features
from hedgerow.boundary.arguments import check_choice, check_flag
from hedgerow.boundary.durable import reserved
from hedgerow.errors import ArgumentError, ArgumentTypeError, FileError
from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.evaluation.measures import Estimate
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.card import SOFTWARE
from hedgerow.report.appetite import DEFAULT, Appetite
from hedgerow.report.attack_binding import Attached, attached, check_held_out
from hedgerow.report.attacks import attack_checks, attack_section, attack_tags, exposure
from hedgerow.report.checks import BOARD_ONLY, MEMBERSHIP_CHECKS, Check, completed
from hedgerow.report.comparisons import Pair
from hedgerow.report.contents import Cell, Column, Grid, Section, Sheet, SheetLine, json_text, page, section, text_of
from hedgerow.report.files import FileDigest
from hedgerow.report.form import Form
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject, check_optional
from hedgerow.schema.schema import Schema
from hedgerow.text.language import LANGUAGES, Language, in_language
from hedgerow.text.values import escape_formula

_ENDINGS = (".html", ".json")


@dataclass(frozen=True, repr=False, eq=False)
class Sheets:
    """A public sheet and, or None, one for the board, which is **private**: shown, and written beside one another."""

    public: Sheet
    board: Sheet | None

    def to_html(self, *, private: bool = False) -> str:
        """Return a sheet as a page that needs nothing else: the public one, or that for the board, else ValueError."""
        return page(self.sheet(private=private))

    def to_json(self, *, private: bool = False) -> str:
        """Return a sheet as JSON: the public one, or that for the board; raises as `to_html` does."""
        return json_text(self.sheet(private=private).to_dict())

    @property
    def language(self) -> Language:
        """The language of the sheets."""
        return self.public.language

    @property
    def deciding(self) -> Sheet:
        """The sheet by which to decide: the public one of models with a guarantee, else the board's."""
        return self.public if self.public.decides or self.board is None else self.board

    def sheet(self, *, private: bool = False) -> Sheet:
        """Return a sheet: the public one, or that for the board; ValueError if there is none for the board."""
        check_flag("private", private)
        if not private:
            return self.public
        if self.board is None:
            raise ArgumentError("expected a report with a sheet for the board, got one without; pass train=(X, y).")
        return self.board

    def save(self, path: str | PathLike[str], *, force: bool = False) -> tuple[Path, ...]:
        """Write the public sheet, and that for the board beside it, named PRIVATE; return the files that were written.

        The name's ending, .html or .json, says in which form. Beside the sheet of a model of more than 10 leaves is a
        CSV file with all of them, ``report.leaves.csv`` or ``report.PRIVATE.leaves.csv``. Nothing is replaced without
        `force`.

        Raises
        ------
        ValueError
            If the name ends otherwise, or says PRIVATE.
        OSError
            If a file exists and `force` is False, or cannot be written.
        """
        public = Path(path)
        if public.suffix.lower() not in _ENDINGS:
            raise ArgumentError(f"{public}: expected a name that ends in {' or '.join(_ENDINGS)}.")
        if MARK in public.name:
            raise ArgumentError(f"{public}: expected the name of the public sheet, got one that says {MARK}.")
        render = self.to_json if public.suffix.lower() == ".json" else self.to_html
        files = {public: render()}
        files |= {} if self.board is None else {private_name(public): render(private=True)}
        for sheet, place in zip((self.public, self.board), tuple(files), strict=False):
            if sheet is not None and sheet.leaves is not None:
                files[leaves_name(place)] = _csv(sheet.leaves)
        for place in files:
            if os.path.lexists(place) and not force:  # all are checked before one is written
                raise FileError.of(errno.EEXIST, "File exists; give force=True to replace it", str(place))
        for place, text in files.items():
            with reserved(place, force=force) as write:
                write(text)
        return tuple(files)


@dataclass(frozen=True, repr=False, eq=False)
class Report(Sheets):
    """A report on a model for a review board: the public sheet, and, **private**, the one for the board.

    The public sheet is made of the released file and evaluation, the record of releases and the form alone; of a model
    without a guarantee it leaves out what the model stores. The board's sheet has exact functions of the rows.

    `board` is None for a private model whose rows are not given.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema)
    >>> report = hr.Report.of(clf.fit(data.frame, data.labels))
    >>> report.board is None, report.public.status  # no row, no form
    (True, 'not_run')
    """

    subject: Subject
    releases: Releases | None = None
    attacks: tuple[AttackRecord, ...] = ()

    @classmethod
    def of(
        cls,
        model: Any,
        *,
        form: Form | None = None,
        releases: Releases | None = None,
        train: Pair | None = None,
        test: Pair | None = None,
        attacks: AttackResult | AttackRecord | Sequence[AttackResult | AttackRecord] | None = None,
        evaluation: Evaluation | None = None,
        by: Sequence[str] | None = None,
        schema: Schema | None = None,
        features: Features | None = None,
        appetite: Appetite | None = None,
        costs: Costs | None = None,
        class_weight: ClassWeight | None = None,
        files: tuple[FileDigest, ...] = (),
        on: date | None = None,
        language: Language = "en",
    ) -> Self:
        """Make the report of a model.

        Parameters
        ----------
        model : Model, fitted estimator, or any model that `hedgerow.audit.reconstruction` reads
            The model.
        form : Form, optional
            What people state.
        releases : Releases, optional
            The record of all releases of the table.
        train, test : tuple of (X, y), optional
            The training rows, and held-out rows of the same kind, for the board's sheet.
        attacks : result of an attack, AttackRecord, or sequence of them, optional
            What attacks on the learner reached, for the board's sheet: results of `hedgerow.audit.membership`, `lira`,
            `exact_membership` (by group, too), `exact_inference`, `one_run_epsilon` and `empirical_epsilon`, or records
            of them (`hedgerow.audit.AttackRecord.load`).
        evaluation : Evaluation, optional
            What `hedgerow.evaluate` released about the model, for the public sheet.
        by : sequence of str, optional
            Columns whose groups are compared. Default: the sensitive attributes of the form.
        schema, features : optional
            For models of other libraries: as `hedgerow.audit.reconstruction` takes them.
        appetite : Appetite, optional
            The thresholds of the checks. Default: those of `Appetite`.
        costs, class_weight : mapping, optional
            What errors cost, as `Model.decide` takes it, for a model of classes that was learned by costs: its expected
            cost is then reported. Default: those of the estimator; a model's file has none.
        files : tuple of FileDigest, optional
            The digests of the files that the arguments were read from, by `hedgerow.report.file_digests`.
        on : date, optional
            The date of the report. Default: today, in UTC.
        language : {"en", "de", "fr"}, default="en"
            The language of the text. Keys, statuses and values do not depend on it.

        Raises
        ------
        ValueError
            If rows do not fit the model, all held-out rows are training rows, an attack is on another learner, for
            another ε or on other rows, or an argument is out of range.
        TypeError
            If the model is none that can be read, or an argument has another type.
        """
        check_optional(releases, Releases, "a record of releases (report.Releases)", "releases")
        check_optional(on, date, "a date", "on")
        check_choice("language", language, LANGUAGES)
        for name, rows, pair in (("train", "training", train), ("test", "held-out", test)):
            if pair is not None and not len(LabelledRows.of_pair(name, pair)):
                raise ArgumentError(f"expected {rows} rows, got a table without rows; leave it out.")
        check_held_out(train, test)
        subject = Subject(
            model,
            Form() if form is None else form,
            schema=schema,
            features=features,
            appetite=DEFAULT if appetite is None else appetite,
            costs=costs,
            class_weight=class_weight,
            files=files,
        )
        found = attached(attacks, subject, train, test)
        columns = _columns(by, subject.sensitive_attributes)
        made = on or datetime.now(UTC).date()
        examined = _check_evaluation(evaluation, subject)
        has_board = not subject.is_private or train is not None or test is not None or bool(found)
        with in_language(language):
            public = _public(subject, releases, examined, made)
            board = _board(subject, public, releases, train, test, found, columns) if has_board else None
        return cls(public, board, subject, releases, tuple(one.record for one in found))

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """The digests of the files that were given."""
        return self.subject.files

    def __repr__(self) -> str:
        return f"<Report on a {self.subject.kind}; {'public sheet only' if self.board is None else 'two sheets'}>"


def private_name(path: Path) -> Path:
    """Return the name of the private file beside a public one: report.PRIVATE.html beside report.html."""
    return path.with_name(f"{path.stem}.{MARK}{path.suffix}")


def leaves_name(path: Path) -> Path:
    return path.with_name(f"{path.stem}.leaves.csv")


def _csv(grid: Grid) -> str:
    """Return a table as CSV, in which no text looks like a formula."""
    names = [column.name for column in grid.columns]
    csv.writer(text := StringIO(), lineterminator="\n").writerows(
        [escape_formula(cell if isinstance(cell, (int, float)) else text_of(cell)) for cell in row]
        for row in (names, *grid.rows)
    )
    return text.getvalue()


def _public(subject: Subject, releases: Releases | None, evaluation: Evaluation | None, made: date) -> Sheet:
    about_model = [section("model", template="stored")]
    found = [*card_checks.card_checks(subject, "public", releases, evaluation)]
    risk, guessed = None, "hidden"
    if subject.is_private:
        risk, guessed = subject.leaves(), disclosure.reconstructed(subject)
        performance = accuracy.released_accuracy if subject.number is None else residuals.released_error
        measured = performance(subject)
        about_model = [
            disclosure.model(subject),
            measured if evaluation is None else replace(measured, measure=""),
            leaves.leaves(subject, risk),
            disclosure.reconstruction_section(subject, guessed),
        ]
        found += leaves.leaf_checks(subject, risk)
    sections = (
        promises.identity(subject, "public"),
        promises.stated(subject, "public"),
        promises.guarantee(subject),
        promises.unprotected(subject, "public"),
        promises.charges(subject, "public"),
        promises.earlier(subject, releases),
        *((promises.noise(subject),) if subject.card.charges else ()),
        *about_model,
        *_evaluated(evaluation),
        disclosure.membership(subject),
        *((promises.decision("public"),) if subject.is_private else ()),
    )
    tags = subject.tags | _given(releases=releases) | _counted(risk, guessed)
    checks = completed(found, "public", tags | {"contents" if subject.is_private else "hidden"})
    decides, appetite = subject.is_private, subject.appetite
    return Sheet("public", subject.title, made, SOFTWARE.words, checks, sections, decides, appetite)


def _board(
    subject: Subject,
    public: Sheet,
    releases: Releases | None,
    train: Pair | None,
    test: Pair | None,
    attacks: Sequence[Attached],
    by: Sequence[str],
) -> Sheet:
    separated, compared = disclosure.separation(subject, train, test), disclosure.compared_rows(subject, train)
    are_others = compared is not None and compared.is_mismatch
    about_leaves, leaf_checks, guessed, counted = _of_leaves(subject, train, are_others=are_others)
    measured = accuracy.measured if subject.number is None else residuals.measured
    performance, reached = measured(subject, train, test, by)
    sections = (
        promises.identity(subject, "board", public),
        promises.guarantee(subject),
        *((promises.unprotected(subject, "board"),) if promises.is_of_rows(subject) else ()),
        *(() if subject.is_private else (promises.charges(subject, "board"),)),
        disclosure.model(subject),
        about_leaves,
        performance,
        disclosure.membership(subject, separated, is_public=False),
        attack_section(subject, attacks),
        *exposure(subject, attacks, train, by),
        disclosure.reconstruction_section(subject, guessed),
        *disclosure.groups(guessed, by if train is not None and not are_others else ()),
        promises.stated(subject, "board"),
        promises.decision("board"),
    )
    of_rows = (
        *(card_checks.delta(subject, len(train[0])) if train is not None else ()),
        *leaf_checks,
        *disclosure.row_checks(subject, train, compared),
        *units.row_unit_checks(subject, train),
        *disclosure.reconstruction_checks(subject, guessed),
        *reached,
        *disclosure.separation_checks(subject, separated),
        *attack_checks(subject, attacks),
    )
    tags = subject.tags | _given(releases, train, test, attacks, separated, by) | counted | {"contents"}
    tags |= _inferred(of_rows)
    if subject.is_private:
        checks = (*public.checks, *_informative(of_rows, tags))
    else:
        checks = completed([*card_checks.card_checks(subject, "board", releases), *of_rows], "board", tags)
    decides, appetite = not subject.is_private, subject.appetite
    return Sheet("board", subject.title, public.date, SOFTWARE.words, checks, sections, decides, appetite)


def _informative(of_rows: Sequence[Check], tags: set[str]) -> Iterator[Check]:
    """Yield the checks of rows of a model with a guarantee, by which nobody may decide."""
    for one in completed(of_rows, "board", tags):
        if one in of_rows or one.key in BOARD_ONLY:
            yield replace(one, informative=True)


def _of_leaves(
    subject: Subject, train: Pair | None, *, are_others: bool
) -> tuple[Section, tuple[Check, ...], Reconstruction | str, set[str]]:
    """Return the section on leaves, the checks of leaves, the reconstruction, and which numbers of rows are known.

    The reconstruction of other rows than the training rows would say nothing: it is that of the stored counts.
    """
    data = None if train is None or are_others else train[0]
    if subject.is_ensemble or subject.is_opaque:
        examined = ensembles.examined(subject, train)
        guessed = ensembles.reconstructed(subject, examined, data)
        tags = ensembles.tags(examined) | _counted(None, guessed)
        return ensembles.leaves(subject, examined), tuple(ensembles.checks(subject, examined)), guessed, tags
    risk, guessed = subject.leaves(train), disclosure.reconstructed(subject, data)
    is_shown = train is not None or not subject.is_private
    checks = tuple(leaves.leaf_checks(subject, risk)) if is_shown else ()
    return leaves.leaves(subject, risk), checks, guessed, _counted(risk, guessed)


def _given(
    releases: Releases | None = None,
    train: Pair | None = None,
    test: Pair | None = None,
    attacks: Sequence[Attached] = (),
    separated: Overfit | None = None,
    by: Sequence[str] = (),
) -> set[str]:
    """Return what was given, as checks name what they need."""
    given = {
        "record": releases is not None,
        "rows": train is not None,
        "labelled": train is not None or test is not None,
        "both": separated is not None,
        "groups": bool(by),
    }
    return {name for name, holds in given.items() if holds} | attack_tags(attacks)


def _inferred(checks: Iterable[Check]) -> set[str]:
    """Return "attack" if a membership inference showed or excluded success: one with too few rows examined nothing."""
    return {"attack" for one in checks if one.key in MEMBERSHIP_CHECKS and one.status != "not_run"}


def _counted(risk: LeafRisk | None, guessed: Reconstruction | str) -> set[str]:
    """Return which numbers of rows are known, as checks name what they need."""
    known = {
        "counts": risk is not None,
        "class-counts": risk is not None and risk.counts is not None,
        "possible-rows": not isinstance(guessed, str),
    }
    return {name for name, holds in known.items() if holds}


def _columns(by: Sequence[str] | None, sensitive: Sequence[str]) -> tuple[str, ...]:
    if by is None:
        return tuple(sensitive)
    if isinstance(by, str) or not all(isinstance(name, str) for name in by):
        raise ArgumentTypeError("expected a sequence of names of columns as by, got something else.")
    return tuple(dict.fromkeys(by))


def _check_evaluation(given: Evaluation | None, subject: Subject) -> Evaluation | None:
    """Check that an evaluation, if any, is of the model that the report is about, and may be shown to all."""
    check_optional(given, Evaluation, "an Evaluation", "evaluation")
    if given is None:
        return None
    if subject.released is None or subject.released.to_dict()["digest"] != given.model:
        raise ArgumentError("expected an evaluation of this model, got one of another model.")
    if not given.privacy.is_private:
        got = given.privacy.headline
        raise ArgumentError(f"expected an evaluation with a guarantee for the public sheet, got one with {got}.")
    return given


def _evaluated(found: Evaluation | None) -> tuple[Section, ...]:
    if found is None:
        return ()
    about, (low, high) = found.rows()
    facts = [SheetLine("rows", "rows", f"about {about:,} ({low:,} to {high:,})", about, (low, high))]
    facts += [_measure_line(estimate) for estimate in found.estimates]
    facts += [
        SheetLine("guarantee", "guarantee", found.privacy.headline),
        SheetLine("scale", "scale of the noise on each count, in rows", amount_text(found.scale), float(found.scale)),
    ]
    grids = []
    if found.by is not None:
        measures = (Column(one.key, one.name) for one in found.estimates)
        columns = (Column("group", found.by, is_text=True), Column("rows", "rows"), *measures)
        rows = [(name, found.rows(name)[0], *map(_measure_cell, ones)) for name, ones in found.by_group.items()]
        grids = [Grid("by_group", f"By {found.by}", columns, tuple(rows))]
    sentences = [found.sentences[0], *found.sentences[len(found.estimates) :]]  # others are facts beside them
    return (section("evaluation", facts, grids, sentences=sentences),)


def _measure_line(estimate: Estimate) -> SheetLine:
    """Return a measure with its intervals, and the same measure of the best constant prediction."""
    constant = "" if estimate.constant is None else f"; best constant {estimate.constant.value_text}"
    return SheetLine(estimate.key, estimate.name, f"{estimate}{constant}", *_measured(estimate))


def _measure_cell(estimate: Estimate) -> Cell:
    return Cell(str(estimate), *_measured(estimate))


def _measured(estimate: Estimate) -> tuple[float | None, tuple[float, float] | None]:
    """Return the value of an estimate with its interval for the rows that were counted; None if it is too noisy."""
    return (estimate.value, estimate.on_rows) if estimate.says_something else (None, None)


_COMPARED = ("guarantee", "length", "accuracy", "evaluation", "leaves", "membership", "attacks", "reconstruction")
"""The keys of the sections that are compared; the length is of comparisons alone."""
_MOST, _LONGEST_NAME = 6, 40  # models on a page, and characters of what one is called


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Sheets):
    """What the reports on several candidates say, side by side: a public sheet, and, **private**, one for the board.

    The public sheet is made of the public sheets of the reports alone, the board's of those for the board; there is one
    if all reports have one. Each column is a model, each line a fact that one report or more states. A fact that a
    report does not state is left blank.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.report import Comparison
    >>> data = hr.datasets.load("breast_cancer")
    >>> tree = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema).fit(data.frame, data.labels)
    >>> card = hr.PrivateScorecardClassifier(epsilon=1, schema=data.schema).fit(data.frame, data.labels)
    >>> found = Comparison.of({"tree": hr.Report.of(tree), "scorecard": hr.Report.of(card)})
    >>> [column.name for column in found.public.section("guarantee").grids[0].columns]
    ['', 'tree', 'scorecard']
    """

    @classmethod
    def of(cls, reports: Mapping[str, Report]) -> "Comparison":
        """Compare the reports on two to six models that predict the same, by what each model is to be called.

        Raises
        ------
        TypeError
            If `reports` is no mapping of names to reports.
        ValueError
            If they are fewer or more, a name is empty or longer than 40 characters, or the models predict other things.
        """
        if not isinstance(reports, Mapping) or not all(isinstance(one, Report) for one in reports.values()):
            raise ArgumentTypeError(f"expected a mapping of names to reports, got {type(reports).__name__}.")
        if not 2 <= len(reports) <= _MOST:
            raise ArgumentError(f"expected from 2 to {_MOST} models to compare, got {len(reports)}.")
        if not all(isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME for name in reports):
            raise ArgumentError(f"expected a name of 1 to {_LONGEST_NAME} characters for each model, got another.")
        schemas = (one.subject.schema for one in reports.values())
        if len({None if schema is None else schema.label for schema in schemas}) > 1:
            raise ArgumentError("expected models that predict the same column, got some with other labels or classes.")
        if len({one.language for one in reports.values()}) > 1:
            raise ArgumentError("expected reports in one language, got reports in several.")
        boards = {name: one.board for name, one in reports.items() if one.board is not None}
        language = next(iter(reports.values())).language
        with in_language(language):
            lengths = {name: _length(one.subject) for name, one in reports.items()}
            public = {name: one if reports[name].subject.is_private else () for name, one in lengths.items()}
            board = _sheet(boards, lengths) if len(boards) == len(reports) else None
            return cls(_sheet({name: one.public for name, one in reports.items()}, public), board)

    def __repr__(self) -> str:
        return f"<Comparison of {self.public.title}; {'public sheet only' if self.board is None else 'two sheets'}>"


def _compared(names: Iterable[str]) -> tuple[Column, ...]:
    """Return the columns of a comparison: the lines, and each model."""
    return (Column("line", ""), *(Column(f"model_{i}", name) for i, name in enumerate(names, 1)))


def _length(subject: Subject) -> tuple[SheetLine, ...]:
    sizes: dict[tuple[str, str], int | None] = {}
    if subject.released is not None:
        sizes["attributes", "attributes that it uses"] = len(subject.released.used_attributes)
    if subject.paths is not None:
        sizes["leaves", "leaves"] = len(subject.paths)
        sizes["longest_path", "conditions of the longest path"] = max(len(path) for path in subject.paths.paths)
    elif subject.released is not None:
        sizes["largest_points", "largest points"] = subject.released.sizes.get("points")
    lines = (SheetLine(*names, "" if size is None else f"{size:,}", size) for names, size in sizes.items())
    return (SheetLine("kind", "kind of model", subject.kind), *lines)


def _sheet(sheets: Mapping[str, Sheet], lengths: Mapping[str, tuple[SheetLine, ...]]) -> Sheet:
    names, first = tuple(sheets), next(iter(sheets.values()))
    sections = [_length_section(lengths) if key == "length" else _side_by_side(key, sheets) for key in _COMPARED]
    kept = tuple(one for one in sections if one is not None)
    whose = dict[Check, str]()  # all checks of all sheets: those of the record and the form, too
    for one, name in ((one, name) for name, sheet in sheets.items() for one in sheet.checks):
        whose[one] = f"{whose[one]}, {name}" if one in whose else name
    checks = tuple(replace(one, model=name, sentence=f"{name}: {one.sentence}") for one, name in whose.items())
    of_all = all if first.kind == "public" else any  # the board's sheet decides as soon as one has no guarantee
    decides = of_all(sheet.decides for sheet in sheets.values())
    return replace(first, title=" beside ".join(names), checks=checks, sections=kept, decides=decides)


def _side_by_side(key: str, sheets: Mapping[str, Sheet]) -> Section | None:
    found = {name: one for name, sheet in sheets.items() for one in sheet.sections if one.key == key}
    if not found:
        return None
    short = (Cell("in short", "answer"), *(Cell(found[name].answer if name in found else "") for name in sheets))
    rows = (short, *_lines({name: found[name].facts if name in found else () for name in sheets}))
    grid = Grid("side_by_side", "Side by side", _compared(sheets), rows, shown=len(rows))
    return section(key, (), (grid,), template="compared", asked=next(iter(found.values())).question)


def _lines(facts: Mapping[str, Sequence[SheetLine]]) -> Iterator[tuple[Cell, ...]]:
    """Yield a line of a comparison for each fact: its name, and what is stated of each model."""
    by_key = [{fact.key: fact for fact in one} for one in facts.values()]
    for key, name in {fact.key: fact.name for one in facts.values() for fact in one}.items():
        same = [one.get(key) for one in by_key]
        cells = (Cell("") if fact is None else Cell(fact.text, fact.value, fact.interval) for fact in same)
        yield (Cell(name, key), *cells)


def _length_section(lengths: Mapping[str, tuple[SheetLine, ...]]) -> Section:
    rows = tuple(_lines(lengths))
    grids = (Grid("side_by_side", "Side by side", _compared(lengths), rows),) if rows else ()
    return section("length", (), grids, template="compared", asked="How much is there to read?")
