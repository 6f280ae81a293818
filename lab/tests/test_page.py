"""The page of the lab: its code runs, and its links lead to files."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "README.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_code_of_the_page_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    namespace = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), namespace)


def test_the_links_of_the_page_lead_to_files():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", TEXT):
        assert (PAGE.parent / target).exists(), target
