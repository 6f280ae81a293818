"""The paper sets from the committed results, cites what it lists, and its table of statements names what is there."""

import re

import pytest

from tests.docs.page import ROOT

PAPER = ROOT / "paper" / "paper.typ"


def test_the_paper_sets(tmp_path):
    typst = pytest.importorskip("typst", reason="typst is not installed; make test installs it")
    typst.compile(str(PAPER), root=str(ROOT), output=str(tmp_path / "paper.pdf"))
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")


def test_each_reference_is_cited_and_there():
    listed = re.findall(r"^(\w+):$", (ROOT / "paper" / "references.yml").read_text(encoding="utf-8"), re.MULTILINE)
    labels = set(re.findall(r"<(\w+)>", text := PAPER.read_text(encoding="utf-8")))
    assert sorted(listed) == sorted(set(re.findall(r"@(\w+)", text)) - labels)


def test_files_of_the_statements_are_there():
    text = PAPER.read_text(encoding="utf-8")
    files = [name for call in re.findall(r"paths\(([^)]*)\)", text) for name in re.findall(r'"([^"]+)"', call)]
    assert len(files) > 15
    assert [name for name in files if not ((ROOT / name).exists() or (ROOT / "src/hedgerow" / name).exists())] == []
