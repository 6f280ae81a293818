"""Fits in processes of their own: what is counted, and what happens to fits that fail."""

from __future__ import annotations

import importlib.util
import sys
import time
from functools import partial

import numpy as np

from tests.docs.page import ROOT

spec = importlib.util.spec_from_file_location("alone", ROOT / "benchmarks" / "alone.py")
assert spec is not None
assert spec.loader is not None
alone = importlib.util.module_from_spec(spec)
sys.modules["alone"] = alone  # for its dataclass
spec.loader.exec_module(alone)


def prepared(fit, outcome=dict):
    return fit, outcome


def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def allocate(megabytes):
    np.ones(megabytes * 2**17)


def nothing():
    """Return at once."""


def fail():
    raise ValueError("no tree")


def test_seconds_are_those_of_the_processor_and_not_of_the_clock():
    run = alone.alone(partial(prepared, partial(busy, 0.2)), 60)
    assert 0.2 <= run.seconds < 0.4
    waits = alone.alone(partial(prepared, partial(time.sleep, 0.3)), 60)
    assert waits.seconds < 0.1 < 0.3 <= waits.wall


def test_memory_is_that_of_the_fit_and_not_of_its_preparation():
    def prepare():
        table = np.ones(100 * 2**17)
        return prepared(partial(allocate, 50), lambda: {"size": table.size})

    run = alone.alone(prepare, 60)
    assert 49 <= run.megabytes < 60
    assert run.outcome == {"size": 100 * 2**17}


def test_a_fit_that_fails_returns_the_reason():
    run = alone.alone(partial(prepared, fail), 60)
    assert (run.seconds, run.reason) == (None, "ValueError: no tree")


def test_a_fit_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(alone, "_PATIENCE", 0)
    start = time.monotonic()
    run = alone.alone(partial(prepared, partial(time.sleep, 60)), 0.2)
    assert time.monotonic() - start < 20
    assert run.seconds is None
    assert "ended after" in run.reason


def test_a_fit_cannot_take_more_memory_than_the_limit(monkeypatch):
    monkeypatch.setattr(alone, "MOST_BYTES", 2**28)
    assert "MemoryError" in alone.alone(partial(prepared, partial(allocate, 2000)), 60).reason


def test_hidden_modules_are_not_found_in_the_process():
    def prepare():
        import importlib.util

        return prepared(nothing, lambda: {"found": importlib.util.find_spec("colorsys") is not None})

    assert alone.alone(prepare, 60, ("colorsys",)).outcome == {"found": False}
    assert alone.alone(prepare, 60).outcome == {"found": True}


def test_long_and_failed_fits_are_not_repeated(monkeypatch):
    monkeypatch.setattr(alone, "LONG", 0.1)
    fits = {
        "quick": (partial(prepared, nothing), 60, ()),
        "long": (partial(prepared, partial(busy, 0.2)), 60, ()),
        "failed": (partial(prepared, fail), 60, ()),
    }
    runs = alone.in_turns(fits, 3)
    assert {name: len(some) for name, some in runs.items()} == {"quick": 3, "long": 1, "failed": 1}


def test_the_middle_run_has_the_median_seconds_and_the_largest_memory():
    runs = [alone.Run(seconds, seconds, memory, {"errors": 5}) for seconds, memory in ((1, 7), (9, 3), (2, 4))]
    assert alone.middle(runs) == alone.Run(2, 2, 7, {"errors": 5})
    failed = alone.Run(reason="ended")
    assert alone.middle([*runs, failed]) == failed
