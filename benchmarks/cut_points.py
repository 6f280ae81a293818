"""Private cut points.

Cut points of the numbers of raw Adult, from all rows and from the first 1,000 rows, between typical declared bounds (0
to 120, 0 to 168, 0 to 100,000). *Jointly*: `Schema.learn`. *One at a time*: OpenDP's quantile by permute-and-flip among
the same candidates, with ε divided equally among the cut points (basic composition), as an earlier version of
`Schema.learn` did. *Error*: the mean distance between the share of rows up to a cut point and its target share;
*least*: the error of the best candidates. *Outside*: cut points beyond all rows on one side. *Different*: the number of
distinct cut points. 20 draws each, secure noise, ε = 0.5:

{cut_points}

If bins have more rows than the noise, joint cut points are nearly optimal. Single cut points are not, because OpenDP's
quantile counts the rows below and above a candidate, while a schema puts rows equal to the cut point below it; more ε
does not help. At ε = 0.05 and 1,000 rows, both methods are mostly noise (see the file). **Joint cut points are worse if
a single value has most rows and there are many bins**: hours at 52 bins (hardly with 1,000 rows), capital gains from 10
bins on. Nine tenths of the capital gains are 0, and the search can split a value only into a limited number of parts
({parts_of_ten_bins} for 10 bins of 1,000 candidates, {parts_of_many_bins} for 52 bins of 168). Beyond that, the
remaining cut points are arbitrary. With few bins they are accurate.

Test accuracy of private trees of depth 3, 5 bins, 20 splits 70/30, with half of ε for the cut points, in brackets the
standard error ([results/cut_points_trees.csv](results/cut_points_trees.csv)):

{cut_point_trees}

For these trees, both methods are equal within two standard errors, and it is better to learn no cut points: an exact
draw benefits more from the many cut points of a grid, which cost no budget.
"""

from fractions import Fraction
from itertools import product

import numpy as np
from measure import report
from opendp.metrics import symmetric_distance
from opendp.mod import binary_search_param
from sklearn.model_selection import train_test_split

import hedgerow as hr
from hedgerow.privacy import opendp as dp
from hedgerow.privacy.noise import SecureNoise
from hedgerow.schema.private_cuts import PlannedCuts
from hedgerow.tables.frames import Table

NUMBERS = {"age": hr.Integer(0, 120), "hours-per-week": hr.Integer(0, 168), "capital-gain": hr.Integer(0, 100_000)}
BINS = (5, 10, 20, 52)
SIZES = (48_842, 1_000)
EPSILONS = (Fraction(1, 20), Fraction(1, 2), Fraction(1))
REPEATS = 20
TREES = {"depth": 3, "bins": 5, "splits": 20, "epsilons": (Fraction(1, 10), Fraction(1))}


def one_at_a_time(values, plan, epsilon):
    """Return a draw of the quantiles of a plan, each by OpenDP for an equal share of epsilon; sorted."""
    bins, candidates = plan.mechanism.bins, [float(cut) for cut in plan.number.cuts]
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), symmetric_distance(), dp.max_divergence()

    def quantile(alpha, scale):
        return dp.m.make_private_quantile(*space, candidates=candidates, alpha=alpha, scale=scale)

    share = float(epsilon / (bins - 1))
    scale = binary_search_param(lambda scale: quantile(0.5, scale), d_in=1, d_out=share, T=float)
    each = [quantile(step / bins, scale) for step in range(1, bins)]
    values = np.asarray(values, dtype=np.float64)
    return lambda: sorted(run(values) for run in each)


def jointly(counts, plan):
    """Return a draw of the quantiles of a plan, as `Schema.learn` makes it; equal quantiles are not merged."""
    run = SecureNoise().prepare(plan.mechanism)
    return lambda: [plan.number.cuts[place] for place in run(counts)]


