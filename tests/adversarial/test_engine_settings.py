"""Claim: a schema or a model of others is no SQL, however a connection reads backslashes.

PostgreSQL with standard_conforming_strings off, and Spark with escapedStringLiterals, end a constant elsewhere than
standard SQL does.
"""

from contextlib import contextmanager

import ibis
import pyarrow as pa
import pytest

from hedgerow import Boolean, Budget, Categorical, Label, Oracle, Real, Schema, Tally
from hedgerow.engines.sources import open_table
from hedgerow.errors import DomainError, EngineError
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Literal
from tests.engines.load import into_spark
from tests.engines.rows import as_rows
from tests.engines.servers import POSTGRES, SPARK
from tests.models.sql_engines import in_postgres, in_spark

INJECTED = "\\' OR 1=1) OR pg_sleep(0) IS NULL --"
WORDS = (
    INJECTED,
    "\\",
    "\\\\",
    "\\'",
    "'",
    "''",
    'a"b',
    "a\\nb",
    "a\nb",
    "\\u0041",
    "a\\",
    "${spark.app.name}",
    "$\\{a}",
)
LABEL = Label("y", ("n\\o", "y'\\'es"))
SCHEMA = Schema({"x": Categorical(WORDS, outside="bin")}, LABEL)
ROWS = pa.table({"x": [*WORDS, "other"], "y": [LABEL.classes[i % 2] for i in range(len(WORDS) + 1)]})
ESCAPED = "spark.sql.parser.escapedStringLiterals"


@contextmanager
def escaped(spark):
    spark.conf.set(ESCAPED, "true")
    try:
        yield
    finally:
        spark.conf.unset(ESCAPED)


@pytest.fixture
def user_url(postgres_url):
    """A user for whom the server reads backslashes as it did long ago, and a table for whom to read."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS hostile; CREATE TABLE hostile (x text, y text)")
        for row in ROWS.to_pylist():
            setup.execute("INSERT INTO hostile VALUES (%s, %s)", tuple(row.values()))
        setup.execute("DROP ROLE IF EXISTS old_hand; CREATE ROLE old_hand LOGIN PASSWORD 'pw'")
        setup.execute("GRANT SELECT ON hostile TO old_hand; ALTER ROLE old_hand SET standard_conforming_strings = off")
    yield "postgresql://old_hand:pw@" + postgres_url.rpartition("@")[2]
    with psycopg.connect(postgres_url, autocommit=True) as setup:
        setup.execute("DROP TABLE hostile; DROP ROLE old_hand")


@pytest.mark.parametrize("query", ["", "?options=-c%20standard_conforming_strings%3Doff"])
def test_a_connection_of_our_own_is_set(user_url, query):
    with open_table(f"{user_url}{query}::hostile") as table:
        assert as_rows(Tally.from_table(table, SCHEMA)) == as_rows(Tally.count(ROWS, "y", SCHEMA))


@pytest.mark.claim("Names and values stay quoted under any setting of the connection")
def test_a_connection_of_others_is_checked(user_url):
    connection = ibis.connect(user_url)
    table = connection.table("hostile")
    expected = "postgres: the connection must have standard_conforming_strings = on"
    with pytest.raises(EngineError, match=expected):
        Tally.from_table(table, SCHEMA)
    with pytest.raises(EngineError, match=expected):
        Oracle.from_table(table, "y", Budget(1), classes=LABEL.classes)
    connection.raw_sql("SET standard_conforming_strings = on")
    oracle = Oracle.from_table(table, "y", None, classes=LABEL.classes)
    connection.raw_sql("SET standard_conforming_strings = off")
    with pytest.raises(EngineError, match=expected):
        oracle.marginals(Schema({"x": Categorical(WORDS, missing="bin", outside="bin")}))
    connection.disconnect()


def test_a_session_of_others_is_checked(spark):
    table = into_spark(spark)(ROWS)
    with escaped(spark), pytest.raises(EngineError, match=f"spark: the connection must have {ESCAPED} = false"):
        Tally.from_table(table, SCHEMA)
    assert as_rows(Tally.from_table(table, SCHEMA)) == as_rows(Tally.count(ROWS, "y", SCHEMA))


@pytest.fixture(params=[POSTGRES, SPARK])
def old(request):
    """An engine on which a model's SQL is run as others would, with the setting that no one expects."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
        with in_postgres(f"{url}?options=-c%20standard_conforming_strings%3Doff") as engine:
            yield engine
    else:
        spark = request.getfixturevalue("spark")
        with escaped(spark):
            yield in_spark(spark)


@pytest.mark.claim("cannot inject SQL")
def test_a_model_of_others_is_no_sql_but_a_model(old):
    card = PrivacyCard.none("\\' */ 1", software="hedgerow")
    for word in WORDS:
        rules = (Rule((Literal("x", "=", (word,)),), (0, 1)), Rule((), (1, 0)))
        model = RuleList(SCHEMA, rules, card)
        assert (
            old.select(model, ROWS)
            == model.predict(ROWS).tolist()
            == [LABEL.classes[value == word] for value in ROWS["x"].to_pylist()]
        )


def test_white_space_is_trimmed_and_letters_are_not(old):
    schema = Schema({"x": Categorical(("tnrvf", "red"), outside="bin"), "b": Boolean()}, Label("y", (0, 1)))
    table = pa.table({"x": ["tnrvf", "\\red", " \t\n\r\v\fred\f\v\r\n\t ", "red\\"], "b": [True] * 4})
    for word in ("tnrvf", "red"):
        model = RuleList(
            schema,
            (Rule((Literal("x", "=", (word,)),), (0, 1)), Rule((), (1, 0))),
            PrivacyCard.none("example", software="hedgerow"),
        )
        assert old.select(model, table) == model.predict(table).tolist()


@pytest.mark.claim("Names and values stay quoted under any setting of the connection")
def test_names_are_quoted(old):
    name = "a\\'b`\"c"
    schema = Schema({name: Real(0, 1, cuts=(0.5,))}, Label("y", (0, 1)))
    rules = (Rule((Literal(name, "<=", (0.5,)),), (0, 1)), Rule((), (1, 0)))
    model = RuleList(schema, rules, PrivacyCard.none("example", software="hedgerow"))
    assert old.select(model, pa.table({name: [0.25, 0.75]})) == [1, 0]


def test_a_name_that_spark_would_fill_in_is_refused(spark):
    """Of ``${spark.app.name}`` it reads the column that is named as the application is."""
    name = "${spark.app.name}"
    schema = Schema({name: Boolean()}, Label("y", (0, 1)))
    table = into_spark(spark)(pa.table({name: [True], "hedgerow tests": [False], "y": pa.array([1], pa.int64())}))
    with pytest.raises(DomainError, match=r"\$\{.*Spark"):
        Tally.from_table(table, schema)
    rules = (Rule((Literal(name, "true"),), (0, 1)), Rule((), (1, 0)))
    model = RuleList(schema, rules, PrivacyCard.none("example", software="hedgerow"))
    with pytest.raises(ValueError, match=r"\$\{ in the column name"):
        model.to_sql("spark")
    assert '"${spark.app.name}"' in model.to_sql("duckdb")
