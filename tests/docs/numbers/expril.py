"""docs/studies/expril.md: from the raw runs and means of docs/studies/expril."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd

from studies.expril import tables
from studies.expril.problems import PROBLEMS
from studies.expril.runs import BEST, MAJORITY
from studies.results import Cell
from tests.docs.page import ROOT, Page, short

PAGE = "docs/studies/expril.md"
FOLDER = ROOT / "docs" / "studies" / "expril"
COLUMNS = {name: place for place, name in enumerate(tables.COLUMNS)}
PUBLISHED, TWELVE = ("1DP-C-EXPRIL", "1DP-I-EXPRIL"), ("1DP-C-EXPRIL, 12 bins", "1DP-I-EXPRIL, 12 bins")


def check(page: Page) -> None:
    for table in (tables.paper_table, tables.difference_table, tables.our_table):
        for line in table([cell for mine in cells().values() for cell in mine]).splitlines():
            page.says("{}", line)
    against_the_paper(page)
    c_against_i(page)
    otherwise(page)
    curves(page)
    settings(page)


def cells() -> dict[str, list[Cell]]:
    """Return the means of each problem, by method and iteration."""
    files = {name: pd.read_csv(FOLDER / f"{name}.csv") for name in PROBLEMS}
    return {name: [cast(Cell, {"dataset": name, **cell}) for cell in file.to_dict("records")]
            for name, file in files.items()}  # fmt: skip


def above(method: str, problem: str) -> tuple[float, float]:
    """Return by how many points ours is above the paper's, and by how many standard errors of the difference."""
    text = tables.difference(tables.last(cells()[problem])[method], tables.PAPER[problem][COLUMNS[method]])
    points, errors = text.replace("(", "").replace(")", "").split()
    return float(points), float(errors)


def against_the_paper(page: Page) -> None:
    private = {problem: above("1DP-C-EXPRIL", problem)[1] for problem in PROBLEMS}
    near = [abs(private[problem]) for problem in ("A", "C", "D", "E", "CTG-B")]
    page.says(f"within {max(near):.1f} standard errors of the paper on A, C, D, E and CTG-B")
    page.says("above it by {:.1f} on CTG-A and by {:.1f} on B".format(private["CTG-A"], private["B"]))
    exact = {
        (method, problem): above(method, problem)[0] for method in ("C-EXPRIL", "I-EXPRIL") for problem in PROBLEMS
    }
    assert [key for key, points in exact.items() if points < 0] == [("I-EXPRIL", "CTG-B")]
    page.says("but for I-EXPRIL on CTG-B ({} points)", short(exact["I-EXPRIL", "CTG-B"], 1))
    most = max(points for (_, problem), points in exact.items() if problem != "E")
    page.says("by at most {:.1f} points, on E by {:.1f} (C) and {:.1f} (I)".format(
        most, exact["C-EXPRIL", "E"], exact["I-EXPRIL", "E"]))  # fmt: skip
    known = max(abs(above(method, problem)[1]) for method in (BEST, MAJORITY) for problem in PROBLEMS)
    page.says(f"differ by up to {known:.1f} standard errors too")
    best = max(abs(above(BEST, problem)[0]) for problem in PROBLEMS)
    page.says(f"is within {best:.1f} points everywhere")
    ours = 100 * tables.last(cells()["CTG-B"])[MAJORITY]["accuracy"]
    page.says("the paper has {} %, ours {} %", str(tables.PAPER["CTG-B"][COLUMNS[MAJORITY]][0]), f"{ours:.1f}")


def c_against_i(page: Page) -> None:
    result: list[float] = []
    for problem in PROBLEMS:
        runs = pd.read_csv(FOLDER / f"{problem}-runs.csv.gz")
        result += [tables.p_value(_after_last(runs, c) - _after_last(runs, i)) for c, i in tables.PAIRS]
    assert all(p < 0.05 / (len(result) - place) for place, p in enumerate(sorted(result)))
    page.says("p < .05 each, with Holm's correction for {} tests", str(len(result)))


def _after_last(runs: pd.DataFrame, method: str) -> Any:
    mine = runs[runs["method"] == method]
    return mine[mine["iteration"] == mine["iteration"].max()].sort_values("run")["accuracy"].to_numpy()


def standard_error(problem: str, one: str, other: str) -> str:
    """Return the standard error, in points, of how much more accurate one method is than another in the same run."""
    runs = pd.read_csv(FOLDER / f"{problem}-runs.csv.gz")
    differences = 100 * (_after_last(runs, one) - _after_last(runs, other))
    return short(differences.std(ddof=1) / len(differences) ** 0.5, 1)


