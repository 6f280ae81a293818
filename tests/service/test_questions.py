"""A question that passes its checks is answered: whatever it holds, it does not fail once it is charged."""

import json
import time
import warnings
from dataclasses import replace
from fractions import Fraction
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import BudgetExceededError, QuestionError, UselessModelWarning
from hedgerow.models.decisions import cost_matrix
from hedgerow.privacy.account import Account
from hedgerow.schema import Label
from hedgerow.service.forms import FORMS, read_form
from hedgerow.service.questions import read_question
from hedgerow.service.requests import Request
from hedgerow.service.rows import FrameRows
from tests.service.wards import ANA, SCHEMA, STAYS, curator_of, question, stays, table

SCALARS = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        2,
        3,
        -1,
        10**18,
        0.5,
        1e-300,
        1e300,
        "auto",
        "exact",
        "greedy",
        "brier",
        "mixed",
        "squared",
        "quantile",
        "absolute",
        "",
    ]
)
DIRECTIONS = st.dictionaries(st.sampled_from(["age", "smoker", "x"]), st.sampled_from(["increasing", "decreasing"]))
COSTS = st.sampled_from([0, 1, 5, 0.5, 1e308, 5e-324, 10**300])
WRONG = st.sampled_from(["5", -1, -0.0, 10**399, True, None, [], {}])
CLASSES = st.sampled_from(["yes", "no", "no", "yes", "maybe", "True", ""])
COSTLY = st.fixed_dictionaries(
    {"yes": st.fixed_dictionaries({"no": COSTS}), "no": st.fixed_dictionaries({"yes": COSTS})}
)
ODD = st.dictionaries(CLASSES, st.one_of(COSTS, WRONG, st.dictionaries(CLASSES, st.one_of(COSTS, WRONG), max_size=3)))
PRICES = st.one_of(ODD, COSTLY, st.dictionaries(st.sampled_from(["yes", "no"]), COSTS))
PARAMETERS = {
    "rule-list": ["max_rules", "max_literals", "negations", "search", "lookahead", "release_counts", "objective"],
    "tree": ["max_depth", "search", "lookahead", "release_counts", "stop_probability", "objective", "clip", "quantile"],
    "scorecard": ["max_attributes", "points", "monotone", "smooth"],
}
EPSILONS = st.sampled_from(["1", "1/1000", "1e-9", "30", "1/3", "0.000000000001"])
DELTAS = st.sampled_from(["0", "0", "0", "1e-6", "1e-20", "0.9"])
NUMBERS = st.sampled_from([0, 1, 17, 18, 40, 60, 90, -5, 2.5, 1e308, -1e308, 1e-320, 2**53, 2**64, 10**30])


@st.composite
def fits(draw):
    """Return a fit of any parameters."""
    model = draw(st.sampled_from(sorted(PARAMETERS)))
    names = draw(st.lists(st.sampled_from(PARAMETERS[model]), max_size=3, unique=True))
    parameters = {name: draw(st.one_of(SCALARS, DIRECTIONS)) for name in names}
    if draw(st.booleans()):
        parameters = parameters | {draw(st.sampled_from(["costs", "class_weight"])): draw(PRICES)}
    return {"model": model, "epsilon": draw(EPSILONS), "delta": draw(DELTAS), "parameters": parameters}


@st.composite
def bins(draw):
    """Return bins of any kind and size."""
    kind = draw(st.sampled_from(["integer", "real", "boolean", "categorical"]))
    result = {"kind": kind, "missing": "bin"}
    if kind in ("integer", "real"):
        low, high = sorted([draw(NUMBERS), draw(NUMBERS)])
        cuts = sorted(draw(st.lists(NUMBERS, max_size=3)))
        result |= {"low": low, "high": high, "outside": draw(st.sampled_from(["clip", "bin"])), "cuts": cuts}
    if kind == "categorical":
        values = draw(st.lists(st.sampled_from(["a", "b", "d", "", "1", "true", 1, 0]), min_size=1, unique_by=str))
        result |= {"values": values, "outside": "bin"}
    return result


def counts(**entries):
    """Return questions for counts by any bins, with further entries."""
    binned = st.dictionaries(st.sampled_from(["age", "smoker", "ward"]), bins(), min_size=1)
    return st.fixed_dictionaries({"epsilon": EPSILONS, "delta": DELTAS, "bins": binned, **entries})


HYPOTHESES = st.fixed_dictionaries({"always": st.sampled_from(["yes", "no", "True", "False", True, 1])})
QUESTIONS = {
    "marginals": counts(by=st.sampled_from(["rows", "classes", "levels"])),
    "error-marginals": counts(hypothesis=HYPOTHESES),
    "fits": fits(),
}
"""Questions of each kind, valid and not."""


def test_every_kind_of_question_is_generated():
    assert set(QUESTIONS) == set(FORMS), "Add a strategy of every kind to QUESTIONS in this file."


@pytest.fixture(scope="module", params=[SCHEMA, STAYS], ids=["classes", "number"])
def curator(request, tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('l')}/l.db"
    shares = {"ana": Account(Fraction(10**6), Fraction(9, 10))}
    rows = FrameRows.of(*(table() if request.param is SCHEMA else stays()), request.param)
    caps = {"cap": Account(Fraction(10**6), Fraction(9, 10)), "shares": shares}
    with curator_of(url, rows, schema=request.param, **caps) as opened:
        yield opened


KEYS = iter(range(10**9))


