"""Quotas and the disk reserve refuse a question before its charge, and nothing of a refused question is kept."""

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from types import SimpleNamespace

import pytest

from hedgerow.errors import (
    ArgumentError,
    HedgerowError,
    QuestionError,
    QuotaExceededError,
    ServiceBusyError,
    ServiceUnavailableError,
)
from hedgerow.service import quotas as module
from hedgerow.service.config import Config
from hedgerow.service.forms import read_form
from hedgerow.service.ledger.tables import SIZES
from hedgerow.service.problems import problem_of
from hedgerow.service.questions import read_question
from hedgerow.service.quotas import MIB, Quota, Quotas, unfinished_bytes
from hedgerow.service.receipts import Signer
from hedgerow.service.requests import Request
from tests.service.databases import ledger_url  # noqa: F401 -- a fixture
from tests.service.wards import ANA, BINS, BOB, MARGINALS, SCHEMA, WatchedRows, curator_of, question, table

CHEAP = MARGINALS.replace(b"1/4", b"1e-6")
FIT = question(epsilon="1/4", model="tree", parameters={"max_depth": 1})


def ask(curator, key, body=CHEAP, caller=ANA, kind="marginals"):
    return curator.ask(Request(caller, "wards", kind, key, body))


def size(curator, body=CHEAP, kind="marginals"):
    rows = curator._datasets["wards"].rows
    return read_question(read_form(kind, body), SCHEMA, rows.target).largest_answer


def unfinished(curator):
    with curator.ledger.reading() as connection:
        return unfinished_bytes(connection)


def test_concurrent_questions_do_not_exceed_the_quota(ledger_url):  # noqa: F811
    rows = WatchedRows()
    with curator_of(ledger_url, rows, quotas=Quotas(Quota(questions=3))) as curator:

        def outcome(number):
            try:
                return len(ask(curator, f"{number}").body)
            except QuotaExceededError as error:
                return error.quota, error.limit

        with ThreadPoolExecutor(8) as pool:
            result = list(pool.map(outcome, range(12)))
        assert sum(isinstance(item, int) for item in result) == 3
        assert result.count(("questions", 3)) == 9
        assert rows.touched == 3
        assert curator.ledger.account("wards", "ana").spent == Fraction(3, 10**6)
        before = len(list(curator.ledger.entries()))
        with pytest.raises(QuotaExceededError) as raised:
            ask(curator, "more")
        told = problem_of(raised.value).to_dict()
        assert (told["status"], told["type"], told["charged"]) == (403, "urn:hedgerow:problem:quota-exceeded", False)
        assert len(list(curator.ledger.entries())) == before
        assert ask(curator, "one", caller=BOB).body
        described = curator.describe(ANA, "wards")["quota"]
        assert described["questions"] == {"limit": 3, "used": 3}
        curator.ledger.verify()


def test_a_charged_question_is_answered_again_when_the_quota_is_full(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with curator_of(url) as curator:
        answer = ask(curator, "one")
    with curator_of(url, quotas=Quotas(Quota(questions=1)), min_epsilon=Fraction(1, 8)) as curator:
        assert ask(curator, "one") == answer
        with pytest.raises(QuotaExceededError):
            ask(curator, "two", MARGINALS)


def test_space_for_an_answer_is_reserved_and_released_by_failures(tmp_path):
    rows, kept = WatchedRows(fails=True), []
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", rows) as curator:
        used = lambda: curator.describe(ANA, "wards")["quota"]["stored_bytes"]["used"]  # noqa: E731
        rows.when = lambda: kept.append((used(), unfinished(curator)))
        with pytest.raises(HedgerowError, match="the charge stays"):
            ask(curator, "one")
        assert kept == [(size(curator), size(curator))]
        assert (used(), unfinished(curator)) == (0, 0)
        rows.fails = False
        answer = ask(curator, "two")
        assert used() == len(answer.content) < size(curator)
        assert unfinished(curator) == 0


def test_stored_bytes_are_bounded_by_the_size_that_a_question_may_need(ledger_url):  # noqa: F811
    cuts = [18 + i / 1300 for i in range(1, 90_000)]
    wide = question(epsilon="1e-12", bins={"age": {**BINS["age"], "kind": "real", "cuts": cuts}})
    with curator_of(ledger_url) as curator:
        most = size(curator, wide)
    assert most > 1_900_000
    with curator_of(ledger_url, quotas=Quotas(Quota(stored_bytes=most + 1))) as curator:
        assert ask(curator, "one", wide).body
        with pytest.raises(QuotaExceededError) as raised:
            ask(curator, "two", wide)
        assert (raised.value.quota, raised.value.requested) == ("stored_bytes", most)
        assert curator.ledger.account("wards", "ana").spent == Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("marginals", question(epsilon="1e-11", bins=BINS)),
        ("marginals", question(epsilon="1e-11", bins=BINS, by="classes")),
        ("marginals", question(epsilon="1e-11", delta="1e-9", bins=BINS)),
        ("error-marginals", question(epsilon="1e-11", bins=BINS, hypothesis={"always": "no"})),
        ("fits", question(epsilon="1/99", model="tree", parameters={"max_depth": 2})),
        ("fits", question(epsilon="1/99", model="rule-list")),
        ("fits", question(epsilon="1/99", model="scorecard")),
    ],
)
def test_no_answer_is_larger_than_its_stated_bound(tmp_path, kind, body):
    from hedgerow.privacy.account import Account

    cap = Account(Fraction(2), Fraction(1, 99))
    opened = curator_of(f"sqlite:///{tmp_path}/l.db", cap=cap, shares={"ana": cap}, signer=Signer.new())
    with opened as curator:
        assert len(ask(curator, "one", body, kind=kind).content) <= size(curator, body, kind)


