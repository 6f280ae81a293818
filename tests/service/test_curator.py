"""A curator checks, charges, answers, and stores; rows are touched in no other order, and free calls touch none."""

import errno
import json
import time
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from hedgerow.boundary.untrusted_text import parse_amount
from hedgerow.errors import (
    AccessError,
    ApprovalError,
    BudgetExceededError,
    Cause,
    DomainError,
    EngineError,
    LedgerUnavailableError,
    QuestionError,
    RequestConflictError,
    RequestFailedError,
    RequestRunningError,
    ServiceBusyError,
    ServiceUnavailableError,
    SourceUnavailableError,
)
from hedgerow.models.files import model_from_dict
from hedgerow.privacy.account import Account
from hedgerow.privacy.amounts import total
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.noise import noise_source
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.schema import Schema
from hedgerow.service.questions import LARGEST_DIVISOR
from hedgerow.service.receipts import Receipt, Signer
from hedgerow.service.requests import Caller, Request
from tests.service.wards import (
    ANA,
    AUDITOR,
    BINS,
    BOB,
    EXAMPLES,
    MARGINALS,
    SCHEMA,
    SHARES,
    Exact,
    WatchedRows,
    curator_of,
    example,
    question,
    table,
)

QUESTIONS = {kind: example(kind) for kind in EXAMPLES}
TREE = QUESTIONS["fits"]
ONE = Request(ANA, "wards", "marginals", "one", MARGINALS)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.mark.parametrize("kind", ["marginals", "error-marginals"])
def test_answers_are_the_counts_of_the_rows(url, kind):
    frame, labels = table()
    with curator_of(url, noise=Exact()) as curator:
        answer = json.loads(curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind])).body)
        assert answer["card"]["void"] == [{"code": "text", "text": "exact, for a test"}]
    ages = np.digitize(frame.age, [40.5, 60.5])
    if kind == "marginals":
        assert answer["rows"]["age"] == [*np.bincount(ages, minlength=3).tolist(), 0]
    else:
        wrong = labels == "no"
        assert answer["wrong"]["age"] == [*np.bincount(ages[wrong], minlength=3).tolist(), 0]
        assert answer["right"]["smoker"] == [(~wrong & ~frame.smoker).sum(), (~wrong & frame.smoker).sum(), 0]


@pytest.mark.parametrize("kind", QUESTIONS)
def test_the_charge_is_stored_before_rows_are_read_and_equals_the_cost(url, kind):
    rows = WatchedRows()
    with curator_of(url, rows) as curator:
        cost = curator.cost(ANA, "wards", kind, QUESTIONS[kind])
        seen = []
        rows.when = lambda: seen.append(curator.ledger.account("wards", "ana").spent)
        answer = json.loads(curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind])).body)
        assert seen == [Fraction(cost["epsilon"])]
        card = answer["model"]["privacy"] if kind == "fits" else answer["card"]
        assert Fraction(card["epsilon_exact"]) == seen[0]
        assert curator.ledger.account("wards").spent_rho == Fraction(cost["rho"])
        if kind == "fits":
            assert model_from_dict(answer["model"]).privacy.rho <= Fraction(cost["rho"])
        else:
            assert PrivacyCard.from_dict(card).rho == Fraction(cost["rho"])


@pytest.mark.parametrize("kind", QUESTIONS)
def test_the_same_key_and_body_get_the_same_bytes_and_one_charge(url, kind):
    rows = WatchedRows()
    with curator_of(url, rows, signer=Signer.new()) as curator:
        first = curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
        assert curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind])) == first
        assert rows.touched == 1
        with pytest.raises(RequestConflictError):
            curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind] + b" "))
        spent = curator.ledger.account("wards", "ana").spent
        others = curator.ask(Request(BOB, "wards", kind, "one", QUESTIONS[kind]))
        assert json.loads(others.body) != json.loads(first.body)
        assert curator.ledger.account("wards").spent == 2 * spent
        assert curator.ledger.verify().entries == 5
    with curator_of(url, WatchedRows(fails=True)) as curator:  # as after a restart, with the table gone
        assert curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind])) == first


