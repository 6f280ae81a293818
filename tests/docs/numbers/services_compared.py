"""docs/services_compared.md: what others say of themselves, each with its source on the page."""

from __future__ import annotations

from tests.docs.page import Page

PAGE = "docs/services_compared.md"


def check(page: Page) -> None:
    page.given("November 2026,", "64-bit floats", "pull request 331", "from 0.10 on")
