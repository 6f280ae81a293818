"""The commands put together, and how an error reaches a person: one line on stderr, exit code 2, no traceback."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import hedgerow
from hedgerow._version import __version__
from hedgerow.cli import audit, budget, fit, predict, schema, show, study
from hedgerow.values import printable

app = typer.Typer(
    name="hedgerow",
    help="Learn, read, apply and audit interpretable models from sensitive tables, under differential privacy.",
    epilog="Start with: hedgerow schema new data.csv --target COLUMN -o schema.yaml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("fit")(fit.fit)
app.command("show")(show.show)
app.command("predict")(predict.predict)
app.command("audit")(audit.audit)
app.add_typer(schema.app, name="schema")
app.add_typer(budget.app, name="budget")
app.add_typer(study.app, name="study")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Learn, read, apply and audit interpretable models from sensitive tables, under differential privacy."""


def main() -> None:
    """Run the command line.

    An error raised by hedgerow itself is shown in its words. Any other exception shows its place and not its text,
    which might quote a row.
    """
    try:
        app(prog_name="hedgerow")
    except OSError as error:
        _leave(2, f"{error.filename}: {error.strerror}" if error.filename else type(error).__name__)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        ours = Path(last.filename).is_relative_to(Path(hedgerow.__file__).parent)
        if ours and (last.line or "").startswith("raise "):  # hedgerow's own words, which quote no cell
            _leave(2, str(error))
        _leave(1, f"internal error, {type(error).__name__} at {last.filename}:{last.lineno}; please report this line.")


def _leave(code: int, message: str) -> NoReturn:
    typer.echo(f"error: {printable(message)}", err=True)
    sys.exit(code)
