"""The private forest of Fletcher and Islam compared with lists and trees.

SSRL, Section 5.3, states that at ε = 1 its lists lose significantly less accuracy against the model without privacy
than the private forest of Fletcher and Islam (2017, arXiv:1606.03572). It prints no numbers. Here, both are measured on
the splits of [the reproduction of SSRL](../docs/studies/ssrl.md), 70/30, {forest_splits} of them, one fit each. ± is a
standard error. *Loss* is the accuracy of the same kind of model without privacy minus the accuracy of the model, as a
paired difference.

{private_forest_accuracy}

- *Published* labels leaves by the exponential mechanism with smooth sensitivity e^(−jε). It is not ε-differentially
  private: [the study](../docs/studies/private-forest.md) has the counterexample, and the source of every detail of the
  method. *Proven* labels leaves by permute-and-flip and has independent parts of the rows. It is ε-differentially
  private.
- `smooth-laplace` is SSRL's DP-GreedyRL, whose guarantee is [not proven](../docs/studies/mechanisms.md), and is
  [false at ε = .1](../docs/studies/smooth-trees.md#with-few-rows-the-published-claim-is-false) on COMPAS.
  The draws (*exact list* as in the reproduction, *exact tree*) are ε-differentially private.
- Losses at ε = 1 of the published forest of ten trees and of `smooth-laplace`: {forest_losses_at_one}. The
  forest's loss exceeds the lists' loss by {forest_excess_losses}. SSRL's statement is not reproduced on COMPAS and
  Adult: the forest loses less.
- At ε = .1, the proven labels are more accurate on COMPAS and Adult: the published score hardly distinguishes a gap of
  one row from a gap of ten.
- On German Credit, the forest is worse than the majority class, without privacy as well: a tree of depth 15 has far
  more leaves than rows, and leaves without rows have random labels.
- *Original columns* are the attributes from which SSRL's yes/no columns are made. Their numbers are split within their
  range in the whole table. On Adult, this table has its rows in a different order, so its splits are different, too.

Models without privacy: a certified tree of the depth of the exact tree (German Credit 2, else 4), a random forest of
scikit-learn with 100 trees, and the majority class:

{private_forest_baselines}

The command line takes names of tables and ``--splits``. Runs that are in the results file are kept. The script takes
four minutes of one core.
"""

import warnings

import forest_labels
import numpy as np
import pandas as pd
from measure import RESULTS, report, run_splits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import hedgerow as hr
from studies.ssrl.runs import EXACT, GREEDY, TEST_SHARE, TrainTest, load, noise_seed

TABLES = ("compas", "german", "adult")
DEPTHS = {"compas": 4, "german": 2, "adult": 4}
TREES = (3, 10, 30, 100)
EPSILONS, PAPER = (0.1, 1.0, 10.0), "1.0"  # the ε at which SSRL compares
CLAIMS, MOST_GAP = (0.1, 0.5, 1.0, 2.0, 10.0), 5
SSRL = "smooth-laplace"
RULES = {
    "forest, published": (forest_labels.subsets, forest_labels.published),
    "forest, proven": (forest_labels.independent, forest_labels.permute_and_flip),
}
LEARNERS = (
    *(f"{rule}{columns}" for columns in ("", ", original columns") for rule in RULES),
    *(SSRL, "exact list", "exact tree", "certified tree", "random forest", "majority"),
)
ORIGINAL = {  # the columns that the yes/no columns of SSRL are made of
    "compas": ["juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree"],
    "german": [
        *("status", "duration", "credit_history", "purpose", "credit_amount", "savings", "employment"),
        *("installment_rate", "other_debtors", "residence_since", "property", "other_installment_plans", "housing"),
        *("existing_credits", "job", "people_liable", "telephone"),
    ],
    "adult": ["workclass", "education", "occupation", "capital-gain", "capital-loss", "hours-per-week"],
}
COLUMNS = ["table", "split", "learner", "trees", "none", *map(str, EPSILONS)]
RAW = RESULTS / "private_forest_runs.csv"


