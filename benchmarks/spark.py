"""Tallies by Spark.

Spark 4.0, `local[2]`, the same rows. The plan is
`HashAggregate <- Exchange <- HashAggregate of partial counts <- Project <- FileScan`; the tallies equal DuckDB's, and
Spark reads exactly as many records as there are rows. Six attributes have nearly all their patterns in 10⁶ rows, twenty
attributes do not:

{spark}

Ten times the rows shuffle {shuffle_of_six} the bytes with six attributes; with twenty, {shuffle_of_twenty} in three
partitions and {shuffle_in_ten} times in ten partitions, which no longer contain every rare group. A record is a group
of one partition, {bytes_of_a_record} bytes. [Many rows](many_rows.py#ten-billion-rows) carries this to 10¹⁰ rows.

    python spark.py [FOLDER [ROWS ...]]
"""

import os
import re
import shutil
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import census
import ibis
from measure import report, use_all_cores

import hedgerow as hr
from hedgerow.engines.count import grouped

PARTITIONS = (2, 8)
ROWS = [10**6, 10**7]
SCHEMAS = (hr.Schema(census.schema().attributes[-6:], census.LABEL), census.schema())
"""Six attributes have nearly all their patterns in a million rows; twenty have more in more rows."""


def main(folder, sizes):
    rows = []
    with tempfile.TemporaryDirectory(prefix="hedgerow-spark-") as local:
        spark = session(local)
        for size in sizes:
            files = census.make(folder, size)
            show_plan(spark, files)
            for schema in SCHEMAS:
                expected = hr.Tally.from_table(ibis.duckdb.connect().read_parquet(files), schema)
                if not rows:
                    count(spark, files, size, 1, expected)  # warms up
                for partitions in PARTITIONS:
                    rows.append(count(spark, files, size, partitions, expected))
                    print(rows[-1], flush=True)
        spark.stop()
    report("spark", rows)


def session(folder):
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.local.dir": folder,
        "spark.log.level": "ERROR",
        "spark.sql.files.openCostInBytes": "0",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("hedgerow benchmark")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def opened(spark, files):
    spark.read.parquet(files).createOrReplaceTempView("census")
    return ibis.pyspark.connect(spark).table("census")


def show_plan(spark, files):
    """Print the operators of the aggregate, the last first: there must be a partial one before the exchange."""
    query = grouped(opened(spark, files), census.schema(), census.LABEL.name)
    frame = spark.sql(str(ibis.to_sql(query, dialect="pyspark")))
    lines = re.findall(r"^[ +-]*(HashAggregate|Exchange|Project|FileScan)(.*)$", plan_of(frame), re.MULTILINE)
    partial = [" of partial counts" * ("functions=[partial_count" in rest) for _, rest in lines]
    print(" <- ".join(f"{name}{kind}" for (name, _), kind in zip(lines, partial, strict=True)))


def plan_of(frame):
    return frame._jdf.queryExecution().executedPlan().toString()


def count(spark, files, rows, partitions, expected):
    """Return what Spark says of counting the table."""
    size = sum(path.stat().st_size for path in Path(files).parent.glob("*.parquet"))
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(-(-size // partitions)))
    table = opened(spark, files)
    before = stages(spark)
    start = time.perf_counter()
    tally = hr.Tally.from_table(table, expected.schema)
    seconds = time.perf_counter() - start
    new = [stage for stage in stages(spark) if stage not in before]
    (scan,) = [stage for stage in new if stage["read"]]
    assert scan["read"] == rows
    groups = int((tally._counts > 0).sum())
    return {
        "rows": rows,
        "attributes": len(expected.schema),
        "groups": groups,
        "partitions": scan["tasks"],
        "records shuffled": scan["records"],
        "bytes shuffled": scan["bytes"],
        "bytes per group and partition": round(scan["bytes"] / groups / scan["tasks"], 1),
        "bytes per record": round(scan["bytes"] / scan["records"], 1),
        "MiB a task": round(scan["memory"] / scan["tasks"] / 2**20),
        "CPU s": round(scan["cpu"], 1),
        "seconds": round(seconds, 1),
        "rows that differ from DuckDB's": tally.distance(expected),
    }


def stages(spark):
    """Return what each stage so far has read and shuffled."""
    context, gateway = spark.sparkContext._jsc.sc(), spark.sparkContext._gateway
    context.listenerBus().waitUntilEmpty()
    none = gateway.new_array(gateway.jvm.double, 0)
    result = context.statusStore().stageList(None, False, False, none, gateway.jvm.java.util.ArrayList())
    return [
        {
            "id": stage.stageId(),
            "tasks": stage.numCompleteTasks(),
            "read": stage.inputRecords(),
            "records": stage.shuffleWriteRecords(),
            "bytes": stage.shuffleWriteBytes(),
            "memory": stage.peakExecutionMemory(),
            "cpu": stage.executorCpuTime() / 1e9,
        }
        for stage in (result.apply(i) for i in range(result.size()))
    ]


if __name__ == "__main__":
    use_all_cores()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    folder, *sizes = sys.argv[1:] or [Path(__file__).parent.parent / "build" / "census"]
    if find_spec("pyspark") and shutil.which("java"):
        main(folder, [int(rows) for rows in sizes] or ROWS)
    else:
        print("skipped: needs PySpark (pip install 'hedgerow[spark]') and Java 17")
