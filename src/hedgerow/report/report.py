"""Reports: a public sheet of released values, and a separate board's sheet with exact functions of the rows."""

import csv
import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any, Self

import hedgerow.report.accuracy as accuracy
import hedgerow.report.bins as bins
import hedgerow.report.card_checks as card_checks
import hedgerow.report.disclosure as disclosure
import hedgerow.report.ensembles as ensembles
import hedgerow.report.evaluated as evaluated
import hedgerow.report.leaves as leaves
import hedgerow.report.promises as promises
import hedgerow.report.residuals as residuals
import hedgerow.report.units as units
from hedgerow.audit import AttackRecord, AttackResult, LabelledRows, LeafRisk, Reconstruction
from hedgerow.audit.inference.overfitting import Overfit
from hedgerow.audit.readers.columns import Features
from hedgerow.boundary.arguments import check_choice, check_flag
from hedgerow.boundary.durable import MARK, reserved
from hedgerow.errors import ArgumentError, ArgumentTypeError, FileError
from hedgerow.evaluation.evaluation import Evaluation
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.privacy.card import SOFTWARE
from hedgerow.report.appetite import DEFAULT, Appetite
from hedgerow.report.attack_binding import Attached, attached, check_held_out
from hedgerow.report.attacks import attack_checks, attack_section, attack_tags, exposure
from hedgerow.report.checks import BOARD_ONLY, MEMBERSHIP_CHECKS, Check, completed
from hedgerow.report.comparisons import Pair
from hedgerow.report.contents import Grid, Section, Sheet, json_text, page, section, text_of
from hedgerow.report.files import FileDigest
from hedgerow.report.form import Form
from hedgerow.report.releases import Releases
from hedgerow.report.subject import Subject, check_optional
from hedgerow.schema.schema import Schema
from hedgerow.text.language import LANGUAGES, Language, in_language
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import escape_formula

_ENDINGS = (".html", ".json")


@dataclass(frozen=True, repr=False, eq=False)
class Sheets:
    """A public sheet and, if there is one, a board's sheet, which is **private**."""

    public: Sheet
    board: Sheet | None

    def to_html(self, *, private: bool = False) -> str:
        """Return the public sheet or the board's sheet as a self-contained page, with the errors of `sheet`."""
        return page(self.sheet(private=private))

    def to_json(self, *, private: bool = False) -> str:
        """Return the public sheet or the board's sheet as JSON, with the errors of `sheet`."""
        return json_text(self.sheet(private=private).to_dict())

    @property
    def language(self) -> Language:
        """The language of the sheets."""
        return self.public.language

    @property
    def deciding(self) -> Sheet:
        """The sheet by which to decide: the public sheet for models with a guarantee, else the board's sheet."""
        return self.public if self.public.decides or self.board is None else self.board

    def sheet(self, *, private: bool = False) -> Sheet:
        """Return the public sheet, or the board's sheet if `private` is True; ValueError if the report has none."""
        check_flag("private", private)
        if not private:
            return self.public
        if self.board is None:
            raise ArgumentError("This report has no board's sheet; pass train=(X, y) to Report.of.")
        return self.board

    def save(self, path: str | PathLike[str], *, force: bool = False) -> tuple[Path, ...]:
        """Write the public sheet and, next to it, the board's sheet with PRIVATE in its name; return the paths.

        The extension of the name, .html or .json, sets the format. For a model with more than 10 leaves, a CSV file
        lists all leaves: ``report.leaves.csv`` or ``report.PRIVATE.leaves.csv``. Existing files are replaced only if
        `force` is True.

        Raises
        ------
        ValueError
            If the name has another extension, or contains PRIVATE.
        OSError
            If a file exists and `force` is False, or cannot be written.
        """
        public = Path(path)
        if public.suffix.lower() not in _ENDINGS:
            raise ArgumentError(f"{public}: the name of a report must end in {' or '.join(_ENDINGS)}.")
        if MARK in public.name:
            raise ArgumentError(f"{public}: the name of the public sheet must not contain {MARK}.")
        render = self.to_json if public.suffix.lower() == ".json" else self.to_html
        files = {public: render()}
        files |= {} if self.board is None else {private_name(public): render(private=True)}
        for sheet, place in zip((self.public, self.board), tuple(files), strict=False):
            if sheet is not None and sheet.leaves is not None:
                files[leaves_name(place)] = _csv(sheet.leaves)
        for place in files:
            if os.path.lexists(place) and not force:  # check all files first, so that a failure writes none
                raise FileError.of(errno.EEXIST, "File exists; give force=True to replace it", str(place))
        for place, text in files.items():
            with reserved(place, force=force) as write:
                write(text)
        return tuple(files)


