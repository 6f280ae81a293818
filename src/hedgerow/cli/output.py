"""Output of commands: text, files, which are written atomically and replaced only with --force, and plots."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from hedgerow.durable import write_whole
from hedgerow.errors import ArgumentError
from hedgerow.privacy.budget_file import is_budget
from hedgerow.values import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM = 2**22
"""Bytes of disk that are reserved for a model before its budget is charged: more than all but the largest need."""
PICTURES = (".png", ".svg", ".pdf")


def say(text: object, *, err: bool = False, newline: bool = True) -> None:
    """Print text; on a terminal, control characters except line breaks and tabs are shown as text.

    SQL, JSON and predictions contain names and values verbatim, and the names in a model are its author's.
    """
    shown = printable(str(text), keep="\n\t") if (sys.stderr if err else sys.stdout).isatty() else str(text)
    typer.echo(shown, err=err, nl=newline)


def check_output(path: Path, *inputs: Path | str | None, force: bool) -> None:
    """Check, before any work, that a file can be written without losing another one.

    Raises
    ------
    ValueError
        If the file exists and `force` is False, or its folder does not exist; or if it is one of the command's own
        inputs, or a budget, whose record would be lost: neither is ever replaced.
    """
    if path.is_dir():
        raise ArgumentError(f"{path} is a folder; give the name of a file.")
    if os.path.lexists(path) and not force:
        raise ArgumentError(f"{path} exists already; give another name, or --force where the command has it.")
    if path.exists() and any(given is not None and _is_same(path, given) for given in inputs):
        raise ArgumentError(f"{path} is an input of this command; give the output another name.")
    if path.is_file() and is_budget(path):
        raise ArgumentError(f"{path} is a budget, and its record of what was spent would be lost; give another name.")
    if not path.absolute().parent.is_dir():
        raise ArgumentError(f"{path}: there is no folder {path.parent}.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ArgumentError(f"{path}: the folder {path.absolute().parent} cannot be written to.")


def check_outputs(paths: Sequence[Path | None], *inputs: Path | str | None, force: bool) -> None:
    """Check those of several files that are asked for, as `check_output` does, and that no two of them are one file."""
    asked = [path for path in paths if path is not None]
    for path in asked:
        check_output(path, *inputs, force=force)
    places = [os.path.realpath(path) for path in asked]
    for path, place in zip(asked, places, strict=True):
        if places.count(place) > 1:
            raise ArgumentError(f"expected a file for each output, got {path} for two of them.")


def write_or_print(write: Callable[[str], None], text: Callable[[], str], data: Mapping[str, Any], spent: str) -> None:
    """Write a release that has been charged; if that fails for any reason, print it as JSON.

    Raises
    ------
    ValueError
        If it was printed and not written. The message says what was spent.
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
    raise ArgumentError(f"{problem}. {spent}, and the JSON printed above is the only copy of the release: keep it.")


def print_or_write(text: str, path: Path | None) -> None:
    """Print text, or write it to a file and say so."""
    if path is None:
        say(text)
    else:
        write_whole(path, text + "\n")
        say(f"written to {path}", err=True)


def _is_same(path: Path, given: Path | str) -> bool:
    return os.path.exists(given) and os.path.samefile(path, given)


def check_picture(path: Path) -> None:
    """Check that the name of a plot has a supported ending.

    Raises
    ------
    ValueError
        If it has another ending.
    """
    if path.suffix.lower() not in PICTURES:
        raise ArgumentError(f"{path}: expected a name that ends in {', '.join(PICTURES)}.")


def draw(plot: Callable[[], Axes], path: Path) -> None:
    """Write a plot to a file, and print its name."""
    without_a_window()
    figure = plot().get_figure(root=True)
    assert figure is not None
    figure.savefig(path, dpi=150)
    say(f"written to {path}", err=True)


def without_a_window() -> None:
    """Have matplotlib draw into files, whatever the environment asks for."""
    import matplotlib as mpl

    mpl.use("Agg")


@contextmanager
def stage(text: str) -> Generator[None]:
    """Show a status on the terminal during the block."""
    with Console(stderr=True).status(escape(printable(f"{text} …"))):
        yield
