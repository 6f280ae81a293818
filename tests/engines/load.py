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
    "uint8": "smallint",
    "int16": "smallint",
    "uint16": "integer",
    "int32": "integer",
    "uint32": "bigint",
    "uint64": "numeric(20)",
    "int64": "bigint",
    "float": "real",
    "double": "double precision",
    "date32[day]": "date",
    "string": "text",
    "large_string": "text",
    "timestamp[us]": "timestamp",
    "timestamp[us, tz=UTC]": "timestamptz",
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
        columns = ", ".join(f"{quoted(field.name)} {_in_postgres(field.type)}" for field in table.schema)
        with psycopg.connect(url, autocommit=True) as setup:
            setup.execute(f"CREATE TABLE {name} ({columns})")
            with setup.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row(row)
        return connection.table(name)

    yield load
    connection.disconnect()


def _in_postgres(kind: pa.DataType) -> str:
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else POSTGRES[str(kind)]


def into_spark(session) -> Load:
    from pyspark.sql import types

    kinds = {
        "bool": types.BooleanType(),
        "int8": types.ByteType(),
        "uint8": types.ShortType(),
        "int16": types.ShortType(),
        "uint16": types.IntegerType(),
        "int32": types.IntegerType(),
        "uint32": types.LongType(),
        "uint64": types.DecimalType(20, 0),
        "int64": types.LongType(),
        "float": types.FloatType(),
        "double": types.DoubleType(),
        "date32[day]": types.DateType(),
        "string": types.StringType(),
        "large_string": types.StringType(),
        "timestamp[us]": types.TimestampNTZType(),
        "timestamp[us, tz=UTC]": types.TimestampType(),
    }
    connection = ibis.pyspark.connect(session)

    def in_spark(kind: pa.DataType) -> types.DataType:
        return types.DecimalType(kind.precision, kind.scale) if pa.types.is_decimal(kind) else kinds[str(kind)]

    def load(table: pa.Table) -> ibis.Table:
        name = fresh()
        schema = types.StructType([types.StructField(field.name, in_spark(field.type)) for field in table.schema])
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