def test_free_calls_touch_no_row(url):
    rows = WatchedRows(fails=True)
    with curator_of(url, rows) as curator:
        curator.datasets(ANA)
        curator.describe(ANA, "wards")
        curator.budget(ANA, "wards")
        curator.dummy(ANA, "wards", 10)
        for kind, body in QUESTIONS.items():
            curator.cost(ANA, "wards", kind, body)
        curator.entries(ANA)
        for kind in QUESTIONS:
            with pytest.raises(QuestionError):
                curator.ask(Request(ANA, "wards", kind, "one", b"{}"))
        assert rows.touched == 0
        assert curator.ledger.account("wards").spent == 0


def test_an_analyst_pays_to_learn_that_there_are_too_many_rows_for_a_fit(url, monkeypatch):
    monkeypatch.setattr("hedgerow.learn.blocks.DrawPlan.max_rows", 1)
    with curator_of(url) as curator:
        with pytest.raises(RequestFailedError) as raised:
            curator.ask(Request(ANA, "wards", "fits", "one", TREE))
        assert "rows" not in str(raised.value)
        assert curator.ledger.account("wards").spent == Fraction(1, 4)


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.claim("reported in one of two fixed sentences")
def test_a_failure_is_final_charged_and_reveals_nothing(url, kind, caplog):
    with curator_of(url, WatchedRows(fails=True)) as curator:
        for _ in range(2):
            with pytest.raises(RequestFailedError) as raised:
                curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
            assert "CANARY" not in str(raised.value)
            assert raised.value.__cause__ is None
        assert [entry.kind for entry in curator.ledger.entries()] == ["declared", "reserved", "failed"]
        assert curator.ledger.account("wards").spent > 0
    assert "CANARY" not in caplog.text
    assert "ValueError" in caplog.text


def test_an_interrupted_evaluation_is_made_once_more(url):
    rows = WatchedRows()
    rows.when = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt), curator_of(url, rows) as curator:
        curator.ask(ONE)
    with curator_of(url) as curator:
        assert b"rows" in curator.ask(ONE).body
        assert curator.ledger.account("wards").spent == Fraction(1, 4)


@pytest.mark.parametrize("fails", [False, True])
def test_answers_and_failures_leave_at_a_deadline_and_are_not_there_before(url, fails):
    rows = WatchedRows(fails=fails)
    with curator_of(url, rows, answer_after=0.3) as curator:
        began = time.monotonic()
        if fails:
            with pytest.raises(RequestFailedError):
                curator.ask(ONE)
        else:
            answer = json.loads(curator.ask(ONE).body)
            assert {"code": "timing", "seconds": "0.3"} in answer["card"]["notes"]
        assert 0.3 <= time.monotonic() - began < 0.6
        assert "0.3 seconds" in curator.describe(ANA, "wards")["timing"]


def test_the_same_request_while_it_is_answered_is_told_so(url):
    rows = WatchedRows()
    with curator_of(url, rows) as curator:
        result = []

        def again():
            rows.when = lambda: None
            with pytest.raises(RequestRunningError):
                curator.ask(ONE)
            result.append(True)

        rows.when = again
        curator.ask(ONE)
        assert result == [True]


def test_who_may_ask_what(url):
    with curator_of(url, shares={"ana": Account(Fraction(1))}) as curator:
        eve = Caller("eve", "analyst")
        assert (curator.datasets(ANA), curator.datasets(eve), curator.datasets(AUDITOR)) == (["wards"], [], ["wards"])
        for ask in (
            lambda: curator.describe(eve, "wards"),
            lambda: curator.budget(eve, "wards"),
            lambda: curator.dummy(eve, "wards", 1),
            lambda: curator.cost(eve, "wards", "marginals", MARGINALS),
            lambda: curator.ask(Request(eve, "wards", "marginals", "one", MARGINALS)),
            lambda: curator.ask(Request(AUDITOR, "wards", "marginals", "one", MARGINALS)),
            lambda: curator.describe(ANA, "other"),
        ):
            with pytest.raises(AccessError):
                ask()
        curator.ask(ONE)
        assert curator.budget(AUDITOR, "wards")["epsilon"] == {"cap": "3", "spent": "1/4", "left": "11/4"}
        assert curator.budget(ANA, "wards")["epsilon"] == {"cap": "1", "spent": "1/4", "left": "3/4"}
        assert [json.loads(line)["kind"] for line in curator.entries(ANA)[0]] == ["reserved", "answered"]
        kinds = [json.loads(line)["kind"] for line in curator.entries(AUDITOR)[0]]
        assert kinds == ["declared", "reserved", "answered"]
        assert curator.entries(eve) == ([], None)


