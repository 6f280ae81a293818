"""Exact private draws of the size of certified searches, with Numba and without: rows of `exact.py`."""

import importlib.util
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean

import census
import numpy as np
import pandas as pd
from alone import in_turns, middle
from measure import report
from solvers import tiny

import hedgerow as hr
from hedgerow.errors import SearchTooLargeError
from hedgerow.schema import Boolean, Label, Schema

COLUMNS = ["what", "with", "patterns", "states", "weighed", "predicted s", "goal", "runs", "seconds", "MB"]
COLUMNS += ["accuracy", "reason"]
REPEATS, LONGEST = 5, 600
ROWS_OF_CENSUS = 10**8
BUILD = Path(__file__).parent.parent / "build" / "census"


def large(only=""):
    """Write seconds, memory and accuracy of each draw, each fit in a process of its own."""
    rows = []
    for what, (make, depth, goal) in DRAWS.items():
        if only in what:
            try:
                tally, test = make()
            except ImportError as error:
                print(f"{what}: left out, {error}")
                continue
            rows += measured(what, tally, test, depth, goal)
            report("exact_large", rows)


def measured(what, tally, test, depth, goal):
    """Return the rows of a draw, or one row without a time if hedgerow refuses the search."""
    learner = hr.PrivateTreeClassifier(1.0, max_depth=depth, search="exact")
    patterns = len(tally.bins_and_counts()[0])
    row = dict.fromkeys(COLUMNS, "") | {"what": what, "patterns": patterns, "goal": goal}
    try:
        cost = learner.search_cost(tally.schema)
    except SearchTooLargeError as error:
        return [row | {"states": error.states, "weighed": error.evaluations, "reason": "refused as too large"}]
    row |= {"states": cost.states, "weighed": cost.evaluations}
    hows = {"NumPy": ("numba",)} | ({"Numba": ()} if importlib.util.find_spec("numba") else {})
    fits = {how: (partial(draw, learner, tally, test), LONGEST, hidden) for how, hidden in hows.items()}
    return [row | {"with": how} | times(runs) for how, runs in in_turns(fits, REPEATS).items()]


def times(runs):
    one = middle(runs)
    if one.seconds is None:
        return {"runs": len(runs), "reason": one.reason}
    accuracy = fmean(run.outcome["accuracy"] for run in runs)
    predicted = f"{one.outcome['predicted']:.2f}"
    row = {"runs": len(runs), "predicted s": predicted, "seconds": f"{one.seconds:.3f}", "MB": f"{one.megabytes:.0f}"}
    return row | {"accuracy": f"{accuracy:.4f}"}


def draw(learner, tally, test):
    """Return a private fit, and the function that returns its predicted seconds and the accuracy on the test rows."""
    hr.PrivateTreeClassifier(1.0, max_depth=2, search="exact").fit_tally(tiny(2))  # imports what a fit needs
    X, y = test
    patterns = len(tally.bins_and_counts()[0])

    def outcome():
        accuracy = float(np.mean(learner.predict(X) == y))
        return {"predicted": learner.search_cost(tally.schema).seconds(patterns), "accuracy": accuracy}

    return partial(learner.fit_tally, tally), outcome


def adult():
    data = hr.datasets.load("adult")
    return hr.Tally.count(data.frame, data.labels, data.schema), (data.frame, data.labels.to_numpy())


def census_like():
    """Return the tally of 10⁸ rows, counted by DuckDB, which takes minutes the first time, and 10⁵ of the rows."""
    path = BUILD / f"tally-{ROWS_OF_CENSUS}.npz"
    if not path.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(1, initializer=census.use_all_cores) as process:
            bins, counts = process.submit(census.counted, ROWS_OF_CENSUS).result()
        np.savez_compressed(path, bins=bins, counts=counts)
    rows = pd.read_parquet(Path(census.make(BUILD, 10**5)).parent)
    arrays, schema = np.load(path), census.schema()
    return hr.Tally(schema, arrays["bins"], arrays["counts"]), (rows[list(schema)], rows[census.LABEL.name].to_numpy())


def parity(columns):
    """Return 10⁴ rows of Boolean columns whose class is the parity of the first five, and other rows."""
    rng = np.random.default_rng(0)
    schema = Schema({f"x{i}": Boolean() for i in range(columns)}, Label("y", (0, 1)))
    frames = [pd.DataFrame(rng.integers(0, 2, (10**4, columns)), columns=list(schema)) for _ in range(2)]
    labels = [(frame.to_numpy()[:, :5].sum(axis=1) % 2) for frame in frames]
    return hr.Tally.count(frames[0], pd.Series(labels[0], name="y"), schema), (frames[1], labels[1])


DRAWS = {
    "Adult, 112 tests, depth 4": (adult, 4, 4),
    "Adult, 112 tests, depth 5": (adult, 5, 60),
    "census-like rows, depth 2": (census_like, 2, 0.3),
    "parity of 5 among 12 booleans, depth 5": (partial(parity, 12), 5, ""),
    "parity of 5 among 50 booleans, depth 5": (partial(parity, 50), 5, ""),
}
"""By name: the tally and test rows, the depth, and the goal in seconds."""
