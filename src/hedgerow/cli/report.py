"""`hedgerow report`: a model for a review board."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hedgerow.audit import AttackRecord
from hedgerow.audit.attack_record import MARK
from hedgerow.cli.options import FILE, MODEL, Force, OthersSchema, TextOptions, any_model, option, with_groups
from hedgerow.cli.output import check_output, check_outputs, say, stage, write_said
from hedgerow.cli.predictions import class_weights, costs_in
from hedgerow.cli.rows import read_labelled
from hedgerow.errors import ArgumentError
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


@dataclass(frozen=True)
class Inputs:
    """Options for what a report is made of, beside the models."""

    form: Annotated[Path | None, option("YAML file with what people state; see --new-form.")] = None
    ledger: Annotated[Path | None, option("What was released: a budget file, or an exported ledger.")] = None
    dataset: Annotated[str | None, option("With --ledger: the dataset, if it has several.")] = None
    head: Annotated[str | None, option("With a budget file: refuse one cut off before this hash.", metavar="HASH")] = (
        None
    )
    data: Annotated[Path | None, option(f"The training rows, for the board's sheet: {FILE}.")] = None
    test: Annotated[Path | None, option("Held-out rows of the same kind, for the board's sheet.")] = None
    by: Annotated[list[str] | None, option("Compare the groups of this column; repeatable.  \\[the form's]")] = None
    evaluation: Annotated[Path | None, option("What `hedgerow evaluate` released, for the public sheet.")] = None
    attack: Annotated[list[Path] | None, option("What `hedgerow attack` wrote, for the board. Repeatable.")] = None
    schema: OthersSchema = None
    appetite: Annotated[Path | None, option("YAML file of checks' thresholds; see --new-appetite.")] = None
    threshold: Annotated[
        int | None, option(f"Fewest rows of a leaf, without --appetite.  \\[{DEFAULT.fewest_rows}]")
    ] = None
    costs: Annotated[Path | None, option("What errors cost, as `hedgerow fit` takes it: YAML or JSON.")] = None
    class_weight: Annotated[list[str] | None, option("The same, by class. Repeatable.", metavar="LABEL=WEIGHT")] = None

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files that may be read."""
        named = (self.form, self.appetite, self.ledger, self.data, self.test, self.costs, self.evaluation, self.schema)
        return (*named, *(self.attack or ()))

    def check(self) -> None:
        """Refuse options that contradict each other, and a budget file that was cut off."""
        for name, given in (("dataset", self.dataset), ("head", self.head)):
            if given is not None and self.ledger is None:
                raise ArgumentError(f"--{name} needs --ledger, in which it is looked up.")
        if self.ledger is not None and self.head is not None:
            FileBudget(self.ledger).check_head(self.head)
        _check_rows(self.data, self.test, self.by)

    def report_on(self, model: Path, text: TextOptions, language: Language) -> Report:
        """Return the report on the model of a file."""
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


@dataclass(frozen=True)
class Twins:
    """Options for machine-readable twins of a report's sheets."""

    acro: Annotated[Path | None, option("The checks as ACRO's results.json, beside the model.")] = None
    airlock: Annotated[Path | None, option("A record for an airlock; the board's is beside it.")] = None
    crate: Annotated[Path | None, option("The public sheet as a Five Safes RO-Crate (.zip).")] = None
    registry: Annotated[Path | None, option("A record for the registry of deployments (.yaml).")] = None
    statement: Annotated[Path | None, option("Statement of anonymity by EDPB 28/2024: .html, .txt, .json.")] = None

    @property
    def files(self) -> list[Path]:
        """The files that may be written."""
        paths = [self.acro, self.airlock, self.crate, self.registry, self.statement]
        paths += [None if path is None else private_name(path) for path in (self.acro, self.airlock, self.statement)]
        return [path for path in paths if path is not None]

    def made(self, found: Report, name: str) -> list[tuple[Path, str | bytes]]:
        """Return the files with their contents, all of them made before one is written."""
        made: list[tuple[Path, str | bytes]] = []
        if self.acro is not None:
            text = json.dumps(acro_results(found, name), indent=2, ensure_ascii=False) + "\n"
            made.append((self.acro if found.board is None else private_name(self.acro), text))
        if self.airlock is not None:
            made.append((self.airlock, record_json(found)))
            made += [] if found.board is None else [(private_name(self.airlock), record_json(found, private=True))]
        if self.crate is not None:
            made.append((self.crate, crate_zip(found)))
        if self.registry is not None:
            made.append((self.registry, registry_yaml(found)))
        if self.statement is not None:
            made.append((self.statement, Statement.of(found).content(self.statement)))
            if found.board is not None:
                private = private_name(self.statement)
                made.append((private, Statement.of(found, private=True).content(private)))
        return made


