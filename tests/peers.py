"""Tests that meet packages of others (marker `peers`): skipped with the reason where one is not installed, else never.

The packages named in the variable HEDGEROW_PEERS must be there: CI says which.
"""

import importlib
import os
import warnings
from collections.abc import Iterable
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pytest


def peer(package: str) -> ModuleType | Any:
    """Return a package of others, or None where it is not installed; one that is there must import."""
    if find_spec(package.partition(".")[0]) is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(package)


def pytest_runtest_setup(item: pytest.Item) -> None:
    absent = [package for package in _met(item) if find_spec(package) is None]
    if set(absent) & set(os.environ.get("HEDGEROW_PEERS", "").split()):
        pytest.fail(f"expected {', '.join(absent)} to be installed, as HEDGEROW_PEERS says", pytrace=False)
    if absent:
        pytest.skip(f"{', '.join(absent)} is not installed (make test-peers installs what it can)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report: pytest.TestReport = yield
    met = tuple(_met(item))
    if report.skipped and not hasattr(report, "wasxfail") and met and all(map(find_spec, met)):
        report.outcome = "failed"
        report.longrepr = f"skipped although {', '.join(met)} is installed: {report.longrepr}"
    return report


def _met(item: pytest.Item) -> Iterable[str]:
    """Return the packages that a test meets."""
    return (package for marker in item.iter_markers("peers") for package in marker.args)
