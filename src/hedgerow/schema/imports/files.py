"""Draft schemas from description files, from column types, and from REDCap data dictionaries; no row is read."""

import csv
import errno
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from hedgerow.boundary.foreign_code import guarded
from hedgerow.boundary.untrusted_text import read_text
from hedgerow.errors import ArgumentTypeError, MissingFileError, SchemaError, UnreadableError
from hedgerow.schema.files import LARGEST_SCHEMA, read_mapping
from hedgerow.schema.imports.date_patterns import plain_day
from hedgerow.schema.imports.ddi import codebook_draft
from hedgerow.schema.imports.draft import Draft, DraftColumn, bounded_column, category_or_boolean
from hedgerow.schema.imports.json_formats import draft_of_json
from hedgerow.schema.imports.statistical import statistical_draft
from hedgerow.tables.csv_files import read_header
from hedgerow.tables.statistical_files import SUFFIXES
from hedgerow.tables.table_files import check_no_spreadsheet
from hedgerow.text.date_formats import ISO

FORMATS = (
    "REDCap data dictionary (.csv), Frictionless Table Schema, CSVW or JSON Schema (.json), DDI (.xml), Parquet, SPSS "
    "(.sav, .por), Stata (.dta), SAS (.sas7bdat, .xpt)"
)


def import_schema(path: str | PathLike[str], *, label: str | None = None) -> Draft:
    """Return a draft schema from an existing description of a table; no row of the table is read.

    Supported formats are REDCap data dictionaries (CSV), Frictionless Table Schemas and data packages, CSVW metadata,
    and JSON Schemas (JSON). DDI codebooks 2.x (XML), the types in the footer of a Parquet file, and the dictionaries of
    SPSS, Stata and SAS files are supported, too. `Draft.gaps` lists the information that is missing in the description.
    Check that bounds and categories follow from the meaning of a column: some descriptions take them from the rows.

    Parameters
    ----------
    path : path-like
        The file; OSError if it cannot be read.
    label : str, optional
        The column to predict; DomainError if the description has no such column.

    Raises
    ------
    SchemaError
        If the file has another format, or no column that can be an attribute.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> field = {"name": "smoker", "type": "boolean", "constraints": {"required": True}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "schema.json"
    ...     _ = path.write_text(json.dumps({"fields": [field]}))
    ...     print(import_schema(path).schema())
    smoker  boolean      true or false, 0 or 1; (source: Frictionless Table Schema)
    """
    check_no_spreadsheet(str(path))
    ending = Path(path).suffix.lower()
    if ending not in _BY_ENDING:
        raise SchemaError(f"{path}: this file ending is not supported. Supported formats are {FORMATS}.")
    draft = _BY_ENDING[ending](path)
    return draft if label is None else draft.labelled(label)


def _from_json(path: str | PathLike[str]) -> Draft:
    problem = f"this JSON is none of the supported formats, which are {FORMATS}."
    data = read_mapping(path)
    try:
        if (draft := draft_of_json(data)) is not None:
            return draft
    except SchemaError as error:
        problem = str(error)
    raise SchemaError(f"{path}: {problem}")


def _from_csv(path: str | PathLike[str]) -> Draft:
    if not is_dictionary(read_header(path).names):
        problem = f"{path}: expected a REDCap data dictionary with the columns {_NAME} and {_TYPE}"
        raise SchemaError(f"{problem}. If this is the table itself, run `hedgerow schema new` to draft a schema.")
    return dictionary_draft(path)


REDCAP = "REDCap data dictionary"
_NAME, _TYPE, _LABEL, _CHOICES = "Variable / Field Name", "Field Type", "Field Label", "Choices"
_CHECK, _LOW, _HIGH = "Text Validation Type", "Text Validation Min", "Text Validation Max"
_IDENTIFIER, _BRANCH, _REQUIRED = "Identifier?", "Branching Logic", "Required Field?"
_EXPORTED = {"field_name": _NAME, "field_type": _TYPE, "field_label": _LABEL, "required_field": _REQUIRED}
_EXPORTED |= {"select_choices_or_calculations": _CHOICES, "text_validation_type_or_show_slider_number": _CHECK}
_EXPORTED |= {"text_validation_min": _LOW, "text_validation_max": _HIGH}
_EXPORTED |= {"identifier": _IDENTIFIER, "branching_logic": _BRANCH}
_DATES = ("date_ymd", "date_mdy", "date_dmy")  # all are exported as YYYY-MM-DD
# all are exported as YYYY-MM-DD HH:MM, with or without seconds
_TIMES = tuple(f"datetime_{seconds}{order}" for seconds in ("", "seconds_") for order in ("ymd", "mdy", "dmy"))
_CHECKED: dict[str, Any] = {"integer": "integer", **dict.fromkeys((*_DATES, *_TIMES), "date")}
_REAL = re.compile("number(_[0-9]dp)?")

