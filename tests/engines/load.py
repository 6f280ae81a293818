"""The same table in every engine: an Arrow table in, an Ibis table out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import count

import duckdb
import ibis
import pyarrow as pa

_number = count()
POSTGRES = {
    "bool": "boolean",
    "int8": "smallint",
    "uint16": "integer",
    "uint64": "numeric(20)",
    "int64": "bigint",
    "float": "real",
    "double": "double precision",
    "date32[day]": "date",
    "string": "text",
    "large_string": "text",
    "decimal128(12, 3)": "numeric(12, 3)",
    "decimal128(38, 20)": "numeric(38, 20)",
    "timestamp[us]": "timestamp",
}
Load = Callable[[pa.Table], ibis.Table]


def fresh() -> str:
    return f"t{next(_number)}"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def into_duckdb(table: pa.Table) -> ibis.Table:
    connection, name = duckdb.connect(), fresh()
    connection.register("arrow", table)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
    return ibis.duckdb.from_connection(connection).table(name)


@contextmanager
def into_postgres(url: str) -> Iterator[Load]:
    import psycopg

    connection = ibis.connect(url)

    def load(table: pa.Table) -> ibis.Table:
        name = fresh()
        columns = ", ".join(f"{quoted(field.name)} {POSTGRES[str(field.type)]}" for field in table.schema)
        with psycopg.connect(url, autocommit=True) as setup:
            setup.execute(f"CREATE TABLE {name} ({columns})")
            with setup.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
        return connection.table(name)

    yield load
    connection.disconnect()


def into_spark(session) -> Load:
    from pyspark.sql import types

    kinds = {
        "bool": types.BooleanType(),
        "int8": types.ByteType(),
        "uint16": types.IntegerType(),
        "uint64": types.DecimalType(20, 0),
        "int64": types.LongType(),
        "float": types.FloatType(),
        "double": types.DoubleType(),
        "date32[day]": types.DateType(),
        "string": types.StringType(),
        "large_string": types.StringType(),
        "decimal128(12, 3)": types.DecimalType(12, 3),
        "decimal128(38, 20)": types.DecimalType(38, 20),
        "timestamp[us]": types.TimestampNTZType(),
    }
    connection = ibis.pyspark.connect(session)

    def load(table: pa.Table) -> ibis.Table:
        name = fresh()
        schema = types.StructType([types.StructField(field.name, kinds[str(field.type)]) for field in table.schema])
        columns = [
            [None if value is None else Decimal(value) for value in column.to_pylist()]
            if pa.types.is_uint64(column.type)
            else column.to_pylist()
            for column in table.columns
        ]
        rows = list(zip(*columns, strict=True))
        session.createDataFrame(rows, schema).createOrReplaceTempView(name)
        return connection.table(name)

    return load
