"""The learner's side over HTTP: the same answers as from an oracle in this process, each paid once."""

import pickle
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.client.http import Connection
from hedgerow.errors import (
    ArgumentError,
    ArgumentTypeError,
    HypothesisError,
    MissingPackageError,
    OracleExhaustedError,
    ServiceError,
)
from hedgerow.schema import Schema
from hedgerow.schema.schema import FROM_ROWS
from hedgerow.service.jobs import Jobs
from hedgerow.service.receipts import Receipt, Signer
from hedgerow.service.rows import FrameRows
from tests.service.wards import BINS, SCHEMA, Exact, WatchedRows, table
from tests.service.web import running

COSTS = {"no": {"yes": 1}, "yes": {"no": Fraction(50)}}
BY = Schema.from_dict({"attributes": BINS})
SIGNER = Signer.new()


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    with running(tmp_path_factory.mktemp("exact"), noise=Exact(), cap=300, shares=shares(100)) as service:
        yield service


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    with running(tmp_path_factory.mktemp("private"), signer=SIGNER, cap=300, shares=shares(100)) as service:
        yield service


def shares(epsilon):
    from hedgerow.privacy.account import Account

    return {"ana": Account(Fraction(epsilon)), "bob": Account(Fraction(1))}


OPEN = []


def connected(service, name="ana"):
    OPEN.append(hr.connect(service.url, key=service.tokens[name]))
    return OPEN[-1]


@pytest.fixture(autouse=True)
def closed():
    yield
    while OPEN:
        OPEN.pop().close()


def test_a_remote_oracle_answers_like_a_local_oracle(exact):
    frame, labels = table()
    inside = hr.Oracle(frame[list(SCHEMA.names)], labels, hr.Budget(3), 3, classes=SCHEMA.classes, random_state=Exact())
    tree = hr.OptimalTreeClassifier(max_depth=2, schema=SCHEMA).fit(frame, labels).tree_
    outside = connected(exact).oracle(3, epsilon=3)
    assert (outside.columns, outside.classes, outside.label) == (inside.columns, inside.classes, SCHEMA.label)
    assert outside.noise_scale(BY.sizes) == inside.noise_scale(BY.sizes) < 2
    for ask in (
        lambda oracle: oracle.marginals(BY).rows,
        lambda oracle: oracle.class_marginals(BY).rows,
        lambda oracle: oracle.error_marginals(BY, tree).wrong,
    ):
        assert np.array_equal(ask(outside), ask(inside))
    assert (outside.queries_left, outside.release, outside.max_queries) == (0, "counts", 3)
    assert outside.privacy.epsilon == inside.privacy.epsilon == 3
    with pytest.raises(OracleExhaustedError):
        outside.marginals(BY)


def test_bins_without_a_guarantee_void_the_answers_that_use_them(private):
    """The service does not know where the bins that it is sent were found."""
    guessed, oracle = Schema(BY.attributes, no_guarantee=FROM_ROWS), connected(private).oracle(2, epsilon=2)
    oracle.marginals(guessed)
    oracle.marginals(BY)
    assert oracle.privacy.no_guarantee == (FROM_ROWS,)


def test_learners_take_a_remote_oracle_unchanged(exact, private):
    frame, labels = table()
    rows, (source, _) = frame[list(SCHEMA.names)], table(seed=3)
    source = source[list(SCHEMA.names)]
    outside = connected(exact).oracle(1, epsilon=20)
    inside = hr.Oracle(rows, labels, hr.Budget(20), 1, classes=SCHEMA.classes, random_state=Exact())
    learned = [hr.MarginalLogisticClassifier(reweight=False).fit(source, oracle=item) for item in (outside, inside)]
    assert np.array_equal(*(item.predict_proba(source) for item in learned))
    curator = connected(private)
    words = make_column_transformer((OneHotEncoder(), ["ward"]), remainder="passthrough")
    tree = make_pipeline(words, DecisionTreeClassifier(max_depth=3))
    first = hr.ExprilClassifier(tree, queries=1, reweight=False).fit(source, oracle=curator.oracle(1, epsilon=20))
    assert (first.privacy_.epsilon, first.privacy_.is_private) == (20, True)
    assert "epoch 1" in " ".join(note.words for note in first.privacy_.notes)


