"""Options that several commands share, one by one and in groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from hedgerow.errors import ArgumentError
from hedgerow.tables.table_files import TextFormat
from hedgerow.text.messages import shown

FILE = "CSV file with a header (.csv, .tsv, .txt, or .gz of these; - for standard input), or data.parquet"
DATA = (
    "file with a header (.csv, .tsv, .txt, .gz; - is standard input), data.parquet, 'folder/*.parquet', "
    "duckdb:///FILE::TABLE, postgresql://USER@HOST/DATABASE::TABLE"
)
ADVANCED = "Advanced"
"""The panel of the help with options that a first run does not need."""

ModelFile = Annotated[Path, typer.Argument(help="Model file written by `hedgerow fit`.")]
Target = Annotated[str | None, typer.Option(help="Column to predict.")]
Budget = Annotated[Path | None, typer.Option(help="Budget file to charge (`hedgerow budget`); a spent one refuses.")]
SchemaOutput = Annotated[Path, typer.Option("-o", "--output", help="File for the schema (.yaml or .json).")]
TextOutput = Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file, not the screen.")]
Force = Annotated[bool, typer.Option("--force", help="Replace output files if they exist.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _advanced(text: str, metavar: str) -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel=ADVANCED)


Encoding = Annotated[str | None, _advanced("Of a text file, such as cp1252.  \\[utf-8]", "NAME")]


@dataclass(frozen=True)
class TextOptions:
    """Options about a file of text."""

    encoding: Encoding = None
    decimal: Annotated[str | None, _advanced("Mark of decimals in a text file: , or .", "MARK")] = None

    @property
    def text_format(self) -> TextFormat:
        """The format of a file of text."""
        given = {"encoding": self.encoding, "decimal": self.decimal}
        return TextFormat(**{name: text for name, text in given.items() if text is not None})

    def check_used(self, option: str, *, used: bool) -> None:
        """Refuse options about rows that are not given by the option that takes them."""
        if not used and any(getattr(self, field.name) is not None for field in fields(self)):
            raise ArgumentError(f"expected {option_names(self)} with {option} only, whose rows they are about.")


@dataclass(frozen=True)
class TableOptions(TextOptions):
    """Options about rows that are in a file of text, or counted by an engine."""

    engine: Annotated[str | None, _advanced("Counts rows: duckdb or spark.  \\[by the table]", "NAME")] = None
    master: Annotated[str | None, _advanced("Of --engine spark.  \\[local\\[*]]", "URL")] = None
    memory: Annotated[str | None, _advanced("Of DuckDB, at most.  \\[4GB]", "SIZE")] = None


def option_names(group: Any) -> str:
    """Return the names of the options of a group."""
    *names, last = (f"--{field.name}" for field in fields(group))
    return f"{', '.join(names)} and {last}"


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
    """Return the values by name of an option that is given as NAME=VALUE, once for each name."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, _, value = text.rpartition("=")
        if not name or not value:
            raise ArgumentError(f"expected {option} {form}, got {shown(text)}.")
        if name in found:
            raise ArgumentError(f"expected one {option} for each {each}, got two for {shown(name)}.")
        found[name] = value
    return found
