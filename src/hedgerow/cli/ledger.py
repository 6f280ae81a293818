"""`hedgerow ledger`: verify, print, export and back up the ledger of a service."""

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

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Verify, print, export and back up the ledger of a service."
)
LedgerAddress = Annotated[
    str | None,
    typer.Argument(metavar="[LEDGER]", help="SQLite file or PostgreSQL URL.  \\[default: from the configuration]"),
]
OptionalConfigFile = Annotated[
    Path | None,
    option(
        "Configuration of the service, which names the ledger and its head file.  "
        "\\[default: curator.yaml, if LEDGER is not given]",
        "--config",
    ),
]
Head = Annotated[
    str | None, option("Hash that an earlier `verify` printed; the ledger must contain it.", metavar="HASH")
]


@app.command("verify")
def verify(ledger: LedgerAddress = None, config: OptionalConfigFile = None, head: Head = None) -> None:
    """Verify that no entry was edited, removed or inserted, and that caps, totals and answers follow from the entries.

    An older copy of a ledger is consistent, too. Only a head stored outside the database reveals that its newest
    entries are missing: the head file next to a SQLite ledger, the head that --config names, or --head.

    The exit status is 0 if the ledger was compared with a head, 1 if there is no head or no entry, and 2 after an
    error.

    Also prints the hash of the last entry. Store it where people who can write the database cannot change it.

    [bold]Examples[/bold]:

    hedgerow ledger verify --config curator.yaml

    hedgerow ledger verify restored.db --head 5f2c…
    """
    with _opened(ledger, config) as log, progress("Verifying") as advance:
        verification = log.verify(head, advance)
    say(verification)
    if not (verification.entries and verification.is_compared):
        raise typer.Exit(1)


@app.command("show")
def show(ledger: LedgerAddress = None, config: OptionalConfigFile = None, head: Head = None) -> None:
    """Print the entries, one per line: declarations, charges and answers. Their hashes are verified.

    First compares the ledger with its head, as `verify` does; warns if there is no head.

    [bold]Example[/bold]: hedgerow ledger show --config curator.yaml
    """
    with _opened(ledger, config) as log:
        _compare(log, head)
        for entry in log.entries():
            say(entry)


@app.command("export")
def export(
    output: Annotated[Path, option("Output file: one entry per line, as JSON.", "--output", "-o")],
    ledger: LedgerAddress = None,
    config: OptionalConfigFile = None,
    head: Head = None,
    force: Force = False,
) -> None:
    """Write all entries with their hashes to a file, one per line. The hashes are verified.

    First compares the ledger with its head, as `verify` does; warns if there is no head.

    [bold]Example[/bold]: hedgerow ledger export --config curator.yaml -o entries.jsonl
    """
    check_output(output, *filter(None, [ledger]), force=force)
    with _opened(ledger, config) as log, reserved(output, force=force) as write:
        _compare(log, head)
        with progress("Exporting") as advance:
            write(_lines(log, advance))


@app.command("backup")
def backup(
    ledger: Annotated[str, typer.Argument(metavar="LEDGER", help="SQLite file of the ledger.")],
    output: Annotated[Path, typer.Argument(metavar="FILE", help="Backup file to create.")],
    config: Annotated[
        Path | None, option("Configuration, if the head file is not next to the ledger.", "--config")
    ] = None,
) -> None:
    """Back up a SQLite ledger to a file while the service runs, verify the copy and print its last hash.

    Do not copy the SQLite file itself: its newest entries are in a separate log file. A restored backup lacks later
    charges. Restore it only if the disk is lost, as docs/service.md describes.

    [bold]Example[/bold]: hedgerow ledger backup ledger.db 2026-11-23.db
    """
    check_output(output, ledger)
    with TemporaryDirectory(prefix=".hedgerow-", dir=output.absolute().parent) as folder:
        fresh = Path(folder) / "ledger.db"
        with _opened(ledger, config) as log:
            verification = log.backup(fresh)
        fresh.replace(output)
        sync_folder(output)
    say(verification)


def _lines(log: Log, advance: Callable[[int, int], None]) -> Iterator[str]:
    total = log.last.sequence
    for entry in log.entries():
        if entry.sequence % 1000 == 0:
            advance(entry.sequence, total)
        yield f"{entry.line}\n"


def _compare(log: Log, head: str | None) -> None:
    """Compare a ledger with its head; warn if there is no head."""
    log.check_head(head)
    if not log.has_head and head is None:
        say("warning: the ledger has no head, so its newest entries may be missing; add --config or --head.", err=True)


def _opened(address: str | None, config: Path | None) -> closing[Log]:
    """Open a ledger for reading only."""
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
            raise ArgumentError(f"there is no {CONFIG} in this directory; give LEDGER or --config FILE.")
        return closing(Log(address, read_only=True))
    service = read_config(config or CONFIG)
    return closing(Log(address or service.ledger, service.head, mark=service.mark, read_only=True))
