"""Objects that charge and answer only in the process that created them."""

import os
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NoReturn, Self

from hedgerow.errors import NotPicklableError, StateError

_here = object()
"""The identity of this process. Unlike a process number, it is never used again by another process."""


def _renew() -> None:
    global _here
    _here = object()


os.register_at_fork(after_in_child=_renew)


def read_only(attribute: str, doc: str) -> Any:
    """Return a property with the value of another attribute, such as ``_account.epsilon``."""
    return property(attrgetter(attribute), doc=doc)


class ProcessBound:
    """Base class of objects with identity: they cannot be pickled or used in a fork, and a copy is the same object."""

    # A copy could charge or answer a second time, without an effect on the original.

    def __init__(self) -> None:
        self._process = _here, os.getpid()  # the number detects forks that Python did not make

    def check_process(self) -> None:
        """Raise StateError unless this is the process that created the object."""
        if self._process != (_here, os.getpid()):
            name = type(self).__name__
            raise StateError(
                f"{name} was created in another process, and charges or answers in this fork would not be recorded "
                f"there. Use the {name} in one process (n_jobs=1, or threads), or create it in the process that uses "
                "it. Several processes can open the same budget file."
            )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        name = type(self).__name__
        problem = f"{name} cannot be pickled: a copy would be a second budget, or answer a second time."
        raise NotPicklableError(f"{problem} Use the {name} in one process (n_jobs=1, or threads).")
