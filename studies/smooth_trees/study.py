"""Trees by smooth sensitivity compared with exact draws: docs/studies/smooth-trees.md.

`python -m studies.smooth_trees.study compas` measures a table and writes the summary of all that were measured; without
names, all tables, then the real ε of single choices. Raw runs are kept in build/smooth-trees, and resumed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.learn.search.space import Space
from hedgerow.learn.ssrl.greedy import PUBLISHED, least_support
from hedgerow.privacy.noise import SeededNoise
from hedgerow.tally import Tally
from studies.results import write_csv
from studies.runs import Record, RunStore, complete
from studies.smooth_trees.choices import bounds, many_rules, rare_rows, readings, tiny_tables
from studies.smooth_trees.grow import SmoothTree, accuracy
from studies.ssrl.runs import CONFIDENCE, DATASETS, TEST_SHARE, TrainTest, load, noise_seed

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "studies" / "smooth-trees"
RAW = ROOT / "build" / "smooth-trees"
RUNS = 100
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
DEPTHS = {"compas": (2, 3, 4), "german": (2, 3), "adult": (2, 3, 4)}
SMOOTH = ("smooth-laplace", "smooth-cauchy")
_WITHOUT = ", Λ = 1"
WITHOUT_TEST = tuple(name + _WITHOUT for name in SMOOTH)
"""Trees without a test of the support, so that each choice has a larger share of ε."""
EXACT, GREEDY, CART = "exact", "permute-and-flip", "CART"
PROVEN = {GREEDY: "greedy", EXACT: "exact"}
"""The trees of the package by their search."""
LISTS = "5 rules"


@dataclass(frozen=True)
class Trees:
    """Test accuracy of all methods on one split of a dataset.

    Attributes
    ----------
    dataset : str
        One of `studies.ssrl.runs.DATASETS`.
    depths : tuple of int
        The depths of trees.
    epsilons : tuple of float
        The values of ε.
    """

    dataset: str
    depths: tuple[int, ...]
    epsilons: tuple[float, ...]

    def __call__(self, run: int) -> Sequence[Record]:
        """Return one record a fit, on the split of this number."""
        warnings.simplefilter("ignore", hr.errors.SeededNoiseWarning)
        data, split = load(self.dataset), TrainTest.of(load(self.dataset), run)
        X, X_test, y, y_test = train_test_split(data.frame, data.labels, test_size=TEST_SHARE, random_state=run)
        records: list[Record] = []

        def score(method: str, depth: int, epsilon: float, model: Any) -> None:
            records.append(_record(method, _size(depth), epsilon, float((model.predict(X_test) == y_test).mean())))

        for depth in self.depths:
            cart = DecisionTreeClassifier(max_depth=depth, random_state=run)
            score(CART, depth, np.inf, cart.fit(X, y))
        for epsilon in self.epsilons:
            for method in SMOOTH:
                model = split.fit(self.dataset, method, epsilon, noise_seed(self.dataset, run, method, epsilon))
                records.append(_record(method, LISTS, epsilon, split.accuracy(model)))
            for depth in self.depths:
                for method in (*SMOOTH, *WITHOUT_TEST):
                    seed = noise_seed(self.dataset, run, f"{method} {depth}", epsilon)
                    tree = smooth_tree(self.dataset, split.train, method, depth, epsilon)
                    grown, _ = tree.grow(split.train, SeededNoise(np.random.default_rng(seed)))
                    records.append(_record(method, _size(depth), epsilon, accuracy(grown, tree.space, split.test)))
                for method, search in PROVEN.items():
                    seed = noise_seed(self.dataset, run, f"{method} {depth}", epsilon)
                    options: dict[str, Any] = {"max_depth": depth, "search": search, "schema": data.schema}
                    learner = hr.PrivateTreeClassifier(epsilon, random_state=seed, **options)
                    score(method, depth, epsilon, learner.fit_tally(split.train))
        return records


def smooth_tree(dataset: str, train: Tally, method: str, depth: int, epsilon: float) -> SmoothTree:
    """Return the specification of a tree with the settings of the lists: λ of the dataset, C = .99, δ = 1/n²."""
    n = int(train.total().sum())
    mechanism: Any = method.removesuffix(_WITHOUT)
    return SmoothTree(
        space=Space.of_trees(train.schema),
        depth=depth,
        mechanism=mechanism,
        epsilon=Fraction(epsilon),
        delta=Fraction(1, n**2) if PUBLISHED[mechanism].spends_delta else Fraction(0),
        min_support=1 if method in WITHOUT_TEST else least_support(DATASETS[dataset].min_support, n),
        confidence=CONFIDENCE,
    )


def _size(depth: int) -> str:
    return f"depth {depth}"


def _record(method: str, size: str, epsilon: float, accuracy: float) -> Record:
    return {"method": method, "size": size, "epsilon": epsilon, "accuracy": accuracy}


def paired(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean accuracy of every method, and the mean of exact − method on the same splits, with errors."""
    keys = ["dataset", "size", "epsilon"]
    lines: list[dict[str, Any]] = []
    for names, part in runs.groupby(keys, sort=False):
        by_run: Any = dict(part.pivot(index="run", columns="method", values="accuracy").items())
        for method in dict.fromkeys(part["method"]):
            line = dict(zip(keys, cast(tuple[Any, ...], names), strict=True))
            line |= {"method": method, "runs": len(by_run[method])} | _mean("accuracy", by_run[method])
            if EXACT in by_run and method != EXACT:
                line |= _mean("exact ahead", by_run[EXACT] - by_run[method])
            lines.append(line)
    return pd.DataFrame(lines)


