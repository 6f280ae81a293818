"""Claim: a learner believes nothing that a curator's service sends, beyond what no check can tell.

Between the client and a real curator stands somebody who changes answers: the network, which cannot sign, or the
curator, who signs whatever is sent.
"""

import base64
import math
import threading
import time
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import httpx2
import jwt
import numpy as np
import pytest

import hedgerow as hr
from hedgerow.client.answers import KINDS, UNSIGNED
from hedgerow.errors import ArgumentError, OracleExhaustedError, ReceiptError, ServiceError
from hedgerow.oracle.answer_noise import AnswerNoise
from hedgerow.oracle.answers import RowCounts
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema import Schema
from hedgerow.service.forms import FORMS
from hedgerow.service.receipts import Signer
from tests.client.between import SIGNER, Between, connected
from tests.privacy.scrambling import scrambled
from tests.service.wards import ANA, BINS, EXAMPLES, SCHEMA, curator_of

BY = Schema.from_dict({"attributes": BINS})
OTHER = Signer.new()
TREE = {"max_depth": 1}


def test_the_client_reads_the_answers_to_every_kind_of_question():
    assert set(KINDS) == set(FORMS), "Add every kind to KINDS in src/hedgerow/client/answers.py."


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    caps = {"cap": Account(Fraction(99), Fraction(1, 99)), "shares": {"ana": Account(Fraction(99), Fraction(1, 99))}}
    with curator_of(f"sqlite:///{tmp_path_factory.mktemp('l')}/l.db", signer=SIGNER, **caps) as opened:
        yield opened


@pytest.fixture
def between(curator, monkeypatch):
    result = Between(curator)
    real, transport = httpx2.Client, httpx2.MockTransport(result.answering)
    monkeypatch.setattr("httpx2.Client", lambda **given: real(transport=transport, **given))
    return result


def ask(dataset, kind="rows"):
    oracle = dataset.oracle(1, epsilon="1/4", delta="1e-6" if kind == "gaussian" else 0)
    if kind == "errors":
        return oracle.error_marginals(BY, hr.oracle.Always("yes")), oracle
    return (oracle.class_marginals if kind == "classes" else oracle.marginals)(BY), oracle


@pytest.mark.parametrize("key", [SIGNER.public, OTHER.public + SIGNER.public, None], ids=["key", "keys", "no key"])
@pytest.mark.parametrize("kind", ["rows", "classes", "errors", "gaussian"])
@pytest.mark.usefixtures("between")
def test_an_honest_curator_is_believed(key, kind):
    dataset = connected(key)
    answer, oracle = ask(dataset, kind)
    assert answer.noise.scale == oracle.noise_scale(answer.bins.sizes) > 0
    assert (UNSIGNED in oracle.privacy.notes) == (key is None)
    assert (oracle.privacy.epsilon, len(dataset.receipts), dataset.epoch) == (Fraction(1, 4), 1, 1)
    assert isinstance(dataset.fit(hr.PrivateTreeClassifier(epsilon="1/4", **TREE)), hr.models.Tree)


@pytest.mark.parametrize("kind", ["rows", "errors", "gaussian"])
@pytest.mark.usefixtures("between")
def test_a_curator_who_words_a_card_otherwise_is_believed(kind, monkeypatch):
    dataset = connected(SIGNER.public)
    scrambled(monkeypatch)
    _, oracle = ask(dataset, kind)
    assert (oracle.privacy.epsilon, len(dataset.receipts)) == (Fraction(1, 4), 1)
    assert isinstance(dataset.fit(hr.PrivateTreeClassifier(epsilon="1/4", **TREE)), hr.models.Tree)


def changed(**entries):
    return lambda body: body | entries


def cheaper(body):
    """Say less was charged than was asked for, on charge and card alike."""
    charge = Charge.from_dict(body["charge"])
    how = charge.mechanism.having(scale=charge.mechanism["scale"] * charge.epsilon * 8)
    less = Charge(charge.query, Fraction(1, 8), charge.delta, how, charge.no_guarantee)
    card = hr.privacy.PrivacyCard((less,), "none", "hedgerow")
    return body | {"charge": less.to_dict(), "card": card.to_dict()}


