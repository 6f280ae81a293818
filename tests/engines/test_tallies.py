"""Tallies in files and tables: written, read, merged, refused where hostile; the query that makes one elsewhere."""

import datetime
import stat
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import Tally
from hedgerow.engines import tallies
from hedgerow.engines.tallies import KINDS, tally_sql
from hedgerow.errors import ArgumentError, DomainError, EngineError, SchemaError, TooManyPatternsError, TooManyRowsError
from hedgerow.schema.derived import YearsSince
from tests.engines.load import fresh, into_duckdb

SCHEMA = hr.Schema(
    {
        "age": hr.Integer(0, 120, cuts=(30, 65), outside="clip", missing="bin"),
        "ward": hr.Categorical(("surgery", "eye's", "7"), missing="bin", outside="bin"),
        "dose": hr.Real(0, 1, cuts=(0.25, 0.5), missing="bin", outside="bin"),
        "seen": hr.Date("2020-01-01", "2021-12-31", cuts="year", missing="bin", outside="bin"),
        "site": hr.Categorical((1, 2, 5), outside="bin"),
        "years": hr.Integer(0, 100, cuts=(20,), outside="clip", derived=YearsSince("born", "2020-01-01")),
        "smoker": hr.Boolean(missing="bin"),
    },
    hr.Label("ill", (False, True)),
)
DAYS = [None, *(datetime.date(year, 6, 1) for year in (2019, 2020, 2021))]
COLUMNS = {
    "age": ([3, 30, 31, 200, None], pa.int64()),
    "ward": (["surgery", " surgery", "eye's", "7.0", "other", "", None], pa.string()),
    "dose": ([0.0, 0.3, 0.5, 7.0, float("nan"), None], pa.float64()),
    "seen": (DAYS, pa.date32()),
    "site": ([1, 2, 5, 9], pa.int64()),
    "born": ([datetime.date(1990, 1, 1), datetime.date(2010, 5, 5)], pa.date32()),
    "smoker": ([True, False, None], pa.bool_()),
    "ill": ([True, False], pa.bool_()),
}
SMALL = hr.Schema({"x": hr.Categorical(("a", "b"), missing="bin"), "z": hr.Boolean()}, hr.Label("y", (0, 1, 2)))


def table_of(n, seed=0, columns=COLUMNS):
    rng = np.random.default_rng(seed)
    drawn = {name: [values[i] for i in rng.integers(0, len(values), n)] for name, (values, _) in columns.items()}
    return pa.table({name: pa.array(values, columns[name][1]) for name, values in drawn.items()})


def groups_of(tally):
    """The rows of each pattern and level, by hand."""
    bins, counts = tally.bins_and_counts()
    result = Counter()
    for pattern, row in zip(bins.tolist(), counts.tolist(), strict=True):
        result.update({(*pattern, level): count for level, count in enumerate(row) if count})
    return result


def small(groups, schema=SMALL):
    """A tally of some groups: (bin of x, bin of z, level) and rows."""
    bins = np.array([key[:2] for key, _ in groups], dtype=np.int64).reshape(-1, 2)
    counts = np.zeros((len(groups), 3), dtype=np.int64)
    for place, (key, rows) in enumerate(groups):
        counts[place, key[2]] = rows
    return Tally(schema, bins, counts)


def as_file(groups, changed=None):
    """A table of a tally with these codes and rows, as a warehouse would hold it."""
    names = ["a0", "a1", "class", "rows"]
    columns = {name: pa.array([row[i] for row in groups], pa.int64()) for i, name in enumerate(names)}
    return pa.table({**columns, "schema": pa.array([SMALL.digest] * len(groups), pa.string()), **(changed or {})})


