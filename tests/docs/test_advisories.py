"""Entries of docs/history: their numbers, by which changelog and tests refer to them, and the tests that they name."""

from __future__ import annotations

import ast

import pytest

from tests.docs.page import ROOT, writer

history = writer.page_numbers.history
ENTRIES = history.advisories()
REQUIRED = {"Kind", "Severity", "Claim", "In fact", "Since", "Mended", "Tests"}


def test_numbers_are_unique_without_gaps_and_in_order():
    assert [entry.number for entry in ENTRIES] == list(range(1, len(ENTRIES) + 1))
    assert len(ENTRIES) > 190


def test_an_entry_is_on_the_page_that_names_its_number():
    for entry in ENTRIES:
        first, last = map(int, entry.page.removesuffix(".md").split("-")[1:])
        assert first <= entry.number <= last


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry.number))
def test_an_entry_has_every_field(entry):
    assert set(entry.fields) - {"Affected"} == REQUIRED
    assert entry.fields["Kind"] in history.KINDS
    assert entry.fields["Severity"] in {"severe", "moderate", "minor"}
    assert entry.tests


def test_every_test_that_an_entry_names_is_there():
    tests = {test for entry in ENTRIES for test in entry.tests}
    there = {(file, name) for file in {file for file, _ in tests} for name in _functions(file)}
    assert tests - there == set()


def _functions(file: str) -> list[str]:
    """Return the names of the functions of a file; none if there is no such file."""
    path = ROOT / file
    tree = ast.parse(path.read_text("utf-8") if path.exists() else "")
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
