"""The README of a model's repository: a head in YAML, as hubs of models read it, and Markdown for people."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from math import ceil, exp

from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.wording import all_rows, noun
from hedgerow.schema.schema import Schema
from hedgerow.text.values import printable

_UNWRITABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EXACT = "The file may hold exact functions of the rows it was learned from: whoever has it can learn of single rows."


def model_card(kind: str, words: str, schema: Schema, card: PrivacyCard, digest: str) -> str:
    """Return the text; names and values stand in code, where neither Markdown nor HTML is read."""
    head = "\n".join(_head(kind, schema, card, digest))
    label = schema.label
    title = f"# {kind.capitalize()}" + ("" if label is None else f" for {_code(label.name)}")
    parts = [
        f"---\n{head}\n---\n{title}",
        _promise(card),
        "## The model",
        _block(words),
        "## Privacy card",
        _block(str(card)),
        "## Use",
        "The file holds released values only: to predict costs no privacy." if card.is_private else _EXACT,
        _block('import hedgerow as hr\n\nmodel = hr.load_model("model.json")\nmodel.predict(rows)', "python"),
        f"SHA-256 of the model's content: {_code(digest)}",
    ]
    return "\n\n".join(parts) + "\n"


def _head(kind: str, schema: Schema, card: PrivacyCard, digest: str) -> Iterator[str]:
    tags = [kind.replace(" ", "-"), "interpretable", *(["differential-privacy"] if card.is_private else [])]
    yield "library_name: hedgerow"
    yield f"pipeline_tag: tabular-{'regression' if schema.target.as_number else 'classification'}"
    yield f"tags: {json.dumps(tags)}"
    yield "privacy:"
    yield f"  guarantee: {_scalar(card.headline)}"
    yield f"  digest: {_scalar(digest)}"
    if card.is_private and card.epsilon is not None and card.delta is not None:
        yield f"  epsilon: {Decimal(amount_text(card.epsilon)):f}"  # with an exponent YAML reads text
        yield f"  delta: {Decimal(amount_text(card.delta)):f}"
        yield f"  unit: {_scalar(all_rows(card.unit, show=str))}"


def _scalar(text: str) -> str:
    """Return text as a scalar of YAML, in which some characters may only be written by their number."""
    return _UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(printable(text), ensure_ascii=False))


def _promise(card: PrivacyCard) -> str:
    if not card.is_private or card.epsilon is None:
        return f"**No guarantee of privacy**: {_code(card.headline)}."
    unit = noun(card.unit, show=_code)
    if card.delta:
        return f"Guarantee: {_code(card.headline)} for each {unit}."
    most = ceil(1000 / (1 + exp(-float(min(card.epsilon, 700))))) / 10
    return (
        f"Guarantee: {_code(card.headline)} for each {unit}. A suspicion of 50 % that one was learned from becomes "
        f"at most {most:g} % by reading the model, and at least {100 - most:.1f} %."
    )


def _fence(content: str, least: int) -> str:
    return "`" * max(least, 1 + max((len(run) for run in re.findall("`+", content)), default=0))


def _code(content: str) -> str:
    shown = printable(content)
    fence = _fence(shown, 1)
    return f"{fence} {shown} {fence}" if "`" in shown else f"{fence}{shown}{fence}"


def _block(content: str, language: str = "text") -> str:
    fence = _fence(content, 3)
    return f"{fence}{language}\n{content}\n{fence}"