keys = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2))
many = st.lists(st.tuples(keys, st.integers(0, 2**40)), max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tallies")


@settings(max_examples=25, deadline=None)
@given(st.lists(many, min_size=1, max_size=4))
def test_tallies_of_parts_are_merged_by_pattern_and_level(folder, parts):
    expected = Counter()
    for groups in parts:
        for key, rows in groups:
            expected[key] += rows
    merged = Tally.merge([small(groups) for groups in parts])
    for old in folder.glob("part*.parquet"):
        old.unlink()
    for place, groups in enumerate(parts):
        small(groups).save(folder / f"part{place}.parquet")
    loaded = Tally.load(f"{folder}/part*.parquet", SMALL)
    assert groups_of(merged) == groups_of(loaded) == +expected
    merged.save(folder / "one.parquet")
    loaded.save(folder / "other.parquet")
    assert (folder / "one.parquet").read_bytes() == (folder / "other.parquet").read_bytes()


@pytest.mark.parametrize("cuts", [[], [0], [1], [100, 700], [250, 500, 750]])
def test_merged_equals_whole_however_rows_are_parted(tmp_path, cuts):
    whole, ends = table_of(1000), [0, *cuts, 1000]
    for place, (start, end) in enumerate(pairwise(ends)):
        Tally.count(whole.slice(start, end - start), "ill", SCHEMA).save(tmp_path / f"{place}.parquet")
    counted = Tally.count(whole, "ill", SCHEMA)
    loaded = Tally.load(f"{tmp_path}/*.parquet", SCHEMA)
    assert groups_of(loaded) == groups_of(counted)


@pytest.mark.parametrize(
    "learner", [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier, hr.PrivateScorecardClassifier]
)
def test_a_tally_and_its_rows_give_the_same_seeded_model(tmp_path, learner):
    columns = {"x": (["a", "b", None], pa.string()), "z": ([True, False], pa.bool_()), "y": ([0, 1, 2], pa.int64())}
    rows = table_of(900, columns=columns)
    for place in range(3):
        Tally.count(rows.slice(300 * place, 300), "y", SMALL).save(tmp_path / f"{place}.parquet")
    of_rows = learner(epsilon=1, schema=SMALL, random_state=7).fit(rows.drop_columns("y"), rows["y"].to_numpy())
    of_tally = learner(epsilon=1, random_state=7).fit_tally(Tally.load(f"{tmp_path}/*.parquet", SMALL))
    item, other = (_model(fitted).to_dict() for fitted in (of_rows, of_tally))
    assert item == other
    assert of_tally.privacy_ == of_rows.privacy_


def _model(fitted):
    return next(value for name, value in vars(fitted).items() if name in ("tree_", "rule_list_", "scorecard_"))


def test_only_the_owner_can_read_a_tally_that_replaces_a_file(tmp_path):
    path = tmp_path / "counts.parquet"
    path.write_text("public")
    path.chmod(0o644)
    small([((0, 0, 0), 5)]).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in tmp_path.iterdir()] == ["counts.parquet"]


def test_a_file_holds_codes_rows_and_the_digest_and_nothing_of_the_process(tmp_path):
    small([((2, 1, 2), 5), ((0, 1, 0), 2**40)]).save(tmp_path / "c.parquet")
    result = pq.read_table(tmp_path / "c.parquet")
    assert result.column_names == ["a0", "a1", "class", "rows", "schema"]
    assert result["rows"].type == pa.int64()
    assert not result.schema.metadata
    rows = [tuple(row.values()) for row in result.to_pylist()]
    assert rows == [(0, 1, 0, 2**40, SMALL.digest), (2, 1, 2, 5, SMALL.digest)]


def test_a_table_of_an_engine_is_read_as_a_file_is(load):
    result = Tally.load(load(as_file([(0, 1, 2, 7), (0, 1, 2, 3), (-2, 0, 1, 5), (2, 0, 1, 1), (1, 1, 0, 0)])), SMALL)
    assert groups_of(result) == {(0, 1, 2): 10, (2, 0, 1): 6}
    assert len(result.rows()) == 2  # a group without rows is as if it were not there


def test_an_empty_part_is_a_part():
    empty = as_file([])
    assert groups_of(Tally.load(into_duckdb(empty), SMALL)) == {}
    assert groups_of(Tally.merge([small([]), small([((0, 0, 1), 3)])])) == {(0, 0, 1): 3}


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.decimal128(38, 0), pa.int64()])
def test_whole_numbers_of_any_type_are_read(kind):
    made = as_file([(0, 1, 2, 7), (1, 0, 0, 3)])
    columns = [made[name].cast(kind) for name in made.column_names[:-1]]
    result = Tally.load(into_duckdb(pa.table([*columns, made["schema"]], names=made.column_names)), SMALL)
    assert groups_of(result) == {(0, 1, 2): 7, (1, 0, 0): 3}


