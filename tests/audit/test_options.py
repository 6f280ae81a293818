"""Every option of every public audit changes its result, or is refused; options of what it audits do, too."""

import contextlib
import inspect
import io
import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.errors import HedgerowError
from tests.options import CHANGED, COARSE, is_regressor, of_class, schema_of

AUDITS = {name: one for name in hr.audit.__all__ if inspect.isfunction(one := getattr(hr.audit, name))}
SAME = {"n_jobs": "the number of processes or threads changes no result"}


@cache
def table(n=80):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.integers(0, 100, n), "smoker": rng.integers(0, 2, n), "dose": rng.integers(0, 4, n)}
    )
    return frame, pd.Series(((frame["age"] > 50) ^ (rng.random(n) < 0.2)).astype(int), name="risk")


@cache
def fitted(depth=2):
    return hr.OptimalTreeClassifier(max_depth=depth, schema=schema_of("")).fit(*table())


@cache
def sklearn_tree():
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(table()[0].to_numpy(), table()[1])


@cache
def scorecard():
    return hr.ScorecardClassifier(schema=schema_of(""), max_attributes=2).fit(*table())


@cache
def forest():
    return RandomForestClassifier(2, bootstrap=False, max_depth=1, random_state=0).fit(BITS, BITS[:, 0])


def alone(_fitted):
    return 0


def alike(_fitted, X, _y):
    return np.zeros(len(X))


def first(*tables, n=40):
    return tuple(item.iloc[:n] for item in tables)


BITS = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
BIT_SCHEMA = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()})
DRAWN = hr.PrivateTreeClassifier(1.0, max_depth=1, release_counts=False, schema=schema_of(""))
WIDE = hr.Schema({"age": hr.Integer(0, 200, cuts=(25, 50, 75)), "smoker": hr.Boolean(), "dose": hr.Integer(0, 3)})
BROAD = hr.Schema({name: hr.Integer(0, 100, cuts=(50,)) for name in ("age", "smoker", "dose")})
REAL = hr.Schema({"a": hr.Real(0, 1, cuts=(0.5,)), "b": hr.Boolean()}, hr.Label("y", (0, 1)))
KNOWN = hr.audit.ProbabilisticDataset({"a": range(10)}, [{"a": {7, 8, 9}}, {"a": {0, 1, 2, 3, 7}}])
PRIOR = {"smoker": {"false": 0.9, "true": 0.1}}


@cache
def real_tree():
    rows = pd.DataFrame({"a": [0.1, 0.9, 0.2, 0.8], "b": [0, 0, 1, 1]})
    return hr.OptimalTreeClassifier(max_depth=1, schema=REAL).fit(rows, [0, 1, 0, 1])


@cache
def real_card():
    rows = pd.DataFrame({"a": [0.1, 0.9, 0.2, 0.8] * 5, "b": [0, 0, 1, 1] * 5})
    return hr.ScorecardClassifier(schema=REAL).fit(rows, [0, 1, 0, 1] * 5)


