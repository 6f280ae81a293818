"""The numbers of the advisories, by which changelog and tests refer to them."""

import re

from tests.docs.page import ROOT


def test_numbers_are_unique_without_gaps_and_rise_within_each_section():
    sections = (ROOT / "docs" / "advisories.md").read_text("utf-8").split("\n## ")[1:]
    numbers = [[int(n) for n in re.findall(r"^\| \*\*(\d+)\*\* ", section, re.MULTILINE)] for section in sections]
    assert all(section == sorted(section) for section in numbers)
    together = sorted(number for section in numbers for number in section)
    assert together == list(range(1, len(together) + 1))