def test_what_is_not_left_is_refused_and_costs_nothing(url):
    with curator_of(url) as curator:
        dear = question(epsilon="5/2", bins=BINS)
        assert not curator.cost(ANA, "wards", "marginals", dear)["allowed"]
        with pytest.raises(BudgetExceededError) as raised:
            curator.ask(Request(ANA, "wards", "marginals", "one", dear))
        assert raised.value.cap == "analyst"
        assert curator.ledger.account("wards").spent == 0


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("marginals", question(epsilon="0", bins=BINS)),
        ("marginals", question(epsilon="1", bins={"name": {"kind": "boolean", "missing": "bin"}})),
        ("marginals", question(epsilon="1", bins={"ill": {"kind": "boolean", "missing": "bin"}})),
        ("marginals", question(epsilon="1", bins={"smoker": {"kind": "boolean"}})),
        ("marginals", question(epsilon="1", delta="1", bins=BINS)),
        ("marginals", question(epsilon="0." + "0" * 29 + "1", bins=BINS)),
        ("error-marginals", question(epsilon="1", bins=BINS, hypothesis={"always": "maybe"})),
        ("error-marginals", question(epsilon="1", bins=BINS, hypothesis={"model": {"format": "hedgerow/tree"}})),
        ("fits", question(epsilon="1", model="tree", parameters={"random_state": 1})),
        ("fits", question(epsilon="1", model="tree", parameters={"verbose": True})),
        ("fits", question(epsilon="1", model="tree", parameters={"schema": "from-data"})),
        ("fits", question(epsilon="1", model="tree", parameters={"max_depth": -1})),
        ("fits", question(epsilon="1", model="tree", parameters={"max_depth": "x"})),
        ("fits", question(epsilon="1", model="tree", delta="1e-6")),
        ("fits", question(epsilon="1", model="tree", attributes=["name"])),
        ("fits", question(epsilon="1", model="scorecard", parameters={"monotone": {"ward": "increasing"}})),
        ("fits", question(epsilon="1", model="rule-list", parameters={"max_literals": -1})),
    ],
)
def test_a_question_that_does_not_fit_is_refused_before_a_charge(url, kind, body):
    rows = WatchedRows(fails=True)
    with curator_of(url, rows) as curator:
        for ask in (
            lambda: curator.ask(Request(ANA, "wards", kind, "one", body)),
            lambda: curator.cost(ANA, "wards", kind, body),
        ):
            with pytest.raises(QuestionError):
                ask()
        assert rows.touched == 0
        assert curator.ledger.account("wards").spent == 0


@pytest.mark.parametrize("key", ["", "k" * 201, "two\nlines", "ключ"])
def test_a_key_is_short_plain_text(url, key):
    with curator_of(url) as curator, pytest.raises(QuestionError, match="idempotency key"):
        curator.ask(Request(ANA, "wards", "marginals", key, MARGINALS))


def test_a_fit_with_a_delta_that_cannot_help_is_charged_none(url):
    with curator_of(url) as curator:
        body = question(epsilon="1/2", model="scorecard", delta="1e-6", attributes=["smoker", "age"])
        model = model_from_dict(json.loads(curator.ask(Request(ANA, "wards", "fits", "one", body)).body)["model"])
        assert model.privacy.delta == curator.ledger.account("wards").spent_delta == 0
        assert curator.ledger.account("wards").spent == Fraction(1, 2)


def test_a_fit_may_use_some_attributes_and_its_card_says_where_it_was_made(url):
    with curator_of(url, cap=Fraction(3), shares={"ana": Account(Fraction(2))}, oversubscribed=True) as curator:
        body = question(epsilon="1/2", model="scorecard", attributes=["smoker", "age"])
        model = model_from_dict(json.loads(curator.ask(Request(ANA, "wards", "fits", "one", body)).body)["model"])
        assert model.schema.names == ("age", "smoker")
        notes = " ".join(note.words for note in model.privacy.notes)
        assert "dataset 'wards', epoch 1" in notes
        assert "timing: open" in notes
        assert "the analysts' caps add up to more than" in notes


def test_gaussian_answers_are_charged_by_rho_if_the_ledger_adds_up_rho(url):
    cap, shares = Account(None, rho=Fraction(1, 2)), {"ana": Account(None, rho=Fraction(1, 4))}
    with curator_of(url, cap=cap, shares=shares) as curator:
        body = question(epsilon="1", delta="1e-6", bins=BINS)
        answer = json.loads(curator.ask(Request(ANA, "wards", "marginals", "one", body)).body)
        assert answer["charge"]["mechanism"]["code"] == "discrete_gaussian"
        assert "mu" not in answer["charge"]["mechanism"]
        assert curator.ledger.account("wards").spent_rho == Fraction(answer["charge"]["rho_exact"])


