"""Options that several commands share, one by one and in groups."""

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

FILE = "CSV with a header (.csv, .tsv, .txt, .gz of these, - for stdin), .xlsx, .sav, .dta, .sas7bdat, data.parquet"
DATA = (
    "CSV (- is stdin), .xlsx, .sav, .dta, .sas7bdat, *.parquet, duckdb:///FILE::TABLE, "
    "postgresql://USER@HOST/DATABASE::TABLE"
)
ADVANCED = "Advanced"  # the panel of the help with options that a first run does not need


def option(text: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=text, **settings)


def number(text: str) -> Any:
    """Return an option of a number that is read exactly."""
    return option(text, metavar="NUMBER")


def advanced(text: str, *names: str, metavar: str | None = None) -> Any:
    return option(text, *names, metavar=metavar, rich_help_panel=ADVANCED)


MODEL = "Model file written by `hedgerow fit`; or rules as text, PMML, or SQL as `hedgerow show` writes it."
ModelFile = Annotated[Path, typer.Argument(help=MODEL)]
OthersSchema = Annotated[Path | None, option("Schema of the rows, for a model that is not hedgerow's own file.")]
TargetOption = Annotated[str | None, option("Column to predict.")]
BudgetOption = Annotated[Path | None, option("Budget file to charge (`hedgerow budget`); a spent one refuses.")]
SchemaOutput = Annotated[Path, option("File for the schema (.yaml or .json).", "-o", "--output")]
TextOutput = Annotated[Path | None, option("Write to a file, not the screen.", "-o", "--output")]
Force = Annotated[bool, option("Replace output files if they exist.", "--force")]
AsJson = Annotated[bool, option("Print JSON.", "--json")]
Delimiter = Annotated[str | None, advanced("Of CSV: a character or tab.  \\[by the header]", metavar="MARK")]
Encoding = Annotated[str | None, advanced("Of a text file, such as cp1252.  \\[utf-8]", metavar="NAME")]
SkipRows = Annotated[int | None, advanced("Lines above the header, such as a title.  \\[none]", metavar="N")]


@dataclass(frozen=True)
class TextOptions:
    """Options about a file of text."""

    encoding: Encoding = None
    decimal: Annotated[str | None, advanced("Mark of decimals in a text file: , or .", metavar="MARK")] = None
    delimiter: Delimiter = None
    thousands: Annotated[str | None, advanced("Mark of thousands: , . ' or space", metavar="MARK")] = None
    skip_rows: SkipRows = None
    skip_footer: Annotated[
        int | None, advanced("Lines below the last row, such as a total.  \\[none]", metavar="N")
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

    def check_used(self, rows: str, *, used: bool) -> None:
        if not used and any(getattr(self, field.name) is not None for field in fields(self)):
            *names, end = (f"--{field.name.replace('_', '-')}" for field in fields(self))
            raise ArgumentError(f"{', '.join(names)} and {end} are about the rows of {rows}; add it or leave them out.")


@dataclass(frozen=True)
class TableOptions(TextOptions):
    """Options about rows that are in a file of text, or counted by an engine."""

    engine: Annotated[str | None, advanced("Counts rows: duckdb or spark.  \\[by the table]", metavar="NAME")] = None
    master: Annotated[str | None, advanced("Of --engine spark.  \\[local\\[*]]", metavar="URL")] = None
    memory: Annotated[str | None, advanced("Of DuckDB, at most.  \\[4GB]", metavar="SIZE")] = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, in the place of each parameter that is a dataclass of options, an option for each field."""
    options, groups = list[Parameter](), dict[str, Any]()
    for one in signature(command, eval_str=True).parameters.values():
        kind = one.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            groups[one.name] = kind
            hints = get_type_hints(kind, include_extras=True)
            for field in signature(kind).parameters.values():
                options.append(field.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[field.name]))
        else:
            options.append(one.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    called.__signature__ = Signature(options)  # pyright: ignore[reportAttributeAccessIssue]
    return called


def named_values(option: str, texts: Sequence[str] | None, form: str, each: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts or ():
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise ArgumentError(f"expected {option} {form}, got {shown(text)}.")
        if name in found:
            raise ArgumentError(f"expected one {option} for each {each}, got two for {shown(name)}.")
        found[name] = value
    return found


def is_own(path: Path) -> bool:
    """Return whether a file is one of hedgerow's own form, by its first character."""
    from hedgerow.models.envelope import read_text

    return read_text(path).lstrip().startswith(("{", "["))


def any_model(path: Path, schema: Path | None, *, needed: bool = False, of_table: bool = False) -> Model:
    """Return hedgerow's own model in a file; or one of others, whose audits need the schema of the rows."""
    from hedgerow.models import load_model, read_model
    from hedgerow.schema import Schema

    if is_own(path):
        if schema is not None and not of_table:
            raise ArgumentError("leave --schema out: hedgerow's own model file has its schema.")
        return load_model(path)
    if needed and schema is None:
        why = "how much a model discloses depends on the domain of each column."
        raise ArgumentError(f"{path} is not hedgerow's own model file; add --schema FILE: {why}")
    return read_model(path, None if schema is None else Schema.load(schema))
