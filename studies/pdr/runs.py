"""One run of the PDR study: a model of one train/test split, and the residual entropy of its training rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from hedgerow import datasets
from hedgerow.audit import Reconstruction, reconstruction
from hedgerow.learn import (
    GreedyRuleListClassifier,
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
)
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.schema import Schema
from studies.pdr.orders import order_range
from studies.runs import Record
from studies.ssrl.runs import noise_seed

Frame = Any
"""A DataFrame of records. The types of columns selected by name cannot be checked, so none are declared."""
OPTIMAL, GREEDY = "optimal", "greedy"
LEARNERS = (OPTIMAL, GREEDY)
TREES, LISTS, COMPACT, PRIVATE = "trees", "lists", "compact", "private"
"""The kinds of models; "compact" are trees, the optimal ones with the fewest splits among the most accurate."""
TEST_SHARE = 0.2
PRIVATE_SIZES: Mapping[str, int] = {TREES: 3, LISTS: 4}
"""The depth of private trees, and the rules of private lists beside the default."""
NOISE_DRAWS = 5


@dataclass(frozen=True)
class Sample:
    """A dataset of PDR as used in the study.

    Attributes
    ----------
    file : str
        Its name among `hedgerow.datasets.NAMES`.
    share : float
        The random share of its rows that is used, the same rows for every split.
    """

    file: str
    share: float


DATASETS: Mapping[str, Sample] = {"adult": Sample("adult_binary", 0.1), "compas": Sample("compas_binary", 1.0)}


@dataclass(frozen=True, eq=False)
class TrainTest:
    """A dataset split 80/20: independent booleans, as in PDR.

    Attributes
    ----------
    X, y, X_test, y_test : DataFrame and Series
        The training rows and the test rows.
    schema : Schema
        All columns as booleans.
    """

    X: Frame
    y: Frame
    X_test: Frame
    y_test: Frame
    schema: Schema


@lru_cache(maxsize=2)
def split(dataset: str, seed: int) -> TrainTest:
    """Return a dataset of the study, split with scikit-learn's seed; cached in the process."""
    data = datasets.load(DATASETS[dataset].file)
    frame: Frame = data.frame.sample(frac=DATASETS[dataset].share, random_state=0)
    parts: Any = train_test_split(frame, data.labels[frame.index], test_size=TEST_SHARE, random_state=seed)
    X, X_test, y, y_test = parts
    return TrainTest(X, y, X_test, y_test, boolean_schema(list(X.columns), y))


@dataclass(frozen=True)
class Learning:
    """Optimal and greedy models of one kind, for every size limit and support, on one split a seed.

    Run number ``seed · cells + cell`` learns one model, so that more seeds are more runs. Of equally accurate lists one
    with the fewest rules is chosen, as by CORELS with a small penalty; of equally accurate trees the first in the
    search, as by DL8.5, or with "compact" one with the fewest splits.

    Attributes
    ----------
    dataset : str
        One of `DATASETS`.
    kind : {"trees", "lists", "compact"}
        The kind of models.
    depths : tuple of int
        Depths of trees, or rules of lists without the default rule.
    supports : tuple of float
        Minimum support: the share of all training rows that a leaf or rule must hold.
    time_limit : float
        Seconds for one optimal model; beyond it the best one found is kept, with its proven gap.
    """

    dataset: str
    kind: str
    depths: tuple[int, ...]
    supports: tuple[float, ...]
    time_limit: float

    @property
    def cells(self) -> list[tuple[str, float, int]]:
        """Learner, support and depth of each model learned from one split; costly ones come last."""
        return [(name, s, d) for d in self.depths for s in sorted(self.supports, reverse=True) for name in LEARNERS]

    def __call__(self, run: int) -> Sequence[Record]:
        """Return the one record of a run."""
        seed, cell = divmod(run, len(self.cells))
        learner, support, depth = self.cells[cell]
        rows, model = split(self.dataset, seed), self.estimator(learner, support, depth, seed)
        started = time.process_time()
        model.fit(rows.X, rows.y)
        seconds = time.process_time() - started
        result = reconstruction(model, rows.schema)
        gap = model.objective_ - model.lower_bound_ if learner == OPTIMAL else np.nan
        return [
            {
                "seed": seed,
                "learner": learner,
                "support": support,
                "depth": depth,
                **_described(model, rows, result),
                "certified": int(model.optimal_) if learner == OPTIMAL else 0,
                "gap": float(gap),
                "seconds": round(seconds, 3),
                "exposure": entropy_ratios(result),
                **(_reordered(model, rows, result, support) if self.kind == LISTS else _short(result, depth)),
            }
        ]

    def estimator(self, learner: str, support: float, depth: int, seed: int) -> Any:
        """Return the learner of one cell, not fitted."""
        row = 1 / len(split(self.dataset, seed).X)
        if self.kind == LISTS:
            options: dict[str, Any] = {
                "min_support": support,
                "max_rules": depth + 1,
                "max_literals": 1,
                "schema": None,
            }
            if learner == GREEDY:
                return GreedyRuleListClassifier(**options)
            weight = row / (2 * max(self.depths))  # all rules together weigh half a row at most
            return OptimalRuleListClassifier(regularization=weight, time_limit=self.time_limit, **options)
        if learner == GREEDY:
            share: Any = support  # a float is a share of the rows, whatever the annotation there says
            return DecisionTreeClassifier(max_depth=depth, min_samples_leaf=share, random_state=seed)
        weight = row * support / 2 if self.kind == COMPACT else 0  # there are fewer than 1/support splits
        return OptimalTreeClassifier(
            max_depth=depth, min_support=support, regularization=weight, time_limit=self.time_limit, schema=None
        )


