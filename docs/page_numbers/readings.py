"""Printed models of docs/reading.md, which `python docs/readings.py` learns anew."""

from __future__ import annotations

import hedgerow as hr
from page_numbers.marks import ROOT, table

FOLDER = ROOT / "docs" / "readings"


def _printed(name: str) -> str:
    model = hr.load_model(FOLDER / f"{name}.json")
    return f"```text\n{model.size}\n\n{model}\n```"


@table
def reading_tree() -> str:
    """Return the tree with released counts."""
    return _printed("tree")


@table
def reading_scorecard() -> str:
    """Return the scorecard."""
    return _printed("scorecard")


@table
def reading_days() -> str:
    """Return the tree that predicts a number."""
    return _printed("days")
