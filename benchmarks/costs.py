"""Predicted costs of a search.

The cost predicted before [an exact draw](exact.py) is {forecast_cost} times the processor time for nine in ten of
{forecast_fits} fits of a second or more: tables of the league with bounds only, other tables with their cut points, and
generated tables. {forecast_outside} of them are not between half and twice the measured time. The worst prediction is
for a {forecast_worst}. With Numba, predictions are {forecast_numba} times the measured time.

The constants of the prediction were fitted on other generated tables on the same machine. There the ratio is
{forecast_fitted} for nine in ten of {forecast_fitted_fits} fits of a second or more.

Default fits take at most {longest_of_league} s of one core on raw tables, and {longest_default} s on generated tables
with 20,000 patterns. With 36 attributes or more, a fit first chooses attributes: the prediction is for the number of
chosen attributes, taking the widest or narrowest, whichever search takes longest, up to {forecast_of_chosen} times the
cost of the fit. If only the schema is known, 10,000 patterns are assumed.

The benchmark measures default trees and rule lists, and sizes with a predicted time of half a second to
{forecast_most} s, for the number of distinct patterns of the table, without Numba, and with Numba if a search uses it.

    python costs.py [--only PART_OF_A_NAME]
    python costs.py --refit
    python costs.py --predict

Runs that are in the file are kept. The second command proposes the constants of `hedgerow.learn.search.cost` from the
tables that are not compared. The third command writes the predictions of new constants into the file, and deletes the
default fits whose size these change, so that they are measured again.
"""

import sys
import time
import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from league_tables import TABLES
from measure import RESULTS, recorded
from scipy.optimize import linprog

import hedgerow as hr
from hedgerow.learn.contract import specification_of
from hedgerow.learn.search import cost
from hedgerow.learn.search.compiled import is_compiled
from hedgerow.learn.search.cost import SearchShape
from hedgerow.schema import Boolean, Categorical, Integer, Label, Schema

RAW = RESULTS / "costs.csv"
KEY = ["use", "table", "fit", "size", "loss", "with"]
COLUMNS = [
    *KEY,
    "method",
    "patterns",
    "evaluations",
    "predicted s",
    "measured s",
    "predicted / measured",
    "chooses first",
]
COMPARED, FITTED = "comparison", "fit"
NUMPY, NUMBA = "NumPy", "Numba"
CUT = ("compas", "german", "ctg", "adult", "breast_cancer", "compas_binary", "german_binary", "adult_binary")
LEAST, MOST, ENOUGH = 0.5, 6, 1  # seconds: predicted for a size that is chosen; and measured
FITS = {
    "tree": (hr.PrivateTreeClassifier, "max_depth", {}),
    "list": (hr.PrivateRuleListClassifier, "max_rules", {}),
    "list of two literals": (hr.PrivateRuleListClassifier, "max_rules", {"max_literals": 2}),
}
ERRORS, MIXED = "errors", "mixed"


def main():
    warnings.simplefilter("ignore")
    done = recorded(RAW, COLUMNS)
    if sys.argv[1:] == ["--refit"]:
        refit(done[done["use"] == FITTED])
    elif sys.argv[1:] == ["--predict"]:
        predict(done)
    else:
        measure(done, sys.argv[2] if sys.argv[1:2] == ["--only"] else "")


def measure(done, only):
    known = set(map(tuple, done[KEY].to_numpy().tolist()))
    for use, make_tables in USES:
        for name, make in make_tables().items():
            tally = make()  # also if it is not measured: generated tables depend on those before
            if only not in f"{use}: {name}":
                continue
            for fit, size, loss, how in product(FITS, range(7), (ERRORS, MIXED), (NUMPY, NUMBA)):
                key = (use, name, fit, size, loss, how)
                row = None if key in known else measured(tally, fit, size, loss, how)
                if row:
                    line = pd.DataFrame([[*key, *row]], columns=COLUMNS)
                    line.to_csv(RAW, mode="a", header=not RAW.exists(), index=False, lineterminator="\n")
                    print(*key, *row, flush=True)


def tables():
    """Return functions that return the tallies of the tables that predictions are compared with, by name."""
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
        result |= generated_tables(shapes, several, n, rng)
    return result


def fitted_tables():
    """Return functions that return the tallies of the tables that the constants are fitted on, by name."""
    rng = np.random.default_rng(1)
    shapes = {f"{d} booleans": [Boolean()] * d for d in (8, 15, 28)}
    shapes |= {f"{d} numbers of {b} bins": [bins(b)] * d for b, d in ((6, 14), (10, 12), (20, 6), (45, 4))}
    shapes |= {f"{d} categories of {b}": [words(b)] * d for b, d in ((3, 15), (10, 7), (25, 4))}
    shapes["16 of all kinds"] = [Boolean()] * 7 + [bins(9)] * 6 + [words(6)] * 3
    several = {"16 of all kinds": 3, "15 booleans": 3}
    return generated_tables(shapes, several, 700, rng) | generated_tables(shapes, several, 30_000, rng)


USES = ((FITTED, fitted_tables), (COMPARED, tables))


def generated_tables(shapes, several, n, rng):
    result = {f"{name}, {n} rows": partial(generated, kinds, n, rng) for name, kinds in shapes.items()}
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


def predicted(fit, size, loss, schema, how):
    """Return the predicted cost with or without Numba, or None if the search is refused."""
    choose(how)
    for cached in (SearchShape.of_trees, SearchShape.of_lists):
        cached.cache_clear()  # with the costs that were predicted before
    try:
        return learner_of(fit, size, loss, schema).search_cost(schema)
    except hr.errors.HedgerowError:
        return None


