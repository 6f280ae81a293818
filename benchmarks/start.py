"""Processor time to start: an import, the help, and libraries that are imported by neither, beside Python's own."""

import resource
import subprocess
import sys
from statistics import median

from measure import report

RUNS = 15
CALLS = {
    "python -c pass": "pass",
    "import hedgerow": "import hedgerow",
    "hedgerow --help": "from hedgerow.cli import main; main()",
    "import sklearn": "import sklearn.base",
    "import pandas": "import pandas",
}


def seconds(code):
    """Return the processor seconds of a fresh interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    for code in CALLS.values():
        seconds(code)  # bytecode is written by the first call
    times = {name: [] for name in CALLS}
    for _ in range(RUNS):
        for name, code in CALLS.items():
            times[name].append(seconds(code))
    least = median(times["python -c pass"])
    rows = [
        {"call": name, "seconds": f"{median(of):.3f}", "ratio": f"{median(of) / least:.1f}"}
        for name, of in times.items()
    ]
    report("start", rows)


if __name__ == "__main__":
    main()
