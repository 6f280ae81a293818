"""Log of the messages that tests make: every error of hedgerow's and every warning, with where it is made.

Pytest hooks, asleep unless the variable HEDGEROW_MESSAGES names a folder; each process writes one file there.
`make messages` (`tests/write_messages.py`) merges the files into `tests/messages.txt`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from hypothesis import settings

from hedgerow import errors
from tests.message_templates import ERRORS, SOURCE, qualified

VARIABLE = "HEDGEROW_MESSAGES"
_KINDS = (
    errors.HedgerowError,
    errors.OverlapWarning,
    errors.NoiseWarning,
)  # each gets an `__init__` of its own while messages are logged

Made = tuple[str, str, int, str]  # module, function, line of the call that makes the error, message
_made: set[Made] = set()


def pytest_configure() -> None:
    if os.environ.get(VARIABLE):
        settings.register_profile("messages", settings.get_profile("hedgerow"), derandomize=True)
        settings.load_profile("messages")
        for kind in _KINDS:
            kind.__init__ = _logged(kind)


def pytest_unconfigure() -> None:
    folder = os.environ.get(VARIABLE)
    if folder:
        for kind in _KINDS:
            del kind.__init__
        place = Path(folder) / f"{os.environ.get('PYTEST_XDIST_WORKER', 'main')}.json"
        place.write_text(json.dumps(sorted(_made)), encoding="utf-8")


def read_log(folder: Path) -> set[Made]:
    """Return what the processes of a run have logged."""
    return {tuple(made) for path in folder.glob("*.json") for made in json.loads(path.read_text(encoding="utf-8"))}


def _logged(kind: type[Exception]) -> Any:
    """Return an `__init__` for an exception class that has none of its own, and that logs the message."""

    def __init__(self: Exception, *args: Any, **named: Any) -> None:  # noqa: N807 -- it becomes a method
        super(kind, self).__init__(*args, **named)
        frame = _maker(sys._getframe(1))
        if frame is not None:
            module = Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix()
            _made.add((module, qualified(frame.f_code.co_qualname), frame.f_lineno, str(self)))

    return __init__


def _maker(frame: FrameType | None) -> FrameType | None:
    """Return the frame of hedgerow that makes an error, from the one that calls its `__init__`; None if a test does."""
    while frame is not None and frame.f_code.co_filename == str(ERRORS):
        frame = frame.f_back
    return frame if frame is not None and Path(frame.f_code.co_filename).is_relative_to(SOURCE) else None
