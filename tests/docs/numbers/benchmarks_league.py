"""Raw tables in benchmarks/README.md, from the files of league.py and optimal_raw.py."""

from __future__ import annotations

from tests.docs.page import Page, records, short

PAGE = "benchmarks/README.md"
RESULTS = "benchmarks/results"


def check(page: Page) -> None:
    page.given(
        # the protocol
        "20 splits 80/20, default settings",
        "DP-EBM with δ = 1e-5",
        # published by others, cited beside the table
        "Adult at ε = 0.01, 0.1 and 1: PrivaTree, depth 4, .751, .79 and .822",
        "S-BDT, 50 to 400 trees with δ, .775 and .830 at the first two",
        "what a tree of depth 5 on 60 columns takes",
        "Data Poisoning*, 2023)",
        "Boosted Decision Trees*, CCS 2024)",
        "leaves of at least a thousandth of the rows",
        "ten minutes at most",
    )
    for row in records(f"{RESULTS}/league.csv"):
        assert row["splits"] == "20"
        cells = [short(float(row["tree"]), 3), short(float(row["standard error"]), 3)]
        for key in ("best fixed depth", "list", "DP-EBM", "CART of depth 3, not private", "majority"):
            cells.append(short(float(row[key]), 3) if row[key] else "")
        page.row(row["table"], f"{float(row['epsilon']):g}", *cells)
    for row in records(f"{RESULTS}/optimal_raw.csv"):
        page.row(row["what"], row["solver"], row["seconds"], f"{int(row['errors']):,}", short(float(row["share"]), 4))
