"""The expression of a model's class against `predict`, for every row of a small domain."""

from itertools import product

import pyarrow as pa
import pytest

from hedgerow.engines.marginals import FAILS, predicted_class
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema
from tests.engines.load import into_duckdb

NONE = PrivacyCard.none("example", software="hedgerow")
KINDS = {"n": Integer(0, 9, cuts=(2, 5, 7)), "c": Categorical(("x", "y", "z")), "b": Boolean(), "unused": Boolean()}
SCHEMA = Schema(KINDS, Label("y", ("high", "low", "mid")))
MIDDLE, NOT_Y, TRUE = Literal("n", "between", (2, 7)), Literal("c", "!=", ("y",)), Literal("b", "true")
MODELS = {
    "list": RuleList(
        SCHEMA, (Rule((MIDDLE, NOT_Y), label="mid"), Rule((TRUE,), label="low"), Rule((), label="high")), NONE
    ),
    "tree": Tree(SCHEMA, Split(NOT_Y, Split(MIDDLE, Leaf(label="mid"), Leaf(label="low")), Leaf(label="high")), NONE),
    "one leaf": Tree(SCHEMA, Leaf(label="low"), NONE),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_class_matches_predict_and_failing_rows_have_none(name):
    model, used = MODELS[name], MODELS[name].used_attributes
    assert used == {"list": ("n", "c", "b"), "tree": ("n", "c"), "one leaf": ()}[name]
    rows = list(product(range(-1, 4), range(-1, 3), range(-1, 2)))  # -1: not allowed
    names = ("n", "c", "b")
    table = into_duckdb(pa.table({"i": range(len(rows)), **dict(zip(names, zip(*rows, strict=True), strict=True))}))
    result = table.select("i", p=predicted_class(model, {a: table[a] for a in used}, SCHEMA.classes))
    codes = result.to_pyarrow().sort_by("i")["p"].to_pylist()
    values = {"n": [1, 3, 6, 9], "c": ["x", "y", "z"], "b": [False, True]}
    for row, code in zip(rows, codes, strict=True):
        bins = dict(zip(names, row, strict=True))
        if any(bins[a] < 0 for a in used):
            assert code == FAILS
        else:
            item = {a: [values[a][max(bins[a], 0)]] for a in names} | {"unused": [False]}
            assert SCHEMA.classes[code] == model.predict(pa.table(item))[0]


def test_classes_may_be_numbered_in_another_order():
    table = into_duckdb(pa.table({"b": [0, 1]}))
    expression = predicted_class(MODELS["one leaf"], {}, ("mid", "high", "low"))
    assert table.select(p=expression).to_pyarrow()["p"].to_pylist() == [2, 2]
