"""Conversion of sheets of Excel workbooks (.xlsx) to CSV in UTF-8, within limits on size.

No formula is computed and no link is followed. The stored value of a cell is converted to text: numbers with all
digits, ``true`` and ``false``, dates and times in ISO format, and errors as Excel shows them (``#N/A``). Of merged
cells, the first contains the value and the other cells are blank. The first row after skipped rows has the column
names.
"""

import csv
import datetime
import io
import re
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import DomainError, MissingPackageError
from hedgerow.tables.layout import BLOCK, header_line, read_with
from hedgerow.text.date_formats import EXCEL, EXCEL_1904
from hedgerow.text.messages import shown

SUFFIX = ".xlsx"
MOST_BYTES = 2**30  # the most bytes of a workbook's unpacked parts, and of a sheet as CSV
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14  # Excel's own limits on a sheet
MOST_CELLS = 10**8  # the most cells of a sheet, including blank cells between filled cells
_MOST_PARTS = 10_000
_BLOCK = 2**20
_ODD = re.compile(rb"<!DOCTYPE|<!ENTITY|\x00", re.IGNORECASE)
_FORMULA = re.compile(rb"<([^\s<>/:]+:)?f[\s/>]")
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")


def is_workbook(data: str) -> bool:
    """Return whether a name belongs to a workbook or one of its sheets, such as ``visits.xlsx::Sheet``."""
    return _split(data)[0].lower().endswith(SUFFIX)


def sheet_as_csv(data: str, skip_rows: int | None = None, skip_footer: int = 0) -> tuple[bytes, str]:
    """Return the named sheet, or the first sheet, as CSV in UTF-8, and the workbook's format of serial days.

    Each row of the sheet becomes a line. The header is below `skip_rows` rows, which are converted, too. The last
    `skip_footer` rows that are not empty are omitted.
    """
    path, name = _split(data)
    if find_spec("openpyxl") is None:
        raise MissingPackageError.of(f"{path}: reading .xlsx", "openpyxl", "excel")
    with Path(path).open("rb") as file:
        start = file.read(len(_OLE))
        if start == _OLE:
            locked = f"{path}: the workbook has a password, or the older .xls format"
            raise DomainError(f"{locked}; save it as .xlsx without a password.")
        invalid = DomainError(f"{path}: not an Excel workbook (.xlsx), or a damaged one.")
        result = guarded(lambda: _converted(file, path, name, skip_rows, skip_footer), invalid)
    if isinstance(result, DomainError):
        raise result
    return result


def _converted(
    file: Any, path: str, name: str | None, skip_rows: int | None, skip_footer: int
) -> tuple[bytes, str] | DomainError:
    """Return the sheet as CSV and the date system, or hedgerow's own error, which the guard would drop if raised."""
    from openpyxl.utils.datetime import MAC_EPOCH  # optional, and slow to import

    try:
        has_formulas = _scan(file, path)
        sheet = _sheet(file, name, path, values=True)
        written = _sheet(file, name, path, values=False) if has_formulas else None
        system = EXCEL_1904 if sheet.parent.epoch == MAC_EPOCH else EXCEL
        rows = _without_footer(_rows(sheet, written), skip_footer)
        return _csv(rows, path, skip_rows or 0), system
    except DomainError as error:
        problem = str(error)
    return DomainError(problem)


def _split(data: str) -> tuple[str, str | None]:
    path, colons, name = data.rpartition("::")
    return (path, name) if colons and path.lower().endswith(SUFFIX) else (data, None)


def _scan(file: Any, path: str) -> bool:
    """Check the size and XML of a workbook's parts, and return whether any part may contain a formula."""
    has_formulas = False
    with zipfile.ZipFile(file) as parts:
        entries = parts.infolist()
        if len(entries) > _MOST_PARTS or sum(part.file_size for part in entries) > MOST_BYTES:
            problem = f"{path}: a workbook can have at most {MOST_BYTES:,} bytes unpacked and {_MOST_PARTS:,} parts"
            raise DomainError(f"{problem}; save the sheet as CSV in UTF-8.")
        for part in entries:
            if not part.filename.lower().endswith((".xml", ".rels")):
                continue
            tail = b""
            with parts.open(part) as content:
                while block := content.read(_BLOCK):
                    if _ODD.search(tail + block):
                        raise DomainError(
                            f"{path}: the XML of the workbook has a DOCTYPE, an entity or a NUL character."
                        )
                    has_formulas = has_formulas or _FORMULA.search(tail + block) is not None
                    tail = block[-64:]
    return has_formulas


