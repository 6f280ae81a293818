"""Objects that charge and answer in one process alone: the one that made them."""

import os
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NoReturn, Self

from hedgerow.errors import NotPicklableError, StateError

_here = object()
"""This process. A number can come again, when a process has ended; this one is no other process's."""


def _renew() -> None:
    global _here
    _here = object()


os.register_at_fork(after_in_child=_renew)


def read_only(attribute: str, doc: str) -> Any:
    """Return a property that has the value of another attribute, such as ``_account.epsilon``."""
    return property(attrgetter(attribute), doc=doc)


class OfOneProcess:
    """Base class of what charges or answers: not used in a fork, not pickled; a copy is the same object."""

    # A copy would charge or answer again, and what it spent would not count here.

    def __init__(self) -> None:
        self._made_in = _here, os.getpid()  # the number tells forks that Python did not make

    def check_process(self) -> None:
        """Raise StateError in any process but the one that made this."""
        if self._made_in != (_here, os.getpid()):
            raise StateError(
                f"This {type(self).__name__} was made in another process; what is charged or answered in this forked "
                "copy would not count there. Keep what shares it in one process (n_jobs=1, or threads), or make it "
                "where it is used: each process can open a budget file of its own accord."
            )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        problem = f"{type(self).__name__} cannot be pickled: a copy would be a second budget, or answer a second time."
        raise NotPicklableError(f"{problem} Keep what shares it in one process (n_jobs=1, or threads).")
