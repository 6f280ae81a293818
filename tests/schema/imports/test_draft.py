"""Drafts of schemas: what is known, what is missing, and what a person reads of it."""

import json
import math

import pytest

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Boolean, Categorical, Draft, DraftColumn, Integer, Label, Number, OrderedLabel, Real, Schema
from hedgerow.schema.imports.draft import bound, bounded_column, category_or_boolean, values_of, words

AGE = DraftColumn(name=" age ", kind="integer", low=0, unit="years", source="form")
SEX = DraftColumn(name="sex", kind="categorical", values=("F", "M"), may_be_missing=True)
ODD = DraftColumn(name="x: y", description="<b>what</b>\n is\tit?")
DRAFT = Draft((AGE, SEX, ODD), (("id", "an\nid"),), "a form", label="sex")


def test_gaps_are_marked_and_reported_together():
    assert DRAFT.gaps == (("age", "high"), ("x: y", "kind"))
    data = DRAFT.to_dict()
    assert data["attributes"]["age"]["high"] == data["attributes"]["x: y"]["kind"] == "FILL IN"
    with pytest.raises(SchemaError, match=r"2 faults: .*'age': key 'high'") as it:
        DRAFT.schema()
    assert [(fault.attribute, fault.key) for fault in it.value.faults] == list(DRAFT.gaps)
    assert Draft((SEX, DraftColumn(name="y", kind="integer")), label="y").gaps == (("y", "classes"),)
    with pytest.raises(SchemaError, match=r"attribute 'y': key 'classes': .*FILL IN"):
        Draft((SEX, DraftColumn(name="y", kind="integer")), label="y").schema()


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_a_draft_that_is_filled_in_is_a_schema(tmp_path, ending):
    full = DRAFT.completed(DraftColumn(name="age", kind="integer", low=0, high=9)).completed(
        DraftColumn(name="x: y", kind="boolean", true_values=("J", "ja"), false_values=("nein",))
    )
    expected = Schema(
        {"age": Integer(0, 9), "x: y": Boolean(true_values=("J", "ja"), false_values=("nein",))},
        Label("sex", ("F", "M")),
    )
    assert full.schema() == expected
    full.save(tmp_path / f"s.{ending}")
    assert Schema.load(tmp_path / f"s.{ending}") == expected


def test_a_saved_draft_lists_gaps_and_left_out_columns(tmp_path):
    DRAFT.save(tmp_path / "s.yaml")
    lines = (tmp_path / "s.yaml").read_text().splitlines()
    assert lines[:5] == [
        "# From: a form",
        "# Fill in: age: high",
        '# Fill in: "x: y": kind',
        r"# Left out: id: an\nid",
        "version: 2",
    ]
    with pytest.raises(SchemaError) as error:
        Schema.load(tmp_path / "s.yaml")
    told = [lines[fault.line - 1].strip() for fault in error.value.faults]
    assert [line.partition("FILL IN")[0].strip("{") for line in told] == [
        "age: {kind: integer, low: 0, high: ",
        "'x: y': {kind: ",
    ]
    DRAFT.save(tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text()) == DRAFT.to_dict()


def test_texts_are_plain_and_short():
    assert ODD.description == "what is it?"
    assert (words(" "), words(7), words("a\0b"), len(words("x" * 5_000))) == (None, None, "a b", 1_000)


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ([1, "1", 1.0, True, None, "", " a ", "a"], (1, "true", "a")),
        ([2.5, 2.0, [1], {}], ("2.5", 2)),
        ([10**30, -1], (10**30, -1)),
    ],
)
def test_values_are_text_and_whole_numbers_each_once(found, kept):
    assert values_of(found) == kept
    assert [type(value) for value in values_of(found)] == [type(value) for value in kept]


@pytest.mark.parametrize(
    ("value", "whole", "number"),
    [
        ("5", True, 5),
        (" 5.0", True, 5),
        ("5.5", True, None),
        ("5.5", False, 5.5),
        (5, False, 5),
        ("x", False, None),
        ("inf", False, None),
        ("9" * 400, False, None),
        (math.nan, False, None),
        (True, True, None),
        (None, True, None),
        ("1_0", True, None),
    ],
)
def test_bounds_are_finite_numbers_of_the_kind(value, whole, number):
    assert bound(value, whole=whole) == number


