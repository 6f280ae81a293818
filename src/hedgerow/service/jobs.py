"""Jobs: a bounded, fair queue of long questions; and concurrency limits for callers."""

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
MOST_RUNNING = 4  # concurrent fits of all analysts
MOST_RUNNING_OF_ONE = 1  # concurrent fits of an analyst, including fits that are not due yet
MOST_WAITING = 32  # waiting questions of all analysts; above this, each analyst may have a single question
MOST_OF_ONE = 8  # waiting or running questions of an analyst
_MOST_KEPT = 1000  # jobs that ended without an answer


@dataclass(eq=False)
class Job:
    """Question that waits, is being answered, or was answered.

    Its name follows from the question and the idempotency key, so that it is also known after a restart. A `pending`
    question may have been charged, but has no answer; if it is sent again with its key, it is evaluated.
    """

    name: str
    caller: Caller
    key: str  # the idempotency key
    state: JobState = "queued"  # it is not charged before it is running
    error: Exception | None = None  # the reason if there is no answer
    ended: threading.Event = field(default_factory=threading.Event)


class Jobs:
    """Fair queue in front of a curator.

    Few fits of an analyst run at a time, including fits whose answers are not due yet. The start of a fit therefore
    does not reveal the run time of the previous fit. Waiting fits of an analyst do not delay other analysts.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self._workers = ThreadPoolExecutor(MOST_RUNNING, thread_name_prefix="hedgerow-jobs")
        self._free = MOST_RUNNING  # workers
        self._lock = threading.Lock()
        self._jobs = OrderedDict[tuple[str, str], Job]()  # jobs by analyst and name; answered jobs are in the ledger
        self._queues = defaultdict[str, deque[tuple[Job, Evaluate]]](deque)  # waiting questions by analyst
        self._turns, self._turn = Counter[str](), 0  # number of the last turn of each analyst
        self.failed = 0  # jobs that ended without an answer, and were not cancelled
        self._running = set[Job]()  # including jobs that are not due yet
        self._due = dict[Job, tuple[threading.Timer, EvaluatedQuestion]]()

    def close(self) -> None:
        """Cancel waiting jobs, finish evaluations, and abandon answers that are not due yet."""
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
        """Check and queue a question, and return its job; a known question keeps its job."""
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
        """Return a job of the caller from this process or from the ledger, or None."""
        with self._lock:
            job = self._jobs.get((caller.name, name))
        if job is not None and job.state not in ("refused", "pending", "cancelled"):
            return job
        key = _key_of(name)  # another process of the service may have charged or answered the question
        known = None if key is None else self._curator.ledger.known(caller.name, key)
        if key is None or known is None or name != _name(known.dataset, known.body, key):
            return job
        if job is not None and job.state == known.state:
            return job
        job = Job(name, caller, key, known.state)
        job.ended.set()
        if known.state == "failed":
            job.error = RequestFailedError(
                "the evaluation failed and will not be repeated; the charge stays. Contact the curator."
            )
        return job

    def answer(self, job: Job) -> Answer | None:
        """Return the stored answer of a job, or None."""
        known = self._curator.ledger.known(job.caller.name, job.key) if job.state == "answered" else None
        return None if known is None else self._curator.stored(job.caller, known.request)

    def cancel(self, job: Job) -> None:
        """Cancel a waiting job, which is not charged; a running job continues."""
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
            if own >= MOST_OF_ONE or (own and len(waiting) >= MOST_WAITING):
                problem = "too many questions are waiting"
                raise ServiceBusyError(f"{problem}. Send the request again later with the same idempotency key.")
            self._jobs[name, job.name] = job
            ended = [place for place, other in self._jobs.items() if other.ended.is_set()]
            for place in ended[: max(0, len(self._jobs) - _MOST_KEPT)]:
                del self._jobs[place]
            self._queues[name].append((job, evaluate))
            self._dispatch()
        return job

    def _dispatch(self) -> None:
        """Give free workers to the analysts whose last turn is longest ago."""
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
            result = evaluate()
            if isinstance(result, EvaluatedQuestion):
                self._finish_when_due(job, result)
            else:
                self._finish(job, lambda: result)
        except Exception as error:
            self._fail(job, error)
        finally:
            with self._lock:
                self._free += 1
                self._dispatch()

    def _finish_when_due(self, job: Job, evaluation: EvaluatedQuestion) -> None:
        """Finish an evaluation when it is due, without blocking a worker."""
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
            _LOG.warning("job %s failed: %s", job.name[:32], type(error).__name__)  # its text could quote a row
        finally:  # even if the log cannot be written; a job that never ends would block its analyst
            with self._lock:
                self._end(job, _state_after(error))

    def _end(self, job: Job, state: JobState) -> None:
        job.state = state
        self._running.discard(job)
        self.failed += state not in ("answered", "cancelled")
        if state in ("answered", "failed"):
            self._jobs.pop((job.caller.name, job.name), None)
        job.ended.set()
        self._dispatch()


def _name(dataset: str, asked: str, key: str) -> str:
    encoded = urlsafe_b64encode(key.encode()).decode().rstrip("=")
    return digest(f"{dataset}\n{asked}")[:32] + "." + encoded


def _key_of(name: str) -> str | None:
    """Return the idempotency key in the name of a job, or None if the name is not valid."""
    encoded = name.partition(".")[2][:300]
    with suppress(ValueError):
        key = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
        return key if is_key(key) else None
    return None


def _state_after(error: Exception) -> JobState:
    """Return the state of a job after an error; 'refused' only if it is certain that nothing was charged."""
    if isinstance(error, RequestFailedError):
        return "failed"
    uncharged = isinstance(error, (RefusalError, BudgetExceededError, RequestConflictError))
    return "pending" if not uncharged or getattr(error, "charged", False) is not False else "refused"


MOST_AT_ONCE = 4
"""Concurrent questions of an analyst, including answers that are not due yet."""
MOST_FREE_AT_ONCE = 2  # concurrent uncharged requests of a caller
MOST_TURNS_WAITING = 64  # waiting requests of a caller, of each kind
FREE_SECONDS = 10.0  # timeout of an uncharged request
_T = TypeVar("_T")


class Turn:
    """Turn of a caller, in which calls run in threads."""

    def __init__(self) -> None:
        self._working: asyncio.Future[Any] | None = None

    async def run(self, call: Callable[[], _T]) -> _T:
        """Return the result of a call that is always finished, even if the client is gone."""
        return await to_thread.run_sync(call, limiter=CapacityLimiter(1))

    async def run_free(self, call: Callable[[], _T]) -> _T:
        """Return the result of a call that may be interrupted by the end of the process."""
        future = Future[_T]()
        Thread(target=_settle, args=(future, call), name="hedgerow free call", daemon=True).start()
        self._working = waited = asyncio.wrap_future(future)
        waited.add_done_callback(_retrieved)
        done, _ = await asyncio.wait({waited}, timeout=FREE_SECONDS)
        if not done:
            problem = f"the request was not answered within {FREE_SECONDS:g} seconds. Send it again later."
            raise ServiceBusyError(problem, charged=None)
        return waited.result()

    async def over(self) -> None:
        if self._working is not None and not self._working.done():
            await asyncio.wait({self._working})


class ConcurrencyLimits:
    """Concurrency limits for each caller, so that callers do not wait for each other."""

    def __init__(self, at_once: int) -> None:
        self._limiters = dict[str, CapacityLimiter]()
        self._new = partial(CapacityLimiter, at_once)

    @asynccontextmanager
    async def of(self, caller: Caller) -> AsyncGenerator[Turn]:
        limiter = self._limiters.get(caller.name)
        if limiter is None:  # the number of names is bounded, since callers are authenticated
            limiter = self._limiters[caller.name] = self._new()
        if limiter.statistics().tasks_waiting >= MOST_TURNS_WAITING:
            problem = "too many of your requests are waiting, and this request was not processed. Send it again later."
            raise ServiceBusyError(problem, charged=None)  # the same question may have been charged before
        turn = Turn()
        async with limiter:
            try:
                yield turn
            finally:
                await turn.over()


def _retrieved(future: asyncio.Future[Any]) -> None:
    """Retrieve the exception of an abandoned call; otherwise asyncio would log its text."""
    if not future.cancelled():
        future.exception()


def _settle(future: Future[_T], call: Callable[[], _T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)
