"""What later work measured on private forests, measured again: the noise, one unknown row, and tables that agree.

`python -m studies.later_work` writes docs/studies/later-work/*.csv; `python -m studies.later_work noise` writes
noise.csv. The names are `noise`, `forests`, `trees` and `agree`, which needs `pip install -r lab/requirements.txt`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import comb, exp, log, log2
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow.audit import exact_membership
from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.schema import Literal
from studies.results import write_csv

FOLDER = Path(__file__).parents[1] / "docs" / "studies" / "later-work"
TREES, DEPTH, ROWS, SEEDS, TREE_SEEDS, TARGETS = 10, 5, 2000, 10, 5, 100  # as the published runs of one unknown row
EPSILONS = (0.1, 1.0, 5.0, 10.0)
AGES, PRIORS = ("18-20", "21-22", "23-25", "26-45", ">45"), ("2-3", "0", "1", ">3")
SCHEMA = hr.Schema(
    {
        "male": hr.Boolean(),
        "age": hr.Categorical(AGES),
        "felonies": hr.Boolean(),
        "misdemeanors": hr.Boolean(),
        "juvenile": hr.Boolean(),
        "priors": hr.Categorical(PRIORS),
        "misdemeanor": hr.Boolean(),
    },
    hr.Label("recidivism", (False, True)),
)
VALUES: dict[str, tuple[Any, ...]] = {
    name: attribute.values if isinstance(attribute, hr.Categorical) else (False, True)
    for name, attribute in SCHEMA.attributes
}
CLASSES = 2
COLUMNS = tuple(
    Literal(name, "=", (value,)) if len(values) > CLASSES else Literal(name, "true")
    for name, values in VALUES.items()
    for value in (values if len(values) > CLASSES else ("",))
)


def compas() -> tuple[pd.DataFrame, Any]:
    """Return COMPAS as DRAFT's file bins it, and the labels."""
    data = hr.datasets.load("compas")
    raw = data.frame
    ages = pd.Series(pd.cut(raw["age"], [17, 20, 22, 25, 45, 120], labels=AGES)).astype(str)
    priors = pd.Series(pd.cut(raw["priors_count"], [-1, 0, 1, 3, 99], labels=("0", "1", "2-3", ">3"))).astype(str)
    juvenile = raw[["juv_fel_count", "juv_misd_count", "juv_other_count"]]
    table = pd.DataFrame(
        {
            "male": raw["sex"] == "Male",
            "age": ages,
            "felonies": juvenile["juv_fel_count"] > 0,
            "misdemeanors": juvenile["juv_misd_count"] > 0,
            "juvenile": juvenile.sum(axis=1) > 0,
            "priors": priors,
            "misdemeanor": raw["c_charge_degree"] == "M",
        }
    )
    return table, data.labels.to_numpy() == 1


@cache
def patterns() -> pd.DataFrame:
    """Return all rows of the domain."""
    return pd.DataFrame(list(product(*VALUES.values())), columns=list(VALUES))


def one_hot(table: pd.DataFrame) -> Integers:
    """Return the 14 columns of 0 and 1 in which errors are counted: of booleans, and of each value of categories."""
    columns = [table[test.attribute] == (test.operands or (True,))[0] for test in COLUMNS]
    return np.column_stack(columns).astype(np.int64)


def codes(table: pd.DataFrame) -> Integers:
    """Return the place of each row among `patterns`."""
    result = np.zeros(len(table), dtype=np.int64)
    for name, values in VALUES.items():
        result = result * len(values) + pd.Categorical(table[name], list(values)).codes
    return result


# The noise of the published forests: Laplace noise of scale b, of which the digits after the point are cut off.


def cut_noise(values: Any, scale: float) -> Floats:
    """Return the probabilities of whole numbers as Laplace noise that is cut off towards 0.

    Examples
    --------
    >>> cut_noise([-1, 0, 1], 1.0).round(3)
    array([0.116, 0.632, 0.116])
    """
    places, stay = np.abs(np.asarray(values)), -np.expm1(-1 / scale)
    return np.where(places == 0, stay, np.exp(-places / scale) * stay / 2)


def whole_noise(values: Any, scale: float) -> Floats:
    """Return the probabilities of whole numbers as discrete Laplace noise.

    Examples
    --------
    >>> whole_noise([-1, 0, 1], 1.0).round(3)
    array([0.17 , 0.462, 0.17 ])
    """
    return np.exp(-np.abs(np.asarray(values)) / scale) * np.tanh(0.5 / scale)


def noise_ratios(scale: float) -> tuple[Floats, Floats]:
    """Return the log-ratios of one noisy count with and without a row, and their probabilities with it.

    There are four: noise below 0, of 0, of 1, and above 1.
    """
    step, below = 1 / scale, exp(-1 / scale) / 2
    ratios = np.array([step, step + log(2), -step - log(2), -step])
    # With the row, the count without it and noise of k stand for noise of k - 1.
    with_row = np.array([below, 1 - 2 * below, below * -np.expm1(-step), below * exp(-step)])
    return ratios, with_row


