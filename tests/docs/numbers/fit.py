"""docs/fit.md, from the default grid."""

from __future__ import annotations

from hedgerow.schema import Integer, Real
from hedgerow.schema.grid import MOST_WIDTHS
from tests.docs.page import ROOT, Page

PAGE = "docs/fit.md"


def check(page: Page) -> None:
    page.says("at most {} equal widths", str(MOST_WIDTHS))
    code = (ROOT / PAGE).read_text(encoding="utf-8")
    for bounds, cuts in (("Integer(0, 120)", Integer(0, 120).cuts), ("Real(36, 42)", Real(36, 42).cuts)):
        assert f"print(hr.{bounds}.cuts) # {cuts}" in " ".join(code.split())
