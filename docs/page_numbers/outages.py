"""Outages of a curator's service: docs/service.md."""

from __future__ import annotations

from page_numbers.marks import Row, markdown, number, records, table

_CHARGES = {"0": "not charged", "1": "charged once"}


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    status = {"none": "no answer"}.get(row["status"], row["status"])
    return f"{status}, {_CHARGES[row['charges']]}"


@table
def outage_matrix() -> str:
    """Each outage at each step: the status that the analyst receives, and the charge."""
    rows = records("outages.csv")
    orders = [[row["step"] for row in rows if row["how"] == how] for how in {row["how"] for row in rows}]
    steps = list(dict.fromkeys(max(orders, key=len)))  # an order that contains all steps
    cells = {(row["what fails"], row["how"], row["step"]): row for row in rows}
    outages = list(dict.fromkeys((row["what fails"], row["how"]) for row in rows))
    lines = [(f"{what}: {how}", *(_cell(cells.get((what, how, step))) for step in steps)) for what, how in outages]
    return markdown(("outage", *steps), lines, text=range(1 + len(steps)))


@number
def outages() -> str:
    """Return how many cases were run, and how many were answered after the outage, charged once."""
    rows = records("outages.csv")
    well = sum((row["then"], row["charges then"]) == ("200", "1") for row in rows)
    return f"{well} of {len(rows)} cases"
