"""Progress bars on stderr."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import current_thread, main_thread
from typing import Any

Update = Callable[..., object]
"""An update of a bar, as by rich: ``advance=``, ``completed=``, ``total=`` or ``description=``."""


def is_alone_on_terminal() -> bool:
    """Return whether stderr is a terminal, and this the main thread of the main process: bars of others would mix."""
    from multiprocessing import current_process

    is_main = current_process().name == "MainProcess" and current_thread() is main_thread()
    try:
        return is_main and sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):  # closed, or of a caller's
        return False


@contextmanager
def progress_bar(name: str, total: float | None = None, *, verbose: bool, heading: str = "") -> Generator[Update]:
    """Show a bar on a terminal while the block runs, and yield what updates it; if not `verbose`, that does nothing."""
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
    """Yield items, with a bar on stderr if `verbose`; where that is no terminal, with a line at the end."""
    if not verbose or not total:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, name, total, console=Console(stderr=True))
