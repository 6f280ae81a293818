"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from hedgerow.errors import ArgumentError
from hedgerow.tables.table_files import TextFormat
from hedgerow.text.messages import shown

if TYPE_CHECKING:
    from hedgerow.models.model import Model

FILE = "CSV with a header (.csv, .tsv, .txt, also .gz; - for stdin), Excel, SPSS, Stata, SAS or Parquet file"
DATA = (
    "CSV (- for stdin), Excel, SPSS, Stata, SAS or Parquet file(s), duckdb:///FILE::TABLE, "
    "or postgresql://USER@HOST/DATABASE::TABLE"
)
ADVANCED = "Advanced"  # panels of the help
READING = "Reading the table"
RESEARCH = "Research only: no privacy guarantee"


def option(text: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=text, **settings)


def number(text: str) -> Any:
    """Return an option whose number is parsed exactly, not as a float."""
    return option(text, metavar="NUMBER")


def advanced(text: str, *names: str, metavar: str | None = None) -> Any:
    return option(text, *names, metavar=metavar, rich_help_panel=ADVANCED)


def reading(text: str, metavar: str) -> Any:
    return option(text, metavar=metavar, rich_help_panel=READING)


Seed = Annotated[
    int | None,
    option("Seed of the noise, for repeatable results. NOT private; requires --research.", rich_help_panel=RESEARCH),
]
Research = Annotated[bool, option("Allow output without a privacy guarantee.", "--research", rich_help_panel=RESEARCH)]
MODEL = "Model file from `hedgerow fit`; or rules as text, PMML, or SQL in the form that `hedgerow show` writes."
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL)]
OthersSchema = Annotated[Path | None, option("Schema of the rows; only for a model file of another program.")]
TargetOption = Annotated[str | None, option("Column to predict.")]
BudgetOption = Annotated[Path | None, option("Budget file to charge; create it with `hedgerow budget new`.")]
SchemaOutput = Annotated[Path, option("Schema file to write (.yaml or .json).", "-o", "--output")]
TextOutput = Annotated[Path | None, option("Output file.  \\[default: print to the terminal]", "-o", "--output")]
Force = Annotated[bool, option("Overwrite existing output files.", "--force")]
AsJson = Annotated[bool, option("Print JSON in place of text.", "--json")]
Delimiter = Annotated[
    str | None, reading("Column separator of CSV, or `tab`.  \\[default: detected from the header]", "CHAR")
]
Encoding = Annotated[str | None, reading("Text encoding, such as cp1252.  \\[default: utf-8]", "NAME")]
SkipRows = Annotated[int | None, reading("Lines to skip above the header.  \\[default: 0]", "N")]


@dataclass(frozen=True)
class TextOptions:
    """Options for reading text files."""

    encoding: Encoding = None
    decimal: Annotated[str | None, reading("Decimal mark of numbers: , or .  \\[default: .]", "CHAR")] = None
    delimiter: Delimiter = None
    thousands: Annotated[str | None, reading("Thousands separator: , . ' or `space`.  \\[default: none]", "CHAR")] = (
        None
    )
    skip_rows: SkipRows = None
    skip_footer: Annotated[
        int | None, reading("Lines to skip below the last row, such as a total.  \\[default: 0]", "N")
    ] = None

    @property
    def text_format(self) -> TextFormat:
        given: dict[str, Any] = {
            "encoding": self.encoding,
            "decimal": self.decimal,
            "delimiter": "\t" if self.delimiter in ("tab", "\\t") else self.delimiter,
            "thousands": " " if self.thousands == "space" else self.thousands,
            "skip_rows": self.skip_rows,
            "skip_footer": self.skip_footer,
        }
        return TextFormat(**{name: value for name, value in given.items() if value is not None})

    def check_used(self, source: str, *, used: bool) -> None:
        """Check that options for reading a table come with the option that names the table."""
        given = [f"--{field.name.replace('_', '-')}" for field in fields(self) if getattr(self, field.name) is not None]
        if given and not used:
            raise ArgumentError(f"{' and '.join(given)} cannot be used without {source}, the table to read.")


@dataclass(frozen=True)
class TableOptions(TextOptions):
    """Options for reading text files, and for engines that count rows."""

    engine: Annotated[
        str | None,
        reading("Engine that counts the rows: duckdb or spark.  \\[default: depends on the file type]", "NAME"),
    ] = None
    master: Annotated[str | None, reading("Spark master URL.  \\[default: local\\[*]]", "URL")] = None
    memory: Annotated[str | None, reading("Memory limit of DuckDB.  \\[default: 4GB]", "SIZE")] = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass of options by an option for each of its fields."""
    options, groups = list[Parameter](), dict[str, Any]()
    for parameter in signature(command, eval_str=True).parameters.values():
        group = parameter.annotation
        if isinstance(group, type) and is_dataclass(group):
            groups[parameter.name] = group
            hints = get_type_hints(group, include_extras=True)
            for field in signature(group).parameters.values():
                options.append(field.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[field.name]))
        else:
            options.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def with_fields(**arguments: Any) -> None:
        for name, group in groups.items():
            arguments[name] = group(**{field.name: arguments.pop(field.name) for field in fields(group)})
        command(**arguments)

    with_fields.__signature__ = Signature(options)  # pyright: ignore[reportAttributeAccessIssue]
    return with_fields


def named_values(option: str, texts: Sequence[str] | None, form: str) -> dict[str, str]:
    """Parse the NAME=VALUE texts of a repeatable option; `form` describes them in errors."""
    values: dict[str, str] = {}
    for text in texts or ():
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise ArgumentError(f"expected {option} {form}, got {shown(text)}.")
        if name in values:
            raise ArgumentError(f"{option} is given twice for {shown(name)}; give it once.")
        values[name] = value
    return values


def is_own(path: Path) -> bool:
    """Return whether a file is hedgerow's own model file (JSON), judged by its first character."""
    from hedgerow.models.envelope import read_text

    return read_text(path).lstrip().startswith(("{", "["))


def any_model(path: Path, schema: Path | None, *, needed: bool = False, of_table: bool = False) -> Model:
    """Load hedgerow's own model file, or a model file of another program.

    `needed` raises an error if another program's model comes without a schema. `of_table` allows a schema for
    hedgerow's own model, too.
    """
    from hedgerow.models import load_model, read_model
    from hedgerow.schema import Schema

    if is_own(path):
        if schema is not None and not of_table:
            raise ArgumentError("--schema is not allowed here: hedgerow's own model file contains its schema.")
        return load_model(path)
    if needed and schema is None:
        reason = "the disclosure of a model depends on the domain of each column."
        raise ArgumentError(f"{path} is not hedgerow's own model file; add --schema FILE: {reason}")
    return read_model(path, None if schema is None else Schema.load(schema))
