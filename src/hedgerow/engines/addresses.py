"""What an address names: a file in memory's reach, or a table that an engine reads."""

from __future__ import annotations

import re
from pathlib import Path

MEMORY = "4GB"
"""How much memory DuckDB may take, unless it is said."""
EXPECTED = (
    "expected data.parquet, data.csv, folder/*.parquet, a folder of Parquet files, duckdb:///file.duckdb::table or "
    "postgresql://user@host/database::schema.table"
)


def is_address(data: str) -> bool:
    """Return whether this names a table that an engine reads: anything but a single CSV file.

    Examples
    --------
    >>> is_address("patients.csv"), is_address("patients/*.csv"), is_address("duckdb:///clinic.duckdb::patients")
    (False, True, True)
    """
    if "::" in data or "://" in data or not data.lower().endswith(".csv"):
        return True
    return has_glob(data) and not Path(data).is_file()


def has_glob(path: str) -> bool:
    """Return whether a path can be a pattern of many; it is none where a file or folder of this very name exists."""
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
