"""README files of model repositories: YAML metadata for model hubs, and Markdown for people."""

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
_EXACT = "The file may contain exact statistics of the training rows, which can disclose individual rows."
_RELEASED = "The file contains released values only; making predictions spends no privacy budget."


def model_card(kind: str, words: str, schema: Schema, card: PrivacyCard, digest: str) -> str:
    """Return the README; names and values are code spans, in which neither Markdown nor HTML is interpreted."""
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
        _RELEASED if card.is_private else _EXACT,
        _block('import hedgerow as hr\n\nmodel = hr.load_model("model.json")\nmodel.predict(rows)', "python"),
        f"SHA-256 of the content of the model: {_code(digest)}",
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
        yield f"  epsilon: {Decimal(amount_text(card.epsilon)):f}"  # YAML reads a number with an exponent as text
        yield f"  delta: {Decimal(amount_text(card.delta)):f}"
        yield f"  unit: {_scalar(all_rows(card.unit, show=str))}"


def _scalar(text: str) -> str:
    """Return text as a YAML scalar, with escapes for the characters that YAML does not allow."""
    return _UNWRITABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(printable(text), ensure_ascii=False))


def _promise(card: PrivacyCard) -> str:
    if not card.is_private or card.epsilon is None:
        return f"**No privacy guarantee**: {_code(card.headline)}."
    unit = noun(card.unit, show=_code)
    if card.delta:
        return f"Guarantee: {_code(card.headline)} for each {unit}."
    largest = ceil(1000 / (1 + exp(-float(min(card.epsilon, 700))))) / 10
    return (
        f"Guarantee: {_code(card.headline)} for each {unit}. Someone who considers it 50 % probable that a given "
        f"{unit} is in the training table will, after reading the model, consider it at most {largest:g} % and at "
        f"least {100 - largest:.1f} % probable."
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
