"""Every claim of docs/privacy.md has a test that tries to break it; proofs are in docs/mathematics.md.

A sentence with *never*, *no*, *only* or *any* is a claim: a test is marked with words of it
(`@pytest.mark.claim`), or this test fails. So does a mark whose words are on no page, or a file here without a mark.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.claims import ROOT, marked_claims

PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
PROOFS = "".join((ROOT / "docs" / page).read_text("utf-8") for page in ("mathematics.md", "studies/mechanisms.md"))
CLAIM = re.compile(r"\b(never|no|only|any)\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.:!?])\s+(?=[A-Z`*(])|(?<=\.\*\*)\s+|(?<=\))\.\s+")
CLAIMS = marked_claims()


def text_of(page: str) -> str:
    """Return a page without its code."""
    return re.sub(r"```.*?```", "", page, flags=re.DOTALL)


def sentences(text: str) -> list[str]:
    """Return the sentences of paragraphs and lists, each on one line; tables and headings have none."""
    blocks = [block for block in re.split(r"\n\s*\n", text) if not block.lstrip().startswith(("|", "#"))]
    items = [" ".join(item.split()) for block in blocks for item in re.split(r"\n(?=- )", block)]
    return [sentence for item in items for sentence in SENTENCE.split(item)]


def uncovered(page: str, claims: list[str]) -> list[str]:
    result = [sentence for sentence in sentences(text_of(page)) if CLAIM.search(sentence)]
    return [sentence for sentence in result if not any(claim in sentence for claim in claims)]


def test_every_claim_of_the_page_has_a_test():
    assert uncovered(PAGE, list(CLAIMS)) == []


def test_a_claim_that_nobody_tests_is_found():
    page = PAGE.replace("## Known limits\n", "## Known limits\n\nA draw takes one bit.\nIt never\ntells two.\n")
    assert uncovered(page, list(CLAIMS)) == ["It never tells two."]
    assert len(uncovered(PAGE, [])) > 20


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_words_of_a_claim_are_on_a_page(claim):
    assert claim in " ".join(text_of(PAGE + PROOFS).split())


def test_every_file_of_this_suite_breaks_a_claim():
    named = {test.partition("::")[0] for tests in CLAIMS.values() for test in tests}
    here = {path.relative_to(ROOT).as_posix() for path in Path(__file__).parent.glob("test_*.py")}
    assert here - named == {"tests/adversarial/test_claims.py"}
