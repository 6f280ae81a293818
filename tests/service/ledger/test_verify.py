"""Whoever edits a ledger's database is found out, but for the one who makes all of it anew."""

from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest
import sqlalchemy as sa

from hedgerow.boundary.canonical import digest
from hedgerow.errors import LedgerError
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.service.keys import Keys
from hedgerow.service.ledger import database as database_module
from hedgerow.service.ledger import log as log_module
from hedgerow.service.ledger import verify as verify_module
from hedgerow.service.ledger.accounts import account_of, all_so_far, set_total
from hedgerow.service.ledger.history import History
from hedgerow.service.ledger.verify import fill_index
from tests.service.databases import head_of, ledger_at
from tests.service.ledger.asking import asked, declare

EDITS = {
    "a cap is raised": "UPDATE caps SET caps = replace(caps, '3', '9') WHERE analyst = ''",
    "an analyst is let in": "INSERT INTO caps VALUES ('wards', 1, 'eve', '{}')",
    "a total is lowered": "UPDATE totals SET epsilon = '0' WHERE analyst = 'ana'",
    "a request is asked again": "UPDATE requests SET state = 'reserved' WHERE state = 'answered'",
    "a request is tried again": "UPDATE requests SET attempt = 2 WHERE state = 'failed'",
    "a request is forgotten": "DELETE FROM requests WHERE state = 'failed'",
    "an answer is changed": "UPDATE answers SET content = 'x'",
    "an answer is forgotten": "DELETE FROM answers",
    "the head is set back": "UPDATE head SET sequence = 2",
    "an entry is hidden from its analyst": "UPDATE entry_index SET analyst = 'bob' WHERE sequence = 3",
    "a chart is changed": "UPDATE entry_index SET whole_epsilon = 0.125 WHERE sequence = 2",
    "the index has an entry more": "INSERT INTO entry_index (sequence, kind) VALUES (6, 'failed')",
}
ENTRIES = {
    "an entry is edited": "UPDATE entries SET content = replace(content, '1/4', '1/8') WHERE sequence = 2",
    "an entry is removed": "DELETE FROM entries WHERE sequence = 2",
    "the last entry is removed": "DELETE FROM entries WHERE sequence = 5",
}


@pytest.fixture
def ledger(ledger_url):
    with ledger_at(ledger_url) as opened:
        declare(opened)
        opened.answer(opened.reserve(asked("one")), b"12")
        opened.fail(opened.reserve(asked("two")), "a value outside the schema")
        yield opened


def edit(ledger, statement):
    with ledger._database.writing() as connection:
        connection.exec_driver_sql(statement)


def test_an_unedited_ledger_is_complete(ledger):
    result = ledger.verify()
    assert result.entries == 5
    assert str(result) == f"5 entries, complete; the last entry has the hash {result.head}"
    assert result.head == list(ledger.entries())[-1].hash


def test_a_clock_that_was_set_back_is_reported(tmp_path, monkeypatch):
    minutes = iter([60, 56, 50, 0, 1, 2, 3, 4, 5])

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 1, tzinfo=tz) + timedelta(minutes=next(minutes))

    monkeypatch.setattr(log_module, "datetime", Clock)
    with ledger_at(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        declare(ledger)
        ledger.answer(ledger.reserve(asked("one")), b"12")
        result = ledger.verify()
        assert result.set_back == (3,)  # 6 minutes; 4 minutes are what clocks of two machines may differ by
        assert str(result).splitlines()[1:] == [
            "warning: a clock was set back before entry 3; expired keys may have been valid again"
        ]
        ledger.fail(ledger.reserve(asked("two")), "a value outside the schema")
        result = ledger.verify()
    assert (result.entries, result.set_back) == (5, (3, 4))
    assert "before entry 3 and 1 more; expired keys" in str(result)


@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS)
def test_an_edited_database_table_contradicts_the_entries(ledger, statement):
    edit(ledger, statement)
    with pytest.raises(LedgerError, match="the ledger is broken: its table of"):
        ledger.verify()


@pytest.mark.parametrize("statement", ENTRIES.values(), ids=ENTRIES)
def test_entries_are_only_added_to(ledger, statement):
    with pytest.raises(sa.exc.DBAPIError, match="only added to"):  # not LedgerUnavailableError: it is no outage
        edit(ledger, statement)
    assert ledger.verify().entries == 5


@pytest.mark.parametrize("statement", ENTRIES.values(), ids=ENTRIES)
def test_who_takes_the_guard_away_breaks_the_chain(ledger, statement):
    guards = ["entries_no_update", "entries_no_delete"] if ledger._database.path else ["entries_stay ON entries"]
    for guard in guards:
        edit(ledger, f"DROP TRIGGER {guard}")
    edit(ledger, statement)
    for check in (ledger.verify, lambda: list(ledger.entries())):
        with pytest.raises(LedgerError, match="the ledger is broken"):
            check()


def forge(ledger, kind, **changed):
    """Append an entry that the ledger's rules do not allow, made from one of its kind, and hash it rightly."""
    (first, *_) = [entry.data for entry in ledger.entries() if entry.kind == kind]
    data = {name: first[name] for name in first if name not in ("previous", "sequence", "kind", "time")}
    with ledger.log.changing() as connection:
        ledger.log.append(connection, kind, data | changed)


def test_declaring_an_epoch_again_keeps_its_charges(ledger):
    forge(ledger, "declared")
    edit(ledger, "UPDATE totals SET epsilon = '0', rho = '0'")
    with pytest.raises(LedgerError, match="broken at entry 6: earlier entries do not allow it"):
        ledger.verify()


