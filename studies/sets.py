"""Several models of one table: what they leak together, and what a private set costs.

`python -m studies.sets` writes docs/studies/sets/*.csv and the picture, in minutes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaln

import hedgerow as hr
from hedgerow.audit import exact_inference, exact_membership, joint_reconstruction, reconstruction
from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.learn.search.space import Space
from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.tables.frames import Table
from lab.tree_sets import draw_trees, inference_from_set
from studies.results import write_csv

FOLDER = Path(__file__).parents[1] / "docs" / "studies" / "sets"
NAMES = ("compas", "breast_cancer")
KS = (1, 2, 3, 5, 10, 20)


def rashomon(frame: pd.DataFrame, labels: Any, schema: hr.Schema, most: int) -> list[Tree]:
    """Return the trees of two tests with the fewest errors, by listing all, with the exact counts of their leaves."""
    card, classes = PrivacyCard.none("not private"), list(schema.classes)
    codes = np.array([classes.index(value) for value in np.asarray(labels).tolist()])
    bins = {name: np.asarray(result) for name, result in schema.encode(Table.of(frame)).items()}
    tests = [item for (item,) in Space.of_trees(schema).antecedents]
    holds = {item: schema[item.attribute].truth(item)[bins[item.attribute]] for item in tests}

    def leaf(rows: Any) -> Leaf:
        return Leaf(tuple(int(n) for n in np.bincount(codes[rows], minlength=len(classes))))

    result = []
    for root, below in permutations(tests, 2):
        if root.attribute == below.attribute:
            continue
        first, second = holds[root], holds[below]
        leaves = [leaf(rows) for rows in (first, ~first & second, ~first & ~second)]
        errors = sum(sum(item.counts or ()) - max(item.counts or (0,)) for item in leaves)
        result.append((errors, len(result), Tree(schema, Split(root, leaves[0], Split(below, *leaves[1:])), card)))
    return [tree for _, _, tree in sorted(result)[:most]]


def rashomon_curve(name: str) -> Iterator[dict[str, Any]]:
    """Yield residual entropy of the first k trees of a Rashomon set together, and of the most telling one of them."""
    data = hr.datasets.load(name)
    frame, labels, schema = data.frame, data.labels, data.schema
    trees = rashomon(frame, labels, schema, max(KS))
    for k in KS:
        joint = joint_reconstruction(trees[:k], frame)
        alone = [reconstruction(tree, data=frame).uncertainty for tree in trees[:k]]
        wrong = max((tree.predict(frame) != np.asarray(labels)).mean() for tree in trees[:k])
        yield {
            "dataset": name,
            "k": k,
            "error of the worst": wrong,
            "uncertainty of all": joint.uncertainty,
            "uncertainty of the least alone": min(alone),
            "uncertainty of the first": alone[0],
            "rows alone in their cell": sum(n == 1 for n in joint.supports) / len(frame),
        }


def membership_curve(name: str) -> Iterator[dict[str, Any]]:
    """Yield the exact advantage on all rows of k independent draws, each for ε = 1, and each for 1/k."""
    data = hr.datasets.load(name)
    frame, labels, schema = data.frame, data.labels, data.schema
    for k in KS:
        for law, epsilon in (("each", 1.0), ("all", 1.0 / k)):
            learner = hr.PrivateTreeClassifier(epsilon, max_depth=2, schema=schema, search="exact")
            result = exact_membership(learner, frame, labels).joint_advantage(k)
            yield {
                "dataset": name,
                "k": k,
                "epsilon of": law,
                "median": float(np.median(result)),
                "largest": float(result.max()),
                "bound": float(np.tanh(k * epsilon / 4)),
            }


def small_sets() -> Iterator[dict[str, Any]]:
    """Yield the exact advantage on a row that most trees get wrong, of sets and of independent draws."""
    schema = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Label("y", (0, 1)))
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    y, row = X[:, 0], (np.array([[1, 0]]), [0])
    for k in (1, 2, 3, 4):
        for law, epsilon in (("each", 1.0 * k), ("all", 1.0)):
            alone = hr.PrivateTreeClassifier(epsilon / k, max_depth=1, schema=schema, search="exact")
            several = exact_inference(alone, X, y, candidates=row, absent=0.5, n_models=k)
            of_set = {"epsilon": epsilon, "n_models": k, "max_depth": 1}
            together = inference_from_set(schema, X, y, candidates=row, absent=0.5, **of_set)
            item, other = together.likelihoods[:, 0], together.likelihoods[:, 1]
            yield {
                "k": k,
                "epsilon of": law,
                "independent": several.advantage,
                "set": together.advantage,
                "largest loss of the set": float(np.abs(np.log(item / other)).max()),
                "epsilon": epsilon,
            }


def random_tables() -> Iterator[dict[str, Any]]:
    """Yield the exact advantage on a random row beside random tables, of sets and of independent draws. Seeded."""
    schema, rng = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Label("y", (0, 1))), np.random.default_rng(0)
    for number in range(25):
        rows = rng.integers(0, 2, (rng.integers(3, 21), 3))
        data, row = (rows[1:, :2], rows[1:, 2]), (rows[:1, :2], rows[:1, 2])
        for k, epsilon in ((2, 1.0), (2, 4.0), (3, 1.0), (3, 4.0)):
            alone = hr.PrivateTreeClassifier(epsilon / k, max_depth=1, schema=schema, search="exact")
            several = exact_inference(alone, *data, candidates=row, absent=0.5, n_models=k)
            of_set = {"epsilon": epsilon, "n_models": k, "max_depth": 1}
            together = inference_from_set(schema, *data, candidates=row, absent=0.5, **of_set)
            result = {"table": number, "rows": len(data[1]), "k": k, "epsilon": epsilon}
            yield result | {"independent": several.advantage, "set": together.advantage}


def costs(name: str) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of a tree drawn alone, and of the best, mean and worst of a set, at the same ε. Seeded."""
    data = hr.datasets.load(name)
    tally = hr.Tally.count(data.frame, data.labels, data.schema)
    for k in (1, 2, 5, 10):
        result = []
        for seed in range(10):
            trees = draw_trees(tally, 1.0, k, max_depth=2, random_state=np.random.RandomState(seed))
            result.append([(tree.predict(data.frame) == np.asarray(data.labels)).mean() for tree in trees])
        each = np.array(result)
        yield {
            "dataset": name,
            "k": k,
            "first": each[:, 0].mean(),
            "mean": each.mean(),
            "best": each.max(axis=1).mean(),
            "worst": each.min(axis=1).mean(),
        }


