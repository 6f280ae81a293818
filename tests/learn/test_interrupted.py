"""A long search shows how far it is on a terminal, and stops at Ctrl-C: what was charged stays charged."""

import os
import signal
import subprocess
import sys
import time

import pytest

import hedgerow as hr
from hedgerow.schema import Integer, Label, Schema

LONG = Schema({f"x{i}": Integer(0, 99, tuple(range(10, 80, 10))) for i in range(20)}, Label("y", (0, 1)))
PYTHON = """
import hedgerow as hr, pandas as pd
rows, schema = pd.read_csv("rows.csv"), hr.Schema.load("schema.yaml")
budget = hr.privacy.FileBudget("budget.json")
tree = hr.PrivateTreeClassifier(0.5, max_depth=4, search="exact", schema=schema, budget=budget)
tree.fit(rows.drop(columns="y"), rows["y"])
"""
FIT = "-m hedgerow fit rows.csv --schema schema.yaml --epsilon 0.5 --model tree --max-depth 4 --search exact"
COMMANDS = {"python": ["-c", PYTHON], "command line": [*FIT.split(), "--budget", "budget.json"]}


@pytest.mark.statistics  # a kill
@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
@pytest.mark.parametrize("how", COMMANDS)
def test_a_long_search_shows_time_left_and_stops_at_ctrl_c_with_its_charge(how, tmp_path):
    LONG.save(tmp_path / "schema.yaml")
    row = ",".join(["1"] * 21) + "\n"
    (tmp_path / "rows.csv").write_text(",".join([*LONG.names, "y"]) + "\n" + row * 50)
    hr.privacy.FileBudget.create(tmp_path / "budget.json", 2)
    reader, terminal = os.openpty()
    usual = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.Popen([sys.executable, *COMMANDS[how]], stderr=terminal, cwd=tmp_path, env=usual)
    os.close(terminal)
    shown = b""
    started = time.monotonic()
    while b"0:0" not in shown and time.monotonic() - started < 300:  # the time that is left
        part = _read(reader)
        assert part, shown.decode()
        shown += part
    done.send_signal(signal.SIGINT)
    while part := _read(reader):
        shown += part
    text = shown.decode()
    assert done.wait(timeout=60) in {-signal.SIGINT, 130}
    assert "searching" in text
    assert "%" in text
    assert "The epsilon of 0.5 stays charged to" in text
    assert hr.privacy.FileBudget(tmp_path / "budget.json").spent == 0.5
    assert not (tmp_path / "model.json").exists()


def _read(reader):
    try:
        return os.read(reader, 4096)
    except OSError:  # the other end is closed
        return b""
