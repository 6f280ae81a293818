"""Two models of one table whose rows are not linked: their joint disclosure, and the price of aligning their rows.

`python -m studies.merging` writes docs/studies/merging/*.csv, in minutes of one core; with names of tables, such as
`pairs`, it writes only these.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, product
from math import comb, factorial, lgamma, log2, prod
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, sparse
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import joint_reconstruction, unlinked_reconstruction
from hedgerow.audit.counting.regions import count_rows_each
from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.readers.read import paths_of
from hedgerow.boundary.arrays import Array, Floats, Integers
from studies.pdr.runs import split
from studies.results import write_csv

FOLDER = Path(__file__).parents[1] / "docs" / "studies" / "merging"
LISTS: dict[str, Any] = {"min_support": 0.0, "max_literals": 1, "max_rules": 5}
SHORT_LISTS: dict[str, Any] = LISTS | {"max_rules": 3}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two partitions of a domain with the rows of a table by class: all that a reader who links no row can know.

    Attributes
    ----------
    possible : list of list of int
        The number of possible rows in region i of the first model and region j of the second.
    true : ndarray, shape (n_first, n_second, n_classes)
        The number of rows in both regions, by class, which only the curator knows.
    """

    possible: list[list[int]]
    true: Integers

    @classmethod
    def of(cls, models: Sequence[Any], X: Any, y: Any, schema: hr.Schema) -> Pair:
        """Return the partitions of two models, with the rows of a table."""
        read = [paths_of(model, schema, None)[0] for model in models]
        domain = Domain.of(schema, chain.from_iterable(paths.literals for paths in read))
        paths = [normalised(own, domain.schema) for own in read]
        first, second = (domain.regions(own) for own in paths)
        rows = count_rows_each(list(map(and_, *zip(*product(first, second), strict=True))), domain.weights)
        possible = [list(rows[k : k + len(second)]) for k in range(0, len(rows), len(second))]
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        true = np.zeros((len(first), len(second), len(classes)), dtype=np.int64)
        np.add.at(true, (*(own.apply(X, domain.schema) for own in paths), codes), 1)
        return cls(possible, true)

    def without_classes(self) -> Pair:
        """Return the same rows without their classes."""
        return Pair(self.possible, self.true.sum(axis=2, keepdims=True))

    def swapped(self) -> Pair:
        """Return the second model as the first."""
        return Pair([list(column) for column in zip(*self.possible, strict=True)], self.true.transpose(1, 0, 2))

    @property
    def counts(self) -> tuple[Integers, Integers]:
        """The counts by region and class that the two models store."""
        return self.true.sum(axis=1), self.true.sum(axis=0)

    @property
    def n_rows(self) -> int:
        return int(self.true.sum())

    @property
    def domain_rows(self) -> int:
        return sum(map(sum, self.possible))

    @cached_property
    def masses(self) -> Floats:
        """The share of the domain in both regions."""
        return np.array([[rows / self.domain_rows for rows in line] for line in self.possible])

    def bits(self, rows: Array) -> float:
        """Return the entropy of rows that are uniform in their cells, in bits: ``Σ rows · log2 possible``."""
        logs = np.log2(np.where(self.masses > 0, self.masses, 1)) + log2(self.domain_rows)
        return float((rows.sum(axis=2) * logs).sum())

    @property
    def first_bits(self) -> float:
        """The entropy given the region of each row in the first model, and nothing of the second."""
        shares, rows = self.masses.sum(axis=1), self.counts[0].sum(axis=1)
        return float((rows * np.log2(np.where(shares > 0, shares, 1))).sum()) + self.n_rows * log2(self.domain_rows)


def scaled(masses: Floats, first: Array, second: Array, sweeps: int = 20_000) -> Floats:
    """Return the expected rows of each cell and class by iterative proportional fitting: Sinkhorn's, for two models."""
    factors = np.ones(second.shape)
    own = _ratio(first, masses @ factors)
    for _ in range(sweeps):
        before = own
        factors = _ratio(second, masses.T @ own)
        own = _ratio(first, masses @ factors)
        if (np.abs(own - before) <= 1e-9 * own).all():
            break
    return masses[:, :, None] * own[:, None, :] * factors[None, :, :]


def _ratio(counts: Array, sums: Array) -> Floats:
    return np.divide(counts, sums, out=np.zeros(sums.shape), where=sums > 0)