def test_a_fit_comes_back_as_its_model_with_card_and_receipt(private):
    curator = connected(private)
    estimator = hr.PrivateTreeClassifier(epsilon=0.5, max_depth=2)
    before = Fraction(curator.budget["epsilon"]["spent"])
    assert curator.cost(estimator)["epsilon"] == "1/2"
    model = curator.fit(estimator)
    assert isinstance(model, hr.models.Tree)
    assert model.privacy.epsilon == Fraction(1, 2)
    assert Fraction(curator.budget["epsilon"]["spent"]) - before == Fraction(1, 2)
    assert Receipt.verify(curator.receipts[-1], SIGNER.public).statement["model"] == model.to_dict()["digest"]
    part = Schema({"age": SCHEMA["age"]}, SCHEMA.label)
    card = curator.fit(hr.PrivateScorecardClassifier(epsilon="1/4", points=5, schema=part))
    assert (type(card), card.schema.names) == (hr.models.Scorecard, ("age",))


@pytest.mark.parametrize("given", [{"class_weight": {"yes": np.int64(50)}}, {"costs": COSTS}], ids=["weight", "costs"])
def test_costs_of_classes_are_asked_for_by_their_names(private, given):
    """Where a missed illness costs fifty times as much, everybody with a share of the ill is called ill."""
    model = connected(private).fit(hr.PrivateTreeClassifier(epsilon="1/2", max_depth=1, **given))
    assert {leaf.label for leaf in model.leaves} == {"yes"}
    assert "cost of errors, in units of 50" in str(model.privacy)


@pytest.mark.parametrize(
    ("estimator", "problem"),
    [
        (lambda: hr.DPGreedyRLClassifier(epsilon=1), ArgumentTypeError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, random_state=1), ArgumentError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, budget=hr.Budget(1)), ArgumentError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, schema=Schema({"age": hr.Integer(0, 9)})), ArgumentError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, schema="from-data"), ArgumentError),
        (lambda: hr.PrivateTreeClassifier(), ServiceError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, max_depth=-1), ServiceError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, class_weight={"maybe": 2}), ArgumentError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, class_weight={"yes": float("nan")}), ArgumentError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, class_weight="balanced"), ServiceError),
        (lambda: hr.PrivateTreeClassifier(epsilon=1, costs={"yes": {"no": -1}, "no": {"yes": 1}}), ServiceError),
        (lambda: hr.PrivateScorecardClassifier(epsilon=1, monotone={"age": 3}), ServiceError),
    ],
)
def test_what_cannot_be_asked_is_refused_at_no_charge(private, estimator, problem):
    curator = connected(private)
    before = curator.budget
    with pytest.raises(problem):
        curator.fit(estimator())
    assert curator.budget == before


def test_what_is_public_can_be_looked_at(private):
    with connected(private) as curator:
        assert curator.datasets == ("wards",)
        assert curator.schema == SCHEMA
        assert list(curator.dummy(5)) == [*SCHEMA.names, "ill"]
        assert repr(curator["wards"]) == "<RemoteDataset 'wards' of 3 attributes>"
        assert "wards" in repr(curator)
        with pytest.raises(ArgumentError, match="these are wards"):
            curator["other"]
    nobody = connected(private, "eve")
    assert nobody.datasets == ()
    with pytest.raises(AttributeError, match="your datasets: none"):
        _ = nobody.schema


@pytest.mark.parametrize("kind", ["datetime64[s]", "str"])
def test_a_learner_takes_dates_of_dummy_rows(tmp_path, kind):
    schema = hr.Schema(
        {"admitted": hr.Date("1900-01-01", "2100-12-31"), "smoker": hr.Boolean()}, label=hr.Label("ill", ("no", "yes"))
    )
    frame = pd.DataFrame({"admitted": ["1960-02-29", "2026-01-01"] * 50, "smoker": [True, False] * 50})
    frame = frame.astype({"admitted": kind})
    with running(tmp_path, FrameRows.of(frame, ["no", "yes"] * 50, schema), schema=schema) as service:
        curator = connected(service)
        source = curator.dummy(200).drop(columns="ill")
        assert (source.admitted.dtype.kind == "M") == (kind != "str")
        learner = hr.MarginalLogisticClassifier(reweight=False)
        assert learner.fit(source, oracle=curator.oracle(1, epsilon=1)).privacy_.epsilon == 1
        curator.close()


def test_refusals_state_requested_and_remaining_budget_and_any_charge(private):
    oracle = connected(private, "bob").oracle(1, epsilon=9)
    with pytest.raises(ServiceError, match=r"Requested: epsilon 9; remaining: 1. Nothing was charged") as raised:
        oracle.marginals(BY)
    assert (raised.value.status, raised.value.kind, raised.value.charged) == (403, "budget-exceeded", False)
    assert oracle.queries_left == 1
    with pytest.raises(ServiceError, match="needs a bin"):
        oracle.marginals(Schema({"age": hr.Integer(0, 99)}))
    with pytest.raises(HypothesisError):
        oracle.error_marginals(BY, object())
    with pytest.raises(ServiceError, match="not valid"):
        hr.connect(private.url, key="hr_x")
    with pytest.raises(ArgumentError, match="epsilon"):
        connected(private).oracle(1, epsilon=0)


