"""Sets of trees: wishes, differences, files and pages."""

from itertools import product
from time import process_time

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ArgumentError, ModelFormatError, SchemaError
from hedgerow.models import Leaf, Split, Tree, TreeSet
from hedgerow.models.envelope import seal
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema
from tests.models.large_models import tree

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
        ({"without": 5}, TypeError, "without must be a list of attributes, got int"),
        ({"without": None}, TypeError, "without must be a list of attributes, got NoneType"),
        ({"without": [["age"]]}, SchemaError, "in without but not declared"),
        ({"key": 3}, TypeError, "key must be a function of a tree, got int"),
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
    assert not TreeSet((Tree(SCHEMA, NO, CARD),) * 2).differences().any()  # of trees without a test


def test_many_trees_are_compared_in_seconds_and_shown_without_a_table_of_pairs():
    names = [f"a{i}" for i in range(9)]
    schema, rng = Schema({name: Boolean() for name in names}, Label("y", (0, 1))), np.random.default_rng(0)

    def root(used):
        if len(used) == 3:
            return Leaf(label=int(rng.integers(2)))
        name = rng.choice([name for name in names if name not in used])
        return Split(Literal(str(name), "true"), root({*used, name}), root({*used, name}))

    several = TreeSet(tuple(Tree(schema, root(set()), CARD) for _ in range(100)))
    start = process_time()
    apart = several.differences()
    assert process_time() - start < 15  # about 1; a Python loop over the leaves of all pairs takes more than a minute
    assert np.array_equal(apart, apart.T)
    assert "predict differently" not in several._repr_html_()
    assert "predict differently" in TreeSet(several.models[:20])._repr_html_()


@pytest.mark.parametrize("models", [(), (1,), [TREES.models[0]], None])
def test_what_is_no_tuple_of_trees_is_refused(models):
    with pytest.raises(ArgumentError, match="expected a tuple of one tree or more"):
        TreeSet(models)


def test_what_needs_one_model_says_to_pick_a_tree(tmp_path):
    fitted = hr.PrivateTreeSet(1.0, 2, max_depth=1, random_state=0).fit(np.eye(2, dtype=int), [0, 1])
    for one in (TREES, fitted):
        for ask in (
            lambda one: hr.evaluate(one, np.eye(2), [0, 1], epsilon=1),
            hr.audit.reconstruction,
            lambda one: hr.report.Report.of(one),
        ):
            with pytest.raises(TypeError, match=r"got a set of trees; pass one: `TreeSet\.pick\(\)` returns it"):
                ask(one)
    TREES.save(tmp_path / "set.json")
    with pytest.raises(
        ModelFormatError, match=r"read it with hr\.models\.TreeSet\.load, and save the tree of pick\(\)"
    ):
        hr.load_model(tmp_path / "set.json")


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


def test_a_file_of_more_trees_than_a_set_has_is_refused():
    data = TREES.to_dict() | {"models": [tree.to_dict() for tree in TREES] * 26}
    data.pop("digest")
    with pytest.raises(ModelFormatError, match="at most 100 trees, got 104"):
        TreeSet.from_dict(seal(data))


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
    assert list(TREES) == list(TREES.models)
    drawn = TREES.plot()
    assert [ax.get_title().split("\n")[0] for ax in drawn] == [f"tree {number} of 4" for number in range(1, 5)]
    with pytest.raises(ArgumentError, match="expected 4 axes, one for each tree, got 1"):
        TREES.plot(axes=[None])
    with pytest.raises(AttributeError, match="a set of trees has no to_sql; pick one of them"):
        TREES.to_sql()


def test_a_set_of_many_trees_shows_two_pages_of_them_and_its_whole_text_all() -> None:
    many = TreeSet(tuple(tree(seed, 40, "uncounted") for seed in range(9)))
    lines = str(many).split("\n")
    assert len(lines) < 140
    assert "(7 more trees; to_text() shows every tree)" in lines
    assert many.to_text().count("not shown") == 0
    assert [many.to_text().count(f"tree {number} of 9\n") for number in range(1, 10)] == [1] * 9
    few = TreeSet(many.models[:2])
    assert "more tree" not in str(few)
    assert str(few) != few.to_text()  # each is folded by itself
