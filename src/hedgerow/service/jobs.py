"""Jobs: questions that take long wait in a bounded queue, and are answered one after the other."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

from hedgerow.chain import digest
from hedgerow.errors import AccessError, ServiceBusyError
from hedgerow.service.curator import Answer, Caller, Curator
from hedgerow.service.forms import Kind

State = Literal["queued", "running", "answered", "refused", "cancelled"]
MOST_WAITING = 32
"""The most questions that wait, of all analysts."""
MOST_OF_ONE = 8
"""The most questions that wait, of one analyst."""
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
            self._check_room(caller)
            job = self._jobs[name] = Job(name, caller)
            self._forget()
            self._waiting[name] = self._workers.submit(
                self._run, job, lambda: self._curator.ask(caller, dataset, kind, key, body)
            )
        return job

    def get(self, caller: Caller, name: str) -> Job:
        """Return a job of the caller's."""
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
        """How many questions wait, the one that is being answered not counted."""
        with self._lock:
            return sum(self._jobs[name].state == "queued" for name in self._waiting)

    def _run(self, job: Job, ask: Callable[[], Answer]) -> None:
        job.state = "running"
        try:
            job.answer = ask()
        except Exception as error:
            job.error = error.with_traceback(None)
        with self._lock:
            self._end(job, "answered" if job.answer is not None else "refused")

    def _end(self, job: Job, state: State) -> None:
        job.state = state
        self._waiting.pop(job.name, None)
        job.ended.set()

    def _check_room(self, caller: Caller) -> None:
        own = sum(self._jobs[name].caller.name == caller.name for name in self._waiting)
        if len(self._waiting) >= MOST_WAITING or own >= MOST_OF_ONE:
            raise ServiceBusyError("too many questions are waiting; nothing was charged. Ask again later.")

    def _forget(self) -> None:
        ended = [name for name in self._jobs if name not in self._waiting]
        for name in ended[: max(0, len(self._jobs) - _MOST_KEPT)]:
            del self._jobs[name]
