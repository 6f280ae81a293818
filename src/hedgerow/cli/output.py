"""Output of commands: text, files, which are written atomically and replaced only with --force, and plots."""

import json
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hedgerow.boundary.durable import write_whole
from hedgerow.errors import ArgumentError, FileError
from hedgerow.text.axes import Axes
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from hedgerow.models.model import Model

ROOM = 2**22
"""Bytes of disk that are reserved for a model before its budget is charged: more than all but the largest need."""
PICTURES = (".png", ".svg", ".pdf")


def say(text: object, *, err: bool = False, newline: bool = True) -> None:
    """Print text; on a terminal, control characters except line breaks and tabs are shown as text.

    SQL, JSON and predictions contain names and values verbatim, and the names in a model are its author's.
    """
    shown = printable(str(text), keep="\n\t") if (sys.stderr if err else sys.stdout).isatty() else str(text)
    problem = None
    try:
        typer.echo(shown, err=err, nl=newline)
    except OSError as error:
        problem = FileError.of(error.errno, error.strerror, "standard output")
    except UnicodeEncodeError as error:
        problem = ArgumentError(f"standard output: expected a text in {error.encoding}; set PYTHONIOENCODING=utf-8.")
    if problem is not None:
        _drop(sys.stdout)
        raise problem


class _Unfailing:
    """A stream that drops what it cannot write: a message that nobody can read must not end what it is about."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # by which others would write past it
            raise AttributeError(name)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._try(lambda: self._stream.write(text)) or len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def _try(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except OSError:
            _drop(self._stream)


def _drop(stream: Any) -> None:
    """Send nowhere what a stream could not write: Python tries again when it ends, and would fail."""
    with suppress(OSError, ValueError):
        number, nowhere = stream.fileno(), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
        stream.flush()


def model_text(model: "Model", *, is_full: bool = False) -> str:
    """Return a model as `fit` and `show` print it: its size, the model itself or all of it, its privacy card."""
    return f"{model.size}\n\n{model.to_text() if is_full else model}\n\n{model.privacy}"


@contextmanager
def standard_streams() -> Generator[None]:
    """Open the standard streams that are closed, since a file would get their numbers; no message fails for stderr.

    A closed standard output then fails when it is written to, as one on a full disk does.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDONLY), mode))
    before: Any = sys.stderr
    sys.stderr = _Unfailing(before)
    try:
        yield
    finally:
        sys.stderr = before


@contextmanager
def written(path: Path) -> Generator[None]:
    """Say where a release is that is charged and written; what the block cannot show of it is no failure.

    A script that takes it for one would run the command again, and pay again.
    """
    try:
        yield
    except Exception as error:
        say(f"warning: the release is charged and written, but not all of it was shown ({problem_of(error)})", err=True)
    finally:
        say(f"written to {path}", err=True)


def check_output(path: Path, *inputs: Path | str | None, force: bool | None = None) -> None:
    """Refuse a file that cannot be written, or is not to be; `force` is None where the command has no such option."""
    from hedgerow.privacy.budget_file import is_budget  # which loads OpenDP, and the help needs none

    if path.is_dir():
        raise ArgumentError(f"{path} is a folder; give the name of a file.")
    if os.path.lexists(path) and not force:
        raise ArgumentError(f"{path} exists already; give another name{'' if force is None else ', or --force'}.")
    sources = [given for given in inputs if given is not None and os.path.exists(given)]
    if path.exists() and any(os.path.samefile(path, given) for given in sources):
        raise ArgumentError(f"{path} is an input of this command; give the output another name.")
    if path.is_file() and is_budget(path):
        raise ArgumentError(f"{path} is a budget, and its record of what was spent would be lost; give another name.")
    if not path.absolute().parent.is_dir():
        raise ArgumentError(f"{path}: there is no folder {path.parent}.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ArgumentError(f"{path}: the folder {path.absolute().parent} cannot be written to.")


def check_outputs(paths: Sequence[Path | None], *inputs: Path | str | None, force: bool | None = None) -> None:
    asked = [path for path in paths if path is not None]
    for path in asked:
        check_output(path, *inputs, force=force)
    places = [os.path.realpath(path) for path in asked]
    for path, place in zip(asked, places, strict=True):
        if places.count(place) > 1:
            raise ArgumentError(f"two outputs have the name {path}; give each its own.")


def write_or_print(write: Callable[[str], None], text: Callable[[], str], data: Mapping[str, Any]) -> str | None:
    """Write a release that has been charged. If that fails for any reason, print it as JSON, and return the reason."""
    try:
        write(text())
    except BaseException as error:  # an interrupt, too
        problem = problem_of(error)
    else:
        return None
    for to_stderr in (False, True):
        with suppress(OSError):
            typer.echo(json.dumps(data, indent=2), err=to_stderr)
            break
    return problem


def problem_of(error: BaseException) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    name = error.filename if isinstance(error, OSError) else None
    return f"{name}: {reason}" if name else reason or type(error).__name__


def write_said(path: Path, content: str | bytes, more: str = "") -> None:
    write_whole(path, content)
    say(f"written to {path}{more}", err=True)


def print_or_write(text: str, path: Path | None) -> None:
    if path is None:
        say(text)
    else:
        write_said(path, text + "\n")


def check_pictures(*paths: Path | None) -> None:
    """Check that plots that are asked for can be drawn, and that their names have supported endings."""
    from hedgerow.models.plot import check_matplotlib  # models take long to import

    for path in filter(None, paths):
        check_matplotlib()
        if path.suffix.lower() not in PICTURES:
            raise ArgumentError(f"{path}: expected a name that ends in {', '.join(PICTURES)}.")


def draw(plot: Callable[[], Axes], path: Path | None) -> None:
    if path is None:
        return
    without_a_window()
    figure = plot().get_figure(root=True)
    assert figure is not None
    figure.savefig(path, dpi=150)
    say(f"written to {path}", err=True)


def without_a_window() -> None:
    """Have matplotlib draw into files, whatever the environment asks for."""
    with suppress(ModuleNotFoundError):  # pages then say why they have no picture
        import matplotlib as mpl

        mpl.use("Agg")


@contextmanager
def stage(text: str) -> Generator[None]:
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # for a terminal alone: it takes long to import
    from rich.markup import escape

    with Console(stderr=True).status(escape(printable(f"{text} …"))):
        yield


@contextmanager
def progress(text: str) -> Generator[Callable[[int, int], None]]:
    """Yield a function that shows on a terminal how many of how many steps are done."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)
