"""Addresses of tables: which engine reads them, and how they are printed without passwords."""

from __future__ import annotations

import re
from pathlib import Path

from hedgerow.tables.spreadsheets import is_workbook
from hedgerow.tables.table_files import is_text

MEMORY = "4GB"  # the default memory limit of DuckDB
EXPECTED = (
    "expected data.parquet, data.csv (without an engine also one file of .tsv or .txt, .gz of these, .xlsx, or - for "
    "standard input), folder/*.parquet, a folder of Parquet files, duckdb:///file.duckdb::table or "
    "postgresql://user@host/database::schema.table"
)
_HARMLESS = re.compile(r"sslmode=(disable|allow|prefer|require|verify-ca|verify-full)")
_KEYS = ("user", "password", "passfile", "sslpassword", "sslmode", "sslkey", "sslcert", "sslrootcert", "options")
_SERVER = re.compile(
    r"""(?P<scheme>[a-z][a-z0-9+.-]*)://
    ((?P<user>[\w.+-]*)(?P<password>:[^?\#]*)?@)?
    (?P<host>[\w.,-]*|\[[0-9a-f:]*\])(?P<port>:[0-9]+)?
    (?P<path>/[^@:?&=\#]*)?
    (\?(?P<query>[^@:\#]*))?
    (?P<table>::[^@:?&=/]*)?""",
    re.VERBOSE | re.IGNORECASE,
)
_SECRET = re.compile(r"(pass|pwd|token|secret|key|credential)\w*\s*=|:[^@]*@", re.IGNORECASE)


def is_address(data: str) -> bool:
    """Return whether this is the address of a table that an engine reads: anything but a single file of text."""
    if is_workbook(data):
        return False
    if "::" in data or "://" in data or not is_text(data):
        return True
    return has_glob(data) and not Path(data).is_file()


def has_glob(path: str) -> bool:
    return re.search(r"[*?\[]", path) is not None


def shown(address: str) -> str:
    """Return an address for printing: of a server's, only what cannot hold a password."""
    if "://" not in address:
        found = _SECRET.search(address)
        return address if found is None else f"{address[: found.start()]}***"
    scheme, _, rest = address.partition("://")
    if scheme == "duckdb" and rest.startswith("/"):  # a path; text after a question mark is not part of it
        path, mark, _ = address.partition("?")
        return f"{path}?***" if mark else path
    found = _SERVER.fullmatch(address)
    if found is None:
        return f"{scheme}://***" if re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme, re.IGNORECASE) else "***"
    user, query = found["user"], found["query"]
    person = "" if user is None else f"{user}:***@" if found["password"] else f"{user}@"
    asked = "" if query is None else "?" + "&".join(map(_shown_option, query.split("&")))
    place = "".join(found[part] or "" for part in ("host", "port", "path"))
    return f"{found['scheme']}://{person}{place}{asked}{found['table'] or ''}"


def _shown_option(option: str) -> str:
    if _HARMLESS.fullmatch(option):
        return option
    key = option.partition("=")[0]
    return f"{key}=***" if key in _KEYS else "***"