TREE = DecisionTreeClassifier(random_state=0)
CASES = {  # for each audit: its arguments, and for each option another value, alone or with others that it goes with
    "align": (lambda: {"known": KNOWN, "data": pd.DataFrame({"a": [7, 9]})}, {}),
    "membership": (
        lambda: {
            "target": TREE,
            "X": table()[0],
            "y": table()[1],
            "repeats": 2,
            "random_state": 0,
            "attack": hr.audit.RandomForestAttack(5),
        },
        {"attack": hr.audit.LabelOnlyAttack(schema_of("")), "repeats": 4, "random_state": 1, "verbose": True},
    ),
    "lira": (
        lambda: {"target": TREE, "X": table()[0], "y": table()[1], "repeats": 5, "random_state": 0},
        {"attack": "offline", "repeats": 6, "random_state": 1, "verbose": True},
    ),
    "overfit": (
        lambda: {"model": fitted(), "train": first(*table()), "test": tuple(one.iloc[40:] for one in table())},
        {"as_released_code": True, "schema": hr.Schema(WIDE.attributes, unit=hr.Unit("person", 3))},
    ),
    "leaf_risk": (
        lambda: {"model": sklearn_tree(), "schema": schema_of("")},
        {
            "train": lambda: (table()[0].to_numpy()[:40], table()[1][:40]),
            "schema": None,
            "features": lambda: {"schema": BROAD, "features": ["dose", "smoker", "age"]},
            "threshold": 30,
            "unit": lambda: {"train": table(), "model": fitted(), "schema": None, "unit": "dose"},
        },
    ),
    "reconstruction": (
        lambda: {"model": sklearn_tree(), "schema": schema_of("")},
        {
            "schema": WIDE,
            "supports": (20, 20, 20, 20),
            "data": lambda: table()[0],
            "independent_bits": True,
            "resolution": lambda: {"model": real_tree(), "schema": None, "resolution": {"a": 0.01}},
            "prior": PRIOR,
            "features": lambda: {"schema": BROAD, "features": ["dose", "smoker", "age"]},
            "counts": lambda: {"model": scorecard(), "schema": None, "data": table()[0], "counts": "bins"},
        },
    ),
    "joint_reconstruction": (
        lambda: {"models": [fitted(1), fitted(2)], "data": table()[0]},
        {
            "schema": WIDE,
            "independent_bits": True,
            "resolution": {"age": 0.01},
            "prior": PRIOR,
        },
    ),
    "unlinked_reconstruction": (
        lambda: {"models": [fitted(1), fitted(2)]},
        {"schema": WIDE, "independent_bits": True, "resolution": {"age": 0.01}},
    ),
    "totals": (lambda: {"scorecard": real_card()}, {"resolution": {"a": 0.01}}),
    "stored_contents": (
        lambda: {"model": OneHotEncoder().fit([["red"], ["blue"]])},
        {"schema": hr.Schema({"hue": hr.Categorical(("red", "blue"))})},
    ),
    "trees_of": (lambda: {"forest": forest(), "schema": BIT_SCHEMA}, {"features": ["b", "a"]}),
    "worst_neighbours": (lambda: {"schema": schema_of("")}, {"rows": 5}),
    "exact_membership": (
        lambda: dict(zip(("estimator", "X", "y"), (DRAWN, *first(*table())), strict=True)),
        {"others": lambda: tuple(one.iloc[40:44] for one in table())},
    ),
    "exact_inference": (
        lambda: dict(
            zip(("estimator", "X", "y"), (DRAWN, *first(*table(), n=20)), strict=True),
            candidates=(table()[0].iloc[[40, 40]], [0, 1]),
        ),
        {"prior": (0.9, 0.1), "absent": 0.5, "n_models": 2},
    ),
    "empirical_epsilon": (
        lambda: {
            "fit": DRAWN,
            **{"table": first(*table(), n=3), "neighbour": first(*table(), n=2), "runs": 20, "random_state": 0},
        },
        {
            "runs": 24,
            "claim": 2.0,
            "delta": 0.1,
            "confidence": 0.5,
            "outcome": lambda: {"outcome": alone},
            "random_state": 1,
            "file": "outcomes.json",
            "verbose": True,
        },
    ),
    "one_run_epsilon": (
        lambda: {"fit": TREE, "X": table()[0], "y": table()[1], "random_state": 0},
        {
            "canaries": 40,
            "score": lambda: {"score": alike},
            "guesses": 10,
            "claim": 1.0,
            "delta": 0.01,
            "confidence": 0.5,
            "random_state": 1,
        },
    ),
}


def result(audit, given):
    """Return all that one can see of an audit: its result, its picture, and what it prints."""
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stderr(said):
        warnings.simplefilter("ignore")
        outcome = AUDITS[audit](**given)
    return str(outcome), content(outcome), said.getvalue() != ""


