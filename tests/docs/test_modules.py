"""Files of the code that a page names are there: the plan of the house must not lead to rooms that have moved."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.page import ROOT

PAGES = (
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/mathematics.md",
    "docs/privacy.md",
    "docs/exact.md",
    "docs/marginals.md",
)
ROOMS = (ROOT, ROOT / "src", ROOT / "src" / "hedgerow", ROOT / "tests" / "engines")


def missing(text: str) -> list[str]:
    """Return the paths in backticks, of files or folders, that are nowhere; capitals stand for names to be chosen."""
    paths = re.findall(r"`((?:[\w.]+/)+(?:\w+\.(?:py|csv|yml))?|\w+\.py)`", text)
    chosen = [path for path in paths if not re.search(r"NAME|FOLDER|/x\.py|test_x\.py", path)]
    folders = {path.parent for path in (ROOT / "src" / "hedgerow").rglob("*.py")}
    return [path for path in chosen if not any((Path(room) / path).exists() for room in (*ROOMS, *folders))]


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_is_there(page):
    assert missing((ROOT / page).read_text(encoding="utf-8")) == []


def test_a_file_that_is_not_there_is_found():
    assert missing("`privacy/gate.py`, `learn/search/`, `privacy/door.py` and `attic/`") == [
        "privacy/door.py",
        "attic/",
    ]


def missing_tests(text: str) -> list[str]:
    """Return the tests, named by file and function, that are nowhere."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    return [f"{path}::{name}" for path, name in named if name not in functions(path)]


def functions(path: str) -> set[str]:
    """Return the names of the functions of a file; none if there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text("utf-8") if file.exists() else "")
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_a_page_names_is_there(page):
    assert missing_tests((ROOT / page).read_text(encoding="utf-8")) == []


def test_a_test_that_is_not_there_is_found():
    here = "tests/docs/test_modules.py"
    named = f"`{here}::test_a_test_that_is_not_there_is_found` `{here}::test_of_nothing` `tests/attic.py::test_x`"
    assert missing_tests(named) == [f"{here}::test_of_nothing", "tests/attic.py::test_x"]


def test_the_tour_names_files_and_the_invariants_have_tests():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tour, invariants = page[page.index("## A tour") : page.index("## Invariants")], page[page.index("## Invariants") :]
    assert len(re.findall(r"`[\w/]+\.py`", tour)) > 40
    rows = [line for line in invariants.partition("\n## Ten")[0].splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 10
    assert all("::test_" in row for row in rows)