def log_loss(pair: Pair, merged: Floats) -> float:
    """Return the loss in bits of the true rows, each given its region in the first model, under merged rows."""
    given = _ratio(merged, np.broadcast_to(merged.sum(axis=1, keepdims=True), merged.shape))
    used = pair.true > 0
    if (given[used] <= 0).any():
        return np.inf
    return pair.bits(pair.true) - float((pair.true[used] * np.log2(given[used])).sum())


def entropy(pair: Pair, merged: Floats) -> float:
    """Return the entropy in bits that merged rows claim, each given its region in the first model."""
    given = _ratio(merged, np.broadcast_to(merged.sum(axis=1, keepdims=True), merged.shape))
    used = given > 0
    return pair.bits(merged) - float((merged[used] * np.log2(given[used])).sum())


def aligned_by_overlap(pair: Pair) -> Integers:
    """Return the rows of each cell in the assignment with the fewest impossible pairs, then the largest overlap.

    The overlap of a pair of regions is ``log (|R_i ∩ S_j| · |X| / (|R_i| · |S_j|))``, summed over the matched rows.
    """
    expected = pair.masses.sum(axis=1)[:, None] * pair.masses.sum(axis=0)[None, :]
    gain = np.log(np.divide(pair.masses, expected, out=np.ones(pair.masses.shape), where=pair.masses > 0))
    penalty = (np.abs(gain).max() + 1) * (pair.n_rows + 1)
    costs = np.where(pair.masses > 0, -gain, penalty)
    return np.stack([_transported(costs, *own) for own in zip(*(c.T for c in pair.counts), strict=True)], axis=2)


def aligned_by_probability(pair: Pair, merged: Floats) -> Integers:
    """Return the rows of each cell in a most probable assignment: the expected rows, rounded with their sums."""
    floors = np.floor(merged + 1e-7)
    left = [merged - floors, *(own - floors.sum(axis=axis) for own, axis in zip(pair.counts, (1, 0), strict=True))]
    whole = [
        _transported(-left[0][:, :, y], np.rint(left[1][:, y]), np.rint(left[2][:, y]), most=pair.masses > 0)
        for y in range(merged.shape[2])
    ]
    return floors.astype(np.int64) + np.stack(whole, axis=2)


def _transported(costs: Floats, supply: Any, demand: Any, most: Any = None) -> Integers:
    """Return the whole numbers of least cost with these sums; `most` bounds each of them."""
    n_from, n_to = costs.shape
    sums = sparse.vstack(
        [sparse.kron(sparse.eye(n_from), np.ones((1, n_to))), sparse.kron(np.ones((1, n_from)), sparse.eye(n_to))]
    )
    bounds = (0, None) if most is None else np.column_stack([np.zeros(costs.size), most.ravel()])
    limits = np.concatenate([supply, demand])
    solution = optimize.linprog(costs.ravel(), A_eq=sums.tocsr(), b_eq=limits, bounds=bounds, method="highs-ds")
    return np.rint(solution.x).astype(np.int64).reshape(costs.shape)


def right_rows(pair: Pair, matched: Array) -> float:
    """Return the expected number of rows that a matching pairs with the right row; rows of a group are exchangeable."""
    first, second = pair.counts
    pairs = np.maximum(first[:, None, :] * second[None, :, :], 1)
    return float((matched * pair.true / pairs).sum())


def most_right_rows(pair: Pair) -> int:
    """Return a bound on `right_rows` of every matching: the smaller number of occupied regions, summed over classes."""
    first, second = pair.counts
    return int(np.minimum((first > 0).sum(axis=0), (second > 0).sum(axis=0)).sum())


def right_cells(pair: Pair, matched: Array) -> float:
    """Return the expected share of rows, each with its region in the first model, that get the right second region."""
    rows = np.maximum(pair.counts[0], 1)[:, None, :]
    return float((matched * pair.true / rows).sum()) / pair.n_rows


def right_in_best_order(pair: Pair, matched: Array) -> float:
    """Return the share of rows whose cell is right if the rows are ordered in the best way."""
    return float(np.minimum(pair.true, matched).sum()) / pair.n_rows


