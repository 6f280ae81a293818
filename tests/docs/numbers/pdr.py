"""docs/studies/pdr.md: from the claims, means and raw runs of docs/studies/pdr."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from tests.docs.page import ROOT, Page, short

PAGE = "docs/studies/pdr.md"
FOLDER = ROOT / "docs" / "studies" / "pdr"
ADULT, COMPAS = "adult", "compas"
COLUMNS = (("trees", ADULT), ("trees", COMPAS), ("lists", ADULT), ("lists", COMPAS))
COMPARED = re.compile(r"([+-]\d+\.\d+) ± (\d+\.\d+)(?: \((\d+) above, (\d+) equal, (\d+) below\))?")


def check(page: Page) -> None:
    table(page)
    size_of_the_study(page)
    lists(page)
    trees(page)
    private(page)
    fewest_splits(page)
    settings(page)


def claim(kind: str, dataset: str, statement: str) -> tuple[str, str] | None:
    """Return whether the one statement that begins so holds, and what was found; None if it is not made."""
    part = pd.read_csv(FOLDER / f"{kind}-{dataset}-claims.csv")
    result = part[part["statement"].str.startswith(statement)].to_dict("records")
    return (result[0]["holds"], result[0]["found"]) if result else None


def compared(text: str, digits: int = 3, at: int = 0) -> str:
    """Return a comparison as the page writes it.

    >>> compared("Dist_G: -0.0044 ± 0.0009 (10 above, 59 equal, 49 below)")
    '−.004 ± .001 (10/59/49)'
    """
    mean, se, *counts = list(COMPARED.finditer(text))[at].groups()
    return f"{short(float(mean), digits, sign=True)} ± {short(float(se), digits)}" + f" ({'/'.join(counts)})"


def table(page: Page) -> None:
    for title, statement, digits in (
        ("same size: optimal models usually contain more information", "for a given size, optimal models usually", 3),
        ("same size: optimal models are more accurate", "for a given size, optimal models are way", 3),
        ("same accuracy: optimal models *always* leak less", "for a given accuracy, optimal models always", 3),
        ("same parameters: greedy trees have more splits", "greedy trees have more nodes", 1),
        ("same parameters: greedy trees contain more information on Adult, less on COMPAS", "greedy trees contain", 3),
        ("optimal trees have more branches shorter than the maximum depth", "many branches", 3),
        ("same parameters: optimal lists contain more information", "optimal lists contain more information for", 3),
    ):
        result = [claim(kind, data, statement) for kind, data in COLUMNS]
        page.row(title, *("" if word is None else f"{strong(word[0])}: {compared(word[1], digits)}" for word in result))
    words = [claim(kind, data, "the reduction of entropy") for kind, data in COLUMNS]
    page.row("in the largest models, rows differ in what they lose", *(strong(word[0]) for word in words if word))
    shorter = [claim("lists", data, "greedy lists more often") for data in (ADULT, COMPAS)]
    page.row("greedy lists run out of rules: shorter than allowed, greedy and optimal", "", "", *map(_shorter, shorter))
    most = [claim("lists", data, "the largest optimal lists leave") for data in (ADULT, COMPAS)]
    page.row("largest lists: optimal ones leave less entropy at most proportions of rows", "", "", *map(_most, most))
    biggest = [claim("trees", data, "the largest trees have") for data in (ADULT, COMPAS)]
    cells = [", ".join(re.findall(r"(?:optimal|greedy) \d+", word[1])) for word in biggest if word]
    page.row("the largest trees have slightly more than 60 nodes: splits", *cells)
    holds, result = claim("trees", ADULT, "the largest greedy trees") or ("", "")
    numbers = f"splits {compared(result, 1)}, Dist_G {compared(result, 3, at=1)}"
    page.row(
        "largest trees: greedy ones are larger and contain more information (Adult)", f"{strong(holds)}: {numbers}"
    )
    holds, result = claim("lists", ADULT, "largest optimal lists") or ("", "")
    ends = [short(float(number), 3) for number in re.findall(r"0\.\d+", result)]
    title = "largest optimal lists: least exposed rows above .95, most exposed below .60 (Adult)"
    page.row(title, "", "", f"{strong(holds)}: {ends[0]} and {ends[1]}")


def strong(holds: str) -> str:
    return f"**{holds}**" if holds == "no" else holds


def _shorter(found: tuple[str, str] | None) -> str:
    assert found is not None
    optimal, greedy = re.findall(r"(\d+\.\d) %", found[1])
    return f"{strong(found[0])}: {float(greedy):.0f} % and {float(optimal):.0f} %"


def _most(found: tuple[str, str] | None) -> str:
    assert found is not None
    less, equal = re.findall(r"(\d+) %", found[1])
    return f"{strong(found[0])}: less at {less} %, as much at {equal} %"


def size_of_the_study(page: Page) -> None:
    parts = [pd.read_csv(FOLDER / f"{kind}-{data}-runs.csv.gz") for kind, data in COLUMNS]
    optimal = pd.concat([part[part["learner"] == "optimal"] for part in parts])
    assert optimal["certified"].all()
    page.says("all {} optimal models are certified", f"{len(optimal):,}")
    page.says("the slowest in {} s", f"{optimal['seconds'].max():.0f}")
    page.says("{} random splits, 80/20", str(optimal["seed"].nunique()))
    page.says("{} minutes of one processor", f"{sum(part['seconds'].sum() for part in parts) / 60:.0f}")


def lists(page: Page) -> None:
    moved = {data: (claim("lists", data, "Dist_G depends") or ("", ""))[1] for data in (ADULT, COMPAS)}
    numbers = [[float(number) for number in re.findall(r"0\.\d+", text)] for text in moved.values()]
    optimal, most = max(part[0] for part in numbers), max(part[1] for part in numbers)
    greedy = max(part[3] for part in numbers)
    page.says("moves Dist_G by {} on average and by up to {}", short(optimal, 3), short(most, 3))
    page.says("for greedy ones by up to {}", short(greedy, 3))
    leak = [claim("lists", data, "for a given accuracy, optimal lists leak less, each") for data in (ADULT, COMPAS)]
    assert [item[0] for item in leak if item] == ["yes", "yes"]
    page.says("({} on Adult, {} on COMPAS)", *(compared(item[1]).split(" (")[0] for item in leak if item))


def trees(page: Page) -> None:
    """Up to which depth greedy trees on COMPAS contain more information than optimal ones."""
    wide = pd.read_csv(FOLDER / "trees-compas.csv").pivot_table(index="depth", columns="learner", values="uncertainty")
    more = [int(str(depth)) for depth, by in (wide["optimal"] - wide["greedy"]).items() if by > 1e-9]
    page.says("up to a depth of {} and less from {} on", str(max(more)), str(max(more) + 1))


def private(page: Page) -> None:
    parts: dict[str, Any] = {data: pd.read_csv(FOLDER / f"private-{data}.csv") for data in (ADULT, COMPAS)}
    behind, left, by_counts, least, greatest = [], [], [], [], []
    for data, part in parts.items():
        for kind in ("trees", "lists"):
            mine = part[part["kind"] == kind]
            best = mine[mine["learner"] == "optimal"].iloc[0]
            drawn = mine[mine["learner"] == "private"].set_index("epsilon")
            behind.append((best["test_accuracy"] - drawn["test_accuracy"]).loc[0.5:].max())
            by_counts.append((drawn["uncertainty"] - drawn["true_uncertainty"]).abs().loc[0.5:].max())
            if (kind, data) == ("lists", COMPAS):
                least, greatest = [drawn["uncertainty"].min()], [drawn["uncertainty"].max()]
                page.says("where the optimal list that was found has {}", short(best["uncertainty"], 3))
            else:
                left.append((drawn["uncertainty"] - best["uncertainty"]).abs().loc[2:].max())
    page.says("within {} of the test accuracy of the optimal model", short(max(behind), 3))
    page.says("within {} of its Dist_G", short(max(left), 3))
    page.says("differs by {} at most on average", short(max(by_counts), 4))
    page.says("stay at {} to {}", short(least[0], 2), short(greatest[0], 2))


def fewest_splits(page: Page) -> None:
    leak = [claim("compact", data, "for a given accuracy") for data in (ADULT, COMPAS)]
    assert all(item and item[0] == "yes" for item in leak)
    ours = claim("compact", COMPAS, "greedy trees contain")
    theirs = claim("trees", COMPAS, "greedy trees contain")
    assert ours is not None
    assert theirs is not None
    page.says("{}: {}; with the trees of Figure 5 {}: {}", ours[0], compared(ours[1]), theirs[0], compared(theirs[1]))


def settings(page: Page) -> None:
    page.given(
        "(7,214 rows, 27 columns)",
        "(4,884 rows, 24 columns)",
        "80/20",
        "a minimum support of .01 to .05",
        "from ε = 0.5 on",
        "p < .05",
    )
    columns = 24
    page.says("With d = {} that is 23/24 = {}", str(columns), short(1 - 1 / columns, 3))
    page.says("14/24 = {} for the tenth", short(1 - 10 / columns, 3))
