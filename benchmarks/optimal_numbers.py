"""Certified regression trees compared with STreeD.

`OptimalTreeRegressor` compared with STreeD's `cost-complex-regression` without node costs (`pip install pystreed`): the
same tests, rows, leaves of at least a thousandth of the rows, one core, one run on a machine with other work. Targets
are whole numbers and each is a level. STreeD's leaves predict means and hedgerow's certificate is for levels, so both
trees are measured with both.

{optimal_numbers}

If levels are integers or close to the means, both solvers split the rows identically. With 33 levels, each has the
optimal tree for its own loss, and a worse tree for the other loss. With 33 levels, about as many as a `Number` has by
default, hedgerow takes {optimal_ratio_few} times as long as STreeD, with 99 and 201 {optimal_ratio_many} times: it
counts rows by level and looks up the loss of each level that a leaf can predict, which supports any loss, including
clipped losses and quantiles. STreeD stores the rows, sum and sum of squares of a leaf, which are sufficient for squared
losses.
"""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
from measure import report
from optimal_raw import LONGEST, SUPPORT, satisfied, timed
from outcome_tables import wages

import hedgerow as hr
from hedgerow.schema import Number, Schema


def main():
    rows = []
    for what, frame, y, schema, depths in problems():
        data = SimpleNamespace(frame=frame, schema=schema)
        tests = satisfied(data)
        for depth in depths:
            for solver, solve in {"hedgerow": of_hedgerow, "STreeD": of_streed}.items():
                result = solve(depth, frame, y, schema, tests)
                if result is not None:
                    seconds, leaves, optimal = result
                    rows.append(record(f"{what}, {tests.shape[1]} tests, depth {depth}", solver, seconds, optimal))
                    rows[-1] |= errors(leaves, y, schema.target.values)
                    print(rows[-1], flush=True)
    report("optimal_numbers", rows)


def problems():
    """Yield a name, the rows, whole numbers, a schema in which each is a level, and depths."""
    adult = hr.datasets.load("adult")
    attributes = dict(adult.schema.attributes)
    del attributes["hours-per-week"]
    hours = adult.frame["hours-per-week"]
    schema = Schema(attributes, Number("hours-per-week", 0.5, 99.5, levels=99))
    yield "Adult's hours", adult.frame[list(attributes)], hours, schema, (2, 3)
    try:
        frame, y, schema = wages()
    except ImportError as error:
        print("wages: left out,", error)
        return
    for parts, depths in ((32, (2, 3, 4)), (200, (2, 3))):
        rounded = (y / 2000 * parts).round().astype(int).rename("wage")
        target = Number("wage", -0.5, parts + 0.5, levels=parts + 1)
        yield f"wages in {parts + 1} levels", frame, rounded, Schema(dict(schema.attributes), target), depths


def of_hedgerow(depth, frame, y, schema, tests):  # noqa: ARG001
    tally = hr.Tally.count(frame, y, schema)
    model = hr.OptimalTreeRegressor(max_depth=depth, min_support=SUPPORT, clip=1.0, time_limit=LONGEST)
    seconds = timed(lambda: model.fit_tally(tally), 1)
    return seconds, model.tree_.apply(frame), model.optimal_


def of_streed(depth, frame, y, schema, tests):  # noqa: ARG001
    try:
        from pystreed import STreeDRegressor
    except ImportError as error:
        print("STreeD: left out,", error)
        return None
    model = STreeDRegressor(
        "cost-complex-regression",
        max_depth=depth,
        min_leaf_node_size=math.ceil(SUPPORT * len(y)),
        cost_complexity=0.0,
        time_limit=LONGEST,
    )
    seconds = timed(lambda: model.fit(tests, y.to_numpy(dtype=float)), 1)
    return seconds, np.asarray(model.predict(tests)), bool(model.fit_result.is_optimal())


def errors(leaves, y, levels):
    """Return the mean squared errors of leaves that predict their mean, and of leaves that predict their best level."""
    groups, places = pd.Series(y.to_numpy(dtype=float)).groupby(np.asarray(leaves)), np.array(levels)
    means = groups.transform("mean")
    nearest = places[np.abs(means.to_numpy()[:, None] - places).argmin(axis=1)]
    said = {"of means": means.to_numpy(), "of levels": nearest}
    return {name: f"{((y - values) ** 2).mean():.6f}" for name, values in said.items()}


def record(what, solver, seconds, optimal):
    return {"what": what, "solver": solver, "seconds": f"{seconds:.2f}", "says optimal": optimal}


if __name__ == "__main__":
    main()
