"""`hedgerow ledger`: read and verify the ledger of a curator's service."""

from __future__ import annotations

from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.boundary.durable import reserved, sync_folder
from hedgerow.cli.options import Force, option
from hedgerow.cli.output import check_output, say
from hedgerow.errors import MissingFileError, MissingPackageError

if TYPE_CHECKING:
    from hedgerow.service.ledger.log import Log

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Read and verify the ledger of a curator's service.")
Address = Annotated[str, typer.Argument(metavar="LEDGER", help="File of SQLite, or URL of PostgreSQL.")]


@app.command("verify")
def verify(ledger: Address, head: Annotated[str | None, option("Hash of an entry that must be there.")] = None) -> None:
    """Check that no entry was edited, removed or inserted, and that caps, totals and answers follow from the entries.

    The entry in the head file beside the ledger must be there, and that of --head. Prints the hash of the last entry:
    keep it elsewhere, since nobody who rewrites the ledger can forge it. An empty ledger ends with status 1.

    [bold]Example[/bold]: hedgerow ledger verify curator.db
    """
    with _opened(ledger) as opened:
        found = opened.verify(head)
    say(found)
    if not found.entries:
        raise typer.Exit(1)


@app.command("show")
def show(ledger: Address) -> None:
    """Show what was declared, charged and answered, an entry a line, checked along the way."""
    with _opened(ledger) as opened:
        for entry in opened.entries():
            say(entry)


@app.command("export")
def export(
    ledger: Address,
    output: Annotated[Path, option("File to write: an entry a line, as JSON.", "--output", "-o")],
    force: Force = False,
) -> None:
    """Write all entries with their hashes, an entry a line, checked along the way."""
    check_output(output, ledger, force=force)
    with _opened(ledger) as opened, reserved(output, force=force) as write:
        write("".join(f"{entry.line}\n" for entry in opened.entries()))


@app.command("backup")
def backup(
    ledger: Address, output: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; it replaces none.")]
) -> None:
    """Copy a ledger in SQLite to a file, whole, while the service runs; verified, and with the hash of the last entry.

    Do not copy the file by hand: the newest entries are in the log beside it. An older copy lacks charges: use it only
    if the disk is lost, and read the docs first.

    [bold]Example[/bold]: hedgerow ledger backup ledger.db 2026-11-23.db
    """
    check_output(output, ledger)
    with TemporaryDirectory(prefix=".hedgerow-", dir=output.absolute().parent) as folder:
        fresh = Path(folder) / "ledger.db"
        with _opened(ledger) as opened:
            found = opened.backup(fresh)
        fresh.replace(output)
        sync_folder(output)
    say(found)


def _opened(address: str) -> closing[Log]:
    """Open a ledger to be read; nothing is made or changed."""
    if find_spec("sqlalchemy") is None:
        raise MissingPackageError("a ledger needs SQLAlchemy, which is not there; run pip install 'hedgerow[service]'.")
    from hedgerow.service.ledger.log import Log

    if "://" in address:
        return closing(Log(address, read_only=True))
    if not Path(address).is_file():
        raise MissingFileError.of(2, "No such ledger", address)
    return closing(Log(f"sqlite:///{Path(address).absolute()}", read_only=True))