HOSTILE = {
    "code too large": ([(3, 0, 0, 1)], {}, DomainError, r"column 'a0'.*some codes are not between 0 and 2"),
    "code too small": ([(-7, 0, 0, 1)], {}, DomainError, r"column 'a0'.*some codes are not between 0 and 2"),
    "far code": ([(2**62, 0, 0, 1)], {}, DomainError, r"column 'a0'.*some codes are not between"),
    "level too large": ([(0, 0, 3, 1)], {}, DomainError, r"column 'class'.*some codes are not between 0 and 2"),
    "no code": ([(None, 0, 0, 1)], {}, DomainError, r"column 'a0'.*some codes are not between"),
    "negative rows": ([(0, 0, 0, 5), (0, 0, 0, -1)], {}, DomainError, "numbers of rows"),
    "no rows": ([(0, 0, 0, None), (0, 0, 0, 1)], {}, DomainError, "numbers of rows"),
    "too many rows": ([(0, 0, 0, 2**43)], {}, TooManyRowsError, r"fewer than 2\^43 rows"),
    "too many together": ([(0, 0, 0, 2**42), (1, 0, 0, 2**42)], {}, TooManyRowsError, r"fewer than 2\^43"),
    "overflow": ([(0, 0, 0, 2**62)] * 4, {}, TooManyRowsError, r"fewer than 2\^43 rows"),
    "missing, refused": ([(0, -2, 0, 1)], {}, DomainError, r"column 'z'.*some values are missing"),
    "no number": ([(0, -3, 0, 1)], {}, DomainError, r"column 'z'"),
    "label missing": ([(0, 0, -2, 1)], {}, DomainError, "some labels are missing"),
    "other schema": ([(0, 0, 0, 1)], {"schema": pa.array(["0" * 64])}, SchemaError, "counted with another schema"),
    "two schemas": (
        [(0, 0, 0, 1), (0, 0, 0, 2)],
        {"schema": pa.array([SMALL.digest, "secret_f00d"])},
        SchemaError,
        "counted with another schema",
    ),
    "no schema": (
        [(0, 0, 0, 1)],
        {"schema": pa.array([None], pa.string())},
        SchemaError,
        "counted with another schema",
    ),
    "real rows": ([(0, 0, 0, 1)], {"rows": pa.array([1.5])}, DomainError, r"column 'rows'.*whole numbers"),
    "text codes": ([(0, 0, 0, 1)], {"a1": pa.array(["0"])}, DomainError, r"column 'a1'.*whole numbers"),
    "boolean codes": ([(0, 0, 0, 1)], {"a1": pa.array([True])}, DomainError, r"column 'a1'.*whole numbers"),
    "digest of numbers": ([(0, 0, 0, 1)], {"schema": pa.array([1])}, DomainError, r"column 'schema'.*text"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_error_for_an_invalid_tally_quotes_no_cell(name):
    rows, changed, error, message = HOSTILE[name]
    with pytest.raises(error, match=message) as caught:
        Tally.load(into_duckdb(as_file(rows, changed)), SMALL)
    assert "secret" not in str(caught.value)


def test_a_number_of_rows_beyond_64_bits_is_refused():
    rows = pa.array([10**37, 10**37], pa.decimal128(38, 0))
    with pytest.raises(TooManyRowsError, match=r"fewer than 2\^43 rows"):
        Tally.load(into_duckdb(as_file([(0, 0, 0, 1)] * 2, {"rows": rows})), SMALL)
    codes = pa.array([10**37], pa.decimal128(38, 0))
    with pytest.raises(EngineError, match="duckdb failed"):
        Tally.load(into_duckdb(as_file([(0, 0, 0, 1)], {"a0": codes})), SMALL)


@pytest.mark.parametrize("name", ["a0", "a1", "class", "rows", "schema"])
def test_a_column_that_is_not_there_is_named(name):
    with pytest.raises(DomainError, match=f"column '{name}': not a tally with this schema"):
        Tally.load(into_duckdb(as_file([(0, 0, 0, 1)]).drop_columns(name)), SMALL)


def test_too_many_patterns_are_not_fetched(monkeypatch):
    monkeypatch.setattr(tallies, "MOST_PATTERNS", 2)
    three = [(i, 0, 0, 0) for i in range(3)]  # groups without rows, too
    with pytest.raises(TooManyPatternsError, match="more than 2 distinct patterns"):
        Tally.load(into_duckdb(as_file(three)), SMALL)
    assert len(Tally.load(into_duckdb(as_file(three[:2])), SMALL).rows()) == 0


def test_a_file_that_is_not_parquet_is_an_error(tmp_path):
    (tmp_path / "c.parquet").write_bytes(b"\x80\x04pickle")
    with pytest.raises(EngineError, match="duckdb failed"):
        Tally.load(f"{tmp_path}/c.parquet", SMALL)
    with pytest.raises(ArgumentError, match=r"end in \.parquet"):
        small([]).save(tmp_path / "c.csv")


@pytest.mark.parametrize("more", [{"unit": hr.Unit("who", 2)}, {"weight": hr.Weight("w", 5)}])
def test_units_and_weights_are_refused_before_anything_is_read(tmp_path, more):
    schema = hr.Schema(SMALL.attributes, SMALL.label, **more)
    for attempt in (
        lambda: small([], schema).save(tmp_path / "c.parquet"),
        lambda: Tally.load("no_such.parquet.but.never.opened", schema),
        lambda: Tally.merge([small([], schema)]),
        lambda: tally_sql(schema, "duckdb", "t"),
    ):
        with pytest.raises(ArgumentError, match="saved tallies do not support"):
            attempt()
    assert not list(tmp_path.iterdir())


def test_only_tallies_with_the_same_schema_are_merged():
    other = hr.Schema({"x": SMALL["x"], "z": SMALL["z"]}, hr.Label("other", (0, 1, 2)))
    for wrong in ([], [small([]), small([], other)]):
        with pytest.raises(ArgumentError, match="same schema"):
            Tally.merge(wrong)
    with pytest.raises(TooManyRowsError, match=r"fewer than 2\^43"):
        Tally.merge([small([((0, 0, 0), 2**42)])] * 2)
    assert groups_of(Tally.merge([small([((0, 0, 0), 2**42)]), small([((0, 0, 0), 2**42 - 1)])])) == {
        (0, 0, 0): 2**43 - 1
    }


# The query


def dialect_of(table):
    return {"pyspark": "spark"}.get(name := table.get_backend().name, name)


def run(table, schema, kinds=None):
    """What the printed query makes of a table, where it is."""
    backend, name, dialect = table.get_backend(), fresh(), dialect_of(table)
    made = "TEMPORARY VIEW" if dialect == "spark" else "TABLE"
    backend.raw_sql(f"CREATE {made} {name} AS {tally_sql(schema, dialect, table.get_name(), kinds)}")
    return Tally.load(backend.table(name), schema)


def test_the_printed_query_counts_like_memory(load):
    rows = table_of(800)
    assert groups_of(run(load(rows), SCHEMA)) == groups_of(Tally.count(rows, "ill", SCHEMA))


def test_many_categories_are_counted_too(load):
    words = tuple(f"word {i}" for i in range(40))
    schema = hr.Schema({"x": hr.Categorical(words, outside="bin")}, hr.Label("y", ("no", "yes")))
    columns = {"x": ([*words, "z"], pa.string()), "y": (["no", "yes"], pa.string())}
    rows = table_of(300, columns=columns)
    assert groups_of(run(load(rows), schema)) == groups_of(Tally.count(rows, "y", schema))


NUMBERS = hr.Schema({"x": hr.Integer(0, 9, cuts=(3,), missing="bin", outside="bin")}, hr.Number("y", 0, 1, levels=5))


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (None, pa.int64()),
        (None, pa.float64()),
        (None, pa.decimal128(12, 2)),
        ("integer", pa.int32()),
        ("decimal", pa.decimal128(12, 2)),
        ("text", pa.string()),
    ],
)
def test_a_number_may_be_of_any_type_of_numbers(load, kind, stored):
    """As the schema suggests it, a column of whole numbers, of decimals or of floating point is read alike."""
    values = [0, 3, 4, 9, 10, -1, None, *([3.5, 3.0] if not pa.types.is_integer(stored) else [])]
    values += [float("nan")] if pa.types.is_float64(stored) else []
    texts = [None if value is None else str(value) for value in values]
    x = pa.array(texts, pa.string()) if stored == pa.string() else pa.array(values, pa.float64()).cast(stored)
    rows = pa.table({"x": x, "y": pa.array([0.25 * (i % 5) for i in range(len(values))])})
    result = run(load(rows), NUMBERS, {} if kind is None else {"x": kind})
    assert groups_of(result) == groups_of(Tally.count(rows, "y", NUMBERS))