def trees_by_errors(frame: pd.DataFrame, labels: Any, schema: hr.Schema) -> Integers:
    """Return how many trees of depth up to 2 have each number of errors; no test has two leaves with one label."""
    codes = np.array([schema.classes.index(value) for value in np.asarray(labels).tolist()])
    bins = {name: np.asarray(result) for name, result in schema.encode(Table.of(frame)).items()}
    tests = [test for (test,) in Space.of_trees(schema).antecedents]
    truth = [schema[test.attribute].truth(test) for test in tests]
    holds = np.array([each[bins[test.attribute]] for test, each in zip(tests, truth, strict=True)], dtype=np.int64)
    is_class = np.array([codes == k for k in range(len(schema.classes))])

    def errors(counts: Integers) -> Integers:  # of a leaf, by its label
        return counts.sum(axis=0) - counts

    def parts(rows: Any, is_open: Any) -> Integers:  # leaves, and open tests with two leaves
        whole = (is_class & rows).sum(axis=1)
        caught = (is_class & rows).astype(np.int64) @ holds[is_open].T
        test, other = errors(caught), errors(whole[:, None] - caught)
        split = [test[v] + other[u] for v, u in permutations(range(len(whole)), 2)]
        return np.bincount(np.concatenate([errors(whole), *split]), minlength=len(codes) + 1)

    result = np.bincount(errors(is_class.sum(axis=1)), minlength=len(codes) + 1)  # trees of one leaf
    for place, root in enumerate(tests):
        rows, both = holds[place] == 1, []
        for side in (True, False):
            is_open = [
                test.attribute != root.attribute or np.unique(each[truth[place] == side]).size == 2
                for test, each in zip(tests, truth, strict=True)
            ]
            both.append(parts(rows == side, np.array(is_open)))
        alike = errors((is_class & rows).sum(axis=1)) + errors((is_class & ~rows).sum(axis=1))
        result = result + np.convolve(*both)[: len(result)] - np.bincount(alike, minlength=len(result))
    return result


def drawn_one_by_one(counts: Integers, k: int, epsilon: float, rng: np.random.Generator) -> Integers:
    """Return the errors of k different trees, each drawn with weight ε/k from those that are left."""
    left, result, least = counts.astype(np.float64), [], counts.nonzero()[0][0]
    for _ in range(k):
        weights = left * np.exp(-epsilon / k * np.maximum(np.arange(len(left)) - least, 0))
        result.append(rng.choice(len(left), p=weights / weights.sum()))
        left[result[-1]] -= 1
    return np.array(result)