def test_attributes_share_noise_unless_the_ledger_adds_up_rho(url):
    body = question(epsilon="1", bins=BINS)
    with curator_of(url) as curator:
        assert curator.describe(ANA, "wards")["adds_up_rho"] is False
        answer = json.loads(curator.ask(Request(ANA, "wards", "marginals", "one", body)).body)
        assert answer["charge"]["mechanism"]["code"] == "shared_histograms"
        assert curator.ledger.account("wards").spent_rho == pure_rho(Fraction(1))


@pytest.mark.parametrize("cap", [Account(None, rho=Fraction(3)), Account(9, Fraction(1, 10**6), accounting="zcdp")])
def test_a_ledger_that_adds_up_rho_is_charged_the_rho_of_each_attribute(url, cap):
    shares, body = {"ana": Account(None, rho=Fraction(1))}, question(epsilon="1", bins=BINS)
    with curator_of(url, cap=cap, shares=shares) as curator:
        assert curator.describe(ANA, "wards")["adds_up_rho"] is True
        cost = curator.cost(ANA, "wards", "marginals", body)
        answer = json.loads(curator.ask(Request(ANA, "wards", "marginals", "one", body)).body)
        assert answer["charge"]["mechanism"]["code"] == "discrete_laplace"
        assert answer["variance"] == {"age": 8.0, "smoker": 8.0}
        assert (
            curator.ledger.account("wards").spent_rho == pure_rho(Fraction(1), Fraction(1, 2)) == Fraction(cost["rho"])
        )


def test_gaussian_answers_compose_in_gdp_if_the_ledger_adds_epsilon_delta(url):
    cap, shares = Account(Fraction(2), Fraction("1e-5")), {"ana": Account(Fraction(2), Fraction("1e-5"))}
    with curator_of(url, cap=cap, shares=shares) as curator:
        body = question(epsilon="1", delta="1e-6", bins=BINS)
        answer = json.loads(curator.ask(Request(ANA, "wards", "marginals", "one", body)).body)
        mu = Fraction(answer["charge"]["mechanism"]["mu"])
        assert Fraction(answer["charge"]["rho_exact"]) == mu**2 / 2
        assert curator.describe(ANA, "wards")["adds_up_rho"] is False


@pytest.mark.parametrize(
    "body",
    [
        question(epsilon="1/2", model="tree", parameters={"search": "greedy"}),
        question(epsilon="1/2", model="scorecard"),
        question(epsilon="1/2", delta="1e-6", model="scorecard"),
    ],
    ids=["tree", "scorecard", "scorecard with delta"],
)
def test_a_model_costs_less_rho_if_the_ledger_adds_up_rho(url, body):
    """Its learner takes other mechanisms there, as with a budget that adds up ρ."""
    costs = []
    for number, cap in enumerate((Account(None, rho=Fraction(9)), Account(Fraction(1), Fraction("1e-5")))):
        with curator_of(f"{url}{number}", cap=cap, shares={"ana": cap}) as curator:
            costs.append(Fraction(curator.cost(ANA, "wards", "fits", body)["rho"]))
            answer = json.loads(curator.ask(Request(ANA, "wards", "fits", "one", body)).body)
            assert model_from_dict(answer["model"]).privacy.rho <= costs[-1]
            assert curator.ledger.account("wards").spent_rho == costs[-1]
    assert costs[0] < costs[1]


def test_a_receipt_ties_answer_and_charge_to_the_ledger(url):
    signer = Signer.new()
    with curator_of(url, signer=signer) as curator:
        answer = curator.ask(Request(ANA, "wards", "fits", "one", TREE))
        said = Receipt.verify(answer.receipt, signer.public).statement
        (entry,) = [entry for entry in curator.ledger.entries() if entry.kind == "reserved"]
        assert (said["entry"], said["request"]) == (entry.hash, entry.data["request"])
        assert said["question"] == entry.data["body"]
        assert said["model"] == json.loads(answer.body)["model"]["digest"]
        assert (said["epsilon"], said["analyst"], said["dataset"], said["epoch"]) == ("1/4", "ana", "wards", 1)


