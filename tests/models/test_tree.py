import copy
import json
import pickle
from collections.abc import Callable
from functools import partial
from itertools import chain as chained
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from matplotlib.patches import Rectangle

from hedgerow.errors import DomainError, ModelFormatError, SchemaError
from hedgerow.models import Leaf, RuleList, Split, Tree
from hedgerow.models.envelope import seal
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema
from hedgerow.schema.attributes import Attribute
from hedgerow.text.values import Value, printable, quoted_text
from tests.models.markup import Markup
from tests.models.strategies import Case, Cell, cards, cases, holds, trees, walked

NONE = PrivacyCard.none("example", software="hedgerow")
SCHEMA = Schema(
    {"age": Integer(17, 90, cuts=(30, 45)), "sex": Categorical(("F", "M"), missing="bin"), "smoker": Boolean()},
    Label("ill", ("no", "yes")),
)
YOUNG, WOMAN, SMOKER = Literal("age", "<=", (30,)), Literal("sex", "=", ("F",)), Literal("smoker", "true")
TREE = Tree(
    SCHEMA,
    Split(YOUNG, Split(SMOKER, Leaf((10, 90)), Leaf((6, 2), "no")), Split(WOMAN, Leaf((1, 7)), Leaf(label="yes"))),
    NONE,
)
ROWS = {"age": [20, 20, 50, 40, 80], "sex": ["F", "M", None, "F", "M"], "smoker": [0, 1, 0, 0, 1]}
DRAWN = Tree(SCHEMA, Split(YOUNG, Leaf(label="no"), Leaf(label="yes")), NONE)


def chain(depth: int) -> Split | Leaf:
    root: Split | Leaf = Leaf(label="yes")
    for _ in range(depth):
        root = Split(SMOKER, Leaf(label="no"), root)
    return root


# --- what a row is told --------------------------------------------------------------------------------------------


@given(case=cases(trees()))
def test_a_row_comes_to_the_leaf_that_a_walk_from_the_root_finds(case: Case) -> None:
    expected = [walked(case.model, row) for row in case.rows]
    for table in (case.pandas(), case.polars(), case.arrow(), case.array()):
        assert case.model.apply(table).tolist() == expected
    assert case.model.predict(case.arrow()).tolist() == [case.model.predictions[leaf] for leaf in expected]
    assert case.model.predict_proba(case.arrow()).tolist() == case.model.probabilities[expected].tolist()


def test_rows_of_the_example_have_the_text_by_hand() -> None:
    # 20, no: leaf 1. 20, smoker: 0. 50, sex unknown is not F: 3. 40 F: 2. 80 M: 3.
    frame = pd.DataFrame(ROWS)
    assert TREE.apply(frame).tolist() == [1, 0, 3, 2, 3]
    assert TREE.predict(frame).tolist() == ["no", "yes", "yes", "yes", "yes"]
    assert TREE.predict_proba(frame).tolist() == [[0.75, 0.25], [0.1, 0.9], [0, 1], [0.125, 0.875], [0, 1]]


def test_only_the_columns_that_the_splits_use_are_needed() -> None:
    assert DRAWN.apply(pd.DataFrame({"age": [20, 40]})).tolist() == [0, 1]
    with pytest.raises(DomainError, match=r"^column 'age'"):
        DRAWN.apply(pd.DataFrame({"sex": ["F"]}))
    with pytest.raises(DomainError, match=r"3 columns .*got 2"):
        DRAWN.predict(np.zeros((2, 2)))


def test_a_single_leaf_takes_every_row() -> None:
    single = Tree(SCHEMA, Leaf((1, 3)), NONE)
    assert single.predict(pd.DataFrame(ROWS)).tolist() == ["yes"] * 5
    assert (len(single), single.depth, single.n_splits) == (1, 0, 0)


def test_a_table_without_rows_gives_no_predictions() -> None:
    assert TREE.predict_proba(pl.DataFrame(ROWS)[:0]).shape == (0, 2)


def test_predict_returns_the_label_if_another_class_is_more_probable() -> None:
    tree = Tree(SCHEMA, Leaf((9, 1), "yes"), NONE)
    assert tree.probabilities.tolist() == [[0.9, 0.1]]
    assert tree.predict(pd.DataFrame(ROWS)).tolist() == ["yes"] * 5


def test_leaves_of_the_true_branch_come_first() -> None:
    assert TREE.leaves == (Leaf((10, 90)), Leaf((6, 2), "no"), Leaf((1, 7)), Leaf(label="yes"))
    assert TREE.predictions == ("yes", "no", "yes", "yes")
    assert (len(TREE), TREE.depth, TREE.n_splits) == (4, 2, 3)
    assert (len(chained := Tree(SCHEMA, chain(5), NONE)), chained.depth) == (6, 5)


