"""The language of sheets, forms and printed models: translations, and numbers and dates in the local notation.

The language is a context variable, English by default, so that threads and asynchronous tasks do not share it. The
catalogues ``locales/LANGUAGE/LC_MESSAGES/hedgerow.po`` have all messages; ``make catalogues`` updates them from the
source.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import cache, reduce
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from hedgerow.text.days import Day
from hedgerow.text.values import rounded_text

if TYPE_CHECKING:
    from babel import Locale

Language = Literal["en", "de", "fr"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
LOCALES = Path(__file__).with_name("locales")
_CURRENT: ContextVar[Language] = ContextVar("language", default="en")


def language() -> Language:
    """Return the current language."""
    return _CURRENT.get()


@contextmanager
def in_language(name: Language) -> Generator[None]:
    """Use a language in this thread or task while the block runs, or while the decorated function does.

    Raises ValueError if there is no catalogue of this name.
    """
    if name not in LANGUAGES:
        raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, got {name!r}.")
    token = _CURRENT.set(name)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def gettext(message: str, /, **values: object) -> str:
    """Return a message in the current language, with values in place of ``{name}``.

    Numbers among the values are written by `number`: whole numbers with marks between thousands.
    """
    return _filled(translations().gettext(message), values)


_ = gettext


def ngettext(singular: str, plural: str, count: int, /, **values: object) -> str:
    """Return the form of a message that fits a count, which is also the value of ``{count}``."""
    return _filled(translations().ngettext(singular, plural, count), {"count": count, **values})


def pgettext(context: str, message: str, /, **values: object) -> str:
    """Return a message that has several translations, by the context that tells them apart."""
    return _filled(translations().pgettext(context, message), values)


def gettext_noop(message: str, /) -> str:
    """Return a message as it is, and mark it for the catalogues: a constant that `gettext` translates when shown."""
    return message


N_ = gettext_noop


def enumerated(items: Iterable[str]) -> str:
    """Return the items of a list in a sentence; empty if there are none."""
    first, *rest = [*items] or [""]
    return reduce(lambda text, item: _("{items}; {item}", items=text, item=item), rest, first)


def number(value: float | str, /) -> str:
    """Return a number, or its text in Python such as ``1,234.5`` or ``2.5e-06``, in the local notation."""
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.translate(_marks(language()))


def significant(value: float, digits: int = 4) -> str:
    """Return a number rounded to significant digits, in the local notation."""
    return number(rounded_text(value, digits))


def decimal(value: float, places: int) -> str:
    """Return a number with a fixed number of decimals."""
    return number(f"{value:,.{places}f}")


def percent(share: float, places: int = 0) -> str:
    """Return a share, such as 0.123, as a percentage with a fixed number of decimals, such as ``12 %``."""
    return percentage(f"{100 * share:.{places}f}")


def percentage(value: float | str, /) -> str:
    """Return a percentage, such as 12 or the text ``12.5``, with the percent sign."""
    return number(value) + _percent_sign(language())


def long_date(day: date) -> str:
    """Return a date: ``2026-11-30`` in English, with the name of the month in other languages."""
    if language() == "en":
        return day.isoformat()
    from babel.dates import format_date

    return format_date(day, "long", locale=language())


def _filled(message: str, values: Mapping[str, object]) -> str:
    return message.format_map({name: local_text(value) for name, value in values.items()})


def local_text(value: object) -> str:
    """Return a value of a message: a plain number in the local notation, anything else as its own text."""
    if isinstance(value, (int, float)) and not isinstance(value, (bool, Day)):
        return number(value)
    return str(value)


@cache
def _locale(name: Language) -> Locale:
    from babel import Locale

    return Locale.parse(name)


@cache
def _marks(name: Language) -> dict[int, str]:
    """Return the local marks in place of Python's, for `str.translate`."""
    if name == "en":
        return {}
    from babel.numbers import get_decimal_symbol, get_group_symbol

    return str.maketrans({",": get_group_symbol(name), ".": get_decimal_symbol(name)})


@cache
def _percent_sign(name: Language) -> str:
    return " %" if name == "en" else _locale(name).percent_formats[None].suffix[0]


def translations() -> NullTranslations:
    """Return the catalogue of the current language, whose messages have no values yet."""
    return _catalogue(language())


@cache
def _catalogue(name: Language) -> NullTranslations:
    if name == "en":
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with (LOCALES / name / "LC_MESSAGES" / "hedgerow.po").open(encoding="utf-8") as file:
        catalogue = read_po(file, locale=name)
    write_mo(compiled := BytesIO(), catalogue)
    compiled.seek(0)
    return GNUTranslations(compiled)
