"""Sets of trees: wishes, differences, files and pages."""

from itertools import product

import numpy as np
import pytest

from hedgerow.errors import ArgumentError, ModelFormatError, SchemaError
from hedgerow.models import Leaf, Split, Tree, TreeSet
from hedgerow.models.envelope import seal
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema

SCHEMA = Schema(
    {"age": Integer(0, 89, cuts=(30, 60)), "smoker": Boolean(), "<b>": Categorical(("x", "y"))},
    Label("y", ("no", "yes")),
)
CARD = PrivacyCard.none("example", software="hedgerow")
NO, YES = Leaf(label="no"), Leaf(label="yes")
YOUNG, SMOKER = Literal("age", "<=", (30,)), Literal("smoker", "true")
ROOTS = [
    Split(YOUNG, NO, Split(SMOKER, YES, NO)),
    Split(SMOKER, YES, NO),
    Split(SMOKER, Split(YOUNG, NO, YES), NO),
    Split(Literal("<b>", "=", ("x",)), YES, NO),
]
TREES = TreeSet(tuple(Tree(SCHEMA, root, CARD) for root in ROOTS))


def test_wishes_choose_a_tree():
    assert TREES.pick() == TREES.models[1]
    assert TREES.pick(without=["smoker"]) == TREES.models[3]
    assert TREES.pick(key=lambda tree: -tree.depth) == TREES.models[0]
    assert TREES.pick(max_leaves=2, key=lambda tree: "smoker" in tree.used_attributes) == TREES.models[3]


@pytest.mark.parametrize(
    ("wish", "error", "words"),
    [
        ({"max_leaves": 1}, ArgumentError, "no tree of the 4 suits; ask for less"),
        ({"without": ["age", "smoker", "<b>"]}, ArgumentError, "no tree of the 4 suits"),
        ({"without": ["sex"]}, SchemaError, "in without but not declared"),
        ({"without": "age"}, ArgumentError, "must be a list of attributes"),
        ({"max_leaves": 0}, ArgumentError, "max_leaves must be a whole number >= 1"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(wish, error, words):
    with pytest.raises(error, match=words):
        TREES.pick(**wish)


def test_differences_are_shares_of_all_combinations_of_bins():
    bins = [range(SCHEMA[name].n_bins) for name in SCHEMA]
    columns = dict(zip(SCHEMA.names, np.array(list(product(*bins))).T, strict=True))
    said = [[one.outcomes[i] for i in one.outcomes_of(columns, len(columns["age"]))] for one in TREES.models]
    expected = [[np.mean([a != b for a, b in zip(mine, theirs, strict=True)]) for theirs in said] for mine in said]
    assert np.allclose(TREES.differences(), expected)
    assert TREES.differences()[0, 2] == 0  # other tests, the same predictions


def test_a_set_is_read_as_it_was_written_and_not_if_it_was_edited(tmp_path):
    TREES.save(tmp_path / "set.json")
    assert TreeSet.load(tmp_path / "set.json") == TREES
    (tmp_path / "set.json").write_text((tmp_path / "set.json").read_text().replace('"yes"', '"maybe"', 1))
    with pytest.raises(ModelFormatError, match="digest does not match"):
        TreeSet.load(tmp_path / "set.json")
    other = Tree(SCHEMA, NO, PrivacyCard.none("another", software="hedgerow")).to_dict()
    for models, words in (([], "one tree or more"), ({}, "a list of trees"), ([1], "expected the format")):
        with pytest.raises(ModelFormatError, match=words):
            TreeSet.from_dict(seal({"format": TreeSet.format, "version": 1, "models": models}))
    mixed = {"format": TreeSet.format, "version": 1, "models": [TREES.models[0].to_dict(), other]}
    with pytest.raises(ModelFormatError, match="with one privacy card"):
        TreeSet.from_dict(seal(mixed))


def test_a_set_is_shown_side_by_side_and_names_are_escaped():
    page, text = TREES.to_page(), str(TREES)
    assert page.count("<svg") == 4
    assert "4 trees for y" in page
    assert all(f"tree {number} of 4" in text for number in range(1, 5))
    for shown in (page, TREES.to_html(), TREES._repr_html_()):
        assert "<b>:" not in shown
        assert "&lt;b&gt;" in shown
        assert f"{TREES.differences()[0, 1]:.1%}" in shown
    assert repr(TREES) == "<TreeSet of 4 trees; guarantee: none (example)>"
    assert len(TREES.plot()) == 4
    with pytest.raises(AttributeError, match="a set of trees has no to_sql; pick one of them"):
        TREES.to_sql()
