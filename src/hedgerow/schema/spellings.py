"""Other spellings of categories and classes, which cells may hold instead of a listed value.

A schema file declares them as ``values: {yes: [yes, ja, "1"]}``, or as a list for each value under ``other_spellings``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.errors import SchemaError
from hedgerow.schema.literals import values_problem
from hedgerow.tables.columns import Column
from hedgerow.text.messages import number_of, shown
from hedgerow.text.values import Value, listed, plain_word

Spellings = tuple[tuple[str | int, ...], ...]
"""The other spellings of each value, in the order of the values; empty if no value has any."""
KEY = "other_spellings"
_FORMS = (str, str.lower, str.upper, str.capitalize)
_TRUTHS = (
    ("no", "n", "false", "f", "0", "nein", "non", "não", "nao"),
    ("yes", "y", "true", "t", "1", "ja", "j", "oui", "si", "sí", "sim"),
)
_QUOTES = "; in YAML, quote the words yes, no, on and off"


def split(values: Any, other_spellings: Any, key: str) -> tuple[Any, Spellings]:
    """Return values and their other spellings, from a mapping of values to spellings or from two sequences.

    In a mapping, the spellings of a value may include the value. The keys of a file are text. If a key is written like
    a whole number or boolean among its spellings, this number or boolean is the value.
    """
    if isinstance(values, Mapping):
        if other_spellings:
            raise SchemaError(f"declare spellings in the mapping `{key}` or here, not in both.", key=KEY)
        pairs = [_pair(value, words, key) for value, words in values.items()]
        values, other_spellings = tuple(value for value, _ in pairs), tuple(words for _, words in pairs)
    if isinstance(other_spellings, str) or not isinstance(other_spellings, Sequence):
        raise SchemaError(f"expected a list of spellings for each value, got {shown(other_spellings)}.", key=KEY)
    spellings = tuple(_words(words, "a value", KEY) for words in other_spellings)
    if not any(spellings):
        return values, ()
    if isinstance(values, str) or not isinstance(values, Sequence) or len(spellings) != len(values):
        problem = f"expected a list of spellings for each value, in the order of `{key}`"
        raise SchemaError(f"{problem}; got {number_of(len(spellings), 'list')}.", key=KEY)
    distinct = tuple(_other_words(value, words) for value, words in zip(values, spellings, strict=True))
    return values, distinct if any(distinct) else ()


def _other_words(value: Any, words: Iterable[Any]) -> tuple[Any, ...]:
    """Return the distinct words that differ from the value."""
    by_text = {plain_word(word): word for word in words}
    return tuple(word for text, word in by_text.items() if text != plain_word(value))


def _pair(value: Any, spellings: Any, key: str) -> tuple[Any, tuple[Any, ...]]:
    words = _words(spellings, shown(value), key)
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
    """Check that spellings are text or whole numbers, and that no spelling belongs to two values."""
    words = [word for group in spellings for word in group]
    problem = values_problem(words)
    if any(isinstance(word, bool) or not isinstance(word, (str, int)) for word in words):
        problem = f"spellings must be text or whole numbers, got {shown(spellings)}{_QUOTES}."
    if problem:
        raise SchemaError(problem, key=KEY)
    codes = dict.fromkeys(map(plain_word, taken), -1)
    for code, group in enumerate(zip(values, spellings, strict=True)):
        for word in (group[0], *group[1]):
            text = plain_word(word).lower() if ignores_case else plain_word(word)
            if codes.setdefault(text, code) != code:
                problem = f"the spelling {shown(word)} belongs to two values, or to a value and to missing_values"
                raise SchemaError(f"{problem}; list it once.", key=KEY)


def spelled(values: Sequence[Value], spellings: Spellings) -> tuple[tuple[Value, int], ...]:
    """Return the values, and after them their other spellings, each with the position of its value."""
    other_words = tuple((word, code) for code, group in enumerate(spellings) for word in group)
    return (*((value, code) for code, value in enumerate(values)), *other_words)


def domain_text(values: Sequence[Value], spellings: Spellings, most: int) -> str:
    """Return values as text, each followed by its other spellings."""
    if not spellings:
        return listed(values, most)
    pairs = zip(values, spellings, strict=True)
    parts = [f"{listed([value])} (also {listed(group)})" if group else listed([value]) for value, group in pairs]
    return ", ".join(parts[:most]) + (f", … ({len(parts)} values)" if len(parts) > most else "")


def similar_values(values: Sequence[str]) -> list[tuple[str, ...]]:
    """Return groups of two or more values that are usual spellings of the same value.

    The values of a group differ only in letter case, or there are more than two values, and all are words for no or
    yes.
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
    """Return for each value the usual other spellings that occur in a column of text and are not declared.

    Usual spellings differ from the value in letter case. For two values such as no and yes, they include other words
    for false and true.
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
    """Return the entry of a schema file that declares values with other spellings."""
    parts = [f"{_written(value)}: [{', '.join(map(_written, words))}]" for value, words in groups]
    return f"{key}: {{{', '.join(parts)}}}"


def _written(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)


def check_no_spellings(pairs: Iterable[tuple[str, Any]], what: str) -> None:
    """Raise SchemaError if an attribute has other spellings."""
    for name, attribute in pairs:
        if getattr(attribute, KEY, ()):
            problem = f"{what} compares cells literally and may treat two spellings of a value differently"
            raise SchemaError(f"{problem}; list each spelling under `values`.", attribute=name, key=KEY)
