"""docs/reference/command-line.md: the limit is that of the code."""

from __future__ import annotations

from hedgerow.tables.table_files import LARGEST
from tests.docs.page import Page

PAGE = "docs/reference/command-line.md"


def check(page: Page) -> None:
    page.says("at most {} GiB unpacked", str(LARGEST // 2**30))