@app.command("report")
@with_groups
def report(
    context: typer.Context,
    models: Annotated[list[Path] | None, typer.Argument(help=f"{MODEL} Of several: side by side.")] = None,
    *,
    output: Annotated[Path | None, option("The public sheet; the board's is beside it.", "-o", "--output")] = None,
    inputs: Inputs,
    twins: Twins,
    text: TextOptions,
    language: Annotated[Language | None, option("Language of the sheets, or of the form.  \\[en]")] = None,
    new_form: Annotated[Path | None, option("Write an empty form to this file, and stop.")] = None,
    new_appetite: Annotated[Path | None, option("Write the default thresholds to this file, and stop.")] = None,
    force: Force = False,
    as_json: Annotated[bool, option("Print the public sheet as JSON.", "--json")] = False,
    check: Annotated[bool, option("Print the record, and exit with the decision: 0, 3 or 4.", "--check")] = False,
) -> None:
    """Report on a model for a review board: a public sheet, and one for the board.

    The public sheet uses the model, --form, --ledger and --evaluation alone. With --data, --test or --attack, or a
    model without a guarantee, the board gets a second sheet with exact numbers about the rows. Its name and each
    section say PRIVATE, as do the names of its --airlock record, and of the --acro file if it has such checks. Pages
    load and run nothing. Where a model has more than ten leaves, a CSV file beside the sheet has all.

    With --check the record of the public sheet is printed, as --airlock writes it, and the exit status is that of the
    sheet that decides: 0 if its checks pass, 3 if a person has to review some or essential ones were not run, 4 if one
    fails. Without a guarantee the status is a function of the rows.

    [bold]Examples[/bold]:

    hedgerow report --new-form form.yaml

    hedgerow report --new-appetite appetite.yaml

    hedgerow report model.json --form form.yaml --ledger budget.json -o report.html

    hedgerow report model.json --form form.yaml --data train.csv --test test.csv -o report.html

    hedgerow report model.json --data train.csv --attack attack.PRIVATE.json -o report.html

    hedgerow report list.json tree.json scorecard.json --data train.csv --test test.csv -o side-by-side.html

    hedgerow report model.json --ledger budget.json --data train.csv --appetite appetite.yaml --airlock record.json

    hedgerow report model.json --ledger budget.json --check
    """
    if new_form is not None or new_appetite is not None:
        _write_template(new_form, new_appetite, language, context, force=force)
        return
    models = models or []
    if twins.registry is not None and language not in (None, "en"):
        raise ArgumentError(f"--registry needs a report in English, got --language {language}; leave one of them out.")
    _check_asked(models, output, twins, (inputs.evaluation, *(inputs.attack or ())), as_json=as_json, check=check)
    check_outputs((*_sheets(output), *twins.files), *models, *inputs.files, force=force)
    inputs.check()
    text.check_used("--data or --test", used=(inputs.data, inputs.test) != (None, None))
    with stage("making the report"):
        every = {name: inputs.report_on(path, text, language or "en") for name, path in _names(models).items()}
        first = every[next(iter(every))]
        found = first if len(models) == 1 else Comparison.of(every)
    made = twins.made(first, models[0].name)
    for path in [] if output is None else found.save(output, force=force):
        say(f"written to {path}", err=True)
    for path, content in made:
        write_said(path, content)
    if output is not None and not check:
        say(found.deciding.verdict, err=True)
    if as_json:
        say(found.to_json(), newline=False)
    if check:
        say(record_json(first), newline=False)
        say(first.deciding.verdict, err=True)
        raise typer.Exit(_EXIT[first.deciding.status])


