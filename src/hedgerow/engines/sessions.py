"""The Spark session that this process has: its user's, to configure and to stop."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from hedgerow.errors import ArgumentError


def session_of_user(master: str | None) -> Any:
    """Return the session that is there, in whichever thread it was made; None if there is none.

    A process has one at most, and `getActiveSession` tells a thread of its own only. Another than its master cannot be
    had beside it: Spark would go on with the first, without a word.

    Raises
    ------
    ValueError
        If another master is asked for than that of the session.
    """
    there = SparkSession.getActiveSession()
    if there is None and getattr(SparkContext, "_active_spark_context", None) is not None:
        there = SparkSession.builder.getOrCreate()
    if there is not None and master is not None and there.conf.get("spark.master", None) != master:
        raise ArgumentError(
            f"the session of Spark that is active has another master than {master!r}; stop it, or leave master out."
        )
    return there
