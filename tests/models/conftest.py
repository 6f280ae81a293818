from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.engines.servers import POSTGRES, SPARK
from tests.models.sql_engines import SqlEngine, in_duckdb, in_postgres, in_spark


@pytest.fixture(scope="module", params=["duckdb", POSTGRES, SPARK])
def engine(request: pytest.FixtureRequest) -> Iterator[SqlEngine]:
    with ExitStack() as stack:
        if request.param == "duckdb":
            yield stack.enter_context(in_duckdb())
        elif request.param == "postgres":
            yield stack.enter_context(in_postgres(request.getfixturevalue("postgres_url")))
        else:
            yield in_spark(request.getfixturevalue("spark"))
