"""The runs of the study: bits that the knowledge of the learner adds, for greedy and optimal trees and lists.

`python -m studies.learning_algorithm` adds models to docs/studies/learning-algorithm/runs.csv and compares them.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from itertools import product
from math import log2
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from hedgerow import datasets
from studies.learning_algorithm.greedy import greedy_bits, largest_shift, stop_bits
from studies.learning_algorithm.nodes import Learner, Node, Rows, nodes_of
from studies.learning_algorithm.sampling import (
    Draw,
    Greedy,
    Optimal,
    by_population,
    by_shares,
    random_tables,
    sampled_bits,
)
from studies.pdr.compare import Comparison, differences_at_same
from studies.pdr.runs import DATASETS, GREEDY, LISTS, OPTIMAL, TREES, Frame, Learning, split
from studies.results import write_csv

FOLDER = Path(__file__).parents[2] / "docs" / "studies" / "learning-algorithm"
FILE = FOLDER / "runs.csv"
SUPPORTS = (0.01, 0.05)
DEPTHS: Mapping[str, tuple[int, ...]] = {GREEDY: (1, 2, 3, 4, 5, 6, 8, 10), OPTIMAL: (1, 2, 3, 4, 5, 6)}
COMPLETE = 4
"""The largest limit of depth or rules for which optimal models are compared with all models of the class.