def _sheet(file: Any, name: str | None, path: str, *, values: bool) -> Any:
    import openpyxl  # optional, and slow to import

    book = openpyxl.load_workbook(file, read_only=True, data_only=values, keep_links=False)
    names = [sheet.title for sheet in book.worksheets]
    if not names:
        raise DomainError(f"{path}: the workbook has no sheet with cells.")
    if name is not None and name not in names:
        raise DomainError(f"{path}: the workbook has no sheet {shown(name)}; its sheets are {shown(names)}.")
    sheet: Any = book[names[0] if name is None else name]
    sheet.reset_dimensions()  # the dimensions that the file states may be wrong
    return sheet


def _rows(sheet: Any, written: Any) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Yield the values of each row, and whether a formula in it lacks its value (empty text is a value).

    `written` is the same sheet with formulas instead of values, or None if it has no formulas.
    """
    if written is None:
        yield from ((row, False) for row in sheet.iter_rows(values_only=True))
        return
    for cells, formulas in zip(sheet.iter_rows(), written.iter_rows(), strict=True):
        pairs = zip(cells, formulas, strict=True)
        lacks = any(cell.value is None and cell.data_type != "str" and code.data_type == "f" for cell, code in pairs)
        yield tuple(cell.value for cell in cells), lacks


_SheetRow = tuple[tuple[Any, ...], bool]


def _without_footer(rows: Iterable[_SheetRow], n_rows: int) -> Iterator[_SheetRow]:
    """Yield all rows except the last `n_rows` that are not empty; empty rows among and after these are omitted, too."""
    pending, n_filled = deque[_SheetRow](), 0
    for row in rows:
        pending.append(row)
        n_filled += _is_filled(row)
        while pending and n_filled - _is_filled(pending[0]) >= n_rows:
            n_filled -= _is_filled(pending[0])
            yield pending.popleft()


def _is_filled(row: _SheetRow) -> bool:
    return row[1] or any(value not in (None, "") for value in row[0])


def _advice_on_header(written: str, rows: Iterable[_SheetRow]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_text(value) for value in row] for row, _ in islice(rows, 10))
    above = header_line((written + out.getvalue()).encode()[:BLOCK], ",")
    return f" Row {above + 1} looks like the header: {read_with('skip_rows', above)}." if above else ""


def _csv(rows: Iterator[_SheetRow], path: str, skip_rows: int) -> bytes:
    out, width, n_cells = io.StringIO(), 0, 0
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for place, (row, lacks_values) in enumerate(rows, start=1):
        if lacks_values and place > skip_rows:
            problem = f"{path}: row {place} has a formula without a stored value"
            raise DomainError(f"{problem}; open the workbook in a spreadsheet program and save it.")
        n_cells += max(len(row), 1)
        cells = [_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if place == skip_rows + 1:
            cells, width = [" ".join(cell.split()) for cell in cells], len(cells)
        if len(cells) > width and place > skip_rows:
            problem = f"{path}: row {place} is longer than row {skip_rows + 1}, which has the column names."
            writer.writerow(cells)
            raise DomainError(f"{problem}{_advice_on_header(out.getvalue(), rows)}")
        if place > MOST_ROWS or width > MOST_COLUMNS or n_cells > MOST_CELLS or out.tell() > MOST_BYTES:
            raise DomainError(f"{path}: the sheet exceeds Excel's limits; save it as CSV in UTF-8.")
        if cells:
            writer.writerow([*cells, *[""] * (width - len(cells))])
        else:  # an empty line is not a row
            out.write("\n")
    return out.getvalue().encode()


def _text(value: Any) -> str:
    """Return the value of a cell as CSV text; line breaks, which would count as lines, become spaces."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return " ".join(str(value).splitlines()) if isinstance(value, str) else str(value)
