"""Rows of a unit in an engine: as many are counted as in memory, in one query, and the unit's values stay there."""

from collections import Counter
from decimal import Decimal

import ibis
import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.engines import contributions
from hedgerow.engines.contributions import counted_rows
from hedgerow.engines.count import groups_within_limit
from hedgerow.errors import DomainError
from hedgerow.privacy.unit import Unit
from tests.engines.collations import ignoring_case
from tests.engines.load import fresh

WHO = ["ann", "ben", "ann ", "ann", "cy", "ben", "ann"]
TABLE = pa.table({"who": WHO, "place0": [1, 2, 3, 4, 5, 6, 7], "y": ["n", "y"] * 3 + ["n"]})
SCHEMA = hr.Schema({"place0": hr.Integer(0, 9, cuts=(4,))}, hr.Label("y", ("n", "y")), unit=Unit("who", 2))


def test_as_many_rows_of_each_unit_are_counted(load):
    table, seen = load(TABLE), set()
    for _ in range(20):
        rows = counted_rows(table, Unit("who", 2), ["place0", "y"])[0].to_pyarrow()
        whose = [WHO[place - 1].strip() for place in rows["place0"].to_pylist()]
        assert Counter(whose) == {"ann": 2, "ben": 2, "cy": 1}
        seen.add(tuple(sorted(rows["place0"].to_pylist())))
    assert len(seen) > 1  # drawn anew each time
    assert hr.Tally.from_table(table, SCHEMA).total().sum() == 5


@pytest.mark.parametrize("who", [[1, 1, 1, 2], [1.5, 1.5, 1.5, 2.0], ["1", "1.0", " 1", "2"]])
def test_units_of_any_type(load, who):
    schema = hr.Schema({"a": hr.Boolean()}, hr.Label("y", (0, 1)), unit=Unit("who", 1))
    table = pa.table({"who": who, "a": [True] * 4, "y": [0, 0, 0, 1]})
    result = hr.Tally.from_table(load(table), schema).total().tolist()
    assert result == hr.Tally.count(table, "y", schema).total().tolist() == [1, 1]


@pytest.mark.parametrize(
    ("who", "units"),
    [
        (pa.array([Decimal(2**53), Decimal(2**53 + 1)], pa.decimal128(20)), 2),  # one float64
        (pa.array([2**63, 2**63 + 1], pa.uint64()), 2),
        (pa.array([Decimal("1.50"), Decimal("1.51"), Decimal("1.5")], pa.decimal128(4, 2)), 2),
        (pa.array([0.0, -0.0, 1e22]), 2),
        (pa.array([0.1, 0.10000001], pa.float32()), 2),
        (pa.array([0, 1, 1], pa.date32()), 2),
        (pa.array([True, False, True]), 2),
        (pa.array(["ann", "ANN", "änn", "ann "]), 3),
    ],
)
def test_every_value_is_a_unit_as_in_memory(load, who, units):
    """Two values that were one unit would be twice as far apart: the rows of one would take the other's place."""
    schema = hr.Schema({"a": hr.Boolean()}, hr.Label("y", (0, 1)), unit=Unit("who", 1))
    table = pa.table({"who": who, "a": [True] * len(who), "y": [0] * len(who)})
    assert hr.Tally.count(table, "y", schema).total().tolist() == [units, 0]
    assert hr.Tally.from_table(load(table), schema).total().tolist() == [units, 0]


def test_the_rows_of_another_unit_do_not_change_the_choice(load, monkeypatch):
    """Fact 7 of docs/mathematics.md, under one key: so many rows that the engine may part and sort them otherwise."""
    monkeypatch.setattr(contributions.secrets, "token_hex", lambda _: "a key")
    rng = np.random.default_rng(0)
    who, size, zoe = rng.integers(0, 40, 400).astype(str), rng.integers(0, 9, 400), rng.integers(0, 9, 300)
    result: list[Counter[tuple[str, int]]] = []
    for more in (0, 300):
        names, sizes = np.append(who, ["zoe"] * more), np.append(size, zoe[:more])
        order = rng.permutation(len(names))
        table = load(pa.table({"who": names[order], "size": sizes[order], "again": names[order]}))
        rows = counted_rows(table, Unit("who", 3), ["size", "again"])[0].to_pyarrow()
        result.append(Counter(zip(rows["again"].to_pylist(), rows["size"].to_pylist(), strict=True)))
    assert {whose for whose, _ in result[1] - result[0]} == {"zoe"}
    assert (result[1] - result[0]).total() == 3
    assert not result[0] - result[1]


def units_of(table):
    """Return how many units a table has, of which one row each is counted."""
    return len(counted_rows(table, Unit("who", 1), ["y"])[0].to_pyarrow())


def test_duckdbs_own_types_and_orders_merge_no_units():
    connection = ibis.duckdb.connect()
    for number, (kind, values) in enumerate(
        [
            ("VARCHAR COLLATE NOCASE", "('ann'), ('ANN')"),
            ("VARCHAR COLLATE NOACCENT", "('ann'), ('änn')"),
            ("HUGEINT", "(9007199254740992), (9007199254740993)"),
            ("DATE", "('10000-01-01'), ('10000-01-02')"),
        ]
    ):
        connection.raw_sql(f"CREATE TABLE t{number} (who {kind}, y INT DEFAULT 0)")
        connection.raw_sql(f"INSERT INTO t{number} (who) VALUES {values}, {values}")
        assert units_of(connection.table(f"t{number}")) == 2, kind
    connection.raw_sql("SET default_collation = 'nocase'")
    assert units_of(connection.table("t0")) == 2


