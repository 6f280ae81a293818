"""`hedgerow schema`: create, learn, show and check schemas."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from hedgerow.boundary.durable import reserved, write_whole
from hedgerow.cli import options
from hedgerow.cli.budget import open_budget, write_release
from hedgerow.cli.options import DATA, FILE, number, option, with_groups
from hedgerow.cli.output import ROOM, check_output, say, stage, write_said, written
from hedgerow.cli.rows import UnitOptions, check_values, open_rows
from hedgerow.cli.schema_wizard import import_draft, wizard
from hedgerow.errors import ArgumentError, DomainError, SchemaError
from hedgerow.privacy.amounts import amount_text, exact
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
    add_completion=False, no_args_is_help=True, help="Make, learn and read schemas: what is public about a table."
)

_TEMPLATE = """\
# What is public about the table. Fill it in from what you know of the attributes, never by looking at the rows.
# Kinds of attribute (delete columns that must not be used):
#   {{kind: boolean}}                                          true/false or 0/1
#   {{kind: boolean, true_values: ["yes"], false_values: ["no"]}}   or these words
#   {{kind: categorical, values: [red, green]}}                fixed values
#   {{kind: categorical, values: {{red: [Red, R], green: []}}}}    or values with other spellings, which mean the same
#   {{kind: ordered, values: [low, medium, high]}}             values in this order; rules compare along it
#   {{kind: integer, low: 0, high: 120}}                       whole numbers, cut at a grid of round numbers
#   {{kind: integer, low: 0, high: 120, cuts: [30, 45, 60]}}   or at these; rules compare with the cuts
#   {{kind: integer, low: 0, high: 120, cuts: 5}}              or at five, evenly spaced; cuts: log 5 by equal ratios
#   {{kind: real, low: 0, high: 1}}                            real numbers
#   {{kind: date, low: 2015-01-01, high: 2024-12-31}}          dates such as 2020-01-31; of others, say how they are
#     written: format: "%d.%m.%Y"   or "%m/%d/%Y"   or iso (with times of day)   or excel (days as numbers)
# Add to any of them:  missing: bin (blank is a value of its own)   missing_values: ["NA"] (this word means blank too)
#                      outside: clip (numbers) or bin (values beyond the domain; default: error)
#                      monotone: increasing (numbers, ordered: predictions never fall along it; for scorecards)
#                      description: …   unit: …   source: …   (text for people, shown with models)
# In place of a grid, `hedgerow schema learn` finds fewer and balanced cuts from the rows, under a charge.
# The label has classes; {{…, classes: [low, high], ordered: true}} if they are in this order. To predict a number,
# write its bounds in place of classes: {{name: …, low: 0, high: 30}}.
version: 2
label: {{name: {target}, classes: FILL IN}}
{unit}attributes:
{attributes}
"""


_EDGES = 60  # characters between the bounds of a number
_TODO = ": fill in what is marked FILL IN, then run: hedgerow schema show {}"
_UNIT = """\
# {column} looks as if it says whose row each row is. All rows of one person are then protected together, and at most
# max_rows of them are used. Write 1 if each person has one row; with 3, more rows are used, and there is more noise.
unit: {{column: {column}, max_rows: FILL IN}}
"""


@app.command("new")
def new(
    data: Annotated[str, typer.Argument(help=f"Only its column names are read: {DATA}.")],
    target: Annotated[str, option("Column to predict.")],
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    skip_rows: options.SkipRows = None,
    output: options.SchemaOutput = Path("schema.yaml"),
    force: options.Force = False,
) -> None:
    """Write a schema to fill in, from the names of a table's columns. No row is read.

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
    write_said(output, draft(target, own, person), _TODO.format(output))
    for name in unnamed:
        say(f"{printable(name)} has no name of its own, and is left out", err=True)
    for name in keys:
        role = "declared as the unit" if name == person else "left out"
        say(f"{printable(name)} has the name of an identifier, and is {role}", err=True)


app.command("import")(import_draft)
app.command("wizard")(with_groups(wizard))


