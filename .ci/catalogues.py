"""Update the catalogues of translations from the messages in the source.

python .ci/catalogues.py [LANGUAGE…]

Messages are the arguments of `_`, `ngettext`, `pgettext` and `gettext_noop` of `hedgerow.text.language`, and
``{% trans %}`` blocks of templates. A new message has an empty translation, or a similar one marked as fuzzy; both are
for a translator to fill in. Messages that the source no longer has are removed. The program prints what is left to do,
which `tests/text/test_catalogues.py` reports as failures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "hedgerow"
LOCALES = SOURCE / "text" / "locales"
METHODS = [("**.py", "python"), ("**/templates/**.html", babel_extract), ("**/templates/**.txt", babel_extract)]
OPTIONS = {
    f"**/templates/**.{ending}": {"trimmed": "true", "silent": "false", "newstyle_gettext": "true"}
    for ending in ("html", "txt")
}
KEYWORDS = {"_": None, "gettext": None, "gettext_noop": None, "N_": None, "ngettext": (1, 2), "pgettext": ((1, "c"), 2)}
KEYWORDS |= {"npgettext": ((1, "c"), 2, 3)}
UNUSED = (  # headers that would change with the time of the update and the version of Babel, or that nobody fills in
    "Generated-By", "Language-Team", "Last-Translator", "POT-Creation-Date", "PO-Revision-Date", "Project-Id-Version",
    "Report-Msgid-Bugs-To",
)  # fmt: skip
HEADER = "# Translations of hedgerow's sheets, forms and printed models. Updated by `make catalogues`."
VALUE = re.compile(r"\{(\w+)\}|%\((\w+)\)s")
TAG = re.compile(r"</?\w+[^>]*>")


def languages() -> list[str]:
    """Return the languages that have a catalogue."""
    return sorted(path.name for path in LOCALES.iterdir() if path.is_dir())


def extracted() -> Catalog:
    """Return all messages of the source, without translations."""
    template = Catalog(project="hedgerow", charset="utf-8", fuzzy=False)
    found = extract_from_dir(
        SOURCE, METHODS, OPTIONS, KEYWORDS, comment_tags=("Translators:",), strip_comment_tags=True
    )
    for path, line, message, comments, context in found:
        template.add(message, None, [(f"src/hedgerow/{path}", line)], auto_comments=comments, context=context)
    return template


def file_of(language: str) -> Path:
    """Return the catalogue of a language."""
    return LOCALES / language / "LC_MESSAGES" / "hedgerow.po"


def stored(language: str) -> Catalog:
    """Return the catalogue of a language as it is stored; an empty one if there is none."""
    if not file_of(language).exists():
        return Catalog(locale=language, project="hedgerow", charset="utf-8", fuzzy=False)
    with file_of(language).open(encoding="utf-8") as file:
        return read_po(file, locale=language)


def update(language: str) -> None:
    """Write the catalogue of a language with the messages of the source."""
    catalogue = stored(language)
    catalogue.update(extracted(), update_header_comment=False)
    catalogue.header_comment = HEADER
    path = file_of(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalogue, width=110, ignore_obsolete=True, sort_by_file=True, include_lineno=False)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(f'^"({"|".join(UNUSED)}): .*\n', "", text, flags=re.MULTILINE), encoding="utf-8")


def problems(template: Catalog, catalogue: Catalog) -> Iterator[str]:
    """Yield what a catalogue lacks, one line for each message."""
    is_french = str(catalogue.locale) == "fr"
    for message in template:
        if message.id:
            translation = catalogue.get(message.id, message.context)
            yield from (f"{fault}: {_first(message)!r}" for fault in _faults(message, translation, is_french))
    for message in catalogue:
        if message.id and template.get(message.id, message.context) is None:
            yield f"not in the source: {_first(message)!r}"


def _faults(message: Message, translation: Message | None, is_french: bool) -> Iterator[str]:
    strings = _forms(translation.string) if translation else ()
    if not strings or not all(strings):
        yield "not translated"
        return
    if translation.fuzzy:
        yield "marked as fuzzy"
    singular, plural = (_marks(text) for text in (_first(message), _forms(message.id)[-1]))
    if not all(singular <= _marks(text) <= plural for text in strings) or _marks(strings[-1]) != plural:
        yield "has other values or tags"
    if any(text != text.strip() for text in strings):
        yield "begins or ends with a space"
    if is_french and any(re.search(" [:;!?%»]|« ", text) for text in strings):
        yield "lacks a no-break space beside punctuation"


def _forms(texts: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _first(message: Message) -> str:
    return _forms(message.id)[0]


def _marks(text: str) -> set[str]:
    """Return the values and tags of a message."""
    return {*VALUE.findall(text.replace("{{", "").replace("}}", "")), *TAG.findall(text)}


def main() -> int:
    """Update all catalogues, or those that are named, and report what is left to do."""
    count = 0
    for language in sys.argv[1:] or languages():
        update(language)
        for problem in problems(extracted(), stored(language)):
            count += 1
            sys.stdout.write(f"{language}: {problem}\n")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main())
