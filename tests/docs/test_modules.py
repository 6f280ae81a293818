"""Files of the code that a page names are there: the plan of the house must not lead to rooms that have moved."""

from __future__ import annotations

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
