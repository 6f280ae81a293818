"""`hedgerow ledger`: read and verify the ledger of a curator's service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.boundary.durable import reserved, sync_folder
from hedgerow.cli.options import Force, option
from hedgerow.cli.output import check_output, progress, say
from hedgerow.cli.serve import CONFIG, read_config, refuse_password
from hedgerow.errors import ArgumentError, MissingFileError, MissingPackageError

if TYPE_CHECKING:
    from hedgerow.service.ledger.log import Log

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Read and verify the ledger of a curator's service.")
LedgerAddress = Annotated[
    str | None, typer.Argument(metavar="[LEDGER]", help="SQLite file or PostgreSQL URL.  \\[the configuration's]")
]
OptionalConfigFile = Annotated[
    Path | None,
    option("Configuration of the service: names the ledger, and the head to compare.  \\[curator.yaml]", "--config"),
]
Head = Annotated[str | None, option("Hash of an entry that must be there, as an earlier `verify` printed it.")]


@app.command("verify")
def verify(ledger: LedgerAddress = None, config: OptionalConfigFile = None, head: Head = None) -> None:
    """Check that no entry was edited, removed or inserted, and that caps, totals and answers follow from the entries.

    A ledger that was restored from an older copy is consistent, too. Only a head outside the database shows that its
    newest entries are missing: the head file beside a SQLite ledger, the one that --config names, or --head. Without
    any of them the ledger is not called whole, and the command exits with status 1; an empty ledger does the same.

    Prints the hash of the last entry. Keep it where nobody who can write the database can change it.

    [bold]Examples[/bold]:

    hedgerow ledger verify --config curator.yaml

    hedgerow ledger verify restored.db --head 5f2c…
    """
    with _opened(ledger, config) as opened, progress("Verifying") as advanced:
        found = opened.verify(head, advanced)
    say(found)
    if not (found.entries and found.is_compared):
        raise typer.Exit(1)


@app.command("show")
def show(ledger: LedgerAddress = None, config: OptionalConfigFile = None, head: Head = None) -> None:
    """Show what was declared, charged and answered, an entry a line, checked along the way.

    Compares the ledger with its head first, as `verify` does; without a head, a warning says so.
    """
    with _opened(ledger, config) as opened:
        _compare(opened, head)
        for entry in opened.entries():
            say(entry)


@app.command("export")
def export(
    output: Annotated[Path, option("File to write: an entry a line, as JSON.", "--output", "-o")],
    ledger: LedgerAddress = None,
    config: OptionalConfigFile = None,
    head: Head = None,
    force: Force = False,
) -> None:
    """Write all entries with their hashes, an entry a line, checked along the way.

    Compares the ledger with its head first, as `verify` does; without a head, a warning says so.
    """
    check_output(output, *filter(None, [ledger]), force=force)
    with _opened(ledger, config) as opened, reserved(output, force=force) as write:
        _compare(opened, head)
        with progress("Exporting") as advanced:
            write(_lines(opened, advanced))


@app.command("backup")
def backup(
    ledger: Annotated[str, typer.Argument(metavar="LEDGER", help="SQLite file of the ledger.")],
    output: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; it replaces none.")],
    config: Annotated[Path | None, option("Configuration, if the head is not beside the ledger.", "--config")] = None,
) -> None:
    """Copy a ledger in SQLite to a file, whole, while the service runs; verified, and with the hash of the last entry.

    Do not copy the file by hand: the newest entries are in the log beside it. An older copy lacks charges: use it only
    if the disk is lost, and read the docs first.

    [bold]Example[/bold]: hedgerow ledger backup ledger.db 2026-11-23.db
    """
    check_output(output, ledger)
    with TemporaryDirectory(prefix=".hedgerow-", dir=output.absolute().parent) as folder:
        fresh = Path(folder) / "ledger.db"
        with _opened(ledger, config) as opened:
            found = opened.backup(fresh)
        fresh.replace(output)
        sync_folder(output)
    say(found)


def _lines(opened: Log, advanced: Callable[[int, int], None]) -> Iterator[str]:
    whole = opened.last.sequence
    for entry in opened.entries():
        if entry.sequence % 1000 == 0:
            advanced(entry.sequence, whole)
        yield f"{entry.line}\n"


def _compare(opened: Log, head: str | None) -> None:
    """Compare a ledger with its head; warn if there is none."""
    opened.check_head(head)
    if not opened.has_head and head is None:
        warning = "warning: not compared with a head, so the newest entries may be missing; give --config or --head."
        say(warning, err=True)


def _opened(address: str | None, config: Path | None) -> closing[Log]:
    """Open a ledger to be read; nothing is made or changed."""
    if find_spec("sqlalchemy") is None:
        raise MissingPackageError.of("opening a ledger", "SQLAlchemy", "service")
    from hedgerow.service.ledger.log import Log

    if address is not None and "://" not in address:
        if not Path(address).is_file():
            raise MissingFileError.of(2, "No such ledger", address)
        address = f"sqlite:///{Path(address).absolute()}"
    if address is not None:
        refuse_password(address)
    if config is None and (address is not None or not CONFIG.exists()):
        if address is None:
            raise ArgumentError(f"expected a LEDGER, or --config FILE, since there is no {CONFIG} here; got neither.")
        return closing(Log(address, read_only=True))
    found = read_config(config or CONFIG)
    return closing(Log(address or found.ledger, found.head, mark=found.mark, read_only=True))
