"""Certified trees on raw tables.

Every fit has a process of its own, on one core. Seconds are user and system time of this process during the fit,
without imports and without the preparation of the table: hedgerow gets a tally, ConTree raw numbers or 0/1 columns as
floats, the other solvers 0/1 columns. Memory is the largest resident memory during the fit minus the resident memory
before it. All solvers run in turns ({raw_repeats}). The versions are {raw_versions} (`pip install pystreed pycontree
licketysplit pydl8.5`).

- Adult with the tests of its schema, with leaves of at least a thousandth of the rows and without a minimum;
- numbers with every distinct value as a cut point, which ConTree gets as numbers;
- COMPAS with the tests of its schema, and the 60 columns of german_binary.

ConTree and LicketySPLIT have no minimum size of leaves, so they are left out of the problems with one. LicketySPLIT
proves nothing. DL8.5 runs without its shortcuts if leaves must hold more than one row, because
[it then returns worse trees](optimal.py). A fit that reaches its limit returns its best tree; hedgerow also returns a
lower bound on the errors of all trees.

{raw_behind}

{raw_optima}

    python optimal_raw.py [--only PART_OF_A_NAME] [--repeats N] [--limit SECONDS]

With `--only`, other problems keep their results.
"""

import math
from functools import partial

import pandas as pd
from alone import in_turns, middle
from sklearn.datasets import load_wine
from solvers import LONGEST, REPEATS, SOLVERS, Problem, codes, installed, run, with_thresholds

import hedgerow as hr
from hedgerow.learn.search.space import Space

SUPPORT = 0.001
DEEP, LONGEST_DEEP = 4, 120  # from this depth on, seconds of a peer
COLUMNS = ["what", "solver", "version", "limit", "runs", "seconds", "MB", "errors", "share", "bound"]
COLUMNS += ["claims optimality", "reason"]
NUMBERS = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]


def problems():
    """Return functions that return the problems, by name."""
    n, result = len(hr.datasets.load("adult").labels), {}
    for depth, leaf in ((2, SUPPORT), (3, SUPPORT), (4, SUPPORT), (5, SUPPORT), (5, 0)):
        size = f"leaves of {SUPPORT:.3f}".replace("0.", ".") if leaf else "no minimum"
        result |= named("adult", "Adult, {tests} tests", depth, math.ceil(leaf * n) or 1, size)
    result |= adult_numbers() | wine()
    for depth in (3, 4, 5):
        result |= named("compas", "COMPAS, {tests} tests", depth, 1, "no minimum")
    for depth in (3, 4, 5):
        result |= named("german_binary", "german_binary, {tests} columns", depth, 10, "leaves of 10 rows")
        result |= named("german_binary", "german_binary, {tests} columns", depth, 1, "no minimum")
    return result


def named(dataset, title, depth, leaf, size):
    data = hr.datasets.load(dataset)
    tests = Space.of_trees(data.schema).n_options
    what = f"{title.format(tests=tests)}, depth {depth}, {size}"
    return {what: partial(Problem, what, depth, leaf, data.frame, data.labels, data.schema)}


def adult_numbers():
    data = hr.datasets.load("adult")
    return thresholds("Adult's five numbers", data.frame[NUMBERS], codes(data.labels, data.schema), 3)


def wine():
    data = load_wine()
    return thresholds("wine", pd.DataFrame(data.data, columns=data.feature_names), data.target, 2)


def thresholds(name, frame, y, depth):
    labels, schema = with_thresholds(frame, y)
    what = f"{name}, {Space.of_trees(schema).n_options} thresholds, depth {depth}"
    return {what: partial(Problem, what, depth, 1, frame, labels, schema, frame.to_numpy(dtype=float))}


def measured(problem, repeats=REPEATS, longest=LONGEST):
    """Return the rows of a problem, for each solver that is installed and can solve it."""
    fits, limits, solvers = {}, {}, installed(SOLVERS)
    for name, solver in solvers.items():
        if problem.leaf <= 1 or solver.has_leaf_size:
            is_long = problem.depth >= DEEP and solver.package != "hedgerow"
            limits[name] = min(longest, LONGEST_DEEP) if is_long else longest
            fits[name] = partial(solver.prepare, problem, limits[name]), limits[name], solver.hidden
    rows = []
    for name, runs in in_turns(fits, repeats).items():
        row = {"what": problem.what, "solver": name, "version": solvers[name].version, "limit": limits[name]}
        rows.append(row | record(problem, runs))
    return rows


def record(problem, runs):
    one = middle(runs)
    row = dict.fromkeys(COLUMNS[4:], "")
    row |= {"runs": len(runs), "reason": one.reason}
    if one.seconds is not None:
        row |= {"seconds": f"{one.seconds:.3f}", "MB": f"{one.megabytes:.0f}"} | one.outcome
        row["share"] = "" if row["errors"] is None else f"{row['errors'] / len(problem.y):.4f}"
    return row


def main():
    run(__doc__, "optimal_raw", COLUMNS, problems(), measured)


if __name__ == "__main__":
    main()
