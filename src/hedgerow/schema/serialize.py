"""Attributes, labels and charges as plain data for files, and checks of the data that is read."""

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

FILL_IN = "FILL IN"  # the mark in a schema file for a value that a person must still provide
MOST_FAULTS = 100  # the check of a schema stops after this number of faults
T = TypeVar("T")
KINDS: dict[str, type[Attribute]] = {kind.kind: kind for kind in (Boolean, Categorical, Date, Integer, Ordered, Real)}
"""The kinds of attributes by their names in files."""


def format_version(attributes: Iterable[tuple[str, Attribute]]) -> int:
    """Return the version of the format in which a schema is written.

    It is the earliest version in which the schema's default grids are the same: version 1 had other default grids for
    real numbers. Files and digests of version 1 therefore stay the same.
    """
    numbers = [attribute for _, attribute in attributes if isinstance(attribute, Real)]
    is_later = any(number.has_grid_of(SCHEMA_VERSION) and not number.has_grid_of(1) for number in numbers)
    return SCHEMA_VERSION if is_later else 1


def attribute_to_dict(attribute: Attribute, version: int) -> dict[str, Any]:
    """Return an attribute as JSON-ready data in a version of the format, without the version's default grid."""
    data = attribute.to_dict()
    if version == 1 and isinstance(attribute, Real) and attribute.has_grid_of(1):
        data.pop("cuts", None)
    return data


def attribute_from_dict(name: object, data: object, version: int = SCHEMA_VERSION) -> tuple[str, Attribute]:
    """Return the name and the attribute that plain data describes; SchemaError names the attribute and the key."""
    text = _name(name)
    return text, _placed(text, lambda: _of_version(_attribute(dict(mapping(data, "the attribute"))), data, version))


def _of_version(attribute: Attribute, data: Any, version: int) -> Attribute:
    """Return a real number with its version's default grid, if it declares no cut points."""
    if version == SCHEMA_VERSION or not isinstance(attribute, Real) or data.get("cuts", "auto") != "auto":
        return attribute
    return replace(attribute, cuts=default_cuts(attribute.low, attribute.high, whole=False, version=version))


def _placed(name: str, make: Callable[[], T]) -> T:
    """Return the result of a function; a SchemaError names this attribute."""
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
    attribute = None
    if all(name in body for name in required):
        try:
            if body.get("derived") is not None:
                body["derived"] = derivation_from_dict(body["derived"])
            attribute = KINDS[kind](**{name: value for name, value in body.items() if name in allowed})
        except SchemaError as error:
            faults += error.faults
    if attribute is None or faults:
        raise SchemaError.of(faults)
    return attribute


def derivation_from_dict(data: object) -> Derivation:
    body = dict(mapping(data, "derived"))
    keys = [key for key in DERIVATIONS if key in body]
    if len(keys) != 1:
        got = " and ".join(keys) or "none of them"
        raise SchemaError(f"expected exactly one of the keys {', '.join(DERIVATIONS)}; got {got}.", key="derived")
    kind, columns = DERIVATIONS[keys[0]], body.pop(keys[0])
    check_keys(body, required=kind.required, allowed=(*kind.required, *kind.optional))
    return kind.of(columns, **body)


def parts_from_dict(top: Mapping[str, Any]) -> dict[str, Any]:
    allowed = ("version", "label", "unit", "weight", "attributes", "charges", "void")
    if "attributes" not in top and any(key not in allowed and not near_miss(key, allowed) for key in top):
        # It may be a table of private rows whose keys are cells: quote none of them.
        expected = f"allowed keys are {', '.join(allowed)}"
        raise SchemaError(f"not a schema: the key attributes is missing, and there are unknown keys; {expected}.")
    faults = key_faults(top, required=("attributes",), allowed=allowed)
    version = top.get("version", SCHEMA_VERSION)
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        problem = f"this hedgerow reads versions 1 to {SCHEMA_VERSION}, got {shown(version)}"
        faults.append(SchemaError(f"{problem}; install the hedgerow that wrote the file.", key="version"))

    def collected(make: Callable[[], T]) -> T | None:
        try:
            return make()
        except SchemaError as error:
            faults.extend(error.faults)
        return None

    readers: dict[str, Callable[[object], Any]]
    readers = {"label": label_from_dict, "unit": unit_from_dict, "weight": weight_from_dict}
    parts = {key: collected(partial(read, top[key])) for key, read in readers.items() if top.get(key) is not None}
    attributes: list[Any] = []
    for name, body in (collected(lambda: mapping(top.get("attributes", {}), "attributes")) or {}).items():
        attributes.append(collected(lambda name=name, body=body: attribute_from_dict(name, body, version)))
        if len(faults) >= MOST_FAULTS:
            break
    charges = collected(lambda: charges_from_list(top.get("charges", [])))
    reasons = {"no_guarantee": collected(lambda: reasons_from_data(top.get("void")))}
    if faults:
        raise SchemaError.of(faults)
    return {**parts, "attributes": tuple(attributes), "charges": charges, **reasons}


def _check_filled(body: Mapping[str, Any]) -> None:
    keys = [key for key in body if body[key] == FILL_IN]
    if keys:
        advice = {key: _TO_FILL_IN.get(key, "replace it by a value, or delete the key") for key in keys}
        raise SchemaError.of([SchemaError(f"still marked FILL IN; {advice[key]}.", key=key) for key in keys])


_TO_FILL_IN = {
    "kind": f"write one of {', '.join(sorted(KINDS))}, or delete the attribute",
    "values": "list the possible values, from the meaning of the column and not from the rows",
    "low": "write the smallest possible value, from the meaning of the column and not from the rows",
    "high": "write the largest possible value, from the meaning of the column and not from the rows",
    "classes": "list the classes; to predict a number, write low and high instead",
}


