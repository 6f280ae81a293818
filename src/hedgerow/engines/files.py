"""Addresses of tables, printed without passwords, and the list of files that an address names."""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote

from hedgerow.errors import ArgumentError, DomainError, FileError, MissingFileError
from hedgerow.tables.csv_files import Header, check_rows, read_header, starts_with_mark
from hedgerow.tables.csv_grammar import InQuotes
from hedgerow.tables.spreadsheets import is_workbook
from hedgerow.tables.table_files import DEFAULT_FORMAT, TextFormat, is_text

MEMORY = "4GB"  # the default memory limit of DuckDB
EXPECTED = (
    "not the address of a table; expected data.parquet, data.csv (without an engine also a .tsv, .txt, .xlsx, .sav, "
    ".dta or .sas7bdat file, text compressed as .gz, or - for standard input), folder/*.parquet, a folder of Parquet "
    "files, duckdb:///file.duckdb::table or postgresql://user@host/database::schema.table"
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
_PASSWORD = re.compile(r"(password|passwd|pwd|secret)\w*\s*=|:[^@]*@", re.IGNORECASE)
_NULL = "__HIVE_DEFAULT_PARTITION__"
_SUFFIXES = (".parquet", ".csv")


def is_address(data: str) -> bool:
    """Return whether an engine reads the address, since it is not a single file that is read as text."""
    if is_workbook(data):
        return False
    if "::" in data or "://" in data or not is_text(data):
        return True
    return has_glob(data) and not Path(data).is_file()


def has_glob(path: str) -> bool:
    return re.search(r"[*?\[]", path) is not None


def shown(address: str) -> str:
    """Return an address for printing; of a server's address, only parts that cannot contain a password."""
    if "://" not in address:
        secret = _SECRET.search(address)
        return address if secret is None else f"{address[: secret.start()]}***"
    scheme, _, rest = address.partition("://")
    if scheme == "duckdb" and rest.startswith("/"):  # a path; text after a question mark is not part of it
        path, mark, _ = address.partition("?")
        return f"{path}?***" if mark else path
    match = _SERVER.fullmatch(address)
    if match is None:
        return f"{scheme}://***" if re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme, re.IGNORECASE) else "***"
    user, query = match["user"], match["query"]
    person = "" if user is None else f"{user}:***@" if match["password"] else f"{user}@"
    options = "" if query is None else "?" + "&".join(map(_shown_option, query.split("&")))
    place = "".join(match[part] or "" for part in ("host", "port", "path"))
    return f"{match['scheme']}://{person}{place}{options}{match['table'] or ''}"


def has_password(address: str) -> bool:
    """Return whether an address contains a password, or text that may be a password."""
    return _PASSWORD.search(address.partition("://")[2] or address) is not None


def _shown_option(option: str) -> str:
    if _HARMLESS.fullmatch(option):
        return option
    key = option.partition("=")[0]
    return f"{key}=***" if key in _KEYS else "***"


@dataclass(frozen=True)
class CsvForm:
    """Common format of the CSV files of a table."""

    header: Header
    in_quotes: InQuotes  # characters within quoted fields of any of the files


@dataclass(frozen=True)
class Files:
    """The files of a table: CSV if `csv` is set, else Parquet."""

    paths: tuple[str, ...]  # absolute paths without links, hidden files and duplicates
    keys: tuple[str, ...]  # columns that folders such as ``year=2024`` define
    # The text of each key for each file; None for Hive's mark for NULL
    values: tuple[tuple[str | None, ...], ...]
    csv: CsvForm | None  # the format of CSV files