Beyond it, the bits are a lower bound.
"""
HEIGHT = 4
"""The number of choices in sequence of the parts that are examined beyond `COMPLETE`."""
DRAWN = 20
"""Random tables that are solved for an optimal model."""
KEPT = {GREEDY: 50, OPTIMAL: 8}
"""Tables that must fit at each node, if a probability is sampled from the leaves to the root."""
_LEVELS = 10
"""The rules of the longest list in the reproduction, whose penalty together is half a row."""
_FIELDS = (
    *("dataset", "kind", "learner", "support", "depth", "seed"),
    *("size", "rows", "columns", "accuracy", "entropy"),
    *("uniform", "stops", "excluded", "marginals", "population"),
    *("fitting", "low", "high", "bound"),
)


@lru_cache(maxsize=2)
def _population(dataset: str) -> Rows:
    data = datasets.load(DATASETS[dataset].file)
    names = list(data.frame.columns)
    return Rows(data.frame[names].to_numpy() == 1, np.asarray(data.labels) == data.schema.classes[1])


def fitted_nodes(
    dataset: str, kind: str, learner: str, support: float, depth: int, seed: int
) -> tuple[Node, Learner, float]:
    """Return the nodes of a fitted model, the constraints of its learner, and its training accuracy."""
    data, penalty = split(dataset, seed), 0.0
    learning = Learning(dataset, kind, (depth, _LEVELS), (support,), 60.0)
    model = learning.estimator(learner, support, depth, seed).fit(data.X, data.y)
    rows = Rows(data.X.to_numpy() == 1, data.y.to_numpy() == data.schema.classes[1])
    fitted = model.rule_list_ if kind == LISTS else model.tree_ if learner == OPTIMAL else model
    if kind == LISTS and learner == OPTIMAL:
        penalty = 1 / (2 * _LEVELS)
    needed = int(np.ceil(support * len(rows.y) - 1e-9))
    root = nodes_of(fitted, rows, list(data.X.columns), depth)
    return root, Learner(kind == TREES, needed, penalty), float(model.score(data.X, data.y))


def record(dataset: str, kind: str, learner: str, support: float, depth: int, seed: int) -> dict[str, Any]:
    """Return one model's entropy and the bits that its learner's knowledge adds, by prior."""
    root, rules, accuracy = fitted_nodes(dataset, kind, learner, support, depth, seed)
    known = _population(dataset)
    columns = known.X.shape[1]
    cells = {
        **dict(zip(_FIELDS, (dataset, kind, learner, support, depth, seed), strict=False)),
        "size": sum(1 for node in root.nodes() if node.parts),
        "rows": root.size,
        "columns": columns,
        "accuracy": accuracy,
        "entropy": root.entropy_bits(columns),
    }
    rng, even = np.random.default_rng([seed, depth]), np.full(columns, 0.5)
    if learner == OPTIMAL:
        schema = split(dataset, seed).schema
        algorithm = Optimal(rules, schema, depth if depth <= COMPLETE else HEIGHT)
        cells |= _optimal(root, algorithm, by_shares(even), rng)
        if seed == 0 and depth <= COMPLETE:
            cells["marginals"] = _optimal(root, algorithm, by_shares(known.X.mean(axis=0)), rng)["uniform"]
            cells["population"] = _optimal(root, algorithm, by_population(known), rng)["uniform"]
        return cells
    cells |= {"uniform": greedy_bits(root, rules, even, "chosen"), "stops": stop_bits(root, rules, even)}
    result = sampled_bits(root, Greedy(rules, "chosen"), by_population(known), KEPT[GREEDY], rng)
    cells |= {"population": result.bits, "bound": "" if result.is_complete else "population"}
    if seed == 0:
        cells["excluded"] = greedy_bits(root, rules, even, "excluded")
        cells["marginals"] = greedy_bits(root, rules, known.X.mean(axis=0), "chosen")
    return cells


def _optimal(root: Node, algorithm: Optimal, draw: Draw, rng: np.random.Generator) -> dict[str, Any]:
    """Return the bits by solving random tables, with a Clopper-Pearson interval; if few fit, from the leaves up."""
    if root.height <= algorithm.height:
        tables = random_tables(root, draw, DRAWN, rng)
        fitting = int(algorithm.fits(root, tables).sum())
        if fitting >= DRAWN / 4:
            interval = binomtest(fitting, DRAWN).proportion_ci(0.95)
            bits = {"low": interval.high, "high": interval.low, "uniform": fitting / DRAWN}
            return {"fitting": fitting} | {name: abs(log2(share)) for name, share in bits.items()}
    result = sampled_bits(root, algorithm, draw, KEPT[OPTIMAL], rng)
    is_bound = not result.is_complete or root.height > algorithm.height or root.left > algorithm.height
    return {"uniform": result.bits, "bound": "uniform" if is_bound else ""}


def cells(seeds: int) -> Iterator[tuple[str, str, str, float, int, int]]:
    """Yield the settings of all models, seed by seed."""
    for seed in range(seeds):
        for dataset in DATASETS:
            for kind in (TREES, LISTS):
                for learner, depths in DEPTHS.items():
                    for support in SUPPORTS:
                        some = [depth for depth in depths if seed == 0 or learner == GREEDY or depth <= COMPLETE]
                        yield from ((dataset, kind, learner, support, depth, seed) for depth in some)


def comparisons(runs: pd.DataFrame) -> pd.DataFrame:
    """Return optimal minus greedy Dist_G at the same accuracy, without and with the knowledge, by dataset and kind.

    Optimal models beyond `COMPLETE` are left out, as their bits are only bounded from below. Greedy models of the same
    accuracy and entropy count once, with the knowledge of their smallest limit.
    """
    ordered = runs.sort_values(by="depth")
    table: Frame = ordered[(ordered["learner"] == GREEDY) | (ordered["depth"] <= COMPLETE)]
    table = table.drop_duplicates(["dataset", "kind", "learner", "support", "seed", "accuracy", "entropy"])
    whole = table["rows"] * table["columns"]
    table["without"] = table["entropy"] / whole
    table["with"] = (table["entropy"] - table["uniform"]) / whole
    lines = list[dict[str, Any]]()
    for keys, part in table.groupby(["dataset", "kind"]):
        dataset, kind = cast(tuple[str, str], keys)
        without, seeds = differences_at_same(part, "accuracy", "without")
        known, _ = differences_at_same(part, "accuracy", "with")
        for name, values in (("without", without), ("with", known), ("gain", known - without)):
            result = Comparison.of(values, seeds)
            verdict = result.holds(1, always=True)
            lines.append({"dataset": dataset, "kind": kind, "knowledge": name, **asdict(result), "holds": verdict})
    return pd.DataFrame(lines)


def shifts(seeds: int) -> Iterator[dict[str, Any]]:
    """Yield how far a greedy learner moves the probability of a single cell, for models up to a limit of four."""
    for seed, dataset, kind, support, depth in product(
        range(seeds), DATASETS, (TREES, LISTS), SUPPORTS, range(1, COMPLETE + 1)
    ):
        root, rules, _ = fitted_nodes(dataset, kind, GREEDY, support, depth, seed)
        settings = {"dataset": dataset, "kind": kind, "support": support, "depth": depth, "seed": seed}
        yield settings | {"shift": f"{largest_shift(root, rules):.6f}"}


def main() -> None:
    """Measure all models that the file does not have."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="number of splits of each dataset")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no model after this time")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    done = set[tuple[str, ...]]()
    if FILE.exists():
        with FILE.open(encoding="utf-8", newline="") as file:
            done = {tuple(row[name] for name in _FIELDS[:6]) for row in csv.DictReader(file)}
    start = time.monotonic()
    for cell in cells(options.seeds):
        if tuple(map(str, cell)) in done or time.monotonic() - start > options.seconds:
            continue
        began = time.process_time()
        result = record(*cell)
        with FILE.open("a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, _FIELDS, lineterminator="\n")
            if not file.tell():
                writer.writeheader()
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in result.items()})
        seconds = time.process_time() - began
        sys.stdout.write(f"{' '.join(map(str, cell))}: {result['uniform']:.1f} bits, {seconds:.1f} s\n")
        sys.stdout.flush()
    write_csv(comparisons(pd.read_csv(FILE)), FOLDER / "comparisons.csv")
    write_csv(pd.DataFrame(shifts(options.seeds)), FOLDER / "cells.csv")
