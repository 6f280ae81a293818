"""Quantiles compared with diffprivlib.

COMPAS' ages between 0 and 120, breast cancer's mean radius between 0 and 50: the mean distance of ranks, with its
standard error over 30 draws in brackets. *Jointly* is `Schema.learn`'s draw among its public candidates. *One by one*:
diffprivlib 0.6.6 with ε/k for each of k quantiles, by the exponential mechanism over the intervals between the rows'
values, so that the result can be any number between the bounds.

{quantiles}

Joint cut points are never less accurate. With many rows relative to ε, both are as accurate as ties in age allow; with
few rows or many quantiles, an equal share of ε per quantile is too little.

DIFFPRIVLIB_PYTHON names an interpreter that has diffprivlib (see [claimed and found ε](epsilon.py)).
"""

import json
import os
import subprocess
import sys
from fractions import Fraction
from itertools import product

import numpy as np
from measure import report

import hedgerow as hr
from hedgerow.privacy.noise import SecureNoise
from hedgerow.schema.private_cuts import PlannedCuts
from hedgerow.tables.frames import Table

NUMBERS = {("compas", "age"): hr.Integer(0, 120), ("breast_cancer", "mean radius"): hr.Real(0, 50)}
BINS = (5, 10)
EPSILONS = (Fraction(1, 10), Fraction(1))
REPEATS = 30
PEER = """
import json, sys
from diffprivlib.tools import quantile
asked = json.load(sys.stdin)
goals, bounds = [step / asked["bins"] for step in range(1, asked["bins"])], tuple(asked["bounds"])
def drawn():
    each = asked["epsilon"] / len(goals)
    return sorted(float(quantile(asked["values"], goal, epsilon=each, bounds=bounds)) for goal in goals)
print(json.dumps([drawn() for _ in range(asked["repeats"])]))
"""


def jointly(column, name, declared, bins, epsilon):
    """Return draws of all cut points as `Schema.learn` makes them, shape ``(REPEATS, bins - 1)``."""
    plan = PlannedCuts.of(name, declared, epsilon, bins)
    counts, run = plan.counts(column), SecureNoise().prepare(plan.mechanism)
    return np.array([[plan.number.cuts[place] for place in run(counts)] for _ in range(REPEATS)], dtype=float)


def one_by_one(values, declared, bins, epsilon):
    """Return draws of diffprivlib's quantiles, each for an equal share of ε, sorted."""
    asked = {"values": values.tolist(), "bounds": (declared.low, declared.high), "bins": bins}
    done = subprocess.run(
        [os.environ.get("DIFFPRIVLIB_PYTHON", sys.executable), "-W", "ignore", "-c", PEER],
        input=json.dumps(asked | {"epsilon": float(epsilon), "repeats": REPEATS}),
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(done.stdout))


def measured(method, cuts, values):
    """Return the mean distance of a cut point's share of rows from its goal, and its standard error over draws."""
    goals = np.arange(1, cuts.shape[1] + 1) / (cuts.shape[1] + 1)
    errors = np.abs(np.searchsorted(values, cuts, side="right") / len(values) - goals).mean(axis=1)
    return {method: f"{errors.mean():.4f}", f"std. error, {method}": f"{errors.std(ddof=1) / REPEATS**0.5:.4f}"}


def main():
    rows = []
    for ((table, name), declared), bins, epsilon in product(NUMBERS.items(), BINS, EPSILONS):
        frame = hr.datasets.load(table).frame[[name]]
        values = np.sort(frame[name].to_numpy(dtype=float))
        joint = jointly(Table.of(frame).column(name, 0), name, declared, bins, epsilon)
        row = {"table": table, "number": name, "rows": len(values), "bins": bins, "epsilon": float(epsilon)}
        row |= measured("jointly", joint, values)
        rows.append(row | measured("one by one", one_by_one(values, declared, bins, epsilon), values))
        print(rows[-1], flush=True)
    report("quantiles", rows)


if __name__ == "__main__":
    main()