def main():
    runs = run_splits(__doc__, TABLES, measured, RAW, COLUMNS, LEARNERS)
    report("private_forest", list(summary(runs)))
    report("private_forest_losses", list(losses()))
    report("private_forest_gaps", list(gaps()))


def losses():
    """Yield the costs of one row, by the ε that the forest claims."""
    for epsilon in CLAIMS:
        least = forest_labels.smallest_counterexample(epsilon)
        yield {
            "claim": f"{epsilon:g}",
            "rows": least,
            "loss": f"{forest_labels.log_ratios(forest_labels.published, epsilon, least)[least]:.4g}",
            "delta": f"{forest_labels.delta(forest_labels.published, epsilon, epsilon):.4f}",
            "at 1e-6": f"{forest_labels.loss_at(forest_labels.published, epsilon, 1e-6):.4g}",
            "released code": f"{forest_labels.loss(forest_labels.as_released, epsilon, 200):.4g}",
            "proven": f"{forest_labels.loss(forest_labels.permute_and_flip, epsilon, 20):.4g}",
        }


def gaps():
    """Yield the probabilities of the minority's label and the loss between neighbouring gaps, at ε = 1."""
    rules = forest_labels.published, forest_labels.permute_and_flip
    ratios = [forest_labels.log_ratios(rule, 1.0, MOST_GAP) for rule in rules]
    chances = [np.exp(rule(np.arange(MOST_GAP + 2), 1.0)) for rule in rules]
    for gap in range(MOST_GAP + 1):
        yield {
            "gap": gap,
            "published": f"{chances[0][gap]:.4g}",
            "proven": f"{chances[1][gap]:.4g}",
            "loss": f"{ratios[0][gap]:.4g}",
            "proven loss": f"{ratios[1][gap]:.4g}",
            "delta": f"{max(0.0, chances[0][gap] - np.e * chances[0][gap + 1]):.4g}",
        }


def measured(name, split, missing):
    """Yield the test accuracies of each learner on a split: without privacy, and at each ε."""
    for columns in ("", ", original columns"):
        rules = [rule for rule in RULES if f"{rule}{columns}" in missing]
        if rules:
            yield from ([name, split, *row] for row in forests(Cells(name, split, columns), split, rules, columns))
    yield from ([name, split, *row] for row in others(name, split) if row[0] in missing)


def forests(cells, split, rules, columns):
    """Yield accuracies of forests; forests of the same size have the same trees."""
    for trees in TREES:
        rng = np.random.default_rng([split, trees])
        leaves = [forest_labels.grow(cells.columns, cells.columns.depth, rng) for _ in range(trees)]
        for name in rules:
            parts_of, rule = RULES[name]
            parts = parts_of(len(cells.train), trees, rng)
            without = cells.accuracy(leaves, parts, forest_labels.majority, 0, rng)
            private = (cells.accuracy(leaves, parts, rule, epsilon, rng) for epsilon in EPSILONS)
            yield f"{name}{columns}", trees, without, *private


class Cells:
    """Distinct rows of a data set, and the rows of a split by the distinct row that they equal."""

    def __init__(self, name, split, columns):
        data = hr.datasets.load(name) if columns else load(name)
        self.columns, cells = forest_labels.Columns.of(data.frame[ORIGINAL[name]] if columns else data.frame)
        labels = (np.asarray(data.labels) == data.schema.classes[1]).astype(int)
        self.train, test, self.labels, expected = train_test_split(
            cells, labels, test_size=TEST_SHARE, random_state=split
        )
        self.test = self._count(test, expected, len(self.columns.table))

    @staticmethod
    def _count(places, labels, size):
        return np.bincount(2 * places + labels, minlength=2 * size).reshape(size, 2)

    def accuracy(self, leaves, parts, rule, epsilon, rng):
        """Return the test accuracy of a forest, whose votes decide ties at random."""
        votes = np.zeros(len(self.test), dtype=int)
        for place, leaf in enumerate(leaves):
            own = parts == place
            counts = self._count(leaf[self.train[own]], self.labels[own], leaf.max() + 1)
            votes += forest_labels.label(counts, rule, epsilon, rng)[leaf]
        predicted = (2 * votes + rng.integers(2, size=len(votes)) > len(leaves)).astype(int)
        return rounded(self.test[np.arange(len(votes)), predicted].sum() / self.test.sum())


