"""docs/studies/ssrl.md: from the means of docs/studies/ssrl, and the datasets' columns."""

from __future__ import annotations

from typing import Any

import pandas as pd

from studies.ssrl import tables as smooth_tables
from studies.ssrl.runs import GREEDY, load
from studies.ssrl.tables import PAPER
from tests.docs.page import ROOT, Page, short

PAGE = "docs/studies/ssrl.md"
FOLDER = ROOT / "docs" / "studies" / "ssrl"
DATASETS = ("compas", "german", "adult")
PRIVATE = "smooth-laplace"


def check(page: Page) -> None:
    for name, table in (
        ("table-1", smooth_tables.table_1),
        ("figure-3", smooth_tables.needed_table),
        ("figure-6", smooth_tables.auc_table),
    ):
        for line in table(cells(name)).splitlines():
            page.says("{}", line)
    table_1(page)
    figures(page)
    settings(page)


def cells(name: str) -> list[Any]:
    files = [FOLDER / f"{name}-{dataset}.csv" for dataset in DATASETS]
    return [cell for file in files if file.is_file() for cell in pd.read_csv(file).to_dict("records")]


def table_1(page: Page) -> None:
    found = {(cell["dataset"], cell["method"]): cell for cell in cells("table-1")}
    accuracy = {key: cell["accuracy"] for key, cell in found.items()}
    below = [PAPER[data, method].accuracy - accuracy[data, method] for data in ("compas", "adult")
             for method in (GREEDY, PRIVATE)]  # fmt: skip
    page.says("are {} to {} below the paper's on COMPAS and Adult", short(min(below), 3), short(max(below), 3))
    cost = {data: short(accuracy[data, GREEDY] - accuracy[data, PRIVATE], 3) for data in ("compas", "adult")}
    theirs = {data: short(PAPER[data, GREEDY].accuracy - PAPER[data, PRIVATE].accuracy, 3) for data in cost}
    page.says("(COMPAS {}, Adult {}; paper {} and {})", *cost.values(), *theirs.values())
    page.says("The paper's {} for the private list", short(PAPER["german", PRIVATE].accuracy, 3))
    page.says("ours, {}, is about it", short(accuracy["german", PRIVATE], 3))
    excess = {key: cell["vulnerability"] - cell["by chance"] for key, cell in found.items()}
    released = {key: cell["vulnerability as released"] - cell["by chance as released"] for key, cell in found.items()}
    most = max(max(part[key] for part in (excess, released)) for key in found if key[0] != "german")
    page.says("at most {} on COMPAS and Adult, with and without privacy", short(most, 4))
    page.says(
        "on German {} ({} in V) for GreedyRL", short(released["german", GREEDY], 3), short(excess["german", GREEDY], 3)
    )
    assert max(excess["german", PRIVATE], released["german", PRIVATE]) <= 0


def figures(page: Page) -> None:
    third = cells("figure-3")
    page.says("Figure 3 is {} fits", f"{sum(cell['runs'] for cell in third):,}")
    page.says("between the {} values measured, 0.01 to 100", str(len({cell["epsilon"] for cell in third}) - 1))
    page.says("at most {} below GreedyRL's", short(smooth_tables.CLOSE, 3))
    german = next(cell["accuracy"] for cell in third if cell["dataset"] == "german" and cell["method"] == GREEDY)
    page.says("the goal is {}, and a constant has .700", short(german - smooth_tables.CLOSE, 3))
    errors = [cell["accuracy se"] for cell in third if cell["dataset"] == "german" and 1 <= cell["epsilon"] < 1000]
    page.says("the standard errors ({} to {} from ε = 1 on)", short(min(errors), 3), short(max(errors), 3))
    wins = {name: _gini_wins(name) for name in DATASETS}
    last, first = {name: max(by[True]) for name, by in wins.items()}, {name: min(by[True]) for name, by in wins.items()}
    assert all(last[name] < min(wins[name][False]) for name in ("compas", "adult"))
    assert first["german"] > max(wins["german"][False])
    page.says("up to ε = {:.1f} on COMPAS".format(last["compas"]))
    page.says("up to ε = {:.2f} on Adult".format(last["adult"]))
    page.says(
        "from ε = {:.1f} on German, by at most {}".format(first["german"], short(max(wins["german"][True].values()), 3))
    )


def _gini_wins(dataset: str) -> dict[bool, dict[float, float]]:
    """Return by how much noisy Gini is more accurate, at each ε where it is (True), and where it is not."""
    file = next(FOLDER.glob(f"figure-[24]-{dataset}.csv"))
    part = pd.read_csv(file).pivot_table(index="epsilon", columns="method", values="accuracy")
    counts = next(name for name in part if "counts" in name)
    gini = next(name for name in part if name not in (counts, GREEDY))
    ahead = (part[gini] - part[counts]).dropna()
    return {won: {float(at): float(by) for at, by in ahead.items() if (by > 0) == won} for won in (True, False)}


def settings(page: Page) -> None:
    columns = [len(load(name).schema.attributes) for name in ("compas", "adult", "german")]  # without sensitive ones
    of = [f"{2 * d + 4 * d * (d - 1) // 2:,}" for d in columns]  # one literal or two, each column or its negation
    page.says("here there are {}, {} and {} columns: {}, {} and {} candidates", *map(str, columns), *of)
    page.says("{} columns ({} candidate rules)", str(columns[0]), of[0])
    page.says("{} columns ({} candidates)", str(columns[1]), of[1])
    page.given(
        "1,500 lists each way",
        "100 random splits each",
        "K = 5 rules of at most 2 literals, λ = .05 (German .12), C = .99",
        "fewer than 5 % or more than 95 % of the rows",
        "ε from 0.1 to 20",
        "catch 5 % of all rows",
        "means ± 2 standard errors",
        "below ε = 100",
        "public file has 7,214 rows",
        "a constant is right in .700 of cases",
    )
    page.given(
        "names 6,150 samples and 18 rules for COMPAS", "for Adult 47 rules", "names 18, 47 and 49 rules"
    )  # paper
