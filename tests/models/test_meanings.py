"""What the attributes of a model mean, below its text and in its HTML."""

from html import escape

import pytest

import hedgerow as hr
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Literal

CARD = PrivacyCard.none("example", software="hedgerow")
ATTRIBUTES = {
    "age": hr.Integer(0, 120, (60,), description="at <admission>", unit="years", source="form A3"),
    "dose": hr.Real(0, 1, (0.5,), unit="mg"),
    "ill": hr.Boolean(description="of what, nobody asks"),
}
LABEL = hr.Label("y", (0, 1))
LINES = ["age: at <admission>, in years (source: form A3)", "dose: in mg"]
OLD, STRONG = Literal("age", ">", (60,)), Literal("dose", ">", (0.5,))


def models(schema):
    rules = (Rule((OLD,), label=1), Rule((STRONG,), label=1), Rule((), label=0))
    points = tuple(hr.models.AttributePoints(name, ((0,), (1,))) for name in ("age", "dose"))
    yield RuleList(schema, rules, CARD)
    yield Tree(schema, Split(OLD, Leaf(label=1), Split(STRONG, Leaf(label=1), Leaf(label=0))), CARD)
    yield hr.models.Scorecard(schema, (-1,), points, 0.2, 0.3, CARD)


@pytest.mark.parametrize("place", range(3))
def test_only_what_a_model_uses_is_explained(place):
    told = list(models(hr.Schema(ATTRIBUTES, LABEL)))[place]
    plain = list(models(hr.Schema({"age": hr.Integer(0, 120, (60,)), "dose": hr.Real(0, 1, (0.5,))}, LABEL)))[place]
    assert str(told) == "\n".join([str(plain), "", *LINES])
    terms = "".join(
        f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in (x.split(": ", 1) for x in LINES)
    )
    assert f"<dl>{terms}</dl>" in told.to_html()
    assert "<dl>" not in plain.to_html()
    assert type(told).from_json(told.to_json()) == told


def test_meanings_are_in_the_schemas_order():
    points = tuple(hr.models.AttributePoints(name, ((0,), (1,))) for name in ("ill", "age"))
    told = str(hr.models.Scorecard(hr.Schema(ATTRIBUTES, LABEL), (-1,), points, 0.2, 0.3, CARD))
    assert told.endswith(f"\n\n{LINES[0]}\nill: of what, nobody asks")
