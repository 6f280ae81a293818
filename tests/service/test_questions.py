"""A question that passes its checks is answered: whatever it holds, it does not fail once it is charged."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import BudgetExceededError, QuestionError
from hedgerow.privacy.account import Account
from hedgerow.service.rows import FrameRows
from tests.service.wards import ANA, SCHEMA, STAYS, curator_of, stays, table

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
    return "fits", {"model": model, "epsilon": draw(EPSILONS), "delta": draw(DELTAS), "parameters": parameters}


@st.composite
def bins(draw):
    """Return bins of any kind and size."""
    kind = draw(st.sampled_from(["integer", "real", "boolean", "categorical"]))
    found = {"kind": kind, "missing": "bin"}
    if kind in ("integer", "real"):
        low, high = sorted([draw(NUMBERS), draw(NUMBERS)])
        cuts = sorted(draw(st.lists(NUMBERS, max_size=3)))
        found |= {"low": low, "high": high, "outside": draw(st.sampled_from(["clip", "bin"])), "cuts": cuts}
    if kind == "categorical":
        values = draw(st.lists(st.sampled_from(["a", "b", "d", "", "1", "true", 1, 0]), min_size=1, unique_by=str))
        found |= {"values": values, "outside": "bin"}
    return found


@st.composite
def marginals(draw):
    """Return a question for counts by any bins."""
    asked = draw(st.dictionaries(st.sampled_from(["age", "smoker", "ward"]), bins(), min_size=1))
    question = {"epsilon": draw(EPSILONS), "delta": draw(DELTAS), "bins": asked}
    if draw(st.booleans()):
        return "marginals", question | {"by": draw(st.sampled_from(["rows", "classes", "levels"]))}
    always = draw(st.sampled_from(["yes", "no", "True", "False", True, 1]))
    return "error-marginals", question | {"hypothesis": {"always": always}}


@pytest.fixture(scope="module", params=[SCHEMA, STAYS], ids=["classes", "number"])
def curator(request, tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('l')}/l.db"
    shares = {"ana": Account(Fraction(10**6), Fraction(9, 10))}
    rows = FrameRows.of(*(table() if request.param is SCHEMA else stays()), request.param)
    caps = {"cap": Account(Fraction(10**6), Fraction(9, 10)), "shares": shares}
    with curator_of(url, rows, schema=request.param, **caps) as opened:
        yield opened


KEYS = iter(range(10**9))


@settings(max_examples=60)
@given(st.one_of(fits(), marginals()))
def test_what_passes_its_checks_is_answered(curator, asked):
    kind, question = asked
    body = json.dumps(question).encode()
    try:
        cost = curator.cost(ANA, "wards", kind, body)
        before = curator.ledger.account("wards").spent
        curator.ask(ANA, "wards", kind, str(next(KEYS)), body)
    except (QuestionError, BudgetExceededError):
        return
    assert curator.ledger.account("wards").spent - before == Fraction(cost["epsilon"])