def test_a_fold_goes_from_the_leaves_up() -> None:
    assert TREE.fold(lambda x, true, false: (x, true, false), lambda i: i) == (YOUNG, (SMOKER, 0, 1), (WOMAN, 2, 3))


# --- what is accepted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("root", "error", "message"),
    [
        (
            Split(Literal("height", "<=", (30,)), Leaf((1, 1)), Leaf((1, 1))),
            SchemaError,
            "attribute 'height': is used by a split but",
        ),
        (
            Split(Literal("age", "<=", (31,)), Leaf((1, 1)), Leaf((1, 1))),
            SchemaError,
            "attribute 'age': literals must compare with the cut points",
        ),
        (
            Split(Literal("sex", "outside"), Leaf((1, 1)), Leaf((1, 1))),
            SchemaError,
            "attribute 'sex': .* true on all bins",
        ),
        (Split(YOUNG, Leaf((1, 1)), Leaf((1, 1, 1))), ValueError, r"expected 2 counts per leaf, got 3\.$"),
        (
            Leaf(label="maybe"),
            ValueError,
            "expected the label of a leaf to be one of the schema's classes no, yes; got 'maybe'",
        ),
        (Split(YOUNG, Leaf((1, 1)), None), TypeError, r"expected a Split or a Leaf, got NoneType\.$"),
        ({"then": "no"}, TypeError, r"expected a Split or a Leaf, got dict\.$"),
        (chain(65), ValueError, "expected a tree of depth 64 at most"),
        (chain(10_000), ValueError, "expected a tree of depth 64 at most"),
    ],
    ids=range(9),
)
def test_a_tree_must_fit_the_schema(root: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        Tree(SCHEMA, root, NONE)


def test_a_tree_is_a_value() -> None:
    twin = Tree(SCHEMA, copy.deepcopy(TREE.root), NONE)
    assert twin == TREE
    assert hash(twin) == hash(TREE)
    assert twin != DRAWN
    assert pickle.loads(pickle.dumps(TREE)) == copy.deepcopy(TREE) == TREE


# --- files ---------------------------------------------------------------------------------------------------------


@given(model=trees(privacy=cards()))
def test_json_brings_back_an_equal_model(model: Tree) -> None:
    again = Tree.from_json(model.to_json())
    assert again == model
    assert again.to_json() == model.to_json()


def test_a_file_brings_back_an_equal_model(tmp_path: Path) -> None:
    TREE.save(tmp_path / "model.json")
    assert Tree.load(tmp_path / "model.json") == TREE


def test_the_file_holds_the_schema_its_digest_and_the_privacy_card() -> None:
    data = json.loads(TREE.to_json())
    assert list(data) == ["format", "version", "schema", "schema_digest", "root", "privacy", "digest"]
    assert (data["format"], data["version"]) == ("hedgerow/tree", 2)
    assert data["root"]["true"] == {
        "if": {"attribute": "smoker", "operator": "true", "operands": []},
        "true": {"then": "yes", "counts": [10, 90]},
        "false": {"then": "no", "counts": [6, 2], "label": "no"},
    }
    assert data["root"]["false"]["false"] == {"then": "yes", "counts": None, "label": "yes"}


def test_a_rule_list_is_no_tree() -> None:
    with pytest.raises(ModelFormatError, match=r"'hedgerow/rule-list'.*'hedgerow/tree'"):
        RuleList.from_json(TREE.to_json())


def test_a_tree_of_the_greatest_depth_is_read() -> None:
    deep = Tree(SCHEMA, chain(64), NONE)
    assert Tree.from_json(deep.to_json()) == deep
    assert deep.to_text().count("\n") == 64


@pytest.mark.parametrize("depth", [65, 200, 450, 900, 5000])
def test_a_tree_nested_too_deeply_is_a_format_error(depth: int) -> None:
    split = '{"if": {"attribute": "smoker", "operator": "true", "operands": []}, "true": '
    end = ', "false": {"then": "yes", "counts": [1, 2]}}'
    nested = split * depth + '{"then": "yes", "counts": [1, 2]}' + end * depth
    whole = {**DRAWN.to_dict(), "root": 0}
    text = json.dumps(whole).replace('"root": 0', f'"root": {nested}')
    with pytest.raises(ModelFormatError, match=r"nested more than 100 levels|digest does not match"):
        Tree.from_json(text)
    if depth < 90:
        del whole["digest"]
        text = json.dumps(seal(whole | {"root": json.loads(nested)}))
        with pytest.raises(ModelFormatError, match="depth 64"):
            Tree.from_json(text)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda data: data.update(root=None), "TypeError: "),
        (lambda data: data.update(root="if"), "TypeError: "),
        (lambda data: data.update(root=[]), "TypeError: "),
        (lambda data: data.pop("root"), "KeyError: 'root'"),
        (lambda data: data["root"].pop("false"), "KeyError: 'false'"),
        (lambda data: data["root"].pop("if"), "KeyError: 'counts'"),
        (lambda data: data["root"].update({"if": None}), "TypeError: "),
        (lambda data: data["root"]["true"].update(counts=[1]), "expected 2 counts per leaf, got 1"),
        (lambda data: data["root"]["true"].update(label="never"), "expected the label of a leaf to be"),
        (lambda data: data["root"]["true"].update(label=["no"]), "label must be text, a finite number or a"),
        (lambda data: data["root"]["true"].pop("label"), "a leaf must have counts, a label, or a mean"),
        (lambda data: data["root"]["true"].update(then="yes"), "its parts are inconsistent"),
        (lambda data: data["root"]["true"].update(extra=1), "its parts are inconsistent"),
        (lambda data: data["root"].update(then="no"), "its parts are inconsistent"),
        (lambda data: data.update(root={"then": "no", "counts": [2, 1], "label": None}), "its parts are inconsistent"),
    ],
)
def test_a_consistent_digest_does_not_excuse_nonsense(change: Callable[[dict[str, Any]], Any], match: str) -> None:
    data = DRAWN.to_dict()
    del data["digest"]
    change(data)
    with pytest.raises(ModelFormatError, match=f"^not a valid tree: {match}"):
        Tree.from_json(json.dumps(seal(data)))


