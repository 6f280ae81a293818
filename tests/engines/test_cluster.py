"""A standalone Spark cluster of two workers: the tally is that of memory, and rows are counted before they travel.

It takes a minute of processor time, so `make test` leaves it to `make test-slow`, and counts in Spark's local mode.
"""

import json

import pyarrow.parquet as pq
import pytest

from hedgerow import Tally
from tests.engines.rows import SCHEMA, as_rows, generated
from tests.engines.servers import run_driver


@pytest.mark.slow
def test_two_workers_count_like_memory(spark_master, tmp_path):
    for part in range(4):
        pq.write_table(generated(500, seed=part), tmp_path / f"{part}.parquet")
    expected = as_rows(Tally.count(pq.read_table(tmp_path), "class label", SCHEMA))
    source = f"""
import json, sys
sys.path[:0] = {[str(path) for path in __import__("sys").path]!r}
import ibis
from hedgerow import Tally
from hedgerow.engines.count import grouped
from tests.engines.rows import SCHEMA, as_rows
spark.read.parquet({str(tmp_path)!r}).createOrReplaceTempView("rows")
table = ibis.pyspark.connect(spark).table("rows")
found = as_rows(Tally.from_table(table, SCHEMA))
workers = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
asked = spark.sql(str(ibis.to_sql(grouped(table, SCHEMA, "class label"))))
plan = asked._jdf.queryExecution().executedPlan().toString()
print(json.dumps([found, workers, plan]))
"""
    result, workers, plan = json.loads(run_driver(source, spark_master).splitlines()[-1])
    assert result == expected
    assert workers == 2
    above, _, below = plan.partition("Exchange hashpartitioning")
    assert "HashAggregate" in above
    assert "partial_count" in below
    assert below.count("FileScan") == 1
