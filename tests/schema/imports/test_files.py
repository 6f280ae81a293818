"""Which format a description has."""

import json

import pytest

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import import_schema
from tests.schema.imports.descriptions import CODEBOOK, CSVW, FRICTIONLESS, JSON_SCHEMA, REDCAP_FIELDS, REDCAP_HEADER

CSV = "\n".join(
    ",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in [REDCAP_HEADER, *REDCAP_FIELDS]
)


@pytest.mark.parametrize(
    ("name", "text", "origin"),
    [
        ("a.json", json.dumps(FRICTIONLESS), "Frictionless Table Schema"),
        ("a.JSON", json.dumps(CSVW), "CSVW metadata"),
        ("a.json", json.dumps(JSON_SCHEMA), "JSON Schema"),
        ("a.xml", CODEBOOK, "DDI codebook"),
        (
            "a.csv",
            "\n".join(
                ",".join('"' + cell.replace('"', '""') + '"' for cell in line)
                for line in [REDCAP_HEADER, *REDCAP_FIELDS]
            ),
            "REDCap data dictionary",
        ),
    ],
)
def test_a_file_is_of_the_format_that_it_begins_with(tmp_path, name, text, origin):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert import_schema(tmp_path / name).origin == origin
    assert import_schema(tmp_path / name, label="sex" if "sex" in text else "hue").label in ("sex", "hue")
    with pytest.raises(DomainError, match="column 'nothing'"):
        import_schema(tmp_path / name, label="nothing")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "[1]", "none of the supported formats"),
        ("a.json", '{"fields": []}', "a.json: expected a Table Schema with a field"),
        ("a.txt", "x", "file ending is not supported"),
        ("a.csv", "age,sex\n4,SECRET\n", "REDCap data dictionary .*`hedgerow schema new`"),
    ],
)
def test_other_files_are_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(SchemaError, match=message) as error:
        import_schema(tmp_path / name)
    assert "SECRET" not in str(error.value)