def test_a_description_is_public_and_its_schema_is_read_back(url):
    with curator_of(url) as curator:
        result = curator.describe(ANA, "wards")
        assert Schema.from_dict(result["schema"]) == SCHEMA
        assert "CANARY" not in json.dumps(result)


def test_rows_that_were_read_in_one_epoch_are_charged_in_no_other(url):
    rows = WatchedRows()
    with curator_of(url, rows) as curator:
        first = curator.ask(ONE)
        curator.ledger.declare("wards", Account(Fraction(3)), SHARES, reason="the rows of 2027")
        with pytest.raises(ServiceBusyError, match="the dataset has a new epoch"):
            curator.ask(Request(ANA, "wards", "marginals", "two", MARGINALS))
        assert curator.ask(ONE) == first
        assert (rows.touched, curator.ledger.account("wards").spent) == (1, 0)
    with curator_of(url, rows) as curator:  # the service, started anew
        assert json.loads(curator.ask(Request(ANA, "wards", "marginals", "two", MARGINALS)).body)["epoch"] == 2


def test_a_question_about_another_epoch_is_not_charged(url):
    first, second = (question(epsilon="1/4", bins=BINS, epoch=epoch) for epoch in (1, 2))
    with curator_of(url) as curator:
        answer = curator.ask(Request(ANA, "wards", "marginals", "one", first))
        with pytest.raises(QuestionError, match="about epoch 2, but the current epoch is 1"):
            curator.ask(Request(ANA, "wards", "marginals", "two", second))
        curator.ledger.declare("wards", Account(Fraction(3)), SHARES, reason="the rows of 2027")
        with pytest.raises(ServiceBusyError, match="still has the earlier rows"):
            curator.ask(Request(ANA, "wards", "marginals", "two", second))
    rows = WatchedRows()
    with curator_of(url, rows) as curator:
        with pytest.raises(QuestionError, match="about epoch 1, but the current epoch is 2"):
            curator.ask(Request(ANA, "wards", "marginals", "three", first))
        assert curator.ask(Request(ANA, "wards", "marginals", "one", first)) == answer
        assert (rows.touched, curator.ledger.account("wards").spent) == (0, 0)
        assert json.loads(curator.ask(Request(ANA, "wards", "marginals", "two", second)).body)["epoch"] == 2


def test_a_charged_question_is_not_answered_from_a_later_epochs_rows(url):
    with curator_of(url, WatchedRows()) as curator:
        curator.ledger.answer = lambda *_: (_ for _ in ()).throw(LedgerUnavailableError("the disk is full"))
        with pytest.raises(LedgerUnavailableError, match="full"):
            curator.ask(ONE)
    rows = WatchedRows()
    with curator_of(url, rows) as curator:
        curator.ledger.declare("wards", Account(Fraction(3)), SHARES, reason="the rows of 2027")
    with curator_of(url, rows) as curator:
        with pytest.raises(RequestFailedError):
            curator.ask(ONE)
        assert (rows.touched, curator.ledger.account("wards").spent) == (0, 0)
        curator.ledger.verify()


def test_no_analysts_amounts_make_the_totals_of_all_too_long_to_be_written(url):
    with curator_of(url) as curator:
        for number in range(60):  # each total has 30 digits more than the one before
            odd = question(epsilon=f"{10**20}/{10**29 + 2 * number + 1}", bins=BINS)
            with pytest.raises(QuestionError, match="Round the amount down to a decimal"):
                curator.ask(Request(ANA, "wards", "marginals", str(number), odd))
        assert curator.ask(Request(BOB, "wards", "marginals", "one", MARGINALS))


def test_the_longest_total_of_amounts_that_are_taken_can_be_written():
    every = [Fraction(1, n) for n in range(1, LARGEST_DIVISOR + 1)]
    ends = [Fraction("9" * 30 + "." + "9" * 30 + "e-99"), Fraction(1, 2**99), Fraction(1, 5**42)]
    assert parse_amount(str(total([*every, *ends]))) > 0
    assert len(str(total([*every, *ends]).denominator)) < 350


class ShortRows(WatchedRows):
    """Rows that cannot be read for want of memory or descriptors, so often; then they can."""

    def __init__(self, *errors):
        super().__init__()
        self.errors = list(errors)

    def _touch(self):
        super()._touch()
        if self.errors:
            raise self.errors.pop()


