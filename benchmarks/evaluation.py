"""Coverage of the intervals of evaluations.

`hr.evaluate` states two 95 % intervals for each measure: for the counted rows (noise only), and for new rows from the
same population (noise and sampling). Models were fitted on half of a table at ε = 1; the other half is the population.
From it 60 samples were drawn with replacement, and each was evaluated with 5 draws of seeded noise. The measure of the
sample and of the population are known without noise, so that misses can be counted:

{evaluation_misses}

*Missed* is the share of the 300 intervals that do not contain the measure; the nominal share is 5 %. By chance it can
be up to 9.3 % of the intervals for noise only (one alarm in a thousand), and up to 15 % of the intervals for noise and
sampling, because the five draws of a sample share its sampling error. *Width* is the median. *Rounded off* is the mean
distance of the measure from the same measure without score bands, bins and levels. The rare class is the rarer class of
Adult after removing 19 of 20 of its rows, so that it has 1.6 % of the rows. Numbers: the age of Adult, from 17 to 90 in
32 levels.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from measure import report
from sklearn.metrics import log_loss, roc_auc_score

import hedgerow as hr

SAMPLES, DRAWS, SEED = 60, 5, 20261129
SIZES, EPSILONS = (300, 2000), ("0.1", "1")


class NoNoise:
    """A source that adds nothing."""

    no_guarantee_reason = "no noise"
    description = "no noise"

    def prepare(self, mechanism):  # noqa: ARG002
        return lambda values: values.tolist()


def binary(rare=False):
    data = hr.datasets.load("adult")
    y = pd.Series(np.where(np.asarray(data.labels) == data.schema.classes[1], "yes", "no"))
    kept = np.flatnonzero((y == "no") | (np.arange(len(y)) % 20 == 0)) if rare else np.arange(len(y))
    schema = hr.Schema(dict(data.schema.attributes), hr.Label("y", ("no", "yes")))
    return data.frame.iloc[kept].reset_index(drop=True), y[kept].reset_index(drop=True), schema


def ages():
    data = hr.datasets.load("adult")
    attributes = {name: kind for name, kind in data.schema.attributes if name != "age"}
    return data.frame.drop(columns="age"), data.frame["age"], hr.Schema(attributes, hr.Number("age", 17, 90))


def three():
    data = hr.datasets.load("ctg")
    return data.frame, pd.Series(data.labels), data.schema


CASES = {
    "scorecard": (binary, lambda s: hr.PrivateScorecardClassifier(1, schema=s, random_state=0)),
    "tree, costs": (binary, lambda s: hr.PrivateTreeClassifier(1, schema=s, class_weight={"yes": 5}, random_state=0)),
    "scorecard, rare class": (
        lambda: binary(rare=True),
        lambda s: hr.PrivateScorecardClassifier(1, schema=s, random_state=0),
    ),
    "tree, ctg": (three, lambda s: hr.PrivateTreeClassifier(1, schema=s, random_state=0)),
    "tree, age": (ages, lambda s: hr.PrivateTreeRegressor(1, schema=s, max_depth=4, random_state=0)),
}


def exact_measures(learner, X, y):
    """Return measures of the rows without bands, bins and levels, by name."""
    if isinstance(y.iloc[0], (int, np.integer)):
        off = y.clip(17, 90) - learner.predict(X)
        squared = (off**2).mean()
        known = {"mean absolute error": off.abs().mean(), "root mean squared error": squared**0.5}
        return known | {"true minus predicted": off.mean(), "R²": 1 - squared / y.clip(17, 90).var(ddof=0)}
    if not hasattr(learner, "scorecard_") or y.nunique() != 2:
        return {}
    scores = learner.predict_proba(X)[:, 1]
    hits = (y == "yes").to_numpy()
    return {"AUROC": roc_auc_score(hits, scores), "log-loss": log_loss(hits, scores)}


def main(samples=SAMPLES, sizes=SIZES, epsilons=EPSILONS, cases=tuple(CASES)):
    rows = []
    for case in cases:
        table, make = CASES[case]
        X, y, schema = table()
        order = np.random.default_rng(SEED).permutation(len(y))
        first, second = order[: len(y) // 2], order[len(y) // 2 :]
        learner = make(schema).fit(X.iloc[first], y.iloc[first])
        X, y = X.iloc[second].reset_index(drop=True), y.iloc[second].reset_index(drop=True)
        for size in sizes:
            for epsilon in epsilons:
                rows += [
                    {"case": case, "rows": size, "epsilon": epsilon, **row}
                    for row in misses(learner, X, y, size, epsilon, samples)
                ]
    report("evaluation", rows)


def misses(learner, X, y, size, epsilon, samples):
    rng = np.random.default_rng(SEED)
    population = hr.evaluate(learner, X, y, epsilon=epsilon, random_state=NoNoise())
    truth, result = {estimate.name: estimate.value for estimate in population.estimates}, {}
    for _ in range(samples):
        drawn = rng.integers(len(y), size=size)
        own = hr.evaluate(learner, X.iloc[drawn], y.iloc[drawn], epsilon=epsilon, random_state=NoNoise())
        exact, rounded = (
            exact_measures(learner, X.iloc[drawn], y.iloc[drawn]),
            {estimate.name: estimate.value for estimate in own.estimates},
        )
        for _ in range(DRAWS):
            for estimate in noisy(own, rng).estimates:
                of_rows, known = rounded[estimate.name], exact.get(estimate.name)
                result.setdefault(estimate.name, []).append(
                    (
                        of_rows is not None and not estimate.on_rows[0] <= of_rows <= estimate.on_rows[1],
                        not estimate.of_others[0] <= truth[estimate.name] <= estimate.of_others[1],
                        estimate.on_rows[1] - estimate.on_rows[0],
                        estimate.of_others[1] - estimate.of_others[0],
                        np.nan if known is None or of_rows is None else of_rows - known,
                    )
                )
    for name, runs in result.items():
        runs = np.array(runs, dtype=float)
        yield {
            "measure": name,
            "exact": round(truth[name], 4),
            "missed on rows": round(runs[:, 0].mean(), 4),
            "missed on others": round(runs[:, 1].mean(), 4),
            "width on rows": round(float(np.median(runs[:, 2])), 4),
            "width on others": round(float(np.median(runs[:, 3])), 4),
            "rounded off": "" if np.isnan(runs[:, 4]).all() else round(float(np.nanmean(runs[:, 4])), 4),
        }


def noisy(evaluation, rng):
    """Return an evaluation with noise added to its exact counts."""

    def added(counts, charge):
        stop = -np.expm1(-float(charge.epsilon))
        cells = np.array(counts)
        return tuple(map(tuple, (cells + rng.geometric(stop, cells.shape) - rng.geometric(stop, cells.shape)).tolist()))

    charges = evaluation.privacy.charges
    if not evaluation.numbers:
        return replace(evaluation, counts=added(evaluation.counts, charges[-1]))
    counts, numbers = added(evaluation.counts, charges[-2]), added(evaluation.numbers, charges[-1])
    return replace(evaluation, counts=counts, numbers=numbers)


if __name__ == "__main__":
    main()
