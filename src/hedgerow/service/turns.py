"""Turns: how many questions of one analyst are answered at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from hedgerow.service.curator import Caller

MOST_AT_ONCE = 4
"""The most questions of one analyst that are answered at once, those that wait until they may leave included."""
_T = TypeVar("_T")


class Turns:
    """Threads for questions: each analyst has some, so that nobody waits for another's, and free calls for none."""

    def __init__(self) -> None:
        self._limiters = dict[str, CapacityLimiter]()

    async def run(self, caller: Caller, call: Callable[[], _T]) -> _T:
        """Run `call` in a thread, once it is the caller's turn; it is not given up where the client is gone."""
        limiter = self._limiters.get(caller.name)
        if limiter is None:  # no caller is unknown: names are those of keys and tokens
            limiter = self._limiters[caller.name] = CapacityLimiter(MOST_AT_ONCE)
        return await to_thread.run_sync(call, limiter=limiter)
