"""Drafts of schemas from files: which format a file has, by its ending and what it begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.ddi import codebook_draft
from hedgerow.schema.imports.draft import Draft
from hedgerow.schema.imports.json_schema import (
    csvw_draft,
    is_csvw,
    is_json_schema,
    is_table_schema,
    json_schema_draft,
    table_schema_draft,
)
from hedgerow.schema.imports.plain import json_of
from hedgerow.schema.imports.redcap import dictionary_draft, is_dictionary
from hedgerow.schema.imports.types import parquet_draft
from hedgerow.tables.csv_files import read_header
from hedgerow.tables.table_files import check_no_spreadsheet

FORMATS = "REDCap data dictionary (.csv), Frictionless Table Schema, CSVW or JSON Schema (.json), DDI (.xml), Parquet"


def import_schema(path: str | PathLike[str], *, label: str | None = None) -> Draft:
    """Return the draft of a schema from a description of a table that others use; no row of the table is read.

    Read are REDCap data dictionaries (CSV), Frictionless Table Schemas and data packages, CSVW metadata, JSON Schemas
    (JSON), DDI codebooks 2.x (XML), and the types in the footer of a Parquet file. What a description does not say is
    left to be filled in: `Draft.gaps`. Check that bounds and categories come from what a column means: in some
    descriptions, they were taken from the rows.

    Parameters
    ----------
    path : path-like
        The file.
    label : str, optional
        The column to predict.

    Raises
    ------
    SchemaError
        If the file has none of these formats, or no column that can be an attribute.
    DomainError
        If it has no column of the label's name.
    OSError
        If it cannot be read.

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
    if ending == ".json":
        draft = _from_json(path)
    elif ending in _BY_ENDING:
        draft = _BY_ENDING[ending](path)
    else:
        raise SchemaError(f"{path}: expected one of {FORMATS}; got a file with another ending.")
    return draft if label is None else draft.labelled(label)


def _from_json(path: str | PathLike[str]) -> Draft:
    data = json_of(path)
    for is_one, drafted in (
        (is_table_schema, table_schema_draft),
        (is_csvw, csvw_draft),
        (is_json_schema, json_schema_draft),
    ):
        if is_one(data):
            problem = None
            try:
                return drafted(data)
            except SchemaError as error:
                problem = str(error)
            raise SchemaError(f"{path}: {problem}")
    raise SchemaError(f"{path}: expected one of {FORMATS}; got other JSON.")


def _from_csv(path: str | PathLike[str]) -> Draft:
    if not is_dictionary(read_header(path)):
        raise SchemaError(
            f"{path}: expected a REDCap data dictionary, got a CSV file with another header; of a table itself, "
            "`hedgerow schema new` takes the names of the columns."
        )
    return dictionary_draft(path)


_BY_ENDING: Mapping[str, Callable[[str | PathLike[str]], Draft]] = {
    ".csv": _from_csv,
    ".xml": codebook_draft,
    ".parquet": parquet_draft,
}
