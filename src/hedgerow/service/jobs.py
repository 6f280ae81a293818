"""Jobs, a bounded queue of questions that take long, answered one after the other; and limits of concurrency."""

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import Any, Literal, TypeVar

from anyio import CapacityLimiter, to_thread

from hedgerow.boundary.canonical import digest
from hedgerow.errors import AccessError, ServiceBusyError
from hedgerow.service.curator import Answer, Caller, Curator
from hedgerow.service.forms import Kind

_LOG = logging.getLogger(__name__)
State = Literal["queued", "running", "answered", "refused", "cancelled"]
MOST_WAITING = 32  # the most questions that wait, of all analysts
MOST_OF_ONE = 8  # the most questions that wait, of one analyst
_MOST_KEPT = 1000  # jobs that have ended


@dataclass(eq=False)
class Job:
    """A question that waits, is being answered, or was."""

    name: str  # the job's name: it follows from the analyst and the idempotency key
    caller: Caller  # who asked
    state: State = "queued"  # what became of it. Nothing is charged before it is running.
    answer: Answer | None = None  # the answer
    error: Exception | None = None  # why it was refused
    ended: threading.Event = field(default_factory=threading.Event)


class Jobs:
    """A queue in front of a curator, answered by one thread."""

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self._workers = ThreadPoolExecutor(1, thread_name_prefix="hedgerow-jobs")
        self._lock = threading.Lock()
        self._jobs = OrderedDict[str, Job]()
        self._waiting = dict[str, Future[None]]()

    def close(self) -> None:
        """Cancel what waits, and wait for what is being answered."""
        self._workers.shutdown(cancel_futures=True)

    def submit(self, caller: Caller, dataset: str, kind: Kind, key: str, body: bytes) -> Job:
        """Queue a question that was checked, and return its job; the same one where it is known."""
        self._curator.check(caller, dataset, kind, key, body)
        name = digest(f"{caller.name}\n{key}\n{dataset}\n{kind}\n{digest(body)}")[:32]
        with self._lock:
            known = self._jobs.get(name)
            if known is not None and known.state in ("queued", "running", "answered"):
                return known
            own = sum(self._jobs[other].caller.name == caller.name for other in self._waiting)
            if len(self._waiting) >= MOST_WAITING or own >= MOST_OF_ONE:
                raise ServiceBusyError("too many questions are waiting; nothing was charged. Ask again later.")
            job = self._jobs[name] = Job(name, caller)
            ended = [other for other in self._jobs if other not in self._waiting]
            for other in ended[: max(0, len(self._jobs) - _MOST_KEPT)]:
                del self._jobs[other]
            self._waiting[name] = self._workers.submit(
                self._run, job, lambda: self._curator.ask(caller, dataset, kind, key, body)
            )
        return job

    def get(self, caller: Caller, name: str) -> Job:
        with self._lock:
            job = self._jobs.get(name)
        if job is None or job.caller.name != caller.name:
            raise AccessError("expected a job of yours, got another name; send the request again, with the same key.")
        return job

    def cancel(self, caller: Caller, name: str) -> Job:
        """Cancel a job that still waits, which costs nothing; one that is being answered goes on."""
        job = self.get(caller, name)
        with self._lock:
            if job.state == "queued" and self._waiting[name].cancel():
                self._end(job, "cancelled")
        return job

    @property
    def waiting(self) -> int:
        """Number of questions that wait, the one that is being answered not counted."""
        with self._lock:
            return sum(self._jobs[name].state == "queued" for name in self._waiting)

    def _run(self, job: Job, ask: Callable[[], Answer]) -> None:
        job.state = "running"
        try:
            job.answer = ask()
        except Exception as error:
            job.error = error.with_traceback(None)
            _LOG.warning("job %s failed: %s", job.name, type(error).__name__)  # its text could quote a row
        with self._lock:
            self._end(job, "answered" if job.answer is not None else "refused")

    def _end(self, job: Job, state: State) -> None:
        job.state = state
        self._waiting.pop(job.name, None)
        job.ended.set()


MOST_AT_ONCE = 4
"""The most questions of one analyst that are answered at once, those that wait until they may leave included."""
MOST_FREE_AT_ONCE = 2  # the most free requests of one caller that are worked on at once
MOST_TURNS_WAITING = 64  # the most requests of one caller that wait for a turn: of questions, and of free ones
FREE_SECONDS = 10.0  # for how long a caller waits for what is free
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
        if self._working is not None and not self._working.done():
            await asyncio.wait({self._working})


class ConcurrencyLimits:
    """Each caller has some turns, so that nobody waits for another's requests."""

    def __init__(self, at_once: int) -> None:
        self._limiters = dict[str, CapacityLimiter]()
        self._new = partial(CapacityLimiter, at_once)

    @asynccontextmanager
    async def of(self, caller: Caller) -> AsyncGenerator[Turn]:
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
