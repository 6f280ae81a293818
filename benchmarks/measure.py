"""What the benchmarks share: one core, medians, a table on screen and as CSV."""

import argparse
import csv
import os
import statistics
import time
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

threadpool_limits(1)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

RESULTS = Path(__file__).parent / "results"


def use_all_cores():
    """Use all cores again, for engines, which use a thread for each core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


def run_splits(description, tables, runs, raw, columns, learners=()):
    """Add the results of `runs` for each missing split of each table to a file, and return all results.

    Columns that the file does not have yet are empty in its rows. The command line takes the names of tables, and
    ``--splits``. If there are `learners`, it takes ``--learners``, too: `runs` gets those that a split of the file does
    not have yet, so that the rows of a learner can be deleted and measured again.
    """
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("tables", nargs="*", default=list(tables), help="which tables")
    parser.add_argument("--splits", type=int, default=20)
    if learners:
        parser.add_argument("--learners", nargs="*", default=list(learners), choices=list(learners))
    arguments = parser.parse_args()
    done = recorded(raw, columns)
    for name in arguments.tables:
        for split in range(arguments.splits):
            here = done[(done["table"] == name) & (done["split"] == split)]
            missing = (
                [learner for learner in arguments.learners if learner not in set(here["learner"])] if learners else []
            )
            if missing or (here.empty and not learners):
                result = runs(name, split, missing) if learners else runs(name, split)
                rows = pd.DataFrame([[*row, *[None] * (len(columns) - len(row))] for row in result], columns=columns)
                if raw.exists() and list(pd.read_csv(raw, nrows=0)) != columns:
                    done.to_csv(raw, index=False, lineterminator="\n")
                rows.to_csv(raw, mode="a", header=not raw.exists(), index=False, lineterminator="\n")
                print(name, split, flush=True)
    return recorded(raw, columns)


def recorded(raw, columns):
    """Return the runs of a file, with empty columns for those that it does not have yet."""
    if not raw.exists():
        return pd.DataFrame(columns=columns)
    return pd.read_csv(raw).reindex(columns=columns)


def kept(name, columns):
    """Return the records of ``results/<name>.csv`` as text, or none if it has other columns."""
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        return list(reader) if reader.fieldnames == list(columns) else []


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