def test_values_that_memory_rejects_are_errors_when_a_tally_is_read(load):
    schema = hr.Schema({"x": hr.Integer(0, 9, cuts=(3,))}, hr.Label("y", (False, True)))
    for values, message in (([1.0, None], "some values are missing"), ([1.0, 11.0], "outside the declared domain")):
        rows = pa.table({"x": pa.array(values), "y": [True, False]})
        for count in (lambda rows=rows: Tally.count(rows, "y", schema), lambda rows=rows: run(load(rows), schema)):
            with pytest.raises(DomainError, match=message):
                count()


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery"])
def test_queries_for_warehouses_are_parsed_and_count_in_duckdb(dialect):
    """Not a test on Snowflake or BigQuery: their SQL is parsed, and what it says in DuckDB's words is counted."""
    schema = hr.Schema(
        [attribute for attribute in SCHEMA.attributes if attribute[0] not in ("ward", "seen", "years")], SCHEMA.label
    )
    rows = into_duckdb(table_of(500))
    text = tally_sql(schema, dialect, rows.get_name())
    assert "encode" not in tally_sql(SCHEMA, dialect, "t").lower()
    sqlglot.parse_one(tally_sql(SCHEMA, dialect, "t"), read=dialect)
    (told,) = sqlglot.transpile(text, read=dialect, write="duckdb")
    result = Tally.load(rows.get_backend().sql(told), schema)
    assert groups_of(result) == groups_of(Tally.count(table_of(500), "ill", schema))


