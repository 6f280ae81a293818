"""What commands write: whole files or none, never over another one unasked; and pictures."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from hedgerow.durable import sync_folder, write_synced
from hedgerow.values import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM = 2**22
"""Bytes of the disk that are kept for a model before it is paid for: far more than all but the largest need."""
_PICTURES = (".png", ".svg", ".pdf")


def say(text: object, *, err: bool = False, newline: bool = True) -> None:
    """Print text; on a terminal, which obeys them, control characters but line breaks and tabs are shown as text.

    SQL, JSON and predictions hold names and values as they are, and a model's names are its author's.
    """
    shown = printable(str(text), keep="\n\t") if (sys.stderr if err else sys.stdout).isatty() else str(text)
    typer.echo(shown, err=err, nl=newline)


def check_output(path: Path, *, force: bool) -> None:
    """Check before any work is done that a file can be written.

    Raises
    ------
    ValueError
        If the file exists and `force` is not given, or its folder does not exist.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file.")
    if os.path.lexists(path) and not force:
        raise ValueError(f"{path} exists already; give another name, or --force where the command has it.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ValueError(f"{path}: the folder {path.absolute().parent} cannot be written to.")


@contextmanager
def reserved(path: Path, *, room: int = 0, force: bool = True) -> Generator[Callable[[str], None]]:
    """Reserve a file's place, and yield what writes text there: whole, and on the disk when it returns.

    A new file beside it takes up `room` bytes until then, so that a full disk is found now. Without a text, or if
    writing fails, what was there stays; without `force` so does what came there meanwhile.

    Raises
    ------
    OSError
        If there is no place. It names the file.
    """
    fresh = path.with_name(f".hedgerow-{token_hex(8)}")
    with _named(path):
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)

    def write(text: str) -> None:
        with _named(path):
            write_synced(handle, text)
            _rename(fresh, path, force=force)
            sync_folder(path)

    try:
        if room:
            with _named(path):
                write_synced(handle, "\0" * room)
        yield write
    finally:
        os.close(handle)
        fresh.unlink(missing_ok=True)


def _rename(fresh: Path, path: Path, *, force: bool) -> None:
    """Give a file its name; without `force`, never that of another one."""
    try:
        if not force:
            path.hardlink_to(fresh)  # unlike renaming, it replaces nothing
            return
    except OSError:  # there is another one, or the file system has no hard links
        if os.path.lexists(path):
            raise
    fresh.replace(path)


@contextmanager
def _named(path: Path) -> Generator[None]:
    """Give an error of the system the name of the file that is meant."""
    problem = None
    try:
        yield
    except OSError as error:
        problem = error
    if problem is not None:
        raise OSError(problem.errno, problem.strerror, str(path))


def write_whole(path: Path, text: str) -> None:
    """Write a file whole, or leave what was there."""
    with reserved(path) as write:
        write(text)


def write_or_print(write: Callable[[str], None], text: Callable[[], str], data: Mapping[str, Any], spent: str) -> None:
    """Write what was paid for; if that fails, for whatever reason, print it as JSON.

    Raises
    ------
    ValueError
        If it was printed and not written. It says what was spent.
    """
    try:
        write(text())
    except BaseException as error:  # an interrupt, too
        problem = type(error).__name__
        if isinstance(error, OSError) and error.filename:
            problem = f"{error.filename}: {error.strerror}"
    else:
        return
    for to_stderr in (False, True):
        with suppress(OSError):
            typer.echo(json.dumps(data, indent=2), err=to_stderr)
            break
    raise ValueError(f"{problem}. {spent}, and what is printed above is all there is of it: keep it.")


def print_or_write(text: str, path: Path | None) -> None:
    """Print text, or write it to a file and say so."""
    if path is None:
        say(text)
    else:
        write_whole(path, text + "\n")
        say(f"written to {path}", err=True)


def check_picture(path: Path) -> None:
    """Check that a picture's name has an ending that can be drawn.

    Raises
    ------
    ValueError
        If it has another.
    """
    if path.suffix.lower() not in _PICTURES:
        raise ValueError(f"{path}: expected a name that ends in {', '.join(_PICTURES)}.")


def draw(plot: Callable[[], Axes], path: Path) -> None:
    """Draw a picture into a file, and say so."""
    import matplotlib as mpl

    mpl.use("Agg")
    figure = plot().get_figure(root=True)
    assert figure is not None
    figure.savefig(path, dpi=150)
    say(f"written to {path}", err=True)


@contextmanager
def stage(text: str) -> Generator[None]:
    """Show on a terminal what is being done while it is done."""
    with Console(stderr=True).status(escape(printable(f"{text} …"))):
        yield
