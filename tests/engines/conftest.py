import pytest

from tests.engines.load import into_duckdb, into_postgres, into_spark
from tests.engines.servers import POSTGRES, SPARK


@pytest.fixture(scope="session", params=["duckdb", POSTGRES, SPARK])
def load(request):
    """How to put an Arrow table into each engine."""
    if request.param == "duckdb":
        yield into_duckdb
    elif request.param == "spark":
        yield into_spark(request.getfixturevalue("spark"))
    else:
        with into_postgres(request.getfixturevalue("postgres_url")) as into:
            yield into
