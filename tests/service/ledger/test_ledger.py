"""The ledger's rules, on both databases."""

import json
from fractions import Fraction

import pytest

from hedgerow.errors import (
    ArgumentError,
    BudgetExceededError,
    LedgerError,
    RequestConflictError,
    RequestFailedError,
    RequestRunningError,
)
from hedgerow.privacy.account import Account
from hedgerow.service.ledger import log as module
from hedgerow.service.ledger.ledger import Answered, Reserved
from tests.service.databases import ledger_at
from tests.service.ledger.asking import SHARES, asked, declare


@pytest.fixture
def ledger(ledger_url):
    with ledger_at(ledger_url) as opened:
        declare(opened)
        yield opened


def test_an_answer_is_given_again_to_the_same_request_at_no_charge(ledger):
    first = ledger.reserve(asked("one"))
    assert isinstance(first, Reserved)
    ledger.answer(first, b"12 rows")
    assert ledger.reserve(asked("one")) == Answered(first.request, b"12 rows")
    assert ledger.account("wards").spent == ledger.account("wards", "ana").spent == Fraction(1, 4)
    assert ledger.account("wards", "bob").spent == 0
    assert [entry.kind for entry in ledger.entries()] == ["declared", "reserved", "answered"]


def test_a_key_is_valid_for_a_single_request_body(ledger):
    ledger.answer(ledger.reserve(asked("one")), b"12")
    with pytest.raises(RequestConflictError, match="Use a new key"):
        ledger.reserve(asked("one", body="something else"))
    assert isinstance(ledger.reserve(asked("one", analyst="bob", body="something else")), Reserved)  # another's key
    assert ledger.account("wards").spent == Fraction(1, 2)


def test_a_request_that_is_being_answered_is_not_charged_again(ledger):
    ledger.reserve(asked("one"))
    with pytest.raises(RequestRunningError, match="send it again later"):
        ledger.reserve(asked("one"))
    assert ledger.account("wards").spent == Fraction(1, 4)


def test_a_failure_is_final_and_its_charge_stays(ledger):
    first = ledger.reserve(asked("one"))
    ledger.fail(first, "a value outside the schema")
    for _ in range(2):
        with pytest.raises(RequestFailedError, match="the charge stays"):
            ledger.reserve(asked("one"))
    for end in (lambda: ledger.answer(first, b"12"), lambda: ledger.fail(first, "again")):
        with pytest.raises(RequestRunningError, match="finished"):
            end()
    assert ledger.account("wards").spent == Fraction(1, 4)


def test_an_analyst_cannot_use_up_the_share_of_another(ledger):
    for number in range(4):
        ledger.reserve(asked(f"{number}"))
    with pytest.raises(BudgetExceededError, match=r"epsilon=0 left, and epsilon=0\.25 was requested") as caught:
        ledger.reserve(asked("more"))
    assert caught.value.cap == "analyst"
    ledger.reserve(asked("all of it", 2, analyst="bob"))
    assert ledger.account("wards").remaining == 0


def test_an_oversubscribed_dataset_has_its_own_cap(ledger_url):
    with ledger_at(ledger_url) as ledger:
        with pytest.raises(ArgumentError, match=r"add up to epsilon=3, above the cap of the dataset, 2"):
            declare(ledger, cap=2)
        declare(ledger, cap=2, oversubscribed=True)
        ledger.reserve(asked("one", 2, analyst="bob"))
        with pytest.raises(BudgetExceededError) as caught:
            ledger.reserve(asked("two"))
        assert caught.value.cap == "dataset"
        assert ledger.account("wards", "ana").spent == 0  # nothing was charged to either


def test_a_new_epoch_has_a_new_cap_and_the_old_cap_stays_on_record(ledger):
    ledger.reserve(asked("one", 1))
    assert declare(ledger) == 2
    assert ledger.account("wards").spent == 0
    ledger.reserve(asked("two", 1))
    assert [entry.data.get("epoch") for entry in ledger.entries()] == [1, 1, 2, 2]
    assert ledger.verify().entries == 4


def test_who_has_a_cap_is_decided_by_the_current_epoch(ledger):
    assert ledger.has_cap("wards", "ana")
    assert not ledger.has_cap("wards", "eve")
    assert not ledger.has_cap("others", "ana")
    declare(ledger, shares={"bob": SHARES["bob"]})
    assert not ledger.has_cap("wards", "ana")
    assert ledger.has_cap("wards", "bob")


