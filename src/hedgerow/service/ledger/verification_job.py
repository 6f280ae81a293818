"""A verification in the background, which goes on from its checkpoint if it was interrupted."""

import threading
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.errors import LedgerError, LedgerUnavailableError
from hedgerow.service.ledger.log import Log
from hedgerow.service.ledger.verify import Verification


@dataclass(frozen=True)
class VerificationState:
    """How far a verification is."""

    done: int = 0  # entries that were checked
    whole: int = 0  # entries of the ledger
    is_running: bool = False
    is_interrupted: bool = False  # the database failed; it goes on from the entries that were checked
    verdict: str = ""  # the result, once there is one
    is_broken: bool = False  # whether the verdict is that the ledger is broken

    @property
    def text(self) -> str:
        """The state in a sentence."""
        if self.is_running:
            return f"Verifying: {self.done:,} of {self.whole:,} entries are checked."
        if self.is_interrupted:
            return f"Interrupted after {self.done:,} entries: the database failed. Continue to check the rest."
        return self.verdict


class VerificationJob:
    """The verification of a ledger, in a thread: one at a time, started again by hand.

    A new one begins at the first entry. One that was interrupted goes on from its checkpoint, which is in the memory of
    this process alone, so that nobody can write one; after a restart it begins at the first entry.
    """

    def __init__(self, log: Log) -> None:
        self._log, self._lock = log, threading.Lock()
        self._thread: threading.Thread | None = None
        self._verification = Verification()
        self._stopping = threading.Event()
        self.state = VerificationState()

    def start(self) -> None:
        """Start a verification, or continue the one that was interrupted, unless one is running."""
        with self._lock:
            if self.state.is_running or self._stopping.is_set():
                return
            if not self.state.is_interrupted:
                self._verification = Verification()
            self._note(is_running=True)
            self._thread = threading.Thread(target=self._run, name="hedgerow verification", daemon=True)
            self._thread.start()

    def wait(self, seconds: float) -> None:
        if self._thread is not None:
            self._thread.join(seconds)

    def stop(self) -> None:
        """End a verification after the entries that it is at."""
        self._stopping.set()
        self.wait(60)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.state = replace(self.state, done=self._verification.entries, whole=self._log.last.sequence)
                found = self._log.advance(self._verification)
                if found is not None:
                    self._note(verdict=str(found))
                    return
            self._note(is_interrupted=True)
        except LedgerUnavailableError:
            self._note(is_interrupted=True)
        except LedgerError as error:
            self._note(verdict=str(error), is_broken=True)
        except Exception:  # its text could name hosts
            self._note(is_interrupted=True)

    def _note(self, **facts: Any) -> None:
        done = self._verification.entries
        self.state = VerificationState(done, max(done, self.state.whole), **facts)