def forest_loss(epsilon: float, trees: int) -> float:
    """Return the largest privacy loss of a forest whose counts have cut Laplace noise of scale `trees` / ε.

    Examples
    --------
    >>> round(forest_loss(1.0, 10), 3)  # not 1
    7.931
    """
    return trees * float(np.abs(noise_ratios(trees / epsilon)[0]).max())


def forest_excess(epsilon: float, trees: int) -> tuple[float, float]:
    """Return the probability of a loss above ε, and the δ for which the forest is (ε, δ)-private for one row."""
    ratios, chances = noise_ratios(trees / epsilon)
    above, delta = 0.0, 0.0
    for split in product(range(trees + 1), repeat=3):
        last = trees - sum(split)
        if last < 0:
            continue
        counts = np.array([*split, last])
        ways = comb(trees, split[0]) * comb(trees - split[0], split[1]) * comb(trees - split[0] - split[1], split[2])
        chance, loss = ways * float(np.prod(chances**counts)), float(ratios @ counts)
        if loss > epsilon * (1 + 1e-12):
            above, delta = above + chance, delta - chance * float(np.expm1(epsilon - loss))
    return above, delta


def noise() -> Iterator[dict[str, Any]]:
    """Yield the exact privacy loss of forests by ε and number of trees."""
    for epsilon, trees in product(EPSILONS, (1, TREES, 30)):
        above, delta = forest_excess(epsilon, trees)
        yield {
            "epsilon": epsilon,
            "trees": trees,
            "largest loss": forest_loss(epsilon, trees),
            "chance of more than epsilon": above,
            "delta": delta,
        }


# One unknown row: all other rows are known, and the unknown one is guessed from the model.


@dataclass(frozen=True)
class Known:
    """Knowledge of the attacker besides the model: the other rows, as numbers of each pattern and class.

    Attributes
    ----------
    counts : ndarray of shape (n_patterns, n_classes)
        The other rows.
    """

    counts: Floats

    @property
    def prior(self) -> Floats:
        """The attacker's guess of the unknown row's distribution: the other rows, and one row spread over all."""
        smooth = self.counts + 1 / self.counts.size
        return smooth / smooth.sum()


@cache
def distances() -> Floats:
    """Return the share of the 14 columns in which two patterns differ, for all pairs."""
    bits = one_hot(patterns()).astype(np.float64)
    return (bits @ (1 - bits).T + (1 - bits) @ bits.T) / bits.shape[1]


def guess(weights: Floats) -> int:
    """Return the pattern with the least expected error, of weights of patterns and classes."""
    return int(np.argmin(distances() @ weights.sum(axis=1)))


def random_tree(rng: np.random.Generator) -> Integers:
    """Return the leaf of each pattern in a tree of random splits, which no row decides, as diffprivlib grows it."""
    bits = one_hot(patterns())
    leaves = np.zeros(len(bits), dtype=np.int64)

    def grow(here: Any, low: Floats, high: Floats, depth: int, first: int) -> None:
        if depth == DEPTH:
            leaves[here] = first
            return
        column = int(rng.integers(bits.shape[1]))
        threshold = float(rng.uniform(low[column], high[column]))
        above, less, more = bits[:, column] > threshold, high.copy(), low.copy()
        less[column] = more[column] = threshold
        grow(here & ~above, low, less, depth + 1, 2 * first)
        grow(here & above, more, high, depth + 1, 2 * first + 1)

    grow(np.ones(len(bits), dtype=bool), np.zeros(bits.shape[1]), np.ones(bits.shape[1]), 0, 0)
    return leaves