ROWS = {"age": [1, 2, 3, 4], "smoker": [1, 2, 3]}
LIES = {
    "a count that is no whole number": changed(rows=ROWS | {"smoker": [1.5, 2, 3]}),
    "a whole number as a float": changed(rows=ROWS | {"smoker": [1.0, 2, 3]}),
    "a boolean": changed(rows=ROWS | {"smoker": [True, 2, 3]}),
    "a text": changed(rows=ROWS | {"smoker": ["1", 2, 3]}),
    "more rows than there can be": changed(rows=ROWS | {"smoker": [2**44, 2, 3]}),
    "fewer than none, beyond noise": changed(rows=ROWS | {"smoker": [-2000, 2, 3]}),
    "one bin more": changed(rows=ROWS | {"smoker": [1, 2, 3, 4]}),
    "one attribute more": changed(rows=ROWS | {"ward": [1, 2, 3, 4]}),
    "a count for each class": changed(rows={name: [[n, n] for n in part] for name, part in ROWS.items()}),
    "a negative variance": changed(variance=-5),
    "no variance": changed(variance=0),
    "a variance that is no number": changed(variance="8"),
    "less noise than epsilon has": changed(variance=dict.fromkeys(BINS, 40.0)),
    "noise that is not shared": changed(variance=dict.fromkeys(BINS, 128.0)),
    "the variance of one attribute": lambda body: body | {"variance": {"age": body["variance"]["age"]}},
    "more noise than epsilon has": changed(variance=1e9),
    "another dataset": changed(dataset="surgery"),
    "another epoch": changed(epoch=2),
    "another form": changed(version=1),
    "no request": changed(request=None),
    "another card": lambda body: body | {"card": hr.privacy.PrivacyCard.none("nothing").to_dict()},
    "a lesser charge": cheaper,
    "nothing": lambda _: [],
}


def places(answer, *path):
    """Yield the paths of all entries of an answer, except those inside cards, charges and models."""
    entries = answer.items() if isinstance(answer, dict) else enumerate(answer) if isinstance(answer, list) else ()
    for key, value in entries:
        yield (*path, key)
        if key not in ("card", "charge", "model"):
            yield from places(value, *path, key)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_no_entry_of_an_answer_is_believed_in_another_type(between, kind):
    dataset, bodies = connected(None), []
    between.body = lambda body: bodies.append(body) or body
    dataset.answer(kind, {"epsilon": "1/4", **EXAMPLES[kind]})
    believed = []
    for *path, last in places(bodies[0]):
        for value in (True, None, "1", [], {}):

            def with_other_type(body, path=path, last=last, value=value):
                part = body
                for key in path:
                    part = part[key]
                part[last] = value
                return body

            between.body = with_other_type
            with suppress(ServiceError):
                dataset.answer(kind, {"epsilon": "1/4", **EXAMPLES[kind]})
                believed.append((*path, last, value))
    assert believed == []


def test_a_question_of_an_unknown_kind_is_not_sent(between):
    with pytest.raises(ArgumentError, match="the kind of a question must be marginals or error-marginals or fits"):
        connected().answer("medians", {"epsilon": "1/4", "bins": BINS})
    assert between.keys == []


@pytest.mark.parametrize("key", [SIGNER.public, None], ids=["key", "no key"])
@pytest.mark.parametrize("lie", LIES)
def test_a_curator_who_signs_it_is_not_believed(between, lie, key):
    between.body = LIES[lie]
    dataset = connected(key)
    with pytest.raises(ServiceError, match="the service did not send") as raised:
        ask(dataset)
    assert raised.value.charged is None
    assert dataset.receipts == []