@settings(max_examples=3 * settings.default.max_examples)
@given(st.data())
def test_what_passes_its_checks_is_answered(curator, data):
    kind = data.draw(st.sampled_from([*QUESTIONS, "fits"]))  # fits have the most parameters
    body = json.dumps(data.draw(QUESTIONS[kind])).encode()
    try:
        cost = curator.cost(ANA, "wards", kind, body)
        before = curator.ledger.account("wards").spent
        curator.ask(Request(ANA, "wards", kind, str(next(KEYS)), body))
    except (QuestionError, BudgetExceededError):
        return
    assert curator.ledger.account("wards").spent - before == Fraction(cost["epsilon"])


def test_a_useless_model_is_an_answer_where_warnings_are_errors(curator):
    question = {"model": "tree", "epsilon": "1/1000", "parameters": {"max_depth": 1}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UselessModelWarning)
        for _ in range(20):  # constant in nearly all
            before = curator.ledger.account("wards").spent
            told = curator.ask(Request(ANA, "wards", "fits", str(next(KEYS)), json.dumps(question).encode()))
            assert json.loads(told.body)["model"]
            assert curator.ledger.account("wards").spent - before == Fraction(1, 1000)


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (False, True), (7, 12, 30)])
@pytest.mark.parametrize("name", ["class_weight", "costs"])
def test_classes_are_named_by_their_text(classes, name):
    texts = [str(value) for value in classes]
    costs = {text: {other: 1 if text != texts[-1] else 5 for other in texts if other != text} for text in texts}
    given = {"class_weight": {texts[-1]: 5}, "costs": costs}[name]
    schema = replace(SCHEMA, label=Label("ill", classes))
    form = read_form("fits", question(epsilon="1", model="tree", parameters={name: given}))
    learner = read_question(form, schema, None).learner
    expected = (1 - np.eye(len(classes))) * np.array([*[1] * (len(classes) - 1), 5])[:, None]
    result = {"class_weight": None, "costs": None, name: getattr(learner, name)}
    assert cost_matrix(classes, **result).tolist() == expected.tolist()


HUGE = "9" * 401
REFUSED_PRICES = {
    "NaN": '{"yes": NaN}',
    "infinite": '{"yes": Infinity}',
    "infinite when read": '{"yes": 1e999}',
    "negative": '{"yes": -1}',
    "too long": f'{{"yes": {HUGE}}}',
    "more than a double": f'{{"yes": {HUGE[:399]}}}',
    "text": '{"yes": "5"}',
    "a boolean": '{"yes": true}',
    "null": '{"yes": null}',
    "a list": '[["yes", 5]]',
    "balanced": '"balanced"',
    "unknown": '{"maybe": 5}',
    "twice": '{"yes": 5, "yes": 6}',
    "more than there are": json.dumps({"yes": 5, "no": 1, **{f"c{i}": 1 for i in range(40_000)}}),
    "one in another": '{"yes": {"no": {"yes": 1}}}',
}


@pytest.mark.parametrize("wrong", REFUSED_PRICES.values(), ids=REFUSED_PRICES)
@pytest.mark.parametrize("name", ["class_weight", "costs"])
def test_hostile_costs_are_refused_in_a_moment_and_before_a_charge(curator, name, wrong):
    if name == "costs":
        wrong = f'{{"no": {{"yes": 1}}, "yes": {wrong.replace("yes", "no")}}}'
    body = b'{"epsilon": "1", "model": "tree", "parameters": {"%s": %s}}' % (name.encode(), wrong.encode())
    before, began = curator.ledger.account("wards").spent, time.process_time()
    with pytest.raises(QuestionError) as raised:
        curator.ask(Request(ANA, "wards", "fits", str(next(KEYS)), body))
    assert time.process_time() - began < 1
    assert len(str(raised.value)) < 400
    assert curator.ledger.account("wards").spent == before


@pytest.mark.parametrize("search", ["exact", "greedy"])
def test_long_exact_searches_are_refused_before_a_charge(tmp_path, search):
    body = question(epsilon="1", model="tree", parameters={"search": search, "max_depth": 2})
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", longest_search=1e-3) as curator:
        if search == "exact":
            with pytest.raises(QuestionError, match=r"on one core.*at most 0\.001"):
                curator.ask(Request(ANA, "wards", "fits", "long", body))
            assert curator.ledger.account("wards").spent == 0
        else:
            assert curator.ask(Request(ANA, "wards", "fits", "short", body))


@pytest.mark.parametrize(
    ("limit", "problem"), [({"longest_search": 1e-3}, "on one core"), ({"min_epsilon": Fraction(2)}, "at least 2")]
)
def test_a_charged_question_is_answered_after_a_limit_was_changed(tmp_path, monkeypatch, limit, problem):
    url, body = f"sqlite:///{tmp_path}/ledger.db", question(epsilon="1", model="tree", parameters={"search": "exact"})
    request = Request(ANA, "wards", "fits", "key", body)
    with curator_of(url) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(curator, "_evaluate", Mock(side_effect=MemoryError("full")))
            with pytest.raises(MemoryError, match="full"):
                curator.ask(request)
        assert curator.ledger.account("wards").spent == 1
    with curator_of(url, **limit) as curator:
        with pytest.raises(QuestionError, match=problem):
            curator.cost(ANA, "wards", "fits", body)
        assert curator.ask(request).body
        assert curator.ledger.account("wards").spent == 1