@dataclass(frozen=True)
class Forest:
    """A forest of random trees with noisy counts of leaves.

    Attributes
    ----------
    leaves : ndarray of shape (n_trees, n_patterns)
        The leaf of each pattern.
    counts : ndarray of shape (n_trees, n_leaves, n_classes)
        The released counts.
    scale : float
        The scale of their noise.
    chances : function
        The probabilities of whole numbers as noise of a scale.
    """

    leaves: Integers
    counts: Integers
    scale: float
    chances: Callable[[Any, float], Floats]

    @classmethod
    def grown(cls, rows: Floats, epsilon: float, rng: np.random.Generator) -> tuple[Forest, Forest]:
        """Grow a forest on numbers of rows by pattern and class, with cut noise, and with discrete Laplace noise."""
        leaves = np.stack([random_tree(rng) for _ in range(TREES)])
        counts, scale = sums(leaves, rows).astype(np.int64), TREES / epsilon
        cut = np.trunc(rng.laplace(scale=scale, size=counts.shape)).astype(np.int64)
        first, second = (rng.geometric(-np.expm1(-1 / scale), size=counts.shape) for _ in range(2))
        return cls(leaves, counts + cut, scale, cut_noise), cls(leaves, counts + first - second, scale, whole_noise)

    def log_likelihood(self, known: Known) -> Floats:
        """Return the log-likelihood of each pattern and class as the unknown row, up to a constant."""
        rest = self.counts - sums(self.leaves, known.counts)
        ratios = np.log(self.chances(rest - 1, self.scale)) - np.log(self.chances(rest, self.scale))
        return np.stack([tree[places] for tree, places in zip(ratios, self.leaves, strict=True)]).sum(axis=0)

    def predict(self) -> Integers:
        """Return the predicted class of each pattern, by the mean of the shares of each leaf, as the published code."""
        raised = self.counts - np.minimum(self.counts.min(axis=2, keepdims=True), 0)
        total = raised.sum(axis=2, keepdims=True)
        shares = np.where(total > 0, raised / np.maximum(total, 1), 1 / CLASSES)
        means = np.stack([tree[places] for tree, places in zip(shares, self.leaves, strict=True)]).mean(axis=0)
        return means.argmax(axis=1)


def sums(leaves: Integers, rows: Floats) -> Floats:
    """Return the rows in each leaf of each tree, by class."""
    result = np.zeros((len(leaves), 2**DEPTH, rows.shape[1]))
    for tree, places in zip(result, leaves, strict=True):
        np.add.at(tree, places, rows)
    return result


@dataclass(frozen=True)
class DrawnTree:
    """A tree drawn from all trees, with its released counts, seen by an attacker who knows all other rows.

    Attributes
    ----------
    learner : PrivateTreeClassifier
        The unfitted learner.
    leaves, predicted : ndarray of shape (n_patterns,)
        The leaf of each pattern, and its predicted class.
    counts : ndarray of shape (n_leaves, n_classes)
        The released counts.
    """

    learner: hr.PrivateTreeClassifier
    leaves: Integers
    predicted: Integers
    counts: Integers

    @classmethod
    def drawn(cls, table: pd.DataFrame, labels: Any, epsilon: float, seed: int) -> DrawnTree:
        """Draw a tree of depth 3 with default settings."""
        learner = hr.PrivateTreeClassifier(epsilon, max_depth=3, schema=SCHEMA, random_state=seed)
        tree = hr.PrivateTreeClassifier(**learner.get_params()).fit(table, labels).tree_
        counts = np.array([leaf.counts for leaf in tree.leaves])
        return cls(learner, tree.apply(patterns()), np.asarray(tree.predict(patterns())).astype(np.int64), counts)

    def predict(self) -> Integers:
        """Return the predicted class of each pattern."""
        return self.predicted

    def log_likelihood(self, known: Known) -> Floats:
        """Return the log-likelihood of each pattern and class as the unknown row, up to a constant: exact."""
        every = pd.concat([patterns()] * CLASSES, ignore_index=True)
        classes = np.repeat(np.array([False, True]), len(patterns()))
        repeated = np.repeat(np.arange(len(every)), np.rint(known.counts.T.ravel()).astype(np.int64))
        rows, labels = every.iloc[repeated], classes[repeated]
        risk = exact_membership(self.learner, rows, labels, others=(every, classes))
        weight, step = risk.weight, risk.epsilon_of_counts
        chance = risk.error_probability[len(rows) :].reshape(CLASSES, -1).T
        wrong = self.predicted[:, None] != np.arange(CLASSES)
        draw = -weight * wrong - np.log1p(chance * np.expm1(-weight))
        sizes = np.zeros(self.counts.shape)
        np.add.at(sizes, self.leaves, known.counts)
        noise = step * (np.abs(self.counts - sizes) - np.abs(self.counts - sizes - 1))
        return draw + noise[self.leaves]


@dataclass(frozen=True)
class Game:
    """A table, and its rows that are attacked while all other rows are known.

    Attributes
    ----------
    table : DataFrame
        The rows of the table.
    labels : ndarray
        Their labels.
    rows : ndarray of shape (n_patterns, n_classes)
        The same as numbers of rows.
    targets : sequence
        The pattern and class of each row that is attacked.
    rest : tuple
        The patterns and classes of rows outside, for the accuracy.
    """

    table: pd.DataFrame
    labels: Any
    rows: Floats
    targets: Sequence[tuple[int, int]]
    rest: tuple[Integers, Integers]

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Game:
        """Draw the rows of COMPAS that are inside, and the targets."""
        table, labels = compas()
        places, classes = codes(table), labels.astype(np.int64)
        inside, outside = np.split(rng.permutation(len(table)), [ROWS])
        rows = np.zeros((len(patterns()), CLASSES))
        np.add.at(rows, (places[inside], classes[inside]), 1)
        targets = [(int(places[row]), int(classes[row])) for row in rng.choice(inside, TARGETS, replace=False)]
        return cls(table.iloc[inside], labels[inside], rows, targets, (places[outside], classes[outside]))

    def record(self, name: str, epsilon: float, seed: int, model: Forest | DrawnTree) -> dict[str, Any]:
        """Return the success of the best guesses with a model, and its accuracy on the rows outside."""
        places, classes = self.rest
        return {
            "model": name,
            "epsilon": epsilon,
            "seed": seed,
            **mean_errors(model, self.rows, self.targets),
            "accuracy": (model.predict()[places] == classes).mean(),
            "majority": max(classes.mean(), 1 - classes.mean()),
        }


