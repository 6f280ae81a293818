"""Every claim of docs/privacy.md has a test that tries to break it, and every test here has a claim.

The page lists both sides in a table. A sentence with *never*, *no*, *only* or *any* is a claim: it is in the table, or
this test fails. So does a row whose words are no longer on the page, or whose test is gone.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
HEAD = "## Claims, and the tests that try to break them"
CLAIM = re.compile(r"\b(never|no|only|any)\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.:!?])\s+(?=[A-Z`*(])|(?<=\.\*\*)\s+|(?<=\))\.\s+")


def outside(page: str) -> str:
    """Return a page without its code and without the section of the table."""
    before, _, after = page.partition(HEAD)
    return re.sub(r"```.*?```", "", before + after[after.index("\n## ") :], flags=re.DOTALL)


def sentences(text: str) -> list[str]:
    """Return the sentences of paragraphs and lists, each on one line; tables and headings have none."""
    blocks = [block for block in re.split(r"\n\s*\n", text) if not block.lstrip().startswith(("|", "#"))]
    items = [" ".join(item.split()) for block in blocks for item in re.split(r"\n(?=- )", block)]
    return [sentence for item in items for sentence in SENTENCE.split(item)]


def table(page: str) -> dict[str, list[str]]:
    """Return the tests of each claim."""
    rows = [line.split(" | ") for line in page.partition(HEAD)[2].partition("\n## ")[0].splitlines()]
    return {row[0].removeprefix("| "): re.findall(r"`([^`]+)`", row[1]) for row in rows[2:] if "::" in row[-1]}


@cache
def functions(path: Path) -> frozenset[str]:
    return frozenset(node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if hasattr(node, "name"))


CLAIMS = table(PAGE)


def uncovered(page: str, claims: list[str]) -> list[str]:
    found = [sentence for sentence in sentences(outside(page)) if CLAIM.search(sentence)]
    return [sentence for sentence in found if not any(claim in sentence for claim in claims)]


def test_every_claim_of_the_page_is_in_the_table():
    assert uncovered(PAGE, list(CLAIMS)) == []


def test_a_claim_that_nobody_tests_is_found():
    page = PAGE.replace("## Known limits\n", "## Known limits\n\nA draw takes one bit.\nIt never\ntells two.\n")
    assert uncovered(page, list(CLAIMS)) == ["It never tells two."]
    assert len(uncovered(PAGE, [])) > 20


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_words_of_a_claim_are_on_the_page_and_its_tests_exist(claim):
    assert claim in " ".join(outside(PAGE).split())
    assert CLAIMS[claim]
    for test in CLAIMS[claim]:
        path, _, name = test.partition("::")
        assert name.startswith("test_")
        assert name in functions(ROOT / path), test


def test_every_file_of_this_suite_breaks_a_claim_of_the_table():
    named = {test.partition("::")[0] for tests in CLAIMS.values() for test in tests}
    here = {path.relative_to(ROOT).as_posix() for path in Path(__file__).parent.glob("test_*.py")}
    assert here - named == {"tests/adversarial/test_claims.py"}