def choose(how):
    """Let the search use Numba, or hide it."""
    if how == NUMPY:
        sys.modules["numba"] = None
    elif sys.modules.get("numba", ...) is None:
        del sys.modules["numba"]


def measured(tally, fit, size, loss, how):
    """Return the method, sizes, times and ratio of a fit, or None if it is not measured."""
    patterns, result = len(tally.bins_and_counts()[0]), predicted(fit, size, loss, tally.schema, how)
    seconds = 0 if result is None else result.seconds(patterns)
    is_same = how == NUMBA and result is not None and not is_compiled(result.evaluations)
    if not seconds or is_same or (size and not LEAST <= seconds <= MOST):
        return None
    learner, times = learner_of(fit, size, loss, tally.schema), []
    while sum(times) < ENOUGH and len(times) < 3:
        start = time.process_time()
        learner.fit_tally(tally)
        times.append(time.process_time() - start)
    ratio, chooses = round(seconds / min(times), 2), specification_of(learner)._chooses(tally.schema)
    return result.method, patterns, result.evaluations, round(seconds, 3), round(min(times), 3), ratio, chooses


def predict(runs):
    """Write the predictions of the current constants, without the default fits whose size they change."""
    schemas, kept = {use: schemas_of(make_tables()) for use, make_tables in USES}, []
    for place, run in enumerate(runs.to_dict("records")):
        result = predicted(run["fit"], run["size"], run["loss"], schemas[run["use"]][run["table"]], run["with"])
        if result is not None and result.evaluations == run["evaluations"]:
            seconds = result.seconds(run["patterns"])
            runs.loc[place, ["predicted s", "predicted / measured"]] = (
                round(seconds, 3),
                round(seconds / run["measured s"], 2),
            )
            kept.append(place)
    runs.loc[kept].to_csv(RAW, index=False, lineterminator="\n")


def schemas_of(made):
    return {name: make().schema for name, make in made.items()}


def refit(runs):
    """Print constants for each kind of search, and quantiles of predicted / measured: with them, and at present."""
    result, schemas = {}, schemas_of(fitted_tables())
    chosen = (runs["measured s"] >= LEAST) & ~runs["chooses first"] & (runs["with"] == NUMPY)
    for run in runs[chosen].to_dict("records"):
        key, base, work = work_of(schemas[run["table"]], run)
        result.setdefault(key, []).append(work / (run["measured s"] - base))
    for key, lines in result.items():
        matrix = np.array(lines)
        constants = proposed(matrix)
        ratios = [np.quantile(matrix @ some, (0, 0.5, 1)).round(2) for some in (constants, cost._SECONDS[key])]
        print(key, len(lines), [float(f"{constant:.2g}") for constant in constants], *ratios)


def proposed(matrix):
    """Return constants whose ratios of predicted and measured time are on average near 1, and none far from it."""
    n_runs, n_constants = matrix.shape
    scales = np.where(matrix.max(axis=0) > 0, matrix.max(axis=0), 1)
    scaled, apart, ones = matrix / scales, np.eye(n_runs), np.ones(n_runs)
    sides = np.block([[scaled, -apart], [-scaled, -apart], [scaled, 0 * apart], [-scaled, 0 * apart]])
    weights = np.r_[np.zeros(n_constants), ones]  # an additional variable for the distance of each ratio from 1
    for worst in 1.02 ** np.arange(1, 200):
        solved = linprog(weights, sides, np.r_[ones, -ones, worst * ones, -ones / worst])
        if solved.status == 0:
            return solved.x[:n_constants] / scales
    raise AssertionError(matrix)


def work_of(schema, run):
    """Return the kind of a search, its seconds without any work, and the amounts of work that constants multiply."""
    search = search_of(schema, run)
    for key in [(run["method"], True), (run["method"], False)]:
        before = cost._SECONDS[key]
        seconds = []
        for constants in np.vstack([np.zeros(len(before)), np.eye(len(before))]):
            cost._SECONDS[key] = tuple(constants)
            seconds.append(search().seconds(run["patterns"]))
        cost._SECONDS[key] = before
        if max(seconds) > min(seconds):
            return key, seconds[0], np.subtract(seconds[1:], seconds[0])
    raise AssertionError(run)


def search_of(schema, run):
    """Return the function that returns the cost of the search of a run, whichever constants there are."""
    shapes = [SearchShape.of_trees(schema)]
    if run["fit"] != "tree":
        n_literals = FITS[run["fit"]][2].get("max_literals", 1)
        shapes = [SearchShape.of_lists(schema, n_literals, negations=negations) for negations in (False, True)]
    for shape, depth, draws_size in product(shapes, range(1, 9), (True, False)):
        function = partial(cost_of, shape, run["method"], depth, run["loss"], draws_size)
        result = function()
        if result is not None and result.evaluations == run["evaluations"]:
            return function
    raise AssertionError(run)


def cost_of(shape, method, depth, loss, draws_size):
    if method == "cubes":
        sizes = shape.sizes(depth)
        return None if sizes is None else cost.cubes_cost(shape, sizes, loss)
    if method == "pairs":
        return cost.pairs_cost(shape, depth, loss)
    function = {"masks": cost.masks_cost, "conjunctions": cost.conjunctions_cost}[method]
    sizes = range(depth + 1) if draws_size else [depth]
    return cost.total_cost([function(shape, size, loss) for size in sizes])


if __name__ == "__main__":
    main()