def otherwise(page: Page) -> None:
    result = {name: {method: 100 * cell["accuracy"] for method, cell in tables.last(mine).items()}
             for name, mine in cells().items()}  # fmt: skip
    gains = {name: mine[TWELVE[0]] - mine[PUBLISHED[0]] for name, mine in result.items()}
    assert [name for name, gain in gains.items() if gain == 0] == ["E", "CTG-A", "CTG-B"]
    assert gains["A"] == max(gains.values())
    assert min(gains.values()) == 0
    page.says("gain the published form {:.1f} points on A".format(gains["A"]))
    counts = {name: mine["C, counts"] - mine[TWELVE[0]] for name, mine in result.items()}
    assert [name for name, gain in counts.items() if gain < 0] == ["A"]
    assert min((gain, name) for name, gain in counts.items() if name != "A")[1] == "B"
    errors = {name: standard_error(name, "C, counts", TWELVE[0]) for name in "ABE"}
    page.says("better than the published form by {} ± {} points (B, standard error of the difference) to {} ± {} (E)",
              short(counts["B"], 1), errors["B"], f"{max(counts.values()):.1f}", errors["E"])  # fmt: skip
    page.says("but on A ({} ± {})", short(counts["A"], 1), errors["A"])
    paper = {name: line[COLUMNS["1DP-C-EXPRIL"]][0] for name, line in tables.PAPER.items()}
    best = {name: max(mine[method] for method in tables.PURE) for name, mine in result.items()}
    page.says("{} on E (paper {}), {} on CTG-A ({}, below its majority of {}), {} on CTG-B ({}, majority {})",
              f"{best['E']:.1f}", str(paper["E"]), f"{best['CTG-A']:.1f}", str(paper["CTG-A"]),
              str(tables.PAPER["CTG-A"][COLUMNS[MAJORITY]][0]), f"{best['CTG-B']:.1f}", str(paper["CTG-B"]),
              str(tables.PAPER["CTG-B"][COLUMNS[MAJORITY]][0]))  # fmt: skip
    for name in ("E", "CTG-A", "CTG-B"):
        assert best[name] in (result[name]["C, counts, 1 question"], result[name]["logistic"])
    behind = {name: max(mine["C-EXPRIL"], mine["I-EXPRIL"]) - mine["logistic, exact"] for name, mine in result.items()}
    assert [name for name, by in behind.items() if by < 0] == ["CTG-A", "CTG-B"]
    page.says("on CTG-A ({}) and CTG-B ({}), and behind them on the others by up to {} points",
              *(f"{result[name]['logistic, exact']:.1f}" for name in ("CTG-A", "CTG-B")),
              f"{max(behind.values()):.1f}")  # fmt: skip


def curves(page: Page) -> None:
    """What the second question changes, with noise."""
    instantaneous = [
        second_question(method, problem)
        for method in (PUBLISHED[1], TWELVE[1], "I, counts")
        for problem in ("D", "E", "CTG-A", "CTG-B")
    ]
    assert max(instantaneous) < 0
    page.says("by up to {} points", short(-min(instantaneous), 1))
    cumulative = [
        second_question(method, problem) for method in (PUBLISHED[0], TWELVE[0], "C, counts") for problem in PROBLEMS
    ]
    page.says("C-EXPRIL loses {} at most", short(-min(cumulative), 1))


def second_question(method: str, problem: str) -> float:
    line = sorted((c["iteration"], c["accuracy"]) for c in cells()[problem] if c["method"] == method)
    return 100 * (line[2][1] - line[1][1])


def settings(page: Page) -> None:
    forms = 4  # that C and I share the first network of: the paper's two, the same with 12 bins, and counts
    page.says("up to {} networks a run and problem, not {}", str(1 + 3 * forms + 3), str(1 + 4 * forms + 3))
    page.given(
        "of **100 runs**",
        "two means of 100 runs",
        "δ = 10⁻⁶",
        "(110 on A)",
        "CTG has 21 columns here, 22 in the paper",
        "from .9 to .1 with the baseline heart rate",
        "81 % of the target would be normal",
        "in one of 100 splits",
        "pass 25 times over the rows",
        "at most 12 bins a column",
        "of its Section 4.2",
        "of its Section 4.2; and",
    )
