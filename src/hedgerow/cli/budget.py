"""`hedgerow budget`: privacy budgets in files that separate runs share."""

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
    add_completion=False, no_args_is_help=True, help="Keep one privacy budget over several runs, in a file."
)


@app.command("new")
def new(
    file: Annotated[Path, typer.Argument(help="File for the budget; must not exist.")],
    epsilon: Annotated[str | None, number("The privacy loss that may ever be spent on these rows.")] = None,
    delta: Annotated[str, number("The same for delta.")] = "0",
    rho: Annotated[str | None, number("A cap on rho (zCDP); alone, or beside epsilon.")] = None,
    accounting: Annotated[Accounting, option("How charges add up; zcdp (by rho) needs a delta.")] = "basic",
    table: Annotated[str | None, option("A name for the table, entered with each charge.", metavar="NAME")] = None,
) -> None:
    """Start a budget. Later runs charge it with --budget FILE and are refused when it is spent.

    [bold]Examples[/bold]: hedgerow budget new patients.budget.json --epsilon 3

    hedgerow budget new patients.budget.json --epsilon 3 --delta 1e-6 --accounting zcdp

    hedgerow budget new patients.budget.json --rho 0.5
    """
    check_output(file)
    say(FileBudget.create(file, epsilon, delta, rho=rho, accounting=accounting, table=table))


@app.command("show")
def show(
    file: Annotated[Path, typer.Argument(help="Budget file.")],
    head: Annotated[str | None, option("Refuse a record that does not go on from this hash.", metavar="HASH")] = None,
) -> None:
    """Show the charges, the remaining budget, and the charges without guarantee, which the cap does not cover.

    Prints the hash of the last entry. Keep it where nobody who writes the file can change it. Given as --head later,
    it shows whether somebody replaced the record or cut it off.

    [bold]Example[/bold]: hedgerow budget show patients.budget.json
    """
    budget = FileBudget(file)
    if head is not None:
        budget.check_head(head)
    record = budget.record
    say(f"{record.account}\n{record}")


def open_budget(file: Path | None) -> FileBudget | None:
    if file is not None and not file.exists():
        raise ArgumentError(f"{file}: No such file; `hedgerow budget new {file} --epsilon NUMBER` starts a budget.")
    return None if file is None else FileBudget(file)


class Released(Protocol):
    """A release that a command writes: a model, an evaluation or a schema."""

    def to_dict(self) -> dict[str, Any]: ...


_ReleasedT = TypeVar("_ReleasedT", bound=Released)


def write_release(
    write: Callable[[str], None],
    learn: Callable[[], _ReleasedT],
    text: Callable[[_ReleasedT], str],
    epsilon: Fraction,
    budget: FileBudget | None,
) -> _ReleasedT:
    """Return what `learn` releases, once its text is written, or else printed with what was charged."""
    before, released = Fraction(0) if budget is None else budget.spent_here, None
    try:
        released = learn()
        data, spent = released.to_dict(), spent_text(epsilon, budget)
        problem = write_or_print(write, partial(text, released), data)
    except BaseException as error:
        if budget is not None:
            note_charges(error, budget, before)
        elif released is not None:  # an error of `learn` has the note
            add_charge_note(error, ChargeNote(f"{spent_text(epsilon, None)}."))
        raise
    if problem is not None:
        raise ArgumentError(f"{problem}. {spent}, and the JSON printed above is the only copy of the release: keep it.")
    return released


def enter_digest(budget: FileBudget | None, model: str) -> None:
    """Enter the digest of a model that was charged and written; where that fails, the model is there all the same."""
    if budget is None:
        return
    try:
        budget.add_digest(model)
    except (OSError, ModelFormatError, ArgumentError) as error:
        say(f"the model is written and charged, but the budget has no entry of its digest: {error}", err=True)


def spent_text(epsilon: Fraction, budget: FileBudget | None) -> str:
    if budget is None:
        return f"The epsilon of {amount_text(epsilon)} is spent"
    return f"The epsilon of {amount_text(budget.spent_here)} stays charged to {budget.path}"