def test_an_earlier_service_whose_attributes_share_no_noise_is_believed(between):
    """It describes no accounting, states one variance, and charges discrete Laplace noise by ε and ρ."""
    laplace = DiscreteLaplace(Fraction(1, 4), 2, 1)

    def earlier(body):
        charge = replace(Charge.from_dict(body["charge"]), mechanism=laplace.record, rho=laplace.rho)
        card = replace(hr.privacy.PrivacyCard.from_dict(body["card"]), charges=(charge,))
        return body | {"variance": 128.0, "charge": charge.to_dict(), "card": card.to_dict()}

    between.body = earlier
    between.public = lambda found: {name: value for name, value in found.items() if name != "adds_up_rho"}
    answer, oracle = ask(connected(SIGNER.public))
    assert answer.noise == AnswerNoise.independent(BY.sizes, 128.0)
    assert oracle.noise_scale(BY.sizes) == 8
    assert oracle.privacy.rho == laplace.rho
    between.body = lambda body: earlier(body) | {"variance": 127.9}
    with pytest.raises(ServiceError, match="did not send"):
        ask(connected(SIGNER.public))


def test_what_is_no_number_is_no_answer(between):
    between.body = changed(variance=math.nan)
    with pytest.raises(ServiceError, match="not JSON"):
        ask(connected())


def test_what_was_refused_is_asked_for_again_at_no_charge(between):
    dataset = connected()
    oracle = dataset.oracle(1, epsilon="1/4")
    before = Fraction(between.curator.budget(ANA, "wards")["epsilon"]["spent"])
    between.body = changed(epoch=2)
    for _ in range(2):
        with pytest.raises(ServiceError, match="epoch 1 of 'wards'"):
            oracle.marginals(BY)
    between.body = dict
    assert len(oracle.marginals(BY).rows) == 7
    assert len(between.keys) == 3
    assert len(set(between.keys)) == 1
    assert Fraction(between.curator.budget(ANA, "wards")["epsilon"]["spent"]) - before == Fraction(1, 4)


def test_rows_of_an_epoch_declared_meanwhile_are_not_paid_for(between, tmp_path):
    url, cap = f"sqlite:///{tmp_path}/l.db", Account(Fraction(9), Fraction(1, 99))
    with curator_of(url, signer=SIGNER, cap=cap, shares={"ana": cap}) as between.curator:
        dataset = connected()
        ask(dataset)
        between.curator.ledger.declare("wards", cap, {"ana": cap}, reason="the rows of 2027")
    with curator_of(url, signer=SIGNER, cap=cap, shares={"ana": cap}) as between.curator:
        for act in (lambda: ask(dataset), lambda: dataset.fit(hr.PrivateTreeClassifier(epsilon="1/4", **TREE))):
            with pytest.raises(ServiceError, match="but the current epoch is 2; nothing was charged") as raised:
                act()
            assert raised.value.charged is False
        assert between.curator.budget(ANA, "wards")["epsilon"]["spent"] == "0"
        ask(connected())


def test_an_answer_to_an_earlier_question_is_refused(between):
    dataset, first = connected(), []
    ask(dataset)
    first.append(between.stored)
    between.sent = lambda _, sent=between.sent: sent(first[0])
    with pytest.raises(ServiceError, match="an earlier question"):
        ask(dataset)


def restated(**entries):
    def change(receipt):
        said = jwt.decode(receipt, options={"verify_signature": False})
        return SIGNER.sign(said | entries)

    return change


RECEIPTS = {
    "of another dataset": restated(dataset="surgery"),
    "of another epoch": restated(epoch=2),
    "of another request": restated(request="other"),
    "of another question": restated(question="0" * 64),
    "of another answer": restated(answer="0" * 64),
    "of another charge": restated(epsilon="1/8"),
    "of another unit": restated(unit={"column": "ward", "max_rows": 2}),
    "not a receipt": lambda _: "not.a.receipt",
    "not a receipt of hedgerow of the curator's": lambda _: jwt.encode({"sub": "x"}, SIGNER.key, algorithm="EdDSA"),
}


@pytest.mark.parametrize("key", [SIGNER.public, None], ids=["key", "no key"])
@pytest.mark.parametrize("receipt", RECEIPTS)
def test_a_receipt_with_different_contents_is_refused(between, receipt, key):
    between.receipt = RECEIPTS[receipt]
    with pytest.raises(ServiceError, match=r"receipt of (this|the) answer"):
        ask(connected(key))


