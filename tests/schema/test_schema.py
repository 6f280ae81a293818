import hashlib
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema, default_cuts
from hedgerow.tables.frames import Table
from tests.models.markup import Markup
from tests.schema.values import attributes, bin_of

names = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=6)
classes = st.sampled_from([(False, True), (0, 1), (1, 2, 3), ("no", "yes"), ("<=50K", ">50K", "1")])


@st.composite
def schemas(draw):
    label, *columns = draw(st.lists(names, min_size=2, max_size=5, unique=True))
    pairs = {name: draw(attributes) for name in columns}
    return Schema(pairs, Label(label, draw(classes)) if draw(st.booleans()) else None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("schemas")


@pytest.mark.parametrize("name", ["schema.yaml", "schema.json"])
@given(schema=schemas())
def test_a_schema_comes_back_from_its_file_with_the_same_digest(folder, name, schema):
    schema.save(folder / name)
    back = Schema.load(folder / name)
    assert (back, back.digest, str(back)) == (schema, schema.digest, str(schema))


@given(st.lists(schemas(), min_size=2, max_size=2))
def test_different_schemas_have_different_digests(pair):
    assert (pair[0] == pair[1]) == (pair[0].digest == pair[1].digest)


def test_digests_do_not_depend_on_how_a_schema_was_written():
    item = Schema({"x": Real(0, 1, (0.5,)), "y": Categorical(("a", "b"))}, Label("z", (1, 0)))
    other = Schema(
        (("x", Real(0.0, np.float64(1), [0.5], missing="error")), ("y", Categorical(["a", "b"]))), Label("z", [0, 1])
    )
    assert (item, item.digest, hash(item)) == (other, other.digest, hash(other))


@pytest.mark.parametrize(
    "other",
    [
        Schema({"b": Boolean(), "a": Boolean()}),
        Schema({"a": Boolean(), "b": Boolean()}, Label("c", (0, 1))),
        Schema({"a": Boolean(), "b": Boolean(missing="bin")}),
    ],
    ids=["order", "label", "policy"],
)
def test_order_label_and_policies_are_part_of_a_schema(other):
    schema = Schema({"a": Boolean(), "b": Boolean()})
    assert schema != other
    assert schema.digest != other.digest


def test_a_schema_is_a_read_only_mapping_of_its_attributes():
    schema = Schema({"b": Boolean(), "a": Integer(0, 9)}, Label("y", (0, 1)))
    assert (list(schema), schema.names, len(schema)) == (["b", "a"], ("b", "a"), 2)
    assert schema["a"] == Integer(0, 9)
    assert "a" in schema
    assert "y" not in schema
    assert schema.attributes == (("b", Boolean()), ("a", Integer(0, 9)))


@pytest.mark.parametrize(
    ("attributes", "label", "message"),
    [
        ({}, None, "at least one attribute"),
        ((("a", Boolean()), ("a", Boolean())), None, "attribute 'a': the attribute is listed more than once"),
        ({"": Boolean()}, None, "a name must be .*, got ''"),
        ({1: Boolean()}, None, "a name must be .*, got 1"),
        ({"a": Boolean()}, Label("a", (0, 1)), "attribute 'a': the label cannot also be an attribute"),
    ],
)
def test_ambiguous_names_of_attributes_are_errors(attributes, label, message):
    with pytest.raises(SchemaError, match=message):
        Schema(attributes, label)


BAD = {
    "no mapping": ("[1, 2]", None, None, "a schema to be a mapping, got list"),
    "empty file": ("", None, None, "a schema to be a mapping, got NoneType"),
    "no attributes": ("version: 1", None, "attributes", "this key is required"),
    "attributes are a list": ("attributes: [a]", None, None, "attributes to be a mapping, got list"),
    "unknown top key": ("atributes: {}\nattributes: {}", None, "atributes", "unknown key"),
    "unknown version": (
        "version: 3\nattributes: {a: {kind: boolean}}",
        None,
        "version",
        "versions 1 to 2, got 3",
    ),
    "attribute is no mapping": ("attributes: {a: boolean}", "a", None, "the attribute to be a mapping, got str"),
    "no kind": (
        "attributes: {a: {low: 1}}",
        "a",
        "kind",
        "one of boolean, categorical, .*, got None",
    ),
    "unknown kind": ("attributes: {a: {kind: number}}", "a", "kind", "one of boolean, .*, got 'number'"),
    "kind is a list": ("attributes: {a: {kind: [real]}}", "a", "kind", r"one of boolean, .*, got \['real'\]"),
    "unknown key": ("attributes: {a: {kind: boolean, cuts: [1]}}", "a", "cuts", "unknown key"),
    "no low": ("attributes: {a: {kind: integer, high: 3}}", "a", "low", "this key is required"),
    "no values": ("attributes: {a: {kind: categorical}}", "a", "values", "this key is required"),
    "low is text": ("attributes: {a: {kind: real, low: x, high: 3}}", "a", "low", "a finite number, got 'x'"),
    "high is infinite": ("attributes: {a: {kind: real, low: 0, high: .inf}}", None, None, "decimal numbers"),
    "low above high": ("attributes: {a: {kind: integer, low: 5, high: 3}}", "a", "high", "high must be l"),
    "cuts fall": ("attributes: {a: {kind: integer, low: 0, high: 9, cuts: [5, 3]}}", "a", "cuts", "must increase"),
    "cut at high": ("attributes: {a: {kind: integer, low: 0, high: 9, cuts: [9]}}", "a", "cuts", ">= 0 and < 9"),
    "one cut": (
        "attributes: {a: {kind: integer, low: 0, high: 9, cuts: 0}}",
        "a",
        "cuts",
        "a number of cut points from 1 to 1,000, such as 5 or log 5; got 0",
    ),
    "no cuts": (
        "attributes: {a: {kind: real, low: 0, high: 9, cuts: }}",
        "a",
        "cuts",
        "such as 5, or log 5; got None",
    ),
    "cuts by a word": (
        "attributes: {a: {kind: real, low: 0, high: 9, cuts: log}}",
        "a",
        "cuts",
        "from 1 to 1,000, such as 5 or log 5; got 'log'",
    ),
    "logarithm of zero": (
        "attributes: {a: {kind: real, low: 0, high: 9, cuts: log 5}}",
        "a",
        "cuts",
        "need low > 0, got low=0",
    ),
    "unit is a number": ("attributes: {a: {kind: boolean, unit: 3}}", "a", "unit", "expected text, got 3"),
    "empty description": ("attributes: {a: {kind: boolean, description: ''}}", "a", "description", "expected text"),
    "long source": (f"attributes: {{a: {{kind: boolean, source: {'x' * 1001}}}}}", "a", "source", "at most 1,000"),
    "booleans by YAML": ("attributes: {a: {kind: categorical, values: [yes, no]}}", "a", "values", "quote the words"),
    "times by YAML": ("attributes: {a: {kind: categorical, values: [2020-01-01 10:00:00]}}", None, None, "in quotes"),
    "values are text": ("attributes: {a: {kind: categorical, values: ab}}", "a", "values", "a list"),
    "unknown policy": ("attributes: {a: {kind: boolean, missing: drop}}", "a", "missing", "one of error, bin"),
    "name twice as text": ("attributes: {1: {kind: boolean}, '1': {kind: boolean}}", "1", None, "more than once"),
    "key twice": (
        "attributes:\n  a: {kind: boolean}\n  a: {kind: boolean}",
        None,
        None,
        "occurs twice in a mapping .line 3",
    ),
    "label is text": ("label: y\nattributes: {a: {kind: boolean}}", None, None, "expected the column and its classes"),
    "label without classes": (
        "label: {name: y}\nattributes: {a: {kind: boolean}}",
        None,
        "classes",
        "list the classes",
    ),
    "label, unknown key": ("label: {name: y, class: 1}\nattributes: {}", None, "classes", "list the classes"),
    "classes are text": (
        "label: {name: y, classes: ab}\nattributes: {}",
        "y",
        "classes",
        "a list of classes, got 'ab'",
    ),
    "one class": ("label: {name: y, classes: [a]}\nattributes: {}", "y", "classes", "at least two"),
    "label is an attribute": (
        "label: {name: a, classes: [0, 1]}\nattributes: {a: {kind: boolean}}",
        "a",
        None,
        "the label cannot also be an attribute",
    ),
}


@pytest.mark.parametrize(("text", "attribute", "key", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_is_an_error_that_names_the_attribute_and_the_key(tmp_path, text, attribute, key, message):
    path = tmp_path / "schema.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=message) as error:
        Schema.load(path)
    assert (error.value.attribute, error.value.key) == (attribute, key)
    assert all(repr(part) in str(error.value) for part in (attribute, key) if part)


def test_files_omit_default_values(tmp_path):
    schema = Schema({"a": Boolean(), "n": Integer(0, 9, (3,), missing="bin")}, Label("y", ("a", "b")))
    schema.save(tmp_path / "s.yaml")
    assert (tmp_path / "s.yaml").read_text(encoding="utf-8").splitlines() == [
        "version: 1",
        "label:",
        "  name: y",
        "  classes: [a, b]",
        "attributes:",
        "  a: {kind: boolean}",
        "  n:",
        "    kind: integer",
        "    low: 0",
        "    high: 9",
        "    cuts: [3]",
        "    missing: bin",
    ]


@pytest.mark.parametrize("text", ["", ", cuts: auto"])
def test_files_omit_the_default_grid(tmp_path, text):
    (tmp_path / "s.yaml").write_text(f"attributes: {{n: {{kind: integer, low: 0, high: 100{text}}}}}", encoding="utf-8")
    schema = Schema.load(tmp_path / "s.yaml")
    assert schema["n"].cuts == default_cuts(0, 100, whole=True)
    for name in ("back.yaml", "back.json"):
        schema.save(tmp_path / name)
        assert "cuts" not in (tmp_path / name).read_text(encoding="utf-8")
        assert Schema.load(tmp_path / name) == schema


def test_a_file_may_declare_automatic_or_no_cut_points():
    data = {"attributes": {"n": {"kind": "real", "low": 0, "high": 1, "cuts": "auto"}}}
    assert Schema.from_dict(json.loads(json.dumps(data))) == Schema({"n": Real(0, 1)})
    none = Schema({"n": Real(0, 1, ())})
    assert none.to_dict()["attributes"]["n"] == {"kind": "real", "low": 0, "high": 1, "cuts": []}
    assert Schema.from_dict(none.to_dict()) == none != Schema({"n": Real(0, 1)})


@pytest.mark.parametrize(("cuts", "expected"), [("5", (20, 40, 60, 80, 100)), ("log 2", (4, 24))])
def test_a_file_may_declare_the_number_of_cut_points(tmp_path, cuts, expected):
    low = 0 if cuts == "5" else 1
    text = f"attributes: {{n: {{kind: integer, low: {low}, high: 120, cuts: {cuts}}}}}"
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    schema = Schema.load(tmp_path / "s.yaml")
    assert schema["n"] == Integer(low, 120, expected)
    schema.save(tmp_path / "back.json")
    assert Schema.load(tmp_path / "back.json") == schema


def test_descriptions_are_kept_and_printed_and_change_no_other_digest(tmp_path):
    words = {"description": "at admission", "unit": "years", "source": "form\x1b A3"}
    plain, told = Schema({"age": Integer(0, 9)}), Schema({"age": Integer(0, 9, **words)})
    assert plain.to_dict()["attributes"]["age"] == {"kind": "integer", "low": 0, "high": 9}
    assert plain.digest == "06f7af41b279fd8ee37be8ae4be945d5b8f6312d8760fbd9ca09a9af861f864d"
    assert str(told) == str(plain) + r"; at admission, in years (source: form\x1b A3)"
    told.save(tmp_path / "s.yaml")
    assert Schema.load(tmp_path / "s.yaml") == told != plain
    assert Boolean(unit="mg").meaning == "in mg"


def test_classes_need_a_label():
    with pytest.raises(SchemaError, match="schema declares no label; add `label:"):
        Schema({"a": Boolean()}).classes  # noqa: B018


def test_a_frame_encodes_by_name_and_an_array_by_position():
    schema = Schema({"a": Boolean(), "n": Integer(0, 9, (3,))})
    rows = {"n": [1, 4, 9], "other": ["x", "y", "z"], "a": [True, False, True]}
    expected = {name: [bin_of(schema[name], value) for value in rows[name]] for name in schema}
    array = np.column_stack([rows["a"], rows["n"]])
    for table in (pd.DataFrame(rows), pl.DataFrame(rows), array):
        result = schema.encode(Table.of(table))
        assert {name: bins.tolist() for name, bins in result.items()} == expected
        assert schema.encode(Table.of(table), ["n"])["n"].tolist() == expected["n"]


def test_a_column_is_looked_for_before_any_row_is_touched(monkeypatch):
    monkeypatch.setattr(Table, "column", lambda *_: pytest.fail("touched a row"))
    schema = Schema({"a": Boolean(), "n": Integer(0, 9)})
    with pytest.raises(DomainError, match="column 'n'"):
        schema.encode(Table.of(pd.DataFrame({"a": [True], "b": [1]})))
    with pytest.raises(DomainError, match=r"expected 2 columns \(a, n\), in this order, got 3"):
        schema.encode(Table.of(np.zeros((1, 3))))


def test_a_public_frame_shows_its_schema():
    frame = pd.DataFrame({"n": [1.0, 2, 3, math.nan], "w": list("abab"), "y": [0, 1, 1, 0]})
    assert Schema.from_public(frame, label="y", bins=3) == Schema(
        {
            "n": Integer(1, 3, (1, 2), missing="bin", outside="clip"),
            "w": Categorical(("a", "b")),
        },
        Label("y", (0, 1)),
    )
    assert Schema.from_public(np.array([[True], [False]])) == Schema({"x0": Boolean()})
    assert Schema.from_public(frame, outside="bin")["w"] == Categorical(("a", "b"), outside="bin")
    with pytest.raises(ValueError, match=r"outside .*error, bin, got 'clip'"):
        Schema.from_public(frame, outside="clip")


def test_a_label_that_the_public_frame_lacks_is_an_error():
    with pytest.raises(DomainError, match="column 'y'"):
        Schema.from_public(pd.DataFrame({"a": [1, 2]}), label="y")


def test_a_schema_prints_a_line_for_each_column():
    schema = Schema(
        {"age": Integer(17, 90, (30, 45), outside="clip"), "b": Boolean(missing="bin")}, Label("ill", (False, True))
    )
    assert str(schema).splitlines() == [
        "age  integer      17 to 90, cut at 30, 45, outside: clip",
        "b    boolean      true or false, 0 or 1, missing: bin",
        "ill  label        False, True",
    ]
    assert repr(schema) == f"<Schema 2 attributes, label 'ill', {schema.digest[:12]}>"


def test_a_schema_prints_its_default_grids():
    schema = Schema({"year": Integer(2020, 2026), "dose": Real(36, 42), "one": Integer(0, 1), "none": Real(0, 1, ())})
    assert str(schema).splitlines() == [
        "year  integer      2020 to 2026, cut at the default grid (6 cut points: 2020, 2021, 2022, 2023, 2024, 2025)",
        "dose  real         36 to 42, cut at the default grid (12 cut points: 36, 36.5, 37, 37.5, 38, 38.5, …, 41.5)",
        "one   integer      0 to 1, cut at the default grid (1 cut point: 0)",
        "none  real         0 to 1, no cut points",
    ]


class Failing:
    def __iter__(self):
        raise RuntimeError("SECRET row")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5,), "attributes must be a mapping of names to attributes, got int"),
        (([1],), "attributes must be a mapping of names to attributes, got list"),
        ((Failing(),), "attributes must be a mapping of names to attributes, got Failing"),
        (
            (np.array([["SECRET", "x"]], dtype=object),),
            "attributes must be a mapping of names to attributes, got ndarray",
        ),
        ((pd.DataFrame({"ab": ["SECRET"]}),), "attributes must be a mapping of names to attributes, got DataFrame"),
        (({"a": Boolean()}, "y"), "label must be a Label, OrderedLabel, Number or None, got str"),
        (({"a": Boolean()}, None, 5), "charges must be a tuple of Charge"),
        (({"a": Boolean()}, None, ("SECRET",)), "charges must be a tuple of Charge"),
    ],
    ids=range(8),
)
def test_arguments_of_another_type_are_refused_and_not_quoted(arguments, message):
    with pytest.raises(TypeError, match=message) as error:
        Schema(*arguments)
    assert "SECRET" not in str(error.value)
    assert error.value.__cause__ is None


