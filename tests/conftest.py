"""Settings of all tests, and the engines that some of them need.

A test of generated cases has 3 of them where it does not set a number, and 400 in `make test-slow`. They are not
timed, since machines that run them are shared and slow at times.
"""

import gc
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

from hedgerow.cli import main
from tests.engines.servers import (  # noqa: F401 -- fixtures
    group_by_engine,
    name_groups,
    postgres_url,
    spark,
    spark_master,
    uses_spark,
)
from tests.peers import pytest_runtest_makereport, pytest_runtest_setup  # noqa: F401 -- hooks
from tests.service.databases import ledger_url  # noqa: F401 -- a fixture

gc.disable()  # while tests are collected, which leaves nothing to free

PLAIN = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("hedgerow", max_examples=3, **PLAIN)
settings.register_profile("full", max_examples=100, **PLAIN)  # make test-slow
settings.load_profile("hedgerow")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path):
    """Look for no examples in the docstrings of tests, which have none: each worker would look for seconds."""
    result = yield
    return [each for each in result if not (file_path.name.startswith("test_") and isinstance(each, DoctestModule))]


@pytest.hookimpl(wrapper=True)  # begins before pytest-xdist reads the marks, and ends after
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    group_by_engine(items)
    yield
    name_groups(items, by_worker=config.getoption("loadgroup", False))


def pytest_collection_finish() -> None:
    """Leave what was collected out of all later garbage collections, which are fewer and larger."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)
    gc.enable()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Send of a test its call and what failed or was slow: to tell of all steps takes longer than half of the tests."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > 0.1:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item):
    result = yield
    if "matplotlib.pyplot" in sys.modules:  # which keeps figures, and warns of the twenty-first
        sys.modules["matplotlib.pyplot"].close("all")
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


@pytest.fixture
def browser():
    """A browser without a window, where one is installed."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield opened
    opened.quit()
