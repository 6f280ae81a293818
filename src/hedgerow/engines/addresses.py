"""What an address names: a file in memory's reach, or a table that an engine reads."""

from __future__ import annotations

import re

MEMORY = "4GB"
"""How much memory DuckDB may take, unless it is said."""


def is_address(data: str) -> bool:
    """Return whether this names a table that an engine reads: anything but a single CSV file.

    Examples
    --------
    >>> is_address("patients.csv"), is_address("patients/*.csv"), is_address("duckdb:///clinic.duckdb::patients")
    (False, True, True)
    """
    return "::" in data or "://" in data or not data.lower().endswith(".csv") or has_glob(data)


def has_glob(path: str) -> bool:
    """Return whether a path is a pattern of many."""
    return re.search(r"[*?\[]", path) is not None


def shown(address: str) -> str:
    """Return an address as it may be printed: without a password.

    Examples
    --------
    >>> shown("postgresql://ann:secret@host/clinic::patients")
    'postgresql://ann:***@host/clinic::patients'
    """
    address = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", address)
    return re.sub(r"([?&]password=)[^&:]*", r"\1***", address)