def test_cut_points_are_learned_for_a_schema():
    with pytest.raises(TypeError, match="declared must be a Schema, got dict"):
        Schema.learn(pd.DataFrame({"a": [1]}), {"a": Boolean()}, epsilon=1)


def test_a_notebook_shows_a_line_for_each_column_escaped():
    schema = Schema({"age": Integer(0, 90, cuts=(30,), missing="bin")}, Label("ill", ("no", "yes")))
    shown = Markup(schema._repr_html_())
    assert shown.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    assert shown.texts == [
        *("column", "kind", "domain", "age", "integer", "0 to 90, cut at 30, missing: bin"),
        *("ill", "label", "no, yes"),
    ]
    evil = "<script>alert('1')</script>"
    hostile = Schema({evil: Boolean(missing_values=(evil,), missing="bin")}, Label(f"{evil}y", (evil, "b")))
    assert Markup(hostile._repr_html_()).tags == shown.tags
    assert sum(text.count("<script>") for text in Markup(hostile._repr_html_()).texts) == 4


def test_a_schema_of_version_1_keeps_its_default_grids_and_its_digest():
    data = {"version": 1, "attributes": {"x": {"kind": "real", "low": 0.0, "high": 3.0}, "n": {"kind": "boolean"}}}
    schema = Schema.from_dict(data)
    assert schema["x"].cuts[:6] == (0, 0.005, 0.01, 0.02, 0.05, 0.1)
    assert schema["x"].has_default_cuts
    assert schema.to_dict() == data
    text = json.dumps(data, separators=(",", ":"))
    assert schema.digest == hashlib.sha256(text.encode()).hexdigest()


def test_a_schema_with_the_default_grid_of_version_2_keeps_that_version():
    x = {"kind": "real", "low": 0.0, "high": 3.0}
    for data in ({"attributes": {"x": x}}, {"version": 2, "attributes": {"x": x}}):
        schema = Schema.from_dict(data)
        assert schema["x"] == Real(0, 3)
        assert schema.to_dict() == {"version": 2, "attributes": {"x": x}}
    old = Schema.from_dict({"version": 1, "attributes": {"x": x}})["x"]
    both = Schema({"old": old, "new": Real(0, 3)})
    assert Schema.from_dict(both.to_dict()) == both
    assert both.to_dict()["attributes"]["old"]["cuts"] == list(old.cuts)


def test_a_schema_without_real_numbers_is_written_in_version_1():
    assert Schema({"n": Integer(0, 100)}).to_dict()["version"] == 1
    assert Schema({"x": Real(0, 3, cuts=(1,))}).to_dict()["version"] == 1
    assert Schema({"x": Real(0, 3, cuts=())}).to_dict()["version"] == 1
