"""A model's SQL predicts what `predict` does, for every storage type of a column and every setting of the engine."""

from contextlib import contextmanager
from decimal import Decimal

import pyarrow as pa
import pytest

from hedgerow.errors import DomainError
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Real, Schema
from hedgerow.tables.columns import Column
from tests.engines.servers import POSTGRES, SPARK
from tests.models.sql_engines import agree, in_duckdb, in_postgres, in_spark

THIRD = 1 / 3
SINGLE = 0.10000000149011612  # the single nearest to 0.1
CELL = {"missing": "bin", "outside": "bin"}
ATTRIBUTES = {
    "sentinels": Real(
        -1e308, 7e307, cuts=(-9.25, 0.1, THIRD, 1e300), missing_values=(-9.1, 0.1, 1, THIRD, "?"), **CELL
    ),
    "single sentinels": Real(-1e308, 7e307, cuts=(0.05, 0.5), missing_values=(SINGLE, 1e300, "1e300"), **CELL),
    "integer": Integer(-10, 2**53 - 1, cuts=(0, 2**53 - 2), missing_values=(-9, "-8", 0.1, SINGLE), **CELL),
    "categories": Categorical(
        (1, repr(THIRD), "0.1", "0.7999999999999999", 2**53, 2**53 + 1), missing_values=(SINGLE,), **CELL
    ),
    "words": Categorical(("1", "0.1", "0.33333333333333331", "2.5"), missing_values=("?", -9.1), **CELL),
    "infinity": Categorical(("inf", 1), missing_values=("-inf",), **CELL),
    "boolean": Boolean(missing="bin", missing_values=(THIRD, SINGLE, 9)),
}
NUMBERS_AND_WORDS = [attribute for name, attribute in ATTRIBUTES.items() if name != "boolean"]
DOUBLES = [
    *(0.1, SINGLE, THIRD, 0.333333333333333, 0.33333333333333331, 0.9999999999999999, 1.0, 1.0000000000000002, -9.1),
    *(-9.100000000000001, -9.0, -8.0, 1e300, 1.5e307, 0.7999999999999999, 0.8, 2.5, 2.0**53, 2.0**53 - 2, None),
    *(float("nan"), -0.0, 5e-324, 0.05000000000000001),
]
HUGE = [1e308, 1.7976931348623157e308, -1e308, -1.5e308]  # an error for a Real that is declared no wider, else a cell
WHOLE = [0, 1, -9, -8, 2**53 - 2, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None]
DIGITS = ["0.79999999999999990000", "0.1", "0.33333333333333331", "0.3333333333333333", "1", "-9.1", "2.5", "0.8"]
COLUMNS = {
    "double": pa.array([*DOUBLES, *HUGE]),
    "single": pa.array([0.1, THIRD, 1.0, 0.99999994, -9.1, -9.0, 2.5, 3e38, float("nan"), None], pa.float32()),
    "decimal(38, 20)": pa.array([*map(Decimal, DIGITS), None], pa.decimal128(38, 20)),
    "decimal(12, 3)": pa.array([*map(Decimal, ("0.1", "1", "-9.1", "2.5", "0.8", "-9")), None], pa.decimal128(12, 3)),
    "decimal(38, 0)": pa.array([None if x is None else Decimal(x) for x in WHOLE], pa.decimal128(38, 0)),
    "decimal(18, 0)": pa.array([0, 1, -9, -8, 2**53 - 2, 2**53, 2**53 + 1, None])
    .cast(pa.decimal128(19, 0))
    .cast(pa.decimal128(18, 0)),
    "bigint": pa.array(WHOLE, pa.int64()),
    "text": pa.array(["0.1", "1", "1.0", "-9.1", "-9.10", "-9", "2.5", "0.3333333333333333", " 0.8", "1e300", None]),
}
FLAGS = {
    "double": pa.array([0.0, 1.0, -0.0, THIRD, SINGLE, 9.0, float("nan"), None]),
    "single": pa.array([0.0, 1.0, SINGLE, 9.0, None], pa.float32()),
    "boolean": pa.array([True, False, None]),
    "text": pa.array(["TRUE", "0", repr(THIRD), "9", None]),
}


