"""Progress bars on stderr."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import current_thread, main_thread
from typing import Any

Update = Callable[..., object]
"""A function that updates a bar, with rich's ``advance=``, ``completed=``, ``total=`` or ``description=``."""


def is_alone_on_terminal() -> bool:
    """Return whether stderr is a terminal and this is the main thread of the main process.

    Bars of several threads would overwrite each other.
    """
    from multiprocessing import current_process

    is_main = current_process().name == "MainProcess" and current_thread() is main_thread()
    try:
        return is_main and sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):  # stderr is closed, or an object of the caller
        return False


@contextmanager
def progress_bar(name: str, total: float | None = None, *, verbose: bool, heading: str = "") -> Generator[Update]:
    """Show a bar on a terminal while the block runs, and yield its update function, without effect if not `verbose`."""
    if not verbose:
        yield lambda **_: None
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if heading:
        console.print(heading, highlight=False, soft_wrap=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        yield partial(bar.update, bar.add_task(name, total=total))


def tracked(items: Iterable[Any], name: str, total: int, *, verbose: bool) -> Iterator[Any]:
    """Yield items with a bar on stderr if `verbose`; if stderr is not a terminal, write one line at the end."""
    if not verbose or not total:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, name, total, console=Console(stderr=True))
