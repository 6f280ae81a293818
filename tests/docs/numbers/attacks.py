"""docs/attacks.md, from the files of `python -m studies ssrl --table 1`."""

from __future__ import annotations

from studies.ssrl.tables import GREEDY, PAPER
from tests.docs.page import Page, records, short

PAGE = "docs/attacks.md"
NAMES = {"compas": "COMPAS", "german": "German Credit", "adult": "Adult"}


def check(page: Page) -> None:
    page.given(
        # sections and years of papers
        "SSRL, Section 5.4 and Appendix C.2",
        "(Choquette-Choo et al., 2021)",
        "(LiRA, Carlini et al., 2022)",
        "(Zarifzadeh et al., 2024)",
        "Jagielski, 2023)",
        # definitions
        "0.5 is random guessing",
        "V exceeds 0.5 even for",
        # settings: splits, and the defaults of `membership`
        "On 70/30 splits",
        "knows the membership of 70 % of both halves",
        "Use 100 repeats",
        "claim if 1.3 times as much is lost",
    )
    runs = set()
    for dataset, name in NAMES.items():
        (row,) = (row for row in records(f"docs/studies/ssrl/table-1-{dataset}.csv") if row["method"] == GREEDY)
        keys = ("vulnerability", "by chance", "vulnerability as released", "by chance as released")
        printed = PAPER[dataset, GREEDY].vulnerability  # SSRL's Table 1: cited
        page.row(name, *(short(float(row[key]), 3) for key in keys), short(printed, 3))
        runs.add(row["runs"])
    page.says("means over {} splits", *runs)
