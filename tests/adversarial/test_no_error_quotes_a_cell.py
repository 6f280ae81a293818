"""No exception of hedgerow contains a cell value.

Every kind of column, with a canary in every cell, passes through every entry point under every kind of attribute. The
result is an answer or a `HedgerowError`, and no text of it contains the canary.
"""

import logging
import traceback
import warnings
from pathlib import Path

import ibis
import numpy as np
import pytest
import sklearn
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema
from tests.adversarial.hostile import COLUMNS, HOLDERS, QUOTED, N

LABEL = Label("y", ("no", "yes"))
LABELS = np.array(["no", "yes", "no"])
ONES = np.ones((N, 1))
SIZE = {"low": 0, "high": 9}
CELLS = {"missing": "bin", "missing_values": ("?", -9), "outside": "bin"}
KINDS = {
    "boolean": Boolean(),
    "words": Categorical(("red", "blue")),
    "numbers": Categorical((1, 2)),
    "integer": Integer(**SIZE, cuts=(4,)),
    "real": Real(**SIZE, cuts=(4.5,)),
    "real, with cells": Real(**SIZE, cuts=(4.5,), **CELLS),
    "words, with cells": Categorical(("red", "blue"), **CELLS),
}
BINS = (Categorical(("red",), **CELLS), Real(**SIZE, cuts=(4.5,), **CELLS), Boolean(missing="bin"))


def model_of(schema):
    """Return a rule list that looks at the attribute."""
    literal = schema["a"].literals("a", negations=False)[0]
    rules = (hr.models.Rule((literal,), (2, 0)), hr.models.Rule((), (0, 1)))
    return hr.models.RuleList(schema, rules, hr.privacy.PrivacyCard.none("not private", software="test"))


def ask(X, y, attribute):
    oracle = hr.Oracle(X, y, hr.Budget(9), classes=LABEL.classes)
    bins = Schema({"a": attribute})
    return oracle.marginals(bins), oracle.error_marginals(bins, Always("yes"))


def learner(schema):
    return hr.PrivateRuleListClassifier(9, schema=schema, max_rules=2, max_literals=1)


def asked_about_rows(X):
    """Yield the entries that rows come in by."""
    for kind, attribute in KINDS.items():
        schema = Schema({"a": attribute}, LABEL)
        yield f"fit, {kind}", lambda s=schema: learner(s).fit(X, LABELS)
        yield f"predict, {kind}", lambda s=schema: model_of(s).predict_proba(X)
        yield f"audit, {kind}", lambda s=schema: hr.audit.reconstruction(model_of(s), data=X).by_group("a")
        yield f"align, {kind}", lambda s=schema: hr.audit.align(hr.audit.ProbabilisticDataset.of(model_of(s)), X)
        if isinstance(attribute, (Integer, Real)):
            open_ = Schema({"a": type(attribute)(**SIZE, missing=attribute.missing, outside=attribute.outside)})
            yield f"learn, {kind}", lambda s=open_: Schema.learn(X, s, epsilon=1, bins=2)
    for attribute in BINS:
        yield f"oracle, {attribute.kind}", lambda a=attribute: ask(X, LABELS, a)
    yield "fit without a schema", lambda: hr.PrivateTreeClassifier(9, max_depth=1).fit(X, [0, 1, 0])
    yield "fit with a schema from the data", lambda: hr.GreedyRuleListClassifier(max_rules=2).fit(X, LABELS)
    yield "predict with a schema from the data", lambda: FROM_DATA.predict(X)
    yield "align with listed values", lambda: hr.audit.align(hr.audit.ProbabilisticDataset({"a": (1, 2)}, [{}] * N), X)
    yield "overfitting", lambda: hr.audit.overfit(TREE, (X, LABELS), (X, LABELS))
    yield "from public", lambda: Schema.from_public(X)
    yield "choose bins", lambda: hr.oracle.choose_bins(X, 3)


TREE = DecisionTreeClassifier().fit(np.array([[0.0], [1.0], [2.0]]), LABELS)
FROM_DATA = hr.GreedyRuleListClassifier().fit(np.array([[0.0], [1.0], [2.0]]), LABELS)


def asked_about_labels(y):
    """Yield the entries that labels come in by."""
    X, schema = ONES, Schema({"a": Boolean()}, LABEL)
    yield "fit", lambda: learner(schema).fit(X, y)
    yield "count", lambda: hr.Tally.count(X, y, schema)
    yield "fit, no schema", lambda: learner(None).fit(X, y)
    yield "fit with a schema from the data", lambda: hr.GreedyRuleListClassifier(max_rules=2).fit(X, y)
    yield "oracle", lambda: ask(X, y, BINS[2])
    yield "audit by group", lambda: hr.audit.reconstruction(model_of(schema), data=X).by_group(y)
    yield "audit of overfitting", lambda: hr.audit.overfit(model_of(schema), (X, y), (X, y))


