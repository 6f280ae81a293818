"""The service: docs/service.md."""

from __future__ import annotations

from page_numbers.marks import markdown, records, table


@table
def long_ledgers() -> str:
    """Return the seconds and the memory of a long ledger's pages and of its verification, on each database."""
    results = records("ledger.csv")
    ledgers = sorted({(row["ledger"], int(row["entries"])) for row in results}, reverse=True)
    values = {(row["ledger"], row["what"]): f"{float(row['value']):.2f} {row['unit']}" for row in results}
    operations = dict.fromkeys(row["what"] for row in results)
    rows = [(what, *(values[name, what] for name, _ in ledgers)) for what in operations]
    return markdown(("operation", *(f"{name}, {entries:,} entries" for name, entries in ledgers)), rows)
