"""Where a width draw would pay: what lies inside the width, what bounds prune, and the time beside today's draw.

`python -m studies.width.study` writes docs/studies/width/*.csv and the picture, in minutes of one core; with the names
of tables it measures only these.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hedgerow as hr
from hedgerow.learn.search.branch_and_bound import prune
from hedgerow.learn.search.lattice import PatternMatrix
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.sampler import Draw, ModelSampler, one_thread
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.tally import Tally
from studies.results import write_csv
from studies.width.estimate import CHANCES, TELLING, share_inside
from studies.width.search import AllTrees, WidthSearch, inside_mass, width_of

FOLDER = Path(__file__).parents[2] / "docs" / "studies" / "width"
EPSILONS = (0.1, 1.0, 4.0)
STOP = 0.1


def named(name: str) -> Tally:
    data = hr.datasets.load(name)
    return Tally.count(data.frame, data.labels, data.schema)


def made(kind: str, rows: int, tests: int) -> Tally:
    """Return a made-up table of fair booleans, of which some matter. Seeded."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (rows, tests), dtype=np.int8)
    cells = np.array([CHANCES[kind](values) for values in product((0, 1), repeat=TELLING)])
    chance = cells[X[:, :TELLING] @ [16, 8, 4, 2, 1]]
    label = (rng.random(rows) < chance).astype(np.int64)
    names = [f"x{place}" for place in range(tests)]
    schema = hr.Schema(dict.fromkeys(names, hr.Boolean()), hr.Label("y", (0, 1)))
    return Tally(schema, X.astype(np.uint32), np.eye(2, dtype=np.int64)[label])


def tables() -> dict[str, tuple[Callable[[], Tally], int]]:
    """Return the tables and the depths of their trees."""
    result: dict[str, tuple[Callable[[], Tally], int]] = {
        name: (lambda name=name: named(name), 3)
        for name in ("compas", "compas_binary", "adult", "adult_binary", "breast_cancer", "german_binary")
    }
    sizes = [*((kind, 10**4, 60, 3) for kind in CHANCES), ("sum", 10**4, 16, 4), ("sum", 10**5, 60, 3)]
    for kind, rows, tests, depth in sizes:
        result[f"{kind}, {rows:,} × {tests}, depth {depth}"] = (lambda k=kind, r=rows, t=tests: made(k, r, t)), depth
    return result


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def number_of_nodes(space: Space, depth: int) -> dict[int, int]:
    """Return how many nodes there are by the choices left: sets of sides, and with one left each in every order."""
    result, paths = dict[int, int](), [()]
    for left in range(depth - 1, 1, -1):
        open_ = space.open(np.array(paths, dtype=np.int64).reshape(len(paths), -1))
        paths = [(*path, int(space.sides(side)[test])) for path, tests in zip(paths, open_, strict=True)
                 for test in np.flatnonzero(tests) for side in (CAUGHT, LEFT)]  # fmt: skip
        result[left] = len(set(map(frozenset, paths)))
    result[1] = 2 * int(space.open(np.array(paths, dtype=np.int64)).sum())
    return result


def today(tally: Tally, space: Space, depth: int) -> Callable[[], Any]:
    """Return hedgerow's own draw by errors, without noise: its work is the same for every choice."""
    plan = Draw(space, depth, StopPrior.constant(STOP))

    def choose(logs: Any, parts: float = 1, /) -> int:  # noqa: ARG001 -- the rounding of noise, of which there is none
        return int(logs.argmax())

    return lambda: ModelSampler(tally, plan, plan.states(), lambda _: None).sample(1.0, choose)