RedcapField = Mapping[str, str]


def is_dictionary(header: Sequence[str]) -> bool:
    """Return whether a header belongs to a data dictionary that REDCap exported."""
    keys = {_key(name) for name in header}
    return _NAME in keys and _TYPE in keys


def dictionary_draft(path: str | PathLike[str]) -> Draft:
    """Return the draft of a data dictionary, in which codes become values and labels become descriptions."""
    fields = _fields(path)
    columns = [column for number, field in enumerate(fields) for column in _columns(field, is_id=number == 0)]
    return Draft.of(columns, REDCAP, "data dictionary with a field")


def _fields(path: str | PathLike[str]) -> list[RedcapField]:
    problem = None
    try:
        lines = list(csv.reader(io.StringIO(read_text(path, LARGEST_SCHEMA), newline=""), strict=True))
    except UnreadableError as error:
        lines, problem = [], str(error)
    except csv.Error:
        lines, problem = [], "the file is not valid CSV"
    if problem is None and not (lines and is_dictionary(lines[0])):
        problem = f"expected a REDCap data dictionary with the columns {_NAME} and {_TYPE}"
    if problem:
        raise SchemaError(f"{path}: {problem}.")
    header = [_key(name) for name in lines[0]]
    return [dict(zip(header, line, strict=False)) for line in lines[1:] if line and line[0].strip()]


def _key(name: str) -> str:
    """Return the name of a dictionary's column, which REDCap's pages and its API spell differently."""
    plain = name.strip().strip('"')
    return _EXPORTED.get(plain, next((key for key in _EXPORTED.values() if plain.startswith(key)), plain))


def _columns(field: RedcapField, *, is_id: bool) -> Iterator[DraftColumn | tuple[str, str]]:
    name, kind = field[_NAME].strip(), field.get(_TYPE, "").strip().lower()
    if kind == "descriptive":
        return
    if is_id:
        yield name, "the first field of a dictionary is the record id"
    elif field.get(_IDENTIFIER, "").strip().lower() == "y":
        yield name, "marked as an identifier"
    elif kind == "checkbox":
        for code, label in _choices(field):
            option, words = f"{name}___{code.lower().replace('-', '_')}", f"{field.get(_LABEL, '')}: {label}"
            yield DraftColumn(name=option, kind="boolean", description=words, source=REDCAP)
    else:
        yield _column(name, kind, field)


def _column(name: str, kind: str, field: RedcapField) -> DraftColumn | tuple[str, str]:
    required, branching = field.get(_REQUIRED, "").strip().lower() == "y", field.get(_BRANCH, "").strip()
    common: dict[str, Any] = {"description": field.get(_LABEL, ""), "source": REDCAP}
    common["may_be_missing"] = not required or bool(branching)
    limits, check = (field.get(_LOW), field.get(_HIGH)), field.get(_CHECK, "").strip().lower()
    if kind in ("yesno", "truefalse"):
        return DraftColumn(name=name, kind="boolean", **common)
    if kind in ("radio", "dropdown"):
        choices = _choices(field)
        common["description"] += f" ({'; '.join(f'{code} = {label}' for code, label in choices)})" if choices else ""
        values = tuple(int(code) if re.fullmatch("0|-?[1-9][0-9]{0,17}", code) else code for code, _ in choices)
        return DraftColumn(name=name, kind="categorical", values=values, **common)
    if kind == "slider":
        low, high = (limit or default for limit, default in zip(limits, ("0", "100"), strict=True))
        return bounded_column(name, "integer", low, high, **common)
    if kind == "text" and check in _CHECKED:
        if check in _TIMES:
            common["format"], limits = ISO, (plain_day(limits[0]), plain_day(limits[1]))
        return bounded_column(name, _CHECKED[check], *limits, **common)
    if kind == "calc" or (kind == "text" and _REAL.fullmatch(check)):
        return bounded_column(name, "real", *limits, **common)
    return name, f"type {f'{kind}, {check}' if check else kind} cannot be an attribute"


def _choices(field: RedcapField) -> list[tuple[str, str]]:
    parts = (part.partition(",") for part in field.get(_CHOICES, "").split("|"))
    return [(code.strip(), label.strip()) for code, _, label in parts if code.strip()]


