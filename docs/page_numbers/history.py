"""The index of the advisories by kind of fault, from the entries in docs/history."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from page_numbers.marks import ROOT, markdown, table

KINDS = {
    "loss": "a release cost more than its charge",
    "card": "a card or budget stated less than the spent amount, or a guarantee that did not hold",
    "after": "after a charge: a result was lost, or the error did not state that the charge stays",
    "leak": "rows had an effect without a charge: errors, warnings, refusals, logs, fitted steps",
    "units": "persons with several rows",
    "values": "rows or values were read differently than declared, or differently by another engine",
    "exports": "exported code predicted differently than the model",
    "drafts": "drafts of schemas, and advice on them",
    "hostile": "code, names and files of third parties",
    "bounds": "time or memory without a bound",
    "ledger": "the ledger of a service: charges made twice or not at all",
    "service": "the network, the container and the client of a service",
    "readers": "models of other tools were read incorrectly",
    "reports": "reports, audits and intervals claimed too much",
    "estimators": "parameters, defaults and searches",
    "pages": "numbers and sentences of pages and the paper",
}
_LINK = re.compile(r"\[(test_\w+)\]\(\.\./\.\./([\w/]+\.py)\)")


class Advisory(NamedTuple):
    """An entry: its number, the page that has it, its fields by name, and its tests as file and function."""

    number: int
    page: str
    fields: dict[str, str]

    @property
    def tests(self) -> list[tuple[str, str]]:
        """Return the file and the name of each test."""
        return [(file, name) for name, file in _LINK.findall(self.fields.get("Tests", ""))]


@cache
def advisories() -> tuple[Advisory, ...]:
    """Return all entries, in the order of the pages."""
    result = []
    pages = (ROOT / "docs" / "history").glob("advisories-*.md")
    for page in sorted(pages, key=lambda path: int(path.stem.split("-")[1])):
        for section in page.read_text("utf-8").split("\n## ")[1:]:
            number, _, text = section.partition("\n")
            fields = re.findall(r"^- \*\*([\w ]+):\*\*\s+(.*?)(?=\n- \*\*|\s*\Z)", text, re.MULTILINE | re.DOTALL)
            result.append(Advisory(int(number), page.name, {key: " ".join(value.split()) for key, value in fields}))
    return tuple(result)


@table
def advisories_by_kind() -> str:
    """Return the index: for each kind its entries, and the files with their tests."""
    return markdown(("kind of fault", "entries", "tests"), map(_row, KINDS), range(3))


def _row(kind: str) -> tuple[str, str, str]:
    entries = [entry for entry in advisories() if entry.fields["Kind"] == kind]
    files = sorted({file for entry in entries for file, _ in entry.tests})
    tests = (f"[{file.removeprefix('tests/').removesuffix('.py').replace('test_', '')}](../{file})" for file in files)
    return KINDS[kind], ", ".join(map(_reference, entries)), ", ".join(tests)


def _reference(entry: Advisory) -> str:
    link = f"[{entry.number}](history/{entry.page}#{entry.number})"
    return f"**{link}**" if entry.fields["Severity"] == "severe" else link
