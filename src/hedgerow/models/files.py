"""Model files of any kind."""

from __future__ import annotations

import sys
from dataclasses import fields
from fractions import Fraction
from os import PathLike
from typing import Any, cast

from hedgerow.errors import ArgumentError, ModelFormatError
from hedgerow.models import envelope
from hedgerow.models.model import Model
from hedgerow.models.rule_list import RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.models.tree import Tree
from hedgerow.text.days import Day

KINDS: tuple[type[Model], ...] = (RuleList, Tree, Scorecard)
"""The kinds of models, one for each format of a file."""


def load_model(path: str | PathLike[str]) -> Model:
    """Read a model from a JSON file of any kind of model.

    Parameters
    ----------
    path : str or path
        A file written by the method `save` of a model, or by ``hedgerow fit``.

    Raises
    ------
    ModelFormatError
        If the file is of no known kind, truncated, or was edited.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hedgerow.models import Rule
    >>> from hedgerow.privacy.card import PrivacyCard
    >>> from hedgerow.schema import Boolean, Label, Schema
    >>> schema = Schema({"smoker": Boolean()}, Label("ill", ("no", "yes")))
    >>> path = Path(tempfile.mkdtemp(), "model.json")
    >>> RuleList(schema, (Rule((), label="no"),), PrivacyCard.none("example", software="hedgerow")).save(path)
    >>> load_model(path)
    <RuleList of 1 rule; guarantee: none (example)>
    """
    return envelope.read(path, lambda text: model_from_dict(envelope.parse(text)))


def model_from_dict(data: Any) -> Model:
    """Return the model of any kind that the data of a file hold."""
    for kind in KINDS:
        if isinstance(data, dict) and data.get("format") == kind.format:
            return kind.from_dict(data)
    expected = ", ".join(kind.format for kind in KINDS)
    raise ModelFormatError(f"expected one of the formats {expected}; got {envelope.format_of(data)}.")


def rebuilt(model: object) -> Model | None:
    """Return a copy made of the text of a model's file; None of anything that is not of exactly a known kind."""
    # Declared fields of hedgerow's classes and plain values are copied: code attached to the object is not run.
    kind = next((kind for kind in KINDS if type(model) is kind), None)
    return None if kind is None else kind.from_json(_plain_copy(cast("Model", model)).to_json())


_PLAIN = (str, int, float, bool, type(None), Day)


def _plain_copy(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN or (kind is Fraction and type(value.numerator) is type(value.denominator) is int):
        return value
    if kind is tuple:
        return tuple(map(_plain_copy, value))
    if kind is dict:
        return {_plain_copy(key): _plain_copy(part) for key, part in value.items()}
    if not getattr(getattr(kind, "__dataclass_params__", None), "frozen", False) or not _is_ours(kind):
        raise ArgumentError(f"it holds an object of type {kind.__name__}, which could run code of its own")
    copied = object.__new__(kind)
    for field in fields(cast("Any", kind)):
        object.__setattr__(copied, field.name, _plain_copy(object.__getattribute__(value, field.name)))
    return copied


def _is_ours(kind: type) -> bool:
    """Return whether a class is the one that a module of hedgerow has under its name."""
    module = kind.__module__
    return module.startswith("hedgerow.") and vars(sys.modules.get(module, sys)).get(kind.__name__) is kind
