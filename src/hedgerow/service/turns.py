"""Turns: how many requests of one caller are worked on at once, how many wait, and for how long free ones are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread

from hedgerow.errors import ServiceBusyError
from hedgerow.service.curator import Caller

MOST_AT_ONCE = 4
"""The most questions of one analyst that are answered at once, those that wait until they may leave included."""
MOST_FREE_AT_ONCE = 2
"""The most free requests of one caller that are worked on at once."""
MOST_TURNS_WAITING = 64
"""The most requests of one caller that wait for a turn: of questions, and of free ones."""
FREE_SECONDS = 10.0
"""For how long a caller waits for what is free."""
_T = TypeVar("_T")


class Turn:
    """A caller's turn, in which calls run in threads."""

    def __init__(self) -> None:
        self._working: asyncio.Future[Any] | None = None

    async def run(self, call: Callable[[], _T]) -> _T:
        """Return what a call returns that the process finishes before it ends, also where the client is gone."""
        return await to_thread.run_sync(call, limiter=CapacityLimiter(1))

    async def run_free(self, call: Callable[[], _T]) -> _T:
        """Return what a call returns that the process may end before it has."""
        found = Future[_T]()
        Thread(target=_settle, args=(found, call), name="hedgerow free call", daemon=True).start()
        self._working = waited = asyncio.wrap_future(found)
        waited.add_done_callback(_retrieved)
        done, _ = await asyncio.wait({waited}, timeout=FREE_SECONDS)
        if not done:
            raise ServiceBusyError(f"expected a request that is answered within {FREE_SECONDS:g} seconds; ask less.")
        return waited.result()

    async def over(self) -> None:
        """Wait until nothing runs any more."""
        if self._working is not None and not self._working.done():
            await asyncio.wait({self._working})


class Turns:
    """Each caller has some turns, so that nobody waits for another's requests."""

    def __init__(self, at_once: int) -> None:
        self._limiters = dict[str, CapacityLimiter]()
        self._new = partial(CapacityLimiter, at_once)

    @asynccontextmanager
    async def of(self, caller: Caller) -> AsyncGenerator[Turn]:
        """Wait for a turn of a caller's."""
        limiter = self._limiters.get(caller.name)
        if limiter is None:  # no caller is unknown: names are those of keys and tokens
            limiter = self._limiters[caller.name] = self._new()
        if limiter.statistics().tasks_waiting >= MOST_TURNS_WAITING:
            raise ServiceBusyError("too many of your requests are waiting; nothing was charged. Ask again later.")
        turn = Turn()
        async with limiter:
            try:
                yield turn
            finally:
                await turn.over()


def _retrieved(future: asyncio.Future[Any]) -> None:
    """Take what became of a call that nobody waits for: asyncio would log the text of its exception."""
    if not future.cancelled():
        future.exception()


def _settle(found: Future[_T], call: Callable[[], _T]) -> None:
    try:
        found.set_result(call())
    except BaseException as error:
        found.set_exception(error)
