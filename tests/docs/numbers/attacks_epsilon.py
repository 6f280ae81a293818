"""Claimed and found ε in docs/attacks.md, from the file of epsilon.py."""

from __future__ import annotations

import math
from itertools import groupby

from tests.docs.page import Page, records, short

PAGE = "docs/attacks.md"
FILE = "benchmarks/results/epsilon.csv"
Line = dict[str, str]


def check(page: Page) -> None:
    page.given(
        # settings: the second ε, its tables, versions and δ of peers
        "ε = 0.1",
        "found, claim 0.1",
        "diffprivlib 0.6.6",
        "interpret 0.7.8",
        "δ = 0.01, and 0.001 at",
        "δ = 10⁻⁵",
        "ε = ln(n/3)",
    )
    lines = records(FILE)
    ours, controls, peers = (
        [line for line in lines if line["kind"] == kind] for kind in ("hedgerow", "control", "peer")
    )
    assert not any(refuted(line) for line in ours)
    assert all(refuted(line) for line in controls)
    for learner, found in by_learner(ours):
        assert {line["epsilon"] for line in found} == {"1.0", "0.1"}
        page.row(learner, *cells(found))
    for learner, found in by_learner(controls):
        page.row(learner, *best([line for line in found if line["epsilon"] == "1.0"]))
    for learner, found in by_learner(peers):
        for tables, both in groupby(found, lambda line: line["tables"]):
            page.row(learner, tables, *(number(line) for line in both))
    page.says("{} fits, 4,000 on each of two tables", f"{fits(ours):,}")
    assert max(int(line["runs"]) for line in ours) == 4000
    page.says("there are {} fits", f"{fits(lines):,}")
    page.says("all of {} lines hold together with 95 %", str(len(lines)))
    page.says("A claim of 1 that is 30 % too small is refuted with a chance of {}", power(ours, "10"))
    page.says("one of 0.1, on tables that are one row apart, with a chance of {}", power(ours, "1"))
    flips = 4 * math.log(2 * math.e - 1)
    page.says("a loss of {} at ε = 1", short(flips, 1))


def by_learner(lines: list[Line]) -> list[tuple[str, list[Line]]]:
    return [(learner, list(found)) for learner, found in groupby(lines, lambda line: line["learner"])]


def fits(lines: list[Line]) -> int:
    return sum(2 * int(line["runs"]) for line in lines)


def refuted(line: Line) -> bool:
    assert (line["refuted"] == "True") == (float(line["found"]) > float(line["claimed"]))
    return line["refuted"] == "True"


def found_of(line: Line) -> float:
    return float(line["found"])


def number(line: Line) -> str:
    """What was found; in bold where it is above the claim."""
    found = short(float(line["found"]), 2)
    return f"**{found}**" if refuted(line) else found


def best(lines: list[Line]) -> tuple[str, str]:
    """The tables where most was found, and how much."""
    most = max(lines, key=found_of)
    return most["tables"], number(most)


def cells(lines: list[Line]) -> tuple[str, ...]:
    """Tables and bound at ε = 1, and the bound on tables that are ten rows apart, or for the series its own claims."""
    one, tenth = ([line for line in lines if line["epsilon"] == epsilon] for epsilon in ("1.0", "0.1"))
    claims = [f"{float(max(some, key=found_of)['claimed']):.3g}" for some in (one, tenth)]
    return best(one)[0], claims[0], best(one)[1], claims[1], best(tenth)[1]


def power(lines: list[Line], apart: str) -> str:
    """The power of the lines at ε = 0.1, by how many rows the tables are apart: of 4,000 fits, and of 1,000."""
    some = [
        line for line in lines if line["epsilon"] == "0.1" and line["rows apart"] == apart and line["delta"] == "0.0"
    ]
    assert {line["runs"] for line in some} == {"4000" if apart == "10" else "1000"}
    (found,) = {line["power, 30 % wrong"] for line in some}
    return short(float(found), 2)