def measure(name: str, tally: Tally, depth: int) -> list[dict[str, Any]]:
    space = Space.of_trees(tally.schema)
    all_nodes, n = number_of_nodes(space, depth), int(tally.total().sum())
    todays, _ = seconds(today(tally, space, depth))
    twins, _ = seconds(lambda: AllTrees(tally, space, depth, STOP).weight(1.0))
    proofs, _ = seconds(proof(tally, space, depth))
    certificate = WidthSearch(tally, space, depth, STOP)
    optimum, least = seconds(certificate.least)
    lines = []
    for epsilon in EPSILONS:
        width = width_of(space.n_options, depth, epsilon, STOP)
        search = WidthSearch(tally, space, depth, STOP)
        search.known, search.exact = dict(certificate.known), set(certificate.exact)
        took, result = seconds(lambda one=search, limit=least + width: one.histogram(limit))
        flat, inside = inside_mass(result, width, epsilon)
        lines.append({
            "table": name, "depth": depth, "rows": n, "tests": space.n_options, "epsilon": epsilon, "optimum": least,
            "constant": int(tally.total().min()), "width": width, "nodes of two": all_nodes[2],
            "looked for optimum": certificate.visits.looked[2], "nodes of one": all_nodes[1],
            "inside of one": search.visits.inside.get(1, 0), "prior inside": float(result.shares.sum()),
            "flat": flat / (flat + float(inside.sum())), "today": todays, "twin": twins, "proof": proofs,
            "find optimum": optimum, "width draw": took,
        })  # fmt: skip
    return lines


def proof(tally: Tally, space: Space, depth: int) -> Callable[[], Any]:
    """Return hedgerow's own branch and bound for the optimum, whose class may have no least support here."""
    rows, settings = PatternMatrix(tally, space), SearchSettings(depth, 0, 0.0)
    return lambda: prune(rows, settings, None, lambda *_: None)


def estimates() -> list[dict[str, Any]]:
    """Return what lies inside at depth 4 with 500 tests and a million rows, and the time of one node of two choices."""
    rows, tests, depth, some = 10**6, 500, 4, 20_000
    tally = made("sum", some, tests)
    search = WidthSearch(tally, Space.of_trees(tally.schema), depth, STOP)
    took, _ = seconds(lambda: search.pairs(np.ones(some, dtype=bool)))
    lines = []
    for kind, epsilon in product(CHANCES, EPSILONS):
        item, two, three = share_inside(kind, rows, tests, depth, epsilon)
        lines.append({
            "labels": kind, "epsilon": epsilon, "width": width_of(tests, depth, epsilon, STOP),
            "inside, three left": item, "inside, two left": two, "inside, one left": three,
            "nodes, two left": 4 * comb(tests, 2), "seconds a node": took * rows / 4 / some,
        })  # fmt: skip
    return lines


def picture(lines: pd.DataFrame) -> Any:
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    for epsilon, mark in zip(EPSILONS, "sox", strict=True):
        part = lines[lines["epsilon"] == epsilon]
        left.plot(part["inside of one"] / part["nodes of one"], part["table"], mark, label=f"inside, ε = {epsilon:g}")
        total = part[["find optimum", "proof"]].min(axis=1) + part["width draw"]
        right.plot(total / part["today"], part["table"], mark, label=f"ε = {epsilon:g}")
    left.set(xlabel="share of nodes with one choice left that hold a tree inside the width", xlim=(0, 1.02))
    right.axvline(1 / 3, color="grey", linestyle=":", label="three times quicker")
    right.set(xlabel="time of the width draw / of today's draw", xscale="log", yticklabels=[])
    right.set_xticks((1 / 3, 0.5, 1, 2, 4, 8), labels=("1/3", "1/2", "1", "2", "4", "8"))
    right.minorticks_off()
    for ax in (left, right):
        ax.invert_yaxis()
        ax.legend(fontsize=8)
    return figure


def main() -> None:
    """Measure all tables, or those that are named, and write what was measured and the picture."""
    FOLDER.mkdir(exist_ok=True)
    wanted, file = sys.argv[1:] or [*tables(), "estimates"], FOLDER / "runs.csv"
    with one_thread():
        for name, (make, depth) in tables().items():
            if name in wanted:
                before = pd.read_csv(file).to_dict("records") if file.exists() else []
                lines = [row for row in before if row["table"] != name] + measure(name, make(), depth)
                order = list(tables())
                write_csv(pd.DataFrame(sorted(lines, key=lambda row: order.index(row["table"]))), file)
        if "estimates" in wanted:
            write_csv(pd.DataFrame(estimates()), FOLDER / "estimates.csv")
    picture(pd.read_csv(file)).savefig(FOLDER / "inside.png", dpi=110)


if __name__ == "__main__":
    main()
