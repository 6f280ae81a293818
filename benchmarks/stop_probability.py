"""The constant probability of stopping.

Defaults of exact draws were chosen on breast cancer and cardiotocography. Other pages, among them the league and the
forecasts, use these data too: there, a † marks them, and [means of the league](league.py) are also given without them.
The table has the constant stop probability ρ, which rule lists use and trees used in version 0.2, at ε from 0.025 to
0.1; .1 is the largest value that is not worse than the best by two standard errors over 20 splits. The
[prior of trees](prior.py) was chosen on COMPAS, German, cardiotocography, breast cancer and wine:

{stop_probability}

Test accuracy over 20 splits 70/30, 3 draws each, without leaf counts. The noise is seeded: a public constant is chosen,
on public tables.
"""

import numpy as np
from measure import report
from sklearn.model_selection import train_test_split

import hedgerow as hr

CHANCES = (0.05, 0.1, 0.25, 0.5, 0.75)
DATASETS = ("breast_cancer", "ctg")
DRAWN = {"search": "exact", "release_counts": False}
MODELS = {
    "trees of depth 3": lambda **kw: hr.PrivateTreeClassifier(max_depth=3, **DRAWN, **kw),
    "lists of 2 rules and a default, 1 literal": lambda **kw: hr.PrivateRuleListClassifier(
        max_rules=3, max_literals=1, **DRAWN, **kw
    ),
}
EPSILONS = (0.025, 0.05, 0.1)
SEEDS, DRAWS = 20, 3


def main():
    rows, by_split = [], []
    for name in DATASETS:
        data = hr.datasets.load(name)
        splits = [
            train_test_split(data.frame, data.labels, test_size=0.3, random_state=seed, stratify=data.labels)
            for seed in range(SEEDS)
        ]
        tallies = [hr.Tally.count(X, y, data.schema) for X, _, y, _ in splits]
        majority = float(np.mean([y_test.eq(y.mode()[0]).mean() for _, _, y, y_test in splits]))
        for what, make in MODELS.items():
            for epsilon in EPSILONS:
                scores = np.array(
                    [
                        [
                            accuracy(make, epsilon, chance, tallies[seed], *splits[seed][1::2], seed)
                            for chance in CHANCES
                        ]
                        for seed in range(SEEDS)
                    ]
                )
                row = {"dataset": name, "models": what, "epsilon": epsilon, "majority": f"{majority:.4f}"}
                row |= {f"ρ = {c}": f"{mean:.4f}" for c, mean in zip(CHANCES, scores.mean(axis=0), strict=True)}
                rows.append(row)
                by_split.append(scores)
                print(row, flush=True)
    rows.append(mean_row(np.mean(by_split, axis=0)))
    report("stop_probability", rows)


def mean_row(scores):
    """Return the means of all rows, each with the standard error of its difference from the best, over splits."""
    means = scores.mean(axis=0)
    lost = scores[:, [means.argmax()]] - scores
    errors = lost.std(axis=0, ddof=1) / np.sqrt(len(lost))
    row = {"dataset": "mean", "models": "difference from the best ± its standard error", "epsilon": "", "majority": ""}
    cells = zip(CHANCES, means, lost.mean(axis=0), errors, strict=True)
    return row | {f"ρ = {c}": f"{mean:.4f} (−{less:.4f} ± {error:.4f})" for c, mean, less, error in cells}


def accuracy(make, epsilon, chance, tally, X_test, y_test, seed):
    fits = [
        make(epsilon=epsilon, stop_probability=chance, random_state=seed * DRAWS + draw).fit_tally(tally)
        for draw in range(DRAWS)
    ]
    return np.mean([fit.score(X_test, y_test) for fit in fits])


if __name__ == "__main__":
    main()
