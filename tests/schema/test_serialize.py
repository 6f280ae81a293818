"""Attributes, labels and charges as plain data and back."""

from fractions import Fraction

import pytest

from hedgerow.errors import SchemaError
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real
from hedgerow.schema.serialize import (
    attribute_from_dict,
    charges_from_list,
    charges_to_list,
    check_keys,
    label_from_dict,
    mapping,
)

KINDS = [
    (Boolean(), {"kind": "boolean"}),
    (Boolean(missing="bin", missing_values=(9,)), {"kind": "boolean", "missing": "bin", "missing_values": [9]}),
    (Categorical(("a", 1), outside="bin"), {"kind": "categorical", "values": ["a", 1], "outside": "bin"}),
    (Integer(0, 9, (3,)), {"kind": "integer", "low": 0, "high": 9, "cuts": [3]}),
    (Real(0.5, 1.5), {"kind": "real", "low": 0.5, "high": 1.5}),
    (Real(0.5, 1.5, ()), {"kind": "real", "low": 0.5, "high": 1.5, "cuts": []}),
    (Integer(0, 2, (0, 1)), {"kind": "integer", "low": 0, "high": 2}),  # the default grid
]


@pytest.mark.parametrize(("attribute", "data"), KINDS)
def test_an_attribute_is_written_without_defaults(attribute, data):
    assert attribute.to_dict() == data
    assert attribute_from_dict("x", data) == ("x", attribute)
    assert attribute_from_dict(7, data) == ("7", attribute)


@pytest.mark.parametrize(
    ("data", "key", "message"),
    [
        ({"kind": "text"}, "kind", "expected one of boolean, categorical, date, integer, ordered, real"),
        ({}, "kind", "expected one of"),
        ({"kind": "integer", "low": 0}, "high", "this key is required"),
        ({"kind": "boolean", "low": 0}, "low", "unknown key; allowed keys are"),
    ],
)
def test_errors_name_the_attribute_and_the_key(data, key, message):
    with pytest.raises(SchemaError, match=message) as error:
        attribute_from_dict("x", data)
    assert (error.value.attribute, error.value.key) == ("x", key)


def test_labels_have_a_name_and_classes():
    assert label_from_dict({"name": "y", "classes": ["b", "a"]}) == Label("y", ("a", "b"))
    with pytest.raises(SchemaError, match="expected a list") as error:
        label_from_dict({"name": "y", "classes": "ab"})
    assert error.value.key == "classes"
    with pytest.raises(SchemaError, match="a name must be"):
        label_from_dict({"name": True, "classes": [0, 1]})


def test_charges_of_a_file_are_declared_and_written_without_saying_so():
    charges = (Charge("cuts", Fraction(1, 3), declared=True),)
    written = charges_to_list(charges)
    assert charges_from_list(written) == charges
    with pytest.raises(SchemaError, match=r"declared .*cards"):
        charges_from_list([charges[0].to_dict()])
    for other in ("cuts", [{}], [7]):
        with pytest.raises(SchemaError, match="expected a list of charges"):
            charges_from_list(other)


def test_each_key_is_checked():
    check_keys({"a": 1}, required=["a"], allowed=["a", "b"])
    with pytest.raises(SchemaError, match="this key is required"):
        check_keys({"b": 1}, required=["a"], allowed=["a", "b"])
    with pytest.raises(SchemaError, match="unknown key; allowed keys are a"):
        check_keys({"a": 1, "c": 1}, required=["a"], allowed=["a"])
    with pytest.raises(SchemaError, match=r"label .*got list"):
        mapping([], "label")
