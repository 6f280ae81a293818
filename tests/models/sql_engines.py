"""Engines that run a model's SQL on an Arrow table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import example, given
from hypothesis import settings as with_settings

from hedgerow.models import Rule, RuleList, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Label, Schema
from hedgerow.schema.attributes import Attribute
from tests.engines.load import POSTGRES, quoted

Run = Callable[[str, pa.Table], list[tuple]]


@dataclass(frozen=True)
class SqlEngine:
    """A dialect, how many of a profile's generated cases its tests can afford, and how to run ``SELECT … FROM t``."""

    dialect: str
    cases: float
    run: Run

    def select(self, model: RuleList | Tree, table: pa.Table) -> list:
        return self.select_all([model], table)[0]

    def select_all(self, models: Sequence[RuleList | Tree], table: pa.Table) -> list[list]:
        """Predict with many models in one query."""
        columns = ", ".join(f"{model.to_sql(self.dialect)} AS p{i}" for i, model in enumerate(models))
        return [list(column) for column in zip(*self.run(f"SELECT {columns} FROM t", table), strict=True)]


@contextmanager
def in_duckdb(settings: Mapping[str, str] | None = None) -> Iterator[SqlEngine]:
    with duckdb.connect() as connection:
        for name, value in (settings or {}).items():
            connection.execute(f"SET {name} = {value}")

        def run(query: str, table: pa.Table) -> list[tuple]:
            connection.register("t", table)
            try:
                return connection.execute(query).fetchall()
            finally:
                connection.unregister("t")

        yield SqlEngine("duckdb", 2, run)


@contextmanager
def in_postgres(url: str, settings: Mapping[str, str] | None = None) -> Iterator[SqlEngine]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in (settings or {}).items():
            connection.execute(f"SET {name} = {value}")

        def run(query: str, table: pa.Table) -> list[tuple]:
            columns = ", ".join(f"{quoted(field.name)} {_postgres_type(field.type)}" for field in table.schema)
            connection.execute(f"CREATE TEMPORARY TABLE t ({columns})")
            try:
                with connection.cursor() as cursor, cursor.copy("COPY t FROM STDIN") as copy:
                    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                        copy.write_row(row)
                return connection.execute(query).fetchall()
            finally:
                connection.execute("DROP TABLE t")

        yield SqlEngine("postgres", 1, run)


def _postgres_type(kind: pa.DataType) -> str:
    return "numeric" if pa.types.is_decimal(kind) else POSTGRES[str(kind)]


def in_spark(session: Any, modes: Sequence[str] = ("true", "false")) -> SqlEngine:
    """Run every query twice, in ANSI mode and not, which must make no difference; or in one of these modes."""

    def run(query: str, table: pa.Table) -> list[tuple]:
        session.createDataFrame(table).createOrReplaceTempView("t")
        result = []
        try:
            for ansi in modes:
                session.conf.set("spark.sql.ansi.enabled", ansi)
                columns = session.sql(query).toArrow().columns
                result.append(list(zip(*(column.to_pylist() for column in columns), strict=True)))
        finally:
            session.conf.unset("spark.sql.ansi.enabled")
            session.catalog.dropTempView("t")
        assert result[0] == result[-1]
        return result[0]

    return SqlEngine("spark", 1 / 4, run)


def each_literal(name: str, attribute: Attribute) -> list[RuleList]:
    """Return a model for each literal of an attribute, which says 1 where it holds."""
    schema, card = Schema({name: attribute}, Label("y", (0, 1))), PrivacyCard.none("example", software="hedgerow")
    literals = attribute.literals(name, negations=True)
    return [RuleList(schema, (Rule((literal,), (0, 1)), Rule((), (1, 0))), card) for literal in literals]


def agree(engine: SqlEngine, columns: Sequence[tuple[Attribute, pa.Array]]) -> None:
    """Check each literal of each attribute on its own column, in one query; shorter columns end with missing values."""
    length = max(len(values) for _, values in columns)
    padded = [pa.concat_arrays([values, pa.nulls(length - len(values), values.type)]) for _, values in columns]
    table = pa.table({f"x{i}": values for i, values in enumerate(padded)})
    models = [(i, model) for i, (attribute, _) in enumerate(columns) for model in each_literal(f"x{i}", attribute)]
    result = engine.select_all([model for _, model in models], table)
    for (i, model), predicted in zip(models, result, strict=True):
        size = len(columns[i][1])
        assert predicted[:size] == model.predict(table.slice(0, size)).tolist(), model


def generated(engine: SqlEngine, strategies: dict, *examples: dict, share: float = 1) -> Callable:
    """Run a test on examples, and on as many generated cases as the engine can afford."""

    def decorate(check: Callable[..., None]) -> None:
        for result in examples:
            check = example(**result)(check)
        number = max(int(share * engine.cases * with_settings.default.max_examples), 1)
        with_settings(max_examples=number)(given(**strategies)(check))()

    return decorate
