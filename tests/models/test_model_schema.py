"""The published JSON Schema of model files: it takes what every kind of model writes, and no other form."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.files import KINDS
from hedgerow.models.model import Model
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Number, OrderedLabel, Schema
from hedgerow.schema.derived import DERIVATIONS
from hedgerow.schema.serialize import KINDS as ATTRIBUTES
from tests.models import fact_schema, strategies
from tests.schema.derived_values import schema as derived_schema

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "reference" / "model-2.schema.json"
FROZEN = {2: "13e91a7770a816826f01da0a6e49344103f8c2ea9e31c97630c25cf6a74eb07e"}
"""The SHA-256 of the schema of each version: a file that it refused, or another form, has another version."""
SCHEMA = json.loads(PUBLISHED.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
MODELS = {
    "rule-list": strategies.rule_lists(strategies.cards()),
    "tree": strategies.trees(strategies.cards()),
    "scorecard": strategies.scorecards(strategies.cards()),
    "number": strategies.number_scorecards(),
}
NONE = PrivacyCard.none("example", software="hedgerow")


def number_models() -> Iterator[Model]:
    """Yield models of a number, and of ordered classes, with all that a leaf can have."""
    number = Schema({"a": Boolean()}, Number("days", 0, 32, 4, outside="error"))
    (literal,) = number["a"].literals("a", negations=False)
    yield Tree(number, Split(literal, Leaf(label=4.0, mean=3.5, sums=(-2, 7)), Leaf(label=12.0)), NONE)
    yield Tree(number, Split(literal, Leaf(label=4.0, mean=3.5), Leaf((1, 2, 3, 4))), NONE)
    ordered = Schema(number.attributes, OrderedLabel("risk", ("low", "high")))
    yield RuleList(ordered, (Rule((literal,), label="high", probabilities=(0.25, 0.75)), Rule((), (1, 2))), NONE)
    derived = derived_schema(np.random.default_rng(1))
    yield RuleList(derived, (Rule((), (1,) * len(derived.classes)),), NONE)


def faults(data: Any) -> list[str]:
    return [fault.message for fault in VALIDATOR.iter_errors(data)]


def test_it_is_a_schema_and_frozen() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    version = max(kind.version for kind in KINDS)
    assert PUBLISHED.name == f"model-{version}.schema.json"
    assert SCHEMA["$id"] == f"urn:hedgerow:model:{version}"
    assert hashlib.sha256(PUBLISHED.read_bytes()).hexdigest() == FROZEN[version]


def test_the_package_of_r_has_the_same_file() -> None:
    assert (ROOT / "r" / "inst" / PUBLISHED.name).read_bytes() == PUBLISHED.read_bytes()


@pytest.mark.parametrize("kind", MODELS)
@given(data=st.data())
def test_it_takes_the_files_of_models(data: st.DataObject, kind: str) -> None:
    assert not faults(json.loads(data.draw(MODELS[kind]).to_json()))


def test_it_takes_models_of_numbers_ordered_classes_and_derived_attributes() -> None:
    for model in number_models():
        assert not faults(json.loads(model.to_json()))


def test_it_has_the_forms_of_all_facts() -> None:
    for kind in fact_schema.KINDS:
        assert SCHEMA["$defs"][kind] == fact_schema.definition(kind), kind


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value of data, but not of a whole model."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


FREE = ("mapping", "attributes")  # whose keys are names


@pytest.mark.parametrize("kind", MODELS)
@given(data=st.data())
def test_it_refuses_other_files(data: st.DataObject, kind: str) -> None:
    whole = json.loads(data.draw(MODELS[kind]).to_json())
    path = data.draw(st.sampled_from(list(places(whole))))
    broken = deepcopy(whole)
    *above, last = path
    holder = broken
    for key in above:
        holder = holder[key]
    holder[last] = {"": [None]}  # of no kind that any place has
    assert faults(broken)
    if isinstance(holder, dict) and not (above and above[-1] in FREE):
        added = deepcopy(whole)
        holder = added
        for key in above:
            holder = holder[key]
        holder["another key"] = 1
        assert faults(added)


def test_it_has_every_key_of_the_form() -> None:
    named = {"integer": "number", "real": "number", "date": "dates", "boolean": "boolean"}
    for kind, made in ATTRIBUTES.items():
        keys = set(SCHEMA["$defs"][named.get(kind, "listed-attribute")]["properties"])
        declared = {field.name for field in fields(made)}
        never = {"outside", "monotone", "derived"} if kind == "boolean" else set()
        assert keys | {"format"} >= declared - never, kind
    text = json.dumps(SCHEMA["$defs"]["derived"])
    for key, derivation in DERIVATIONS.items():
        assert all(f'"{item}"' in text for item in (key, *derivation.required, *derivation.optional))
    assert {field.name for field in fields(Leaf)} <= set(SCHEMA["$defs"]["leaf"]["properties"])
    assert {kind.format for kind in KINDS} == set(SCHEMA["properties"]["format"]["enum"])
