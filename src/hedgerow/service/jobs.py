"""Jobs, a bounded queue of questions that take long, in which analysts take turns; and limits of concurrency."""

import asyncio
import logging
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import Any, Literal, TypeVar

from anyio import CapacityLimiter, to_thread

from hedgerow.boundary.canonical import digest
from hedgerow.errors import (
    BudgetExceededError,
    RefusalError,
    RequestConflictError,
    RequestFailedError,
    ServiceBusyError,
)
from hedgerow.service.curator import Answer, Curator, EvaluatedQuestion
from hedgerow.service.requests import Caller, Request, is_key

_LOG = logging.getLogger(__name__)
Evaluate = Callable[[], Answer | EvaluatedQuestion]
JobState = Literal["queued", "running", "pending", "answered", "refused", "failed", "cancelled"]
MOST_RUNNING = 4  # the most fits that are evaluated at once, of all analysts
MOST_RUNNING_OF_ONE = 1  # the most fits of one analyst that are evaluated, or wait until they may leave
MOST_WAITING = 32  # the most questions that wait, of all analysts; beyond it everybody may have one
MOST_OF_ONE = 8  # the most questions that wait or are evaluated, of one analyst
_MOST_KEPT = 1000  # jobs that ended without an answer


@dataclass(eq=False)
class Job:
    """A question that waits, is being answered, or was.

    Its name is made from the question and the idempotency key, so that after a restart the ledger knows it, too.
    `pending` is a question that may be charged and has no answer: sent again with its key, it is evaluated.
    """

    name: str
    caller: Caller  # who asked
    key: str  # the idempotency key
    state: JobState = "queued"  # nothing is charged before it is running
    error: Exception | None = None  # why there is no answer
    ended: threading.Event = field(default_factory=threading.Event)


