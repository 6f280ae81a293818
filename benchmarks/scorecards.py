"""Private scorecards compared with DP-EBM.

AUROC / log-loss over 20 splits 80/20, default settings, the schemas of `hedgerow.datasets`; the classes of ctg are
normal and not normal. Further columns: for scorecards, attributes / printed bins per number (– if there is no number);
for trees, leaves. *Scorecard* is `PrivateScorecardClassifier(epsilon)`, pure ε, and with δ = 1e-5, two draws a split.
In the same run: trees of depth 3 drawn by the mean of Brier score and error; DP-EBM with δ = 1e-5 on raw columns with
the same bounds, and on the schema's bins; logistic regression on the bins, without privacy. Probabilities are clipped
at 0.0001. The file has accuracy, standard errors and the expected calibration error over ten bins of equal width, too.
The scorecard's constants were chosen on breast_cancer and ctg; the number of rows from which residuals are queried was
compared on the remaining tables, too, so each table here influenced at least one default. Scorecards and trees were
measured again on the same splits with the code of 0.3.0; the rows of peers are from earlier runs. The file has the
processor seconds of scorecards.

{all_scorecards}
"""

import time
import warnings

import numpy as np
import pandas as pd
import sizes
from calibration import calibration_error
from league import prepared
from measure import RESULTS, run_splits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder

import hedgerow as hr
from hedgerow.schema import Integer, Label, Real, Schema
from hedgerow.tables.frames import Table

DATASETS = ("breast_cancer", "ctg", "german", "compas", "adult", "german_binary", "compas_binary", "adult_binary")
EPSILONS = (0.05, 0.1, 1.0)
DELTA, LEAST, DRAWS = 1e-5, 1e-4, 2
RAW = RESULTS / "scorecards_runs.csv"
SCORES = ["AUROC", "log-loss", "accuracy", "calibration error", "seconds"]
SIZES = [*sizes.OF_CARDS, "leaves", "supported leaves"]
COLUMNS = ["table", "split", "epsilon", "learner", *SCORES, *SIZES]
OURS = ("scorecard", "scorecard with delta", "tree of depth 3, mixed")
PEERS = ("logistic, not private", "DP-EBM", "DP-EBM on bins")


def main():
    report(run_splits(__doc__, DATASETS, runs, RAW, COLUMNS, (*OURS, *PEERS)))


def loaded(name):
    """Return rows, labels 0 and 1, and their schema."""
    data = hr.datasets.load(name)
    first, *_ = data.schema.classes
    labels = pd.Series((np.asarray(data.labels) != first).astype(int), name="y")
    return data.frame, labels, Schema(dict(data.schema.attributes), Label("y", (0, 1)))


def runs(name, split, wanted):
    """Yield what the learners that are wanted reach on one split of a table."""
    frame, labels, schema = loaded(name)
    parts = train_test_split(frame, labels, test_size=0.2, random_state=split)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    tally = hr.Tally.count(X, y, schema)
    if PEERS[0] in wanted:
        yield name, split, "", PEERS[0], *logistic(schema, X, y, X_test, y_test)
    for epsilon in EPSILONS:
        for learner, estimator, draws in (
            (OURS[0], hr.PrivateScorecardClassifier(epsilon), DRAWS),
            (OURS[1], hr.PrivateScorecardClassifier(epsilon, delta=DELTA), DRAWS),
            (OURS[2], hr.PrivateTreeClassifier(epsilon, max_depth=3, objective="mixed"), 1),
        ):
            if learner in wanted:
                result = [drawn(estimator, tally, X, X_test, y_test) for _ in range(draws)]
                yield name, split, epsilon, learner, *np.mean(result, axis=0).round(5).tolist()
        for learner, encoded in zip(PEERS[1:], (raw, binned), strict=True):
            result = boosted(encoded, schema, epsilon, split, X, y, X_test, y_test) if learner in wanted else None
            if result is not None:
                yield name, split, epsilon, learner, *result


def drawn(estimator, tally, X, X_test, y_test):
    """Return scores, processor seconds and sizes of one fit; a size is NaN if the model does not have it."""
    start = time.process_time()
    fitted = estimator.fit_tally(tally)
    seconds = time.process_time() - start
    size = sizes.of_fitted(fitted, X)
    result = scores(y_test, fitted.predict_proba(X_test)[:, 1], seconds)
    return [*result, *(size.get(name, np.nan) for name in SIZES)]


def scores(y, chances, seconds=0.0):
    """Return AUROC, log-loss, accuracy, expected calibration error and seconds."""
    chances = np.clip(chances, LEAST, 1 - LEAST)
    accuracy, gaps = np.mean((chances > 0.5) == y), calibration_error(y, chances)
    result = roc_auc_score(y, chances), log_loss(y, chances), accuracy, gaps, seconds
    return [round(float(item), 5) for item in result]


def logistic(schema, X, y, X_test, y_test):
    """Return the scores of logistic regression on the schema's bins."""
    one_hot = OneHotEncoder(handle_unknown="ignore")
    fitted = LogisticRegression(C=1.0, max_iter=2000).fit(one_hot.fit_transform(binned(X, schema)), y)
    return scores(y_test, fitted.predict_proba(one_hot.transform(binned(X_test, schema)))[:, 1])


def raw(X, schema):
    """Return columns, kinds and bounds as DP-EBM takes them."""
    return prepared(X, schema)


def binned(X, schema):
    """Return the bin of each value, as text."""
    return pd.DataFrame({name: codes.astype(str) for name, codes in schema.encode(Table.of(X)).items()})


def boosted(encoded, schema, epsilon, seed, X, y, X_test, y_test):
    """Return the scores of a private explainable boosting machine; None where it is not installed."""
    try:
        from interpret.privacy import DPExplainableBoostingClassifier
    except ImportError:
        return None
    numbers = {n: (float(a.low), float(a.high)) for n, a in schema.attributes if isinstance(a, (Integer, Real))}
    numbers = numbers if encoded is raw else {}
    machine = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=["continuous" if name in numbers else "nominal" for name in schema],
        privacy_bounds=numbers,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        machine.fit(encoded(X, schema), y)
        seconds = time.perf_counter() - start
        return scores(y_test, machine.predict_proba(encoded(X_test, schema))[:, 1], seconds)


def report(found):
    """Write the means over the splits with their standard errors, one row a table, ε and learner, and print them."""
    found["epsilon"] = found["epsilon"].astype(object).fillna("")
    grouped = found.groupby(["table", "epsilon", "learner"], sort=False)
    table = grouped[[*SCORES, *SIZES]].mean().round(4)
    for score in SCORES[:2]:
        table[f"standard error of {score}"] = grouped[score].sem().round(4)
    table["splits"] = grouped.size()
    table["seconds"] = table["seconds"].round(2)
    table.to_csv(RESULTS / "scorecards.csv", lineterminator="\n")
    print(table.to_string())


if __name__ == "__main__":
    main()
