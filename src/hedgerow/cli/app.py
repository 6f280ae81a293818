"""The commands put together, and how an error reaches a person: one line on stderr, exit code 2, no traceback."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated, NoReturn

import typer

from hedgerow._version import __version__
from hedgerow.cli import audit, budget, fit, predict, schema, show, study
from hedgerow.errors import HedgerowError
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

    Errors of hedgerow are shown in their own words, which quote no value. Of any other exception the place is
    shown, and not the text, which might.
    """
    try:
        app(prog_name="hedgerow")
    except OSError as error:
        _leave(2, f"{error.filename}: {error.strerror}" if error.filename else type(error).__name__)
    except HedgerowError as error:
        _leave(2, str(error))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        _leave(1, f"internal error, {type(error).__name__} at {last.filename}:{last.lineno}; please report this line.")


def _leave(code: int, message: str) -> NoReturn:
    typer.echo(f"error: {printable(message)}", err=True)
    sys.exit(code)
