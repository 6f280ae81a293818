"""Schema files: plain data in JSON or in a subset of YAML, and the line of each key.

The subset consists of lists, mappings, text, decimal numbers, true, false and null; dates are text.
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
"""The most bytes of a schema file; a category with 200,000 values fits, and takes a few seconds to read."""
LARGEST_YAML = 2**18
"""The most characters of YAML; if each is a value of its own, PyYAML takes 3 to 10 seconds to read them."""
_ENDINGS = (".yaml", ".yml", ".json")
KeyPath = tuple[str, ...]
_DEEPEST_KEY = 3  # attributes, name, key
_RESOLVER = yaml.resolver.Resolver()
_WHOLE = re.compile("[-+]?(0|[1-9][0-9]{0,399})")
_DECIMAL = re.compile("[-+]?([0-9]{1,400}[.][0-9]{0,400}|[.][0-9]{1,400})([eE][-+][0-9]{1,3})?")


def check_ending(path: str | PathLike[str]) -> None:
    """Check that a file's name ends like a YAML or JSON file, before anything is read or written."""
    if Path(path).suffix.lower() not in _ENDINGS:
        problem = f"the name of a schema file must end in {', '.join(_ENDINGS)}"
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
    """Return the data of YAML text.

    UnreadableError for anchors, aliases, tags, duplicate keys and numbers that are not decimal. With these features, a
    small text could expand into huge data or be misread.
    """
    if len(text) > LARGEST_YAML:
        problem = f"YAML can have at most {LARGEST_YAML:,} characters, got {len(text):,}; write the schema as JSON"
        raise UnreadableError(problem)
    data, problem = None, None
    try:
        data = _document(yaml.parse(text, Loader=yaml.SafeLoader))
    except UnreadableError as error:
        problem = str(error)
    except yaml.MarkedYAMLError as error:  # the error's text quotes the file
        mark = error.problem_mark or error.context_mark
        problem = "the text is not valid YAML" + ("" if mark is None else _at(mark))
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the text has a character that YAML does not allow (line {line})"
    except (yaml.YAMLError, ValueError, OverflowError):  # such as escapes and versions with too many digits
        problem = "the text is not valid YAML"
    if problem:
        raise UnreadableError(problem)
    check_plain(data)
    return data


def _document(events: Iterator[yaml.Event]) -> Any:
    data, empty = None, True
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            if not empty:
                raise UnreadableError("the file must contain one YAML document, got two" + _at(event.start_mark))
            data, empty = _value(events, next(events), 0), False
    return data


def _value(events: Iterator[yaml.Event], event: yaml.Event, depth: int) -> Any:
    """Return the value that begins with an event, and consume the events of its parts."""
    if depth > MOST_NESTED:
        raise UnreadableError(f"lists and mappings can be nested at most {MOST_NESTED} deep")
    if isinstance(event, yaml.AliasEvent):
        raise UnreadableError("YAML anchors and aliases are not supported" + _at(event.start_mark))
    if getattr(event, "tag", None):
        raise UnreadableError("YAML tags are not supported" + _at(event.start_mark))
    if isinstance(event, yaml.ScalarEvent):
        return _plain(event) if event.implicit[0] else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        return [_value(events, item, depth + 1) for item in _until(yaml.SequenceEndEvent, events)]
    pairs: dict[Any, Any] = {}
    for start in _until(yaml.MappingEndEvent, events):
        key = _value(events, start, depth + 1)
        if isinstance(key, (list, dict)):
            raise UnreadableError("a key must be text, got a list or mapping" + _at(start.start_mark))
        if key in pairs:
            raise UnreadableError("a key occurs twice in a mapping" + _at(start.start_mark))
        pairs[key] = _value(events, next(events), depth + 1)
    return pairs


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
    problem = "values must be text, decimal numbers, true, false or null; YAML types such as times, .inf, 0x1F, 010,"
    advice = f"if it is text, put it in quotes{_at(event.start_mark)}"
    raise UnreadableError(f"{problem} 1_000 and 1:30 are not supported; {advice}")


def _at(mark: yaml.Mark) -> str:
    return f" (line {mark.line + 1}, column {mark.column + 1})"


def lines_of(path: str | PathLike[str]) -> dict[KeyPath, int]:
    """Return the line of each key of a YAML or JSON file by its path, such as ``("attributes", "age", "low")``."""
    with suppress(OSError, HedgerowError):
        return key_lines(read_text(path, LARGEST_SCHEMA))
    return {}


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line of each key, at any depth up to `_DEEPEST_KEY`, of text that `read_mapping` accepted."""
    lines: dict[KeyPath, int] = {}
    if len(text) <= LARGEST_YAML:
        with suppress(yaml.YAMLError, ValueError, OverflowError):
            _add_lines(yaml.compose(text, Loader=yaml.SafeLoader), (), lines)
    return lines


def _add_lines(node: yaml.Node | None, above: KeyPath, lines: dict[KeyPath, int]) -> None:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode):
            path = (*above, key.value)
            lines.setdefault(path, key.start_mark.line + 1)
            if len(path) < _DEEPEST_KEY:
                _add_lines(value, path, lines)


def line_of_fault(fault: SchemaError, lines: Mapping[KeyPath, int]) -> int | None:
    """Return the line of a fault's key, or else of its attribute or of the label."""
    key = () if fault.key is None else (fault.key,)
    name = () if fault.attribute is None else (fault.attribute,)
    places: list[KeyPath] = [("attributes", *name, *key), ("attributes", *name)] if name else [key]
    places += [("label", *key), ("label",)] if name or key else []
    return next((lines[place] for place in places if place in lines), None)
