"""Conversion of data files of SPSS, Stata and SAS, read by pyreadstat, to CSV in UTF-8 in memory.

Codes are replaced by their value labels; codes that the file declares as missing become blank. The kind of a variable
depends on the dictionary of the file and not on any row.
"""

import csv
import datetime
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import DomainError, MissingPackageError
from hedgerow.text.messages import repeated
from hedgerow.text.values import listed

_READERS = {
    ".sav": ("read_sav", "an SPSS"),
    ".zsav": ("read_sav", "an SPSS"),
    ".por": ("read_por", "a portable SPSS"),
    ".dta": ("read_dta", "a Stata"),
    ".sas7bdat": ("read_sas7bdat", "a SAS"),
    ".xpt": ("read_xport", "a SAS transport"),
}
SUFFIXES = tuple(_READERS)
MOST_BYTES = 2**30  # the most bytes of a file, and of its rows as CSV
_DAYS = re.compile(
    r"%-?t?d.*|([AEJS]?DATE|WEEKDAT[EX]|WORDDAT[EX]|NLDATE|(MMDDYY|DDMMYY|YYMMDD)[BCDNPS]?|(B|E|IS)8601DA)[0-9.]*",
    re.IGNORECASE,
)
_TIMES = re.compile(r"%-?tc.*|(DATETIME|YMDHMS|DATEAMPM|MDYAMPM|DTDATE|NLDATM|(B|E|IS)8601D[NT])[0-9.]*", re.IGNORECASE)
_WHOLE = re.compile(r"[FN]?[0-9]+(\.0)?|int(8|16|32)", re.IGNORECASE)
_SPSS_START, _START = datetime.datetime(1582, 10, 14), datetime.datetime(1960, 1, 1)

Kind = Literal["text", "date", "time", "integer", "real"]


@dataclass(frozen=True)
class Variable:
    """A variable as described in the dictionary of its file.

    `labels` has the text of each code of a categorical variable, in the order of the codes, and is None for other
    variables. `bounds` are the smallest and the largest labelled code of a scale on which only some codes have labels.
    `clock` has the epoch of a date's numbers and the length of their unit in microseconds.
    """

    name: str
    kind: Kind
    description: str | None = None
    labels: Mapping[Any, str] | None = None
    is_ordered: bool = False
    bounds: tuple[float, float] | None = None
    clock: tuple[datetime.datetime, int] | None = None

    @cached_property
    def _label_texts(self) -> frozenset[str]:
        return frozenset((self.labels or {}).values())

    def text(self, value: Any) -> str:
        """Return a value as CSV text; missing values are blank."""
        if value is None or value != value:  # NaN
            return ""
        if self.labels and value in self.labels:
            return self.labels[value]
        if self.clock is not None:
            return _moment_text(value, *self.clock, has_time=self.kind == "time")
        text = _plain(value)
        if text in self._label_texts:  # the label of another code has the same text
            return f"{text} (no label)"
        return text


def is_statistical(data: str) -> bool:
    """Return whether a name belongs to a data file of SPSS, Stata or SAS."""
    return data.lower().endswith(SUFFIXES)


def variables_of(path: str) -> tuple[Variable, ...]:
    """Return the variables in the dictionary of a file; no row is read."""
    _, meta = _read(path, metadataonly=True, user_missing=True)
    return _variables(meta, Path(path).suffix.lower())


def statistical_as_csv(path: str) -> bytes:
    """Return the rows of a file as CSV in UTF-8."""
    variables = variables_of(path)
    columns, _ = _read(path, output_format="dict", disable_datetime_conversion=True)
    rows = zip(*(columns[variable.name] for variable in variables), strict=True) if columns else ()
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([variable.name for variable in variables])
    for row in rows:
        writer.writerow([variable.text(value) for variable, value in zip(variables, row, strict=True)])
        if out.tell() > MOST_BYTES:
            problem = f"{path}: the rows of a data file can have at most {MOST_BYTES:,} bytes as CSV"
            raise DomainError(f"{problem}; save the file as Parquet.")
    return out.getvalue().encode()


