"""`hedgerow budget`: a budget in a file that separate runs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.cli.output import check_output, say
from hedgerow.privacy.budget_file import FileBudget

app = typer.Typer(no_args_is_help=True, help="Keep one privacy budget over several runs, in a file.")


@app.command("new")
def new(
    file: Annotated[Path, typer.Argument(help="File for the budget; must not exist.")],
    epsilon: Annotated[float, typer.Option(help="The privacy loss that may ever be spent on these rows.")],
    delta: Annotated[float, typer.Option(help="The same for delta.")] = 0.0,
) -> None:
    """Start a budget. Later runs charge it with --budget FILE and are refused when it is spent.

    [bold]Example[/bold]: hedgerow budget new patients.budget.json --epsilon 3
    """
    check_output(file, force=False)
    say(FileBudget.create(file, epsilon, delta))


@app.command("show")
def show(file: Annotated[Path, typer.Argument(help="Budget file.")]) -> None:
    """Show what was spent, on what, and what is left."""
    say(FileBudget(file))