def test_no_setting_of_postgresql_merges_units(postgres_url):
    psycopg = pytest.importorskip("psycopg")
    name = fresh()
    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute(f"CREATE TABLE {name} (who float8, y int)")
        setup.execute(f"INSERT INTO {name} (who) VALUES (1000001), (1000002), (0), ('-0'), (1000001)")
    connection = ibis.connect(postgres_url)
    connection.raw_sql("SET extra_float_digits = -15").close()
    assert units_of(connection.table(name)) == 3
    connection.disconnect()


def test_the_choice_does_not_depend_on_the_order_under_a_collation(load, monkeypatch):
    """Which of them comes first is the engine's affair, and may depend on rows of others."""
    monkeypatch.setattr(contributions.secrets, "token_hex", lambda _: "a key")
    chosen = set[str]()
    for words in (["yes", "YES"], ["YES", "yes"]):
        table = ignoring_case(load(pa.table({"who": ["ann", "ann"], "x": words})), "x")
        chosen.add(counted_rows(table, Unit("who", 1), ["x"])[0].to_pyarrow()["x"][0].as_py())
    assert len(chosen) == 1


def test_enumerations_of_postgresql_have_units_and_rows(postgres_url):
    psycopg = pytest.importorskip("psycopg")
    name = fresh()
    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute(f"CREATE TYPE word_{name} AS ENUM ('b', 'a')")
        setup.execute(f"CREATE TABLE {name} (who word_{name}, x word_{name}, y int)")
        setup.execute(f"INSERT INTO {name} VALUES ('a', 'b', 0), ('a', 'a', 0), ('b', 'a', 1)")
    connection = ibis.connect(postgres_url)
    schema = hr.Schema({"x": hr.Categorical(("a", "b"))}, hr.Label("y", (0, 1)), unit=Unit("who", 1))
    assert hr.Tally.from_table(connection.table(name), schema).total().tolist() == [1, 1]
    connection.disconnect()


@pytest.mark.parametrize(
    ("values", "units"),
    [
        ("(9007199254740992), (9007199254740993), (9007199254740993.00)", 2),
        ("(1.5), (1.50), (10), (10.0), (0), (0.000), (100)", 4),
    ],
)
def test_numbers_of_any_length_in_postgresql_are_units_by_value(postgres_url, values, units):
    psycopg = pytest.importorskip("psycopg")
    name = fresh()
    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute(f"CREATE TABLE {name} (who numeric, y int)")
        setup.execute(f"INSERT INTO {name} (who) VALUES {values}, {values}")
    connection = ibis.connect(postgres_url)
    assert units_of(connection.table(name)) == units
    connection.disconnect()


@pytest.mark.parametrize("who", [pa.array([1, None]), pa.array(["a", " "]), pa.array([0.5, float("nan")])])
def test_a_row_without_a_unit_is_refused_as_in_memory(load, who):
    schema = hr.Schema({"a": hr.Boolean()}, hr.Label("y", (0, 1)), unit=Unit("who", 1))
    table = pa.table({"who": who, "a": [True] * 2, "y": [0, 1]})
    for count in (lambda: hr.Tally.count(table, "y", schema), lambda: hr.Tally.from_table(load(table), schema)):
        with pytest.raises(DomainError, match="column 'who'"):
            count()


def test_times_cannot_identify_units(load):
    table = pa.table({"who": pa.array([0, 1], pa.timestamp("us")), "y": [0, 1]})
    if load(table).get_backend().name != "pyspark":  # whose times are refused anywhere
        with pytest.raises(DomainError, match="column 'who': times"):
            counted_rows(load(table), Unit("who", 1), ["y"])


def test_a_single_scan_counts_and_returns_no_unit():
    connection = ibis.duckdb.connect()
    connection.con.register("visits", TABLE)
    query = groups_within_limit(connection.table("visits"), SCHEMA, "y")
    assert ibis.to_sql(query).count('"visits"') == 1
    assert "who" not in query.columns
    assert set(query.columns) == {"a0", "class", "absent", "rows"}


@pytest.mark.parametrize("release", ["counts", "gaussian"])
def test_an_oracle_on_a_table_counts_as_many(load, release):
    oracle = hr.Oracle.from_table(load(TABLE), "y", None, classes=("n", "y"), unit=Unit("who", 2), release="counts")
    assert oracle.columns == ("place0",)
    bins = hr.Schema({"place0": hr.Integer(0, 9, cuts=(4,), outside="clip", missing="bin")})
    assert oracle.marginals(bins).rows.sum() == 5
    first, again = (oracle.class_marginals(bins).rows.tolist() for _ in range(2))
    assert first == again  # one choice for all questions
    budget, more = hr.Budget(1, "1e-6"), {"classes": ("n", "y"), "release": release}
    private = hr.Oracle.from_table(load(TABLE), "y", budget, unit=Unit("who", 2), **more)
    of_rows = hr.Oracle.from_table(load(TABLE), "y", budget, **more)
    # Gaussian noise has a margin in the variance and a grid, neither of which grows with the rows of a unit
    assert private.noise_scale((3,)) == pytest.approx(2 * of_rows.noise_scale((3,)), rel=2e-3)