_EXAMPLE = "{name: ill, classes: ['no', 'yes']}"
_LABEL_KEYS = ("name", "classes", KEY, "ordered")


def label_from_dict(data: object) -> Target:
    if isinstance(data, str):
        expected = f"expected the column and its classes, such as {_EXAMPLE}"
        raise SchemaError(f"{expected}; to predict a number, write low and high.")
    body = dict(mapping(data, "label"))
    _placed(str(body.get("name")), lambda: _check_filled(body))
    of_number = [field.name for field in fields(Number)]
    if body.keys().isdisjoint(("classes", "low", "high")):
        needed = SchemaError(f"{_TO_FILL_IN['classes']}.", key="classes")
        raise SchemaError.of(
            [needed, *key_faults(body, required=("name",), allowed=tuple(dict.fromkeys((*_LABEL_KEYS, *of_number))))]
        )
    if "classes" not in body:
        check_keys(body, required=("name", "low", "high"), allowed=of_number)
        name = _name(body.pop("name"))
        return _placed(name, lambda: Number(name, **body))
    check_keys(body, required=("name", "classes"), allowed=_LABEL_KEYS)
    name, ordered = _name(body["name"]), body.get("ordered", False)
    if not isinstance(ordered, bool):
        raise SchemaError(f"expected true or false, got {shown(ordered)}.", attribute=name, key="ordered")
    classes = body["classes"]
    if not isinstance(classes, (list, tuple, Mapping)):
        raise SchemaError(f"expected a list of classes, got {shown(classes)}.", attribute=name, key="classes")
    return (OrderedLabel if ordered else Label)(name, cast("Any", classes), body.get(KEY, ()))


def unit_from_dict(data: object) -> Unit:
    body = mapping(data, "unit")
    check_keys(body, required=("column", "max_rows"), allowed=("column", "max_rows"))
    column, problem = _name(body["column"]), None
    if body["max_rows"] == FILL_IN:
        advice = "write the number of rows to use of each person at most, such as 1"
        raise SchemaError(f"max_rows is still marked FILL IN; {advice}.", key="unit")
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
        problem = f"a name must be text, got {shown(name)}"
        raise SchemaError(f"{problem}; in YAML, put quotes around yes, no, on, off and numbers.")
    return str(name)


def charges_to_list(charges: Sequence[Charge]) -> list[dict[str, Any]]:
    """Return charges as JSON-ready data without `declared`, which is true for every charge in a schema file."""
    return [replace(charge, declared=False).to_dict() for charge in charges]


def charges_from_list(data: object) -> tuple[Charge, ...]:
    """Return the charges that a schema file declares; SchemaError unless they have the form of `charges_to_list`."""
    problem = f"got {shown(data)}"
    try:
        if isinstance(data, list):
            charges = [Charge.from_dict(mapping(charge, "a charge")) for charge in data]
            for name in ("epsilon", "delta"):
                exact(total(getattr(charge, name) for charge in charges), f"the sum of {name}")
            if not any(charge.declared for charge in charges):
                return tuple(replace(charge, declared=True) for charge in charges)
            problem = "the key declared is allowed on privacy cards only"
    except ValueError as error:
        problem = str(error).rstrip(".")
    except (KeyError, TypeError):
        problem = "a charge lacks a key, or a value has the wrong type"
    raise SchemaError(f"expected a list of charges as written by `hedgerow schema learn`; {problem}.", key="charges")


def reasons_to_data(why: Sequence[Fact]) -> str | list[dict[str, Any]]:
    """Return the reasons against a guarantee as data for a file: a person's own text, or a list of facts."""
    if len(why) == 1 and why[0].code == "text":
        return why[0]["text"]
    return [reason.to_dict() for reason in why]


def reasons_from_data(data: object) -> tuple[Fact, ...]:
    """Return the reasons against a guarantee from the data of a file, a text or a list of facts; SchemaError if not."""
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
    """Return a fault for each absent required key, and for each of the first keys that are not allowed."""
    absent = [SchemaError("this key is required, but missing.", key=key) for key in required if key not in data]
    unknown = [str(key) for key in data if key not in allowed][:MOST_FAULTS]
    expected = f"unknown key; allowed keys are {', '.join(allowed)}."
    return absent + [SchemaError(f"{expected}{near_miss(key, allowed)}", key=key) for key in unknown]


def names_of(attributes: Iterable[tuple[Any, Any]]) -> set[str]:
    if not attributes:
        raise SchemaError("a schema needs at least one attribute, got none.")
    names: set[str] = set()
    for name, attribute in attributes:
        problem = name_problem(name)
        if problem:
            raise SchemaError(problem, attribute=name if isinstance(name, str) else None)
        if name in names:
            raise SchemaError("the attribute is listed more than once.", attribute=name)
        if not isinstance(attribute, Attribute):
            raise SchemaError(f"expected an Attribute, got {type(attribute).__name__}.", attribute=name)
        names.add(name)
    return names


def named(attributes: Any) -> tuple[tuple[str, Attribute], ...]:
    """Return attributes with their names; the error for any other object, such as a table, does not quote it."""
    if isinstance(attributes, Mapping):
        return tuple(cast("Mapping[str, Attribute]", attributes).items())
    kind = type(attributes).__name__
    problem = ArgumentTypeError(f"attributes must be a mapping of names to attributes, got {kind}.")
    pairs = guarded(lambda: tuple((name, attribute) for name, attribute in attributes), problem)
    if not all(isinstance(attribute, Attribute) for _, attribute in pairs):
        raise problem
    return pairs
