"""`hedgerow report`: reports on models for a review board."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.audit import AttackRecord
from hedgerow.boundary.durable import MARK
from hedgerow.cli.options import FILE, MODEL, Force, TextOptions, any_model, option, with_groups
from hedgerow.cli.output import check_output, check_outputs, say, stage, write_file
from hedgerow.cli.predictions import class_weights, costs_in
from hedgerow.cli.rows import read_labelled
from hedgerow.errors import ArgumentError, HedgerowError
from hedgerow.evaluation import Evaluation
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.report import (
    Appetite,
    Comparison,
    Form,
    Releases,
    Report,
    Statement,
    acro_results,
    appetite_template,
    crate_zip,
    empty_form,
    file_digests,
    record_json,
    registry_yaml,
)
from hedgerow.report.appetite import DEFAULT
from hedgerow.report.checks import Status
from hedgerow.report.report import leaves_name, private_name
from hedgerow.tables.table_files import PIPE
from hedgerow.text.language import Language

app = typer.Typer(add_completion=False)


def _input(text: str, **settings: Any) -> Any:
    return option(text, rich_help_panel="Inputs", **settings)


def _export(text: str) -> Any:
    return option(text, rich_help_panel="Other output files")


@dataclass(frozen=True)
class Inputs:
    """Inputs of a report in addition to the models."""

    form: Annotated[
        Path | None, _input("Form with statements of the people involved (YAML); create it with --new-form.")
    ] = None
    ledger: Annotated[Path | None, _input("Record of all releases: a budget file or an exported ledger.")] = None
    dataset: Annotated[str | None, _input("Dataset of the model, if the ledger has several.", metavar="NAME")] = None
    head: Annotated[
        str | None, _input("Hash that the budget file must contain; reveals a truncated file.", metavar="HASH")
    ] = None
    data: Annotated[Path | None, _input(f"Training rows, for the board's sheet: {FILE}.")] = None
    test: Annotated[Path | None, _input("Held-out rows in the same format, for the board's sheet.")] = None
    by: Annotated[
        list[str] | None,
        _input("Compare groups of this column. Repeatable.  \\[default: from the form]", metavar="COLUMN"),
    ] = None
    evaluation: Annotated[Path | None, _input("Evaluation released by `hedgerow evaluate`, for the public sheet.")] = (
        None
    )
    attack: Annotated[list[Path] | None, _input("Result of `hedgerow attack`, for the board's sheet. Repeatable.")] = (
        None
    )
    schema: Annotated[Path | None, _input("Schema of the rows; only for a model file of another program.")] = None
    appetite: Annotated[
        Path | None, _input("Risk appetite: thresholds of the checks (YAML); create it with --new-appetite.")
    ] = None
    threshold: Annotated[
        int | None,
        _input(f"Fewest rows that a leaf may have, if there is no --appetite.  \\[default: {DEFAULT.fewest_rows}]"),
    ] = None
    costs: Annotated[
        Path | None, _input("File (YAML or JSON) with a cost for each pair of actual and predicted class.")
    ] = None
    class_weight: Annotated[
        list[str] | None, _input("Cost of errors on a class, such as yes=5. Repeatable.", metavar="LABEL=WEIGHT")
    ] = None

    @property
    def files(self) -> tuple[Path | None, ...]:
        """Input files."""
        named = (self.form, self.appetite, self.ledger, self.data, self.test, self.costs, self.evaluation, self.schema)
        return (*named, *(self.attack or ()))

    def check(self) -> None:
        """Raise an error if options contradict each other or the budget file was truncated."""
        for name, given in (("dataset", self.dataset), ("head", self.head)):
            if given is not None and self.ledger is None:
                raise ArgumentError(f"--{name} requires --ledger.")
        if self.ledger is not None and self.head is not None:
            FileBudget(self.ledger).check_head(self.head)
        _check_rows(self.data, self.test, self.by)

    def report_on(self, model: Path, text: TextOptions, language: Language) -> Report:
        released = any_model(model, self.schema, needed=True)
        return Report.of(
            released,
            form=None if self.form is None else Form.load(self.form),
            releases=None if self.ledger is None else Releases.load(self.ledger, dataset=self.dataset),
            train=read_labelled(self.data, text.text_format, released.schema),
            test=read_labelled(self.test, text.text_format, released.schema),
            attacks=[AttackRecord.load(path) for path in self.attack or ()],
            evaluation=None if self.evaluation is None else Evaluation.load(self.evaluation),
            by=self.by or None,
            appetite=_thresholds(self.appetite, self.threshold),
            costs=None if self.costs is None else costs_in(self.costs, released.schema.classes),
            class_weight=class_weights(released.schema.classes, self.class_weight) if self.class_weight else None,
            files=file_digests(
                model=model,
                training_rows=self.data,
                held_out_rows=self.test,
                ledger=self.ledger,
                evaluation=self.evaluation,
                form=self.form,
                appetite=self.appetite,
                attack=self.attack,
            ),
            language=language,
        )

    def report_to_check(self, model: Path, text: TextOptions, language: Language) -> Report:
        """Return a report whose making does not depend on the rows if its public sheet decides.

        If such a model's rows or attacks cannot be used, the reason is printed, and the report has no board's sheet.
        """
        without_rows = replace(self, data=None, test=None, attack=None, by=None)
        public = without_rows.report_on(model, text, language)
        if not public.public.decides:
            return self.report_on(model, text, language)
        try:
            return self.report_on(model, text, language)
        except (OSError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a panic of polars is not an Exception
            reason = str(error) if isinstance(error, HedgerowError) else type(error).__name__
        say(f"warning: there is no board's sheet: {reason}", err=True)
        return public


@dataclass(frozen=True)
class Exports:
    """Machine-readable files about a report's sheets."""

    acro: Annotated[Path | None, _export("Checks as results.json of ACRO, in the directory of the model.")] = None
    airlock: Annotated[
        Path | None, _export("Record for the output check of an airlock (.json); PRIVATE numbers in a second file.")
    ] = None
    crate: Annotated[Path | None, _export("Public sheet as a Five Safes RO-Crate (.zip).")] = None
    registry: Annotated[Path | None, _export("Entry for the registry of deployments (.yaml).")] = None
    statement: Annotated[
        Path | None, _export("Statement of anonymity by EDPB Opinion 28/2024 (.html, .txt or .json).")
    ] = None

    @property
    def files(self) -> list[Path]:
        """Output files, including those for the board."""
        paths = [self.acro, self.airlock, self.crate, self.registry, self.statement]
        paths += [None if path is None else private_name(path) for path in (self.acro, self.airlock, self.statement)]
        return [path for path in paths if path is not None]

    def contents(self, report: Report, name: str) -> list[tuple[Path, str | bytes]]:
        """Return the output files with their contents."""
        contents: list[tuple[Path, str | bytes]] = []
        if self.acro is not None:
            text = json.dumps(acro_results(report, name), indent=2, ensure_ascii=False) + "\n"
            contents.append((self.acro if report.board is None else private_name(self.acro), text))
        if self.airlock is not None:
            contents.append((self.airlock, record_json(report)))
            if report.board is not None:
                contents.append((private_name(self.airlock), record_json(report, private=True)))
        if self.crate is not None:
            contents.append((self.crate, crate_zip(report)))
        if self.registry is not None:
            contents.append((self.registry, registry_yaml(report)))
        if self.statement is not None:
            contents.append((self.statement, Statement.of(report).content(self.statement)))
            if report.board is not None:
                private = private_name(self.statement)
                contents.append((private, Statement.of(report, private=True).content(private)))
        return contents