@contextmanager
def in_session(session, settings, mode):
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield in_spark(session, modes=[mode])
    finally:
        for name in settings:
            session.conf.unset(name)


SETTINGS = {
    "duckdb": [{}, {"default_collation": "'nocase'", "old_implicit_casting": "true", "integer_division": "true"}],
    "postgres": [
        {},
        {"extra_float_digits": "-15", "standard_conforming_strings": "off", "datestyle": "'german'"},
        {"extra_float_digits": "3", "transform_null_equals": "on", "escape_string_warning": "off"},
    ],
    "spark": [
        {"spark.sql.parser.escapedStringLiterals": "true", "spark.sql.ansi.doubleQuotedIdentifiers": "true"},
        {"spark.sql.legacy.consecutiveStringLiterals.enabled": "true", "spark.sql.caseSensitive": "true"},
    ],
}
_EACH = [("duckdb", 0), pytest.param("duckdb", 1, marks=pytest.mark.slow)]
_EACH += [pytest.param("postgres", i, marks=POSTGRES.marks) for i in range(2)]
_EACH += [pytest.param("postgres", 2, marks=[*POSTGRES.marks, pytest.mark.slow])]
_EACH += [pytest.param("spark", 0, marks=SPARK.marks)]
_EACH += [pytest.param("spark", 1, marks=[*SPARK.marks, pytest.mark.slow])]


@pytest.mark.parametrize(("engine", "number"), _EACH)
@pytest.mark.claim("Exported SQL and Python return the same predictions as `predict`")
def test_every_storage_under_every_setting(request, engine, number):
    settings = SETTINGS[engine][number]
    if engine == "spark":
        opened = in_session(request.getfixturevalue("spark"), settings, ("true", "false")[number])
    elif engine == "postgres":
        opened = in_postgres(request.getfixturevalue("postgres_url"), settings)
    else:
        opened = in_duckdb(settings)
    with opened as result:
        for values in COLUMNS.values():
            agree(result, [(attribute, fitting(attribute, values)) for attribute in NUMBERS_AND_WORDS])
        agree(result, [(ATTRIBUTES["boolean"], values) for values in FLAGS.values()])


def test_numbers_of_any_length_in_postgresql_are_the_nearest_float64(postgres_url):
    """Text of more than 200 characters is no number, but a `numeric` of as many digits is one."""
    import psycopg

    numbers = ["1e-400", "-1e-400", "0", "3e-324", "1e-310", "9" * 300, f"-{'9' * 300}", f"0.5{'0' * 300}1", "0.5"]
    literals = [Literal("x", ">", (cut,)) for cut in (-1e299, 0.0, 5e-324, 0.5, 1e299)] + [Literal("x", "missing")]
    wide = Real(-8e307, 8e307, (-1e299, 0.0, 5e-324, 0.5, 1e299), missing="bin", missing_values=(0.5, "?"))
    schema, card = Schema({"x": wide}, Label("y", (0, 1))), PrivacyCard.none("example", software="hedgerow")
    models = [RuleList(schema, (Rule((literal,), (0, 1)), Rule((), (1, 0))), card) for literal in literals]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE t (i int, x numeric)")
        for i, number in enumerate(numbers):
            connection.execute("INSERT INTO t VALUES (%s, %s::numeric)", (i, number))
        columns = ", ".join(model.to_sql("postgres") for model in models)
        result = connection.execute(f"SELECT {columns} FROM t ORDER BY i").fetchall()
    expected = [model.predict(pa.table({"x": list(map(float, numbers))})).tolist() for model in models]
    assert list(zip(*result, strict=True)) == list(map(tuple, expected))


def fitting(attribute, values):
    """Return the values that `predict` answers for; it refuses others, which SQL cannot."""

    def one(value):
        try:
            attribute.encode(Column.from_arrow(value, "x"))
        except DomainError:
            return False
        return True

    return values.filter(pa.array([one(values.slice(i, 1)) for i in range(len(values))]))
