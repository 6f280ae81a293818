"""docs/scorecards.md: the card that is written by hand, as it is printed, and the possible rows of its totals."""

import re

from hedgerow.audit import totals
from tests.docs.page import ROOT, Page

PAGE = "docs/scorecards.md"


def check(page: Page) -> None:
    text = (ROOT / page.name).read_text(encoding="utf-8")
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", text, re.DOTALL)[:2]
    made: dict = {}
    exec(code.partition("card.save")[0], made)
    assert printed == f"{made['card']}\n"
    counted = re.findall(r"```text\n(a row of .*?)```", text, re.DOTALL)
    assert counted == [f"{totals(made['card'])}\n"]