def test_a_nearly_full_disk_stops_new_questions_but_not_charged_ones(tmp_path, monkeypatch):
    url, free = f"sqlite:///{tmp_path}/ledger.db", [10 * MIB]
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: SimpleNamespace(free=free[0]))
    rows = WatchedRows()
    with curator_of(url, rows, quotas=Quotas(disk_reserve=9 * MIB), approval="first") as curator:
        rows.when = lambda: free.__setitem__(0, 0)
        with pytest.raises(HedgerowError, match="approve"):
            ask(curator, "one")
        curator.approvals.decide({1: "approved"}, by="carla")
        assert ask(curator, "one").body  # the disk is full from here on
        entries = len(list(curator.ledger.entries()))
        for caller in (ANA, BOB):  # who has no approval, and leaves none that waits
            with pytest.raises(ServiceBusyError, match="disk of the ledger is nearly full") as raised:
                ask(curator, "two", caller=caller)
            assert problem_of(raised.value).retry_after
        assert (curator.approvals.pending(), len(list(curator.ledger.entries()))) == ([], entries)
        assert ask(curator, "one").body
        free[0] = 9 * MIB + 3 * size(curator) - 1
        with pytest.raises(ServiceBusyError, match="nearly full"):
            ask(curator, "two")
        free[0] += 1
        assert ask(curator, "two").body


def test_space_stays_reserved_for_pending_questions_after_a_restart(tmp_path, monkeypatch):
    def fail():
        raise ConnectionResetError

    url, free = f"sqlite:///{tmp_path}/ledger.db", [MIB]
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: SimpleNamespace(free=free[0]))
    rows, quotas = WatchedRows(), Quotas(disk_reserve=0)
    rows.when = fail
    with curator_of(url, rows, quotas=quotas) as curator:
        for key in ("one", "two"):
            with pytest.raises(ServiceUnavailableError) as raised:
                ask(curator, key)
            assert raised.value.charged
        assert unfinished(curator) == 2 * size(curator)
    with curator_of(url, quotas=quotas) as curator:
        free[0] = 9 * size(curator) - 1
        with pytest.raises(ServiceBusyError, match="nearly full"):
            ask(curator, "three", caller=BOB)
        assert ask(curator, "one").body
        assert unfinished(curator) == size(curator)
        assert ask(curator, "three", caller=BOB).body


def test_a_dataset_has_a_least_epsilon_of_a_question(tmp_path):
    with curator_of(f"sqlite:///{tmp_path}/l.db", min_epsilon=Fraction(1, 100)) as curator:
        assert curator.describe(ANA, "wards")["min_epsilon"] == "1/100"
        assert ask(curator, "one", MARGINALS.replace(b"1/4", b"0.01")).body
        for kind, body in (("marginals", CHEAP), ("fits", FIT.replace(b"1/4", b"0.0099"))):
            for act in (lambda k, b: ask(curator, "two", b, kind=k), lambda k, b: curator.cost(ANA, "wards", k, b)):
                with pytest.raises(QuestionError, match="epsilon must be at least 1/100"):
                    act(kind, body)
        assert curator.ledger.account("wards").spent == Fraction(1, 100)


def test_a_ledger_of_before_counts_the_questions_that_it_has(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with curator_of(url) as curator:
        answer = ask(curator, "one")
        with curator.ledger.log.database.writing() as connection:
            SIZES.drop(connection)
    with curator_of(url) as curator:
        quota = curator.describe(ANA, "wards")["quota"]
        assert (quota["questions"]["used"], quota["stored_bytes"]["used"]) == (1, len(answer.content))
        assert unfinished(curator) == 0


def test_quotas_are_configured_by_default_and_by_analyst(tmp_path):
    frame, labels = table()
    frame.assign(ill=labels).to_csv(tmp_path / "wards.csv", index=False)
    SCHEMA.save(tmp_path / "wards.yaml")
    wards = {"table": "wards.csv", "schema": "wards.yaml", "cap": {"epsilon": 1}, "analysts": {"bob": {"epsilon": 1}}}

    def read(**top):
        whole = {"ledger": "ledger.db", "datasets": {"wards": wards | {"min_epsilon": 0.02}}, **top}
        (tmp_path / "curator.yaml").write_text(json.dumps(whole))
        return Config.read(tmp_path / "curator.yaml")

    result = read(quotas={"questions": 5}, analyst_quotas={"bob": {"stored_mib": 7}}, disk_reserve_mib=3)
    assert (result.quotas.default, result.quotas.disk_reserve) == (Quota(5), 3 * MIB)
    assert result.quotas.analysts == {"bob": Quota(5, 7 * MIB)}
    curator = result.open(new_ledger=True)
    with curator.ledger:
        described = curator.describe(BOB, "wards")
        assert described["quota"]["stored_bytes"] == {"limit": 7 * MIB, "used": 0}
        assert described["min_epsilon"] == "1/50"
    for change, named in (({"quotas": {"questions": -1}}, "questions"), ({"analyst_quotas": {"eve": {}}}, "eve")):
        with pytest.raises(ArgumentError, match=named):
            read(**change)
