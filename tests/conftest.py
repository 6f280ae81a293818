"""Settings of all tests, and the engines that some of them need.

Generated cases are not timed, since machines that run them are shared and slow at times.
"""

import gc
import sys

import pytest
from hypothesis import HealthCheck, settings

from hedgerow.cli import main
from tests.engines.servers import group_by_engine, postgres_url, spark, spark_master, uses_spark  # noqa: F401 -- fixtures
from tests.message_log import pytest_configure, pytest_unconfigure  # noqa: F401 -- hooks
from tests.peers import pytest_runtest_makereport, pytest_runtest_setup  # noqa: F401 -- hooks

settings.register_profile("hedgerow", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hedgerow")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    group_by_engine(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item):
    result = yield
    if uses_spark(item):
        gc.collect()  # while its warnings of sockets are ignored
    return result


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command as if typed; return its exit code, and what it prints on stdout and stderr."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["hedgerow", *map(str, words)])
        with pytest.raises(SystemExit) as leaving:
            main()
        printed = capsys.readouterr()
        return leaving.value.code or 0, printed.out, printed.err

    return call