@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(2, 5)])
def test_delta_above_one_in_total_is_accounted_by_rho(ledger_url, delta):
    with ledger_at(ledger_url) as ledger:
        share = Account(None, rho=Fraction(1))
        ledger.declare("wards", Account(None, rho=Fraction(2)), {"ana": share, "bob": share}, reason="rows")
        for number in range(5):
            ledger.reserve(asked(f"{number}", Fraction(1, 1000), delta=delta, rho=Fraction(1, 5)))
        for analyst, left in (("ana", 0), ("", 1)):
            account = ledger.account("wards", analyst)
            assert (account.spent_rho, account.remaining_rho, account.spent_delta) == (1, left, 5 * delta)
        with pytest.raises(BudgetExceededError, match="rho=0 left"):
            ledger.reserve(asked("more", Fraction(1, 10)))
        ledger.reserve(asked("others", analyst="bob"))
        ledger.verify()


def test_charges_that_add_up_in_rho(ledger_url):
    cap = Account(Fraction(1), Fraction(1, 10**6), accounting="zcdp")
    with ledger_at(ledger_url) as ledger:
        with pytest.raises(ArgumentError, match="cap of 'ana' must be on rho alone"):
            ledger.declare("wards", cap, {"ana": Account(Fraction(1))}, reason="rows")
        with pytest.raises(ArgumentError, match=r"above the cap of the dataset, 0\.02435"):
            ledger.declare("wards", cap, {"ana": Account(None, rho=Fraction(1, 10))}, reason="rows")
        ledger.declare("wards", cap, {"ana": Account(None, rho=Fraction(1, 50))}, reason="rows")
        for number in range(16):
            ledger.reserve(asked(f"{number}", Fraction(1, 10), rho=Fraction(1, 800)))
        with pytest.raises(BudgetExceededError, match="rho=0 left"):
            ledger.reserve(asked("more", Fraction(1, 10), rho=Fraction(1, 800)))
        assert ledger.account("wards").spent == Fraction(16, 10)
        assert ledger.verify().entries == 17


@pytest.mark.parametrize("who", [{"dataset": "other"}, {"analyst": "eve"}])
def test_who_has_no_cap_is_not_charged(ledger, who):
    with pytest.raises(LedgerError, match=r"not a dataset|has no cap"):
        ledger.reserve(asked("one", **who))
    with pytest.raises(LedgerError, match=r"not a dataset|has no cap"):
        ledger.account(who.get("dataset", "wards"), who.get("analyst", ""))
    assert [entry.kind for entry in ledger.entries()] == ["declared"]


def test_who_is_new_gets_a_cap_out_of_what_is_left_and_nobody_a_second_one(ledger):
    with pytest.raises(ArgumentError, match="add up to"):
        ledger.grant("wards", "eve", Account(Fraction(1)), reason="a new colleague")
    ledger.declare("wards", Account(Fraction(4)), SHARES, reason="other rows")
    ledger.grant("wards", "eve", Account(Fraction(1)), reason="a new colleague")
    ledger.reserve(asked("one", analyst="eve"))
    assert ledger.account("wards", "eve").remaining == Fraction(3, 4)
    with pytest.raises(ArgumentError, match="already has a cap"):
        ledger.grant("wards", "eve", Account(Fraction(1)), reason="more")
    with pytest.raises(LedgerError, match="a dataset of the ledger"):
        ledger.grant("other", "eve", Account(Fraction(1)), reason="more")
    assert {name: cap.epsilon for name, cap in ledger.shares("wards").items()} == {"": 4, "ana": 1, "bob": 2, "eve": 1}
    assert ledger.shares("other") == {}
    assert ledger.verify().entries == 4


def test_amounts_are_exact_and_no_entry_holds_a_float(ledger):
    for number in range(10):
        ledger.reserve(asked(f"{number}", Fraction(1, 10)))
    assert ledger.account("wards", "ana").remaining == 0
    for entry in ledger.entries():
        json.loads(entry.content, parse_float=lambda _: pytest.fail("a float"))


def test_a_ledger_is_opened_again_as_it_was(ledger_url):
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        ledger.answer(ledger.reserve(asked("one")), b"12")
        before = ledger.verify()
    with ledger_at(ledger_url) as ledger:
        assert ledger.verify() == before
        assert ledger.reserve(asked("one")).content == b"12"
        assert ledger.account("wards").epsilon == 3


