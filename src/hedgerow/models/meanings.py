"""What the attributes of a model mean, in the words of its schema: lines below its text, a list in its HTML."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from hedgerow.schema.schema import Schema
from hedgerow.values import printable


def meanings(schema: Schema, used: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the name and the meaning of each used attribute for which the schema has one, in its order."""
    return tuple((name, one.meaning) for name, one in schema.attributes if name in used and one.meaning)


def text_with_meanings(text: str, schema: Schema, used: Collection[str]) -> str:
    """Return the text of a model with a line for each used attribute that has a meaning."""
    lines = [f"{printable(name)}: {meaning}" for name, meaning in meanings(schema, used)]
    return "\n".join([text, "", *lines]) if lines else text


def meanings_html(schema: Schema, used: Collection[str]) -> str:
    """Return the meanings as an HTML list of terms, escaped; nothing where there are none."""
    found = meanings(schema, used)
    terms = "".join(f"<dt>{escape(printable(name))}</dt><dd>{escape(meaning)}</dd>" for name, meaning in found)
    return f"<dl>{terms}</dl>" if terms else ""