class Flaky:
    """Stands between client and service, and loses what it is told to, before or after the service has answered."""

    def __init__(self, client, monkeypatch, lost):
        self.lost, self.sent = list(lost), 0
        self._send = client._client.send
        monkeypatch.setattr(client._client, "send", self.send)
        monkeypatch.setattr("time.sleep", lambda _: None)

    def send(self, request, **more):
        import httpx2

        if request.method != "POST":
            return self._send(request, **more)
        self.sent += 1
        what = self.lost.pop(0) if self.lost else None
        if what == "request":
            raise httpx2.ConnectError("lost")
        response = self._send(request, **more)
        if what == "response":
            response.read()
            response.close()
            raise httpx2.ReadTimeout("lost")
        return response


def test_a_lost_connection_is_not_charged_twice(private, monkeypatch):
    curator = connected(private)
    before = Fraction(curator.budget["epsilon"]["spent"])
    flaky = Flaky(curator._connection, monkeypatch, ["request", "response", "response"])
    oracle = curator.oracle(2, epsilon=1)
    oracle.marginals(BY)
    assert flaky.sent == 4
    assert Fraction(curator.budget["epsilon"]["spent"]) - before == Fraction(1, 2)
    flaky.lost = ["response"] * 6
    with pytest.raises(ServiceError, match="not charged twice") as raised:
        oracle.marginals(BY)
    assert (raised.value.status, raised.value.charged, oracle.queries_left) == (None, None, 1)
    oracle.marginals(BY)
    assert oracle.queries_left == 0
    assert Fraction(curator.budget["epsilon"]["spent"]) - before == 1
    assert oracle.privacy.epsilon == 1


def test_the_same_question_asked_anew_is_a_new_one(private):
    curator = connected(private)
    before = Fraction(curator.budget["epsilon"]["spent"])
    oracle = curator.oracle(2, epsilon=1)
    oracle.marginals(BY)
    oracle.marginals(BY)
    assert Fraction(curator.budget["epsilon"]["spent"]) - before == 1


def test_a_failure_at_the_service_is_reported_as_charged(tmp_path):
    with running(tmp_path, WatchedRows(fails=True)) as service:
        with pytest.raises(ServiceError, match="The evaluation failed") as raised:
            connected(service).oracle(1, epsilon=1).marginals(BY)
        assert raised.value.charged is True
        with pytest.raises(ServiceError, match="The evaluation failed"):
            connected(service).fit(hr.PrivateTreeClassifier(epsilon=0.5))


def test_a_fit_continues_under_its_key_after_the_service_lost_its_jobs(tmp_path):
    rows = WatchedRows(waits=True)
    with running(tmp_path, rows) as service:
        curator, result = connected(service), []
        asking = threading.Thread(target=lambda: result.append(curator.fit(hr.PrivateTreeClassifier(epsilon=0.5))))
        asking.start()
        assert rows.begun.wait(10)
        before, service.app.state.jobs = service.app.state.jobs, Jobs(service.curator)
        rows.go.set()
        asking.join(30)
        assert len(result) == 1
        assert curator.budget["epsilon"]["spent"] == "1/2"
        for jobs in (before, service.app.state.jobs):
            jobs.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "ftp://127.0.0.1",
        "127.0.0.1:1",
        "",
        "http://127.0.0.1.example.org",
        "http://a@b:1",
        "http://example.org#@localhost",
        "http://example.org?@127.0.0.1:1",
        "https://",
    ],
)
def test_a_key_does_not_travel_in_the_open(url):
    with pytest.raises(ArgumentError, match="must not be sent unencrypted"):
        hr.connect(url, key="hr_x")


def test_an_unreachable_service_is_reported(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(ServiceError, match="did not answer"):
        hr.connect("http://127.0.0.1:9", key="hr_x")


def test_without_its_extra_the_client_says_what_to_install(monkeypatch):
    monkeypatch.setattr("hedgerow.client.http.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[client\]'"):
        Connection("https://example.org", "hr_x", 1)


def test_a_connection_does_not_show_or_keep_its_key(private):
    curator = connected(private)
    assert private.tokens["ana"] not in repr(vars(curator["wards"]))
    with pytest.raises((TypeError, AttributeError)):
        pickle.dumps(curator)