def forests() -> Iterator[dict[str, Any]]:
    """Yield the errors of the best guess of an unknown row from a forest with either noise."""
    for epsilon, seed in product(EPSILONS, range(SEEDS)):
        rng = np.random.default_rng(seed)
        game = Game.drawn(rng)
        published, proper = Forest.grown(game.rows, epsilon, rng)
        yield game.record("forest as published", epsilon, seed, published)
        yield game.record("forest, discrete Laplace", epsilon, seed, proper)


def trees() -> Iterator[dict[str, Any]]:
    """Yield the errors of the best guess of an unknown row from a drawn tree, for the same rows as `forests`."""
    for epsilon, seed in product(EPSILONS, range(TREE_SEEDS)):
        game = Game.drawn(np.random.default_rng(seed))
        tree = DrawnTree.drawn(game.table, game.labels, epsilon, seed)
        yield game.record("drawn tree", epsilon, seed, tree)


def mean_errors(model: Forest | DrawnTree, rows: Floats, targets: Sequence[tuple[int, int]]) -> dict[str, float]:
    """Return the success of the attacker on rows, as means over the rows."""
    results = {target: guess_row(model, rows, target) for target in set(targets)}
    means = np.mean([results[target] for target in targets], axis=0)
    return dict(zip(("error", "error without", "exact", "exact without", "bits"), means.tolist(), strict=True))


def guess_row(model: Forest | DrawnTree, rows: Floats, target: tuple[int, int]) -> tuple[float, ...]:
    """Return the errors of the guess of one row with the model and without it, whether these are 0, and the bits.

    The target is a pattern and a class. The bits are by how much the model raises the logarithm of the probability that
    the attacker gives to the pattern.
    """
    others = rows.copy()
    others[target] -= 1
    known = Known(others)
    logs = model.log_likelihood(known)
    posterior = known.prior * np.exp(logs - logs.max())
    posterior /= posterior.sum()
    errors = [float(distances()[guess(weights), target[0]]) for weights in (posterior, known.prior)]
    after, before = (float(weights[target[0]].sum()) for weights in (posterior, known.prior))
    return (*errors, *(float(error == 0) for error in errors), log2(after) - log2(before))


# Tables that agree with all counts of a forest without noise: with few flags, and with many.


def agree() -> Iterator[dict[str, Any]]:
    """Yield the errors of tables that agree with all leaf counts of a forest, with few or many flags that are true."""
    from sklearn.ensemble import RandomForestClassifier

    from lab.forests import reconstruct

    table, labels = compas()
    flags = [name for name, values in VALUES.items() if len(values) == CLASSES]
    for (trees, depth), seed in product(((TREES, DEPTH), (100, None)), range(5)):
        chosen = np.random.default_rng(seed).permutation(len(table))[:100]
        own, columns = table.iloc[chosen], one_hot(table.iloc[chosen])
        forest = RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=seed)
        forest.fit(columns, labels[chosen])
        for name, share in (("few", 0.01), ("many", 0.99)):
            prior = {flag: [1 - share, share] for flag in flags}
            result = reconstruct(forest, SCHEMA, features=COLUMNS, prior=prior, seconds=60)
            other = one_hot(result.to_frame())
            agrees = np.array_equal(np.sort(forest.apply(columns), axis=0), np.sort(forest.apply(other), axis=0))
            yield {
                "trees": trees,
                "seed": seed,
                "flags": name,
                "error": result.error(own, one_hot=True),
                "agrees": agrees,
                "status": result.status,
            }


PARTS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "noise": noise,
    "forests": forests,
    "trees": trees,
    "agree": agree,
}


def main() -> None:
    """Write the files whose names are given, or all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or PARTS:
        rows = []
        for row in PARTS[name]():
            rows.append(row)
            sys.stdout.write(f"{name} {' '.join(map(str, row.values()))}\n")
            write_csv(pd.DataFrame(rows), FOLDER / f"{name}.csv")


if __name__ == "__main__":
    main()
