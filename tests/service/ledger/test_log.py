"""A head outside the database: whoever brings back an earlier state of the ledger is found out, and no crash is."""

import os
import shutil
import signal
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
import sqlalchemy as sa

from hedgerow.errors import LedgerError, LedgerMissingError, LedgerUnavailableError
from hedgerow.service.ledger import log as log_module
from hedgerow.service.ledger.database import Database
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.ledger.log import HeadFile, Log, LogMark
from tests.service.databases import head_of, ledger_at
from tests.service.ledger.asking import asked, declare

LOST = "the ledger has lost entries or was replaced"


@pytest.fixture
def kept(ledger_url):
    """The URL of a ledger with an answered request, and a copy of its head and database of before that."""
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        ledger.answer(ledger.reserve(asked("one")), b"12")
    return ledger_url


def roll_back(url):
    """Forget the last entry, as a snapshot of before has."""
    engine = sa.create_engine(sa.make_url(url).set(drivername="sqlite" if "sqlite" in url else "postgresql+psycopg"))
    with engine.begin() as connection:
        on = "" if "sqlite" in url else " ON entries"
        for guard in ("entries_no_delete", "entries_stay"):
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {guard}{on}")
        kept = "(SELECT max(sequence) - 1 FROM entries)"
        for name in ("entry_index", "entries"):
            connection.exec_driver_sql(f"DELETE FROM {name} WHERE sequence > {kept}")
        connection.exec_driver_sql(
            "UPDATE head SET sequence = (SELECT max(sequence) FROM entries), "
            "hash = (SELECT hash FROM entries ORDER BY sequence DESC LIMIT 1)"
        )
    engine.dispose()


def test_a_ledger_is_opened_again_with_its_head(kept):
    before = HeadFile(head_of(kept)).read()
    with ledger_at(kept) as ledger:
        assert before == (3, ledger.verify().head)
        ledger.reserve(asked("two"))
    assert HeadFile(head_of(kept)).read().sequence == 4


@pytest.mark.claim(
    "A database that has lost entries, for example because a backup or snapshot was restored, is not served"
)
def test_a_ledger_behind_its_head_is_refused_until_a_recorded_acceptance(kept):
    roll_back(kept)
    for _ in range(2):
        with pytest.raises(LedgerError, match=LOST):
            ledger_at(kept)
    with ledger_at(kept, accept_rollback=True) as ledger:
        (*_, last) = ledger.entries()
        assert (last.kind, last.data["head"]["sequence"]) == ("accepted", 3)
        assert "the head was entry 3" in str(last)
    with pytest.raises(LedgerError, match="start without --accept-rollback"):
        ledger_at(kept, accept_rollback=True)
    ledger_at(kept).close()


def test_another_history_of_the_same_length_is_refused(kept):
    roll_back(kept)
    head = head_of(kept).read_bytes()
    with ledger_at(kept, accept_rollback=True) as ledger:
        ledger.reserve(asked("two"))
        ledger.reserve(asked("three"))
    head_of(kept).write_bytes(head)
    with pytest.raises(LedgerError, match=LOST):
        ledger_at(kept)


def test_without_its_head_only_an_empty_ledger_is_new(kept):
    head_of(kept).unlink()
    with pytest.raises(LedgerError, match="head outside the database is missing"):
        ledger_at(kept)
    head_of(kept).write_bytes(b"\0" * 100)  # or with one that is not whole
    with pytest.raises(LedgerError, match="head outside the database is missing"):
        ledger_at(kept)
    with ledger_at(kept, accept_rollback=True) as ledger:
        assert list(ledger.entries())[-1].data["head"] is None


@pytest.mark.claim(
    "A database that has lost entries, for example because a backup or snapshot was restored, is not served"
)
def test_a_database_replaced_by_an_older_copy_charges_nothing(kept, caplog):
    """As an asynchronous replica that takes over."""
    with ledger_at(kept) as ledger:
        ledger.reserve(asked("two"))
        roll_back(kept)
        for ask in (lambda: ledger.reserve(asked("three")), lambda: ledger.stored("ana", "x"), ledger.probe):
            with pytest.raises(LedgerUnavailableError, match="has lost entries, and nothing can be charged") as caught:
                ask()
            assert LOST in caught.value.reason
    assert caplog.text.count(LOST) == 1


