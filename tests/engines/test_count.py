"""A table in an engine has the tally that it has in memory, or the same error."""

import ibis
import numpy as np
import pyarrow as pa
import pytest

from hedgerow import Boolean, Integer, Label, Schema, Tally, Weight
from hedgerow.engines import count
from hedgerow.errors import DomainError, SchemaError, TooManyPatternsError
from hedgerow.schema.fits import fit_of
from hedgerow.tables.frames import Table
from tests.engines.rows import SCHEMA, SECRET, as_rows, generated
from tests.engines.servers import POSTGRES, SPARK


@pytest.mark.parametrize("rows", [0, 1, 2000])
def test_the_tally_matches_memory(load, rows):
    table = generated(rows)
    result = Tally.from_table(load(table), SCHEMA)
    expected = Tally.count(table, "class label", SCHEMA)
    assert as_rows(result) == as_rows(expected)
    assert result.total().sum() == rows
    assert result.schema == SCHEMA


def test_without_a_schema_every_column_is_boolean(load):
    table = pa.table({"a": [True, False, True], "b": [0, 1, 1], "y": [True, True, False]})
    result = Tally.from_table(load(table), label="y")
    expected = Tally.count(table.drop_columns("y"), table["y"])
    assert as_rows(result) == as_rows(expected)
    assert result.schema.classes == (False, True)
    with pytest.raises(DomainError, match="column 'b': not boolean; a table without a schema"):
        Tally.from_table(load(pa.table({"b": [0, 2], "y": [0, 1]})), label="y")


def test_labels_may_be_in_a_column_of_another_name(load):
    schema = Schema({"a": Boolean()}, Label("y", (0, 1)))
    table = pa.table({"a": [True, False], "other": [1.0, 0.0]})
    assert as_rows(Tally.from_table(load(table), schema, label="other")) == [[0, 1, 0], [1, 0, 1]]


def without(schema, **policies):
    """The schema with these policies for age only, and none of the others."""
    return Schema({"age": Integer(0, 120, cuts=(30,), **policies)}, schema.label)


BAD = {
    "missing": (pa.array([5, None]), ["no", "no"]),
    "outside": (pa.array([5, 121]), ["no", "no"]),
    "text": (pa.array(["5", SECRET]), ["no", "no"]),
    "infinity": (pa.array([5.0, float("inf")]), ["no", "no"]),
    "dates": (pa.array([5, 6], pa.date32()), ["no", "no"]),
    "times": (pa.array([5, None], pa.timestamp("us")), ["no", "no"]),
    "booleans": (pa.array([True, False]), ["no", "no"]),
    "label unknown": (pa.array([5, 6]), ["no", SECRET]),
    "label missing": (pa.array([5, 6]), ["no", None]),
    "label before attribute": (pa.array([5, 121]), ["no", SECRET]),
    "text before missing": (pa.array([SECRET, None]), ["no", "no"]),
    "missing before outside": (pa.array([121, None]), ["no", "no"]),
}


ON_SPARK = ("text", "infinity", "label unknown", "missing before outside")  # it takes a second for each
ERRORS = [
    pytest.param(*engine.values, bad, marks=engine.marks)
    for engine in (pytest.param("duckdb"), POSTGRES, SPARK)
    for bad in (ON_SPARK if engine is SPARK else BAD)
]


def test_dates_are_not_booleans(load):
    schema, days = Schema({"a": Boolean(missing="bin")}, Label("y", (0, 1))), pa.array([0, None], pa.date32())
    table = pa.table({"a": days, "y": [0, 1]})
    assert not fit_of(Table.of(table), schema).is_accepted
    assert not count.engine_fit(load(table), schema).is_accepted
    for tally in (lambda t: Tally.count(t, "y", schema), lambda t: Tally.from_table(load(t), schema)):
        with pytest.raises(DomainError, match=r"column 'a': .*got dates"):
            tally(table)


