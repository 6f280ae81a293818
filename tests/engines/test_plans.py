"""What an engine does with the query: it reads the rows once, though it counts the groups before it sends them."""

import time

import ibis
import pyarrow.parquet as pq
import pytest

from hedgerow.engines.count import groups_within_limit
from tests.engines.load import into_duckdb, into_postgres
from tests.engines.rows import SCHEMA, generated


@pytest.fixture(scope="module")
def rows():
    return generated(2000)


def explained(query):
    connection = query.get_backend()
    return "\n".join(" ".join(map(str, row)) for row in connection.raw_sql(f"EXPLAIN {ibis.to_sql(query)}").fetchall())


def test_duckdb_reads_the_rows_once(rows):
    plan = explained(groups_within_limit(into_duckdb(rows), SCHEMA, "class label")).upper()
    assert plan.count("SEQ_SCAN") == 1
    assert plan.count("HASH_GROUP_BY") == 1


def test_postgres_reads_the_rows_once(rows, postgres_url):
    with into_postgres(postgres_url) as load:
        plan = explained(groups_within_limit(load(rows), SCHEMA, "class label"))
    assert plan.count("Seq Scan on") == 1
    assert plan.count("Aggregate  (") == 2  # the groups, and their number


def test_spark_reads_the_rows_once(rows, spark, tmp_path):
    pq.write_table(rows, tmp_path / "a.parquet")
    table = ibis.pyspark.connect(spark).read_parquet(tmp_path / "a.parquet")
    before = records_read(spark)
    result = groups_within_limit(table, SCHEMA, "class label").to_pyarrow()
    assert result["rows"].to_numpy().sum() == len(rows)
    assert records_read(spark) - before < 1.5 * len(rows)


def records_read(spark):
    """Return how many records all stages so far have read from files."""
    time.sleep(1)  # its listener is a little behind
    gateway = spark.sparkContext._gateway
    none = gateway.new_array(gateway.jvm.double, 0)
    stages = spark.sparkContext._jsc.sc().statusStore().stageList(None, False, False, none, None)
    return sum(stages.apply(i).inputRecords() for i in range(stages.size()))
