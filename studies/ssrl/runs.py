"""One run of the SSRL study: a train/test split of a dataset, and the results of each method on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np
from sklearn.model_selection import train_test_split

from hedgerow import datasets
from hedgerow.audit import Overfit, membership
from hedgerow.errors import ArgumentError
from hedgerow.learn import DPGreedyRLClassifier, GreedyRuleListClassifier, PrivateRuleListClassifier
from hedgerow.learn.ssrl.greedy import PUBLISHED
from hedgerow.models import RuleList
from hedgerow.tally import Tally
from studies.runs import Record
from studies.ssrl.memo import MemoTally

MAX_RULES = 5
GREEDY_SUPPORT = 0.05
"""K, the default rule included, for every method."""
CONFIDENCE = 0.99
TEST_SHARE = 0.3
GREEDY, GREEDY_AS_AUTHORS = "GreedyRL", "GreedyRL, 6 rules"
"""Without privacy; the same without counting the default rule, as in the authors' baseline."""
EXACT, PERMUTE_AND_FLIP = "exact", "permute-and-flip"
"""One draw from all lists; hedgerow's greedy lists."""


@dataclass(frozen=True)
class Setting:
    """A dataset of SSRL as used in the study.

    Attributes
    ----------
    file : str
        Its name among `hedgerow.datasets.NAMES`.
    min_support : float
        λ.
    exact : mapping
        The parameters that make the exact draw affordable on it.
    """

    file: str
    min_support: float
    exact: Mapping[str, Any]


DATASETS: Mapping[str, Setting] = {
    "compas": Setting("compas_binary", 0.05, {"max_literals": 1}),
    "german": Setting("german_binary", 0.12, {"max_literals": 1, "lookahead": 2}),
    "adult": Setting("adult_binary", 0.05, {"max_literals": 1}),
}


@lru_cache(maxsize=3)
def load(dataset: str) -> datasets.Dataset:
    """Return a dataset of the study without its sensitive columns; cached in the process."""
    return datasets.load(DATASETS[dataset].file).without_sensitive()


@dataclass(frozen=True, eq=False)
class TrainTest:
    """Tallies of a dataset split 70/30.

    Attributes
    ----------
    train, test : Tally
        The training rows and the test rows.
    """

    train: Tally
    test: Tally

    @classmethod
    def of(cls, data: datasets.Dataset, run: int) -> TrainTest:
        """TrainTest with the number of the run as scikit-learn's seed."""
        X, X_test, y, y_test = train_test_split(data.frame, data.labels, test_size=TEST_SHARE, random_state=run)
        return cls(MemoTally.count(X, y, data.schema), MemoTally.count(X_test, y_test, data.schema))

    def fit(self, dataset: str, method: str, epsilon: float, seed: int | None) -> RuleList:
        """Learn a rule list from the train rows; a seed of None is secure noise."""
        n_rows = int(self.train.total().sum())
        return learner(dataset, method, epsilon, seed, n_rows).fit_tally(self.train).rule_list_

    def accuracy(self, model: RuleList) -> float:
        """Return the test accuracy of a list."""
        counts = self.test.leaf_counts([rule.antecedent for rule in model.rules[:-1]])
        predicted = [model.schema.classes.index(value) for value in model.predictions]
        return float(counts[np.arange(len(counts)), predicted].sum() / counts.sum())

    def overfit(self, model: RuleList, *, as_released_code: bool) -> Overfit:
        """Return the distributional overfitting on train and test rows, as `hedgerow.audit.overfit` does."""
        rules = [rule.antecedent for rule in model.rules[:-1]]
        train, test = (
            tuple(tuple(map(int, row)) for row in tally.leaf_counts(rules)) for tally in (self.train, self.test)
        )
        return Overfit(tuple(model.schema.classes), model.conditions, train, test, as_released_code)


def learner(dataset: str, method: str, epsilon: float, seed: int | None, n_rows: int) -> Any:
    """Return the estimator of a method: K = 5, up to 2 literals, λ of the dataset, C = .99, δ = 1/n² for n rows."""
    setting, schema = DATASETS[dataset], load(dataset).schema
    if method in (GREEDY, GREEDY_AS_AUTHORS):
        return GreedyRuleListClassifier(
            max_rules=MAX_RULES + (method == GREEDY_AS_AUTHORS), min_support=GREEDY_SUPPORT, schema=schema
        )
    options: dict[str, Any] = {"max_rules": MAX_RULES, "schema": schema, "random_state": seed}
    if method == EXACT:
        return PrivateRuleListClassifier(epsilon, search="exact", **options, **setting.exact)
    if method == PERMUTE_AND_FLIP:
        return PrivateRuleListClassifier(epsilon, search="greedy", max_literals=2, **options)
    options |= {"min_remaining": setting.min_support, "confidence": CONFIDENCE}
    delta = Fraction(1, n_rows**2) if PUBLISHED[method].spends_delta else None
    return DPGreedyRLClassifier(epsilon, mechanism=cast(Any, method), delta=delta, **options)


