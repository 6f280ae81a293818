"""docs/privacy.md: "An exception's text does not quote a cell".

Every kind of column, with a canary in every cell, goes through every entry under every kind of attribute. What comes
is an answer or an error of hedgerow's own, and the canary is in none of all that is said.
"""

import logging
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.marginals.hypothesis import Always
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema
from tests.adversarial.hostile import COLUMNS, HOLDERS, QUOTED, N

LABEL = Label("y", ("no", "yes"))
LABELS = np.array(["no", "yes", "no"])
ONES = np.ones((N, 1))
SIZE = {"low": 0, "high": 9}
CELLS = {"missing": "cell", "missing_values": ("?", -9), "outside": "cell"}
KINDS = {
    "boolean": Boolean(),
    "words": Categorical(("red", "blue")),
    "numbers": Categorical((1, 2)),
    "integer": Integer(**SIZE, cuts=(4,)),
    "real": Real(**SIZE, cuts=(4.5,)),
    "real, with cells": Real(**SIZE, cuts=(4.5,), **CELLS),
    "words, with cells": Categorical(("red", "blue"), **CELLS),
}
BINS = (Categorical(("red",), **CELLS), Real(**SIZE, cuts=(4.5,), **CELLS), Boolean(missing="cell"))


def model_of(schema):
    """Return a rule list that looks at the attribute."""
    literal = schema["a"].literals("a", negations=False)[0]
    rules = (hr.Rule((literal,), (2, 0)), hr.Rule((), (0, 1)))
    return hr.RuleList(schema, rules, hr.PrivacyCard.none("not private", software="test"))


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
        yield f"count, {kind}", lambda s=schema: hr.Tally.count(X, LABELS, s)
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
    yield "choose bins", lambda: hr.marginals.choose_bins(X, 3)


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
    while error is not None:
        yield from (str(error), repr(error), repr(error.args), repr(vars(error)), repr(getattr(error, "__notes__", "")))
        assert error.__cause__ is None
        error = error.__context__


def told(name, call):
    """Return all that a call tells, if it fails as hedgerow does; scikit-learn speaks of shapes, NaN and infinity."""
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
        assert isinstance(error, (ValueError, TypeError)), (type(error), place)
        home = sklearn if "from the data" in name and "sklearn" in place.filename else hr
        assert Path(place.filename).is_relative_to(Path(home.__file__).parent), place
        assert place.line.startswith("raise "), place
        said += said_by(error)
    return "\n".join(said)


def check(entries, capfd, caplog):
    with caplog.at_level(logging.DEBUG):
        found = {name: told(name, call) for name, call in entries}
    found |= dict(zip(("stdout", "stderr"), capfd.readouterr(), strict=True)) | {"logging": caplog.text}
    assert {name: text for name, text in found.items() if any(quoted in text for quoted in QUOTED)} == {}


@pytest.mark.parametrize("name", COLUMNS)
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
