"""Accuracy of exact private draws.

20 splits 70/30, 5 fits each, secure noise, pure ε-DP. Exact draws release labels only. *Greedy* is the private model of
the same kind and ε, built rule by rule. The *optimum* is certified, has no minimum support and is not private (for
lists of two literals, it is the optimum with one literal). DP-EBM, a private explainable boosting machine at δ = 1e-5,
was measured earlier on splits of this kind and not repeated here.

{exact_accuracy}

On Adult, from ε = 0.1 on, a draw from all trees is within half a point of the optimal tree. On German, models of this
size do not help ([accuracy of greedy lists](accuracy.py)); the exact draw loses least.
"""

import argparse

import numpy as np
from measure import report
from sklearn.model_selection import train_test_split

import hedgerow as hr

ONE_LITERAL = {"max_rules": 5, "max_literals": 1}
ROWS = [  # what, dataset, with sensitive columns, estimator parameters, (ε, goal, DP-EBM)
    ("trees of depth 4", "adult_binary", False, "tree", {"max_depth": 4},
     [(0.05, 0.788, ""), (0.1, 0.790, 0.787), (1.0, 0.793, 0.792)]),
    ("trees of depth 4, all 24 columns", "adult_binary", True, "tree", {"max_depth": 4}, [(0.1, 0.799, "")]),
    ("lists of 4 rules, 1 literal", "compas_binary", False, "list", ONE_LITERAL,
     [(0.05, 0.647, ""), (0.1, 0.649, 0.612), (1.0, "", 0.651)]),
    ("lists of 4 rules, 2 literals, lookahead 2", "adult_binary", False, "list",
     {"max_rules": 5, "max_literals": 2, "lookahead": 2}, [(0.05, 0.786, "")]),
    ("trees of depth 2", "german_binary", False, "tree", {"max_depth": 2}, [(0.1, 0.69, ""), (1.0, "", "")]),
]  # fmt: skip
FITS = 5  # private fits a split, so that the mean says more of the splits than of the noise


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    rows = []
    for what, name, sensitive, kind, parameters, goals in ROWS:
        data = hr.datasets.load(name)
        data = data if sensitive else data.without_sensitive()
        optimum = optimal(kind, parameters)
        for epsilon, goal, ebm in goals:
            scores = np.array([split(data, kind, parameters, epsilon, optimum, seed) for seed in range(seeds)])
            exact, greedy, best = scores.mean(axis=0)
            rows.append(
                {
                    "models": what,
                    "dataset": name,
                    "epsilon": epsilon,
                    "exact": f"{exact:.4f}",
                    "standard error": f"{scores[:, 0].std(ddof=1) / np.sqrt(seeds):.4f}",
                    "goal": goal,
                    "greedy": f"{greedy:.4f}",
                    "DP-EBM": ebm,
                    "optimum, not private": f"{best:.4f}",
                    "majority": f"{max(data.labels.value_counts(normalize=True)):.4f}",
                }
            )
            print(rows[-1], flush=True)
    report("exact_accuracy", rows)


def private(kind, parameters, epsilon, search):
    used = {name: value for name, value in parameters.items() if search == "exact" or name != "lookahead"}
    used |= {"release_counts": False} if search == "exact" else {}  # greedy models always have counts
    learner = hr.PrivateTreeClassifier if kind == "tree" else hr.PrivateRuleListClassifier
    return learner(epsilon, search=search, **used)


def optimal(kind, parameters):
    """Return the optimum of the same models; of two-literal lists that of one literal, which is certified in time."""
    if kind == "tree":
        return hr.OptimalTreeClassifier(min_support=0, schema=None, **parameters)
    return hr.OptimalRuleListClassifier(min_support=0, schema=None)


def split(data, kind, parameters, epsilon, optimum, seed):
    X, X_test, y, y_test = train_test_split(data.frame, data.labels, test_size=0.3, random_state=seed)
    tally = hr.Tally.count(X, y, data.schema)

    def score(search):
        fits = [private(kind, parameters, epsilon, search).fit_tally(tally) for _ in range(FITS)]
        return np.mean([fit.score(X_test, y_test) for fit in fits])

    best = optimum.fit_tally(tally)
    assert best.optimal_
    return score("exact"), score("greedy"), best.score(X_test, y_test)


if __name__ == "__main__":
    main()