@pytest.mark.parametrize(("load", "bad"), ERRORS, indirect=["load"])
def test_the_error_matches_memory(load, bad):
    ages, labels = BAD[bad]
    table = pa.table({"age": ages, "class label": labels})
    with pytest.raises(DomainError) as expected:
        Tally.count(table, "class label", without(SCHEMA))
    with pytest.raises(DomainError) as result:
        Tally.from_table(load(table), without(SCHEMA))
    assert str(result.value) == str(expected.value)
    assert result.value.column == expected.value.column
    assert SECRET not in str(result.value)
    assert result.value.__context__ is None


def test_errors_that_need_no_row_are_raised_before_any_row_is_read(load):
    table = load(generated(3))
    with pytest.raises(DomainError, match="column 'height'"):
        Tally.from_table(table, Schema({"height": Boolean()}, SCHEMA.label))
    with pytest.raises(DomainError, match="column 'nothing'"):
        Tally.from_table(table, SCHEMA, label="nothing")
    with pytest.raises(SchemaError, match="label"):
        Tally.from_table(table, Schema({"select": Boolean()}), label="class label")
    with pytest.raises(ValueError, match="column of the labels"):
        Tally.from_table(table)
    with pytest.raises(TypeError, match="got list"):
        Tally.from_table(table, SCHEMA, label=["class label"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"schema .*got dict"):
        Tally.from_table(table, {"age": Boolean()})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Ibis table"):
        Tally.from_table(generated(3), SCHEMA)  # type: ignore[arg-type]


def test_other_types_are_refused_by_name(load):
    stamps = pa.table({"age": pa.array([0], pa.timestamp("us", "UTC")), "class label": ["no"]})
    with pytest.raises(DomainError, match="column 'age'"):
        Tally.from_table(load(stamps), without(SCHEMA))


def test_too_many_patterns_are_neither_fetched_nor_counted_in_the_error(load, monkeypatch):
    table = load(generated(500))
    n = len(as_rows(Tally.from_table(table, SCHEMA)))
    groups = len(count.grouped(table, SCHEMA, "class label").to_pyarrow())
    monkeypatch.setattr(count, "MOST_PATTERNS", groups)  # groups, fewer than rows
    assert len(as_rows(Tally.from_table(table, SCHEMA))) == n
    monkeypatch.setattr(count, "MOST_PATTERNS", groups - 1)
    with pytest.raises(TooManyPatternsError, match=f"more than {groups - 1} distinct patterns"):
        Tally.from_table(table, SCHEMA)
    monkeypatch.setattr(count, "MOST_PATTERNS", 40)
    with pytest.raises(TooManyPatternsError, match="40 distinct patterns") as error:
        Tally.from_table(table, SCHEMA)
    assert str(n) not in str(error.value)
    assert error.value.limit == 40


def test_the_answer_holds_codes_and_numbers_of_rows_only(load):
    answer = count.grouped(load(generated(500)), SCHEMA, "class label").to_pyarrow()
    assert all(pa.types.is_integer(kind) for kind in answer.schema.types)
    assert len(answer.column_names) == len(SCHEMA) + 2


@pytest.mark.parametrize("few", [3, 40])  # booleans that are columns of their own, at most
def test_many_booleans_are_counted_as_in_memory(load, monkeypatch, few):
    monkeypatch.setattr(count, "_MOST_KEYS", few)
    monkeypatch.setattr(count, "_PART", 4)  # of ten, two are in the last part
    rng = np.random.default_rng(7)
    columns = {f"x {i}": pa.array(rng.random(300) < 0.5, mask=rng.random(300) < 0.1) for i in range(10)}
    for i, most in enumerate((1, 1, 2, 1)):
        columns[f"n{i}"] = pa.array(rng.integers(0, most + 1, 300), f"int{8 << i}", mask=rng.random(300) < 0.1)
    table = pa.table({**columns, "age": rng.integers(0, 9, 300), "y": rng.integers(0, 2, 300)})
    kinds = {name: Boolean(missing="bin") for name in columns}
    kinds["x 4"] = kinds["n2"] = Boolean(missing="bin", missing_values=(2,))
    schema = Schema({"age": Integer(0, 9, cuts=(4,)), **dict(reversed(kinds.items()))}, Label("y", (0, 1)))
    assert as_rows(Tally.from_table(load(table), schema)) == as_rows(Tally.count(table, "y", schema))
    assert Tally.from_table(load(table[:0]), schema).total().sum() == 0
    for name, kind in (("x 9", Boolean()), ("n3", Boolean()), ("n2", Boolean(missing="bin"))):  # the last has a 2
        strict = Schema({**dict(schema.attributes), name: kind}, schema.label)
        with pytest.raises(DomainError, match=f"column '{name}'") as expected:
            Tally.count(table, "y", strict)
        with pytest.raises(DomainError, match=f"column '{name}'") as result:
            Tally.from_table(load(table), strict)
        assert str(result.value) == str(expected.value)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32"])
def test_bytes_of_0_and_1_are_counted_as_an_array(kind):
    """Ibis wrote them one by one, each cast within those before: 15 seconds for a hundred."""
    rng = np.random.default_rng(1)
    columns = {f"x{i}": pa.array(rng.integers(0, 2, 50), kind, mask=rng.random(50) < 0.1) for i in range(70)}
    schema = Schema({name: Boolean(missing="bin") for name in columns}, Label("y", (0, 1)))
    table = pa.table({**columns, "y": rng.integers(0, 2, 50)})
    connection = ibis.duckdb.connect()
    connection.con.register("stored", table)
    stored = connection.table("stored")
    assert as_rows(Tally.from_table(stored, schema)) == as_rows(Tally.count(table, "y", schema))
    assert len(count.grouped(stored, schema, "y", count._packed(stored, schema)).columns) == 3


def test_more_bins_than_a_small_integer_numbers(load):
    schema = Schema({"a": Integer(0, 400, cuts=tuple(range(300)))}, Label("y", (0, 1)))
    table = pa.table({"a": pa.array([127, 128, 255, 299, 400], pa.int64()), "y": pa.array([0, 1, 0, 1, 0], pa.int64())})
    assert as_rows(Tally.from_table(load(table), schema)) == as_rows(Tally.count(table, "y", schema))


@pytest.mark.parametrize(
    "weights",
    [
        pa.array([0.0, 0.24, 0.26, 1.0, 2.0, 7.5, -3.0, 1.24]),
        pa.array([0, 1, 2, 3, 0, 1, 2, -1]),
        pa.array(["0.5", " 1 ", "1.0", "2e0", "0", "9", "0.75", "1.25"]),
    ],
)
def test_weighted_rows_are_counted_as_in_memory(load, weights):
    table = pa.table({"a": [True, False] * 4, "y": ["n", "n", "y", "y"] * 2, "w": weights})
    schema = Schema({"a": Boolean()}, Label("y", ("n", "y")), weight=Weight("w", 2, 4))
    result, expected = Tally.from_table(load(table), schema), Tally.count(table, "y", schema)
    assert result.distance(expected) == 0
    assert result.total().sum() == expected.total().sum()


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        (pa.array([1.0, None]), "column 'w': some weights are missing"),
        (pa.array(["1", ""]), "column 'w': some weights are missing"),
        (pa.array(["1", "much"]), "column 'w': some cells are text that is not a number"),
        (pa.array([1.0, float("inf")]), "column 'w': some numbers are infinite"),
        (pa.array([True, False]), "column 'w': .*got booleans"),
    ],
)
def test_weights_that_are_none_are_refused_by_engines(load, weights, error):
    schema = Schema({"a": Boolean()}, Label("y", ("n", "y")), weight=Weight("w", 2, 4))
    with pytest.raises(DomainError, match=error) as result:
        Tally.from_table(load(pa.table({"a": [True, False], "y": ["n", "y"], "w": weights})), schema)
    assert "much" not in str(result.value)
