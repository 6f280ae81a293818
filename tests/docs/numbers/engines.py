"""docs/engines.md, from the files of the benchmarks and the constants of the package."""

from __future__ import annotations

from hedgerow.engines.addresses import MEMORY
from hedgerow.engines.count import MOST_PATTERNS
from hedgerow.engines.lookups import FEW
from tests.docs.page import Page, figures, power, records

PAGE = "docs/engines.md"


def check(page: Page) -> None:
    page.given("decimals of more than 38 digits")
    page.given("Java 17", "[RFC 4180]", "days since 1970-01-01", "from year 1 to 9999", "off towards 1970")
    page.says("({} GB unless said) is what DuckDB may take", MEMORY.removesuffix("GB"))
    page.says("Above {} categories", str(FEW))
    page.says("More than {} million patterns", str(MOST_PATTERNS // 10**6))
    plain, quoted = (float(row["MB a second"]) for row in records("benchmarks/results/csv_check.csv"))
    page.says("({} MB a second, {} where every field is in quotes)", figures(plain), figures(quoted))
    fewest = records("benchmarks/results/engines.csv")[0]
    page.says(
        "At {} rows DuckDB takes {} times as long", power(fewest["rows"]), figures(float(fewest["tally / by hand"]))
    )
    seconds = float(fewest["tally s"]) - float(fewest["by hand s"])
    assert 0.05 < seconds < 0.15, "the tenth of a second in which the query is written and read"