FAULTS = [
    MemoryError("CANARY"),
    OSError(errno.EMFILE, "CANARY"),
    FileNotFoundError(errno.ENOENT, "CANARY"),
    ConnectionResetError("CANARY"),
    ImportError("CANARY"),
    *(SourceUnavailableError("CANARY", cause=cause) for cause in get_args(Cause)),
]


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: getattr(error, "cause", type(error).__name__))
def test_after_a_resource_failure_a_retry_uses_the_same_charge(tmp_path, error):
    rows = ShortRows(error, error, error)
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", rows) as curator:
        for _ in range(3):
            with pytest.raises(ServiceUnavailableError, match="charged and is pending") as raised:
                curator.ask(ONE)
            assert "CANARY" not in str(raised.value)
        answer = curator.ask(ONE)
        assert curator.ask(ONE) == answer
        assert curator.ledger.account("wards").spent == Fraction(1, 4)
        curator.ledger.verify()


class PanicException(BaseException):
    """What a library in Rust raises."""


FINAL = [DomainError("CANARY"), EngineError("CANARY"), RuntimeError("CANARY"), PanicException("CANARY")]


@pytest.mark.parametrize("error", FINAL)
def test_failures_that_values_of_rows_may_cause_are_final(tmp_path, error):
    """What is drawn again until nothing fails would have another law than what was charged for."""
    rows = ShortRows(error)
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", rows) as curator:
        for _ in range(2):
            with pytest.raises(RequestFailedError, match="the charge stays"):
                curator.ask(ONE)
        assert rows.touched == 1


def test_an_unknown_failure_of_a_process_without_room_is_not_final(tmp_path, monkeypatch):
    """A thread that cannot be started is a RuntimeError, as many others are."""
    rows = ShortRows(RuntimeError("can't start new thread"))
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", rows) as curator:
        rows.when = lambda: monkeypatch.setattr("hedgerow.service.curator.has_room", lambda: False)
        with pytest.raises(ServiceUnavailableError, match="pending"):
            curator.ask(ONE)
        monkeypatch.undo()
        rows.when = lambda: None
        assert curator.ask(ONE)


class FailingNoise(Exact):
    """Noise without effect, whose draws are counted, and fail with the errors that are left."""

    def __init__(self, *errors):
        self.errors, self.draws = list(errors), 0

    def prepare(self, mechanism):
        run = super().prepare(mechanism)

        def draw(values):
            self.draws += 1
            if self.errors:
                raise self.errors.pop()
            return run(values)

        return draw


def failing(call, *errors):
    """Return a function that raises these errors first, and then does what `call` does."""
    left = list(errors)

    def instead(*args):
        if left:
            raise left.pop()
        return call(*args)

    return instead


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("error", [LedgerUnavailableError("the disk is full"), MemoryError("CANARY")], ids=type)
@pytest.mark.claim("no failure leads to a second draw of noise")
def test_an_answer_that_cannot_be_stored_is_kept_and_not_drawn_again(url, kind, error):
    """Whether it can be stored may depend on its length, and so on the noise."""
    rows, signer = WatchedRows(), Signer.new()
    with curator_of(url, rows, noise=noise_source(0), signer=signer) as curator:
        store, contents = curator.ledger.answer, []
        fails = failing(store, error, error)
        curator.ledger.answer = lambda reserved, content: contents.append(content) or fails(reserved, content)
        for _ in range(2):
            with pytest.raises(type(error)):
                curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
        answer = curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
        assert [*contents, answer.content] == [answer.content] * 4
        assert curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind])) == answer
        assert rows.touched == 1
        curator.ledger.verify()


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("error", [MemoryError("CANARY"), OSError(errno.EMFILE, "CANARY"), ImportError("CANARY")])
@pytest.mark.claim("no failure leads to a second draw of noise")
def test_a_failure_after_a_draw_is_final_also_if_the_ledger_cannot_note_it(url, kind, error, monkeypatch):
    """Whether it fails may depend on the noise: a second draw would be rejection sampling."""
    noise = FailingNoise(error)
    monkeypatch.setattr("hedgerow.service.curator.has_room", lambda: noise.draws == 0)
    with curator_of(url, noise=noise) as curator:
        curator.ledger.fail = failing(curator.ledger.fail, LedgerUnavailableError("the disk is full"))
        with pytest.raises(LedgerUnavailableError) as raised:
            curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
        assert raised.value.charged
        monkeypatch.undo()
        for _ in range(2):
            with pytest.raises(RequestFailedError, match="the charge stays"):
                curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
        assert noise.draws == 1