def drawn_by_the_largest(counts: Integers, k: int, epsilon: float, rng: np.random.Generator) -> Integers:
    """Return the errors of the k trees of a set that is drawn with weight ε on its largest number of errors."""
    log_weights = -epsilon * np.arange(len(counts)) + log_sets_by_largest(counts, k)
    largest = rng.choice(len(counts), p=_chances(log_weights))
    # Given the largest number, all sets with it are alike: first how many of their trees have it, then the others.
    own, fewer, numbers = counts[largest], counts[:largest].sum(), np.arange(1, k + 1)
    of_own = _log_choose(own, numbers) + _log_choose(fewer, k - numbers)
    n = rng.choice(numbers, p=_chances(of_own))
    others = rng.multivariate_hypergeometric(counts[:largest], k - n)
    return np.append(np.repeat(np.arange(largest), others), np.full(n, largest))


def log_sets_by_largest(counts: Integers, k: int) -> Floats:
    """Return the logarithm of how many sets of k trees have each largest number of errors; -inf for none."""
    up_to, result = np.cumsum(counts), np.full(len(counts), -np.inf)
    some = (counts > 0) & (up_to >= k)
    whole, without = _log_choose(up_to[some], k), _log_choose((up_to - counts)[some], k)
    result[some] = whole + np.log1p(-np.exp(without - whole))
    return result


def _chances(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def _log_choose(n: Any, k: Any) -> Floats:
    n, k = np.broadcast_arrays(n, k)
    result = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(np.maximum(n - k, 0) + 1.0)
    return np.where(n >= k, result, -np.inf)


def laws(name: str, epsilon: float = 1.0, sets: int = 1000) -> Iterator[dict[str, Any]]:
    """Yield the accuracy of the best, mean and worst of k trees by two laws, with a uniform prior. Seeded."""
    data = hr.datasets.load(name)
    counts, n = trees_by_errors(data.frame, data.labels, data.schema), len(data.frame)
    for k in (1, 2, 5, 10):
        for law, draw in (("one by one", drawn_one_by_one), ("largest", drawn_by_the_largest)):
            rng = np.random.default_rng(0)
            right = 1 - np.array([draw(counts, k, epsilon, rng) for _ in range(sets)]) / n
            worst = right.min(axis=1)
            yield {
                "dataset": name,
                "k": k,
                "law": law,
                "mean": right.mean(),
                "best": right.max(axis=1).mean(),
                "worst": worst.mean(),
                "standard error of the worst": worst.std(ddof=1) / np.sqrt(sets),
                "trees": int(counts.sum()),
            }


def picture(curve: pd.DataFrame, leaks: pd.DataFrame) -> Any:
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, part in curve.groupby("dataset"):
        left.plot(part["k"], part["uncertainty of all"], "o-", label=f"{name}, together")
        left.plot(part["k"], part["uncertainty of the least alone"], "o:", label=f"{name}, most telling one")
    left.set(xlabel="trees of the Rashomon set, without privacy", ylabel="share left to guess", ylim=(0, 1))
    for (name, law), part in leaks.groupby(["dataset", "epsilon of"]):
        right.plot(part["k"], part["largest"], "o-" if law == "each" else "o:", label=f"{name}, ε = 1 of {law}")
    right.set(xlabel="private draws", ylabel="largest advantage on a row", ylim=(0, None))
    for ax in (left, right):
        ax.legend(fontsize=8)
    return figure


def main() -> None:
    """Write all tables and the picture."""
    warnings.simplefilter("ignore", hr.errors.SeededNoiseWarning)
    FOLDER.mkdir(exist_ok=True)
    made = {
        "rashomon": [row for name in NAMES for row in rashomon_curve(name)],
        "draws": list(membership_curve("breast_cancer")),
        "small": list(small_sets()),
        "random": list(random_tables()),
        "costs": [row for name in NAMES for row in costs(name)],
        "laws": [row for name in NAMES for row in laws(name)],
    }
    for name, rows in made.items():
        write_csv(pd.DataFrame(rows), FOLDER / f"{name}.csv")
    picture(pd.DataFrame(made["rashomon"]), pd.DataFrame(made["draws"])).savefig(FOLDER / "leaks.png", dpi=110)


if __name__ == "__main__":
    main()
