"""Verification in the background, which continues from its checkpoint after an interruption."""

import threading
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.errors import LedgerError, LedgerUnavailableError
from hedgerow.service.ledger.log import Log
from hedgerow.service.ledger.verify import Verification


@dataclass(frozen=True)
class VerificationState:
    """Progress and result of a verification."""

    done: int = 0  # verified entries
    whole: int = 0  # entries of the ledger
    is_running: bool = False
    is_interrupted: bool = False  # the database failed; the verification can be continued
    verdict: str = ""  # the result, when it is complete
    is_broken: bool = False  # whether the result is that the ledger is broken

    @property
    def text(self) -> str:
        """The state in a sentence."""
        if self.is_running:
            return f"Verifying: {self.done:,} of {self.whole:,} entries verified."
        if self.is_interrupted:
            return f"Interrupted after {self.done:,} entries because the database failed. Continue to verify the rest."
        return self.verdict


class VerificationJob:
    """Verification of a ledger in a thread, at most once at a time.

    A new verification begins at the first entry. An interrupted verification continues from its checkpoint. The
    checkpoint is kept in memory only, so that it cannot be forged; after a restart, the first entry is next.
    """

    def __init__(self, log: Log) -> None:
        self._log, self._lock = log, threading.Lock()
        self._thread: threading.Thread | None = None
        self._verification = Verification()
        self._stopping = threading.Event()
        self.state = VerificationState()

    def start(self) -> None:
        """Start or continue a verification, unless a verification is running."""
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
        """Stop a verification after the current entries."""
        self._stopping.set()
        self.wait(60)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.state = replace(self.state, done=self._verification.entries, whole=self._log.last.sequence)
                verdict = self._log.advance(self._verification)
                if verdict is not None:
                    self._note(verdict=str(verdict))
                    return
            self._note(is_interrupted=True)
        except LedgerUnavailableError:
            self._note(is_interrupted=True)
        except LedgerError as error:
            self._note(verdict=str(error), is_broken=True)
        except Exception:  # its text could name hosts; not shown
            self._note(is_interrupted=True)

    def _note(self, **facts: Any) -> None:
        done = self._verification.entries
        self.state = VerificationState(done, max(done, self.state.whole), **facts)