def said_by(error):
    """Yield all that an error holds, and all those behind it."""
    if error is not None:
        yield from (str(error), repr(error), repr(error.args), repr(vars(error)), repr(getattr(error, "__notes__", "")))
        yield from (*said_by(error.__cause__), *said_by(error.__context__))


def told(name, call, *, ours=True):
    """Return all that a call tells, if it fails as hedgerow does; scikit-learn speaks of shapes, NaN and infinity.

    What is not `ours` is a ValueError or TypeError of whoever; None is for any error.
    """
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        try:
            call()
            error = None
        except BaseException as found:
            error = found
    said = [str(warning.message) for warning in shown]
    if error is not None:
        place = traceback.extract_tb(error.__traceback__)[-1]
        assert isinstance(error, (ValueError, TypeError, MemoryError)) or ours is None, (type(error), place)
        said += said_by(error)
        home = sklearn if "from the data" in name and "sklearn" in place.filename else hr
        if ours:
            assert Path(place.filename).is_relative_to(Path(home.__file__).parent), place
            assert place.line.startswith("raise "), place
    return "\n".join(said)


def check(entries, capfd, caplog, *, ours=True):
    with caplog.at_level(logging.DEBUG):
        result = {name: told(name, call, ours=ours) for name, call in entries}
    result |= dict(zip(("stdout", "stderr"), capfd.readouterr(), strict=True)) | {"logging": caplog.text}
    assert {name: text for name, text in result.items() if any(quoted in text for quoted in QUOTED)} == {}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.claim("hedgerow's exceptions contain no cell values")
def test_no_kind_of_column_is_quoted(name, capfd, caplog):
    table, column = COLUMNS[name]
    check(asked_about_rows(table), capfd, caplog)
    check(asked_about_labels(column), capfd, caplog)
    check(asked_about_labels(table), capfd, caplog)


@pytest.mark.parametrize("name", HOLDERS)
def test_no_object_is_quoted_that_fails_when_it_is_read(name, capfd, caplog):
    check(asked_about_rows(HOLDERS[name]()), capfd, caplog)
    if name != "text":  # as labels, a column's name
        check(asked_about_labels(HOLDERS[name]()), capfd, caplog)


@pytest.mark.parametrize("labels", [Label("y", (0, 1)), Label("y", (False, True)), LABEL])
@pytest.mark.parametrize("kind", [Boolean(), Boolean(true_values=("yes", "true"), false_values=("no", "false"))])
@pytest.mark.claim("hedgerow's exceptions contain no cell values")
def test_nonzero_bytes_of_boolean_arrays_are_always_true(kind, labels):
    """NumPy lets a boolean hold any byte: once it was a place in a table of two, and an error quoted it."""
    plain = np.arange(240) % 3 > 0
    odd = np.where(plain, np.arange(240) % 255 + 1, 0).astype(np.uint8).view(bool)
    said = plain if labels is not LABEL else np.where(plain, "yes", "no")
    schema, result = Schema({"x0": kind}, labels), []
    for X, y in ((plain, said), (odd, said if labels is LABEL else odd)):
        budget = hr.Budget(5)
        learner = hr.PrivateTreeClassifier(5, schema=schema, max_depth=1, budget=budget, random_state=0)
        learner.fit(X[:, None], y)
        result.append((learner.tree_.to_json(), learner.predict(X[:, None]).tolist(), str(budget)))
    assert result[0] == result[1]


ESTIMATORS = {
    hr.PrivateRuleListClassifier: {"epsilon": 1, "mechanism": "smooth-laplace", "delta": 1e-9},
    hr.PrivateTreeClassifier: {"epsilon": 1, "search": "exact", "release_counts": True},
    hr.PrivateScorecardClassifier: {"epsilon": 1},
    hr.PrivateAutoClassifier: {"epsilon": 1},
    hr.GreedyRuleListClassifier: {},
    hr.OptimalRuleListClassifier: {},
    hr.OptimalTreeClassifier: {},
    hr.ScorecardClassifier: {},
}
LOGISTIC = hr.MarginalLogisticClassifier
SOURCE = np.arange(9.0)[:, None]


