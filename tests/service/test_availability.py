"""Checks of what a question needs: within a time limit, once at a time, and logged when the finding changes."""

import asyncio
import threading
import time

import pytest

from hedgerow.errors import LedgerUnavailableError, SourceUnavailableError
from hedgerow.service import availability
from hedgerow.service.availability import Probe, failing


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(availability, "SECONDS", 0.2)
    monkeypatch.setattr(availability, "_FRESH", 0)


def raising(error):
    def look():
        raise error

    return look


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (SourceUnavailableError("CANARY", cause="lock"), "lock"),
        (MemoryError("CANARY"), "memory"),
        (OSError(28, "CANARY"), "disk"),
        (OSError(24, "CANARY"), "process"),
        (FileNotFoundError(2, "CANARY"), "file"),
        (ConnectionRefusedError(111, "CANARY"), "connection"),
        (ImportError("CANARY"), "package"),
        (ValueError("CANARY"), "table"),
    ],
)
def test_a_check_reports_only_the_cause(quick, error, cause, caplog):  # noqa: ARG001
    assert Probe("dataset wards", raising(error)).check() == cause
    assert availability.CAUSES[cause] in caplog.text
    assert "CANARY" not in caplog.text


def test_a_check_leaves_it_to_the_ledger_to_log_its_outage(quick, caplog):  # noqa: ARG001
    assert Probe("the ledger", raising(LedgerUnavailableError("CANARY"))).check() == "connection"
    assert not caplog.text


def test_a_hanging_check_blocks_callers_at_most_for_its_time_limit(quick):  # noqa: ARG001
    go, looks = threading.Event(), []
    probe = Probe("dataset wards", lambda: (looks.append(1), go.wait(10)))
    began = time.monotonic()
    assert [probe.check() for _ in range(3)] == ["timeout"] * 3
    assert asyncio.run(failing([probe])) == [probe]
    assert time.monotonic() - began < 3
    assert len(looks) == 1  # one thread hangs, however many wait
    go.set()
    probe.begin().result(5)
    assert probe.check() is None
    assert not asyncio.run(failing([probe, Probe("the ledger", lambda: None)]))


def test_a_finding_is_logged_when_it_changes(quick, caplog):  # noqa: ARG001
    caplog.set_level("INFO")
    faults = [MemoryError(), MemoryError(), None, None]

    def look():
        if (fault := faults.pop(0)) is not None:
            raise fault

    probe = Probe("dataset wards", look)
    assert [probe.check() for _ in range(4)] == ["memory", "memory", None, None]
    assert [record.getMessage() for record in caplog.records] == [
        "dataset wards cannot be used: out of memory",
        "dataset wards can be used again",
    ]
