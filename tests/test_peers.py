"""Tests that meet packages of others run wherever these are there: none is skipped, none goes without its marker."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PEERS = ("art", "corels", "imodels", "pydl85", "pystreed", "sacroml")
MADE = """
import pytest
from tests.peers import peer

@pytest.mark.peers("nobody_has_this")
def test_absent():
    assert peer("nobody_has_this").version

@pytest.mark.peers("numpy")
def test_there():
    assert peer("numpy").pi > 3

@pytest.mark.peers("numpy")
def test_without_time():
    pytest.skip("no time")

@pytest.mark.peers("numpy")
def test_without_a_part():
    pytest.importorskip("nobody_has_this")

@pytest.mark.peers("broken_peer")
def test_broken():
    assert peer("broken_peer").version
"""


def outcomes(folder, **environment):
    """Return what becomes of each of the tests above, a line each with the reason, in a pytest of its own."""
    (folder / "test_made.py").write_text(MADE)
    (folder / "broken_peer.py").write_text("import nobody_has_this\n")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    options = ["-rA", "-c", os.devnull, "--rootdir", folder, "-p", "tests.peers"]
    options += [word for name in ("cacheprovider", "hypothesispytest", "xdist") for word in ("-p", f"no:{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, folder / "test_made.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS.parent,
        env=os.environ | environment | {"PYTHONPATH": path, "COLUMNS": "400"},
    )
    return "\n".join(line for line in done.stdout.splitlines() if re.match("(PASS|FAIL|SKIP|ERR)", line))


def test_only_a_package_that_is_not_installed_is_a_reason_to_skip(tmp_path):
    result = outcomes(tmp_path)
    assert re.search("^PASSED .*test_there$", result, re.MULTILINE)
    assert len(re.findall("^SKIPPED", result, re.MULTILINE)) == 1
    assert "nobody_has_this is not installed (make test-peers installs what it can)" in result
    assert re.search(
        "^FAILED .*test_without_time - skipped although numpy is installed: .*no time", result, re.MULTILINE
    )
    assert re.search("^FAILED .*test_without_a_part - skipped although numpy is installed", result, re.MULTILINE)
    assert re.search("^FAILED .*test_broken - ModuleNotFoundError: No module named 'nobody_", result, re.MULTILINE)


def test_a_package_that_must_be_there_is_missed(tmp_path):
    result = outcomes(tmp_path, HEDGEROW_PEERS="imodels nobody_has_this")
    assert "SKIPPED" not in result
    assert "expected nobody_has_this to be installed, as HEDGEROW_PEERS says" in result


@pytest.mark.parametrize("package", PEERS)
def test_tests_of_optional_packages_have_the_marker(package):
    """No other way to import one is used, so that none of these tests can be skipped unseen."""
    own = Path(__file__)
    texts = {path: path.read_text() for path in TESTS.rglob("*.py") if path not in (own, own.with_name("peers.py"))}
    imported = re.compile(rf"^\s*(import|from) {package}\b|importorskip\(\W*{package}\b", re.MULTILINE)
    assert [path for path, text in texts.items() if imported.search(text)] == []
    met = [path for path, text in texts.items() if f'peer("{package}' in text]
    assert met
    assert all(f'pytest.mark.peers("{package}")' in texts[path] for path in met)
