"""`hedgerow ledger`: read and verify the ledger of a curator's service."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.cli.output import check_output, say
from hedgerow.durable import reserved
from hedgerow.errors import MissingFileError, MissingPackageError

if TYPE_CHECKING:
    from hedgerow.service.ledger.ledger import Ledger

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Read and verify the ledger of a curator's service.")
Address = Annotated[str, typer.Argument(metavar="LEDGER", help="File of SQLite, or URL of PostgreSQL.")]


@app.command("verify")
def verify(ledger: Address) -> None:
    """Check that no entry was edited, removed or put in, and that caps, totals and answers are what entries say.

    Prints the hash of the last entry. Keep it elsewhere: who makes all entries anew cannot make it again.

    [bold]Example[/bold]: hedgerow ledger verify curator.db
    """
    with _opened(ledger) as opened:
        say(opened.verify())


@app.command("show")
def show(ledger: Address) -> None:
    """Show what was declared, charged and answered, an entry a line, checked along the way."""
    with _opened(ledger) as opened:
        for entry in opened.entries():
            say(entry)


@app.command("export")
def export(
    ledger: Address,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write: an entry a line, as JSON.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the output file.")] = False,
) -> None:
    """Write all entries as they are hashed, an entry a line, checked along the way."""
    check_output(output, force=force)
    with _opened(ledger) as opened, reserved(output, force=force) as write:
        write("".join(f"{entry.content}\n" for entry in opened.entries()))


def _opened(address: str) -> Ledger:
    if not all(map(find_spec, ("alembic", "sqlalchemy"))):
        raise MissingPackageError(
            "a ledger needs SQLAlchemy and Alembic, which are not installed; run pip install 'hedgerow[service]'."
        )
    from hedgerow.service.ledger.ledger import Ledger

    if "://" in address:
        return Ledger(address)
    if not Path(address).is_file():
        raise MissingFileError.of(2, "No such ledger", address)
    return Ledger(f"sqlite:///{Path(address).absolute()}")
