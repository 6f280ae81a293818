"""A guard around foreign code that sees private rows. It replaces errors and suppresses warnings."""

import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def guarded(call: Callable[[], T], problem: Exception | Callable[[], Exception]) -> T:
    """Return the result of `call`, or raise `problem` if it fails. A function is called to create the error.

    An exception of foreign code can quote a value in its text, arguments, notes or context. It is therefore dropped
    completely before `problem` is raised, which has no context. Warnings can quote values, too, and are suppressed.
    `call` must not raise errors of hedgerow, which would also be dropped.
    """
    try:
        with _without_warnings():
            return call()
    except (SystemExit, GeneratorExit) as error:
        replacement: BaseException | None = type(error)()
    except BaseException as error:  # a panic of polars is not an Exception
        kind = next((kind for kind in (MemoryError, KeyboardInterrupt) if isinstance(error, kind)), None)
        replacement = None if kind is None else kind()
    if replacement is None:
        replacement = problem if isinstance(problem, Exception) else problem()
    raise replacement


_lock = threading.Lock()
_inside = 0
_filters = warnings.catch_warnings()


@contextmanager
def _without_warnings() -> Generator[None]:
    """Suppress warnings. Filters belong to the process: the first thread to enter sets them, the last restores them."""
    global _inside, _filters
    with _lock:
        if not _inside:
            _filters = warnings.catch_warnings()
            _filters.__enter__()
            warnings.simplefilter("ignore")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _filters.__exit__(None, None, None)