def noise_seed(dataset: str, run: int, method: str, epsilon: float) -> int:
    """Return the seed of the noise of one fit: a different one for each of these, and not the seed of the split."""
    numerator, denominator = Fraction(epsilon).as_integer_ratio()
    names = [int.from_bytes(name.encode(), "big") for name in (dataset, method)]
    return int(np.random.SeedSequence((*names, run, numerator, denominator)).generate_state(1)[0])


@dataclass(frozen=True)
class Learning:
    """Accuracy of every method at every ε, and of greedy lists without privacy.

    Attributes
    ----------
    dataset : str
        One of `DATASETS`.
    methods : tuple of str
        Private methods: mechanisms of `DPGreedyRLClassifier`, `PERMUTE_AND_FLIP` or `EXACT`.
    epsilons : tuple of float
        The values of ε.
    """

    dataset: str
    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    baselines: tuple[str, ...] = (GREEDY,)

    def __post_init__(self) -> None:
        unknown = sorted({*self.methods} - {*PUBLISHED, PERMUTE_AND_FLIP, EXACT})
        if unknown or self.dataset not in DATASETS:
            raise ArgumentError(
                f"expected a dataset and methods of the study, got dataset {self.dataset!r} and unknown methods "
                f"({', '.join(unknown)})."
            )

    def __call__(self, run: int) -> Sequence[Record]:
        """Return one record a fit."""
        split = TrainTest.of(load(self.dataset), run)
        return [self._record(split, run, *cell) for cell in self._cells]

    @property
    def _cells(self) -> list[tuple[str, float]]:
        return [(name, np.inf) for name in self.baselines] + [(m, e) for m in self.methods for e in self.epsilons]

    def _fit(self, split: TrainTest, run: int, method: str, epsilon: float) -> RuleList:
        seed = noise_seed(self.dataset, run, method, epsilon) if np.isfinite(epsilon) else None
        return split.fit(self.dataset, method, epsilon, seed)

    def _record(self, split: TrainTest, run: int, method: str, epsilon: float) -> Record:
        model = self._fit(split, run, method, epsilon)
        return _described(split, model, method, epsilon)


@dataclass(frozen=True)
class Overfitting(Learning):
    """As `Learning`, and the vulnerability of every list, by SSRL's formula and as its released code computes it."""

    def _record(self, split: TrainTest, run: int, method: str, epsilon: float) -> Record:
        model = self._fit(split, run, method, epsilon)
        record = dict(_described(split, model, method, epsilon))
        for suffix, as_released_code in (("", False), (" as released", True)):
            result = split.overfit(model, as_released_code=as_released_code)
            record[f"vulnerability{suffix}"] = result.vulnerability
            record[f"by chance{suffix}"] = result.vulnerability_by_chance
        return record


def _described(split: TrainTest, model: RuleList, method: str, epsilon: float) -> Record:
    return {"method": method, "epsilon": epsilon, "rules": len(model.rules), "accuracy": split.accuracy(model)}


@dataclass(frozen=True)
class Attacking:
    """ROC curves of the random-forest attack on each method at one ε.

    Attributes
    ----------
    dataset : str
        One of `DATASETS`.
    methods : tuple of str
        The methods attacked.
    epsilon : float
        The ε of the private ones.
    """

    dataset: str
    methods: tuple[str, ...]
    epsilon: float

    def __call__(self, run: int) -> Sequence[Record]:
        """Return one record a point of a curve: its rates, and the area under the whole curve."""
        data, records = load(self.dataset), list[Record]()
        fitted = len(data.frame) // 2
        for method in self.methods:
            epsilon = np.inf if method in (GREEDY, GREEDY_AS_AUTHORS) else self.epsilon
            target = learner(self.dataset, method, epsilon, None, fitted)
            result = membership(target, data.frame, data.labels, repeats=1, random_state=run)
            cell = {"method": method, "epsilon": epsilon, "auc": result.auc, "others": result.sizes[3]}
            records += [{**cell, "fpr": float(x), "tpr": float(y)} for x, y in zip(result.fpr, result.tpr, strict=True)]
        return records
