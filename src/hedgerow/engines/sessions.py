"""The active Spark session of the process, which the user configures and stops."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from hedgerow.errors import ArgumentError


def session_of_user(master: str | None) -> Any:
    """Return the session of the process, from any thread; None if there is none.

    A process has at most one, and `getActiveSession` returns that of the thread only. A second one with another master
    is not possible: Spark would silently use the first.
    """
    there = SparkSession.getActiveSession()
    if there is None and getattr(SparkContext, "_active_spark_context", None) is not None:
        there = SparkSession.builder.getOrCreate()
    if there is not None and master is not None and there.conf.get("spark.master", None) != master:
        raise ArgumentError(
            f"expected no active Spark session, or one with master={master!r}, found one with another master; stop it, "
            "or leave out master."
        )
    return there