@app.command("from-public")
@with_groups
def from_public(
    data: Annotated[str, typer.Argument(help=f"PUBLIC rows, all that is read off them becomes public: {FILE}.")],
    *,
    target: options.TargetOption = None,
    bins: Annotated[int, option("Intervals of about as many rows each, for numbers.")] = 5,
    missing: Annotated[list[str] | None, option("Word that means missing, such as ?. Repeatable.")] = None,
    drop: Annotated[list[str] | None, option("Column to leave out, such as an id; may be repeated.")] = None,
    outside: Annotated[Literal["error", "bin"], option("For categories that these rows do not have.")] = "error",
    date_format: Annotated[str | None, option("Of dates in text, such as %d.%m.%Y.  \\[recognised]")] = None,
    text: options.TextOptions,
    output: options.SchemaOutput = Path("schema.yaml"),
    force: options.Force = False,
) -> None:
    """Derive a schema from public rows: quantile cut points, and the categories and bounds that occur.

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
        written = ((name, with_format(one, formats.get(name))) for name, one in schema.attributes)
        declared = (
            (name, replace(one, missing_values=meant[name])) if name in recognised else (name, one)
            for name, one in written
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
        advice = f"leave it out (--drop {printable(name)}), and declare `unit: {{column: …, max_rows: 1}}`"
        say(f"check: {printable(name)} looks as if it says whose row each row is; if so, {advice}", err=True)
    for name in unnamed:
        say(f"{printable(name)} has no name of its own, and is left out", err=True)
    for name in schema.names:
        if len(table) > 1 and repeats(Column.from_arrow(table[name], name)) is None:
            named = printable(name)
            say(f"warning: {named}: no value repeats; if it is an identifier, leave it out: --drop {named}", err=True)
    say(f"written to {output}", err=True)


@app.command("learn")
@with_groups
def learn(
    data: Annotated[str, typer.Argument(help=f"The sensitive table: {FILE}.")],
    *,
    declared: Annotated[Path, option("Schema, some of whose numbers have no declared cuts.", "--schema")],
    epsilon: Annotated[str | None, number("Privacy loss of all cut points together, such as 0.2.")] = None,
    bins: Annotated[int, option("Intervals of about as many rows each.")] = 5,
    unit: UnitOptions,
    text: options.TextOptions,
    budget: options.BudgetOption = None,
    output: options.SchemaOutput = Path("schema.yaml"),
    force: options.Force = False,
) -> None:
    """Find cut points from sensitive rows by private quantiles, inside declared bounds and under a charge.

    [bold]Example[/bold]: hedgerow schema learn patients.csv --schema declared.yaml --epsilon 0.2 -o patients.yaml
    """
    if epsilon is None:
        raise ArgumentError("expected --epsilon, the privacy loss of all cut points, such as --epsilon 0.2; got none.")
    amount = exact(epsilon, "epsilon")
    check_ending(output)
    check_output(output, data, declared, force=force)
    schema = unit.applied(load_schema(declared))
    account = open_budget(budget)
    if account is not None:
        account.check(amount, rho=0, unit=schema.unit)  # which rho it costs follows from the numbers
    with stage(f"reading {data}"):
        table = read_table(data, text.text_format, numbers=schema.number_columns)
    planned = plan_cuts(dict(schema.attributes), amount / rows_of(schema.unit), bins)
    schema.check_columns(Table.of(table))
    schema.check_unit(Table.of(table))
    check_values(Table.of(table), schema, [plan.name for plan in planned])  # a row that does not fit costs nothing
    with reserved(output, room=ROOM, force=force) as write:

        def learn() -> Schema:
            with stage("learning cut points"):
                return Schema.learn(table, schema, epsilon=amount, budget=account, bins=bins)

        learned = write_release(write, learn, lambda found: mapping_text(output, found.to_dict()), amount, account)
    with written(output):
        say(learned)
    charged = f"epsilon = {amount_text(amount)} for the cut points"
    say(f"charged: {charged}; models with this schema carry it on their card.", err=True)


@app.command("show")
def show(
    schema: Annotated[Path, typer.Argument(help="Schema file.")],
    max_literals: Annotated[int, option("Conditions in a rule, for counting candidates.")] = 2,
    negations: Annotated[bool, option("Whether a condition may be negated.")] = True,
    as_json: options.AsJson = False,
) -> None:
    """Print the attributes of a schema, the edges of its bins, and why `fit` would refuse it, if it would.

    The bins of each number are drawn to scale between its bounds: each | is a cut point, or several close together.
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
        say(f"`hedgerow fit` refuses this schema: {problem}")


