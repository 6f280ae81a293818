"""`hedgerow budget`: privacy budgets in files that several runs share."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import typer

from hedgerow.cli.options import number, option
from hedgerow.cli.output import check_output, say, write_or_print
from hedgerow.errors import ArgumentError, ModelFormatError
from hedgerow.privacy.account import Accounting
from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.budget import note_charges
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.text.messages import ChargeNote, add_charge_note

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Keep one privacy budget across several runs, in a file."
)


@app.command("new")
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Budget file to create.")],
    epsilon: Annotated[str | None, number("Most epsilon that may ever be spent on this table.")] = None,
    delta: Annotated[str, number("Most delta that may ever be spent on this table.")] = "0",
    rho: Annotated[str | None, number("Most rho (zCDP) that may ever be spent; alone or with --epsilon.")] = None,
    accounting: Annotated[
        Accounting,
        option("How charges add up: basic (sums of epsilon and delta) or zcdp (sums of rho; needs a delta)."),
    ] = "basic",
    table: Annotated[str | None, option("Name of the table, recorded with each charge.", metavar="NAME")] = None,
) -> None:
    """Create a budget file. Other commands charge it with --budget FILE, and stop if too little is left.

    [bold]Examples[/bold]:

    hedgerow budget new patients.budget.json --epsilon 3

    hedgerow budget new patients.budget.json --epsilon 3 --delta 1e-6 --accounting zcdp

    hedgerow budget new patients.budget.json --rho 0.5
    """
    if epsilon is None and rho is None:
        raise ArgumentError("--epsilon is missing; give the most that may be spent, such as --epsilon 3, or --rho.")
    check_output(file)
    say(FileBudget.create(file, epsilon, delta, rho=rho, accounting=accounting, table=table))


@app.command("show")
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Budget file.")],
    head: Annotated[
        str | None,
        option("Hash from an earlier run; exit with an error if the record does not continue it.", metavar="HASH"),
    ] = None,
) -> None:
    """Print the charges, the remaining budget, and charges without a guarantee, which the cap does not cover.

    Also prints the hash of the last entry. Store it where people who can write the budget file cannot change it. Given
    as --head later, it reveals whether the record was replaced or truncated.

    [bold]Examples[/bold]:

    hedgerow budget show patients.budget.json

    hedgerow budget show patients.budget.json --head 5f2c…
    """
    budget = FileBudget(file)
    if head is not None:
        budget.check_head(head)
    record = budget.record
    say(f"{record.account}\n{record}")


def open_budget(file: Path | None) -> FileBudget | None:
    if file is not None and not file.exists():
        raise ArgumentError(f"{file} does not exist; create it with: hedgerow budget new {file} --epsilon NUMBER")
    return None if file is None else FileBudget(file)


class Released(Protocol):
    """Release that a command writes: a model, an evaluation or a schema."""

    def to_dict(self) -> dict[str, Any]: ...


_ReleasedT = TypeVar("_ReleasedT", bound=Released)


def write_release(
    write: Callable[[str], None],
    learn: Callable[[], _ReleasedT],
    text: Callable[[_ReleasedT], str],
    epsilon: Fraction,
    budget: FileBudget | None,
) -> _ReleasedT:
    """Return the release of `learn` after writing it; if writing fails, print it and raise `ArgumentError`."""
    before, released = Fraction(0) if budget is None else budget.spent_here, None
    try:
        released = learn()
        data, spent = released.to_dict(), spent_text(epsilon, budget)
        problem = write_or_print(write, partial(text, released), data)
    except BaseException as error:
        if budget is not None:
            note_charges(error, budget, before)
        elif released is not None:  # errors raised by `learn` have the note already
            add_charge_note(error, ChargeNote(f"{spent_text(epsilon, None)}."))
        raise
    if problem is not None:
        raise ArgumentError(
            f"writing failed ({problem}). {spent}. The JSON printed above is the only copy of the release: keep it."
        )
    return released


def enter_digest(budget: FileBudget | None, model: str) -> None:
    """Record the digest of a written model in its budget; if that fails, only warn."""
    if budget is None:
        return
    try:
        budget.add_digest(model)
    except (OSError, ModelFormatError, ArgumentError) as error:
        say(
            f"warning: the model was charged and written, but its digest was not recorded in the budget: {error}",
            err=True,
        )


def spent_text(epsilon: Fraction, budget: FileBudget | None) -> str:
    if budget is None:
        return f"The epsilon of {amount_text(epsilon)} is spent"
    return f"The epsilon of {amount_text(budget.spent_here)} stays charged to {budget.path}"