def unsigned(receipt):
    head = base64.urlsafe_b64encode(b'{"alg":"none","typ":"hedgerow-receipt"}').decode().rstrip("=")
    return f"{head}.{receipt.split('.')[1]}."


def by_another(receipt):
    return OTHER.sign(jwt.decode(receipt, options={"verify_signature": False}))


def by_the_public_key(receipt):
    """Sign with the public key as if it were a secret that both know."""
    import hmac

    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"hedgerow-receipt"}').decode().rstrip("=")
    signed = f"{head}.{receipt.split('.')[1]}"
    mac = hmac.digest(SIGNER.public.encode(), signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


@pytest.mark.parametrize("forged", [lambda _: "", unsigned, by_another, by_the_public_key])
def test_unsigned_answers_are_rejected_if_the_curators_key_is_known(between, forged):
    between.receipt = forged
    with pytest.raises(ServiceError, match="the receipt of the answer is not valid"):
        ask(connected())
    if forged is not unsigned:
        _, oracle = ask(connected(None))
        assert UNSIGNED in oracle.privacy.notes


@pytest.mark.parametrize("key", ["", "curator.pub", SIGNER.public.replace("MC", "MD"), b"key"])
def test_an_invalid_key_is_refused_before_a_request_is_sent(key):
    with pytest.raises(ReceiptError, match="public Ed25519 keys"):
        connected(key)


OTHER_FITS = {
    "another kind": lambda: hr.PrivateRuleListClassifier(epsilon="1/4", max_rules=1),
    "more was charged": lambda: hr.PrivateTreeClassifier(epsilon="1/2", **TREE),
    "less was charged": lambda: hr.PrivateTreeClassifier(epsilon="1/8", **TREE),
    "fewer attributes": lambda: hr.PrivateTreeClassifier(
        epsilon="1/4", schema=Schema({"age": SCHEMA["age"]}, SCHEMA.label), **TREE
    ),
}


@pytest.mark.parametrize("other", OTHER_FITS)
def test_a_model_of_another_question_is_refused(between, other):
    dataset = connected()
    other_model = dataset.fit(OTHER_FITS[other]()).to_dict()
    between.body = lambda body: body | {"model": other_model}
    with pytest.raises(ServiceError, match="did not send a"):
        dataset.fit(hr.PrivateTreeClassifier(epsilon="1/4", **TREE))


LARGER = {
    "depth": (hr.PrivateTreeClassifier, {"max_depth": 1}, {"max_depth": 3}),
    "rules": (hr.PrivateRuleListClassifier, {"max_rules": 2}, {"max_rules": 4}),
    "literals": (hr.PrivateRuleListClassifier, {"max_rules": 2}, {"max_rules": 2, "max_literals": 2}),
    "points": (hr.PrivateScorecardClassifier, {"points": 1}, {}),
    "attributes": (hr.PrivateScorecardClassifier, {"max_attributes": 1}, {}),
}


@pytest.mark.parametrize("size", LARGER)
def test_a_model_larger_than_was_asked_for_is_refused(between, size):
    kind, asked, larger = LARGER[size]
    dataset, most = connected(), kind(**asked).get_params()
    models = (dataset.fit(kind(epsilon=1, **larger)) for _ in range(20))  # until noise has made a large one
    model = next(item for item in models if any((most[name] or n) < n for name, n in item.sizes.items()))
    between.body = lambda body: body | {"model": model.to_dict()}
    with pytest.raises(ServiceError, match="within the requested size"):
        dataset.fit(kind(epsilon=1, **asked))


DESCRIPTIONS = {
    "another dataset": {"dataset": "surgery"},
    "no epoch": {"epoch": None},
    "other columns": {"columns": ["age", "smoker"]},
    "kinds that are none": {"kinds": ["numbers", "boolean", "code"]},
    "fewer kinds": {"kinds": ["numbers", "boolean"]},
    "another unit": {"unit": {"column": "ward", "max_rows": 2}},
    "no schema": {"schema": {}},
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_description_that_contradicts_itself_is_refused(between, name):
    between.public = lambda found: found | DESCRIPTIONS[name]
    with pytest.raises(ServiceError, match="description of the dataset"):
        connected()


class Claims:
    """An oracle that answers what it is made to."""

    columns, classes, label, release, unit, queries_left = SCHEMA.names, SCHEMA.classes, SCHEMA.label, "counts", None, 1
    privacy = hr.privacy.PrivacyCard.none("nothing was answered")
    check = class_marginals = error_marginals = level_marginals = noise_scale = len

    def __init__(self, rows):
        self.rows = rows

    def marginals(self, bins):
        return RowCounts(bins, self.rows, AnswerNoise.independent(bins.sizes, 8.0))


@pytest.mark.parametrize(
    "rows",
    [np.full(7, 0.5), np.full(6, 1)],
    ids=["no whole numbers", "fewer bins"],
)
def test_a_sum_of_invalid_counts_is_refused(rows):
    federated = hr.oracle.FederatedOracle([Claims(np.full(7, 2**43)), Claims(rows), Claims(rows)])
    with pytest.raises(ArgumentError, match="whole numbers for the same bins"):
        federated.marginals(BY)


@pytest.mark.parametrize(("count", "total"), [(2**62, 2**63 - 1), (-(2**62), -(2**63)), (2**43 + 1, 3 * 2**43 + 3)])
def test_a_sum_of_large_counts_does_not_wrap_around_and_is_answered(count, total):
    federated = hr.oracle.FederatedOracle([Claims(np.full(7, count)) for _ in range(3)])
    answer = federated.marginals(BY)
    assert answer.rows.tolist() == [total] * 7
    assert np.sign(answer.n_rows - 1) == (count > 0)


def in_threads(oracles):
    """Return the answers of oracles, each asked the same in a thread of its own, or the errors."""
    result = []

    def ask(oracle):
        try:
            result.append(tuple(oracle.marginals(BY).rows))
        except Exception as error:
            result.append(error)

    threads = [threading.Thread(target=ask, args=(oracle,)) for oracle in oracles]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return result


@pytest.mark.parametrize("questions", [1, 4])
@pytest.mark.parametrize("kind", ["remote", "federated", "two remote"])
def test_what_threads_ask_is_charged_answered_and_counted_once_each(between, kind, questions):
    dataset = connected()

    def slow(content, sent=between.sent):
        time.sleep(0.05)  # for all to be there
        return sent(content)

    between.sent = slow
    parts = [dataset.oracle(questions, epsilon=1) for _ in range(1 if kind == "remote" else 2)]
    asked = [hr.oracle.FederatedOracle(parts)] if kind == "federated" else parts
    spent = lambda: Fraction(between.curator.budget(ANA, "wards")["epsilon"]["spent"])  # noqa: E731
    before = spent()
    result = in_threads(asked * (4 // len(asked)))
    answers = {item for item in result if isinstance(item, tuple)}
    assert len(answers) == min(questions * len(asked), 4)
    assert all(isinstance(item, tuple | OracleExhaustedError) for item in result)
    assert spent() - before == sum(part.privacy.epsilon for part in parts)
    assert all(part.privacy.epsilon <= 1 for part in parts)


@pytest.mark.usefixtures("between")
def test_a_fit_with_a_delta_that_it_does_not_need_is_believed():
    dataset = connected(SIGNER.public)
    model = dataset.fit(hr.PrivateScorecardClassifier(epsilon="1/4", delta="1e-6"))
    assert (model.privacy.epsilon, model.privacy.delta) == (Fraction(1, 4), 0)
    assert len(dataset.receipts) == 1


def test_a_model_with_another_delta_than_its_receipt_is_not_believed(between):
    between.receipt = lambda receipt: SIGNER.sign(
        jwt.decode(receipt, options={"verify_signature": False}) | {"delta": "1/1000000"}
    )
    with pytest.raises(ServiceError, match="delta"):
        connected(SIGNER.public).fit(hr.PrivateScorecardClassifier(epsilon="1/4", delta="1e-6"))
