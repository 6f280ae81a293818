"""Short descriptions of values for messages, without the contents of tables, and notes on errors."""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fractions import Fraction
from itertools import islice, starmap
from typing import Any

from hedgerow.text.days import Day


def shown(value: object) -> str:
    """Return a value for a message: its `repr` if that is short and plain, else its type.

    The `repr` of a frame would show rows.
    """
    return _shown(value, 0)


def describe_argument(value: object) -> str:
    """Return an argument for a message: a number or text itself, else its type, since a list can hold rows."""
    return _shown(value, _DEEPEST_SHOWN)


def number_of(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun in the singular or the plural."""
    return f"{count} {singular if count == 1 else plural or f'{singular}s'}"


def capitalised(text: str) -> str:
    """Return text with its first character in upper case."""
    return text[:1].upper() + text[1:]


def aligned(lines: Sequence[Sequence[str]], left: int, widest: int = 100) -> list[str]:
    """Return lines of aligned columns, the first `left` of them to the left; longer entries than `widest` stand out."""
    widths = [min(max(map(len, column)), widest) for column in zip(*lines, strict=True)]

    def filled(place: int, entry: str) -> str:
        return entry.ljust(widths[place]) if place < left else entry.rjust(widths[place])

    return ["  ".join(starmap(filled, enumerate(line))).rstrip() for line in lines]


def repeated(names: Iterable[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def near_miss(word: object, words: Iterable[str]) -> str:
    """Return `` Did you mean …?`` with the most similar of some words, or an empty string."""
    if not isinstance(word, str) or len(word) > _LONGEST_SHOWN:
        return ""
    known = [name for name in islice(words, _MOST_COMPARED) if len(name) <= _LONGEST_SHOWN]
    folded = {_folded(name): name for name in reversed(known)}
    matches = get_close_matches(_folded(word), folded, 1, _LIKE)
    return f" Did you mean {folded[matches[0]]!r}?" if matches else ""


def _folded(word: str) -> str:
    return "".join(filter(str.isalnum, word.casefold()))


_MOST_COMPARED, _LIKE = 1_000, 0.65
_MOST_SHOWN, _LONGEST_SHOWN, _DEEPEST_SHOWN = 6, 60, 2


def _shown(value: object, depth: int) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"a whole number of {value.bit_length()} bits"
    if type(value) in (int, float, bool, type(None), Fraction, Day):
        return repr(value)
    if type(value) is str:
        return repr(value) if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]!r}…"
    if type(value) not in (list, tuple, dict, set) or depth == _DEEPEST_SHOWN:
        return f"<{type(value).__name__}>"
    items: Any = value
    parts = [_shown(item, depth + 1) for _, item in zip(range(_MOST_SHOWN), items, strict=False)]
    if isinstance(value, dict):
        parts = [f"{part}: {_shown(value[key], depth + 1)}" for part, key in zip(parts, value, strict=False)]
    more = ["…"] if len(items) > _MOST_SHOWN else []
    first, last = {"list": "[]", "tuple": "()"}.get(type(value).__name__, "{}")
    return first + ", ".join(parts + more) + last


class ChargeNote(str):
    """A note on an error that states which charges stay."""

    # It has its own class, since notes of other libraries could quote values and are never shown.
    __slots__ = ()


class PlaceNote(str):
    """A note on an error that states where it was raised, such as for which dataset."""

    __slots__ = ()


def charge_notes(error: BaseException) -> list[ChargeNote]:
    """Return the notes on an error that state which charges stay."""
    return [note for note in _notes_of(error) if isinstance(note, ChargeNote)]


def place_notes(error: BaseException) -> list[PlaceNote]:
    """Return the notes on an error that state where it was raised."""
    return [note for note in _notes_of(error) if isinstance(note, PlaceNote)]


def add_charge_note(error: BaseException, note: ChargeNote) -> None:
    """Add a note to an error in place of its earlier notes about charges, which the new note includes."""
    # `add_note` is not used, since a class may override it.
    remove_charge_notes(error)
    vars(error)["__notes__"] = [*_notes_of(error), note]


def remove_charge_notes(error: BaseException) -> None:
    """Remove the notes about charges from an error."""
    if charge_notes(error):
        vars(error)["__notes__"] = [note for note in _notes_of(error) if not isinstance(note, ChargeNote)]


def _notes_of(error: BaseException) -> list[Any]:
    """Return the notes of an error, or an empty list if its class uses the name for something else."""
    notes = vars(error).get("__notes__")
    return notes if isinstance(notes, list) else []