@dataclass(frozen=True)
class Releasing:
    """Private trees and lists at every ε, drawn with noisy counts, and their counterparts without privacy.

    Run number ``seed · cells + cell`` draws the models of one kind at one ε from one split, `NOISE_DRAWS` times. At
    ε = ∞ are the optimal and the greedy model of the same size limit, without a minimum support, as in the private
    draw.

    Attributes
    ----------
    dataset : str
        One of `DATASETS`.
    epsilons : tuple of float
        The values of ε, the counts included.
    """

    dataset: str
    epsilons: tuple[float, ...]

    @property
    def cells(self) -> list[tuple[str, str, float]]:
        """Kind, learner and ε of the models drawn from one split."""
        learners = [(name, np.inf) for name in LEARNERS] + [(PRIVATE, epsilon) for epsilon in self.epsilons]
        return [(kind, name, epsilon) for kind in PRIVATE_SIZES for name, epsilon in learners]

    def __call__(self, run: int) -> Sequence[Record]:
        """Return a record for each draw, with the released supports (the reader's view) and the true ones."""
        seed, cell = divmod(run, len(self.cells))
        kind, learner, epsilon = self.cells[cell]
        rows, records = split(self.dataset, seed), list[Record]()
        for draw in range(NOISE_DRAWS if learner == PRIVATE else 1):
            noise = noise_seed(self.dataset, seed * NOISE_DRAWS + draw, kind, epsilon) if learner == PRIVATE else seed
            model = _of_size(kind, learner, epsilon, noise).fit(rows.X, rows.y)
            result, true = reconstruction(model, rows.schema), reconstruction(model, rows.schema, data=rows.X)
            cells = {"seed": seed, "kind": kind, "learner": learner, "epsilon": epsilon, "draw": draw}
            records.append({**cells, **_described(model, rows, result), "true_uncertainty": true.uncertainty})
        return records


def _of_size(kind: str, learner: str, epsilon: float, seed: int) -> Any:
    size = PRIVATE_SIZES[kind]
    if kind == TREES:
        if learner == PRIVATE:
            tree: dict[str, Any] = {"max_depth": size, "schema": None}
            return PrivateTreeClassifier(epsilon, search="exact", release_counts=True, random_state=seed, **tree)
        if learner == GREEDY:
            return DecisionTreeClassifier(max_depth=size, random_state=seed)
        return OptimalTreeClassifier(max_depth=size, min_support=0, schema=None)
    options: dict[str, Any] = {"max_rules": size + 1, "max_literals": 1, "schema": None}
    if learner == PRIVATE:
        return PrivateRuleListClassifier(epsilon, search="exact", release_counts=True, random_state=seed, **options)
    maker = GreedyRuleListClassifier if learner == GREEDY else OptimalRuleListClassifier
    return maker(min_support=0, **options)


def _described(model: Any, rows: TrainTest, found: Reconstruction) -> Mapping[str, int | float]:
    """Return size (splits of a tree, rules without the default rule), Dist_G, and both accuracies."""
    return {
        "size": len(found.regions) - 1,
        "uncertainty": found.uncertainty,
        "accuracy": float(model.score(rows.X, rows.y)),
        "test_accuracy": float(model.score(rows.X_test, rows.y_test)),
    }


def _short(found: Reconstruction, depth: int) -> Mapping[str, float]:
    """Return the share of a tree's leaves at less than the maximum depth; each split on a boolean discloses one bit."""
    splits = found.domain.bits - np.array(found.bits)
    return {"short_branches": float((splits < depth - 0.5).mean())}


def _reordered(model: Any, rows: TrainTest, found: Reconstruction, support: float) -> Mapping[str, float]:
    """Return the least and the largest Dist_G over the orders of a list's rules with the same predictions."""
    whole = found.n_rows * found.domain.bits
    least, most = order_range(model.rule_list_, rows.X, found.bits, support)
    return {"least_uncertainty": least / whole, "most_uncertainty": most / whole}


def entropy_ratios(found: Reconstruction) -> str:
    """Return the distribution of entropy ratios over rows as text: ``ratio:rows``, ratios increasing."""
    ratios, below = found.curve()
    rows = np.diff(np.rint(below * found.n_rows).astype(int), prepend=0)
    return " ".join(f"{ratio!r}:{n}" for ratio, n in zip(ratios.tolist(), rows.tolist(), strict=True))


def parsed_ratios(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the ratios and the rows that `entropy_ratios` wrote."""
    pairs = [pair.split(":") for pair in text.split(" ")]
    return np.array([float(ratio) for ratio, _ in pairs]), np.array([int(n) for _, n in pairs])
