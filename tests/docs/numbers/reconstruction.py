"""docs/reconstruction.md, from the file of benchmarks/worlds.py."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import comb, log2

from tests.docs.page import Page, figures, records, short

PAGE = "docs/reconstruction.md"


def check(page: Page) -> None:
    page.given(
        "(PDR eq. 2, 11 and 16)",
        # what a number means, by an example
        "0.94 means that 94 % of the entropy remains",
    )
    before, after = entropy_of_bags(8, 4), 2 * entropy_of_bags(4, 2)
    page.says("Dist_G is {}; {} remain", short(8 / 16, 3), short((8 + log2(comb(8, 4))) / 16, 3))
    page.says("and {} of the table without an order", short(after / before, 3))
    rows = {(row["attributes"], row["rules"]): row for row in records("benchmarks/results/worlds.csv")}
    median, slowest = float(rows["booleans", "200"]["in one go"]), float(rows["2 to 6 bins", "60"]["slowest"])
    page.says("200 random rules of three conditions over 40 booleans take {} s", figures(median, 1))
    page.says("60 on attributes of up to 6 values can take {} s", figures(slowest, 1))


def entropy_of_bags(n: int, values: int) -> float:
    """Return the entropy, in bits, of n values drawn uniformly, without their order."""
    counts = Counter(tuple(sorted(drawn)) for drawn in product(range(values), repeat=n))
    return sum(times / values**n * log2(values**n / times) for times in counts.values())
