"""docs/schemas.md: a date, by convention the first day."""

from __future__ import annotations

from tests.docs.page import Page

PAGE = "docs/schemas.md"


def check(page: Page) -> None:
    page.given("since 1970-01-01")