def _mean(name: str, values: Any) -> dict[str, float]:
    return {name: float(values.mean()), f"{name} se": float(values.sem())}


def store(dataset: str) -> tuple[RunStore, Trees]:
    """Return the raw runs of a dataset, and what does a run."""
    trees = Trees(dataset, DEPTHS[dataset], EPSILONS)
    settings = {"dataset": dataset, "depths": trees.depths, "epsilons": trees.epsilons}
    return RunStore(RAW / dataset, settings), trees


def picture(means: pd.DataFrame) -> Any:
    """Draw the accuracy of trees of depth 3, and of lists, against ε: a panel for each dataset."""
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(DEPTHS), figsize=(11, 4.2), layout="constrained")
    styles = {EXACT: "C0o-", GREEDY: "C1s-", SMOOTH[0]: "C2^-", SMOOTH[1]: "C3v-"}
    for ax, (dataset, part) in zip(panels, means.groupby("dataset", sort=False), strict=True):
        for size, suffix in (("depth 3", "tree"), (LISTS, "list")):
            of_size = part[part["size"] == size]
            for method, style in styles.items():
                line = of_size[of_size["method"] == method]
                if len(line):
                    style = style if suffix == "tree" else style[:3] + ":"
                    x, y, error = (line[key] for key in ("epsilon", "accuracy", "accuracy se"))
                    ax.errorbar(x, y, 2 * error, fmt=style, ms=4, capsize=2, label=f"{method}, {suffix}")
            cart = of_size[of_size["method"] == CART]
            if len(cart):
                ax.axhline(cart["accuracy"].item(), color="grey", label="CART, not private")
        ax.set(xscale="log", xlabel="ε", title=dataset)
    panels[0].set_ylabel("test accuracy, ± 2 standard errors")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def main() -> None:
    """Measure the datasets that are named, by default all and single choices, and write the summaries."""
    FOLDER.mkdir(exist_ok=True)
    names = sys.argv[1:] or [*DEPTHS, "choices"]
    for name in names:
        if name in DEPTHS:
            complete(*store(name), RUNS, resume=True, verbose=True)
    if "choices" in names:
        for function in (bounds, tiny_tables, rare_rows, readings, many_rules):
            write_csv(pd.DataFrame(function()), FOLDER / f"{function.__name__}.csv")
    if all((RAW / name).exists() for name in DEPTHS):
        means = paired(pd.concat([store(name)[0].read(RUNS).assign(dataset=name) for name in DEPTHS]))
        write_csv(means.round(5), FOLDER / "accuracy.csv")
        picture(means).savefig(FOLDER / "accuracy.png", dpi=85)


if __name__ == "__main__":
    main()
