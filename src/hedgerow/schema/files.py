"""Schema files: plain data read from and written to YAML and JSON."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from hedgerow.boundary.untrusted_text import parse_json, read_text
from hedgerow.errors import SchemaError, UnreadableError
from hedgerow.schema.yaml_subset import parse_yaml

LARGEST_SCHEMA = 2**22
"""The most bytes of a schema file: some 200,000 values of a category, which take a few seconds to read."""
_ENDINGS = (".yaml", ".yml", ".json")


def check_ending(path: str | PathLike[str]) -> None:
    """Check that a file's name says that it is YAML or JSON, before it is read or anything is done to write it."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise SchemaError(
            f"{path}: expected a schema file, whose name ends in {', '.join(_ENDINGS)}; check the order of the "
            "arguments."
        )


def read_mapping(path: str | PathLike[str]) -> Any:
    """Read plain data from a JSON file (name ends in ``.json``) or a YAML file (``.yaml``, ``.yml``)."""
    check_ending(path)
    problem = None
    try:
        text = read_text(path, LARGEST_SCHEMA)
        return parse_json(text) if _is_json(path) else parse_yaml(text)
    except UnreadableError as error:
        problem = str(error)
    raise SchemaError(f"{path}: {problem}.")


def mapping_text(path: str | PathLike[str], data: dict[str, Any]) -> str:
    """Return plain data as the text of a JSON (name ends in ``.json``) or YAML file."""
    check_ending(path)
    if _is_json(path):
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)


def _is_json(path: str | PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".json"
