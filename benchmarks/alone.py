"""A fit in a process of its own: processor seconds, peak memory, and the outcome.

The process is forked when the tables are ready, so that it takes no time to prepare them again. It imports the solver
and fits a small table before the clock starts. Memory is counted from the resident memory at this moment.
"""

import ctypes
import gc
import multiprocessing
import resource
import statistics
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

MOST_BYTES = 8 * 2**30
LONG = 20  # seconds from which on a fit is not repeated
_PATIENCE = 30  # seconds after its own limit, after which a fit is ended


@dataclass(frozen=True)
class Run:
    """Processor and wall-clock seconds, additional megabytes and outcome of a fit; None and the reason if it failed."""

    seconds: float | None = None
    wall: float | None = None
    megabytes: float | None = None
    outcome: dict = field(default_factory=dict)
    reason: str = ""


def alone(prepare, longest, hidden=()):
    """Return the run of the fit that `prepare` returns, with the function that describes its outcome.

    Modules named in `hidden` cannot be imported by the fit. A fit that takes much more than `longest` seconds is ended.
    """
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_fit, args=(prepare, hidden, there))
    process.start()
    there.close()
    try:
        run = here.recv() if here.poll(longest + _PATIENCE) else Run(reason=f"ended after {longest + _PATIENCE:g} s")
    except EOFError:
        run = Run(reason=f"ended itself, or took more than {MOST_BYTES / 2**30:g} GiB")
    process.kill()
    process.join()
    return run


def in_turns(fits, repeats):
    """Return the runs of each of several fits, one repetition of all after the other.

    `fits` are ``(prepare, longest, hidden)`` by name; see `alone`. A fit that failed or took long is not repeated.
    """
    runs = {name: [] for name in fits}
    for _ in range(repeats):
        for name, fit in fits.items():
            if all(run.seconds is not None and run.wall <= LONG for run in runs[name]):
                runs[name].append(alone(*fit))
                print(name, runs[name][-1], flush=True)
    return runs


def middle(runs):
    """Return the median seconds and largest memory of the runs of a fit, with the outcome of the first run."""
    if any(run.seconds is None for run in runs):
        return next(run for run in runs if run.seconds is None)
    seconds, wall = (statistics.median(getattr(run, name) for run in runs) for name in ("seconds", "wall"))
    return Run(seconds, wall, max(run.megabytes for run in runs), runs[0].outcome)


def _fit(prepare, hidden, pipe):
    sys.modules.update(dict.fromkeys(hidden))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, size + MOST_BYTES))
    warnings.simplefilter("ignore")
    try:
        fit, outcome = prepare()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # freed memory must not hide what the fit allocates
        Path("/proc/self/clear_refs").write_text("5")  # forgets the largest memory until now
        before, start, wall = _megabytes("VmRSS"), time.process_time(), time.perf_counter()
        fit()
        seconds, wall = time.process_time() - start, time.perf_counter() - wall
        megabytes = _megabytes("VmHWM") - before
        pipe.send(Run(seconds, wall, megabytes, outcome()))
    except Exception as error:
        pipe.send(Run(reason=f"{type(error).__name__}: {str(error)[:200]}"))


def _megabytes(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024
