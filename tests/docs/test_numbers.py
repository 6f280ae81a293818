"""Every number in the docs is computed from a committed file, or said to be a setting or another's."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.docs.page import ROOT, Page

OUTSIDE = ("README.md", "benchmarks/README.md", "src/hedgerow/datasets/NOTICE.md")
HISTORY = ("docs/advisories.md",)  # what was claimed once, and each line's own proof
PAGES = sorted(
    str(path.relative_to(ROOT)) for path in (*(ROOT / page for page in OUTSIDE), *(ROOT / "docs").rglob("*.md"))
)
MODULES = [
    importlib.import_module(f"tests.docs.numbers.{path.stem}")
    for path in sorted((Path(__file__).parent / "numbers").glob("[a-z]*.py"))
]


def generated(name: str) -> bool:
    """Return whether a page was written by a study, beside the files that it is made of."""
    return Path(name).name in ("tables.md", "table-2.md")


@pytest.mark.parametrize("name", [name for name in PAGES if name not in HISTORY and not generated(name)])
def test_every_number_has_its_source(name):
    page = Page(name)
    for module in MODULES:
        if name == module.PAGE:
            module.check(page)
    assert page.uncovered() == []


def test_every_check_has_its_page():
    assert {module.PAGE for module in MODULES} <= set(PAGES)


def test_a_number_without_a_source_is_found(tmp_path):
    file = tmp_path / "page.md"
    file.write_text("# 14 headings\n\nAt .05 it takes 30 s, as Figure 4\nshows, `x = 15` and [16](17.md).\n", "utf-8")
    page = Page(str(file))
    assert len(page.uncovered()) == 3
    page.says("At {} it takes {} s", ".05", "30")
    assert [around for around in page.uncovered() if "[16]" in around] == page.uncovered() != []


def test_a_number_that_is_not_on_the_page_fails(tmp_path):
    file = tmp_path / "page.md"
    file.write_text("It takes 30 s.", "utf-8")
    with pytest.raises(AssertionError, match="does not say: It takes 31 s"):
        Page(str(file)).says("It takes {} s", "31")
