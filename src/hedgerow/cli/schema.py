"""`hedgerow schema`: create, learn, print and check schemas."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from hedgerow.boundary.durable import reserved, write_whole
from hedgerow.cli import options
from hedgerow.cli.budget import open_budget, write_release
from hedgerow.cli.options import DATA, FILE, number, option, with_groups
from hedgerow.cli.output import ROOM, check_output, say, stage, write_file, written
from hedgerow.cli.rows import UnitOptions, check_values, open_rows
from hedgerow.cli.schema_wizard import import_draft, wizard
from hedgerow.errors import ArgumentError, DomainError, SchemaError, WeakGuaranteeWarning
from hedgerow.privacy.amounts import amount_text, guarantee_warning, positive
from hedgerow.privacy.unit import rows_of
from hedgerow.schema import Schema, count_candidates
from hedgerow.schema.booleans import learning_problems
from hedgerow.schema.contributions import names_key, names_person, repeats
from hedgerow.schema.dates import format_of, with_format
from hedgerow.schema.files import check_ending, mapping_text
from hedgerow.schema.fits import TableFit
from hedgerow.schema.from_public import public_date_formats, public_missing_words, public_notes, typed_table
from hedgerow.schema.grid import SCHEMA_VERSION
from hedgerow.schema.numbers import Numeric
from hedgerow.schema.private_cuts import plan_cuts
from hedgerow.schema.serialize import FILL_IN
from hedgerow.tables.columns import Column
from hedgerow.tables.csv_files import is_generated
from hedgerow.tables.frames import Table
from hedgerow.tables.layout import footer_rows
from hedgerow.tables.table_files import read_table
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable, value_text

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Create and check schemas, which list the public facts about a table.",
)

_TEMPLATE = """\
# Schema: the public facts about a table. Fill it in from your knowledge of the domain, never by looking at the rows.
# Delete the columns that the model must not use. Kinds of attribute:
#   {{kind: boolean}}                                          true/false or 0/1
#   {{kind: boolean, true_values: ["yes"], false_values: ["no"]}}   with these words
#   {{kind: categorical, values: [red, green]}}                fixed values
#   {{kind: categorical, values: {{red: [Red, R], green: []}}}}    values with other spellings
#   {{kind: ordered, values: [low, medium, high]}}             values in this order; rules compare along this order
#   {{kind: integer, low: 0, high: 120}}                       whole numbers; cut points are round numbers
#   {{kind: integer, low: 0, high: 120, cuts: [30, 45, 60]}}   with these cut points, which rules compare with
#   {{kind: integer, low: 0, high: 120, cuts: 5}}              with 5 evenly spaced cut points; log 5: at equal ratios
#   {{kind: real, low: 0, high: 1}}                            real numbers
#   {{kind: date, low: 2015-01-01, high: 2024-12-31}}          dates such as 2020-01-31; for other formats
#     add format: "%d.%m.%Y"   or "%m/%d/%Y"   or iso (with times of day)   or excel (days as numbers)
# Optional keys of an attribute:
#   missing: bin                a missing (blank) value gets a bin of its own; default: error
#   missing_values: ["NA"]      words that mean missing, in addition to blank
#   outside: clip or bin        values outside the domain take the nearest bound (numbers) or get a bin; default: error
#   monotone: increasing        predictions of scorecards never decrease along a number or ordered values
#   description, unit, source   text that is shown with models
# For cut points with about as many rows in each bin, `hedgerow schema learn` releases them from the rows, at a charge.
# The label has classes; if they are ordered, write {{name: …, classes: [low, high], ordered: true}}. To predict a
# number, write its bounds in place of classes: {{name: …, low: 0, high: 30}}.
version: 2
label: {{name: {target}, classes: FILL IN}}
{unit}attributes:
{attributes}
"""


_EDGES = 60  # characters between the bounds of a number
_TODO = ": replace each FILL IN, then run: hedgerow schema show {}"
_UNIT = """\
# {column} seems to identify a person. All rows of a person are then protected together, and at most max_rows rows of
# a person are used. Write 1 if each person has a single row. A larger number uses more rows, with more noise.
unit: {{column: {column}, max_rows: FILL IN}}
"""


@app.command("new")
def new(
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Table; only its column names are read: {DATA}.")],
    target: Annotated[str, option("Column to predict.")],
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_rows: options.SkipRows = None,
    output: options.SchemaOutput = Path("schema.yaml"),
    force: options.Force = False,
) -> None:
    """Write a schema to fill in, from the column names of a table. No row is read.

    [bold]Example[/bold]: hedgerow schema new patients.csv --target ill -o patients.yaml
    """
    check_ending(output)
    check_output(output, data, force=force)
    given = options.TableOptions(encoding=encoding, delimiter=delimiter, skip_rows=skip_rows)
    with open_rows(data, given) as rows:
        names = list(rows.columns)
        _check_present([target], names)
    names.remove(target)
    draft = _draft_json if output.suffix.lower() == ".json" else _draft_yaml
    unnamed = [name for name in names if is_generated(name)]
    person, keys = next(filter(names_person, names), None), [name for name in names if names_key(name)]
    own = [name for name in names if name not in keys and name not in unnamed]
    write_file(output, draft(target, own, person), _TODO.format(output))
    for name in unnamed:
        say(f"column {printable(name)} has no name in the header and was left out", err=True)
    for name in keys:
        role = "declared as the unit" if name == person else "left out"
        say(f"column {printable(name)} has the name of an identifier and was {role}", err=True)


app.command("import")(import_draft)
app.command("wizard")(with_groups(wizard))


@app.command("from-public")
@with_groups
def from_public(
    data: Annotated[
        str, typer.Argument(help=f"PUBLIC rows; bounds, categories and cut points are taken from them: {FILE}.")
    ],
    *,
    target: options.TargetOption = None,
    bins: Annotated[int, option("Number of quantile bins of each numeric column.")] = 5,
    missing: Annotated[
        list[str] | None, option("Word that means missing, such as ?. Repeatable.", metavar="WORD")
    ] = None,
    drop: Annotated[
        list[str] | None, option("Column to leave out, such as an identifier. Repeatable.", metavar="COLUMN")
    ] = None,
    outside: Annotated[
        Literal["error", "bin"], option("Categories that do not occur in these rows: error, or a bin of their own.")
    ] = "error",
    date_format: Annotated[str | None, option("Format of dates, such as %d.%m.%Y.  \\[default: detected]")] = None,
    text: options.TextOptions,
    output: options.SchemaOutput = Path("schema.yaml"),
    force: options.Force = False,
) -> None:
    """Create a schema from PUBLIC rows: their categories, bounds and quantile cut points.

    [bold]Example[/bold]: hedgerow schema from-public census.csv --target income -o census.yaml
    """
    check_ending(output)
    check_output(output, data, force=force)
    with stage(f"reading {data}"):
        words, read = tuple(missing or ()), read_table(data, text.text_format)
        _check_present([*(drop or []), *([target] if target is not None else [])], read.column_names)
        unnamed = [name for name in read.column_names if is_generated(name) and name != target]
        table = read.drop_columns([*(drop or []), *(name for name in unnamed if name not in (drop or []))])
        recognised = public_missing_words(table, text.text_format, words)
        meant = {name: (*words, *recognised.get(name, ())) for name in table.column_names}
        formats = public_date_formats(table, meant, None if date_format is None else format_of(date_format).text)
        table = typed_table(table, meant, text.text_format, formats)
        schema = Schema.from_public(table, label=target, bins=bins, missing_values=words, outside=outside)
        attributes = ((name, with_format(attribute, formats.get(name))) for name, attribute in schema.attributes)
        declared = (
            (name, replace(attribute, missing_values=meant[name])) if name in recognised else (name, attribute)
            for name, attribute in attributes
        )
        schema = replace(schema, attributes=tuple(declared))
    columns = [Column.from_arrow(read[name], name) for name in read.column_names]
    notes = public_notes(table, recognised, target, footer_rows(columns))
    comments = "" if output.suffix.lower() == ".json" else "".join(f"# Check: {note}\n" for note in notes)
    write_whole(output, comments + mapping_text(output, schema.to_dict()))
    say(schema)
    for note in notes:
        say(f"check: {note}", err=True)
    for name in filter(names_person, schema.names):
        advice = f"leave it out (--drop {printable(name)}) and declare `unit: {{column: …, max_rows: 1}}`"
        say(f"check: {printable(name)} seems to identify a person; if so, {advice}", err=True)
    for name in unnamed:
        say(f"column {printable(name)} has no name in the header and was left out", err=True)
    for name in schema.names:
        if len(table) > 1 and repeats(Column.from_arrow(table[name], name)) is None:
            named = printable(name)
            say(
                f"warning: {named} has a different value in every row; if it is an identifier, add --drop {named}",
                err=True,
            )
    say(f"written to {output}", err=True)


@app.command("learn")
@with_groups
def learn(
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Sensitive table: {FILE}.")],
    *,
    declared: Annotated[Path, option("Schema file, with numbers that have no declared cut points.", "--schema")],
    epsilon: Annotated[
        str | None, number("Privacy loss of all cut points together, such as 0.2. Smaller is more private.")
    ] = None,
    bins: Annotated[int, option("Number of quantile bins of each numeric column.")] = 5,
    unit: UnitOptions,
    text: options.TextOptions,
    budget: options.BudgetOption = None,
    output: options.SchemaOutput = Path("schema.yaml"),
    force: options.Force = False,
) -> None:
    """Release cut points of numbers as private quantiles of the rows, at a charge of epsilon.

    Each number of the schema needs declared bounds; cut points are chosen for numbers without declared cut points.

    [bold]Example[/bold]: hedgerow schema learn patients.csv --schema declared.yaml --epsilon 0.2 -o patients.yaml
    """
    if epsilon is None:
        raise ArgumentError(
            "--epsilon is missing; give the privacy loss of all cut points together, such as --epsilon 0.2."
        )
    amount = positive(epsilon, "epsilon")
    check_ending(output)
    check_output(output, data, declared, force=force)
    schema = unit.applied(load_schema(declared))
    account = open_budget(budget)
    if account is not None:
        account.check(amount, rho=0, unit=schema.unit)  # rho follows from the numbers, which are not known yet
    with stage(f"reading {data}"):
        table = read_table(data, text.text_format, numbers=schema.number_columns)
    planned = plan_cuts(dict(schema.attributes), amount / rows_of(schema.unit), bins)
    schema.check_columns(Table.of(table))
    schema.check_unit(Table.of(table))
    check_values(Table.of(table), schema, [plan.name for plan in planned])  # before the charge
    if too_weak := guarantee_warning(amount):
        say(f"warning: {too_weak}", err=True)
    with reserved(output, room=ROOM, force=force) as write:

        def learn() -> Schema:
            with stage("learning cut points"), warnings.catch_warnings():
                warnings.simplefilter("ignore", WeakGuaranteeWarning)  # printed above, without a line of source
                return Schema.learn(table, schema, epsilon=amount, budget=account, bins=bins)

        learned = write_release(write, learn, lambda schema: mapping_text(output, schema.to_dict()), amount, account)
    with written(output):
        say(learned)
    charge = f"epsilon = {amount_text(amount)} for the cut points"
    say(f"charged: {charge}; the privacy cards of models with this schema include this charge", err=True)


@app.command("show")
def show(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema file.")],
    max_literals: Annotated[int, option("Maximum number of conditions in a rule, to count candidate rules.")] = 1,
    negations: Annotated[bool, option("Whether conditions may be negated, to count candidate rules.")] = True,
    as_json: options.AsJson = False,
) -> None:
    """Print the attributes and bins of a schema, and the reasons why `hedgerow fit` cannot use it.

    The cut points of a number are drawn to scale between its bounds, each as a |. Close cut points share a |.

    [bold]Example[/bold]: hedgerow schema show patients.yaml
    """
    if max_literals < 1:
        raise ArgumentError(f"--max-literals must be a whole number >= 1, got {max_literals}.")
    loaded = load_schema(schema)
    count = count_candidates(loaded, min(max_literals, len(loaded)), negations=negations)
    problems = [str(problem) for problem in learning_problems(loaded)]
    if as_json:
        numbers = {"digest": loaded.digest, "candidates": count, "fit_refuses": problems}
        say(json.dumps({**loaded.to_dict(), **numbers}, ensure_ascii=False))
        return
    size = number_of(max_literals, "condition")
    drawn = "\n".join(_edge_lines(loaded.numbers))
    parts = [str(loaded), drawn, f"{count:,} candidate rules of up to {size}\ndigest {loaded.digest}"]
    say("\n\n".join(filter(None, parts)))
    for problem in problems:
        say(f"`hedgerow fit` cannot use this schema: {problem}")


def _edge_lines(numbers: Mapping[str, Numeric]) -> Iterator[str]:
    """Yield a line for each number with cut points: its bounds and, to scale, its cut points."""
    cut = {name: column for name, column in numbers.items() if column.cuts}
    ends = {name: (value_text(column.low), value_text(column.high)) for name, column in cut.items()}
    widest = max((len(printable(name)) for name in cut), default=0)
    first = max((len(low) for low, _ in ends.values()), default=0)
    for name, column in cut.items():
        scale = (_EDGES - 1) / (column.high - column.low)
        marks = {round((cut_point - column.low) * scale) for cut_point in column.cuts}
        drawn = "".join("|" if place in marks else "-" for place in range(_EDGES))
        bins = number_of(len(column.cuts) + 1, "bin")
        yield f"{printable(name):<{widest}}  {ends[name][0]:>{first}} {drawn} {ends[name][1]}  {bins}"


@app.command("check")
@with_groups
def check(
    schema: Annotated[Path, typer.Argument(metavar="SCHEMA", help="Schema file.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Sensitive table: {DATA}.")],
    *,
    table: options.TableOptions,
    as_json: options.AsJson = False,
) -> None:
    """Check every row of a table against a schema, before any budget is spent. The output is PRIVATE.

    For each column the command counts values that are missing, outside the domain or of another type. It lists the
    first lines with such values, and states whether `hedgerow fit` accepts the table.

    [bold]Example[/bold]: hedgerow schema check patients.yaml patients.csv
    """
    loaded = load_schema(schema)
    with open_rows(data, table) as rows:
        fit = rows.fit(loaded)
        lines = rows.lines(fit)
        if as_json:
            say(json.dumps({**fit.to_dict(), "lines": lines}, ensure_ascii=False))
        else:
            _print_fit(fit, lines)
        _check_fit(fit, rows.columns)


def _print_fit(fit: TableFit, lines: Mapping[int, int] | None) -> None:
    whole = "Every row fits the schema." if fit.n_rows else "The table has no rows; check that the file is complete."
    head = "Some rows do not fit the schema." if fit.faults else whole
    say(f"{head} PRIVATE: this output depends on the rows; do not share it.\n\n{fit.text(lines)}\n")
    for problem in fit.problems:
        say(f"`hedgerow fit` cannot use this schema: {problem}")
    for sentence in fit.advice:
        say(sentence)
    for name in fit.mostly_outside:
        say(f"Nearly every value of {printable(name)} is outside its domain; check its unit of measurement and scale.")
    for name in fit.persons:
        advice = "declare `unit: {column: …, max_rows: 1}` in place of an attribute"
        say(f"{printable(name)} seems to identify a person; if a person can have several rows, {advice}.")
    noise = "" if fit.n_rows else ", but a model of no rows is noise alone"
    say(
        f"`hedgerow fit` accepts this table{noise}."
        if fit.is_accepted
        else "`hedgerow fit` does not accept this table."
    )


def _check_fit(fit: TableFit, columns: Sequence[str]) -> None:
    """Raise `DomainError` for the first column that does not fit, with advice."""
    for fault in fit.faults[:1]:
        if fault.is_absent:
            raise DomainError.absent(fault.name, columns)
        n_others = len(fit.faults) - 1
        extent = f", here and in {number_of(n_others, 'other column')}" if n_others else ""
        advice = ["correct them", "declare a wider domain", "set `missing` or `outside` in the schema"]
        if fault.name in dict(fit.missing_words):
            advice.append("list words that mean missing under `missing_values`")
        if mark_options := dict(fit.number_marks).get(fault.name):
            advice.append(f"read the numbers with {' or '.join(mark_options)}")
        if fit.footer:
            advice.append(f"leave out the last rows with --skip-footer {fit.footer}")
        *first, last = advice
        problem = f"some values do not fit the schema{extent}"
        raise DomainError(f"{problem}; {', '.join(first)}, or {last}.", column=fault.name)


def _draft_yaml(target: str, names: list[str], person: str | None) -> str:
    lines = [f"  {json.dumps(name, ensure_ascii=False)}: {{kind: FILL IN}}" for name in names]
    unit = "" if person is None else _UNIT.format(column=json.dumps(person, ensure_ascii=False))
    return _TEMPLATE.format(target=json.dumps(target, ensure_ascii=False), unit=unit, attributes="\n".join(lines))


def _draft_json(target: str, names: list[str], person: str | None) -> str:
    unit = {} if person is None else {"unit": {"column": person, "max_rows": FILL_IN}}
    attributes = {name: {"kind": FILL_IN} for name in names}
    draft = {"version": SCHEMA_VERSION, "label": {"name": target, "classes": FILL_IN}, **unit, "attributes": attributes}
    return json.dumps(draft, indent=2, ensure_ascii=False) + "\n"


def load_schema(path: Path) -> Schema:
    try:
        return Schema.load(path)
    except SchemaError as error:
        problem = error.in_file(str(path))
    raise problem


def _check_present(required: list[str], names: list[str]) -> None:
    for name in required:
        if name not in names:
            raise DomainError.absent(name, names)
