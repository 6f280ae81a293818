"""Certified regression trees compared with STreeD.

`OptimalTreeRegressor` compared with STreeD's `cost-complex-regression` without node costs and with LicketySPLIT: the
same tests and rows, leaves of at least a thousandth of the rows, {numbers_repeats}. Processes, seconds and memory are
as for [certified trees on raw tables](optimal_raw.py). The versions are {numbers_versions}. LicketySPLIT has no minimum
size of leaves and proves nothing. Targets are whole numbers and each is a level. The leaves of the peers predict means
and hedgerow's certificate is for levels, so all trees are measured with both.

{optimal_numbers}

If levels are integers or close to the means, both certified solvers split the rows identically. With 33 levels, each
has the optimal tree for its own loss, and a worse tree for the other loss. hedgerow takes {optimal_ratio_few} times the
processor time of STreeD with 33 levels, about as many as a `Number` has by default, and {optimal_ratio_many} times with
99 and 201 levels. Both need only the rows, the sum and the sum of squares of a leaf, if the loss is not clipped.

    python optimal_numbers.py [--only PART_OF_A_NAME] [--repeats N]
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from alone import in_turns, middle
from outcome_tables import wages
from solvers import LONGEST, REPEATS, Solver, installed, run, satisfied, small

import hedgerow as hr
from hedgerow.learn.search.space import Space
from hedgerow.schema import Number, Schema

SUPPORT = 0.001
COLUMNS = ["what", "solver", "version", "runs", "seconds", "MB", "claims optimality", "of means", "of levels", "reason"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Regression trees of a depth; each whole number of the target is a level."""

    what: str
    depth: int
    frame: pd.DataFrame
    y: pd.Series
    schema: Schema

    @property
    def tests(self):
        return satisfied(self.frame, self.schema)

    @property
    def leaf(self):
        return math.ceil(SUPPORT * len(self.y))


def problems():
    """Return functions that return the problems, by name."""
    adult = hr.datasets.load("adult")
    attributes = dict(adult.schema.attributes)
    del attributes["hours-per-week"]
    schema = Schema(attributes, Number("hours-per-week", 0.5, 99.5, levels=99))
    frame, hours = adult.frame[list(attributes)], adult.frame["hours-per-week"]
    result = by_depth("Adult's hours", (2, 3), frame, hours, schema)
    try:
        frame, y, schema = wages()
    except ImportError as error:
        print("wages: left out,", error)
        return result
    for parts, depths in ((32, (2, 3, 4)), (200, (2, 3))):
        rounded = (y / 2000 * parts).round().astype(int).rename("wage")
        target = Number("wage", -0.5, parts + 0.5, levels=parts + 1)
        of_levels = Schema(dict(schema.attributes), target)
        result |= by_depth(f"wages in {parts + 1} levels", depths, frame, rounded, of_levels)
    return result


def by_depth(name, depths, frame, y, schema):
    names = {f"{name}, {Space.of_trees(schema).n_options} tests, depth {depth}": depth for depth in depths}
    return {what: partial(Problem, what, depth, frame, y, schema) for what, depth in names.items()}


def of_hedgerow(problem, limit):
    tally = hr.Tally.count(problem.frame, problem.y, problem.schema)
    model = hr.OptimalTreeRegressor(
        max_depth=problem.depth, min_support=SUPPORT, clip=1.0, time_limit=limit, schema=problem.schema
    )
    X, y = small(4)
    hr.OptimalTreeRegressor(max_depth=2, clip=1.0).fit(X, y.astype(float))  # imports what a fit needs
    return partial(model.fit_tally, tally), lambda: (model.tree_.apply(problem.frame), model.optimal_)


def of_streed(problem, limit):
    from pystreed import STreeDRegressor

    def solver(**options):
        return STreeDRegressor("cost-complex-regression", cost_complexity=0.0, time_limit=limit, **options)

    X, y = small(4)
    solver(max_depth=2).fit(X, y.astype(float))
    tests, y = problem.tests, problem.y.to_numpy(dtype=float)
    model = solver(max_depth=problem.depth, min_leaf_node_size=problem.leaf)
    return partial(model.fit, tests, y), lambda: (model.predict(tests), bool(model.fit_result.is_optimal()))


def of_licketysplit(problem, limit):  # noqa: ARG001 -- it has no limit
    from licketysplit import LicketySPLITRegressor

    X, y = small(4)
    LicketySPLITRegressor(lambda_leaf=0.0, depth_budget=2).fit(X, y.astype(float))
    tests, y = problem.tests, problem.y.to_numpy(dtype=float)
    model = LicketySPLITRegressor(lambda_leaf=0.0, depth_budget=problem.depth)
    return partial(model.fit, tests, y), lambda: (model.predict(tests), "")


SOLVERS = {
    "hedgerow": Solver("hedgerow", "hedgerow", of_hedgerow, has_leaf_size=True),
    "hedgerow, NumPy only": Solver("hedgerow", "numba", of_hedgerow, has_leaf_size=True, hidden=("numba",)),
    "STreeD": Solver("pystreed", "pystreed", of_streed, has_leaf_size=True),
    "LicketySPLIT": Solver("licketysplit", "licketysplit", of_licketysplit, has_leaf_size=False),
}


def measured(problem, repeats=REPEATS, longest=LONGEST):
    """Return the rows of a problem, for each solver that is installed."""
    solvers = installed(SOLVERS)
    fits = {
        name: (partial(described, problem, solver.prepare, longest), longest, solver.hidden)
        for name, solver in solvers.items()
    }
    rows = []
    for name, runs in in_turns(fits, repeats).items():
        one = middle(runs)
        row = dict.fromkeys(COLUMNS, "") | {"what": problem.what, "solver": name, "version": solvers[name].version}
        row |= {"runs": len(runs), "reason": one.reason} | one.outcome
        if one.seconds is not None:
            row |= {"seconds": f"{one.seconds:.3f}", "MB": f"{one.megabytes:.0f}"}
        rows.append(row)
    return rows


def described(problem, prepare, longest):
    """Return a fit, and the function that describes it by its squared errors."""
    fit, outcome = prepare(problem, longest)

    def result():
        leaves, optimal = outcome()
        return {"claims optimality": optimal} | errors(leaves, problem.y, problem.schema.target.values)

    return fit, result


def errors(leaves, y, levels):
    """Return the mean squared errors of leaves that predict their mean, and of leaves that predict their best level."""
    groups, places = pd.Series(y.to_numpy(dtype=float)).groupby(np.asarray(leaves)), np.array(levels)
    means = groups.transform("mean")
    nearest = places[np.abs(means.to_numpy()[:, None] - places).argmin(axis=1)]
    said = {"of means": means.to_numpy(), "of levels": nearest}
    return {name: f"{((y - values) ** 2).mean():.6f}" for name, values in said.items()}


def main():
    run(__doc__, "optimal_numbers", COLUMNS, problems(), measured)


if __name__ == "__main__":
    main()