def test_a_request_is_charged_once(ledger):
    forge(ledger, "reserved")
    with pytest.raises(LedgerError, match="broken"):
        ledger.verify()


@pytest.mark.claim("no budget, card or epoch of a service takes both")
def test_a_charge_is_of_the_epochs_unit_of_privacy(ledger):
    """Losses of persons are not added to those of rows."""
    (charge, *_) = [entry.data["charge"] for entry in ledger.entries() if entry.kind == "reserved"]
    forge(ledger, "reserved", request="forged", key="forged", charge={**charge, "unit": Unit("who", 2).to_dict()})
    with pytest.raises(LedgerError, match="entry 6"):
        ledger.verify()


def test_a_cap_is_granted_once(ledger):
    ledger.declare("beds", Account(Fraction(3)), {}, reason="the rows of 2026")
    ledger.grant("beds", "ana", Account(Fraction(1)), reason="is new")
    forge(ledger, "granted")
    with pytest.raises(LedgerError, match="broken at entry 8: earlier entries do not allow it"):
        ledger.verify()


def test_more_than_a_cap_is_not_charged(ledger):
    ledger.answer(ledger.reserve(asked("three", Fraction(1, 2))), b"12")
    ledger.verify()  # all of ana's cap
    forge(ledger, "reserved", request="forged", key="forged", epoch=1)
    forge(ledger, "failed", request="forged")
    row = f"'forged', 'ana', 'forged', '{digest('what')}', 'wards', 1, 'failed', 1, ''"
    edit(ledger, f"INSERT INTO requests VALUES ({row})")
    for analyst in ("ana", ""):
        with ledger._database.writing() as connection:
            account = account_of(connection, "wards", 1, analyst)
            rho = account.spent_rho + Charge("one", Fraction(1, 4)).zcdp
            spent = all_so_far(account.spent + Fraction(1, 4), Fraction(0), rho)
            set_total(connection, "wards", 1, analyst, replace(account, charges=spent))
    edit(ledger, "DELETE FROM entry_index")
    with ledger._database.writing() as connection:
        fill_index(connection, 9)
    with pytest.raises(LedgerError, match="the charges to 'wards' exceed a cap"):
        ledger.verify()


@pytest.mark.parametrize("name", ["epsilon", "delta", "rho"])
def test_a_charge_without_an_amount_is_reported(ledger, name):
    (charge, *_) = [entry.data["charge"] for entry in ledger.entries() if entry.kind == "reserved"]
    del charge[name]
    forge(ledger, "reserved", request="forged", key="forged", charge=charge)
    with pytest.raises(LedgerError, match="entry 6"):
        ledger.verify()


@pytest.fixture
def earlier(ledger_url):
    """A ledger of an earlier version, without the index."""
    with ledger_at(ledger_url) as opened:
        declare(opened)
        opened.answer(opened.reserve(asked("one")), b"12")
        opened.rotate("old", "new", "PEM")
        opened.reserve(asked("two"))
        edit(opened, "DROP TABLE entry_index")
    return ledger_url


def test_a_ledger_without_an_index_is_verified_and_indexed_when_opened(earlier):
    with closing(log_module.Log(earlier, head_of(earlier), read_only=True)) as log:
        assert str(log.verify()).startswith("5 entries, complete")
        assert not sa.inspect(log.database.engine).has_table("entry_index")
    with ledger_at(earlier) as ledger:
        assert ledger.verify().entries == 5
        assert [entry.sequence for entry in History(ledger.log).page("ana", None, 9)] == [2, 3, 5]
        ledger.check_signer("new")


@pytest.mark.parametrize("sequence", [3, 5])
def test_an_incomplete_index_is_reported_and_made_again_at_the_next_start(ledger, ledger_url, sequence):
    """An earlier version that appends entries leaves it so."""
    edit(ledger, f"DELETE FROM entry_index WHERE sequence = {sequence}")
    with pytest.raises(LedgerError, match="the ledger's index of entries is incomplete"):
        ledger.verify()
    with ledger_at(ledger_url) as opened:
        assert opened.verify().entries == 5


def test_the_first_writer_completes_the_index_of_an_older_ledger(earlier):
    Keys(earlier).close()
    with closing(log_module.Log(earlier, head_of(earlier), read_only=True)) as log:
        assert sa.inspect(log.database.engine).has_table("entry_index")
        assert str(log.verify()).startswith("5 entries, complete")


def test_an_index_that_could_not_be_filled_is_not_there(earlier, monkeypatch):
    """A process that is killed meanwhile leaves no empty index, by which the ledger would be broken."""

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(database_module, "fill_index", killed)
    with pytest.raises(KeyboardInterrupt):
        Keys(earlier)
    with closing(log_module.Log(earlier, head_of(earlier), read_only=True)) as log:
        assert not sa.inspect(log.database.engine).has_table("entry_index")
        assert str(log.verify()).startswith("5 entries, complete")


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_a_verification_in_chunks_has_the_result_of_a_single_pass(ledger, monkeypatch, at_once):
    monkeypatch.setattr(verify_module, "AT_ONCE", at_once)
    ledger.reserve(asked("open"))
    seen = []
    assert str(ledger.verify(progress=lambda *one: seen.append(one))).startswith("6 entries, complete")
    assert seen == [(done, 6) for done in range(at_once, 7, at_once)]
    edit(ledger, "UPDATE requests SET body = 'x' WHERE state = 'reserved'")
    with pytest.raises(LedgerError, match="table of requests"):
        ledger.verify()
