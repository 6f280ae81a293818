"""Keys are shown once, kept as hashes, and say who asks."""

import time

import pytest

from hedgerow.boundary.canonical import digest
from hedgerow.errors import AccessError, ArgumentError, LedgerMissingError
from hedgerow.service.keys import Keys
from hedgerow.service.requests import Caller
from tests.service.databases import ledger_at, ledger_url  # noqa: F401 -- a fixture


@pytest.fixture
def keys(ledger_url):  # noqa: F811
    ledger_at(ledger_url).close()
    with Keys(ledger_url) as opened:
        yield opened


def test_no_key_is_added_without_a_ledger(ledger_url):  # noqa: F811
    with pytest.raises(LedgerMissingError, match="--new-ledger"):
        Keys(ledger_url)


def test_a_key_names_its_caller_until_it_is_revoked(keys, ledger_url, tmp_path):  # noqa: F811
    ana, kim = keys.add("ana", "analyst"), keys.add("kim", "auditor")
    assert keys.caller(ana) == Caller("ana", "analyst")
    assert list(keys.callers()) == [Caller("ana", "analyst"), Caller("kim", "auditor")]
    assert len({ana, kim}) == 2
    assert min(map(len, (ana, kim))) >= 46  # 256 bits
    if ledger_url.startswith("sqlite"):
        assert all(ana.encode() not in path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert keys.holder(digest(ana)) == Caller("ana", "analyst")
    keys.revoke("ana")
    assert keys.holder(digest(ana)) is None
    for unknown in (ana, "", "hr_", kim[:-1], kim + "x", "hr_" + "é" * 40):
        with pytest.raises(AccessError):
            keys.caller(unknown)


def test_names_and_roles_are_checked(keys):
    keys.add("ana", "analyst")
    for name, role in (
        ("ana", "analyst"),
        ("", "analyst"),
        ("a\nb", "analyst"),
        ("x" * 201, "analyst"),
        ("bob", "king"),
    ):
        with pytest.raises(ArgumentError):
            keys.add(name, role)
    with pytest.raises(ArgumentError, match="has no key"):
        keys.revoke("bob")


def test_a_key_ends_after_its_days(keys, monkeypatch):
    key = keys.add("ana", "analyst", days=30)
    assert [bool(ends) for ends in keys.callers().values()] == [True]
    now = time.time()
    for days, known in ((29.9, True), (30.1, False)):
        monkeypatch.setattr(time, "time", lambda days=days: now + days * 86_400)
        assert (keys.holder(digest(key)) == Caller("ana", "analyst")) is known
    with pytest.raises(AccessError, match=r"the key of 'ana' expired on \d{4}-\d\d-\d\d \d\d:\d\d\."):
        keys.caller(key)
    with pytest.raises(AccessError, match="unknown or was revoked"):
        keys.caller(f"{key}x")
    for days in (0, -1, 3651):
        with pytest.raises(ArgumentError, match="1 to 3,650 days"):
            keys.add("bob", "analyst", days=days)


def test_a_name_that_looks_like_a_known_name_gets_no_key(keys):
    keys.add("ana", "analyst")
    with pytest.raises(ArgumentError, match="'ana' and 'Ana' look alike"):
        keys.add("Ana", "curator")