@app.command("report")
@with_groups
def report(
    context: typer.Context,
    models: Annotated[
        list[Path] | None, typer.Argument(help=f"{MODEL} Several models are compared side by side.")
    ] = None,
    *,
    output: Annotated[
        Path | None,
        option("Public sheet (.html or .json); the board's sheet gets PRIVATE in its name.", "-o", "--output"),
    ] = None,
    inputs: Inputs,
    exports: Exports,
    text: TextOptions,
    language: Annotated[Language | None, option("Language of the sheets or of the form.  \\[default: en]")] = None,
    new_form: Annotated[Path | None, option("Write an empty form to this file and exit.")] = None,
    new_appetite: Annotated[Path | None, option("Write the default risk appetite to this file and exit.")] = None,
    force: Force = False,
    as_json: Annotated[bool, option("Print the public sheet as JSON.", "--json")] = False,
    check: Annotated[bool, option("Print the record; exit with 0 (pass), 3 (review) or 4 (fail).", "--check")] = False,
) -> None:
    """Write a report on a model for a review board: a public sheet and a board's sheet.

    The public sheet uses only the model, --form, --ledger and --evaluation, and may be published with the model.

    The board's sheet contains exact numbers about the rows and is PRIVATE. It is written with --data, --test or
    --attack, and for every model without a privacy guarantee. Its file name and each section contain the word PRIVATE,
    and so do the names of other files with such numbers.

    With --check the command prints the record of the public sheet, as --airlock writes it. The exit status is the
    decision: 0 if all checks pass, 3 if a person must review checks or essential checks were not run, 4 if a check
    fails. For a model without a privacy guarantee, the status depends on the exact rows. With a guarantee it does not,
    even if rows do not fit the schema: then a warning is printed, and only the public sheet is written.

    Pages contain no scripts and load nothing. If a model has more than ten leaves, all leaves are also written as CSV.

    [bold]Examples[/bold]:

    hedgerow report --new-form form.yaml

    hedgerow report model.json --form form.yaml --ledger budget.json -o report.html

    hedgerow report model.json --form form.yaml --data train.csv --test test.csv -o report.html

    hedgerow report model.json --data train.csv --attack attack.PRIVATE.json -o report.html

    hedgerow report list.json tree.json scorecard.json --data train.csv --test test.csv -o side-by-side.html

    hedgerow report model.json --ledger budget.json --check
    """
    if new_form is not None or new_appetite is not None:
        _write_template(new_form, new_appetite, language, context, force=force)
        return
    models = models or []
    if exports.registry is not None and language not in (None, "en"):
        raise ArgumentError(f"--registry requires a report in English; leave out --language {language}.")
    _check_request(models, output, exports, (inputs.evaluation, *(inputs.attack or ())), as_json=as_json, check=check)
    check_outputs((*_sheets(output), *exports.files), *models, *inputs.files, force=force)
    inputs.check()
    text.check_used("--data or --test", used=(inputs.data, inputs.test) != (None, None))
    with stage("making the report"):
        make = inputs.report_to_check if check else inputs.report_on
        reports = {name: make(path, text, language or "en") for name, path in _names(models).items()}
        first = reports[next(iter(reports))]
        document = first if len(models) == 1 else Comparison.of(reports)
    contents = exports.contents(first, models[0].name)  # before the first file is written, since it may fail
    for path in [] if output is None else document.save(output, force=force):
        say(f"written to {path}", err=True)
    for path, content in contents:
        write_file(path, content)
    if output is not None and not check:
        say(document.deciding.verdict, err=True)
        # The line can be logged, so it must not depend on the rows.
        if document.board is not None and document.deciding is document.public:
            say("The board's sheet compares the model with the rows; read it, too.", err=True)
    if as_json:
        say(document.to_json(), newline=False)
    if check:
        say(record_json(first), newline=False)
        say(first.deciding.verdict, err=True)
        raise typer.Exit(_EXIT[first.deciding.status])