@pytest.mark.claim(
    "A database that has lost entries, for example because a backup or snapshot was restored, is not served"
)
def test_a_process_charges_nothing_if_entries_of_another_process_are_lost(kept, caplog):
    """As a replica that takes over; with a charge, the process would write its own entry over the head of the other."""
    with ledger_at(kept) as first:
        with ledger_at(kept) as second:
            second.reserve(asked("two"))
        head = head_of(kept).read_bytes()
        roll_back(kept)
        for ask in (lambda: first.reserve(asked("three")), lambda: first.stored("ana", "x"), first.probe):
            with pytest.raises(LedgerUnavailableError, match="has lost entries, and nothing can be charged"):
                ask()
    assert head_of(kept).read_bytes() == head
    assert caplog.text.count(LOST) == 1


def copies_of(folder, url, mark):
    """Write a ledger with its files; return the contents of each file: none, older and latest."""
    copies = {path.name: [None] for path in (folder / "ledger.db", head_of(url), mark)}
    for number in range(2):
        with Ledger(url, mark=mark, new_ledger=number == 0) as ledger:
            declare(ledger) if number == 0 else ledger.reserve(asked("one"))
        for name, contents in copies.items():
            contents.append((folder / name).read_bytes())
    return copies


def test_each_mixture_of_copies_is_refused_unless_all_are_old(tmp_path):
    """The slow obvious rule: a file outside the database names an entry that the database does not have."""
    url, mark = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "key-ledger"
    copies = copies_of(tmp_path, url, mark)
    for database, head, kept in product(range(3), repeat=3):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        for number, (name, contents) in zip((database, head, kept), copies.items(), strict=True):
            if contents[number] is not None:
                (tmp_path / name).write_bytes(contents[number])
        is_served = database > 0 and head > 0 and database >= max(head, kept)
        try:
            Ledger(url, mark=mark).close()
        except LedgerError:
            assert not is_served
        else:
            assert is_served


@pytest.mark.claim(
    "A database that has lost entries, for example because a backup or snapshot was restored, is not served"
)
def test_a_plain_copy_of_a_running_ledger_is_refused(tmp_path):
    path = tmp_path / "ledger.db"
    with ledger_at(f"sqlite:///{path}") as ledger:
        declare(ledger)
        ledger.answer(ledger.reserve(asked("one")), b"12")
        (tmp_path / "copy").mkdir()
        copy = shutil.copy(path, tmp_path / "copy")
        with pytest.raises(LedgerError, match="is missing"):
            ledger_at(f"sqlite:///{copy}")
        with closing(Log(f"sqlite:///{copy}", read_only=True)) as log:
            assert not log.verify().is_compared
        shutil.copy(head_of(f"sqlite:///{path}"), tmp_path / "copy")
        with pytest.raises(LedgerError, match=LOST):
            ledger_at(f"sqlite:///{copy}")