LIKELY = Tree(SCHEMA, Split(YOUNG, Leaf((6, 2), "no", (0.9, 0.1)), Leaf(None, "yes", (0.28, 0.72))), NONE)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ([1.0], "expected 2 probabilities per leaf, got 1"),
        ([0.1, 0.9], "expected the label of a leaf to be its most probable class"),
        ([0.9, 0.2], "probabilities must sum to 1, got 1.1"),
        ([1e400, 0.1], "probabilities must be a tuple of floats from 0 to 1"),
        ([1, 0], "probabilities must be a tuple of floats from 0 to 1"),
        ("0.9", "probabilities must be a tuple of floats from 0 to 1"),
        (None, "its parts are inconsistent"),
    ],
)
def test_probabilities_of_a_file_are_checked(value: Any, match: str) -> None:
    data = LIKELY.to_dict()
    del data["digest"]
    data["root"]["true"]["probabilities"] = value
    with pytest.raises(ModelFormatError, match=f"^not a valid tree: {match}|^not a hedgerow model: "):
        Tree.from_json(json.dumps(seal(data)))


# --- for readers ---------------------------------------------------------------------------------------------------


def test_the_text_is_the_tree_as_a_person_reads_it() -> None:
    assert str(TREE) == (
        "if age <= 30:\n"
        "    if smoker: yes      # 90.0 % of 100\n"
        "    else: no            # 75.0 % of 8\n"
        "else if sex = F: yes    # 87.5 % of 8\n"
        "else: yes\n"
        "(a missing value satisfies no test except `is missing`)"
    )


def test_without_counts_the_text_has_no_comments() -> None:
    assert str(DRAWN) == "if age <= 30: no\nelse: yes"


def test_drawn_probabilities_stand_in_the_text_the_plot_and_the_file() -> None:
    assert str(LIKELY) == "if age <= 30: no    # 75.0 % of 8\nelse: yes           # 72 %"
    assert Tree.from_json(LIKELY.to_json()) == LIKELY
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        axes = LIKELY.plot()
        lines = [text.get_text().replace("\u00a0", " ") for text in axes.texts]
        assert {"75.0 % of 8", "72 %"} <= set(lines)
        assert len([patch for patch in axes.patches if isinstance(patch, Rectangle)]) == 4  # two shares a leaf
        plt.close("all")


def test_a_single_leaf_is_always() -> None:
    assert str(Tree(SCHEMA, Leaf((1, 3)), NONE)) == "always: yes    # 75.0 % of 4"


def test_the_repr_is_short_and_states_the_guarantee() -> None:
    assert repr(TREE) == "<Tree of 4 leaves; guarantee: none (example)>"


