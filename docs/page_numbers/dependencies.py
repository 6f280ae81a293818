"""Dependencies and their licences: docs/dependencies.md."""

from __future__ import annotations

from page_numbers.marks import markdown, records, table


@table
def dependencies() -> str:
    """Each package with its oldest supported version, its licence and its purpose."""
    rows = [
        (row["extra"] or "—", f"`{row['package']}`", f"`{row['requirement']}`", row["licence"], row["needed for"])
        for row in records("docs/dependencies.csv")
    ]
    return markdown(("extra", "package", "versions", "licence", "needed for"), rows, range(5))