def test_missing_values_are_not_values():
    column = category_or_boolean("a", ["x", "NA", 9], missing_values=("NA", "", 9.0), source="s")
    assert Draft((column,)).schema()["a"] == Categorical(("x",), missing="bin", missing_values=("NA", 9), source="s")
    flag = category_or_boolean("a", [True, False], missing_values=("0", "?"))
    assert Draft((flag,)).schema()["a"] == Boolean(missing="bin", missing_values=("?",))
    number = bounded_column("a", "real", "0", "1", may_be_missing=True)
    assert Draft((number,)).schema()["a"] == Real(0, 1, missing="bin")


@pytest.mark.parametrize(
    ("column", "classes"),
    [
        (SEX, ("F", "M")),
        (DraftColumn(name="y", kind="boolean"), (0, 1)),
        (DraftColumn(name="y", kind="boolean", true_values=("yes",), false_values=("no",)), ("no", "yes")),
        (DraftColumn(name="y", kind="boolean", true_values=("yes", "Y"), false_values=("no",)), ()),
        (DraftColumn(name="y", kind="categorical", values=(1, "b")), ("1", "b")),
        (DraftColumn(name="y", kind="integer", low=0, high=1), (0, 1)),
        (DraftColumn(name="y", kind="categorical", values=("b",)), ()),
        (AGE, ()),
    ],
)
def test_the_classes_of_a_label_are_its_values(column, classes):
    assert column.classes == classes


def test_a_label_is_one_of_the_columns():
    assert DRAFT.labelled("age").label == "age"
    with pytest.raises(DomainError, match="'born': a date cannot be the label"):
        Draft((DraftColumn(name="born", kind="date"),)).labelled("born")
    with pytest.raises(DomainError, match=r"column 'aeg': .*age, sex, \"x: y\"[.] Did you mean 'age'"):
        DRAFT.labelled("aeg")


@pytest.mark.parametrize(
    ("column", "label", "gaps"),
    [
        (DraftColumn(name="y", kind="integer", low=0, high=30), Number("y", 0, 30), ()),
        (DraftColumn(name="y", kind="real", low=0, high=1), Number("y", 0, 1), ()),
        (DraftColumn(name="y", kind="integer", low=0), None, (("y", "high"),)),
        (DraftColumn(name="y", kind="real"), None, (("y", "low"), ("y", "high"))),
        (DraftColumn(name="y", kind="integer"), None, (("y", "classes"),)),  # codes of classes, or a number
        (DraftColumn(name="y", kind="ordered", values=("low", "high")), OrderedLabel("y", ("low", "high")), ()),
        (DraftColumn(name="y", kind="ordered"), None, (("y", "classes"),)),
        (DraftColumn(name="y", kind="integer", low=0, high=1), Label("y", (0, 1)), ()),
    ],
)
def test_a_label_is_a_number_or_in_an_order_as_its_column_is(column, label, gaps):
    draft = Draft((DraftColumn(name="x", kind="boolean"), column)).labelled("y")
    assert draft.gaps == gaps
    if label is not None:
        assert draft.schema().label == label
        return
    with pytest.raises(SchemaError, match=r"attribute 'y': key '(low|high|classes)'"):
        draft.schema()


def test_an_order_may_be_reduced_to_a_single_value():
    column = category_or_boolean("a", ["x", "NA"], ordered=True, missing_values=("NA",))
    assert Draft((column,)).schema()["a"] == Categorical(("x",), missing="bin", missing_values=("NA",))


def test_a_column_that_is_described_twice_is_left_out():
    """The last description was the domain."""
    columns = (DraftColumn(name="a", kind="boolean"), DraftColumn(name="b"), DraftColumn(name="a ", kind="integer"))
    draft = Draft(columns)
    assert [column.name for column in draft.columns] == ["b"]
    assert draft.left_out == (("a", "described more than once; describe each column once"),)