@dataclass(frozen=True, repr=False, eq=False)
class Report(Sheets):
    """A report on a model for a review board: a public sheet, and a board's sheet, which is **private**.

    The public sheet is made only from the released model and evaluation, the record of releases and the form. For a
    model without a guarantee it leaves out everything that the model stores. The board's sheet has exact functions of
    the rows; `board` is None for a model with a guarantee if no rows and no attacks are given.

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
        """Return the report on a model.

        Parameters
        ----------
        model : Model, fitted estimator, or any model that `hedgerow.audit.reconstruction` reads
            The model.
        form : Form, optional
            The statements of the people responsible for the model and its table.
        releases : Releases, optional
            The record of all releases of the table.
        train, test : tuple of (X, y), optional
            The training rows, and held-out rows of the same kind, for the board's sheet.
        attacks : result of an attack, AttackRecord, or sequence of them, optional
            Results of attacks on the learner, for the board's sheet: of `hedgerow.audit.membership`, `lira`,
            `exact_membership` (by group, too), `exact_inference`, `one_run_epsilon` and `empirical_epsilon`, or their
            records (`hedgerow.audit.AttackRecord.load`).
        evaluation : Evaluation, optional
            The evaluation of the model that `hedgerow.evaluate` released, for the public sheet.
        by : sequence of str, optional
            Columns whose groups are compared. Default: the sensitive attributes of the form.
        schema, features : optional
            For models of other libraries, as in `hedgerow.audit.reconstruction`.
        appetite : Appetite, optional
            The thresholds of the checks. Default: ``Appetite()``.
        costs, class_weight : mapping, optional
            The costs of errors, as in `Model.decide`, for a classifier that was learned with costs; the report then
            states its expected cost. Default: the costs of the estimator, which are not in a model's file.
        files : tuple of FileDigest, optional
            The digests of the files that the arguments were read from, by `hedgerow.report.file_digests`.
        on : date, optional
            The date of the report. Default: today, in UTC.
        language : {"en", "de", "fr"}, default="en"
            The language of the sheets' text. Ids, codes, statuses and values do not depend on it.

        Raises
        ------
        ValueError
            If the rows do not fit the model, all held-out rows are training rows, an attack is on another learner, for
            another ε or on other rows, or an argument is out of range.
        TypeError
            If the model cannot be read, or an argument has another type.
        """
        check_optional(releases, Releases, "a record of releases (report.Releases)", "releases")
        check_optional(on, date, "a date", "on")
        check_choice("language", language, LANGUAGES)
        for name, rows, pair in (("train", "training", train), ("test", "held-out", test)):
            if pair is not None and not len(LabelledRows.of_pair(name, pair)):
                raise ArgumentError(f"{name} is a table without rows; pass {rows} rows, or leave it out.")
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
        attached_attacks = attached(attacks, subject, train, test)
        columns = _columns(by, subject.sensitive_attributes)
        day = on or datetime.now(UTC).date()
        with in_language(language):
            public = _public(subject, releases, _check_evaluation(evaluation, subject), day)
            if subject.is_private and train is None and test is None and not attached_attacks:
                return cls(public, None, subject, releases)
            board = _board(subject, public, releases, train, test, attached_attacks, columns)
        return cls(public, board, subject, releases, tuple(attack.record for attack in attached_attacks))

    @property
    def files(self) -> tuple[FileDigest, ...]:
        """The digests of the given files."""
        return self.subject.files

    def __repr__(self) -> str:
        return f"<Report on a {self.subject.kind}: {'public sheet only' if self.board is None else 'two sheets'}>"


def private_name(path: Path) -> Path:
    """Return the name of the private file that belongs to a public file: report.PRIVATE.html for report.html."""
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


def _public(subject: Subject, releases: Releases | None, evaluation: Evaluation | None, day: date) -> Sheet:
    about_model = [section("model", template="stored")]
    checks = [*card_checks.card_checks(subject, "public", releases, evaluation)]
    risk, guessed = None, "hidden"
    if subject.is_private:
        risk, guessed = subject.leaves(), disclosure.reconstructed(subject)
        performance = accuracy.released_accuracy if subject.number is None else residuals.released_error
        measured = performance(subject)
        about_model = [
            disclosure.model(subject),
            measured if evaluation is None else replace(measured, measure=""),
            leaves.leaves(subject, risk) if subject.has_leaves else bins.bins(subject, None),
            disclosure.reconstruction_section(subject, guessed),
        ]
        checks += [*leaves.leaf_checks(subject, risk), *bins.bin_checks(subject, None)]
    sections = (
        promises.identity(subject, "public"),
        promises.stated(subject, "public"),
        promises.guarantee(subject),
        promises.unprotected(subject, "public"),
        promises.charges(subject, "public"),
        promises.earlier(subject, releases),
        *((promises.noise(subject),) if subject.card.charges else ()),
        *about_model,
        *evaluated.evaluated(evaluation),
        disclosure.membership(subject),
        *((promises.decision("public"),) if subject.is_private else ()),
    )
    tags = subject.tags | _given(releases=releases) | _counted(risk, guessed)
    tags |= {"contents", *_bin_counts(subject, None)} if subject.is_private else {"hidden"}
    tags |= {"own-thresholds"} if promises.has_foreign_thresholds(subject) else set[str]()
    every = completed(checks, "public", tags)
    decides, appetite = subject.is_private, subject.appetite
    return Sheet("public", subject.title, day, SOFTWARE.words, every, sections, decides, appetite)


def _board(
    subject: Subject,
    public: Sheet,
    releases: Releases | None,
    train: Pair | None,
    test: Pair | None,
    attacks: Sequence[Attached],
    by: Sequence[str],
) -> Sheet:
    separated, compared = disclosure.separation(subject, train, test), disclosure.compared_rows(subject, train, test)
    are_others = compared is not None and compared.is_mismatch
    about_leaves, leaf_checks, guessed, counted = _of_leaves(subject, train, are_others=are_others)
    if are_others and train is not None and (grid := disclosure.mismatch(subject, train)) is not None:
        about_leaves = replace(about_leaves, grids=(grid, *about_leaves.grids))
    measured = accuracy.measured if subject.number is None else residuals.measured
    performance, reached = measured(subject, train, test, by)
    are_doubted = are_others and test is not None
    performance = disclosure.in_doubt(performance) if are_doubted else performance
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
        *(card_checks.declared_values(subject, train) if train is not None else ()),
        *leaf_checks,
        *disclosure.row_checks(subject, train, compared),
        *units.row_unit_checks(subject, train),
        *disclosure.reconstruction_checks(subject, guessed),
        *reached,
        *disclosure.separation_checks(subject, separated),
        *attack_checks(subject, attacks),
    )
    of_rows = tuple(map(disclosure.doubted, of_rows)) if are_doubted else of_rows
    tags = subject.tags | _given(releases, train, test, attacks, separated, by) | counted | {"contents"}
    tags |= _inferred(of_rows)
    tags |= {"undeclared-columns"} if train is None or units.has_undeclared_columns(subject, train[0]) else set[str]()
    if subject.is_private:
        checks = (*public.checks, *_informative(of_rows, tags))
    else:
        checks = completed([*card_checks.card_checks(subject, "board", releases), *of_rows], "board", tags)
    decides, appetite = not subject.is_private, subject.appetite
    return Sheet("board", subject.title, public.date, SOFTWARE.words, checks, sections, decides, appetite)


def _informative(of_rows: Sequence[Check], tags: set[str]) -> Iterator[Check]:
    """Yield the checks of rows of a model with a guarantee, on which no decision may depend."""
    for check in completed(of_rows, "board", tags):
        if check in of_rows or check.key in BOARD_ONLY:
            yield replace(check, informative=True)


def _of_leaves(
    subject: Subject, train: Pair | None, *, are_others: bool
) -> tuple[Section, tuple[Check, ...], Reconstruction | str, set[str]]:
    """Return the section on leaves, the checks of leaves, the reconstruction, and which numbers of rows are known.

    If the given rows are not the training rows, the reconstruction uses the stored counts instead.
    """
    data = None if train is None or are_others else train[0]
    if subject.is_ensemble or subject.is_opaque:
        examined = ensembles.examined(subject, train)
        guessed = ensembles.reconstructed(subject, examined, data)
        tags = ensembles.tags(examined) | _counted(None, guessed)
        return ensembles.leaves(subject, examined), tuple(ensembles.checks(subject, examined)), guessed, tags
    is_shown = train is not None or not subject.is_private
    if not subject.has_leaves:
        by_bin, guessed = bins.counted_bins(subject, train), disclosure.reconstructed(subject, data)
        checks = tuple(bins.bin_checks(subject, by_bin)) if is_shown else ()
        return bins.bins(subject, by_bin), checks, guessed, _counted(None, guessed) | _bin_counts(subject, train)
    risk, guessed = subject.leaves(train), disclosure.reconstructed(subject, data)
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
    """Return which inputs were passed, as the tags that checks require."""
    given = {
        "record": releases is not None,
        "rows": train is not None,
        "labelled": train is not None or test is not None,
        "both": separated is not None,
        "groups": bool(by),
    }
    return {name for name, holds in given.items() if holds} | attack_tags(attacks)


def _inferred(checks: Iterable[Check]) -> set[str]:
    """Return "attack" if a check showed or excluded membership inference; with too few rows it does neither."""
    return {"attack" for check in checks if check.key in MEMBERSHIP_CHECKS and check.status != "not_run"}


def _counted(risk: LeafRisk | None, guessed: Reconstruction | str) -> set[str]:
    """Return which numbers of rows are known, as the tags that checks require."""
    known = {
        "counts": risk is not None,
        "class-counts": risk is not None and risk.counts is not None,
        "possible-rows": not isinstance(guessed, str),
    }
    return {name for name, holds in known.items() if holds}


def _bin_counts(subject: Subject, train: Pair | None) -> set[str]:
    """Return "bin-counts" if the rows of bins are in the file or can be counted, as the tag that a check requires."""
    return {"bin-counts"} if subject.stores_bins or train is not None else set()


def _columns(by: Sequence[str] | None, sensitive: Sequence[str]) -> tuple[str, ...]:
    if by is None:
        return tuple(sensitive)
    if isinstance(by, str) or not all(isinstance(name, str) for name in by):
        raise ArgumentTypeError(f"by must be a sequence of column names, got {describe_argument(by)}.")
    return tuple(dict.fromkeys(by))


def _check_evaluation(given: Evaluation | None, subject: Subject) -> Evaluation | None:
    """Check that an evaluation, if any, is of the model of the report, and has a guarantee."""
    check_optional(given, Evaluation, "an Evaluation", "evaluation")
    if given is None:
        return None
    if subject.released is None or subject.released.to_dict()["digest"] != given.model:
        raise ArgumentError(
            "The evaluation (evaluation=, --evaluation) is of another model: it names another content digest. Pass the "
            "evaluation that `hedgerow evaluate` released for this model."
        )
    if not given.privacy.is_private:
        headline = given.privacy.headline
        raise ArgumentError(f"The public sheet needs an evaluation with a guarantee; this one has: {headline}.")
    return given
