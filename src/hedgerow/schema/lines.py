"""Lines of a schema's file: that of each key, found again once there is a fault to report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike

import yaml

from hedgerow.boundary.untrusted_text import read_text
from hedgerow.errors import HedgerowError, SchemaError
from hedgerow.schema.files import LARGEST_SCHEMA
from hedgerow.schema.yaml_subset import LARGEST_YAML

Path = tuple[str, ...]
_DEEPEST = 3  # attributes, name, key


def lines_of(path: str | PathLike[str]) -> dict[Path, int]:
    """Return the line of each key of a YAML or JSON file by its path, such as ``("attributes", "age", "low")``."""
    try:
        text = read_text(path, LARGEST_SCHEMA)
    except (OSError, HedgerowError):
        return {}
    return key_lines(text)


def key_lines(text: str) -> dict[Path, int]:
    """Return the line of each key of a YAML or JSON text, of those in mappings within mappings, by its path."""
    found: dict[Path, int] = {}
    if len(text) <= LARGEST_YAML:
        try:
            events = yaml.parse(text, Loader=yaml.SafeLoader)
            for event in events:
                if isinstance(event, yaml.MappingStartEvent):
                    _note(events, (), found)
                    break
        except (yaml.YAMLError, ValueError, OverflowError):
            return {}
    return found


def _note(events: Iterator[yaml.Event], above: Path, found: dict[Path, int]) -> None:
    """Note the keys of a mapping whose start has been taken from the events, up to its end."""
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            return
        key = (*above, event.value) if isinstance(event, yaml.ScalarEvent) else above
        if isinstance(event, yaml.ScalarEvent):
            found.setdefault(key, event.start_mark.line + 1)
        else:
            _skip(events, event)
        value = next(events)
        if isinstance(value, yaml.MappingStartEvent) and len(key) < _DEEPEST:
            _note(events, key, found)
        else:
            _skip(events, value)


def _skip(events: Iterator[yaml.Event], event: yaml.Event) -> None:
    """Take the events of a value whose first has been taken."""
    depth = isinstance(event, yaml.CollectionStartEvent)
    while depth:
        event = next(events)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)


def line_of_fault(fault: SchemaError, lines: Mapping[Path, int]) -> int | None:
    """Return the line that a fault is about: that of its key, or else of its attribute, or of the label."""
    key = () if fault.key is None else (fault.key,)
    name = () if fault.attribute is None else (fault.attribute,)
    places: list[Path] = [("attributes", *name, *key), ("attributes", *name)] if name else [key]
    places += [("label", *key), ("label",)] if name or key else []
    return next((lines[place] for place in places if place in lines), None)
