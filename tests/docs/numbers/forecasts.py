"""docs/forecasts.md: what the commands print, and the limits."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import hedgerow as hr
from hedgerow.cli.fit import MANY_ROWS
from hedgerow.planning.forecast import ACCURACY_LOSS
from tests.docs.page import ROOT, Page, records

PAGE = "docs/forecasts.md"


def check(page: Page) -> None:
    """Check that the page shows forecasts of its schema as they are printed."""
    text = (ROOT / page.name).read_text(encoding="utf-8")
    (schema,) = re.findall(r"<!-- file: patients.yaml -->\n```yaml\n(.*?)```", text, re.DOTALL)
    with TemporaryDirectory() as folder:
        (path := Path(folder) / "patients.yaml").write_text(schema, encoding="utf-8")
        declared = hr.Schema.load(path)
    printed = re.findall(r"```console\n\$ hedgerow .*\n((?:.*\n)*?)```", text)
    assert printed == [f"{hr.plan(declared, 2000, 1)}\n", f"{hr.plan(declared, 2000, accuracy_loss=0.02)}\n"]
    page.says("of the rows, {} % by default", f"{100 * ACCURACY_LOSS:g}")
    page.says("needs more than {} rows", f"{MANY_ROWS:,}")
    page.given("**A leaf of 5 %.**", "the 95 % interval", "at most 2 % more errors than the best single test")
    _held(page)


def _held(page: Page) -> None:
    """Check the table of draws beside forecasts."""
    rows = records("benchmarks/results/forecasts.csv")
    for row in rows:
        if row["table"] in ("breast_cancer", "ctg", "compas", "german"):
            cells = (row[name] for name in ("best", "at most", "drawn", "most drawn"))
            page.row(row["table"], f"{int(row['rows']):,}", row["model"], row["epsilon"], *cells)
    within = sum(row["mean within"] == "True" for row in rows)
    page.says("within the band in {} of {} cases", str(within), str(len(rows)))
    assert {row["draws within"] for row in rows} == {"1.000"}
    page.given("40 default trees and 40 default rule lists", "mean of 40 draws")
