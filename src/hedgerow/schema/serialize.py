"""Attributes, labels and charges as plain data for files, with checks of what is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, fields, replace
from functools import cache
from typing import Any

from hedgerow.errors import SchemaError
from hedgerow.messages import shown
from hedgerow.privacy.amounts import exact, total
from hedgerow.privacy.charge import Charge
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.label import Label
from hedgerow.schema.numbers import Integer, Real

KINDS: dict[str, type[Attribute]] = {kind.kind: kind for kind in (Boolean, Categorical, Integer, Real)}


@cache
def _own_first(kind: type[Attribute]) -> list[Field[Any]]:
    return sorted(fields(kind), key=lambda field: bool(field.kw_only))


def attribute_to_dict(attribute: Attribute) -> dict[str, Any]:
    """Return an attribute as JSON-ready data; defaults are left out."""
    data: dict[str, Any] = {"kind": attribute.kind}
    grid = isinstance(attribute, (Integer, Real)) and attribute.has_default_cuts
    for field in _own_first(type(attribute)):
        value = getattr(attribute, field.name)
        if value != field.default and not (grid and field.name == "cuts"):
            data[field.name] = list(value) if isinstance(value, tuple) else value
    return data


def attribute_from_dict(name: object, data: object) -> tuple[str, Attribute]:
    """Return the name and the attribute that plain data holds; SchemaError names the attribute and the key at fault."""
    text = _name(name)
    try:
        body = dict(mapping(data, "the attribute"))
        kind = body.pop("kind", None)
        if not isinstance(kind, str) or kind not in KINDS:
            raise SchemaError(f"expected one of {', '.join(sorted(KINDS))}, got {shown(kind)}.", key="kind")
        allowed = fields(KINDS[kind])
        required = [field.name for field in allowed if field.name in ("low", "high", "values")]
        check_keys(body, required=required, allowed=[field.name for field in allowed])
        return text, KINDS[kind](**body)
    except SchemaError as error:
        message, key = str(error), error.key
    raise SchemaError(message.removeprefix(f"key {key!r}: "), attribute=text, key=key)


def label_from_dict(data: object) -> Label:
    """Return the label that plain data holds; SchemaError names the key at fault."""
    body = mapping(data, "label")
    check_keys(body, required=("name", "classes"), allowed=("name", "classes"))
    name = _name(body["name"])
    if not isinstance(body["classes"], (list, tuple)):
        raise SchemaError(f"expected a list, got {shown(body['classes'])}.", attribute=name, key="classes")
    return Label(name, tuple(body["classes"]))


def _name(name: object) -> str:
    """Return a name that was read as text or as a whole number."""
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise SchemaError(
            f"expected text for a name, got {shown(name)}; in YAML, put quotes around yes, no, on, off and numbers."
        )
    return str(name)


def charges_to_list(charges: Sequence[Charge]) -> list[dict[str, Any]]:
    """Return charges as JSON-ready data; in a schema's file all are declared, so `declared` is left out."""
    return [replace(charge, declared=False).to_dict() for charge in charges]


def charges_from_list(data: object) -> tuple[Charge, ...]:
    """Return the charges that a schema's file declares; SchemaError if they are not what `charges_to_list` writes."""
    problem = "not a list of charges"
    try:
        if isinstance(data, list):
            charges = [Charge.from_dict(mapping(charge, "a charge")) for charge in data]
            for name in ("epsilon", "delta"):
                exact(total(getattr(charge, name) for charge in charges), f"the sum of {name}")
            if not any(charge.declared for charge in charges):
                return tuple(replace(charge, declared=True) for charge in charges)
            problem = "a charge has the key declared, which is for cards only"
    except ValueError as error:
        problem = str(error).rstrip(".")
    except (KeyError, TypeError):
        problem = "a charge lacks a key, or has a value of another type"
    raise SchemaError(
        f"expected charges as `hedgerow schema learn` writes them, found others: {problem}.", key="charges"
    )


def mapping(data: object, what: str) -> Mapping[str, Any]:
    """Return `data` if it is a mapping, or raise SchemaError."""
    if not isinstance(data, Mapping):
        raise SchemaError(f"expected {what} to be a mapping, got {type(data).__name__}.")
    return data


def check_keys(data: Mapping[str, Any], *, required: Sequence[str], allowed: Sequence[str]) -> None:
    """Raise SchemaError for a required key that is absent or a key that is not allowed."""
    for key in required:
        if key not in data:
            raise SchemaError("expected this key, found none.", key=key)
    for key in data:
        if key not in allowed:
            raise SchemaError(f"unknown key; expected some of {', '.join(allowed)}.", key=str(key))
