"""Sessions are random, few, and end: by the clock, by log-out, and with the key that opened them."""

import pytest

from hedgerow.boundary.canonical import digest
from hedgerow.service.keys import Keys
from hedgerow.service.pages import session_auth as module
from hedgerow.service.pages.session_auth import LIFETIME, MOST_OF_ONE, Sessions
from tests.service.databases import ledger_at
from tests.service.wards import ANA, AUDITOR


@pytest.fixture
def keys(tmp_path):
    ledger_at(f"sqlite:///{tmp_path}/ledger.db").close()
    with Keys(f"sqlite:///{tmp_path}/ledger.db") as opened:
        yield opened


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_session_is_found_by_its_name_alone(keys):
    sessions = Sessions(keys)
    names = [sessions.begin(ANA, None) for _ in range(3)]
    assert len(set(names)) == 3
    assert sessions.get(names[0]).caller == ANA
    assert len({sessions.get(name).form_token for name in names}) == 3
    for wrong in ("", digest(names[0]), names[0][:-1], names[0] + "é"):
        assert sessions.get(wrong) is None
    sessions.end(names[0])
    assert [sessions.get(name) is None for name in names] == [True, False, False]


def test_a_session_ends_in_time(keys, clock):
    sessions = Sessions(keys)
    name = sessions.begin(ANA, None)
    for clock[0], there in ((LIFETIME - 1, True), (LIFETIME, False), (0, False)):
        assert (sessions.get(name) is not None) == there


def test_what_has_ended_is_not_kept(keys, clock):
    sessions = Sessions(keys)
    sessions.begin(ANA, None)
    clock[0] = LIFETIME + 1
    sessions.begin(AUDITOR, None)
    assert len(sessions._sessions) == 1


def test_one_caller_has_few_sessions_and_the_oldest_ends(keys):
    sessions = Sessions(keys)
    other = sessions.begin(AUDITOR, None)
    names = [sessions.begin(ANA, None) for _ in range(MOST_OF_ONE + 2)]
    assert [sessions.get(name) is None for name in names] == [True, True, *[False] * MOST_OF_ONE]
    assert sessions.get(other) is not None


def test_a_session_is_its_keys_and_ends_with_it_wherever_it_is_revoked(keys):
    """Another process revokes it: the database is asked each time."""
    key, sessions = keys.add("ana", "analyst"), Sessions(keys)
    name = sessions.begin(ANA, digest(key))
    assert sessions.get(name).caller == ANA
    with Keys(str(keys._database.url)) as elsewhere:
        elsewhere.revoke("ana")
        elsewhere.add("ana", "auditor")
    assert sessions.get(name) is None


def test_the_token_of_forms_is_compared_whole(keys):
    sessions = Sessions(keys)
    session = sessions.get(sessions.begin(ANA, None))
    assert session.sent(session.form_token)
    assert not any(session.sent(wrong) for wrong in ("", session.form_token[:-1], session.form_token + "é"))
    assert session.form_token not in repr(session)
