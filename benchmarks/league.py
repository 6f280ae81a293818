"""The league: raw tables with default settings.

Mean test accuracy over 20 splits 80/20, default settings, secure noise, pure ε-DP. Schemas declare bounds and values
and no cut point (`league_tables.py`). *Tree* and *list* are `PrivateTreeClassifier(epsilon)` and
`PrivateRuleListClassifier(epsilon)`; the standard error is the tree's; the *best fixed depth* of 1, 2 and 3 is chosen
with hindsight, by test accuracy. Compared in the same run: DP-EBM with δ = 1e-5 and the same bounds (two classes only),
CART without privacy, the majority. The prior of trees was chosen on all tables with a † ([prior](prior.py)), and the
stop probability of lists ([stop_probability.csv](results/stop_probability.csv)) and the objective
([objectives.csv](results/objectives.csv)) on breast_cancer and ctg.
[results/league_runs.csv](results/league_runs.csv) has every run, including `objective="mixed"`; AUROC and log-loss are
in [results/league_probabilities.csv](results/league_probabilities.csv).

AUROC is the mean over classes, one-vs-rest; probabilities are clipped at .01 for the log-loss. DP-EBM is run if it is
installed (`pip install interpret-core`).

Means over all tables, and over the tables without †. The last three columns are means over the
tables with two classes, which DP-EBM requires:

{league_means}

{full_league}

Published results on other splits, for Adult at ε = 0.01, 0.1 and 1: PrivaTree, depth 4, .751, .79 and .822 (Vos, Vos,
Li, Erkin and Verwer, *Differentially-Private Decision Trees and Provable Robustness to Data Poisoning*, 2023); S-BDT,
50 to 400 trees with δ, .775 and .830 at the first two (Peinemann, Kirschte, Stock, Cotrini and Mohammadi, *S-BDT:
Distributed Differentially Private Boosted Decision Trees*, CCS 2024).
"""

import time
import warnings

import numpy as np
import pandas as pd
import sizes
from league_tables import TABLES
from measure import RESULTS, run_splits
from sklearn.compose import make_column_transformer
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.schema import Categorical, Integer, Real

EPSILONS = (0.01, 0.05, 0.1, 0.5, 1.0)
SIZES = (1, 2, 3)
SCORES = ["accuracy", "AUROC", "log-loss"]
LEAST = 0.01
TREES, LISTS, EBM, CART, MAJORITY = "tree", "list", "DP-EBM", "CART of depth 3, not private", "majority"
RAW = RESULTS / "league_runs.csv"
COLUMNS = ["table", "split", "epsilon", "learner", "accuracy", "seconds", *SCORES[1:], *sizes.OF_LEAVES]
LEARNERS = (
    *(TREES, LISTS, f"{TREES}, mixed", f"{LISTS}, mixed", *(f"tree of depth {size}" for size in SIZES)),
    *(EBM, CART, MAJORITY),
)


def main():
    report(run_splits(__doc__, TABLES, runs, RAW, COLUMNS, LEARNERS))


def runs(name, split, wanted):
    """Yield the results of the selected learners on one split of a table."""
    frame, labels, schema = TABLES[name]()
    parts = train_test_split(frame, labels, test_size=0.2, random_state=split)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    tally = hr.Tally.count(X, y, schema)
    if MAJORITY in wanted:
        yield name, split, "", MAJORITY, np.mean(y_test == y.mode()[0]), 0
    if CART in wanted:
        fitted = cart(X, y, schema)
        size = sizes.of_cart(fitted[-1], fitted[:-1].transform(X[list(schema)]))
        yield name, split, "", CART, *scored(fitted, X_test, y_test, 0), *size.values()
    for epsilon in EPSILONS:
        for learner, estimator in learners_of(epsilon).items():
            if learner in wanted:
                start = time.perf_counter()
                fitted = estimator.fit_tally(tally)
                seconds = time.perf_counter() - start
                size = sizes.of_fitted(fitted, X)
                yield name, split, epsilon, learner, *scored(fitted, X_test, y_test, seconds), *size.values()
        start, machine = time.perf_counter(), boosted(X, y, schema, epsilon, split) if EBM in wanted else None
        if machine is not None:
            seconds = time.perf_counter() - start
            yield name, split, epsilon, EBM, *scored(machine, prepared(X_test, schema), y_test, seconds)


def learners_of(epsilon):
    """Return hedgerow's private learners by their names."""
    return {
        TREES: hr.PrivateTreeClassifier(epsilon),
        LISTS: hr.PrivateRuleListClassifier(epsilon),
        f"{TREES}, mixed": hr.PrivateTreeClassifier(epsilon, objective="mixed"),
        f"{LISTS}, mixed": hr.PrivateRuleListClassifier(epsilon, objective="mixed"),
        **{f"tree of depth {size}": hr.PrivateTreeClassifier(epsilon, max_depth=size) for size in SIZES},
    }