def cut_points(frame):
    rows = []
    for size, (name, declared), bins in product(SIZES, NUMBERS.items(), BINS):
        values = np.sort(frame[name].to_numpy()[:size])
        column = Table.of(frame[[name]][:size]).column(name, 0)
        goals = np.arange(1, bins) / bins
        for epsilon in EPSILONS:
            plan = PlannedCuts.of(name, declared, epsilon, bins)
            draws = {
                "jointly": jointly(plan.counts(column), plan),
                "one at a time": one_at_a_time(values, plan, epsilon),
            }
            shares = np.searchsorted(values, plan.number.cuts, side="right") / size
            row = {"rows": size, "number": name, "bins": bins, "epsilon": float(epsilon)}
            row["least error"] = f"{np.abs(shares[:, np.newaxis] - goals).min(axis=0).mean():.4f}"
            for method, draw in draws.items():
                row |= measured(method, draw, values, goals)
            rows.append(row)
            print(row, flush=True)
    report("cut_points", rows)


def measured(method, draw, values, goals):
    """Return errors of rank as shares of the rows, cut points that part no two rows, and how many differ."""
    cuts = np.array([draw() for _ in range(REPEATS)])
    shares = np.searchsorted(values, cuts, side="right") / len(values)
    errors = np.abs(shares - goals).mean(axis=1)
    return {
        f"error, {method}": f"{errors.mean():.4f}",
        f"std. error, {method}": f"{errors.std(ddof=1) / REPEATS**0.5:.4f}",
        f"outside, {method}": f"{((shares == 0) | (shares == 1)).sum(axis=1).mean():.2f}",
        f"different, {method}": f"{np.mean([len(set(drawn)) for drawn in cuts.tolist()]):.1f}",
    }


def learned(X, declared, epsilon, method):
    """Return a schema whose numbers without declared cut points have them for epsilon."""
    if method == "jointly":
        return hr.Schema.learn(X, declared, epsilon=epsilon, bins=TREES["bins"])
    numbers = {name: number for name, number in declared.attributes if isinstance(number, hr.Integer)}
    attributes = dict(declared.attributes)
    for name, number in numbers.items():
        plan = PlannedCuts.of(name, number, epsilon / len(numbers), TREES["bins"])
        drawn = one_at_a_time(X[name].clip(number.low, number.high), plan, epsilon / len(numbers))()
        cuts = tuple(sorted({int(cut) for cut in drawn}))
        attributes[name] = hr.Integer(number.low, number.high, cuts, outside=number.outside)
    return hr.Schema(attributes, declared.label)


def trees(data):
    declared = hr.Schema(
        {
            name: hr.Integer(a.low, a.high, outside="clip") if isinstance(a, hr.Integer) else a
            for name, a in data.schema.attributes
        },
        data.schema.label,
    )
    rows = []
    for epsilon in TREES["epsilons"]:
        scores = {method: [] for method in ("jointly", "one at a time", "default grid")}
        for seed in range(TREES["splits"]):
            X, X_test, y, y_test = train_test_split(
                data.frame, data.labels, test_size=0.3, random_state=seed, stratify=data.labels
            )
            for method, result in scores.items():
                grid = method == "default grid"
                schema = declared if grid else learned(X, declared, epsilon / 2, method)
                clf = hr.PrivateTreeClassifier(
                    epsilon=epsilon if grid else epsilon / 2, max_depth=TREES["depth"], schema=schema
                )
                result.append(clf.fit(X, y).score(X_test, y_test))
        row = {"epsilon": float(epsilon), "bins": TREES["bins"], "splits": TREES["splits"]}
        for method, result in scores.items():
            row[method] = f"{np.mean(result):.4f}"
            row[f"std. error, {method}"] = f"{np.std(result, ddof=1) / len(result) ** 0.5:.4f}"
        rows.append(row)
        print(row, flush=True)
    report("cut_points_trees", rows)


if __name__ == "__main__":
    adult = hr.datasets.load("adult")
    cut_points(adult.frame[list(NUMBERS)])
    trees(adult)
