"""Keys are shown once, kept as hashes, and say who asks."""

import pytest

from hedgerow.chain import digest
from hedgerow.errors import AccessError, ArgumentError
from hedgerow.service.curator import Caller
from hedgerow.service.keys import Keys
from tests.service.databases import ledger_url  # noqa: F401 -- a fixture


@pytest.fixture
def keys(ledger_url):  # noqa: F811
    with Keys(ledger_url) as opened:
        yield opened


def test_a_key_names_its_caller_until_it_is_revoked(keys, ledger_url, tmp_path):  # noqa: F811
    ana, kim = keys.add("ana", "analyst"), keys.add("kim", "auditor")
    assert keys.caller(ana) == Caller("ana", "analyst")
    assert keys.callers() == [Caller("ana", "analyst"), Caller("kim", "auditor")]
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
    with pytest.raises(ArgumentError, match="with a key"):
        keys.revoke("bob")
