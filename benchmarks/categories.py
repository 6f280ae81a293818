"""Many categories.

Integers as text, some with decimal zeros, 200,000 rows, two classes. *By hand*: DuckDB joins the text with an existing
table of the categories, without recognising other spellings. Seconds, medians of 3, in one run; other work ran on the
machine.

{categories}

From 1,000 categories to 50,000, fifty times as many, DuckDB takes {categories_in_duckdb} times as long and PostgreSQL
{categories_in_postgresql} times: at most linear. The time includes writing the query.

    python categories.py [postgresql://user:password@host/database]
"""

import sys

import duckdb
import ibis
import pyarrow as pa
from measure import median_seconds, report, use_all_cores

import hedgerow as hr

ROWS = 200_000
NUMBERS = [10, 100, 1_000, 10_000, 50_000]
LABEL = hr.Label("y", ("no", "yes"))


def main(url):
    use_all_cores()
    rows = []
    for number in NUMBERS:
        rows.append(count(number, url))
        print(rows[-1], flush=True)
    report("categories", rows)


def count(number, url):
    schema = hr.Schema({"x": hr.Categorical(tuple(range(number)))}, LABEL)
    table = pa.table(
        {"x": [f"{i % number}{'.0' if i % 7 == 0 else ''}" for i in range(ROWS)], "y": ["no", "yes"] * (ROWS // 2)}
    )
    connection = duckdb.connect()
    connection.register("arrow", table)
    connection.execute("CREATE TABLE held AS SELECT * FROM arrow")
    connection.register("words", pa.table({"word": [str(i) for i in range(number)], "code": list(range(number))}))
    by_hand = "SELECT code, y, count(*) FROM held LEFT JOIN words ON x = word GROUP BY ALL"
    result = ibis.duckdb.from_connection(connection).table("held")
    assert hr.Tally.from_table(result, schema).total().sum() == ROWS
    seconds = {
        "DuckDB s": median_seconds(lambda: hr.Tally.from_table(result, schema), 3),
        "by hand s": median_seconds(lambda: connection.execute(by_hand).to_arrow_table(), 3),
        "memory s": median_seconds(lambda: hr.Tally.count(table, "y", schema), 3),
    }
    if url:
        held = in_postgres(url, table)
        seconds["PostgreSQL s"] = median_seconds(lambda: hr.Tally.from_table(held, schema), 3)
    return {"categories": number, "rows": ROWS} | {key: round(value, 3) for key, value in seconds.items()}


def in_postgres(url, table):
    """Put the table where PostgreSQL counts it."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "DROP TABLE IF EXISTS hedgerow_categories; CREATE TABLE hedgerow_categories (x text, y text)"
        )
        with connection.cursor() as cursor, cursor.copy("COPY hedgerow_categories FROM STDIN") as copy:
            for row in zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True):
                copy.write_row(row)
        connection.execute("ANALYZE hedgerow_categories")
    return ibis.connect(url).table("hedgerow_categories")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