_MOST_VALUES = 10_000
_SMALL = {"int8": (-(2**7), 2**7 - 1), "uint8": (0, 2**8 - 1)}  # limits of wider types are not meaningful bounds


def import_types(types: Mapping[str, Any]) -> Draft:
    """Return a draft schema from the types of columns; no row is read.

    A `pandas.CategoricalDtype` and a polars `Enum` declare their categories, the former also their order
    (``ordered=True``). Do not pass a type that was inferred with `astype("category")`: its categories come from the
    rows, and the schema makes them public.

    Parameters
    ----------
    types : mapping of str to type
        Types of pandas (`frame.dtypes`), polars (`frame.schema`) or Arrow by column name. SchemaError if no type can be
        an attribute.

    Examples
    --------
    >>> import pandas as pd
    >>> draft = import_types({"stage": pd.CategoricalDtype(["I", "II"]), "age": pd.Int64Dtype()})
    >>> draft.gaps
    (('age', 'low'), ('age', 'high'))
    """
    pairs: Any = getattr(types, "items", None)
    problem = ArgumentTypeError(f"types must be a mapping of names to types, got {type(types).__name__}.")
    if not callable(pairs) or hasattr(types, "columns"):  # a frame has rows
        raise problem
    listed: list[tuple[Any, Any]] = guarded(lambda: list(types.items()), problem)
    if not all(isinstance(name, str) for name, _ in listed):
        raise problem
    columns = [guarded(lambda name=name, kind=kind: _of_type(name, kind), problem) for name, kind in listed]
    return Draft.of(columns, "types of columns", "mapping with a type")


def parquet_draft(path: str | PathLike[str]) -> Draft:
    """Return a draft from the types in the footer of a Parquet file; the statistics of its rows are not read."""
    if not Path(path).is_file():
        raise MissingFileError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    import pyarrow.parquet as pq

    problem = SchemaError(f"{path}: not a Parquet file, or a truncated one.")
    fields: pa.Schema = guarded(lambda: pq.read_schema(path), problem)
    columns = [_of_arrow(field.name, field.type, nullable=field.nullable) for field in fields]
    return Draft.of(columns, "types of a Parquet file", "Parquet file with a column")


def _of_type(name: str, kind: Any) -> DraftColumn | tuple[str, str]:
    categories = getattr(kind, "categories", None)
    if categories is not None and 0 < len(categories) <= _MOST_VALUES:
        values = categories.to_list() if hasattr(categories, "to_list") else list(categories)
        ordered = getattr(kind, "ordered", None) is True
        return category_or_boolean(name, values, ordered=ordered, source="declared categories")
    return _of_arrow(name, kind if isinstance(kind, pa.DataType) else _arrow_of(kind), nullable=_may_be_null(kind))


def _may_be_null(kind: Any) -> bool:
    """Return whether a column of the type can hold missing values; NumPy's booleans and whole numbers cannot."""
    return getattr(kind, "kind", "f") not in ("b", "i", "u") or not str(kind).islower()


def _arrow_of(kind: Any) -> pa.DataType:
    own = getattr(kind, "pyarrow_dtype", None)
    if own is not None:
        return own
    if hasattr(kind, "to_python"):  # polars
        import polars as pl

        return pl.Series([], dtype=kind).to_arrow().type
    import pandas as pd

    return pa.Array.from_pandas(pd.Series([], dtype=kind)).type


_KINDS: dict[str, Any] = {"boolean": "boolean", "integer": "integer", "floating": "real", "decimal": "real"}
_KINDS |= {"date": "date", **dict.fromkeys(("string", "large_string", "string_view", "null"), "categorical")}


def _of_arrow(name: str, kind: pa.DataType, *, nullable: bool) -> DraftColumn | tuple[str, str]:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    own = next((own for word, own in _KINDS.items() if getattr(pa.types, f"is_{word}")(kind)), None)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        own = "date"
    if own is None:
        return name, f"type {str(kind).partition('<')[0].partition('[')[0]} cannot be an attribute"
    low, high = _SMALL.get(str(kind), (None, None))
    source = "type of the column"
    return DraftColumn(name=name, kind=own, low=low, high=high, may_be_missing=nullable, source=source)


_BY_ENDING: Mapping[str, Callable[[str | PathLike[str]], Draft]]
_BY_ENDING = {
    ".json": _from_json,
    ".csv": _from_csv,
    ".xml": codebook_draft,
    ".parquet": parquet_draft,
    **dict.fromkeys(SUFFIXES, statistical_draft),
}
