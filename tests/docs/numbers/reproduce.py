"""docs/reproduce.md: the level of the tests."""

from __future__ import annotations

from studies.pdr.compare import LEVEL
from tests.docs.page import Page, short

PAGE = "docs/reproduce.md"


def check(page: Page) -> None:
    page.says("at p < {}, two-sided", short(LEVEL, 2))