def _read(path: str, **options: Any) -> tuple[Any, Any]:
    reader, kind = _READERS[Path(path).suffix.lower()]
    if find_spec("pyreadstat") is None:
        raise MissingPackageError.of(f"{path}: reading {Path(path).suffix.lower()}", "pyreadstat", "statfiles")
    with Path(path).open("rb") as file:
        if file.seek(0, io.SEEK_END) > MOST_BYTES:
            raise DomainError(f"{path}: a data file can have at most {MOST_BYTES:,} bytes; save it as Parquet.")
    import pyreadstat  # optional, and slow to import

    read: Callable[..., tuple[Any, Any]] = getattr(pyreadstat, reader)
    if reader in ("read_por", "read_xport"):
        options.pop("user_missing", None)
    problem = DomainError(f"{path}: not {kind} file, or a damaged one.")
    return guarded(lambda: read(str(path), **options), problem)


def _variables(meta: Any, suffix: str) -> tuple[Variable, ...]:
    if twice := repeated(list(meta.column_names)):
        raise DomainError(f"these variable names occur more than once: {listed(twice)}.")
    return tuple(_variable(name, meta, suffix) for name in meta.column_names)


def _variable(name: str, meta: Any, suffix: str) -> Variable:
    kind = _kind(meta.readstat_variable_types.get(name), str(meta.original_variable_types.get(name) or ""))
    variable = Variable(name, kind, meta.column_names_to_labels.get(name))
    measure, codes = meta.variable_measure.get(name), meta.variable_value_labels.get(name) or {}
    missing = meta.missing_ranges.get(name, ()), meta.missing_user_values.get(name, ())
    valid = {code: _one_line(codes[code]).strip() for code in codes if not _is_missing(code, kind, *missing)}
    if kind in ("date", "time"):
        return replace(variable, clock=_clock(suffix, kind))
    if not valid:
        return variable
    if kind != "text" and (measure == "scale" or len(valid) < 2):  # only the ends have labels, as 0 = none, 10 = severe
        return replace(variable, bounds=(min(valid), max(valid)) if len(valid) > 1 else None)
    labels = _distinct({code: valid[code] for code in sorted(valid)})
    return replace(variable, labels=labels, is_ordered=measure == "ordinal")


def _kind(stored: str | None, form: str) -> Kind:
    if stored == "string":
        return "text"
    if _DAYS.fullmatch(form) or _TIMES.fullmatch(form):
        return "time" if _TIMES.fullmatch(form) else "date"
    is_whole = stored in ("int8", "int16", "int32") or _WHOLE.fullmatch(form)
    return "integer" if is_whole else "real"


def _is_missing(code: Any, kind: Kind, ranges: Any, values: Any) -> bool:
    if kind != "text" and isinstance(code, str):  # extended missing values of Stata and SAS: .a to .z
        return True
    in_range = any(part["lo"] <= code <= part["hi"] if isinstance(part, dict) else code == part for part in ranges)
    return in_range or code in values


def _clock(suffix: str, kind: Kind) -> tuple[datetime.datetime, int]:
    """Return the epoch of the numbers of dates or times, and the length of their unit in microseconds."""
    if suffix in (".sav", ".zsav", ".por"):
        return _SPSS_START, 10**6
    return _START, 86_400 * 10**6 if kind == "date" else 10**3 if suffix == ".dta" else 10**6


def _moment_text(value: float, start: datetime.datetime, unit: int, *, has_time: bool) -> str:
    whole, part = divmod(value, 1)
    try:
        moment = start + datetime.timedelta(microseconds=int(whole) * unit + round(part * unit))
    except (OverflowError, ValueError):  # beyond the years 1 to 9999
        return _plain(value)
    return moment.isoformat() if has_time and moment.time() != datetime.time() else moment.date().isoformat()


def _distinct(labels: Mapping[Any, str]) -> Mapping[Any, str]:
    """Return distinct labels; the code is added to blank and repeated labels."""
    texts = list(labels.values())
    coded = {code: f"{text} ({_plain(code)})".strip() for code, text in labels.items()}
    distinct = {code: text if text and texts.count(text) == 1 else coded[code] for code, text in labels.items()}
    return distinct if len({*distinct.values()}) == len(distinct) else coded  # a label may end like an added code


def _plain(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return _one_line(value)


def _one_line(value: Any) -> str:
    return " ".join(str(value).splitlines())