def list_files(address: str, text_format: TextFormat = DEFAULT_FORMAT) -> Files:
    """Return the files that an address names: a file of this name, else a folder of Parquet files, else a pattern.

    CSV files are read once to check their grammar; `text_format` has their delimiter and lines above headers. Folders
    named ``key=value``, below the named folder or from the first wildcard on, become text columns. Names that begin
    with a dot are ignored, and names with an underscore unless they are keys, since aborted jobs leave rows there.
    """
    root, named = _named_files(address)
    files = sorted(set(named))
    keys, values = _partitions(root, files)
    is_csv = files[0].suffix.lower() == ".csv"
    if not (text_format.is_usual or is_csv):
        raise ArgumentError(f"{shown(address)}: delimiter and skip_rows are supported for CSV files only; remove them.")
    form = _csv_form(files, keys, text_format) if is_csv else None
    return Files(_real_paths(files), keys, values, form)


def check_readable(address: str) -> None:
    """Check that the files of an address exist and may be read, without opening them; FileError if not."""
    for path in _named_files(address)[1]:
        if not os.access(path, os.R_OK):
            raise FileError.of(errno.EACCES, os.strerror(errno.EACCES), _shown_path(path))


def _named_files(address: str) -> tuple[Path, list[Path]]:
    """Return the files that an address names, and the folder below which ``key=value`` folders count."""
    path = Path(address)
    if path.is_file():
        root, paths = path.parent, [path]
    elif path.is_dir():
        root, paths = path, [file for file in _matching_paths(path, ("**", "*")) if file.suffix.lower() == ".parquet"]
        if not paths:
            raise ArgumentError(f"{shown(address)}: the folder contains no Parquet files.")
    else:
        wild = next((i for i, part in enumerate(path.parts) if has_glob(part)), len(path.parts))
        root = Path(*path.parts[:wild])
        paths = list(_matching_paths(root, path.parts[wild:])) if path.parts[wild:] and root.is_dir() else []
    kind = Path(address).suffix.lower() if not path.is_dir() else ".parquet"
    if kind not in _SUFFIXES:
        raise ArgumentError(f"{shown(address)}: {EXPECTED}.")
    if not paths:
        raise MissingFileError(errno.ENOENT, os.strerror(errno.ENOENT), shown(address))
    return root, paths


def check_names(columns: Sequence[str], keys: Sequence[str]) -> None:
    """Check that the columns of the files and the keys of the folders differ, regardless of letter case."""
    folded = [name.lower() for name in (*columns, *keys)]
    for name in (*columns, *keys):
        if folded.count(name.lower()) > 1:
            problem = "this name occurs more than once among the columns and the keys of folders, regardless of case"
            raise DomainError(f"{problem}; rename a column or a folder.", column=name)


def _matching_paths(folder: Path, pattern: Sequence[str]) -> Iterator[Path]:
    """Yield the files below a folder that match a pattern, part by part; ``**`` stands for any number of folders."""
    first, rest = pattern[0], pattern[1:]
    if first == "**" and rest:
        yield from _matching_paths(folder, rest)
    for name in _names(folder):
        path = folder / name
        if first == "**":
            if path.is_dir() and path.is_symlink():
                raise DomainError(f"{_shown_path(path)}: expected files and folders, found a link to a folder.")
            if path.is_dir():
                yield from _matching_paths(path, pattern)
        elif fnmatchcase(name, first) and rest and path.is_dir():
            yield from _matching_paths(path, rest)
        elif fnmatchcase(name, first) and not rest and path.is_file():
            yield path


def _names(folder: Path) -> list[str]:
    reason = 0
    try:
        names = os.listdir(folder)
    except OSError as error:  # the error's text names the folder, including values of partitions
        names, reason = [], error.errno or errno.EIO
    if reason:
        raise FileError.of(reason, os.strerror(reason), _shown_path(folder))
    return [name for name in names if not name.startswith(".") and not (name.startswith("_") and "=" not in name)]


def _partitions(root: Path, files: Sequence[Path]) -> tuple[tuple[str, ...], tuple[tuple[str | None, ...], ...]]:
    values_by_file = [_partition_values(file.relative_to(root).parts[:-1], file) for file in files]
    keys = tuple(key for key, _ in values_by_file[0])
    for file, pairs in zip(files, values_by_file, strict=True):
        if tuple(key for key, _ in pairs) != keys:
            problem = f"{_shown_path(file)}: its folders must have the same keys as the folders of"
            raise DomainError(f"{problem} {_shown_path(files[0])}.")
    check_names((), keys)
    return keys, tuple(tuple(value for _, value in pairs) for pairs in values_by_file)


