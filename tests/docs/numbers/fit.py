"""docs/fit.md, from the default grid and the benchmark of cut points."""

from __future__ import annotations

from hedgerow.models.count_noise import CONFIDENCE
from hedgerow.schema import Integer, Real
from hedgerow.schema.dates import STEPS
from hedgerow.schema.grid import MOST_WIDTHS
from tests.docs.page import ROOT, Page, records, short

PAGE = "docs/fit.md"


def check(page: Page) -> None:
    page.given("too noisy to say; 0 to 60 rows")  # made up, to show the form
    page.says("Both are {} % intervals", f"{100 * CONFIDENCE:g}")
    page.says("at most {} equal widths", str(MOST_WIDTHS))
    tree = next(row for row in records("benchmarks/results/cut_points_trees.csv") if row["epsilon"] == "1.0")
    page.says("an accuracy of {} with half of ε", short(float(tree["jointly"]), 3))
    page.says("and of {} with the default grids", short(float(tree["default grid"]), 3))
    code = (ROOT / PAGE).read_text(encoding="utf-8")
    page.says("shortest usual periods that make at most {} cut points", str(MOST_WIDTHS))
    steps = [number for number, unit in STEPS if unit == "year"][1:5]
    page.says("years, and {}, {}, {}, {} or more years", *map(str, steps))
    for bounds, cuts in (("Integer(0, 120)", Integer(0, 120).cuts), ("Real(36, 42)", Real(36, 42).cuts)):
        assert f"print(hr.{bounds}.cuts) # {cuts}" in " ".join(code.split())