class LostRows(WatchedRows):
    """Rows that are out of reach until they are told to be there."""

    lost = True

    def probe(self):
        if self.lost:
            raise SourceUnavailableError("CANARY", cause="connection")


@pytest.mark.parametrize("kind", QUESTIONS)
def test_unreachable_rows_are_detected_before_a_charge_and_each_attempt(url, kind, caplog, monkeypatch):
    monkeypatch.setattr("hedgerow.service.availability._FRESH", 0)
    rows = LostRows()
    with curator_of(url, rows) as curator:
        for charged in (False, True):
            for _ in range(3):
                with pytest.raises(ServiceUnavailableError) as raised:
                    curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
                assert (raised.value.charged, raised.value.retry_after) == (charged, 5)
                assert "CANARY" not in str(raised.value)
            assert bool(curator.ledger.account("wards").spent) == charged
            assert rows.touched == charged
            rows.lost, rows.fails = False, True
            rows.when = lambda: (_ for _ in ()).throw(MemoryError)
            with pytest.raises(ServiceUnavailableError):
                curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
            rows.lost = True
        rows.lost, rows.fails, rows.when = False, False, lambda: None
        answer = curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind]))
        rows.lost = True
        assert (
            curator.ask(Request(ANA, "wards", kind, "one", QUESTIONS[kind])) == answer
        )  # what is stored needs no rows
        kinds = [entry.kind for entry in curator.ledger.entries()]
        assert kinds == ["declared", "reserved", "retried", "retried", "answered"]  # an outage adds no entry
    assert "the connection to the database failed" in caplog.text
    assert "CANARY" not in caplog.text


def test_a_question_that_fails_again_and_again_is_tried_ever_more_rarely(url, monkeypatch):
    now, rows = [0.0], ShortRows(*[MemoryError()] * 40)
    monkeypatch.setattr("hedgerow.service.ledger.ledger.time.monotonic", lambda: now[0])
    tries = []
    with curator_of(url, rows) as curator:
        while now[0] < 20_000:
            before = rows.touched
            with pytest.raises(ServiceUnavailableError) as raised:
                curator.ask(ONE)
            if rows.touched > before:
                tries.append(now[0])
            now[0] += max(1, raised.value.retry_after - 1)
        assert len(tries) < 30
        assert tries[-1] - tries[-2] >= 3600
        entries = curator.ledger.verify().entries
    rows = WatchedRows()
    with curator_of(url, rows) as curator:  # started anew, as after a question that ended the process
        with pytest.raises(ServiceUnavailableError) as raised:
            curator.ask(ONE)
        assert (raised.value.retry_after, raised.value.charged, rows.touched) == (3600, True, 0)
        assert curator.ledger.verify().entries == entries  # who asks too soon adds no entry
        now[0] += 3600
        assert curator.ask(ONE)
        assert curator.ledger.account("wards").spent == Fraction(1, 4)


def test_a_question_without_room_to_answer_it_is_not_charged(tmp_path, monkeypatch):
    rows = WatchedRows()
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", rows) as curator:
        monkeypatch.setattr("hedgerow.service.curator.has_room", lambda: False)
        with pytest.raises(ServiceUnavailableError, match="Nothing was charged") as raised:
            curator.ask(ONE)
        assert not raised.value.charged
        assert (rows.touched, curator.ledger.account("wards").spent) == (0, 0)


def test_an_analysts_entries_do_not_reveal_the_number_of_other_entries(ledger_url):
    with curator_of(ledger_url, approval="first") as curator:
        for caller, number in ((BOB, 1), (ANA, 2)):
            with pytest.raises(ApprovalError, match="idempotency key"):
                curator.ask(Request(caller, "wards", "marginals", "one", MARGINALS))
            curator.approvals.decide({number: "approved"}, by="carla")
            curator.ask(Request(caller, "wards", "marginals", "one", MARGINALS))
        own = [json.loads(line) for line in curator.entries(ANA)[0]]
        assert [entry["kind"] for entry in own] == ["decided", "reserved", "answered"]
        assert not {"sequence", "previous", "salt", "number"} & {name for entry in own for name in entry}
        hashes = {json.loads(line)["hash"] for line in curator.entries(AUDITOR)[0]}
        assert {entry["hash"] for entry in own} <= hashes