def test_the_process_that_has_ended_is_told_from_the_one_that_answers(ledger_url):
    with ledger_at(ledger_url) as ledger:
        declare(ledger)
        with ledger_at(ledger_url) as other:
            gone = other.reserve(asked("one"))
            with pytest.raises(RequestRunningError):
                ledger.reserve(asked("one"))
        second = ledger.reserve(asked("one"))
        assert second == Reserved(gone.request, 2, 1, gone.entry)
        with pytest.raises(RequestRunningError):
            ledger.reserve(asked("one"))
        ledger.answer(second, b"12")
        assert ledger.account("wards").spent == Fraction(1, 4)


def test_a_request_is_evaluated_until_answered_despite_crashes(ledger_url):
    for _ in range(4):
        with ledger_at(ledger_url) as ledger:
            if not list(ledger.entries()):
                declare(ledger)
            ledger.reserve(asked("one"))
    with ledger_at(ledger_url) as ledger:
        ledger.abandon(ledger.reserve(asked("one")))
        ledger.answer(ledger.reserve(asked("one")), b"12")
        assert ledger.reserve(asked("one")).content == b"12"
        assert [entry.kind for entry in ledger.entries()] == ["declared", "reserved", *["retried"] * 5, "answered"]
        assert ledger.account("wards").spent == Fraction(1, 4)
        ledger.verify()


def test_a_process_whose_request_was_taken_over_cannot_answer_it(ledger_url, monkeypatch):
    """As where PostgreSQL lost the connection that held its lock."""
    with ledger_at(ledger_url) as ledger, ledger_at(ledger_url) as other:
        declare(ledger)
        first = ledger.reserve(asked("one"))
        monkeypatch.setattr(other._run, "is_alive", lambda _: False)
        second = other.reserve(asked("one"))
        with pytest.raises(RequestRunningError, match="taken over by another process"):
            ledger.answer(first, b"11")
        other.answer(second, b"12")
        assert ledger.reserve(asked("one")).content == b"12"


def test_analysts_without_a_name_are_refused(ledger):
    with pytest.raises(ArgumentError, match="name"):
        declare(ledger, shares={**SHARES, "": Account(Fraction(1, 10))})


def test_an_answer_is_read_back_for_the_analyst_whose_it_is(ledger):
    declare(ledger)
    first, second = ledger.reserve(asked("one")), ledger.reserve(asked("two"))
    ledger.answer(first, b"12")
    assert ledger.stored("ana", first.request) == b"12"
    for analyst, request in (("bob", first.request), ("ana", second.request), ("ana", ""), ("", first.request)):
        with pytest.raises(LedgerError, match="no answered request"):
            ledger.stored(analyst, request)


@pytest.mark.parametrize("at_once", [1, 2, 3, 4, 5, 100])
def test_a_slow_reader_of_entries_holds_up_nobody(ledger, monkeypatch, at_once):
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    for number in range(3):
        ledger.reserve(asked(f"{number}"))
    reading = ledger.entries()
    assert next(reading).sequence == 1
    open_already = ledger._database.path is None  # the run's own connection
    assert ledger._database.engine.pool.checkedout() == open_already
    ledger.fail(ledger.reserve(asked("new")), "written meanwhile")
    assert [entry.sequence for entry in reading] == [2, 3, 4, *([5, 6] if at_once < 5 else [])]


def test_entries_can_be_read_after_a_given_entry(ledger):
    declare(ledger)
    for key in ("one", "two"):
        ledger.reserve(asked(key))
    entries = list(ledger.entries())
    for first in range(1, len(entries) + 2):
        assert list(ledger.entries(first)) == entries[first - 1 :]
    with pytest.raises(LedgerError, match="entry 5 is missing"):
        list(ledger.entries(6))


def test_a_receipt_names_its_entry_even_if_a_key_equals_the_request_name(ledger, monkeypatch):
    name = "00000000-0000-4000-8000-000000000000"
    ledger.reserve(asked(name))
    monkeypatch.setattr("hedgerow.service.ledger.ledger.uuid4", lambda: name)
    first = ledger.reserve(asked("two"))
    ledger.abandon(first)
    assert ledger.reserve(asked("two")).entry == first.entry