_EXIT: dict[Status, int] = {"pass": 0, "not_applicable": 0, "review": 3, "not_run": 3, "fail": 4}
"""The exit status of --check; 1 and 2 are those of errors."""


def _names(paths: list[Path]) -> dict[str, Path]:
    """Return what each model is called: its file's name without folder and ending, where these differ."""
    short = {path.stem: path for path in paths}
    return short if len(short) == len(paths) else {str(path): path for path in paths}


def _thresholds(path: Path | None, fewest_rows: int | None) -> Appetite:
    if path is None:
        return DEFAULT if fewest_rows is None else Appetite(fewest_rows=fewest_rows)
    if fewest_rows is not None:
        raise ArgumentError("--threshold sets fewest_rows, which --appetite has: give one of both.")
    return Appetite.load(path)


def _write_template(
    form: Path | None, appetite: Path | None, language: Language | None, context: typer.Context, *, force: bool
) -> None:
    name, path = ("appetite", appetite) if form is None else ("form", form)
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
    allowed = {"force", "language"} if name == "form" else {"force"}
    if path is None or not given <= {f"new_{name}", *allowed}:
        others = " and ".join(f"--{option}" for option in sorted(allowed))
        raise ArgumentError(f"--new-{name} writes a file to fill in; it can be combined only with {others}.")
    check_output(path, force=force)
    text = empty_form(language or "en") if form is not None else appetite_template()
    todo = "fill it in" if form is not None else "change what differs"
    write_said(path, text, f": {todo}, then run: hedgerow report model.json --{name} {path} -o report.html")


def _check_asked(
    models: list[Path], output: Path | None, twins: Twins, of_one: Sequence[Path | None], *, as_json: bool, check: bool
) -> None:
    if not models:
        raise ArgumentError("expected a model file, got none; or --new-form FILE to write an empty form.")
    if output is None and not as_json and not check and not twins.files:
        raise ArgumentError("expected -o FILE, such as -o report.html, --json or --check; got none.")
    if as_json and check:
        raise ArgumentError("--check prints the record, and --json the public sheet: leave one of them out.")
    if len(models) > 1 and (twins.files or check or any(of_one)):
        names = "--attack, --evaluation, --acro, --airlock, --crate, --registry, --statement and --check"
        raise ArgumentError(f"{names} are for one model, got several.")
    if twins.acro is not None and twins.acro.absolute().parent != models[0].absolute().parent:
        raise ArgumentError(f"--acro must be in the folder of {models[0]}, since it refers to the model by name.")
    if twins.airlock is not None and (twins.airlock.suffix.lower() != ".json" or MARK in twins.airlock.name):
        raise ArgumentError(
            f"{twins.airlock}: expected a name for the public record that ends in .json, without PRIVATE."
        )


def _sheets(output: Path | None) -> list[Path]:
    """Return the files that `Report.save` may write."""
    sheets = [] if output is None else [output, private_name(output)]
    return [*sheets, *map(leaves_name, sheets)]


def _check_rows(data: Path | None, test: Path | None, by: list[str] | None) -> None:
    if str(data) == str(test) == PIPE:
        raise ArgumentError("only one of --data and --test can be standard input.")
    if data is not None and test is not None and data.exists() and test.exists() and data.samefile(test):
        raise ArgumentError("--test is the file of --data, whose rows the model has seen; give held-out rows.")
    if by and data is None and test is None:
        raise ArgumentError("--by compares groups of rows: add --data or --test.")