def scored(fitted, X_test, y_test, seconds, least=LEAST):
    """Return accuracy, seconds, AUROC and log-loss: what follows the learner in a row.

    Probabilities are clipped at `least` for the log-loss.
    """
    classes, chances, y = list(fitted.classes_), fitted.predict_proba(X_test), np.asarray(y_test)
    present = [place for place, label in enumerate(classes) if 0 < (y == label).sum() < len(y)]
    auc = np.mean([roc_auc_score(y == classes[place], chances[:, place]) for place in present])
    clipped = np.clip(chances, least, 1)
    loss = log_loss(y, clipped / clipped.sum(axis=1, keepdims=True), labels=classes)
    return fitted.score(X_test, y_test), round(seconds, 2), round(auc, 5), round(loss, 5)


def cart(X, y, schema, **settings):
    """Return CART on the schema's attributes, categories as indicators; of depth 3 if no other setting is given."""
    words = [name for name, attribute in schema.attributes if isinstance(attribute, Categorical)]
    numbers = [name for name in schema if name not in words]
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), ("passthrough", numbers), verbose_feature_names_out=False
    )
    return make_pipeline(columns, DecisionTreeClassifier(random_state=0, **(settings or {"max_depth": 3}))).fit(
        X[list(schema)], y
    )


def boosted(X, y, schema, epsilon, seed):
    """Return a private explainable boosting machine; None if it does not run."""
    try:
        from interpret.privacy import DPExplainableBoostingClassifier
    except ImportError:
        return None
    if len(schema.classes) > 2:
        return None
    kinds = ["continuous" if isinstance(a, (Integer, Real)) else "nominal" for _, a in schema.attributes]
    bounds = {n: (float(a.low), float(a.high)) for n, a in schema.attributes if isinstance(a, (Integer, Real))}
    machine = DPExplainableBoostingClassifier(
        epsilon=epsilon, delta=1e-5, feature_types=kinds, privacy_bounds=bounds, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return machine.fit(prepared(X, schema), y)


def prepared(X, schema):
    """Return the columns as the machine takes them: numbers clipped to their bounds and filled, categories as text."""
    columns = {}
    for name, attribute in schema.attributes:
        if isinstance(attribute, (Integer, Real)):
            middle = (attribute.low + attribute.high) / 2
            numbers = pd.to_numeric(X[name], errors="coerce").fillna(middle)
            columns[name] = numbers.clip(attribute.low, attribute.high).astype(float)
        else:
            columns[name] = X[name].astype(str)
    return pd.DataFrame(columns)


def report(found):
    """Write the means over the splits, one row a table and ε, and print them."""
    private = found[found["epsilon"].notna()]
    table = private.pivot_table(index=["table", "epsilon"], columns="learner", values="accuracy", sort=False)
    fixed = [f"tree of depth {size}" for size in SIZES]
    table["standard error"] = private[private["learner"] == TREES].groupby(["table", "epsilon"])["accuracy"].sem()
    table["best fixed depth"] = table[fixed].max(axis=1)
    for learner in (CART, MAJORITY):
        table[learner] = table.index.get_level_values("table").map(
            found[found["learner"] == learner].groupby("table")["accuracy"].mean()
        )
    table["splits"] = private[private["learner"] == TREES].groupby(["table", "epsilon"]).size()
    for learner, name in ((TREES, "leaves of the tree"), (LISTS, "rules of the list")):
        table[name] = private[private["learner"] == learner].groupby(["table", "epsilon"])["leaves"].mean()
    of_cart = found[found["learner"] == CART].groupby("table")["leaves"].mean()
    table["leaves of CART"] = table.index.get_level_values("table").map(of_cart)
    ahead = ahead_of_cart(found)
    table["tree less CART"], table["standard error of tree less CART"] = ahead.mean(), ahead.sem()
    order = [TREES, "standard error", "best fixed depth", LISTS, EBM, CART, MAJORITY, "splits"]
    order += ["leaves of the tree", "rules of the list", "leaves of CART"]
    order += ["tree less CART", "standard error of tree less CART"]
    table = table.reindex(columns=order)
    table.round(4).to_csv(RESULTS / "league.csv", lineterminator="\n")
    print(table.round(3).to_string())
    report_probabilities(found[found["AUROC"].notna()])


def ahead_of_cart(found):
    """Return the accuracy of trees minus CART's accuracy on the same split, grouped by table and ε."""
    cart = found[found["learner"] == CART].set_index(["table", "split"])["accuracy"]
    trees = found[found["learner"] == TREES].set_index(["table", "split", "epsilon"])["accuracy"]
    return (trees - cart).groupby(["table", "epsilon"])


def report_probabilities(found):
    """Write the means of all scores by table, ε and learner of the splits that have them, if there are any."""
    if found.empty:
        return
    found = found.assign(epsilon=found["epsilon"].astype(object).fillna(""))
    grouped = found.groupby(["table", "epsilon", "learner"], sort=False)
    table = grouped[[*SCORES, *sizes.OF_LEAVES]].mean()
    for score in SCORES:
        table[f"standard error of {score}"] = grouped[score].sem()
    table["splits"] = grouped.size()
    table.round(4).to_csv(RESULTS / "league_probabilities.csv", lineterminator="\n")
    print(table.round(3).to_string())


if __name__ == "__main__":
    main()