def _edge_lines(numbers: Mapping[str, Numeric]) -> Iterator[str]:
    """Yield a line for each number with cut points: its bounds, and between them each cut point, to scale."""
    cut = {name: column for name, column in numbers.items() if column.cuts}
    ends = {name: (value_text(column.low), value_text(column.high)) for name, column in cut.items()}
    widest = max((len(printable(name)) for name in cut), default=0)
    first = max((len(low) for low, _ in ends.values()), default=0)
    for name, column in cut.items():
        scale = (_EDGES - 1) / (column.high - column.low)
        marks = {round((place - column.low) * scale) for place in column.cuts}
        drawn = "".join("|" if place in marks else "-" for place in range(_EDGES))
        bins = number_of(len(column.cuts) + 1, "bin")
        yield f"{printable(name):<{widest}}  {ends[name][0]:>{first}} {drawn} {ends[name][1]}  {bins}"


@app.command("check")
@with_groups
def check(
    schema: Annotated[Path, typer.Argument(help="Schema file.")],
    data: Annotated[str, typer.Argument(help=f"The sensitive table: {DATA}.")],
    *,
    table: options.TableOptions,
    as_json: options.AsJson = False,
) -> None:
    """Check every row of a table against a schema before anything is spent. The report is for the curator only.

    It counts, for each column, the rows that are missing, outside the domain or of another type, lists the first lines
    that do not fit, and says whether `fit` will accept the table.

    [bold]Example[/bold]: hedgerow schema check patients.yaml patients.csv
    """
    loaded = load_schema(schema)
    with open_rows(data, table) as rows:
        found = rows.fit(loaded)
        lines = rows.lines(found)
        if as_json:
            say(json.dumps({**found.to_dict(), "lines": lines}, ensure_ascii=False))
        else:
            _show_fit(found, lines)
        _check_fit(found, rows.columns)


def _show_fit(found: TableFit, lines: Mapping[int, int] | None) -> None:
    head = "every row fits the schema" if not found.faults else "some rows do not fit the schema"
    say(f"{head} (for your eyes only: this says something about the rows)\n\n{found.text(lines)}\n")
    for problem in found.problems:
        say(f"`hedgerow fit` refuses this schema: {problem}")
    for sentence in found.advice:
        say(sentence)
    for name in found.mostly_outside:
        say(f"nearly every value of {printable(name)} is outside its domain: is it in other units, or scaled?")
    for name in found.persons:
        looks = f"{printable(name)} looks as if it says whose row each row is: if a person may have several"
        say(f"{looks}, declare `unit: {{column: …, max_rows: 1}}` and no attribute of this name")
    say("`hedgerow fit` will accept this" if found.is_accepted else "`hedgerow fit` will refuse this")


def _check_fit(found: TableFit, columns: Sequence[str]) -> None:
    """Raise DomainError about the first column that does not fit, with the options that may help."""
    for fault in found.faults[:1]:
        if fault.is_absent:
            raise DomainError.absent(fault.name, columns)
        more = len(found.faults) - 1
        others = f", here and in {number_of(more, 'other column')}" if more else ""
        options_of_numbers = dict(found.number_marks).get(fault.name)
        marks = f"; read the numbers with {' or '.join(options_of_numbers)}" if options_of_numbers else ""
        marks += f"; leave out the last rows with --skip-footer {found.footer}" if found.footer else ""
        words = (
            "; name words that mean missing under `missing_values`" if fault.name in dict(found.missing_words) else ""
        )
        problem = f"some values do not fit the schema{others}; correct them, declare a wider domain"
        advice = f"or say under `missing` and `outside` what becomes of them{words}{marks}."
        raise DomainError(f"{problem}, {advice}", column=fault.name)


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


def _check_present(wanted: list[str], names: list[str]) -> None:
    for name in wanted:
        if name not in names:
            raise DomainError.absent(name, names)
