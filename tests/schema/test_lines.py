"""Lines of faults in schema files."""

import json

import pytest

from hedgerow.errors import SchemaError
from hedgerow.schema import Schema
from hedgerow.schema.files import key_lines, line_of_fault, lines_of

YAML = """\
# a comment
version: 1
label: {name: ill,
  classes: [a]}
attributes:
  age:
    kind: integer
    low: 5
    high: 3
    lowest: 0
  "s:x": {kind: categorical, values: [a, {b: c}], mising: bin}
  dose: {kind: rael, low: 0, high: 1}
  7: {kind: boolean}
? [odd]
: {version: 2}
"""


def test_each_key_has_the_line_it_stands_in():
    lines = key_lines(YAML)
    assert lines["version",] == 2
    assert (lines["label", "name"], lines["label", "classes"]) == (3, 4)
    assert (lines["attributes", "age"], lines["attributes", "age", "high"]) == (6, 9)
    assert (lines["attributes", "s:x", "mising"], lines["attributes", "7", "kind"]) == (11, 13)
    assert {key for key in lines if len(key) == 1} == {("version",), ("label",), ("attributes",)}


@pytest.mark.parametrize("text", ["", "a", "- a", "a: [", "&a x: [&b", "\0", "x: " + "y" * 2**18])
def test_a_text_without_keys_or_out_of_bounds_has_no_lines(text):
    assert key_lines(text) == {}


def test_json_has_lines_too():
    text = json.dumps({"attributes": {"a": {"kind": "real", "low": 0}}}, indent=2)
    assert key_lines(text) == {
        ("attributes",): 2,
        ("attributes", "a"): 3,
        ("attributes", "a", "kind"): 4,
        ("attributes", "a", "low"): 5,
    }


def test_a_file_that_is_gone_has_no_lines(tmp_path):
    assert lines_of(tmp_path / "none.yaml") == {}


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (SchemaError("x", attribute="age", key="high"), 9),
        (SchemaError("x", attribute="age", key="cuts"), 6),
        (SchemaError("x", attribute="ill", key="classes"), 4),
        (SchemaError("x", attribute="ill"), 3),
        (SchemaError("x", key="version"), 2),
        (SchemaError("x", key="classes"), 4),
        (SchemaError("x"), None),
    ],
)
def test_the_line_of_a_fault_is_that_of_its_key_or_attribute(fault, line):
    assert line_of_fault(fault, key_lines(YAML)) == line


@pytest.mark.parametrize("name", ["s.yaml", "s.json"])
def test_all_faults_of_a_file_are_reported_with_their_lines(tmp_path, name):
    text = YAML.partition("? [odd]")[0]
    if name == "s.json":
        body = {"kind": "integer", "low": 5, "high": 3, "lowest": 0}
        text = json.dumps({"label": {"name": "ill", "classes": ["a"]}, "attributes": {"age": body}}, indent=1)
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError) as error:
        Schema.load(tmp_path / name)
    result = [(fault.line, fault.attribute, fault.key) for fault in error.value.faults]
    if name == "s.json":
        assert result == [(4, "ill", "classes"), (13, "age", "lowest"), (12, "age", "high")]
        return
    expected = [("ill", "classes", 4), ("age", "lowest", 10), ("age", "high", 9), ("s:x", "mising", 11)]
    expected += [("s:x", "values", 11), ("dose", "kind", 12)]
    assert [(attribute, key, line) for line, attribute, key in result] == expected
    assert str(error.value).startswith("6 faults: (1) line 4: attribute 'ill': key 'classes': ")
    assert "(4) line 11: attribute 's:x': key 'mising': unknown key" in str(error.value)
    assert "Did you mean 'missing'?" in str(error.value.faults[3])
    assert "Did you mean 'real'?" in str(error.value.faults[-1])


def test_no_more_than_a_hundred_faults_are_looked_for():
    data = {"attributes": {f"a{i}": {"kind": "none"} for i in range(5_000)}}
    with pytest.raises(SchemaError, match=r"^100 faults: ") as error:
        Schema.from_dict(data)
    assert len(error.value.faults) == 100
    assert len(str(error.value)) <= 1000