def others(name, split):
    """Yield accuracies of SSRL's lists, of draws and of models without privacy."""
    data = load(name)
    parts = train_test_split(data.frame, data.labels, test_size=TEST_SHARE, random_state=split)
    both = TrainTest.of(data, split)

    def listed(method, epsilon):
        seed = noise_seed(name, split, method, epsilon) if np.isfinite(epsilon) else None
        return rounded(both.accuracy(both.fit(name, method, epsilon, seed)))

    yield SSRL, "", listed(GREEDY, np.inf), *(listed(SSRL, epsilon) for epsilon in EPSILONS)
    yield "exact list", "", "", *(listed(EXACT, epsilon) for epsilon in EPSILONS)
    yield "exact tree", "", "", *(drawn_tree(name, split, both, parts, epsilon) for epsilon in EPSILONS)
    best = hr.OptimalTreeClassifier(max_depth=DEPTHS[name], min_support=0, schema=None).fit_tally(both.train)
    assert best.optimal_
    X, X_test, y, y_test = parts
    forest = RandomForestClassifier(100, random_state=split).fit(X, y)
    for model, score in (
        ("certified tree", best.score(X_test, y_test)),
        ("random forest", forest.score(X_test, y_test)),
        ("majority", (np.asarray(y_test) == pd.Series(y).mode()[0]).mean()),
    ):
        yield model, "", rounded(score), *[""] * len(EPSILONS)


def drawn_tree(name, split, both, parts, epsilon):
    _, X_test, _, y_test = parts
    seed = noise_seed(name, split, "exact tree", epsilon)
    tree = hr.PrivateTreeClassifier(epsilon, search="exact", max_depth=DEPTHS[name], random_state=seed)
    return rounded(tree.fit_tally(both.train).score(X_test, y_test))


def rounded(value):
    return round(float(value), 5)


def summary(runs):
    """Yield means by table and model, with standard errors and the losses against the same models without privacy."""
    runs = runs.astype({str(key): float for key in ("none", *EPSILONS)})
    runs["loss"] = runs["none"] - runs[PAPER]
    runs["trees"] = ["" if pd.isna(trees) else str(int(trees)) for trees in runs["trees"]]
    lists = runs[runs["learner"] == SSRL].set_index(["table", "split"])["loss"]
    for (name, learner, trees), own in runs.groupby(["table", "learner", "trees"], sort=False):
        row = {"table": name, "learner": learner, "trees": trees, "splits": len(own)}
        for key in ("none", *map(str, EPSILONS)):
            row |= {key: mean(own[key]), f"{key} error": error(own[key])}
            if key != "none":
                row |= {f"{key} loss": mean(own["none"] - own[key]), f"{key} loss error": error(own["none"] - own[key])}
        if learner in RULES:  # on the same splits as the lists
            excess = own.set_index(["table", "split"])["loss"].sub(lists.loc[[name]])
            row |= {"excess loss": mean(excess), "excess loss error": error(excess)}
        else:
            row |= {"excess loss": "", "excess loss error": ""}
        yield row


def mean(values):
    return "" if values.isna().any() else f"{values.mean():.4f}"


def error(values):
    return "" if values.isna().any() else f"{values.std(ddof=1) / np.sqrt(len(values)):.4f}"


if __name__ == "__main__":
    warnings.filterwarnings("error", category=RuntimeWarning)
    main()
