"""Claim: a ledger that cannot be written loses no charge and no answer, and makes no two answers of one charge.

Disks are full, writes fail, connections are lost before and after a commit, databases are restarted under load, clocks
jump. Afterwards the same request, sent again, is answered, and the ledger is whole.
"""

import random
import resource
import shutil
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from hedgerow.errors import BudgetExceededError, LedgerUnavailableError, RequestFailedError, RequestRunningError
from hedgerow.privacy.account import Account
from hedgerow.service.ledger import log as module
from hedgerow.service.ledger.ledger import Answered, Ledger, Reserved
from tests.service.databases import ledger_at, ledger_url  # noqa: F401 -- a fixture
from tests.service.ledger.asking import asked, declare
from tests.service.wards import ANA, MARGINALS, WatchedRows, curator_of
from tests.service.web import JSON, web


@contextmanager
def full_disk(ledger):
    """Let the database of SQLite take no further page."""
    engine = ledger._database.engine

    def full(connection, *_):
        connection.execute("PRAGMA max_page_count = 1")

    event.listen(engine, "checkout", full)
    try:
        yield
    finally:
        event.remove(engine, "checkout", full)
        engine.dispose()


@contextmanager
def failing_writes(_):
    """Let every write to a file fail, as on a broken disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def lost(ledger, after):
    """Let the connection be lost at each commit of a change, before or after the database has it."""
    dialect = ledger._database.engine.dialect
    commit = dialect.do_commit

    def losing(connection):
        if after:
            commit(connection)
        raise dialect.dbapi.OperationalError("CANARY")

    dialect.do_commit = losing
    try:
        yield
    finally:
        dialect.do_commit = commit


@contextmanager
def lost_before(ledger):
    with lost(ledger, after=False):
        yield


@contextmanager
def lost_after(ledger):
    with lost(ledger, after=True):
        yield


FAULTS = [full_disk, failing_writes, lost_before, lost_after]


def charge_until_full(ledger, charged):
    """Charge one request after the other, noting the keys: a full disk has room in its last page."""
    for number in range(100):
        charged.append(f"{number}")
        ledger.reserve(asked(charged[-1], Fraction(1, 1000)))


@pytest.fixture(params=FAULTS)
def fault(request, ledger_url):  # noqa: F811
    if request.param in FAULTS[:2] and not ledger_url.startswith("sqlite"):
        pytest.skip("a fault of the files of SQLite")
    return request.param


def test_an_unwritten_charge_is_void_and_a_written_one_is_evaluated(fault, ledger_url):  # noqa: F811
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        charged, cost = [], Fraction(1, 1000)
        with fault(ledger), pytest.raises(LedgerUnavailableError) as raised:
            charge_until_full(ledger, charged)
        assert "CANARY" not in str(raised.value)
        assert raised.value.__cause__ is None
        written = fault is lost_after
        assert ledger.account("wards").spent == cost * (len(charged) - 1 + written)
        result = ledger.reserve(asked(charged[-1], cost))
        assert result.attempt == 1 + written
        ledger.answer(result, b"12")
        assert ledger.account("wards").spent == cost * len(charged)
        ledger.verify()


@pytest.mark.claim("never gives two answers to one request")
def test_an_unstored_answer_is_evaluated_again(
    fault,
    ledger_url,  # noqa: F811
):
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        for key, contents in (("one", (b"1" * 5000, b"2" * 5000)), ("two", (b"3" * 5000,) * 2)):
            reserved = ledger.reserve(asked(key))
            with fault(ledger), pytest.raises(LedgerUnavailableError):
                ledger.answer(reserved, contents[0])
            result = ledger.reserve(asked(key))
            if fault is lost_after:
                assert result == Answered(reserved.request, contents[0])
                continue
            assert (result.request, result.attempt) == (reserved.request, 2)
            with pytest.raises(RequestRunningError):
                ledger.reserve(asked(key))
            ledger.answer(result, contents[1])
            assert ledger.reserve(asked(key)).content == contents[1]
        assert ledger.account("wards").spent == Fraction(1, 2)
        ledger.verify()


def test_a_question_is_evaluated_until_its_answer_is_stored(ledger_url):  # noqa: F811
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        for _ in range(3):
            reserved = ledger.reserve(asked("one"))
            with lost_before(ledger), pytest.raises(LedgerUnavailableError):
                ledger.answer(reserved, b"12")
        ledger.answer(ledger.reserve(asked("one")), b"34")
        assert ledger.reserve(asked("one")).content == b"34"
        assert ledger.account("wards").spent == Fraction(1, 4)
        ledger.verify()


def test_a_disk_failure_is_reported_over_http_and_can_be_retried(tmp_path):
    rows = WatchedRows()
    with web(tmp_path, rows) as service:
        ledger, client = service.curator.ledger, service.client(**JSON)
        ask = {"headers": {"Idempotency-Key": "one"}, "content": MARGINALS}
        path = "/v1/datasets/wards/marginals"
        with failing_writes(ledger):
            refused = client.post(path, **ask)
        assert (refused.status_code, refused.json()["charged"], rows.touched) == (503, None, 0)
        assert refused.headers["retry-after"] == "5"
        with ExitStack() as faults:
            rows.when = lambda: faults.enter_context(failing_writes(ledger))
            unstored = client.post(path, **ask)
        rows.when = lambda: None
        assert (unstored.status_code, rows.touched) == (503, 1)
        assert not {"counts", "answer"} & set(unstored.json())
        answered, again = client.post(path, **ask), client.post(path, **ask)
        assert answered.status_code == 200
        assert (answered.content, rows.touched) == (again.content, 1)  # the answer was kept
        assert ledger.account("wards").spent == Fraction(1, 4)
        ledger.verify()


def test_an_unreadable_ledger_gives_no_wrong_permissions(tmp_path, monkeypatch):
    with curator_of(f"sqlite:///{tmp_path}/l.db") as curator:
        with curator.ledger._database.reading() as connection:
            broken = connection.dialect
        monkeypatch.setattr(
            broken, "do_execute", lambda *_: (_ for _ in ()).throw(broken.dbapi.OperationalError("CANARY"))
        )
        with pytest.raises(LedgerUnavailableError):
            curator.describe(ANA, "wards")


LOSSES = [3, pytest.param(60, marks=pytest.mark.slow)]


@pytest.mark.parametrize("losses", LOSSES)
@pytest.mark.claim("never gives two answers to one request")
def test_a_database_that_is_restarted_under_load_overspends_nothing(ledger_url, losses):  # noqa: F811
    if ledger_url.startswith("sqlite"):
        pytest.skip("SQLite has no server")
    cap, cost, sent, over = Fraction(1), Fraction(1, 100), {}, threading.Event()
    with ledger_at(ledger_url) as ledger, ledger_at(ledger_url) as other:
        declare(ledger, cap=cap, shares={"ana": Account(cap)})

        def asking(number):
            dice = random.Random(number)
            while not over.is_set():
                key = f"{dice.randrange(120)}"
                try:
                    result = (ledger, other)[number % 2].reserve(asked(key, cost))
                    content = result.content if isinstance(result, Answered) else dice.randbytes(8)
                    if isinstance(result, Reserved):
                        (ledger, other)[number % 2].answer(result, content)
                except (LedgerUnavailableError, RequestRunningError, RequestFailedError, BudgetExceededError):
                    continue
                assert sent.setdefault(key, content) == content

        problems = []

        def told(number):
            try:
                asking(number)
            except BaseException as error:  # what pytest does not see of a thread
                problems.append(error)

        threads = [threading.Thread(target=told, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        engine = sa.create_engine(sa.make_url(ledger_url).set(drivername="postgresql+psycopg"))
        with engine.connect() as connection:
            for _ in range(losses):
                time.sleep(0.3)
                mine = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                connection.exec_driver_sql(f"{mine} AND pid <> pg_backend_pid()")
        engine.dispose()
        time.sleep(0.3)
        over.set()
        for thread in threads:
            thread.join(60)
        assert not problems
        ledger.verify()
        charged = {entry.data["key"] for entry in ledger.entries() if entry.kind == "reserved"}
        assert set(sent) <= charged
        assert len(sent) > 10
        assert ledger.account("wards").spent == cost * len(charged) <= cap
        for key, content in sent.items():
            assert ledger.reserve(asked(key, cost)).content == content


def test_a_question_after_a_lost_connection_is_not_taken_over(ledger_url):  # noqa: F811
    """The lock of a process is lost with its connection; the next question acquires it before the charge."""
    if ledger_url.startswith("sqlite"):
        pytest.skip("SQLite has no server")
    with ledger_at(ledger_url) as ledger, ledger_at(ledger_url) as other:
        declare(ledger)
        engine = sa.create_engine(sa.make_url(ledger_url).set(drivername="postgresql+psycopg"))
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        engine.dispose()
        reserved = ledger.reserve(asked("one"))
        with pytest.raises(RequestRunningError, match="still being answered"):
            other.reserve(asked("one"))
        ledger.answer(reserved, b"12")
        assert other.reserve(asked("one")).content == b"12"


def test_no_clock_decides_anything(ledger_url, monkeypatch):  # noqa: F811
    dice = random.Random(0)

    class Jumping(datetime):
        @classmethod
        def now(cls, tz=None):  # noqa: ARG003
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=dice.randrange(-20_000, 20_000))

    monkeypatch.setattr(module, "datetime", Jumping)
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        for number in range(8):
            reserved = ledger.reserve(asked(f"{number}", Fraction(1, 8)))
            ledger.answer(reserved, b"%d" % number)
            assert ledger.reserve(asked(f"{number}", Fraction(1, 8))).content == b"%d" % number
        with pytest.raises(BudgetExceededError):
            ledger.reserve(asked("more", Fraction(1, 8)))
        ledger.verify()
        times = [entry.data["time"] for entry in ledger.entries()]
        assert times != sorted(times)


FAILING = """
import sys
from fractions import Fraction
from hedgerow.errors import LedgerUnavailableError
from hedgerow.service.ledger.ledger import Ledger
from tests.service.ledger.asking import asked

with Ledger(sys.argv[1]) as ledger:
    for number in range(40):
        try:
            ledger.answer(ledger.reserve(asked(f"{number}", Fraction(1, 100))), b"12")
        except LedgerUnavailableError:
            print("unavailable", flush=True)
        else:
            print(number, flush=True)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_what_fsync_could_not_keep_was_not_answered(tmp_path):
    url = f"sqlite:///{tmp_path}/l.db"
    with Ledger(url, new_ledger=True) as ledger:
        declare(ledger)
    inject = "inject=fsync,fdatasync:error=EIO:when=9+7"
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", inject, sys.executable, "-c", FAILING, url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("this system traces no process")
    lines = done.stdout.split()
    assert "unavailable" in lines
    answered = {line for line in lines if line.isdigit()}
    assert len(answered) > 10
    with Ledger(url) as ledger:
        ledger.verify()
        for key in answered:
            assert ledger.reserve(asked(key, Fraction(1, 100))).content == b"12"
        charged = [entry for entry in ledger.entries() if entry.kind == "reserved"]
        assert ledger.account("wards").spent == Fraction(len(charged), 100)