class Jobs:
    """A queue in front of a curator, in which analysts take turns.

    Each has few fits that run or wait until their answers may leave. So the start of an own fit shows nothing of how
    long the one before took, and an analyst with many fits delays another by none that has not begun.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self._workers = ThreadPoolExecutor(MOST_RUNNING, thread_name_prefix="hedgerow-jobs")
        self._free = MOST_RUNNING  # workers
        self._lock = threading.Lock()
        self._jobs = OrderedDict[tuple[str, str], Job]()  # by analyst and name; of answered ones the ledger knows
        self._queues = defaultdict[str, deque[tuple[Job, Evaluate]]](deque)  # by analyst
        self._turns, self._turn = Counter[str](), 0  # when each analyst had a worker last, as the number of that turn
        self._running = set[Job]()  # those that wait until their answers may leave included
        self._due = dict[Job, tuple[threading.Timer, EvaluatedQuestion]]()

    def close(self) -> None:
        """Cancel the jobs that wait, finish evaluations, and drop answers that may not leave yet."""
        with self._lock:
            waiting = [job for queue in self._queues.values() for job, _ in queue]
            self._queues.clear()
            for job in waiting:
                self._end(job, "cancelled")
        self._workers.shutdown()
        with self._lock:
            due, self._due = self._due, {}
        for timer, evaluation in due.values():
            timer.cancel()
            self._curator.abandon(evaluation)

    def submit(self, request: Request) -> Job:
        """Queue a question that was checked, and return its job; the same one where it is known."""
        name = _name(request.dataset, request.digest, request.key)
        known = self.get(request.caller, name)
        if known is not None and known.state in ("queued", "running", "answered", "failed"):
            return known
        try:
            self._curator.check(request)
            return self._queued(Job(name, request.caller, request.key), partial(self._curator.evaluate, request))
        except RefusalError as error:
            error.charged = self._curator.known(request) is not None
            raise

    def get(self, caller: Caller, name: str) -> Job | None:
        """Return a job of the caller's, as this process or else the ledger knows it; None if neither does."""
        with self._lock:
            job = self._jobs.get((caller.name, name))
        if job is not None:
            return job
        key = _key_of(name)
        known = None if key is None else self._curator.ledger.known(caller.name, key)
        if key is None or known is None or name != _name(known.dataset, known.body, key):
            return None
        job = Job(name, caller, key, known.state)
        job.ended.set()
        if known.state == "failed":
            job.error = RequestFailedError("the evaluation failed, which is final; the charge stays. Ask the curator.")
        return job

    def answer(self, job: Job) -> Answer | None:
        """Return the stored answer of a job; None if there is none."""
        known = self._curator.ledger.known(job.caller.name, job.key) if job.state == "answered" else None
        return None if known is None else self._curator.stored(job.caller, known.request)

    def cancel(self, job: Job) -> None:
        """Cancel a job that still waits, which costs nothing; one that is being answered goes on."""
        with self._lock:
            queue = self._queues[job.caller.name]
            place = next((place for place, (other, _) in enumerate(queue) if other is job), None)
            if place is not None:
                del queue[place]
                self._end(job, "cancelled")

    @property
    def waiting(self) -> int:
        """Number of questions that wait for a worker."""
        with self._lock:
            return sum(map(len, self._queues.values()))

    def _queued(self, job: Job, evaluate: Evaluate) -> Job:
        name = job.caller.name
        with self._lock:
            known = self._jobs.get((name, job.name))
            if known is not None and known.state in ("queued", "running"):
                return known
            waiting = [other for queue in self._queues.values() for other, _ in queue]
            own = sum(other.caller.name == name for other in (*waiting, *self._running))
            if own >= MOST_OF_ONE or (own and len(waiting) >= MOST_WAITING):  # everybody may have one
                problem = "too many questions are waiting"
                raise ServiceBusyError(f"{problem}. Ask again later, with the same idempotency key.")
            self._jobs[name, job.name] = job
            ended = [place for place, other in self._jobs.items() if other.ended.is_set()]
            for place in ended[: max(0, len(self._jobs) - _MOST_KEPT)]:
                del self._jobs[place]
            self._queues[name].append((job, evaluate))
            self._dispatch()
        return job

    def _dispatch(self) -> None:
        """Give free workers to the analysts who have not had one for longest."""
        while self._free and (name := self._next()) is not None:
            job, evaluate = self._queues[name].popleft()
            self._turn += 1
            self._turns[name] = self._turn
            self._free -= 1
            self._running.add(job)
            job.state = "running"
            self._workers.submit(self._run, job, evaluate)

    def _next(self) -> str | None:
        running = [job.caller.name for job in self._running]
        ready = [name for name, queue in self._queues.items() if queue and running.count(name) < MOST_RUNNING_OF_ONE]
        return min(ready, key=self._turns.__getitem__, default=None)

    def _run(self, job: Job, evaluate: Evaluate) -> None:
        try:
            found = evaluate()
            if isinstance(found, EvaluatedQuestion):
                self._finish_when_due(job, found)
            else:
                self._finish(job, lambda: found)
        except Exception as error:
            self._fail(job, error)
        finally:
            with self._lock:
                self._free += 1
                self._dispatch()

    def _finish_when_due(self, job: Job, evaluation: EvaluatedQuestion) -> None:
        """Finish an evaluation, outside the workers if it has to wait."""
        wait, finish = evaluation.due - time.monotonic(), partial(self._curator.finish, evaluation)
        if wait <= 0:
            self._finish(job, finish)
            return
        timer = threading.Timer(wait, self._finish, (job, finish))
        timer.daemon = True
        with self._lock:
            self._due[job] = timer, evaluation
        timer.start()

    def _finish(self, job: Job, finish: Callable[[], Answer]) -> None:
        with self._lock:
            self._due.pop(job, None)
        try:
            finish()
        except Exception as error:
            self._fail(job, error)
            return
        with self._lock:
            self._end(job, "answered")

    def _fail(self, job: Job, error: Exception) -> None:
        job.error = error.with_traceback(None)
        try:
            _LOG.warning("job %s failed: %s", job.name[:32], type(error).__name__)  # not its text: it could quote a row
        finally:  # also if the log cannot be written: a job that never ended would keep its analyst's turn
            with self._lock:
                self._end(job, _state_after(error))

    def _end(self, job: Job, state: JobState) -> None:
        job.state = state
        self._running.discard(job)
        if state in ("answered", "failed"):
            self._jobs.pop((job.caller.name, job.name), None)
        job.ended.set()
        self._dispatch()


def _name(dataset: str, asked: str, key: str) -> str:
    encoded = urlsafe_b64encode(key.encode()).decode().rstrip("=")
    return digest(f"{dataset}\n{asked}")[:32] + "." + encoded


def _key_of(name: str) -> str | None:
    """Return the idempotency key in a job's name; None if no job has this name."""
    encoded = name.partition(".")[2][:300]
    with suppress(ValueError):
        key = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
        return key if is_key(key) else None
    return None


def _state_after(error: Exception) -> JobState:
    """Return the state of a job whose evaluation raised: refused only if it is known that nothing was charged."""
    if isinstance(error, RequestFailedError):
        return "failed"
    uncharged = isinstance(error, (RefusalError, BudgetExceededError, RequestConflictError))
    return "pending" if not uncharged or getattr(error, "charged", False) is not False else "refused"


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
            problem = f"the request was not answered within {FREE_SECONDS:g} seconds. Ask again later, or ask less."
            raise ServiceBusyError(problem, charged=None)
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
            problem = "too many of your requests are waiting, and this one was not processed. Ask again later."
            raise ServiceBusyError(problem, charged=None)  # the same question may have been charged before
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
