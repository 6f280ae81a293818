"""Attributes, labels and charges as plain data for files, with checks of what is read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeVar, cast

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.privacy.amounts import exact, total
from hedgerow.privacy.charge import Charge, reasons
from hedgerow.privacy.facts import Fact, facts, facts_from_list
from hedgerow.privacy.unit import Unit
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.dates import Date
from hedgerow.schema.derivation import Derivation
from hedgerow.schema.derived import DERIVATIONS
from hedgerow.schema.grid import SCHEMA_VERSION, default_cuts
from hedgerow.schema.listed import Boolean, Categorical, Ordered
from hedgerow.schema.literals import name_problem
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.spellings import KEY
from hedgerow.schema.targets import Label, Number, OrderedLabel, Target
from hedgerow.schema.weights import Weight
from hedgerow.text.messages import near_miss, shown

FILL_IN = "FILL IN"  # the mark in a schema's file where a person has still to say something
MOST_FAULTS = 100  # the most faults of a schema that are looked for
T = TypeVar("T")
KINDS: dict[str, type[Attribute]] = {kind.kind: kind for kind in (Boolean, Categorical, Date, Integer, Ordered, Real)}
"""The kinds of attributes by their names in files."""


def format_version(attributes: Iterable[tuple[str, Attribute]]) -> int:
    """Return the version of the format in which a schema is written: the first in which its default grids are those.

    In version 1 the default grids of real numbers were others. A schema that has none of the later ones is written as
    before, so that files and digests of version 1 stay the same.
    """
    numbers = [attribute for _, attribute in attributes if isinstance(attribute, Real)]
    is_later = any(number.has_grid_of(SCHEMA_VERSION) and not number.has_grid_of(1) for number in numbers)
    return SCHEMA_VERSION if is_later else 1


def attribute_to_dict(attribute: Attribute, version: int) -> dict[str, Any]:
    """Return an attribute as JSON-ready data in a version of the format; its default grid is left out."""
    data = attribute.to_dict()
    if version == 1 and isinstance(attribute, Real) and attribute.has_grid_of(1):
        data.pop("cuts", None)
    return data


def attribute_from_dict(name: object, data: object, version: int = SCHEMA_VERSION) -> tuple[str, Attribute]:
    """Return the name and the attribute that plain data holds; SchemaError names the attribute and the key at fault."""
    text = _name(name)
    return text, _placed(text, lambda: _of_version(_attribute(dict(mapping(data, "the attribute"))), data, version))


def _of_version(attribute: Attribute, data: Any, version: int) -> Attribute:
    """Return a number with the default grid of an earlier version, if it declares no cut points."""
    if version == SCHEMA_VERSION or not isinstance(attribute, Real) or data.get("cuts", "auto") != "auto":
        return attribute
    return replace(attribute, cuts=default_cuts(attribute.low, attribute.high, whole=False, version=version))


def _placed(name: str, make: Callable[[], T]) -> T:
    """Return what is made; a fault of it is one of the attribute of this name."""
    try:
        return make()
    except SchemaError as error:
        problem = error.placed(attribute=name)
    raise problem


def _attribute(body: dict[str, Any]) -> Attribute:
    _check_filled(body)
    kind = body.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        near = near_miss(kind, KINDS)
        raise SchemaError(f"expected one of {', '.join(sorted(KINDS))}, got {shown(kind)}.{near}", key="kind")
    allowed, required = [field.name for field in fields(KINDS[kind])], KINDS[kind].required
    faults = key_faults(body, required=required, allowed=allowed)
    found = None
    if all(name in body for name in required):
        try:
            if body.get("derived") is not None:
                body["derived"] = derivation_from_dict(body["derived"])
            found = KINDS[kind](**{name: value for name, value in body.items() if name in allowed})
        except SchemaError as error:
            faults += error.faults
    if found is None or faults:
        raise SchemaError.of(faults)
    return found


def derivation_from_dict(data: object) -> Derivation:
    body = dict(mapping(data, "derived"))
    found = [key for key in DERIVATIONS if key in body]
    if len(found) != 1:
        raise SchemaError(f"expected one of the keys {', '.join(DERIVATIONS)}.", key="derived")
    kind, columns = DERIVATIONS[found[0]], body.pop(found[0])
    check_keys(body, required=kind.required, allowed=(*kind.required, *kind.optional))
    return kind.of(columns, **body)


def parts_from_dict(top: Mapping[str, Any]) -> dict[str, Any]:
    allowed = ("version", "label", "unit", "weight", "attributes", "charges", "void")
    if "attributes" not in top and any(key not in allowed and not near_miss(key, allowed) for key in top):
        # perhaps a table of private rows, whose keys are cells: none is quoted
        raise SchemaError(f"expected the key attributes, and none but {', '.join(allowed)}; found others.")
    faults = key_faults(top, required=("attributes",), allowed=allowed)
    version = top.get("version", SCHEMA_VERSION)
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        problem = f"expected 1 to {SCHEMA_VERSION}, got another; the file was written for another version of hedgerow."
        faults.append(SchemaError(problem, key="version"))

    def collected(make: Callable[[], T]) -> T | None:
        try:
            return make()
        except SchemaError as error:
            faults.extend(error.faults)
        return None

    readers: dict[str, Callable[[object], Any]]
    readers = {"label": label_from_dict, "unit": unit_from_dict, "weight": weight_from_dict}
    found = {key: collected(partial(read, top[key])) for key, read in readers.items() if top.get(key) is not None}
    attributes: list[Any] = []
    for name, body in (collected(lambda: mapping(top.get("attributes", {}), "attributes")) or {}).items():
        attributes.append(collected(lambda name=name, body=body: attribute_from_dict(name, body, version)))
        if len(faults) >= MOST_FAULTS:
            break
    charges = collected(lambda: charges_from_list(top.get("charges", [])))
    reasons = {"no_guarantee": collected(lambda: reasons_from_data(top.get("void")))}
    if faults:
        raise SchemaError.of(faults)
    return {**found, "attributes": tuple(attributes), "charges": charges, **reasons}


def _check_filled(body: Mapping[str, Any]) -> None:
    expected = {key: _EXPECTED.get(key, "what the reference of schemas says") for key in body if body[key] == FILL_IN}
    if expected:
        faults = [SchemaError(f"not filled in yet; expected {one}.", key=key) for key, one in expected.items()]
        raise SchemaError.of(faults)


_EXPECTED = {
    "kind": f"one of {', '.join(sorted(KINDS))}; or delete this line",
    "values": "the list of its values, from what the column means and not from the rows",
    "low": "the least value that it may have, from what the column means and not from the rows",
    "high": "the greatest value that it may have, from what the column means and not from the rows",
    "classes": "the list of the label's classes; of a number to predict, low and high in their place",
}


def label_from_dict(data: object) -> Target:
    body = dict(mapping(data, "label"))
    _placed(str(body.get("name")), lambda: _check_filled(body))
    if "classes" not in body and not {"low", "high"}.isdisjoint(body):
        check_keys(body, required=("name", "low", "high"), allowed=[field.name for field in fields(Number)])
        name = _name(body.pop("name"))
        return _placed(name, lambda: Number(name, **body))
    check_keys(body, required=("name", "classes"), allowed=("name", "classes", KEY, "ordered"))
    name, ordered = _name(body["name"]), body.get("ordered", False)
    if not isinstance(ordered, bool):
        raise SchemaError(f"expected true or false, got {shown(ordered)}.", attribute=name, key="ordered")
    classes = body["classes"]
    if not isinstance(classes, (list, tuple, Mapping)):
        raise SchemaError(f"expected a list, got {shown(classes)}.", attribute=name, key="classes")
    return (OrderedLabel if ordered else Label)(name, cast("Any", classes), body.get(KEY, ()))


def unit_from_dict(data: object) -> Unit:
    body = mapping(data, "unit")
    check_keys(body, required=("column", "max_rows"), allowed=("column", "max_rows"))
    column, problem = _name(body["column"]), None
    if body["max_rows"] == FILL_IN:
        raise SchemaError("not filled in yet; expected as max_rows how many rows of each to use, as in 1.", key="unit")
    try:
        return Unit(column, body["max_rows"])
    except ValueError as error:
        problem = str(error)
    raise SchemaError(problem, key="unit")


def weight_from_dict(data: object) -> Weight:
    body = dict(mapping(data, "weight"))
    check_keys(body, required=("name", "high"), allowed=("name", "high", "levels"))
    return Weight(_name(body.pop("name")), **body)


def _name(name: object) -> str:
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        problem = f"expected text for a name, got {shown(name)}"
        raise SchemaError(f"{problem}; in YAML, put quotes around yes, no, on, off and numbers.")
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
    expected = "expected charges as `hedgerow schema learn` writes them, found others"
    raise SchemaError(f"{expected}: {problem}.", key="charges")


def reasons_to_data(why: Sequence[Fact]) -> str | list[dict[str, Any]]:
    """Return why a schema has no guarantee as its files have it: somebody's own words alone, or a list of facts."""
    if len(why) == 1 and why[0].code == "text":
        return why[0]["text"]
    return [reason.to_dict() for reason in why]


