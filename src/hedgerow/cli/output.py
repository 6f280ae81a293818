"""Output of commands: text, plots, and files, which are written atomically and overwritten only with --force."""

import json
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
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
"""Bytes of disk space that are reserved before the charge; all but the largest models need less."""
PICTURES = (".png", ".svg", ".pdf")


def say(text: object, *, err: bool = False, newline: bool = True) -> None:
    """Print text. On a terminal, escape control characters except line breaks and tabs.

    SQL, JSON and predictions contain names and values of other people's files verbatim.
    """
    shown = printable(str(text), keep="\n\t") if (sys.stderr if err else sys.stdout).isatty() else str(text)
    problem = None
    try:
        typer.echo(shown, err=err, nl=newline)
    except OSError as error:
        problem = FileError.of(error.errno, error.strerror, "standard output")
    except UnicodeEncodeError as error:
        problem = ArgumentError(
            f"standard output cannot encode the text in {error.encoding}; set PYTHONIOENCODING=utf-8."
        )
    if problem is not None:
        _drop(sys.stdout)
        raise problem


class _Unfailing:
    """Stream that ignores failed writes, so that an unreadable message does not stop a command."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # writing to the buffer would bypass this class
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
    """Redirect a failed stream to the null device; Python would flush it again at exit, and fail."""
    with suppress(OSError, ValueError):
        number, nowhere = stream.fileno(), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
        stream.flush()


def model_text(model: "Model", *, is_full: bool = False) -> str:
    """Return a model as `fit` and `show` print it: its size, the model and its privacy card."""
    return f"{model.size}\n\n{model.to_text() if is_full else model}\n\n{model.privacy}"


@contextmanager
def standard_streams() -> Generator[None]:
    """Reopen closed standard streams, so that no file gets their numbers; ignore failures of stderr.

    Writing to a standard output that was closed raises an error, as on a full disk.
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
    """Print where a release was written; only warn if the block, which prints the release, fails.

    A script that took this for a failure would run the command again, and spend budget again.
    """
    try:
        yield
    except Exception as error:
        say(f"warning: the release was charged and written, but printing it failed ({problem_of(error)})", err=True)
    finally:
        say(f"written to {path}", err=True)


def check_output(path: Path, *inputs: Path | str | None, force: bool | None = None) -> None:
    """Raise `ArgumentError` if an output file must not or cannot be written; `force` is None without that option."""
    from hedgerow.privacy.budget_file import check_no_budget  # loads OpenDP, which the help does not need

    if path.is_dir():
        raise ArgumentError(f"{path} is a directory; give the name of a file.")
    if os.path.lexists(path) and not force:
        raise ArgumentError(f"{path} already exists; give another name{'' if force is None else ', or add --force'}.")
    sources = [given for given in inputs if given is not None and os.path.exists(given)]
    if path.exists() and any(os.path.samefile(path, given) for given in sources):
        raise ArgumentError(f"{path} is an input of this command; give the output another name.")
    check_no_budget(path)
    if not path.absolute().parent.is_dir():
        raise ArgumentError(f"{path}: the directory {path.parent} does not exist.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ArgumentError(f"{path}: no permission to write to the directory {path.absolute().parent}.")


def check_outputs(paths: Sequence[Path | None], *inputs: Path | str | None, force: bool | None = None) -> None:
    outputs = [path for path in paths if path is not None]
    for path in outputs:
        check_output(path, *inputs, force=force)
    real_paths = [os.path.realpath(path) for path in outputs]
    for path, real_path in zip(outputs, real_paths, strict=True):
        if real_paths.count(real_path) > 1:
            raise ArgumentError(f"{path} is the name of two outputs; give each output its own name.")


def write_or_print(write: Callable[[str], None], text: Callable[[], str], data: Mapping[str, Any]) -> str | None:
    """Write a charged release; if writing fails, print it as JSON and return the reason, else return None."""
    try:
        write(text())
    except BaseException as error:  # including KeyboardInterrupt
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


def write_file(path: Path, content: str | bytes, more: str = "", *, mode: int | None = None) -> None:
    write_whole(path, content, mode)
    say(f"written to {path}{more}", err=True)


def print_or_write(text: str, path: Path | None, *, mode: int | None = None) -> None:
    if path is None:
        say(text)
    else:
        write_file(path, text + "\n", mode=mode)


def check_pictures(*paths: Path | None) -> None:
    """Raise an error if matplotlib is missing or an image file has an unsupported ending."""
    from hedgerow.models.plot import check_matplotlib  # models take long to import

    for path in filter(None, paths):
        check_matplotlib()
        if path.suffix.lower() not in PICTURES:
            raise ArgumentError(f"{path}: expected a name that ends in {' or '.join(PICTURES)}.")


def draw(plot: Callable[[], Axes], path: Path | None, *, mode: int | None = None) -> None:
    if path is None:
        return
    without_a_window()
    figure = plot().get_figure(root=True)
    assert figure is not None
    picture = BytesIO()
    figure.savefig(picture, format=path.suffix[1:].lower(), dpi=150)
    write_file(path, picture.getvalue(), mode=mode)


def without_a_window() -> None:
    """Make matplotlib draw into files, regardless of the environment."""
    with suppress(ModuleNotFoundError):  # pages without matplotlib state why they have no picture
        import matplotlib as mpl

        mpl.use("Agg")


@contextmanager
def stage(text: str) -> Generator[None]:
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # slow to import, and needed on terminals only
    from rich.markup import escape

    with Console(stderr=True).status(escape(printable(f"{text} …"))):
        yield


@contextmanager
def progress(text: str) -> Generator[Callable[[int, int], None]]:
    """Yield a function that updates a progress bar on a terminal."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text)
        yield lambda done, total: bar.update(task, completed=done, total=total)
