"""Predicted costs of a search.

The cost predicted before [an exact draw](exact.py) is {forecast_cost} times the processor time for nine in ten of
{forecast_fits} fits of a second or more: tables of the league with bounds only, other tables with their cut points, and
generated tables. The worst prediction is a {forecast_worst}. Default fits take at most {longest_of_league} s of one
core on raw tables, and {longest_default} on generated tables with 20,000 patterns. The constants were fitted on two
machines; this machine is the slower one, for which predictions are too low. With 36 attributes or more, a fit first
chooses attributes: the prediction is for the number of chosen attributes, taking the widest or narrowest, whichever
search takes longest, up to {forecast_of_chosen} times the cost of the fit. If only the schema is known, 10,000 patterns
are assumed.

The benchmark measures default trees and rule lists, and sizes with a predicted time of half a second or more, for the
number of distinct patterns of the table. Runs that are in the file are kept. `--refit` proposes the constants of
`hedgerow.learn.search.cost` from them.
"""

import sys
import time
import warnings
from functools import partial

import numpy as np
import pandas as pd
from league_tables import TABLES
from measure import RESULTS, recorded, use_all_cores
from scipy.optimize import linprog

import hedgerow as hr
from hedgerow.learn.search import cost
from hedgerow.schema import Boolean, Categorical, Integer, Label, Schema

RAW = RESULTS / "costs.csv"
COLUMNS = ["table", "fit", "size", "loss", "method", "patterns", "told s", "measured s", "told / measured"]
COLUMNS += ["chooses first"]
CUT = ("compas", "german", "ctg", "adult", "breast_cancer", "compas_binary", "german_binary", "adult_binary")
LEAST, MOST, ENOUGH = 0.5, 10, 3  # seconds: that are told of a size that is chosen; and that are measured
FITS = {
    "tree": (hr.PrivateTreeClassifier, "max_depth", {}),
    "list": (hr.PrivateRuleListClassifier, "max_rules", {}),
    "list of two literals": (hr.PrivateRuleListClassifier, "max_rules", {"max_literals": 2}),
}
ERRORS, MIXED = "errors", "mixed"


def main():
    warnings.simplefilter("ignore")
    use_all_cores()  # of which one is used: not always the same, where others use it
    done = recorded(RAW, COLUMNS)
    if sys.argv[1:] == ["--refit"]:
        refit(done)
        return
    for name, make in tables().items():
        tally = make()
        for key in [(fit, size, loss) for fit in FITS for size in range(7) for loss in (ERRORS, MIXED)]:
            known = ((done[["table", "fit", "size", "loss"]] == [name, *key]).all(axis=1)).any()
            row = None if known else measured(tally, *key)
            if row:
                line = pd.DataFrame([[name, *key, *row]], columns=COLUMNS)
                line.to_csv(RAW, mode="a", header=not RAW.exists(), index=False, lineterminator="\n")
                print(name, *key, *row, flush=True)


def tables():
    rng = np.random.default_rng(0)
    result = {name: partial(counted, *make()) for name, make in TABLES.items()}
    for name in CUT:
        data = hr.datasets.load(name)
        result[f"{name}, its cut points"] = partial(counted, data.frame, data.labels, data.schema)
    shapes = {f"{d} booleans": [Boolean()] * d for d in (5, 10, 20, 40, 100)}
    shapes |= {f"{d} numbers of {b} bins": [bins(b)] * d for b, d in ((4, 10), (8, 20), (13, 10), (30, 3), (60, 4))}
    shapes |= {f"{d} categories of {b}": [words(b)] * d for b, d in ((5, 10), (16, 5), (40, 4))}
    shapes["13 of all kinds"] = [Boolean()] * 6 + [bins(13)] * 4 + [words(8)] * 3
    several = {"13 of all kinds": 3, "20 booleans": 4}
    for n in (1_000, 20_000):
        result |= {f"{name}, {n} rows": partial(generated, kinds, n, rng) for name, kinds in shapes.items()}
        for name, classes in several.items():
            result[f"{name}, {classes} classes, {n} rows"] = partial(generated, shapes[name], n, rng, classes)
    return result


def bins(n):
    return Integer(0, 1000, tuple(range(10, 10 + 7 * (n - 1), 7)))


def words(n):
    return Categorical(tuple(f"v{i}" for i in range(n)))


def counted(X, y, schema):
    return hr.Tally.count(X, y, schema)


def generated(kinds, n, rng, classes=2):
    schema = Schema({f"x{i}": kind for i, kind in enumerate(kinds)}, Label("y", tuple(range(classes))))
    cells = np.stack([rng.integers(0, kind.n_bins, n) for kind in kinds], axis=1)
    cells, times = np.unique(cells, axis=0, return_counts=True)
    return hr.Tally(
        schema, cells.astype(np.uint8), rng.multinomial(1, [1 / classes] * classes, len(cells)) * times[:, None]
    )


def learner_of(fit, size, loss, schema):
    """Return the learner of some choices, by exact search; of size 0 as it is by default."""
    make, name, more = FITS[fit]
    chosen = {name: size + (fit != "tree"), "search": "exact"} if size else {}
    return make(1, schema=schema, objective=loss, **chosen, **more)


def told(fit, size, loss, schema):
    try:
        return learner_of(fit, size, loss, schema).search_cost(schema)
    except hr.errors.HedgerowError:
        return None


def measured(tally, fit, size, loss):
    patterns, result = len(tally.bins_and_counts()[0]), told(fit, size, loss, tally.schema)
    seconds = 0 if result is None else result.seconds(patterns)
    if not seconds or (size and not LEAST <= seconds <= MOST):
        return None
    learner, times = learner_of(fit, size, loss, tally.schema), []
    while sum(times) < ENOUGH and len(times) < 3:
        start = time.process_time()
        learner.fit_tally(tally)
        times.append(time.process_time() - start)
    chooses = learner._chooses(tally.schema)
    return result.method, patterns, round(seconds, 3), round(min(times), 3), round(seconds / min(times), 2), chooses


def refit(runs):
    """Print the constants for each kind of search that minimise the largest ratio of predicted and measured time."""
    result, schemas = {}, {name: make().schema for name, make in tables().items()}
    for run in runs[(runs["measured s"] >= LEAST / 2) & ~runs["chooses first"]].itertuples(index=False):
        key, work = work_of(schemas[run.table], run)
        result.setdefault(key, []).append(work / (run[7] - cost._START))
    for key, lines in result.items():
        matrix = np.array(lines)
        worst, best = 4.0, None
        while worst > 1.01:
            # told / measured within 1/worst and worst: linear in the constants
            solved = linprog(
                np.zeros(matrix.shape[1]),
                np.vstack([matrix, -matrix]),
                [worst] * len(matrix) + [-1 / worst] * len(matrix),
            )
            if solved.status:
                break
            best, worst = (worst, solved.x * cost._SECONDS[key]), worst * 0.98
        print(key, len(lines), best)


def work_of(schema, run):
    """Return the kind of a search, and what of its seconds each constant makes, from how they change with it."""
    first = told(run.fit, run.size, run.loss, schema)
    for key, constants in list(cost._SECONDS.items()):
        parts = np.zeros(len(constants))
        for i, constant in enumerate(constants):
            cost._SECONDS[key] = (*constants[:i], constant * (1 + 1e-6), *constants[i + 1 :])
            parts[i] = (
                told(run.fit, run.size, run.loss, schema).seconds(run.patterns) - first.seconds(run.patterns)
            ) * 1e6
        cost._SECONDS[key] = constants
        if parts.any():
            return key, parts
    raise AssertionError(run)


if __name__ == "__main__":
    main()
