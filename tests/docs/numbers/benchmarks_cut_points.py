"""Cut points in benchmarks/README.md, from the files of `cut_points.py`."""

from __future__ import annotations

from fractions import Fraction

from hedgerow.privacy.joint_quantiles import JointQuantiles
from tests.docs.page import Page, records, short

PAGE = "benchmarks/README.md"
RESULTS = "benchmarks/results"
SHOWN = "0.5"
METHODS = ("jointly", "one at a time")


def check(page: Page) -> None:
    page.given(
        # settings of the script, and the bounds that it declares
        "With 20 draws each, secure noise, ε = 0.5",
        "of all rows and of the first 1,000, between bounds",
        "(0 to 120, 0 to 168, 0 to 100,000)",
        "At ε = 0.05 and 1,000 rows",
        "hours at 52 bins",
    )
    fewer, more = JointQuantiles(Fraction(1), 10, 1_000), JointQuantiles(Fraction(1), 52, 168)
    page.says("({} for 10 bins of 1,000 candidates, {} for 52 bins of 168)", str(fewer.parts), str(more.parts))
    rows = records(f"{RESULTS}/cut_points.csv")
    for row in rows:
        if row["epsilon"] == SHOWN:
            many = int(row["bins"]) >= {"age": 99, "hours-per-week": 52, "capital-gain": 10}[row["number"]]
            joint, alone = (float(row[f"error, {method}"]) for method in METHODS)
            assert joint > alone if many else joint <= alone, "worse where one value has most rows and bins are many"
            page.row(
                f"{int(row['rows']):,}",
                row["number"],
                row["bins"],
                short(float(row["least error"]), 3),
                *(short(float(row[f"error, {method}"]), 3) for method in METHODS),
                *(f"{float(row[f'outside, {method}']):.1f}" for method in METHODS),
                *(f"{float(row[f'different, {method}']):.1f}" for method in METHODS),
            )
    for row in records(f"{RESULTS}/cut_points_trees.csv"):
        cells = (
            f"{short(float(row[key]), 4)} ({short(float(row[f'std. error, {key}']), 4)})"
            for key in (*METHODS, "default grid")
        )
        page.row(f"{float(row['epsilon']):g}", *cells)
        page.says("trees of depth 3, {} bins, {} splits 70/30, with half of ε", row["bins"], row["splits"])
        apart = abs(float(row["jointly"]) - float(row["one at a time"]))
        assert apart < float(row["std. error, jointly"]), "it is the same how cut points were learned"
        assert float(row["default grid"]) > float(row["jointly"]), "better not to learn any"