def test_the_name_of_the_table_stands_as_it_is_given():
    for dialect in ("duckdb", "postgres", "spark", "snowflake", "bigquery"):
        text = tally_sql(SMALL, dialect, "{{ ref('patients') }}")
        assert "FROM {{ ref('patients') }} AS" in text
        assert "rows_0" not in text
        assert SMALL.digest in text


def test_a_schema_runs_nothing_in_a_template():
    schema = hr.Schema({"x": hr.Categorical(("{{ run_query('drop') }}", "b"))}, hr.Label("y", (0, 1)))
    with pytest.raises(ArgumentError, match="which a template engine would execute"):
        tally_sql(schema, "duckdb", "{{ ref('t') }}")


def test_a_name_that_is_the_placeholder_is_left_alone():
    schema = hr.Schema({"rows_0": hr.Categorical(("rows_1", '"rows_0"'))}, hr.Label("y", (0, 1)))
    text = tally_sql(schema, "duckdb", "here")
    assert "FROM here AS" in text
    rows = pa.table({"rows_0": ["rows_1", '"rows_0"'] * 3, "y": [0, 1, 1] * 2})
    table = into_duckdb(rows)
    result = Tally.load(table.get_backend().sql(text.replace("FROM here", f"FROM {table.get_name()}")), schema)
    assert groups_of(result) == groups_of(Tally.count(rows, "y", schema))


@pytest.mark.parametrize(
    ("kinds", "dialect", "error", "message"),
    [
        ({"x": "money"}, "duckdb", ArgumentError, "column must be one of boolean, integer"),
        ({"nothing": "text"}, "duckdb", DomainError, "nothing"),
        ({}, "oracle", ArgumentError, "sql must be one of duckdb"),
    ],
)
def test_kinds_and_dialects_are_checked(kinds, dialect, error, message):
    with pytest.raises(error, match=message):
        tally_sql(SMALL, dialect, "t", kinds)
    assert [*KINDS] == ["boolean", "integer", "number", "decimal", "date", "text"]


def test_a_query_is_the_same_after_sql_was_read(tmp_path):
    """Ibis changes the generators of sqlglot when it is imported, which those that were used do not notice."""
    script = """
import sys
import hedgerow as hr
from hedgerow.models import Leaf, Split, Tree
schema = hr.Schema({"x": hr.Categorical(("1", "2", "b", *map(str, range(50, 400))))}, hr.Label("y", ("no", "yes")))
small = hr.Schema({"x": hr.Categorical(("a", "b"))}, schema.label)
split = Split(hr.schema.Literal("x", "=", ("a",)), Leaf(label="no"), Leaf(label="yes"))
tree = Tree(small, split, hr.privacy.PrivacyCard.none("example", software="hedgerow"))
if sys.argv[1]:
    with open(sys.argv[1], "w") as file:
        file.write(tree.to_sql("postgres"))
    hr.read_model(sys.argv[1], small)
from hedgerow.engines.tallies import tally_sql
print(tally_sql(schema, "postgres", "patients"))
"""
    said = [
        subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True).stdout
        for path in ("", str(tmp_path / "model.sql"))
    ]
    assert "STRING_TO_ARRAY" in said[0]
    assert said[1] == said[0]