def test_a_plain_copy_is_refused_after_a_crash_during_a_declaration(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    child = os.fork()
    if not child:
        ledger = ledger_at(url)
        Database.settle = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        declare(ledger)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    with ledger_at(url) as ledger:
        ledger.reserve(asked("one"))
        (tmp_path / "copy").mkdir()
        shutil.copy(tmp_path / "ledger.db", tmp_path / "copy")
        with pytest.raises(LedgerError, match="is missing"):
            ledger_at(f"sqlite:///{tmp_path}/copy/ledger.db")


def test_plain_copies_and_rolled_back_ledgers_cannot_be_backed_up(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with ledger_at(url) as ledger:
        declare(ledger)
        ledger.reserve(asked("one"))
        (tmp_path / "copy").mkdir()
        copy = shutil.copy(tmp_path / "ledger.db", tmp_path / "copy")
        with (
            closing(Log(f"sqlite:///{copy}", read_only=True)) as log,
            pytest.raises(LedgerError, match="has no head file"),
        ):
            log.backup(tmp_path / "copy.db")
        ledger.rotate("earlier", "later", "PEM")
    roll_back(url)
    with closing(Log(url, read_only=True)) as log, pytest.raises(LedgerError, match=LOST):
        log.backup(tmp_path / "later.db")


def test_a_head_that_is_no_file_is_refused_at_once(kept):
    head_of(kept).unlink()
    os.mkfifo(head_of(kept))
    with closing(Log(kept, head_of(kept), read_only=True)) as log, pytest.raises(OSError, match=r"[Ss]eek"):
        log.verify()


@pytest.mark.claim("the hash of the last entry is stored outside the database before the entry takes effect")
def test_a_crash_between_a_commit_and_its_head_is_none(kept, monkeypatch):
    with ledger_at(kept) as ledger, monkeypatch.context() as patch:
        patch.setattr(HeadFile, "_written", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(LedgerUnavailableError, match="head file of the ledger cannot be written"):
            ledger.reserve(asked("two"))
    assert HeadFile(head_of(kept)).read().sequence == 3
    with ledger_at(kept) as ledger:
        assert HeadFile(head_of(kept)).read().sequence == 4
        assert ledger.account("wards").spent == Fraction(1, 2)
        assert ledger.reserve(asked("two")).attempt == 2
        ledger.verify()


@pytest.mark.claim("the hash of the last entry is stored outside the database before the entry takes effect")
def test_an_answer_from_another_process_is_sent_after_the_head_has_it(kept, monkeypatch):
    with ledger_at(kept) as first, ledger_at(kept) as second:
        reserved = first.reserve(asked("two"))
        with monkeypatch.context() as patch:
            patch.setattr(HeadFile, "keep", lambda *_, **__: None)
            first.answer(reserved, b"12")
        assert HeadFile(head_of(kept)).read().sequence == 4
        assert second.stored("ana", reserved.request) == b"12"
        assert HeadFile(head_of(kept)).read().sequence == 5


def test_a_head_is_never_set_back_by_a_slower_process(tmp_path):
    first, second = HeadFile(tmp_path / "head"), HeadFile(tmp_path / "head")
    assert first.read() is None
    first.keep(LogMark(5, "five"))
    second.keep(LogMark(4, "four"))
    assert first.read() == second.known == (5, "five")
    second.keep(LogMark(2, "two"), back=True)
    assert first.read() == (2, "two")
    assert (tmp_path / "head").stat().st_mode & 0o777 == 0o600


def test_heads_are_written_under_a_lock_and_always_synchronised(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(log_module.fcntl, "flock", lambda *_: done.append("lock"))
    monkeypatch.setattr(log_module, "_sync", lambda _: done.append("file"))
    monkeypatch.setattr(log_module, "sync_folder", lambda _: done.append("folder"))
    HeadFile(tmp_path / "head").keep(LogMark(2, "b" * 64))
    HeadFile(tmp_path / "head").keep(LogMark(1, "a" * 64))
    assert done == ["lock", "file", "folder", "lock", "file"]


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_write_that_is_torn_leaves_the_head_before(tmp_path, turn):
    head = HeadFile(tmp_path / "head")
    for sequence in range(1, turn + 1):
        head.keep(LogMark(sequence, "x" * 64))
    with (tmp_path / "head").open("r+b") as file:
        file.seek(turn % 2 * 4096 + 40)
        file.write(b"\0" * 60)
    assert head.read() == ((turn - 1, "x" * 64) if turn > 1 else None)


def test_a_head_that_was_not_synchronised_is_written_again(tmp_path, monkeypatch):
    head = HeadFile(tmp_path / "head")
    head.keep(LogMark(1, "one"))
    with monkeypatch.context() as patch:
        patch.setattr(log_module, "_sync", lambda _: (_ for _ in ()).throw(OSError(5, "broken")))
        with pytest.raises(LedgerUnavailableError, match="head file"):
            head.keep(LogMark(2, "two"))
    assert head.read() == head.known == (1, "one")
    head.keep(LogMark(2, "two"))
    assert head.read() == (2, "two")


def test_a_ledger_that_is_read_is_neither_made_nor_changed(kept, ledger_url):
    with ledger_at(kept) as ledger:
        expected, result = ledger.verify(), ledger.log
        with closing(Log(ledger_url, read_only=True)) as log:
            assert log.verify(expected.head) == expected
            assert len(list(log.entries())) == 3
            with pytest.raises(LedgerError, match="hash"):
                log.verify("f" * 64)
            with pytest.raises((sa.exc.DBAPIError, LedgerUnavailableError)), log.database.writing() as connection:
                connection.exec_driver_sql("UPDATE totals SET epsilon = '0'")
        assert result.verify() == expected


def test_verification_detects_a_restored_snapshot_by_a_head(tmp_path):
    path = tmp_path / "ledger.db"
    url = f"sqlite:///{path}"
    with ledger_at(url) as ledger:
        declare(ledger)
        ledger.log.database.backup(tmp_path / "snapshot.db")
        ledger.reserve(asked("one"))
        head = ledger.verify().head
    (tmp_path / "snapshot.db").replace(path)
    with closing(Log(url, read_only=True)) as log:
        with pytest.raises(LedgerError, match=LOST):
            log.verify()
        head_of(url).unlink()
        result = log.verify()  # consistent: only a head outside the database shows that entries are missing
        assert (result.entries, result.is_compared, "whole" in str(result)) == (1, False, False)
        with pytest.raises(LedgerError, match="no entry has the hash"):
            log.verify(head)


def test_postgresql_has_no_folder_for_a_head(postgres_url):
    with pytest.raises(LedgerError, match="requires a head file"):
        Log(postgres_url, new_ledger=True)


def test_a_backup_has_all_entries_and_is_one_file(tmp_path):
    with ledger_at(f"sqlite:///{tmp_path}/ledger.db") as ledger:
        declare(ledger)
        ledger.answer(ledger.reserve(asked("one")), b"12")
        assert ledger.log.backup(tmp_path / "copy.db") == ledger.verify()
        expected = ledger.verify()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "copy.db").rename(tmp_path / "elsewhere" / "ledger.db")
    url = f"sqlite:///{tmp_path}/elsewhere/ledger.db"
    with closing(Log(url, read_only=True)) as log:
        assert replace(log.verify(), is_compared=True) == expected
    with pytest.raises(LedgerError, match="is missing"):
        ledger_at(url)
    with ledger_at(url, accept_rollback=True) as ledger:
        assert ledger.reserve(asked("one")).content == b"12"


@pytest.mark.parametrize("version", [1, 9])
def test_tables_of_another_version_are_refused_and_left(tmp_path, version):
    """A ledger of 0.2.0 has no index; it was called broken while an index was filled from its entries."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    with ledger_at(url) as ledger:
        declare(ledger)
        ledger.reserve(asked("one"))
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        for statement in (f"UPDATE head SET version = {version}", "DROP TABLE entry_index", "DROP TABLE sizes"):
            connection.execute(statement)
    before = (tmp_path / "ledger.db").read_bytes()
    for options in ({"read_only": True}, {}, {"accept_rollback": True}, {"new_ledger": True}):
        with pytest.raises(LedgerError, match=f"tables of version {version}.*docs/service.md"):
            Log(url, **options)
    assert (tmp_path / "ledger.db").read_bytes() == before


@pytest.mark.parametrize("lost", ["database", "both"])
def test_a_missing_ledger_is_recreated_only_on_request_and_on_record(tmp_path, lost):
    url, mark = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "curator.key-ledger"
    with pytest.raises(LedgerMissingError, match="serve check --new-ledger"):
        Ledger(url, mark=mark)
    assert not list(tmp_path.iterdir())
    with Ledger(url, mark=mark, new_ledger=True) as ledger:
        declare(ledger)
    with pytest.raises(LedgerError, match="start without --new-ledger"):
        Ledger(url, mark=mark, new_ledger=True)
    Ledger(url, mark=mark).close()
    (tmp_path / "ledger.db").unlink()
    if lost == "database":
        for more in ({}, {"new_ledger": True}):
            with pytest.raises(LedgerError, match=r"check --accept-rollback|has lost entries"):
                Ledger(url, mark=mark, **more)
        return
    (tmp_path / "ledger.db-head").unlink()
    for more in ({}, {"accept_rollback": True}):
        with pytest.raises(LedgerMissingError, match=r"had at least 1 entries.*every budget is unspent"):
            Ledger(url, mark=mark, **more)
    with Ledger(url, mark=mark, new_ledger=True) as ledger:
        (entry,) = ledger.entries()
        assert (entry.kind, entry.data["new"], entry.data["head"]["sequence"]) == ("accepted", True, 1)
        assert "a new ledger replaced one of at least 1 entries" in str(entry)
        assert ledger.verify().entries == 1
    Ledger(url, mark=mark).close()


def test_a_database_restored_with_its_older_head_is_behind_the_mark(tmp_path):
    url, mark, kept = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "key-ledger", tmp_path / "kept"
    with Ledger(url, mark=mark, new_ledger=True) as ledger:
        declare(ledger)
    kept.mkdir()
    for name in ("ledger.db", "ledger.db-head"):
        shutil.copy(tmp_path / name, kept)
    with Ledger(url, mark=mark) as ledger:
        ledger.reserve(asked("one"))
    for name in ("ledger.db", "ledger.db-head"):
        shutil.copy(kept / name, tmp_path)
    with pytest.raises(LedgerError, match=LOST):
        Ledger(url, mark=mark)
    with closing(Log(url, mark=mark, read_only=True)) as log:
        for read in (log.verify, log.check_head, lambda: log.backup(tmp_path / "backup.db")):
            with pytest.raises(LedgerError, match=LOST):
                read()
    with Ledger(url, mark=mark, accept_rollback=True) as ledger:
        assert list(ledger.entries())[-1].data["head"]["sequence"] == 2


def test_an_older_copy_of_both_is_behind_the_mark_after_a_crash(tmp_path):
    url, mark, kept = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "key-ledger", tmp_path / "kept"
    with Ledger(url, mark=mark, new_ledger=True) as ledger:
        declare(ledger)
    kept.mkdir()
    ledger = Ledger(url, mark=mark)
    ledger.log.database.backup(kept / "ledger.db")
    shutil.copy(tmp_path / "ledger.db-head", kept)
    ledger.reserve(asked("one"))
    ledger.log.database.close()  # the process is killed: it does not close its ledger
    for name in ("ledger.db", "ledger.db-head"):
        shutil.copy(kept / name, tmp_path)
    for name in ("ledger.db-wal", "ledger.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    with pytest.raises(LedgerError, match=LOST):
        Ledger(url, mark=mark)


def test_a_followed_mark_is_synchronised_when_it_is_kept(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(log_module, "_sync", lambda _: done.append("file"))
    mark = HeadFile(tmp_path / "mark")
    mark.follow(LogMark(1, "one"))
    assert (mark.read(), done) == ((1, "one"), [])
    mark.keep(LogMark(1, "one"))
    mark.keep(LogMark(1, "one"))
    assert done == ["file"]


def test_a_mark_that_cannot_be_written_stops_charges(tmp_path):
    url, mark = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "keys" / "key-ledger"
    mark.parent.mkdir()
    with Ledger(url, mark=mark, new_ledger=True) as ledger:
        declare(ledger)
        shutil.rmtree(mark.parent)
        with pytest.raises(LedgerUnavailableError, match="cannot be written"):
            ledger.reserve(asked("one"))
        mark.parent.mkdir()
        assert ledger.reserve(asked("one")).attempt == 2


def test_a_ledger_without_a_mark_gets_a_mark(tmp_path):
    url, mark = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "key-ledger"
    with Ledger(url, new_ledger=True) as ledger:
        declare(ledger)
    Ledger(url, mark=mark).close()
    assert HeadFile(mark).read() == HeadFile(head_of(url)).read()


def test_a_crash_between_a_new_ledger_and_its_mark_is_no_lost_ledger(tmp_path):
    url, mark = f"sqlite:///{tmp_path}/ledger.db", tmp_path / "none" / "key-ledger"
    with pytest.raises(LedgerError, match=r"cannot be written.*mark: FILE"):  # a read-only mount fails alike
        Ledger(url, mark=mark, new_ledger=True)
    mark.parent.mkdir()
    Ledger(url, mark=mark).close()
    assert mark.exists()


def test_concurrent_creation_of_a_ledger_never_reports_a_loss(ledger_url, tmp_path):
    """Each either begins it, goes on with it, or is told that it is there already."""
    head, mark, result = head_of(ledger_url), tmp_path / "key-ledger", []

    def begin():
        try:
            Ledger(ledger_url, head, mark=mark, new_ledger=True).close()
            result.append("begun")
        except LedgerError as error:
            result.append(str(error))

    threads = [threading.Thread(target=begin) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "begun" in result
    assert set(result) <= {"begun", "the ledger already exists; start without --new-ledger."}
    Ledger(ledger_url, head, mark=mark).close()
