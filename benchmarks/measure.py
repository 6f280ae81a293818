"""What the benchmarks share: one core, medians, a table on screen and as CSV."""

import csv
import os
import statistics
import time
from pathlib import Path

from threadpoolctl import threadpool_limits

threadpool_limits(1)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

RESULTS = Path(__file__).parent / "results"


def use_all_cores():
    """Take back what was given up above, for engines, which use as many threads as there are cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


def median_seconds(call, repeats=7):
    """Return the median wall-clock seconds of `call`, after one run that does not count."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def report(name, rows):
    """Print records as a table and write them to ``results/<name>.csv``."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    texts = [[str(value) for value in row.values()] for row in rows]
    widths = [max(len(key), *(len(text[i]) for text in texts)) for i, key in enumerate(rows[0])]
    for line in (list(rows[0]), *texts):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