def _partition_values(folders: Sequence[str], file: Path) -> list[tuple[str, str | None]]:
    parts = [folder.partition("=") for folder in folders]
    try:
        pairs = [(unquote(key, errors="strict"), unquote(value, errors="strict")) for key, sign, value in parts if sign]
        "".join(key + value for key, value in pairs).encode()
    except UnicodeError:  # the error's text contains the name
        pairs = []
    if len(pairs) < sum(bool(sign) for _, sign, _ in parts) or not all(key for key, _ in pairs):
        raise DomainError(f"{_shown_path(file)}: the names of its folders must have the form key=value in UTF-8.")
    return [(key, None if value == _NULL else value) for key, value in pairs]


def _real_paths(files: Sequence[Path]) -> tuple[str, ...]:
    """Return the real paths of files; DomainError for a file with two names, whose rows would count twice."""
    paths = tuple(os.path.realpath(file) for file in files)
    seen: set[tuple[int, int]] = set()
    for file, path in zip(files, paths, strict=True):
        if "\\" in path and has_glob(path):  # no pattern of DuckDB matches only this name
            problem = "names that contain a backslash and also * ? or [ are not supported; rename the file"
            raise DomainError(f"{_shown_path(file)}: {problem}.")
        status = os.stat(path)
        if (status.st_dev, status.st_ino) in seen:
            raise DomainError(f"{_shown_path(file)}: the same file is also listed under another name; remove a link.")
        seen.add((status.st_dev, status.st_ino))
    return paths


def _csv_form(files: Sequence[Path], keys: Sequence[str], text_format: TextFormat) -> CsvForm:
    """Return the format of CSV files, after checking that all have the same header and a valid grammar."""
    delimiter, skip_rows = text_format.delimiter, text_format.skip_rows
    header = read_header(files[0], delimiter, skip_rows=skip_rows, shown=_shown_path(files[0]))
    in_quotes = InQuotes(breaks=False, returns=False)
    for file in files:
        name = _shown_path(file)
        own = read_header(file, delimiter, skip_rows=skip_rows, shown=name)
        if replace(own, has_rows=header.has_rows) != header:
            problem = f"{name}: the header must be the same as in {_shown_path(files[0])}, in the same order"
            raise DomainError(f"{problem}.")
        if starts_with_mark(file) and header.delimiter in header.names[0]:
            # DuckDB does not recognise a quote after the mark.
            problem = f"{name}: a byte order mark before a quoted column name is not supported"
            raise DomainError(f"{problem}; save the file without the mark.")
        here = check_rows(file, header, shown=name)
        _check_quotes_above(file, header, name)
        in_quotes = InQuotes(in_quotes.breaks or here.breaks, in_quotes.returns or here.returns)
    check_names(header.names, keys)
    return CsvForm(header, in_quotes)


def _check_quotes_above(path: Path, header: Header, name: str) -> None:
    """Check the quotes in lines above the header; DuckDB would read unpaired quotes as a field with a line break."""
    delimiter = re.escape(header.delimiter)
    fields = rf'("([^"]|"")*"|[^"{delimiter}]*)'
    with path.open("rb") as file:
        for place in range(1, header.lines):
            line = file.readline().decode("utf-8-sig", "replace").rstrip("\r\n")
            if not re.fullmatch(f"{fields}({delimiter}{fields})*", line):
                problem = f"{name}: line {place}, above the header, has a quote inside a field"
                raise DomainError(f"{problem}; correct the line, or read the file without an engine.")


def _shown_path(path: Path) -> str:
    """Return a path without the values of its partitions, which are cells."""
    return shown(str(Path(*(f"{part.partition('=')[0]}=***" if "=" in part else part for part in path.parts))))
