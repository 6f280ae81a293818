"""Other spellings of categories and classes: what cells may hold in the place of a listed value.

A schema's file has them as ``values: {yes: [yes, ja, "1"]}``, or as a list for each value under ``other_spellings``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.errors import SchemaError
from hedgerow.schema.literals import values_problem
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown
from hedgerow.text.values import Value, listed, plain_word

Spellings = tuple[tuple[str | int, ...], ...]
"""The other spellings of each value, in the order of the values; empty if no value has any."""
KEY = "other_spellings"
_FORMS = (str, str.lower, str.upper, str.capitalize)
_TRUTHS = (
    ("no", "n", "false", "f", "0", "nein", "non", "não", "nao"),
    ("yes", "y", "true", "t", "1", "ja", "j", "oui", "si", "sí", "sim"),
)
_QUOTES = "(in YAML, quote words such as yes, no, on, off)"


def split(values: Any, others: Any, key: str) -> tuple[Any, Spellings]:
    """Return values and their other spellings, given as a mapping of values to spellings or as two sequences.

    The spellings of a value in a mapping may include the value. A file's key is text: it is the whole number or boolean
    among its spellings that is written as the key, if there is one.
    """
    if isinstance(values, Mapping):
        if others:
            raise SchemaError(f"expected spellings under `{key}` or here, got both.", key=KEY)
        pairs = [_pair(value, words, key) for value, words in values.items()]
        values, others = tuple(value for value, _ in pairs), tuple(words for _, words in pairs)
    if isinstance(others, str) or not isinstance(others, Sequence):
        raise SchemaError(f"expected a list of spellings for each value, got {shown(others)}.", key=KEY)
    spellings = tuple(_words(words, "a value", KEY) for words in others)
    if not any(spellings):
        return values, ()
    if isinstance(values, str) or not isinstance(values, Sequence) or len(spellings) != len(values):
        raise SchemaError("expected a list of spellings for each value, in the order of the values.", key=KEY)
    found = tuple(_others(value, words) for value, words in zip(values, spellings, strict=True))
    return values, found if any(found) else ()


def _others(value: Any, words: Iterable[Any]) -> tuple[Any, ...]:
    """Return the words that are written otherwise than the value, each once."""
    by_text = {plain_word(word): word for word in words}
    return tuple(word for text, word in by_text.items() if text != plain_word(value))


def _pair(value: Any, given: Any, key: str) -> tuple[Any, tuple[Any, ...]]:
    words = _words(given, shown(value), key)
    if isinstance(value, str):
        value = next((word for word in words if not isinstance(word, str) and str(word).lower() == value), value)
    return value, words


def _words(words: Any, of: str, key: str) -> tuple[Any, ...]:
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise SchemaError(f"expected a list of the spellings of {of}, got {shown(words)}.", key=key)
    return tuple(words)


def check_spellings(
    values: Sequence[Value], spellings: Spellings, taken: Iterable[Value] = (), *, ignores_case: bool = False
) -> None:
    """Check that spellings are text or whole numbers, and that each is a spelling of one value."""
    words = [word for group in spellings for word in group]
    problem = values_problem(words)
    if any(isinstance(word, bool) or not isinstance(word, (str, int)) for word in words):
        problem = f"expected text or whole numbers, got {shown(spellings)} {_QUOTES}."
    if problem:
        raise SchemaError(problem, key=KEY)
    codes = dict.fromkeys(map(plain_word, taken), -1)
    for code, group in enumerate(zip(values, spellings, strict=True)):
        for word in (group[0], *group[1]):
            text = plain_word(word).lower() if ignores_case else plain_word(word)
            if codes.setdefault(text, code) != code:
                problem = f"expected each spelling for one value, got {shown(word)} for two, or as a missing value"
                raise SchemaError(f"{problem}.", key=KEY)


def spelled(values: Sequence[Value], spellings: Spellings) -> tuple[tuple[Value, int], ...]:
    """Return every spelling with the place of its value, the values first."""
    others = tuple((word, code) for code, group in enumerate(spellings) for word in group)
    return (*((value, code) for code, value in enumerate(values)), *others)


def domain_text(values: Sequence[Value], spellings: Spellings, most: int) -> str:
    """Return values as text, each followed by its other spellings."""
    if not spellings:
        return listed(values, most)
    pairs = zip(values, spellings, strict=True)
    parts = [f"{listed([value])} (also {listed(group)})" if group else listed([value]) for value, group in pairs]
    return ", ".join(parts[:most]) + (f", … ({len(parts)} values)" if len(parts) > most else "")


def similar_values(values: Sequence[str]) -> list[tuple[str, ...]]:
    """Return groups of two values or more that are usual spellings of the same.

    They differ in the case of letters alone; or all values are words for no and for yes, and there are more than two.
    """
    words = {value: value.lower() for value in values}
    truths = {word: place for place, group in enumerate(_TRUTHS) for word in group}
    if len(values) > 2 and all(word in truths for word in words.values()):
        keys: dict[str, Any] = {value: truths[word] for value, word in words.items()}
    else:
        keys = dict(words)
    groups = [tuple(value for value in values if keys[value] == key) for key in dict.fromkeys(keys.values())]
    return [group for group in groups if len(group) > 1]


def occurring_spellings(column: Column, values: Sequence[Value], known: Iterable[Value]) -> list[tuple[str, ...]]:
    """Return for each value usual other spellings that occur in a column of text and are not known.

    They are the value in other cases of letters and, of two values such as no and yes, words for false and for true.
    """
    usual = {form(str(value)): place for place, value in enumerate(values) for form in _FORMS}
    words = [str(value).lower() for value in values]
    if len(values) == 2 and any(words[0] in first and words[1] in second for first, second in (_TRUTHS, _TRUTHS[::-1])):
        groups = _TRUTHS if words[0] in _TRUTHS[0] else _TRUTHS[::-1]
        usual |= {form(word): place for place, group in enumerate(groups) for word in group for form in _FORMS}
    for word in known:
        usual.pop(plain_word(word), None)
    places = column.index_in(list(usual)) if column.is_text else np.zeros(0, np.int32)
    occurring = [list(usual)[place] for place in np.unique(places[places >= 0])]
    return [tuple(word for word in occurring if usual[word] == place) for place in range(len(values))]


def spellings_line(key: str, groups: Iterable[tuple[Value, Sequence[Value]]]) -> str:
    """Return the entry of a schema's file that declares values with other spellings."""
    parts = [f"{_written(value)}: [{', '.join(map(_written, words))}]" for value, words in groups]
    return f"{key}: {{{', '.join(parts)}}}"


def _written(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)


def refuse_spellings(pairs: Iterable[tuple[str, Any]], what: str) -> None:
    """Raise SchemaError if an attribute has other spellings."""
    for name, attribute in pairs:
        if getattr(attribute, KEY, ()):
            problem = f"{what} compares cells as they are written, and may tell apart the spellings of a value"
            raise SchemaError(f"{problem}; list each spelling among the values.", attribute=name, key=KEY)