_EXIT: dict[Status, int] = {"pass": 0, "not_applicable": 0, "review": 3, "not_run": 3, "fail": 4}
"""Exit statuses of --check; errors exit with 1 or 2."""


def _names(paths: list[Path]) -> dict[str, Path]:
    """Return the models by the stems of their file names, or by their paths if stems repeat."""
    short = {path.stem: path for path in paths}
    return short if len(short) == len(paths) else {str(path): path for path in paths}


def _thresholds(path: Path | None, fewest_rows: int | None) -> Appetite:
    if path is None:
        return DEFAULT if fewest_rows is None else Appetite(fewest_rows=fewest_rows)
    if fewest_rows is not None:
        raise ArgumentError("--threshold and --appetite both set fewest_rows; leave --threshold out.")
    return Appetite.load(path)


def _write_template(
    form: Path | None, appetite: Path | None, language: Language | None, context: typer.Context, *, force: bool
) -> None:
    name, path = ("appetite", appetite) if form is None else ("form", form)
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    allowed = {"force", "language"} if name == "form" else {"force"}
    if path is None or not given <= {f"new_{name}", *allowed}:
        supported = " and ".join(f"--{option}" for option in sorted(allowed))
        raise ArgumentError(f"--new-{name} only writes a file to fill in; it can be combined only with {supported}.")
    check_output(path, force=force)
    text = empty_form(language or "en") if form is not None else appetite_template()
    todo = "fill it in" if form is not None else "change its thresholds"
    write_file(path, text, f": {todo}, then run: hedgerow report model.json --{name} {path} -o report.html")


def _check_request(
    models: list[Path],
    output: Path | None,
    exports: Exports,
    of_single_model: Sequence[Path | None],
    *,
    as_json: bool,
    check: bool,
) -> None:
    if not models:
        raise ArgumentError("a model file is missing; to write an empty form, use --new-form FILE.")
    if output is None and not as_json and not check and not exports.files:
        raise ArgumentError("an output is missing; add -o report.html, --json or --check.")
    if as_json and check:
        raise ArgumentError("--check prints the record and --json the public sheet; leave one of the two out.")
    if len(models) > 1 and (exports.files or check or any(of_single_model)):
        names = "--attack, --evaluation, --acro, --airlock, --crate, --registry, --statement and --check"
        raise ArgumentError(f"{names} require a single model, got {len(models)} models.")
    if exports.acro is not None and exports.acro.absolute().parent != models[0].absolute().parent:
        raise ArgumentError(
            f"--acro must be in the directory of {models[0]}, because it refers to the model by its file name."
        )
    if exports.airlock is not None and (exports.airlock.suffix.lower() != ".json" or MARK in exports.airlock.name):
        raise ArgumentError(
            f"--airlock {exports.airlock}: expected a file name that ends in .json and does not contain PRIVATE."
        )


def _sheets(output: Path | None) -> list[Path]:
    sheets = [] if output is None else [output, private_name(output)]
    return [*sheets, *map(leaves_name, sheets)]


def _check_rows(data: Path | None, test: Path | None, by: list[str] | None) -> None:
    if str(data) == str(test) == PIPE:
        raise ArgumentError("--data and --test cannot both be read from standard input.")
    if data is not None and test is not None and data.exists() and test.exists() and data.samefile(test):
        raise ArgumentError("--test is the same file as --data, the training rows; give held-out rows.")
    if by and data is None and test is None:
        raise ArgumentError("--by requires --data or --test, the rows of the groups.")
