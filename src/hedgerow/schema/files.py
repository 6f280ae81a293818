"""Schema files: YAML and JSON to plain data and back."""

from __future__ import annotations

import json
from collections.abc import Hashable
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from hedgerow.errors import SchemaError


class _UniqueKeyLoader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice instead of keeping the last."""


def _unique_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise SchemaError(f"given more than once (line {node.start_mark.line + 1}).", key=str(key))
    return loader.construct_mapping(node, deep=True)


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise SchemaError(f"the same key given more than once among {', '.join(sorted(key for key, _ in pairs))}.")
    return dict(pairs)


def read_mapping(path: str | PathLike[str]) -> Any:
    """Read plain data from a JSON file (name ends in ``.json``) or a YAML file.

    Raises
    ------
    SchemaError
        If the file is not text or not well formed.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix.lower() == ".json":
            return json.loads(text, object_pairs_hook=_unique_pairs)
        return yaml.load(text, Loader=_UniqueKeyLoader)
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: expected a YAML or JSON schema, found a file that is not text.") from None
    except SchemaError:
        raise
    except (ValueError, yaml.YAMLError) as error:  # YAML lets the ValueError of an impossible date through
        raise SchemaError(f"{path}: not well formed: {error}") from None


def mapping_text(path: str | PathLike[str], data: dict[str, Any]) -> str:
    """Return plain data as the text of a JSON (name ends in ``.json``) or YAML file."""
    if Path(path).suffix.lower() == ".json":
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
