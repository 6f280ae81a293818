"""Schema files: plain data as JSON, or as a subset of YAML, and the line of each key.

The subset has lists, mappings, text, decimal numbers, true, false and null; a date is text.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

import yaml
from yaml.reader import ReaderError

from hedgerow.boundary.untrusted_text import MOST_NESTED, check_plain, parse_json, read_text
from hedgerow.errors import HedgerowError, SchemaError, UnreadableError
from hedgerow.text.days import DATE

LARGEST_SCHEMA = 2**22
"""The most bytes of a schema file: some 200,000 values of a category, which take a few seconds to read."""
LARGEST_YAML = 2**18
"""The most characters of a text: reading so many takes PyYAML 3 to 10 seconds where each is a value of its own."""
_ENDINGS = (".yaml", ".yml", ".json")
KeyPath = tuple[str, ...]
_DEEPEST_KEY = 3  # attributes, name, key
_RESOLVER = yaml.resolver.Resolver()
_WHOLE = re.compile("[-+]?(0|[1-9][0-9]{0,399})")
_DECIMAL = re.compile("[-+]?([0-9]{1,400}[.][0-9]{0,400}|[.][0-9]{1,400})([eE][-+][0-9]{1,3})?")


def check_ending(path: str | PathLike[str]) -> None:
    """Check that a file's name says that it is YAML or JSON, before it is read or anything is done to write it."""
    if Path(path).suffix.lower() not in _ENDINGS:
        problem = f"expected a schema file, whose name ends in {', '.join(_ENDINGS)}"
        raise SchemaError(f"{problem}; check the order of the arguments.", path=str(path))


def read_mapping(path: str | PathLike[str]) -> Any:
    """Read plain data from a JSON file (name ends in ``.json``) or a YAML file (``.yaml``, ``.yml``)."""
    check_ending(path)
    problem = None
    try:
        text = read_text(path, LARGEST_SCHEMA)
        return parse_json(text) if _is_json(path) else parse_yaml(text)
    except UnreadableError as error:
        problem = str(error)
    raise SchemaError(f"{problem}.", path=str(path))


def mapping_text(path: str | PathLike[str], data: dict[str, Any]) -> str:
    check_ending(path)
    if _is_json(path):
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)


def _is_json(path: str | PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".json"


def parse_yaml(text: str) -> Any:
    """Return the data of YAML text; refuses anchors, aliases, tags, duplicate keys and numbers that are not decimal."""
    # With these a small text can expand into huge data, or be read as other data than it seems to be.
    if len(text) > LARGEST_YAML:
        raise UnreadableError(f"expected at most {LARGEST_YAML:,} characters of YAML, found more; write it as JSON")
    found, problem = None, None
    try:
        found = _document(yaml.parse(text, Loader=yaml.SafeLoader))
    except UnreadableError as error:
        problem = str(error)
    except yaml.MarkedYAMLError as error:  # it quotes the text
        mark = error.problem_mark or error.context_mark
        problem = "expected YAML, found text that is not" + ("" if mark is None else _at(mark))
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"expected YAML, found a character that it does not allow (line {line})"
    except (yaml.YAMLError, ValueError, OverflowError):  # of escapes and versions with too many digits
        problem = "expected YAML, found text that is not"
    if problem:
        raise UnreadableError(problem)
    check_plain(found)
    return found


def _document(events: Iterator[yaml.Event]) -> Any:
    found, empty = None, True
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            if not empty:
                raise UnreadableError("expected one document, found a second one" + _at(event.start_mark))
            found, empty = _value(events, next(events), 0), False
    return found


def _value(events: Iterator[yaml.Event], event: yaml.Event, depth: int) -> Any:
    """Return the value that begins with an event; the events of its parts are taken from the others."""
    if depth > MOST_NESTED:
        raise UnreadableError(f"expected at most {MOST_NESTED} nested lists and mappings, found more")
    if isinstance(event, yaml.AliasEvent):
        raise UnreadableError("expected values without anchors and aliases, found one" + _at(event.start_mark))
    if getattr(event, "tag", None):
        raise UnreadableError("expected values without tags, found a tag" + _at(event.start_mark))
    if isinstance(event, yaml.ScalarEvent):
        return _plain(event) if event.implicit[0] else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        return [_value(events, item, depth + 1) for item in _until(yaml.SequenceEndEvent, events)]
    found: dict[Any, Any] = {}
    for start in _until(yaml.MappingEndEvent, events):
        key = _value(events, start, depth + 1)
        if isinstance(key, (list, dict)):
            raise UnreadableError("expected text as a key, found a list or mapping" + _at(start.start_mark))
        if key in found:
            raise UnreadableError("expected every key of a mapping once, found a duplicate" + _at(start.start_mark))
        found[key] = _value(events, next(events), depth + 1)
    return found


def _until(end: type[yaml.Event], events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    for event in events:
        if isinstance(event, end):
            return
        yield event


def _plain(event: yaml.ScalarEvent) -> Any:
    text: str = event.value
    kind = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
    if kind == "str" or re.fullmatch(DATE, text):
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("yes", "true", "on")
    if kind == "int" and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "float" and _DECIMAL.fullmatch(text):
        return float(text)
    problem = "expected text, decimal numbers, true, false or null, found a value of another YAML type, such as a time"
    advice = f"if it is text, put it in quotes{_at(event.start_mark)}"
    raise UnreadableError(f"{problem}, .inf, 0x1F, 010, 1_000 or 1:30; {advice}")


def _at(mark: yaml.Mark) -> str:
    return f" (line {mark.line + 1}, column {mark.column + 1})"


def lines_of(path: str | PathLike[str]) -> dict[KeyPath, int]:
    """Return the line of each key of a YAML or JSON file by its path, such as ``("attributes", "age", "low")``."""
    with suppress(OSError, HedgerowError):
        return key_lines(read_text(path, LARGEST_SCHEMA))
    return {}


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line of each key of a text, those in mappings within mappings too; `read_mapping` took the text."""
    found: dict[KeyPath, int] = {}
    if len(text) <= LARGEST_YAML:
        with suppress(yaml.YAMLError, ValueError, OverflowError):
            _note(yaml.compose(text, Loader=yaml.SafeLoader), (), found)
    return found


def _note(node: yaml.Node | None, above: KeyPath, found: dict[KeyPath, int]) -> None:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            path = (*above, key.value)
            found.setdefault(path, key.start_mark.line + 1)
            if len(path) < _DEEPEST_KEY:
                _note(value, path, found)


def line_of_fault(fault: SchemaError, lines: Mapping[KeyPath, int]) -> int | None:
    """Return the line that a fault is about: that of its key, or else of its attribute, or of the label."""
    key = () if fault.key is None else (fault.key,)
    name = () if fault.attribute is None else (fault.attribute,)
    places: list[KeyPath] = [("attributes", *name, *key), ("attributes", *name)] if name else [key]
    places += [("label", *key), ("label",)] if name or key else []
    return next((lines[place] for place in places if place in lines), None)
