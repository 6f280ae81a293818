"""docs/service.md: limits and statuses are those of the code."""

from __future__ import annotations

from hedgerow.service.approvals import MOST_PENDING
from hedgerow.service.connections import SECONDS
from hedgerow.service.forms import LARGEST_QUESTION, MOST_ENTRIES, PROBLEMS
from hedgerow.service.jobs import (
    FREE_SECONDS,
    MOST_AT_ONCE,
    MOST_FREE_AT_ONCE,
    MOST_OF_ONE,
    MOST_TURNS_WAITING,
    MOST_WAITING,
)
from hedgerow.service.questions import LARGEST_DIVISOR
from hedgerow.service.resources import MOST_CONNECTIONS, RESERVED
from tests.docs.page import Page, records

PAGE = "docs/service.md"


def check(page: Page) -> None:
    page.given("SHA-256", "RFC 9457")
    page.says("bounds questions ({} MiB, {} entries)", LARGEST_QUESTION // 2**20, f"{MOST_ENTRIES:,}")
    page.says("free requests ({} at once, {} seconds each)", MOST_FREE_AT_ONCE, f"{FREE_SECONDS:g}")
    page.says("of either, {} of", MOST_TURNS_WAITING)
    page.says("It takes {} connections", f"{MOST_CONNECTIONS:,}")
    page.says("beside {}", RESERVED)
    seconds = (f"{seconds:g}" for seconds in SECONDS.values())
    page.says("no header for {} seconds, no body for {}, or takes no answer for {} is", *seconds)
    page.says("a denominator of at most {} beside powers of 2 and 5", str(LARGEST_DIVISOR))
    page.says("({}, {} of one analyst)", MOST_WAITING, MOST_OF_ONE)
    page.says("At most {} of an analyst's questions wait", MOST_PENDING)
    page.says("answered at once ({})", MOST_AT_ONCE)
    rates = {
        row["ledger"]: f"{float(row['a second']):.0f}"
        for row in records("benchmarks/results/service.csv")
        if row["request"] == "answered question"
    }
    page.says("{} answered questions a second on SQLite, {} on PostgreSQL", rates["SQLite"], rates["PostgreSQL"])
    assert {401, 403, 409, 422, 424, 503} <= set(PROBLEMS)
    page.given("refused (422)", "told so (409)")
    for row in ("401, 403", "403", "422", "409", "424", "503"):
        page.given(f"| {row} |")
