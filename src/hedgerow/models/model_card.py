"""The README of a model's repository: a head in YAML, as hubs of models read it, and Markdown for people."""

from __future__ import annotations

import json
import re
from math import ceil, exp
from typing import TYPE_CHECKING, Any

from hedgerow.privacy.charge import amount_text
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from hedgerow.models.model import Model


def model_card(model: Model, digest: str) -> str:
    """Return the text; names and values stand in code, where neither Markdown nor HTML is read."""
    head = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in _head(model, digest).items())
    label = model.schema.label
    title = f"# {model.kind.capitalize()}" + ("" if label is None else f" for {_code(label.name)}")
    parts = [
        f"---\n{head}\n---\n{title}",
        _promise(model),
        "## The model",
        _block(str(model)),
        "## Privacy card",
        _block(str(model.privacy)),
        "## Use",
        "The file holds released values only: to predict costs no privacy.",
        _block('import hedgerow as hr\n\nmodel = hr.load_model("model.json")\nmodel.predict(rows)', "python"),
        f"SHA-256 of the model's content: {_code(digest)}",
    ]
    return "\n\n".join(parts) + "\n"


def _head(model: Model, digest: str) -> dict[str, Any]:
    card = model.privacy
    privacy: dict[str, Any] = {"guarantee": printable(card.headline), "digest": digest}
    if card.is_private and card.epsilon is not None and card.delta is not None:
        unit = "one row" if card.unit is None else f"all rows of one {printable(card.unit.column)}"
        privacy |= {"epsilon": float(amount_text(card.epsilon)), "delta": float(amount_text(card.delta)), "unit": unit}
    learned = ["differential-privacy"] if card.is_private else []
    return {
        "library_name": "hedgerow",
        "pipeline_tag": "tabular-regression" if model.schema.target.as_number else "tabular-classification",
        "tags": [model.kind.replace(" ", "-"), "interpretable", *learned],
        "privacy": privacy,
    }


def _promise(model: Model) -> str:
    card = model.privacy
    if not card.is_private or card.epsilon is None:
        return f"**No guarantee of privacy**: {_code(card.headline)}."
    unit = "row" if card.unit is None else f"{_code(card.unit.column)}"
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