def count_tables(pair: Pair) -> int:
    """Return the exact number of ordered tables with the counts of both models, given the class of each row.

    ``Π_y Σ_N n_y! / Π N_ij! · Π possible_ij ** N_ij`` over the whole numbers N with the sums of class y, by a recursion
    over the regions of the first model; the state is the remaining counts of the second.
    """
    return prod(
        factorial(int(first.sum())) // prod(map(factorial, first.tolist())) * _count_placed(pair, first, second)
        for first, second in zip(*(counts.T for counts in pair.counts), strict=True)
    )


def _count_placed(pair: Pair, first: Integers, second: Integers) -> int:
    """Return the number of tables of one class, given the region of each row in the first model."""
    states = {tuple(second.tolist()): 1}
    for rows, possible in zip(first.tolist(), pair.possible, strict=True):
        after: dict[tuple[int, ...], int] = {}
        for left, tables in states.items():
            for used, weight in _shared(rows, left, tuple(possible)):
                key = tuple(a - b for a, b in zip(left, used, strict=True))
                after[key] = after.get(key, 0) + tables * weight
        states = after
    return states.get((0,) * len(second), 0)


def _shared(rows: int, most: tuple[int, ...], possible: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the ways to share rows among regions, with the number of their tables: multinomial times possible rows."""
    if len(most) == 1:
        if rows <= most[0]:
            yield (rows,), possible[0] ** rows
        return
    for own in range(min(rows, most[0] if possible[0] else 0) + 1):
        weight = comb(rows, own) * possible[0] ** own
        for others, rest in _shared(rows - own, most[1:], possible[1:]):
            yield (own, *others), weight * rest


def unplaced_bounds(pair: Pair, merged: Floats) -> tuple[float, float, float]:
    """Return a lower bound, an estimate and an upper bound of the log2 of `count_tables`.

    The upper bound is the entropy of the maximum-entropy distribution. All tables with the counts have the same
    probability under it, so the number of tables is ``2 ** bound`` times the probability of the counts. The estimate
    takes this probability from a normal distribution; the lower bound counts the tables of a single N only.
    """
    labels = _sum_of_logs(pair.true.sum(axis=(0, 1)))
    upper = labels - _sum_of_logs(pair.counts[0]) + entropy(pair, merged)
    single = aligned_by_probability(pair, merged)
    lower = pair.bits(single) + _log_factorials(pair.true.sum(axis=(0, 1))) - _log_factorials(single)
    return lower, upper + sum(_log_chance(merged[:, :, y]) for y in range(merged.shape[2])), upper


def unplaced(pair: Pair, counts: Integers, bits: float) -> float:
    """Return the entropy if the region of each row is unknown, from the entropy `bits` if it is known."""
    return bits + _log_factorials(pair.true.sum(axis=(0, 1))) - _log_factorials(counts)


def _log_chance(expected: Floats) -> float:
    """Return log2 of the probability of both sums of independent Poisson numbers, given their total: an estimate.

    The sums are taken as normal. Cells with hardly any expected rows count as empty, since they would otherwise join
    groups of regions that are in fact apart.
    """
    first, second = expected.sum(axis=1), expected.sum(axis=0)
    total = first.sum()
    if not total:
        return 0.0
    used = np.where(expected < FEW, 0, expected)[first > 0][:, second > 0]
    covariance = np.block([[np.diag(used.sum(axis=1)), used], [used.T, np.diag(used.sum(axis=0))]])
    _, parts = sparse.csgraph.connected_components(covariance > 0, directed=False)
    kept = np.ones(len(covariance), dtype=bool)
    kept[np.unique(parts, return_index=True)[1]] = False  # in each component, one sum follows from the rest
    inner = covariance[np.ix_(kept, kept)]
    chance = -0.5 * (kept.sum() * log2(2 * np.pi) + np.linalg.slogdet(inner)[1] / np.log(2))
    return float(chance - _log_poisson(total))


def _log_poisson(rows: float) -> float:
    return (rows * np.log(rows) - rows - lgamma(rows + 1)) / np.log(2)


def _log_factorials(counts: Any) -> float:
    return sum(lgamma(count + 1) for count in np.ravel(counts).tolist()) / np.log(2)


def _sum_of_logs(counts: Any) -> float:
    counts = np.ravel(counts)
    return float((counts * np.log2(np.maximum(counts, 1))).sum())


def restricted(schema: hr.Schema, columns: Sequence[str]) -> hr.Schema:
    """Return the schema of some columns."""
    return hr.Schema({name: schema[name] for name in columns}, schema.label)


def models_of(X: Any, y: Any, schema: hr.Schema) -> Iterator[tuple[str, list[Any]]]:
    """Yield pairs of models of one table: learners, sizes, and halves of the columns."""
    is_binary = all(isinstance(attribute, hr.Boolean) for _, attribute in schema.attributes)

    def tree(depth: int, columns: Sequence[str] = tuple(schema.names)) -> Any:
        own = restricted(schema, columns)
        return hr.OptimalTreeClassifier(max_depth=depth, min_support=0, schema=own).fit(X[list(columns)], y)

    def cart(depth: int) -> Any:
        return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)

    rules = hr.GreedyRuleListClassifier(**LISTS, schema=schema).fit(X, y)
    if is_binary:
        yield "CART, optimal tree (depth 3)", [cart(3), tree(3)]
        yield "CART of depth 3 and 5", [cart(3), cart(5)]
    yield "optimal trees of depth 2 and 3", [tree(2), tree(3)]
    yield "optimal tree (depth 3), greedy list", [tree(3), rules]
    yield "optimal trees of half the columns", [tree(3, schema.names[0::2]), tree(3, schema.names[1::2])]


def tables_of(names: Sequence[str] = ("compas_binary", "adult_binary", "compas", "adult")) -> Iterator[tuple[Any, ...]]:
    """Yield the name, rows, labels and schema of each table; binary tables are split as in the study of PDR."""
    for name in names:
        if name.endswith("_binary"):
            rows = split(name.removesuffix("_binary"), 0)
            yield name, rows.X, rows.y, rows.schema
        else:
            data = hr.datasets.load(name)
            frame: Any = data.frame.sample(n=min(len(data.frame), 5000), random_state=0)
            yield name, frame, data.labels[frame.index], data.schema


def pairs() -> Iterator[dict[str, Any]]:
    """Yield what two models disclose alone, merged in each way, and with linked rows."""
    for name, X, y, schema in tables_of():
        for models_name, models in models_of(X, y, schema):
            both = Pair.of(models, X, y, schema)
            together = unlinked_reconstruction(models, schema)
            linked = joint_reconstruction(models, X, schema)
            yield {"dataset": name, "models": models_name, **compared(both), **_checked(both, together, linked)}


def compared(pair: Pair) -> dict[str, Any]:
    """Return Dist_G alone, merged and linked, and the errors of alignments, for the classes of rows known."""
    first, second = pair.counts
    merged = scaled(pair.masses, first, second)
    unclassed = pair.without_classes()
    soft = {own: log_loss(own, scaled(own.masses, *own.counts)) for own in (pair, pair.swapped(), unclassed)}
    whole = pair.n_rows * log2(pair.domain_rows)
    lower, estimate, upper = unplaced_bounds(pair, merged)
    overlap, probable = aligned_by_overlap(pair), aligned_by_probability(pair, merged)
    result: dict[str, Any] = {
        "rows": pair.n_rows,
        "first regions": len(first),
        "second regions": len(second),
        "domain bits": log2(pair.domain_rows),
        "first alone": pair.first_bits / whole,
        "second alone": pair.swapped().first_bits / whole,
        "linked": pair.bits(pair.true) / whole,
        "first merged": soft[pair] / whole,
        "loss minus entropy": log_loss(pair, merged) - entropy(pair, merged),
        "gain": (pair.first_bits - soft[pair]) / pair.n_rows,
        "gain without classes": (pair.first_bits - soft[unclassed]) / pair.n_rows,
        "gain linked": (pair.first_bits - pair.bits(pair.true)) / pair.n_rows,
        "merged right": right_cells(pair, merged),
        "first unplaced": unplaced(pair, first, pair.first_bits) / whole,
        "second unplaced": unplaced(pair, second, pair.swapped().first_bits) / whole,
        "linked unplaced": unplaced(pair, pair.true, pair.bits(pair.true)) / whole,
        "lower": lower / whole,
        "estimate": estimate / whole,
        "upper": upper / whole,
        "most right rows": most_right_rows(pair),
    }
    for name, matched in (("overlap", overlap), ("probable", probable)):
        result |= {
            f"{name} claimed": pair.bits(matched) / whole,
            f"{name} right": right_cells(pair, matched),
            f"{name} right in best order": right_in_best_order(pair, matched),
            f"{name} right rows": right_rows(pair, matched),
            f"{name} impossible": int(matched[pair.masses == 0].sum()),
            f"{name} compatible": int((matched == pair.true).all()),
        }
    return result


def _checked(pair: Pair, together: Any, linked: Any) -> dict[str, Any]:
    """Return Dist_G given the second model, as the package computes it; ValueError if both computations differ."""
    whole = pair.n_rows * together.domain.bits
    merged = scaled(pair.masses, *pair.counts)
    expected = [log_loss(pair, merged) / whole, pair.bits(pair.true) / whole]
    if not np.allclose(expected, [together.uncertainties[0], linked.uncertainty], atol=1e-6):
        raise ValueError(f"Expected {expected}, got {together.uncertainties[0]} and {linked.uncertainty}.")
    return {"second merged": together.uncertainties[1]}


SIZES = (5, 20, 80)
FEW = 0.05  # expected rows below which a cell counts as empty in an estimate
RANDOM_ROWS = (2, 5, 10, 20, 40)
RANDOM_PAIRS = 100


def small() -> Iterator[dict[str, Any]]:
    """Yield the exact number of tables with its bounds, and the exact chances of a row's region, for few rows."""
    for name, X, y, schema in tables_of(("compas_binary", "adult_binary")):
        for n in SIZES:
            own, labels = X.iloc[:n], y.iloc[:n]
            half = [*schema.names[1::2]]
            tree = hr.OptimalTreeClassifier(max_depth=2, min_support=0, schema=schema).fit(own, labels)
            rules = hr.GreedyRuleListClassifier(**SHORT_LISTS, schema=restricted(schema, half)).fit(own[half], labels)
            pair = Pair.of([tree, rules], own, labels, schema)
            yield {
                "dataset": name,
                "rows": n,
                **measured(pair),
                "first alone": log2(count_tables(alone(pair))),
                "linked": log2(count_tables(linked(pair))),
            }


def random_pairs() -> Iterator[dict[str, Any]]:
    """Yield the same for random tables of one class and two models of three regions: a summary of each size. Seeded."""
    rng = np.random.default_rng(0)
    for n in RANDOM_ROWS:
        results = list[dict[str, float]]()
        for _ in range(RANDOM_PAIRS):
            possible = rng.integers(1, 9, (3, 3)) * (rng.random((3, 3)) < 0.7)
            possible[0, 0] += not possible.any()
            weights = rng.exponential(size=(3, 3)) * (possible > 0)
            cells = rng.multinomial(n, (weights / weights.sum()).ravel())
            results.append(measured(Pair(possible.tolist(), cells.reshape(3, 3, 1))))
        exact, lower, estimate, upper, difference = np.array([list(own.values()) for own in results]).T
        yield {
            "rows": n,
            "pairs": len(results),
            "below": float((exact - lower).mean()),
            "estimate": float(np.abs(estimate - exact).mean()),
            "above": float((upper - exact).mean()),
            "outside": int(((exact < lower - 1e-6) | (exact > upper + 1e-6)).sum()),
            "mean difference of a chance": float(difference.mean()),
            "largest difference of a chance": float(difference.max()),
        }


def measured(pair: Pair) -> dict[str, float]:
    """Return the exact number of tables in bits, its bounds, and the largest error of a chance by maximum entropy."""
    merged = scaled(pair.masses, *pair.counts)
    lower, estimate, upper = unplaced_bounds(pair, merged)
    bits = {"exact": log2(count_tables(pair)), "lower": lower, "estimate": estimate, "upper": upper}
    return bits | {"difference": float(np.abs(posterior(pair) - chances(pair, merged)).max())}


def alone(pair: Pair) -> Pair:
    """Return the first model with a second model of a single leaf, which discloses nothing."""
    return Pair([[sum(line)] for line in pair.possible], pair.true.sum(axis=1, keepdims=True))


def linked(pair: Pair) -> Pair:
    """Return the model whose regions are all intersections, with a second model of a single leaf."""
    cells = list(product(*map(range, pair.true.shape[:2])))
    return Pair([[pair.possible[i][j]] for i, j in cells], np.array([[pair.true[i, j]] for i, j in cells]))


def chances(pair: Pair, merged: Floats) -> Floats:
    """Return the probability of each second region, given the first region and the class of a row."""
    return _ratio(merged, np.broadcast_to(pair.counts[0][:, None, :], merged.shape).astype(np.float64))


def posterior(pair: Pair) -> Floats:
    """Return the exact `chances` if all tables with the counts of both models are equally likely.

    A row of region i is in region j in ``possible_ij`` times as many tables as the other rows allow, for counts with
    one row less in both regions.
    """
    first, second = pair.counts
    result = np.zeros(pair.true.shape)
    for y in range(first.shape[1]):
        whole = _count_placed(pair, first[:, y], second[:, y])
        for i, j in product(np.flatnonzero(first[:, y]), np.flatnonzero(second[:, y])):
            less = first[:, y] - (np.arange(len(first)) == i), second[:, y] - (np.arange(len(second)) == j)
            result[i, j, y] = float(Fraction(pair.possible[i][j] * _count_placed(pair, *less), whole))
    return result


RELEASES = (1, 2, 3, 4, 5)


def releases() -> Iterator[dict[str, Any]]:
    """Yield Dist_G of the first of k trees, each of a random half of the columns, unlinked and linked. Seeded."""
    for name, X, y, schema in tables_of():
        rng = np.random.default_rng(0)
        trees = []
        for _ in RELEASES:
            columns = [schema.names[k] for k in sorted(rng.choice(len(schema.names), len(schema.names) // 2, False))]
            own = restricted(schema, columns)
            trees.append(hr.OptimalTreeClassifier(max_depth=2, min_support=0, schema=own).fit(X[columns], y))
        for k in RELEASES:
            together = unlinked_reconstruction(trees[:k], schema)
            yield {
                "dataset": name,
                "k": k,
                "alone": min(model.uncertainty for model in together.alone),
                "unlinked": min(together.uncertainties),
                "linked": joint_reconstruction(trees[:k], X, schema).uncertainty,
                "cells": len(together.cells),
            }


EPSILONS = (0.1, 1.0, 10.0)
DRAWS = 5
LEAST = 0.5  # smaller noisy counts are replaced by it, so that no region is excluded
NOISY_SWEEPS = 200  # shares without a common table have no limit


def private() -> Iterator[dict[str, Any]]:
    """Yield the loss of the true rows under merged noisy counts of two private trees. Seeded."""
    for name, X, y, schema in tables_of():
        for epsilon, seed in product(EPSILONS, range(DRAWS)):
            models = [
                hr.PrivateTreeClassifier(
                    epsilon, max_depth=depth, schema=schema, search="exact", release_counts=True, random_state=seed
                ).fit(X, y)
                for depth in (2, 3)
            ]
            pair = Pair.of(models, X, y, schema)
            noisy = [np.array(paths_of(model, schema, None)[0].counts, dtype=np.float64) for model in models]
            first, second = (np.maximum(own, LEAST) / np.maximum(own, LEAST).sum(axis=0) for own in noisy)
            merged = scaled(pair.masses, first, second, sweeps=NOISY_SWEEPS)
            exact = log_loss(pair, scaled(pair.masses, *pair.counts))
            yield {
                "dataset": name,
                "epsilon": epsilon,
                "seed": seed,
                "difference of totals": float(np.abs(noisy[0].sum(axis=0) - noisy[1].sum(axis=0)).sum()),
                "no row": int(any((own[true > 0] <= 0).any() for own, true in zip(noisy, pair.counts, strict=True))),
                "unmet": float(np.abs(merged.sum(axis=0) - second).max()),
                "gain": (pair.first_bits - log_loss(pair, merged)) / pair.n_rows,
                "gain exact": (pair.first_bits - exact) / pair.n_rows,
            }


TABLES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "pairs": pairs,
    "small": small,
    "random": random_pairs,
    "releases": releases,
    "private": private,
}


def main(names: Sequence[str]) -> None:
    """Write the named tables, or all."""
    warnings.simplefilter("ignore", hr.errors.SeededNoiseWarning)
    FOLDER.mkdir(exist_ok=True)
    for name in names or TABLES:
        rows = list[dict[str, Any]]()
        for row in TABLES[name]():
            rows.append(row)
            print(name, *list(row.values())[:3], file=sys.stderr)  # noqa: T201
            write_csv(pd.DataFrame(rows), FOLDER / f"{name}.csv")


if __name__ == "__main__":
    main(sys.argv[1:])
