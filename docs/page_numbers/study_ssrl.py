"""The study of SSRL: docs/studies/ssrl.md."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd

from page_numbers.marks import ROOT, between, number, short, table
from studies.ssrl import tables
from studies.ssrl.runs import GREEDY, load
from studies.ssrl.tables import PAPER

FOLDER = ROOT / "docs" / "studies" / "ssrl"
DATASETS = ("compas", "german", "adult")
PRIVATE = "smooth-laplace"


@cache
def _cells(name: str) -> list[dict[str, Any]]:
    files = [FOLDER / f"{name}-{dataset}.csv" for dataset in DATASETS]
    return [cell for file in files if file.is_file() for cell in pd.read_csv(file).to_dict("records")]


# --- Table 1


@table
def ssrl_table_1() -> str:
    """Accuracy and vulnerability compared with the paper."""
    return tables.table_1(_cells("table-1"))


def _of_table_1(key: str) -> dict[tuple[str, str], float]:
    return {(cell["dataset"], cell["method"]): cell[key] for cell in _cells("table-1")}


@number
def ssrl_below_the_paper() -> str:
    """Return by how much accuracies are below the paper's."""
    ours = _of_table_1("accuracy")
    pairs = [(dataset, method) for dataset in ("compas", "adult") for method in (GREEDY, PRIVATE)]
    return between((PAPER[pair].accuracy - ours[pair] for pair in pairs), 3)


@number
def ssrl_costs() -> str:
    """Return the accuracy that privacy costs, here and in the paper."""
    ours = _of_table_1("accuracy")
    here = [short(ours[name, GREEDY] - ours[name, PRIVATE], 3) for name in ("compas", "adult")]
    there = [short(PAPER[name, GREEDY].accuracy - PAPER[name, PRIVATE].accuracy, 3) for name in ("compas", "adult")]
    return "COMPAS {}, Adult {}; paper {} and {}".format(*here, *there)


@number
def ssrl_german_of_the_paper() -> str:
    """Return the paper's accuracy of the private list of German Credit."""
    return short(PAPER["german", PRIVATE].accuracy, 3)


@number
def ssrl_german() -> str:
    """Return the accuracy of the private list of German Credit."""
    return short(_of_table_1("accuracy")["german", PRIVATE], 3)


def vulnerability_beyond_chance(*, as_released: bool) -> dict[tuple[str, str], float]:
    """Return the difference between the vulnerability and chance, by dataset and method."""
    suffix = " as released" if as_released else ""
    chance = _of_table_1(f"by chance{suffix}")
    return {key: result - chance[key] for key, result in _of_table_1(f"vulnerability{suffix}").items()}


@number
def ssrl_most_vulnerable() -> str:
    """Return the largest vulnerability beyond chance on COMPAS and Adult."""
    both = (vulnerability_beyond_chance(as_released=released) for released in (True, False))
    return short(max(excess for result in both for key, excess in result.items() if key[0] != "german"), 4)


@number
def ssrl_german_vulnerability_as_released() -> str:
    """Return the vulnerability beyond chance of GreedyRL on German Credit, as the authors' code computes it."""
    return short(vulnerability_beyond_chance(as_released=True)["german", GREEDY], 3)


@number
def ssrl_german_vulnerability() -> str:
    """Return the vulnerability beyond chance of GreedyRL on German Credit."""
    return short(vulnerability_beyond_chance(as_released=False)["german", GREEDY], 3)


# --- Figures


@table
def ssrl_needed() -> str:
    """Least ε from which on accuracy is near GreedyRL's."""
    return tables.needed_table(_cells("figure-3"))


@table
def ssrl_membership() -> str:
    """Success of membership inference."""
    return tables.auc_table(_cells("figure-6"))


@number
def ssrl_fits() -> str:
    """Return how many fits Figure 3 is of."""
    return f"{sum(cell['runs'] for cell in _cells('figure-3')):,}"


@number
def ssrl_epsilons() -> str:
    """Return the number of measured values of ε; the infinite value belongs to GreedyRL."""
    return str(len({cell["epsilon"] for cell in _cells("figure-3")}) - 1)


@number
def ssrl_close() -> str:
    """Return how far below GreedyRL's an accuracy may be."""
    return short(tables.CLOSE, 3)


def _german_of_figure_3() -> list[dict[str, Any]]:
    return [cell for cell in _cells("figure-3") if cell["dataset"] == "german"]


@number
def ssrl_german_goal() -> str:
    """Return the accuracy that is near enough to GreedyRL's on German Credit."""
    greedy = next(cell["accuracy"] for cell in _german_of_figure_3() if cell["method"] == GREEDY)
    return short(greedy - tables.CLOSE, 3)


@number
def ssrl_german_errors() -> str:
    """Return the standard errors on German Credit from ε = 1 on."""
    return between((cell["accuracy se"] for cell in _german_of_figure_3() if 1 <= cell["epsilon"] < 1000), 3)


def gini_wins(dataset: str) -> dict[bool, dict[float, float]]:
    """Return the gain in accuracy of noisy Gini at each ε, by whether it is more accurate."""
    file = next(FOLDER.glob(f"figure-[24]-{dataset}.csv"))
    part = pd.read_csv(file).pivot_table(index="epsilon", columns="method", values="accuracy")
    counts = next(name for name in part if "counts" in name)
    gini = next(name for name in part if name not in (counts, GREEDY))
    ahead = (part[gini] - part[counts]).dropna()
    return {won: {float(at): float(by) for at, by in ahead.items() if (by > 0) == won} for won in (True, False)}


@number
def ssrl_gini_on_compas() -> str:
    """Return up to which ε noisy Gini is better on COMPAS."""
    return f"{max(gini_wins('compas')[True]):.1f}"


@number
def ssrl_gini_on_adult() -> str:
    """Return up to which ε noisy Gini is better on Adult."""
    return f"{max(gini_wins('adult')[True]):.2f}"


@number
def ssrl_gini_on_german() -> str:
    """Return from which ε on noisy Gini is better on German Credit."""
    return f"{min(gini_wins('german')[True]):.1f}"


@number
def ssrl_gini_gain() -> str:
    """Return by how much it is better there at most."""
    return short(max(gini_wins("german")[True].values()), 3)


# --- Candidates: one literal or two, each column or its negation


def _columns(dataset: str) -> int:
    return len(load(dataset).schema.attributes)


def _candidates(dataset: str) -> str:
    columns = _columns(dataset)
    return f"{2 * columns + 4 * columns * (columns - 1) // 2:,}"


@number
def ssrl_compas_columns() -> str:
    """Return the columns of COMPAS without sensitive columns, and its candidates."""
    return f"{_columns('compas')} columns ({_candidates('compas')} candidate rules)"


@number
def ssrl_adult_columns() -> str:
    """Return the columns of Adult without sensitive columns, and its candidates."""
    return f"{_columns('adult')} columns ({_candidates('adult')} candidates)"


@number
def ssrl_all_columns() -> str:
    """Return the columns of all three datasets."""
    return "{}, {} and {}".format(*map(_columns, ("compas", "adult", "german")))


@number
def ssrl_all_candidates() -> str:
    """Return the candidates of all three datasets."""
    return "{}, {} and {}".format(*map(_candidates, ("compas", "adult", "german")))
