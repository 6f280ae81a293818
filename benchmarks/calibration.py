"""Calibration of private models.

Are the probabilities of private trees, lists and scorecards calibrated? Adult and COMPAS with the schemas of
`hedgerow.datasets`, ε = 1, 5 splits 70/30, default sizes, trees and lists by `objective="mixed"`. The noise is seeded.

Expected calibration error over ten bins of equal width, its approximate 95 % interval, and the 95 % quantile of the
error of a calibrated model with the same probabilities; means over the splits:

{calibration}

The error is the mean over rows of the distance between the observed share of their bin and its mean probability. A
calibrated model also has a positive error, because shares of few rows vary by chance. The interval is a basic bootstrap
over test rows, which approximately corrects this; it begins at 0 if a calibrated model with the same probabilities
reaches the error more often than once in twenty times.

The first split ([results/calibration_bins.csv](results/calibration_bins.csv)); lines are exact 95 % intervals of each
bin (Clopper and Pearson), areas are rows:

![reliability curves of a tree, a list and a scorecard on Adult and COMPAS](results/calibration.png)
"""

import matplotlib as mpl
import numpy as np
from measure import RESULTS, report
from scipy.stats import beta
from sklearn.model_selection import train_test_split

import hedgerow as hr

DATASETS = ("adult", "compas")
EPSILON, BINS, SPLITS, RESAMPLES = 1.0, 10, 5, 2000
MODELS = {
    "tree, mixed": lambda seed: hr.PrivateTreeClassifier(EPSILON, objective="mixed", random_state=seed),
    "list, mixed": lambda seed: hr.PrivateRuleListClassifier(EPSILON, objective="mixed", random_state=seed),
    "scorecard": lambda seed: hr.PrivateScorecardClassifier(EPSILON, random_state=seed),
}


def main():
    mpl.use("Agg")
    errors, bins = [], []
    for name in DATASETS:
        data = hr.datasets.load(name)
        for split in range(SPLITS):
            X, X_test, y, y_test = train_test_split(
                data.frame, data.labels, test_size=0.3, random_state=split, stratify=data.labels
            )
            tally, second = hr.Tally.count(X, y, data.schema), np.asarray(y_test) == data.schema.classes[1]
            for model, make in MODELS.items():
                chances = make(split).fit_tally(tally).predict_proba(X_test)[:, 1]
                key = {"table": name, "model": model, "split": split}
                errors.append(key | with_interval(second, chances, np.random.default_rng(split)))
                if split == 0:
                    bins += [key | item for item in reliability(second, chances)]
    report("calibration_bins", bins)
    report("calibration", errors)
    draw(bins, errors)


def cells(second, chances):
    """Return of each bin the rows, the rows of the second class and the sum of the chances."""
    places = np.minimum((chances * BINS).astype(int), BINS - 1)
    return [np.bincount(places, weights=each, minlength=BINS) for each in (np.ones(len(places)), second, chances)]


def calibration_error(second, chances):
    """Return the expected calibration error: the mean over rows of the gap of their bin."""
    rows, items, expected = cells(second, chances)
    return np.abs(items - expected).sum() / rows.sum()


def with_interval(second, chances, rng):
    """Return the error, its 95 % interval, and the error that a calibrated model stays below 19 times in 20."""
    error, n = calibration_error(second, chances), len(chances)
    again = [calibration_error(second[rows], chances[rows]) for rows in rng.integers(n, size=(RESAMPLES, n))]
    chance = [calibration_error(rng.random(n) < chances, chances) for _ in range(RESAMPLES)]
    (low, high), calibrated = np.quantile(again, [0.025, 0.975]), np.quantile(chance, 0.95)
    ends = {"low": max(2 * error - high, 0) if error > calibrated else 0, "high": max(2 * error - low, 0)}
    result = {"rows": n, "calibration error": error, **ends, "of a calibrated model": calibrated}
    return {name: f"{value:.4f}" if name != "rows" else value for name, value in result.items()}


def reliability(second, chances):
    """Yield of each bin that has rows the mean chance, and the share of the second class with its exact interval."""
    for place, (rows, items, expected) in enumerate(zip(*cells(second, chances), strict=True)):
        if rows:
            low = beta.ppf(0.025, items, rows - items + 1) if items else 0.0
            high = beta.ppf(0.975, items + 1, rows - items) if items < rows else 1.0
            result = {"chance": expected / rows, "share": items / rows, "low": low, "high": high}
            yield {"bin": place, "rows": int(rows)} | {name: f"{value:.4f}" for name, value in result.items()}


def draw(bins, errors):
    import matplotlib.pyplot as plt

    shape = len(DATASETS), len(MODELS)
    figure, axes = plt.subplots(*shape, figsize=(8, 5.4), layout="constrained", sharex=True, sharey=True)
    for line, name in zip(axes, DATASETS, strict=True):
        for ax, model in zip(line, MODELS, strict=True):
            here = [row for row in bins if (row["table"], row["model"]) == (name, model)]
            chance, share, low, high = ([float(row[key]) for row in here] for key in ("chance", "share", "low", "high"))
            off = np.abs(np.array([low, high]) - share)
            ax.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle=":")
            ax.errorbar(chance, share, off, fmt="none", ecolor="C0", elinewidth=1, capsize=2)
            ax.scatter(chance, share, s=[2 + 150 * row["rows"] / sum(r["rows"] for r in here) for row in here])
            item = next(row for row in errors if (row["table"], row["model"], row["split"]) == (name, model, 0))
            error, low, high = (float(item[key]) for key in ("calibration error", "low", "high"))
            ax.set_title(f"{name}: {model}\nerror {error:.3f} ({low:.3f} to {high:.3f})", fontsize=9)
    figure.supxlabel("probability of the second class")
    figure.supylabel("its share of the test rows")
    figure.savefig(RESULTS / "calibration.png", dpi=80)


if __name__ == "__main__":
    main()
