"""docs/scorecards.md: the card written by hand and its totals, as printed, and the settings of the learner."""

import re
from inspect import signature

from hedgerow import PrivateScorecardClassifier
from hedgerow.audit import totals
from hedgerow.learn.scorecard.plan import CALIBRATION, CHOICE, ENOUGH_FOR_RESIDUALS, FIRST_SHARE, TOTALS
from hedgerow.learn.scorecard.smoothing import ACROSS
from tests.docs.numbers.benchmarks_several_classes import rows
from tests.docs.page import ROOT, Page, short

PAGE = "docs/scorecards.md"


def check(page: Page) -> None:
    text = (ROOT / page.name).read_text(encoding="utf-8")
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", text, re.DOTALL)[:2]
    made: dict = {}
    exec(code.partition("card.save")[0], made)
    assert printed == f"{made['card']}\n"
    counted = re.findall(r"```text\n(a row of .*?)```", text, re.DOTALL)
    assert counted == [f"{totals(made['card'])}\n"]
    page.row("1", "the rows of each class", str(TOTALS))
    page.says("furthest from the class shares | {}", str(CHOICE))
    page.says("got wrong and right by the lead of the largest total | {}", str(CALIBRATION))
    page.says("the rest; {} of it where step 4 follows", str(FIRST_SHARE))
    page.says("{} of the rest, shared equally", str(1 - FIRST_SHARE))
    page.says("step 4 follows where ε times the rows is at least {}", f"{ENOUGH_FOR_RESIDUALS:,}")
    of_ctg, of_adult = (
        short(float(rows()[table, epsilon, False]["accuracy, more"]), 3)
        for table, epsilon in (("ctg", 10.0), ("adult, relationship", 1.0))
    )
    page.says("CTG at ε = 10 gain {} of accuracy by it, Adult's six relationships at ε = 1 {}", of_ctg, of_adult)
    page.says(
        "the largest points of a bin: {} by default",
        str(signature(PrivateScorecardClassifier).parameters["points"].default),
    )
    page.says('"auto" being {}', f"{ACROSS:g}")
