"""Weights declared in schemas: what is one, how files have it, and how a table fits it."""

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import SchemaError
from hedgerow.schema.fits import fit_of
from hedgerow.tables.frames import Table

ATTRIBUTES = {"a": hr.Boolean()}
LABEL = hr.Label("y", ("no", "yes"))
SCHEMA = hr.Schema(ATTRIBUTES, LABEL, weight=hr.Weight("w", 10))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"name": "", "high": 1}, "name"),
        ({"name": "w", "high": 0}, "attribute 'w': key 'high': .* > 0, got 0"),
        ({"name": "w", "high": float("inf")}, "'high': the largest weight must be a number > 0"),
        ({"name": "w", "high": True}, "'high': the largest weight must be a number > 0"),
        ({"name": "w", "high": "10"}, "'high': the largest weight must be a number > 0"),
        ({"name": "w", "high": 10**400}, "'high': the largest weight must be a number > 0"),
        ({"name": "w", "high": 1, "levels": 0}, "'levels': expected a whole number from 1 to 255, got 0"),
        ({"name": "w", "high": 1, "levels": 256}, "'levels': expected a whole number from 1 to 255, got 256"),
        ({"name": "w", "high": 1, "levels": 2.0}, "'levels': expected a whole number from 1 to 255"),
    ],
)
def test_an_invalid_weight_is_an_error_that_names_the_key(given, error):
    with pytest.raises(SchemaError, match=error):
        hr.Weight(**given)


@pytest.mark.parametrize("levels", [1, 2, 100, 255])
@pytest.mark.parametrize("high", [1e-9, 1, 3.7, 1e9])
def test_the_kth_step_is_k_equal_parts_of_the_largest_weight(high, levels):
    weight = hr.Weight("w", high, levels)
    assert weight.as_number.values == pytest.approx([high * k / levels for k in range(levels + 1)], abs=1e-12 * high)
    table = Table.of(pd.DataFrame({"w": [0.0, high, high * 1.5, high * (1 - 0.4 / levels)]}))
    assert weight.encode(table).tolist() == [0, levels, levels, levels]


@pytest.mark.parametrize("name", ["a", "y", "who"])
def test_the_column_of_weights_has_no_other_role(name):
    with pytest.raises(SchemaError, match=r"'weight': its column .* cannot also be an attribute, the label"):
        hr.Schema(ATTRIBUTES, LABEL, unit=hr.Unit("who", 2), weight=hr.Weight(name, 10))


def test_files_have_it(tmp_path):
    for ending in ("yaml", "json"):
        SCHEMA.save(tmp_path / f"schema.{ending}")
        assert hr.Schema.load(tmp_path / f"schema.{ending}") == SCHEMA
    (tmp_path / "one.yaml").write_text(
        "label: {name: y, classes: ['no', 'yes']}\nweight: {name: w, high: 10, levels: 20}\n"
        "attributes: {a: {kind: boolean}}\n"
    )
    assert hr.Schema.load(tmp_path / "one.yaml").weight == hr.Weight("w", 10, 20)
    assert "levels" not in SCHEMA.to_dict()["weight"]
    assert hr.Schema(ATTRIBUTES, LABEL).digest != SCHEMA.digest
    assert "weight" not in hr.Schema(ATTRIBUTES, LABEL).to_dict()


@pytest.mark.parametrize(
    ("weight", "error"),
    [
        ("w", "expected weight to be a mapping"),
        ({"name": "w"}, "'high': this key is required"),
        ({"name": "w", "high": 2, "low": 1}, "'low': unknown key; allowed keys are name, high, levels"),
        ({"name": ["w"], "high": 2}, "a name must be"),
    ],
)
def test_an_invalid_weight_in_a_file_is_an_error_that_names_the_key(weight, error):
    with pytest.raises(SchemaError, match=error):
        hr.Schema.from_dict({**SCHEMA.to_dict(), "weight": weight})


def test_how_a_table_fits_it():
    table = pd.DataFrame({"a": [True] * 4, "y": ["no"] * 4, "w": ["1", "", "11", "much"]})
    result = fit_of(Table.of(table), SCHEMA).columns[-1]
    assert (result.name, result.kind, result.missing, result.outside, result.unread, result.refused) == (
        *("w", "weight", 1, 1, 1),
        2,
    )
    assert not fit_of(Table.of(table.drop(columns="w")), SCHEMA).is_accepted
    assert "w" not in fit_of(Table.of(table), SCHEMA).unused


def test_learned_cut_points_keep_it():
    frame = pd.DataFrame({"age": list(range(80)) * 5, "w": 1.0})
    declared = hr.Schema({"age": hr.Integer(0, 120)}, weight=hr.Weight("w", 10))
    learned = hr.Schema.learn(frame, declared, epsilon=1, bins=2, random_state=0)
    assert learned.weight == declared.weight
    assert learned["age"].cuts != declared["age"].cuts
