"""Guard around foreign code that sees private rows: its errors and warnings are replaced by hedgerow's own."""

import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def guarded(call: Callable[[], T], problem: Exception | Callable[[], Exception]) -> T:
    """Return the result of `call`, or raise `problem` if it fails; a function makes it only then.

    Whatever foreign code raises can quote a value: its text, its arguments, its notes, the exceptions before it. So
    nothing of it is kept; `problem` is raised once it is gone, and has no context. Warnings can quote a value too, and
    are not shown. `call` must not raise errors of hedgerow: they would be lost as well.
    """
    try:
        with _without_warnings():
            return call()
    except (SystemExit, GeneratorExit) as error:
        replacement: BaseException | None = type(error)()
    except BaseException as error:  # a panic of polars is not an Exception
        same = next((kind for kind in (MemoryError, KeyboardInterrupt) if isinstance(error, kind)), None)
        replacement = None if same is None else same()
    if replacement is None:
        replacement = problem if isinstance(problem, Exception) else problem()
    raise replacement


_lock = threading.Lock()
_inside = 0
_filters = warnings.catch_warnings()


@contextmanager
def _without_warnings() -> Generator[None]:
    """Show no warning meanwhile. Filters are those of the process: the first in changes, the last out restores them."""
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
