"""Models of a number over the client: what comes back is held against what was asked, as for classes."""

import json
from fractions import Fraction

import pytest

import hedgerow as hr
from hedgerow.client.question_files import QuestionFile
from hedgerow.errors import ArgumentTypeError, ServiceError
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.envelope import seal
from hedgerow.privacy.account import Account
from hedgerow.schema import Literal, Number, Schema
from hedgerow.service.receipts import Signer
from hedgerow.service.requests import Request
from hedgerow.service.rows import FrameRows
from tests.client.between import SIGNER, Between, connected
from tests.service.wards import ANA, BINS, STAYS, curator_of, stays

TREE = hr.PrivateTreeRegressor(epsilon="1/4", max_depth=1, objective="absolute")


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    caps = {"cap": Account(Fraction(99), Fraction(1, 9)), "shares": {"ana": Account(Fraction(99), Fraction(1, 9))}}
    url = f"sqlite:///{tmp_path_factory.mktemp('l')}/l.db"
    with curator_of(url, FrameRows.of(*stays(), STAYS), schema=STAYS, signer=SIGNER, **caps) as opened:
        yield opened


@pytest.fixture
def between(curator, monkeypatch):
    import httpx2

    result = Between(curator)
    real, transport = httpx2.Client, httpx2.MockTransport(result.answering)
    monkeypatch.setattr("httpx2.Client", lambda **given: real(transport=transport, **given))
    return result


def spent(between):
    return Fraction(between.curator.budget(ANA, "wards")["epsilon"]["spent"])


@pytest.mark.parametrize("estimator", [TREE, hr.PrivateRuleListRegressor(epsilon="1/4", max_rules=2, quantile=0.5)])
def test_a_model_of_a_number_comes_back_with_card_and_receipt(between, estimator):
    dataset, before = connected(), spent(between)
    model = dataset.fit(estimator)
    assert model.schema == dataset.schema == STAYS
    assert model.privacy.epsilon == spent(between) - before == Fraction(1, 4)
    assert len(dataset.receipts) == 1
    predicted = model.predict(stays()[0])
    assert STAYS.target.low <= predicted.min() <= predicted.max() <= STAYS.target.high


@pytest.mark.usefixtures("between")
def test_estimators_of_classes_are_not_asked_of_a_number():
    for estimator in (hr.PrivateTreeClassifier(epsilon=1), hr.PrivateScorecardClassifier(epsilon=1)):
        with pytest.raises(ArgumentTypeError, match="must be a PrivateRuleListRegressor or PrivateTreeRegressor"):
            connected().fit(estimator)


def tree(body, root, schema=STAYS):
    """Return an answer with another tree under the card of the true one."""
    card = hr.privacy.PrivacyCard.from_dict(body["model"]["privacy"])
    return body | {"model": Tree(schema, root, card).to_dict()}


OTHER = Schema(STAYS.attributes, Number("days", 0, 64, 8))
DEEP = Split(
    Literal("smoker", "true"), Split(Literal("age", "<=", (40,)), Leaf(label=2.0), Leaf(label=6.0)), Leaf(label=2.0)
)
LIES = {
    "a tree that is deeper": lambda body: tree(body, DEEP),
    "other bounds": lambda body: tree(body, Leaf(label=4.0), OTHER),
    "a rule list": lambda body: (
        body
        | {
            "model": RuleList(
                STAYS, (Rule((), label=2.0),), hr.privacy.PrivacyCard.from_dict(body["model"]["privacy"])
            ).to_dict()
        }
    ),
    "nothing": lambda _: [],
}


@pytest.mark.parametrize("lie", LIES)
def test_a_model_that_was_not_asked_for_is_not_believed(between, lie):
    between.body = LIES[lie]
    with pytest.raises(ServiceError, match="did not send") as raised:
        connected().fit(TREE)
    assert raised.value.charged is None


@pytest.mark.parametrize("value", [1e9, 3.0, "2.0", True, [2.0]])
def test_a_leaf_that_predicts_no_level_is_not_believed(between, value):
    def change(body):
        def changed(part):
            if isinstance(part, dict):
                named = {"then", "label"} & {*part}
                return {k: value if k in named else changed(v) for k, v in part.items()}
            return [changed(curator) for curator in part] if isinstance(part, list) else part

        made = changed(body["model"]) | {"schema": body["model"]["schema"]}
        return body | {"model": seal({name: part for name, part in made.items() if name != "digest"})}

    between.body = change
    with pytest.raises(ServiceError, match="did not send"):
        connected().fit(TREE)


def test_a_question_file_is_answered_like_a_network_request(tmp_path):
    asked = QuestionFile.new("wards", "fits", {"model": "tree", "epsilon": "1/4", "parameters": {"max_depth": 1}})
    with curator_of(
        f"sqlite:///{tmp_path}/l.db", FrameRows.of(*stays(), STAYS), schema=STAYS, signer=Signer.new()
    ) as curator:
        answer = curator.ask(Request(ANA, "wards", asked.kind, asked.key, asked.body))
    assert json.loads(answer.body)["model"]["format"] == Tree.format


BY = Schema.from_dict({"attributes": BINS})
SUMS = {"age": [1, 2, 3, 4], "smoker": [1, 2, 3]}


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_sums_of_levels_are_believed_of_an_honest_curator(between, delta):
    oracle = connected().oracle(2, epsilon="1/2", delta=delta)
    before = spent(between)
    levels = oracle.level_marginals(BY)
    errors = oracle.error_marginals(BY, hr.oracle.Always(True))
    assert levels.noise == errors.noise
    assert levels.noise.scale == pytest.approx(7 * oracle.noise_scale(BY.sizes), rel=1e-2)
    assert (levels.steps, errors.steps, oracle.label, oracle.classes) == (7, 7, STAYS.target, (False, True))
    assert spent(between) - before == Fraction(1, 2) == oracle.privacy.epsilon


LIES_OF_SUMS = {
    "a sum that is no whole number": {"above": SUMS | {"smoker": [1.5, 2, 3]}},
    "more than all steps of all rows": {"above": SUMS | {"smoker": [8 * 2**44, 2, 3]}},
    "less than none, beyond noise": {"below": SUMS | {"smoker": [-10_000, 2, 3]}},
    "one bin more": {"below": SUMS | {"smoker": [1, 2, 3, 4]}},
    "a sum for each level": {"below": {name: [[n] * 8 for n in part] for name, part in SUMS.items()}},
    "the noise of counts": {"variance": 128.0},
    "no noise": {"variance": 0},
    "more noise": {"variance": 1e9},
    "counts of rows": {"rows": SUMS, "below": None},
}


@pytest.mark.parametrize("lie", LIES_OF_SUMS)
def test_sums_that_cannot_be_are_not_believed(between, lie):
    between.body = lambda body: body | LIES_OF_SUMS[lie]
    with pytest.raises(ServiceError, match="did not send") as raised:
        connected().oracle(1, epsilon="1/4").level_marginals(BY)
    assert raised.value.charged is None


@pytest.mark.usefixtures("between")
def test_questions_of_classes_are_refused_at_no_charge():
    oracle = connected().oracle(1, epsilon="1/4")
    with pytest.raises(ServiceError, match="use level_marginals") as raised:
        oracle.class_marginals(BY)
    assert raised.value.charged is False
    assert oracle.queries_left == 1
