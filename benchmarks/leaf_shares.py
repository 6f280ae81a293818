"""Class shares of drawn trees.

Private trees and rule lists draw labels by errors. From ε = 0.1 on they spend a twentieth of ε on the counts of their
leaves and store [posterior means of the class shares](../docs/mathematics.md#shares-of-leaves). The alternatives are
labels alone, with a probability of .75 for the predicted class and .25 shared by the remaining classes; a fifth of ε on
counts (`release_counts=True`); and probabilities that are drawn with the model (`objective="mixed"`).

Trees of up to three levels on breast cancer, German Credit, HMDA and the boolean columns of Adult, 10 splits 70/30 with
two draws each, with the same seeds for all settings. Probabilities are at least .001. The calibration error refers to
the predicted class, over ten bins of equal width. Differences from labels alone are paired, with the standard error
over tables and splits.

The threshold of ε = 0.1 and the twentieth were chosen with a prototype, whose runs are not in the repository: at
ε = 0.05 counts were worse than the constant. Whether a table has enough rows for shares at a smaller ε depends on its
number of rows, which is private, so that the threshold depends on ε alone. The counts determine how far the shares of a
leaf differ from the shares of other leaves.

{leaf_shares}
"""

import warnings
from itertools import product

import numpy as np
from league_tables import hmda
from measure import RESULTS, run_splits
from measure import report as written
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import hedgerow as hr

TABLES = ("breast_cancer", "german", "adult_binary", "hmda")
EPSILONS = (0.1, 0.3, 1.0, 4.0)
DRAWS, LABELS, LEAST, CONSTANT = 2, "labels alone", 0.001, 0.75
SETTINGS = {
    LABELS: {"release_counts": False},
    "default": {},
    "a fifth for counts": {"release_counts": True},
    "mixed": {"objective": "mixed"},
}
SCORES = ["accuracy", "AUROC", "log-loss", "calibration error"]
COLUMNS = ["table", "split", "epsilon", "setting", *SCORES]
RAW = RESULTS / "leaf_shares_runs.csv"


def main():
    report(run_splits(__doc__, TABLES, runs, RAW, COLUMNS))


def loaded(name):
    """Return rows, labels and schema of a table."""
    if name == "hmda":
        return hmda()
    data = hr.datasets.load(name)
    return data.frame, data.labels, data.schema


def runs(name, split):
    """Yield the scores of each setting on one split of a table."""
    warnings.simplefilter("ignore")  # seeds void the guarantee, and labels alone have no probabilities
    frame, labels, schema = loaded(name)
    parts = train_test_split(frame, labels, test_size=0.3, random_state=split, stratify=labels)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    tally = hr.Tally.count(X, y, schema)
    for epsilon, (setting, given) in product(EPSILONS, SETTINGS.items()):
        drawn = []
        for draw in range(DRAWS):
            seed = 1000 * split + draw
            fitted = hr.PrivateTreeClassifier(epsilon, max_depth=3, random_state=seed, **given).fit_tally(tally)
            shares = fitted.predict_proba(X_test)
            if setting == LABELS:
                shares = np.where(shares == 1, CONSTANT, (1 - CONSTANT) / (shares.shape[1] - 1))
            drawn.append(scores(shares, fitted.classes_, np.asarray(y_test)))
        yield name, split, epsilon, setting, *(round(float(item), 5) for item in np.mean(drawn, axis=0))


def scores(shares, classes, actual):
    """Return accuracy, AUROC (the mean of each class against the rest), log-loss and calibration error."""
    shares = np.maximum(shares, LEAST)
    shares /= shares.sum(axis=1, keepdims=True)
    each = [roc_auc_score(actual == value, shares[:, place]) for place, value in enumerate(classes)]
    own = shares[np.arange(len(actual)), np.searchsorted(classes, actual)]
    largest, is_right = shares.max(axis=1), classes[shares.argmax(axis=1)] == actual
    bins = np.minimum((10 * largest).astype(int), 9)
    off = np.bincount(bins, weights=largest - is_right, minlength=10)
    return is_right.mean(), np.mean(each), -np.log(own).mean(), np.abs(off).sum() / len(actual)


def report(runs):
    """Write the mean of each setting by ε, and its gain over labels alone."""
    rows = []
    for (epsilon, setting), here in runs.groupby(["epsilon", "setting"], sort=False):
        base = runs[(runs["epsilon"] == epsilon) & (runs["setting"] == LABELS)].set_index(["table", "split"])[SCORES]
        result = here.set_index(["table", "split"])[SCORES]
        gained = result - base
        row = {"epsilon": epsilon, "setting": setting, "tables": here["table"].nunique(), "runs": len(here)}
        for score in SCORES:
            row[score] = f"{result[score].mean():.4f}"
            error = gained[score].std(ddof=1) / len(gained) ** 0.5
            row[f"{score} − labels alone"] = f"{gained[score].mean():+.4f} ± {error:.4f}"
        row["worst table, accuracy"] = f"{gained['accuracy'].groupby('table').mean().min():+.4f}"
        rows.append(row)
    written("leaf_shares", rows)


if __name__ == "__main__":
    main()
