"""docs/dashboard.md, from the constants of the pages and the server."""

from __future__ import annotations

from hedgerow.service.pages.sessions import LIFETIME, new_name
from hedgerow.service.server import LOCAL
from tests.docs.page import Page

PAGE = "docs/dashboard.md"


def check(page: Page) -> None:
    page.says("a random name of {} bits", str(len(new_name()) * 6 // 8 * 8))  # six bits a character, in whole bytes
    assert LIFETIME == 8 * 60 * 60, "eight hours"
    page.says("listens on {}, and answers", LOCAL)
    page.says("under the name {} while", LOCAL)