def reasons_from_data(data: object) -> tuple[Fact, ...]:
    """Return why a schema has no guarantee, by its file: text, which is kept as such, or facts; SchemaError if not."""
    if data is None:
        return ()
    if isinstance(data, str) and data:
        return facts(data, "reason")
    problem = f"got {shown(data)}"
    try:
        if data and isinstance(data, list):
            return reasons(facts_from_list(data, "reason"))
    except ArgumentError as error:
        problem = str(error).rstrip(".")
    raise SchemaError(f"expected text, a list of reasons with their codes, or null; {problem}.", key="void")


def mapping(data: object, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise SchemaError(f"expected {what} to be a mapping, got {type(data).__name__}.")
    return data


def check_keys(data: Mapping[str, Any], *, required: Sequence[str], allowed: Sequence[str]) -> None:
    faults = key_faults(data, required=required, allowed=allowed)
    if faults:
        raise SchemaError.of(faults)


def key_faults(data: Mapping[str, Any], *, required: Sequence[str], allowed: Sequence[str]) -> list[SchemaError]:
    """Return a fault for each required key that is absent and, of the first few, each key that is not allowed."""
    absent = [SchemaError("expected this key, found none.", key=key) for key in required if key not in data]
    unknown = [str(key) for key in data if key not in allowed][:MOST_FAULTS]
    expected = f"unknown key; expected some of {', '.join(allowed)}."
    return absent + [SchemaError(f"{expected}{near_miss(key, allowed)}", key=key) for key in unknown]


def names_of(attributes: Iterable[tuple[Any, Any]]) -> set[str]:
    if not attributes:
        raise SchemaError("expected at least one attribute, got none.")
    found: set[str] = set()
    for name, attribute in attributes:
        problem = name_problem(name)
        if problem:
            raise SchemaError(problem, attribute=name if isinstance(name, str) else None)
        if name in found:
            raise SchemaError("expected each attribute once, got it more than once.", attribute=name)
        if not isinstance(attribute, Attribute):
            raise SchemaError(f"expected a kind of attribute, got {type(attribute).__name__}.", attribute=name)
        found.add(name)
    return found


def named(attributes: Any) -> tuple[tuple[str, Attribute], ...]:
    """Return attributes with their names; a table in their place is refused without being quoted."""
    if isinstance(attributes, Mapping):
        return tuple(cast("Mapping[str, Attribute]", attributes).items())
    kind = type(attributes).__name__
    problem = ArgumentTypeError(f"attributes must be a mapping of names to attributes, got {kind}.")
    pairs = guarded(lambda: tuple((name, attribute) for name, attribute in attributes), problem)
    if not all(isinstance(attribute, Attribute) for _, attribute in pairs):
        raise problem
    return pairs
