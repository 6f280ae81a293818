"""Errors of interrupted searches.

Trees at time limits of {anytime_limits} s: `OptimalTreeClassifier` with `time_limit`, ConTree with its limit, and
LicketySPLIT, which has no limit and returns the tree of its lookahead (`lookahead_k`, 1 and 2). Adult is a training set
of 80 % of the rows ({anytime_rows}). Leaves have no minimum size. ConTree gets wine as numbers, and 0/1 columns
otherwise. Processes and memory are as for [certified trees on raw tables](optimal_raw.py), with one fit each. Limits
are wall-clock seconds; the tables and the picture have the processor seconds that the fits took. After the first limit
at which a solver claims optimality, no larger limit is measured.

![errors against processor seconds](results/anytime.png)

Solid lines are errors, dashed lines the proven lower bounds of hedgerow. Only hedgerow returns a lower bound when it is
interrupted. The versions are {anytime_versions}.

{anytime_claims}

{anytime_compared}

All measurements:

{anytime}

    python anytime.py [--only PART_OF_A_NAME] [--limit SECONDS]
"""

from functools import partial

import pandas as pd
from alone import alone
from measure import RESULTS, kept
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from solvers import LONGEST, SOLVERS, Problem, installed, of_licketysplit, run, with_thresholds

import hedgerow as hr

LIMITS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
COLUMNS = [
    "what",
    "solver",
    "version",
    "limit",
    "seconds",
    "wall",
    "MB",
    "errors",
    "bound",
    "rows",
    "claims optimality",
]
COLUMNS += ["reason"]
LOOKAHEADS = (1, 2)
STYLES = {"hedgerow": "C0", "ConTree": "C1", "LicketySPLIT, lookahead 1": "C2", "LicketySPLIT, lookahead 2": "C3"}


def problems():
    """Return functions that return the problems, by name."""
    result = {}
    for name, title in (("adult", "Adult, 80 % of the rows"), ("compas", "COMPAS"), ("german_binary", "german_binary")):
        data = hr.datasets.load(name)
        rows = range(len(data.labels))
        if name == "adult":
            rows = train_test_split(rows, test_size=0.2, random_state=0)[0]
        what, table = f"{title}, depth 5", (data.frame.iloc[rows], data.labels.iloc[rows])
        result[what] = partial(Problem, what, 5, 1, *table, data.schema)
    data = load_wine()
    frame, what = pd.DataFrame(data.data, columns=data.feature_names), "wine, all thresholds, depth 3"
    labels, schema = with_thresholds(frame, data.target)
    return result | {what: partial(Problem, what, 3, 1, frame, labels, schema, frame.to_numpy(dtype=float))}


def measured(problem, repeats=1, longest=LIMITS[-1]):  # noqa: ARG001 -- each once: the curve repeats the search
    """Return the rows of a problem, for each solver that is installed."""
    solvers, rows = installed(SOLVERS), []
    for name in ("hedgerow", "ConTree"):
        for limit in LIMITS if name in solvers else ():
            if limit <= longest and not (rows and rows[-1]["solver"] == name and rows[-1]["claims optimality"] is True):
                fit = alone(partial(solvers[name].prepare, problem, limit), LONGEST, solvers[name].hidden)
                rows.append(record(problem, name, solvers[name].version, limit, fit))
    for lookahead in LOOKAHEADS if "LicketySPLIT" in solvers else ():
        fit = alone(partial(of_licketysplit, problem, longest, lookahead), LONGEST)
        name = f"LicketySPLIT, lookahead {lookahead}"
        rows.append(record(problem, name, solvers["LicketySPLIT"].version, "", fit))
    return rows


def record(problem, solver, version, limit, one):
    row = dict.fromkeys(COLUMNS, "") | {"what": problem.what, "solver": solver, "version": version, "limit": limit}
    row |= {"rows": len(problem.y), "reason": one.reason} | one.outcome
    if one.seconds is not None:
        row |= {"seconds": f"{one.seconds:.3f}", "wall": f"{one.wall:.3f}", "MB": f"{one.megabytes:.0f}"}
    print(row, flush=True)
    return row


def draw():
    """Draw errors and bounds against processor seconds, a problem a panel."""
    import matplotlib.pyplot as plt

    rows = [row for row in kept("anytime", COLUMNS) if row["errors"]]
    names = list(dict.fromkeys(row["what"] for row in rows))
    _, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 4), layout="constrained", squeeze=False)
    for ax, what in zip(axes[0], names, strict=True):
        for solver, colour in STYLES.items():
            some = [row for row in rows if (row["what"], row["solver"]) == (what, solver)]
            seconds = [float(row["seconds"]) for row in some]
            ax.plot(seconds, [int(row["errors"]) for row in some], marker="o", color=colour, label=solver)
            if solver == "hedgerow":
                ax.plot(seconds, [int(row["bound"]) for row in some], linestyle="--", color=colour)
        ax.set(title=what, xscale="log", xlabel="processor seconds")
    axes[0][0].set_ylabel("errors, and lower bound (dashed)")
    axes[0][0].legend(frameon=False)
    axes[0][0].figure.savefig(RESULTS / "anytime.png", dpi=80)


def main():
    run(__doc__, "anytime", COLUMNS, problems(), measured)
    draw()


if __name__ == "__main__":
    main()
