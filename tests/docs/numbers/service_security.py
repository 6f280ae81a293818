"""docs/service_security.md: limits are those of the code."""

from __future__ import annotations

from hedgerow.client.answers import MOST_ROWS
from hedgerow.service.forms import LARGEST_QUESTION, MOST_ENTRIES
from tests.docs.page import Page

PAGE = "docs/service_security.md"


def check(page: Page) -> None:
    page.given("SHA-256")
    page.says(
        "no more than {} rows",
        f"2{str(MOST_ROWS.bit_length() - 1).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}",
    )
    page.says("within bounds ({} MiB, {} entries", LARGEST_QUESTION // 2**20, f"{MOST_ENTRIES:,}")