def test_there_is_one_record_a_leaf() -> None:
    records = TREE.get_rules()
    assert records[1] == {
        "leaf": 2,
        "condition": "age <= 30 and not smoker",
        "prediction": "no",
        "probability": 0.75,
        "counts": {"no": 6, "yes": 2},
    }
    assert records[3] == {
        "leaf": 4,
        "condition": "age > 30 and (sex = M or missing)",
        "prediction": "yes",
        "probability": None,
        "counts": None,
    }
    assert pd.DataFrame(records)["leaf"].tolist() == [1, 2, 3, 4]
    assert Tree(SCHEMA, Leaf((1, 3)), NONE).get_rules()[0]["condition"] == "always"


def spoken(name: str, attribute: Attribute) -> dict[str, Callable[[Cell], bool]]:
    """Return what each condition on an attribute says of a value."""

    def within(values: tuple[Value, ...], is_in: bool, cell: Cell) -> bool:
        words = {str(word) for word, place in attribute.spellings if attribute.listed[place] in values}
        return cell.role != "missing" and (cell.role == "known" and str(cell.typed) in words) == is_in

    result: dict[str, Callable[[Cell], bool]] = {}
    for literal in attribute.literals(name, negations=True):
        result[f"not ({literal})"] = lambda cell, literal=literal: not holds(literal, cell, attribute)
        result[str(literal)] = lambda cell, literal=literal: holds(literal, cell, attribute)
    for values in chained.from_iterable(combinations(attribute.listed, size) for size in range(1, 5)):
        for word, is_in in (("in", True), ("not in", False)):
            text = f"{printable(name)} {word} {{{', '.join(map(quoted_text, values))}}}"
            result[text] = partial(within, values, is_in)
    either = {f"{text} or missing": says for text, says in result.items()}
    either |= {f"({text})": says for text, says in either.items()}
    return result | {
        text: lambda cell, says=says: cell.role == "missing" or says(cell) for text, says in either.items()
    }


@given(case=cases(trees()))
def test_the_conditions_hold_of_the_rows_that_come_to_the_leaf(case: Case) -> None:
    schema = case.model.schema
    words = {text: (name, says) for name in schema for text, says in spoken(name, schema[name]).items()}

    def satisfied(path: str, row: dict[str, Cell]) -> bool:
        if path in ("", "always"):
            return True
        first = max(filter(path.startswith, words), key=len)
        name, says = words[first]
        return says(row[name]) and satisfied(path[len(first) :].removeprefix(" and "), row)

    records = case.model.get_rules()
    for row in case.rows:
        true = [record["leaf"] - 1 for record in records if satisfied(record["condition"], row)]
        assert true == [walked(case.model, row)]


def test_html_escapes_names_values_classes_and_the_card() -> None:
    evil = "<script>alert('1')</script>"
    schema = Schema({evil: Categorical((evil, "<b>"))}, Label("y", (evil, "<i>&amp;")))
    root = Split(Literal(evil, "=", (evil,)), Leaf((1, 7)), Leaf(label=evil))
    html = Tree(schema, root, PrivacyCard.none(evil, software=evil)).to_html()
    markup = Markup(html)
    assert markup.tags == {"table", "thead", "tbody", "tr", "th", "td", "b", "pre"}
    assert "<script" not in html
    for shown in (f'{evil} = "{evil}"', f"{evil} = <b>", "<i>&amp;", "87.5 %"):
        assert shown in "".join(markup.texts)


def test_html_has_columns_of_counts_only_where_there_are_some() -> None:
    assert Markup(DRAWN.to_html()).texts[:-1] == ["if", "then", "1", "age <= 30", "no", "2", "age > 30", "yes"]
    assert TREE.to_html().count("<th>") == 5
    assert TREE.to_html().count("<td></td>") == 4  # of the heading, and the leaf of which no counts were released


def test_text_page_and_plot_state_once_where_missing_values_go() -> None:
    said = "a missing value satisfies no test except `is missing`"

    def tree(literal: Literal, missing: Any) -> Tree:
        schema = Schema({"age": Integer(17, 90, cuts=(30,), missing=missing)}, Label("ill", ("no", "yes")))
        return Tree(schema, Split(literal, Leaf((3, 1)), Split(literal, Leaf((1, 3)), Leaf((2, 3)))), NONE)

    young = Literal("age", "<=", (30,))
    assert str(tree(young, "bin")).endswith(f"\n({said})")
    assert said in tree(young, "bin").to_page()
    assert " ".join(tree(young, "bin").plot().get_title().split()).endswith(said)
    for other in (tree(young, "error"), tree(Literal("age", "missing"), "bin")):
        assert "missing value" not in str(other) + other.to_page()