def given_in_the_wrong_place(X):
    """Yield calls with a table in the place of another argument."""
    schema, names = Schema({"a": Boolean()}, LABEL), np.array(["no", "yes"] * 20)
    for make, given in ESTIMATORS.items():
        for name in set(make().get_params()) - {"verbose"}:
            mine = {"schema": schema, **given, name: X}
            yield f"{make.__name__}, {name}", lambda make=make, mine=mine: make(**mine).fit(ONES, LABELS)
    yield "swapped", lambda: learner(schema).fit(LABELS, X)
    yield "not a tally", lambda: learner(schema).fit_tally(X)
    for name in ("budget", "max_queries", "classes", "release", "random_state"):
        mine = {"budget": hr.Budget(1), name: X}
        yield f"oracle, {name}", lambda mine=mine: hr.Oracle(ONES, [0, 1, 0], **mine)
    oracle = hr.Oracle(SOURCE, [0, 1, 0] * 3, None, max_queries=99)
    yield "oracle, bins", lambda: oracle.marginals(X)
    asking = (
        (hr.ExprilClassifier, ("estimator", "variant", "queries", "random_state")),
        (LOGISTIC, ("bins", "points", "smooth")),
    )
    for make, parameters in asking:
        yield f"{make.__name__}, oracle", lambda make=make: make().fit(SOURCE, oracle=X)
        for name in parameters:
            yield f"{make.__name__}, {name}", lambda make=make, name=name: make(**{name: X}).fit(SOURCE, oracle=oracle)
    for name in ("epsilon", "delta"):
        yield f"budget, {name}", lambda name=name: hr.Budget(**{"epsilon": 1, name: X})
    yield "charge", lambda: hr.Budget(1).charge(X, purpose="test")
    yield "allocate", lambda: hr.Budget(1).allocate(X, purpose="test")
    for name in ("epsilon", "budget", "bins"):
        mine = {"epsilon": 1, name: X}
        yield f"learn, {name}", lambda mine=mine: Schema.learn(ONES, Schema({"a": Real(0, 1)}), **mine)
    yield "count, labels", lambda: hr.Tally.count(ONES, X)
    yield "count, schema", lambda: hr.Tally.count(ONES, LABELS, X)
    table = ibis.duckdb.connect().sql("SELECT 1 AS a")
    yield "from_table", lambda: hr.Tally.from_table(X)
    yield "from_table, schema", lambda: hr.Tally.from_table(table, X)
    yield "from_table, label", lambda: hr.Tally.from_table(table, label=X)
    yield "oracle from_table, label", lambda: hr.Oracle.from_table(table, X, None)
    for name in ("model", "schema", "pass", "resolution", "prior", "features"):
        mine = {"model": TREE, "schema": schema, name: X}
        yield f"reconstruction, {name}", lambda mine=mine: hr.audit.reconstruction(**mine)
    yield "several models", lambda: hr.audit.joint_reconstruction(X, ONES)
    for name in ("target", "y", "attack", "repeats", "random_state"):
        mine = {"target": TREE, "X": np.arange(40.0)[:, None], "y": names, "repeats": 1, name: X}
        yield f"membership, {name}", lambda mine=mine: hr.audit.membership(**mine)
    yield "choose bins, most", lambda: hr.oracle.choose_bins(SOURCE, X)
    yield "choose bins, weights", lambda: hr.oracle.choose_bins(SOURCE, 3, X)


@pytest.mark.parametrize("name", ["pandas text", "polars text", "pyarrow text", "numpy text", "pyarrow whole numbers"])
def test_no_table_passed_as_another_argument_is_quoted(name, capfd, caplog):
    check(given_in_the_wrong_place(COLUMNS[name][0]), capfd, caplog, ours=False)
    check(given_in_the_wrong_place(COLUMNS[name][1]), capfd, caplog, ours=False)


@pytest.mark.parametrize("name", ["DuckDB relation", "lazy frame", "lists", "dictionary"])
def test_no_holder_passed_as_another_argument_is_quoted(name, capfd, caplog):
    check(given_in_the_wrong_place(HOLDERS[name]()), capfd, caplog, ours=False)


def test_without_the_guard_cells_are_quoted(monkeypatch):
    """What is searched for is found where it is: in Arrow's words, and in those of a user's object."""
    for module in ("columns", "frames"):
        monkeypatch.setattr(f"hedgerow.tables.{module}.guarded", lambda call, _: call())
    schema = Schema({"a": KINDS["real"]}, LABEL)
    for table in (COLUMNS["pyarrow date64 with a time of day"][0], HOLDERS["__array__ that fails"]()):
        text = told("count", lambda table=table: hr.Tally.count(table, LABELS, schema), ours=None)
        assert any(quoted in text for quoted in QUOTED)


@pytest.mark.parametrize("model", [DecisionTreeRegressor(max_depth=1), lambda X: np.asarray(X)[:, 0]])
def test_overfitting_of_numbers_quotes_none_of_them(model):
    """Numbers are no classes that an error may list as absent."""
    X, y = np.array([[0], [1]] * 5), np.arange(10) + 0.8765
    model = model.fit(X, y) if hasattr(model, "fit") else model
    with pytest.raises(hr.errors.ArgumentError, match="regressor") as caught:
        hr.audit.overfit(model, (X, y), (X, y + 100))
    assert "8765" not in "".join(traceback.format_exception(caught.value)).replace("0.8765", "")