def content(value):
    """Return the fields of a result, of whatever types, as plain values that can be compared."""
    if isinstance(value, hr.Schema):
        return value.digest
    if is_dataclass(value):
        return {field.name: content(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if isinstance(value, Mapping):
        return {key: content(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [content(item) for item in value]
    return value.to_csv() if isinstance(value, (pd.DataFrame, pd.Series)) else repr(value)


@cache
def unchanged(audit):
    return result(audit, CASES[audit][0]())


def test_every_audit_and_every_option_is_listed():
    assert set(CASES) == set(AUDITS)
    for audit, (_, changed) in CASES.items():
        parameters = inspect.signature(AUDITS[audit]).parameters.values()
        optional = {parameter.name for parameter in parameters if parameter.default is not parameter.empty}
        assert optional - set(SAME) == set(changed), audit


@pytest.mark.parametrize(
    ("audit", "option"), [(audit, option) for audit, (_, changed) in CASES.items() for option in changed]
)
def test_each_option_changes_the_result_of_an_audit_or_is_refused(audit, option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given, changed = CASES[audit]
    value = changed[option]
    value = value() if callable(value) else value
    others = value if isinstance(value, dict) and option in value else {option: value}
    base = given() | {key: other for key, other in others.items() if key != option}
    outcome = result_or_refusal(audit, base | others)
    if isinstance(outcome, str):
        assert option in outcome
    else:
        assert outcome != (result(audit, base) if len(others) > 1 else unchanged(audit)) or list(tmp_path.iterdir())


def result_or_refusal(audit, given):
    problem = None
    try:
        return result(audit, given)
    except HedgerowError as error:
        problem = str(error)
    return problem


@pytest.mark.parametrize("audit", list(CASES))
def test_an_audit_gives_the_same_result_again(audit):
    assert result(audit, CASES[audit][0]()) == unchanged(audit)


ATTACKS = {  # for each attack with options: the audit that runs it, what it needs, and another value of each option
    "LabelOnlyAttack": (
        "membership",
        {"schema": schema_of("")},
        {"schema": schema_of("", COARSE), "max_distance": 1, "draws": 1},
    ),
    "OfflineRmia": ("lira", {}, {"a": 0.9}),
    "RandomForestAttack": ("membership", {}, {"trees": 1}),
}


def measured(name, options):
    """Return what an audit measures by an attack, without the attack's own description."""
    audit, needed, _ = ATTACKS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = DecisionTreeClassifier(max_depth=3, random_state=0)  # whose scores are more than labels
        given = CASES[audit][0]() | {"target": target, "attack": getattr(hr.audit, name)(**needed | options)}
        outcome = AUDITS[audit](**given)
    return content(outcome.aucs), content(outcome.curves)


def test_every_attack_and_every_option_of_it_is_listed():
    options = {
        name: {field.name for field in fields(item)}
        for name in hr.audit.__all__
        if is_dataclass(item := getattr(hr.audit, name)) and hasattr(item, "scores")
    }
    assert {name: outcome for name, outcome in options.items() if outcome} == {
        name: set(changed) for name, (*_, changed) in ATTACKS.items()
    }


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, (*_, more) in ATTACKS.items() for option in more]
)
def test_each_option_of_an_attack_changes_its_measurement(name, option):
    usual = measured(name, {})
    assert measured(name, {}) == usual
    assert measured(name, {option: ATTACKS[name][-1][option]}) != usual


DRAWS = [name for name in hr.__all__ if name.startswith(("PrivateTree", "PrivateRuleList"))]
UNUSED = {"budget", "random_state", "verbose"}  # as documented: nothing is fitted


@pytest.mark.parametrize(
    ("name", "option"),
    [
        (name, option)
        for name in DRAWS
        for option in inspect.signature(getattr(hr, name)).parameters
        if option not in UNUSED
    ],
)
def test_exact_membership_uses_each_option_of_the_estimator_or_refuses_it(name, option):
    X, y = first(*table(), n=30)
    y = y * 12 if is_regressor(name) else y
    size = {"max_depth": 2} if "max_depth" in inspect.signature(getattr(hr, name)).parameters else {"max_rules": 2}
    settings = {"epsilon": 1.0, "schema": schema_of(name), "search": "exact", **size}
    value = hr.Schema(
        {"age": hr.Integer(0, 100, cuts=(50,)), **dict(schema_of(name).attributes[1:])}, schema_of(name).label
    )
    value = value if option == "schema" else of_class(name, CHANGED[option])
    rows = {"X": X, "y": y}
    make = getattr(hr, name)
    outcome = result_or_refusal("exact_membership", rows | {"estimator": make(**settings | {option: value})})
    if isinstance(outcome, str):
        assert option in outcome or "block" in outcome
    else:
        assert outcome != result("exact_membership", rows | {"estimator": make(**settings)})
