"""What an engine raises, as one error without its words; Ctrl-C stays what it is."""

import subprocess
import sys
import time

import pytest

from hedgerow.engines.faults import answered
from hedgerow.errors import EngineError

SECRET = "secret_f00d"


def fails(error, cause=None):
    def ask():
        try:
            raise ValueError(SECRET)
        except ValueError:
            raise error from cause

    return ask


def says_nothing(error):
    assert SECRET not in f"{error}{error!r}"
    assert error.__cause__ is None
    assert error.__context__ is None


def test_an_error_is_told_without_its_words():
    with pytest.raises(EngineError, match=r"duckdb did not answer: .* \(KeyError\)") as error:
        answered("duckdb", fails(KeyError(SECRET)))
    says_nothing(error.value)


@pytest.mark.parametrize(
    ("error", "cause"), [(KeyboardInterrupt(SECRET), None), (RuntimeError(SECRET), KeyboardInterrupt())]
)
def test_an_interruption_stays_one_without_its_words(error, cause):
    with pytest.raises(KeyboardInterrupt, match=r"^$") as found:
        answered("duckdb", fails(error, cause))
    says_nothing(found.value)


def test_an_error_while_an_interruption_is_handled_is_an_error():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(EngineError, match="did not answer"):
            answered("duckdb", fails(KeyError(SECRET)))


def test_ctrl_c_ends_duckdb_as_ctrl_c():
    """Pressed until it is heard: DuckDB misses one now and then."""
    source = """
import os, signal, threading, time
import ibis
from hedgerow import Boolean, Label, Schema, Tally
signal.signal(signal.SIGINT, signal.default_int_handler)
rows = ibis.duckdb.connect().sql("SELECT i % 2 = 0 AS x, sin(i) > 2 AS y FROM range(100_000_000_000) AS t(i)")

def press():
    while True:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=press, daemon=True).start()
try:
    Tally.from_table(rows, Schema({"x": Boolean()}, Label("y", (False, True))))
except KeyboardInterrupt as error:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("interrupted", error.__context__)
"""
    start = time.monotonic()
    found = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120, check=False)
    assert found.stdout == "interrupted None\n", found.stderr[-300:]
    assert time.monotonic() - start < 60
