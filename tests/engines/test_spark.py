"""The user's Spark session is used as it is, from any thread, and never stopped."""

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hedgerow.engines.sources import open_table


def in_thread(call):
    """Call in a thread that has no active session, and return what it returns or raises."""
    result = []

    def run():
        try:
            result.append(call())
        except ValueError as error:
            result.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return result[0]


def here(call):
    try:
        return call()
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("where", [here, in_thread])
def test_a_session_that_is_there_is_used_and_goes_on(tmp_path, spark, where):
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")

    def count(**options):
        with open_table(str(tmp_path / "a.parquet"), engine="spark", **options) as table:
            return table.count().execute()

    assert spark.range(3).count() == 3  # Spark itself settles some settings with its first query
    settings = dict(spark.sparkContext.getConf().getAll())
    assert where(count) == 2
    assert where(lambda: count(master=spark.conf.get("spark.master"))) == 2
    assert "stop the session, or remove master" in where(lambda: count(master="local[7]"))
    assert spark.range(3).count() == 3
    assert dict(spark.sparkContext.getConf().getAll()) == settings
    assert spark.conf.get("spark.app.name") == "hedgerow tests"
