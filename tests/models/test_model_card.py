"""The README of a model's repository: hubs read its head, and no name of others' is read as Markdown or HTML."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest

import hedgerow as hr
from hedgerow.models import Leaf, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Label, Number, Schema, Unit
from tests.models.scorecards import TWO

EVIL = "`x` ```\n---\n# <script>alert(1)</script> {{ x }} [a](b)"


def card(epsilon, delta=0, **given):
    return PrivacyCard((Charge("draw", Fraction(epsilon), Fraction(delta), **given),), noise="n", software="s")


def tree(schema, privacy):
    return Tree(schema, Leaf(label=schema.target.values[0]), privacy)


def head(text):
    yaml = pytest.importorskip("yaml")
    begin, result, _ = text.split("---\n", 2)
    assert begin == ""
    return yaml.safe_load(result)


def test_the_metadata_have_the_fields_that_hubs_and_officers_need():
    model = tree(Schema({"a": hr.Boolean()}, Label("ill", ("no", "yes"))), card("1/2"))
    text = model.to_model_card()
    assert "\n# Tree for `ill`\n" in text
    result = head(text)
    assert result == {
        "library_name": "hedgerow",
        "pipeline_tag": "tabular-classification",
        "tags": ["tree", "interpretable", "differential-privacy"],
        "privacy": {
            "guarantee": "epsilon-differential privacy with epsilon = 0.5",
            "digest": model.to_dict()["digest"],
            "epsilon": 0.5,
            "delta": 0.0,
            "unit": "one row",
        },
    }
    number = tree(Schema({"a": hr.Boolean()}, Number("days", 0, 30)), card("1"))
    assert head(number.to_model_card())["pipeline_tag"] == "tabular-regression"


def test_the_promise_is_rounded_up():
    for epsilon in ("1/1000", "1/3", "1", "9", "1000"):
        text = tree(Schema({"a": hr.Boolean()}, Label("ill", ("no", "yes"))), card(epsilon)).to_model_card()
        (most,) = re.findall(r"at most ([\d.]+) % and", text)
        exactly = 100 / (1 + exp(-float(Fraction(epsilon)) if Fraction(epsilon) < 700 else -700))
        assert exactly <= float(most) <= min(exactly + 0.1001, 100)


def test_without_a_guarantee_none_is_stated():
    text = tree(Schema({"a": hr.Boolean()}, Label("ill", ("no", "yes"))), PrivacyCard.none("by hand")).to_model_card()
    assert "**No privacy guarantee**: `none (by hand)`." in text
    assert head(text)["tags"] == ["tree", "interpretable"]
    assert "epsilon" not in head(text)["privacy"]
    assert "released values only" not in text


def test_the_readme_states_persons_and_delta():
    schema = Schema({"a": hr.Boolean()}, Label("ill", ("no", "yes")))
    person = tree(schema, card("1", unit=Unit("who", 3)))
    assert head(person.to_model_card())["privacy"]["unit"] == "all rows of one who"
    approximate = tree(schema, card("1/1000000", "1/100000")).to_model_card()
    assert head(approximate)["privacy"]["delta"] == 1e-5
    assert head(approximate)["privacy"]["epsilon"] == 1e-6
    odd = tree(schema, card("1", unit=Unit("pat\uffffient \U0001f600", 3)))
    assert head(odd.to_model_card())["privacy"]["unit"] == "all rows of one pat\uffffient \U0001f600"
    assert "50 %" not in approximate


def test_names_stay_inside_code_spans():
    schema = Schema({EVIL: hr.Categorical((EVIL, "b"))}, Label(f"{EVIL}!", (EVIL, "no")))
    text = tree(schema, replace(card("1"), notes=(EVIL,))).to_model_card()
    assert head(text)["library_name"] == "hedgerow"
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", text.split("---\n", 2)[2])
    outside = re.sub(r"(`+) .*? \1", "", outside)
    assert "<script>" not in outside
    assert "[a](b)" not in outside


@pytest.mark.parametrize("model", [TWO, tree(Schema({"a": hr.Boolean()}, Label("i", ("no", "yes"))), card("1"))])
def test_a_hub_reads_it(model):
    hub = pytest.importorskip("huggingface_hub", reason="huggingface-hub is not installed; make test installs it")
    result = hub.ModelCard(model.to_model_card())
    assert result.data.library_name == "hedgerow"
    assert result.data.pipeline_tag == "tabular-classification"
    assert json.loads(json.dumps(result.data.to_dict()))["privacy"]["digest"] == model.to_dict()["digest"]
    assert "## Privacy card" in result.text
