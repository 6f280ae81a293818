"""What all estimators promise alike; what only one of them does is tested beside it."""

import pickle
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import hedgerow as hr
from hedgerow.errors import BudgetExceededError, DomainError, PreparationWarning, SchemaError
from hedgerow.privacy.amounts import exact
from hedgerow.schema.schema import FROM_ROWS
from tests.learn.tables import SCHEMA, conjunction, people

WAIVED = {"check_class_weight_classifiers": "weights are costs of errors; other objectives refuse them"}
"""scikit-learn checks that are waived, with the reason of each."""


def waived(estimator):
    """Return what is waived of estimators that take no costs."""
    return WAIVED if getattr(estimator, "objective", "errors") != "errors" else {}


EXACT = {"search": "exact", "max_literals": 1, "max_rules": 3}
PRIVATE = {
    "private list, greedy": hr.PrivateRuleListClassifier(1.0, search="greedy", max_rules=3, max_literals=2),
    "private list, exact": hr.PrivateRuleListClassifier(1.0, **EXACT),
    "private list, exact, in blocks, with counts": hr.PrivateRuleListClassifier(
        1.0, lookahead=2, release_counts=True, **EXACT | {"max_rules": 5}
    ),
    "private tree, exact": hr.PrivateTreeClassifier(1.0, max_depth=2),
    "private tree, exact, with counts": hr.PrivateTreeClassifier(1.0, max_depth=2, release_counts=True),
    "private list, by Brier's score": hr.PrivateRuleListClassifier(1.0, objective="brier", **EXACT),
    "private tree, by half of it, with counts": hr.PrivateTreeClassifier(
        1.0, objective="mixed", max_depth=2, release_counts=True
    ),
    "private tree, greedy": hr.PrivateTreeClassifier(1.0, max_depth=2, search="greedy"),
    "private scorecard": hr.PrivateScorecardClassifier(1.0),
    "private scorecard of few attributes": hr.PrivateScorecardClassifier(1.0, max_attributes=2, points=5),
    "private choice": hr.PrivateAutoClassifier(1.0, n_rows=10**6),
}
OPEN = {
    "greedy list": hr.GreedyRuleListClassifier(),
    "optimal list": hr.OptimalRuleListClassifier(max_rules=4),
    "optimal tree": hr.OptimalTreeClassifier(max_depth=2),
    "optimal tree, mixed": hr.OptimalTreeClassifier(max_depth=2, objective="mixed"),
    "scorecard": hr.ScorecardClassifier(max_attributes=3, points=10, C=1.0),
}
ALL = OPEN | PRIVATE
SELDOM = {  # beside another of the same class
    "optimal tree, mixed",
    "private list, exact",
    "private list, by Brier's score",
    "private tree, exact, with counts",
    "private scorecard of few attributes",
}


def of_each_class(names):
    return [pytest.param(name, marks=pytest.mark.slow if name in SELDOM else ()) for name in names]


@pytest.fixture(params=of_each_class(ALL))
def estimator(request):
    return clone(ALL[request.param])


@pytest.fixture(params=of_each_class(PRIVATE))
def private(request):
    return clone(PRIVATE[request.param])


def from_data(name, **parameters):
    return clone(PRIVATE[name]).set_params(schema="from-data", random_state=0, **parameters)


@parametrize_with_checks(  # one of each base class; what the checks ask for is there
    [
        hr.GreedyRuleListClassifier(),
        hr.OptimalTreeClassifier(objective="mixed"),
        hr.ScorecardClassifier(max_attributes=5, points=3, C=1.0),
        from_data("private list, exact, in blocks, with counts"),
        from_data("private scorecard", epsilon=100.0),
    ],
    expected_failed_checks=waived,
)
def test_estimators_keep_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        hr.GreedyRuleListClassifier(max_rules=8, max_literals=1, negations=False, min_support=0),
        hr.OptimalRuleListClassifier(),
        hr.OptimalRuleListClassifier(max_rules=3, negations=False, min_support=0, regularization=0.01, time_limit=60),
        hr.OptimalTreeClassifier(max_depth=2, min_support=0, regularization=0.01, time_limit=60),
        hr.ScorecardClassifier(),
        from_data("private list, greedy"),
        from_data("private list, exact"),
        from_data("private tree, exact"),
        from_data("private tree, exact, with counts"),
        from_data("private tree, greedy"),
        from_data("private scorecard", epsilon=100.0, delta=1e-6, max_attributes=5),
    ],
    expected_failed_checks=waived,
)
def test_with_other_parameters_they_keep_it_too(estimator, check):
    check(estimator)


def seeded(estimator, seed=3, **parameters):
    """Return the estimator with these parameters, and with a seed if it is random."""
    seed = {"random_state": seed} if "random_state" in estimator.get_params() else {}
    return clone(estimator).set_params(**parameters, **seed)


KINDS = {
    "max_rules": ("rule_list_", "rule list"),
    "max_depth": ("tree_", "tree"),
    "max_attributes": ("scorecard_", "scorecard"),
    "n_rows": ("model_", "tree"),  # of fewer rows than a scorecard needs
}
"""The parameter for a model's size: the attribute that holds the model, and its kind."""


def size_name(estimator):
    return next(name for name in KINDS if name in estimator.get_params())


def model_of(clf):
    return getattr(clf, KINDS[size_name(clf)][0])


def fitted(estimator, **parameters):
    data = people()
    return seeded(estimator, schema=SCHEMA, **parameters).fit(data, data["risk"])


def test_parameters_are_kept_as_they_are_given_and_fitting_writes_to_none(estimator):
    given_ = estimator.get_params()
    again = type(estimator)(**given_)
    assert all(value is again.get_params()[name] for name, value in given_.items())
    for name, value in given_.items():
        assert getattr(estimator, name) is value
    clf = seeded(estimator, schema=SCHEMA)
    before = dict(clf.get_params())
    clf.fit(people(), people()["risk"])
    assert clf.get_params() == before
    assert clone(clf).get_params() == before


PROOF = {"lower_bound_", "n_states_", "objective_", "optimal_", "stopped_by_"}


def reachable(thing, seen):
    """Yield all objects that a fitted estimator holds on to."""
    if id(thing) in seen or isinstance(thing, (str, bytes, int, float, type)) or thing is None:
        return
    seen[id(thing)] = thing
    yield thing
    if isinstance(thing, dict):
        parts = [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        parts = thing
    else:
        parts = vars(thing).values() if hasattr(thing, "__dict__") else ()
    for part in parts:
        yield from reachable(part, seen)


def test_a_fitted_estimator_holds_what_was_released_and_no_row(estimator):
    clf = fitted(estimator)
    held = set(vars(clf)) - set(clf.get_params())
    expected = {"classes_", "feature_names_in_", "n_features_in_", "privacy_", KINDS[size_name(clf)][0]}
    chosen = {"C_"} if "C" in clf.get_params() else set()
    assert held == expected | chosen | (PROOF if hasattr(clf, "optimal_") else set())
    clf.predict(people())
    assert set(vars(clf)) - set(clf.get_params()) == held
    for thing in reachable(clf, {}):
        assert not isinstance(thing, (hr.Tally, pd.DataFrame, pd.Series, pl.DataFrame, pa.Table))
        assert not isinstance(thing, np.ndarray) or thing.size < 100
        assert type(thing).__module__.partition(".")[0] in {"hedgerow", "builtins", "numpy", "fractions"}


@pytest.mark.claim("attributes of a fitted estimator contain released values only")
def test_a_fitted_estimator_pickles_without_rows_tally_or_budget(estimator):
    clf = fitted(estimator)
    raw = pickle.dumps(clf)
    assert b"Tally" not in raw
    again = pickle.loads(raw)
    assert model_of(again) == model_of(clf)
    assert again.privacy_ == clf.privacy_
    assert (again.predict(people()) == clf.predict(people())).all()
    assert again.get_params().keys() == clf.get_params().keys()


@pytest.mark.claim("attributes of a fitted estimator contain released values only")
def test_neither_text_nor_pickle_tells_how_many_rows_there_were():
    """Of models that release no counts: the number of rows is private. The bins that were seen are nowhere at all."""
    secret = 1237
    number = re.compile(r"(?<![0-9a-f.])1,?237(?![0-9a-f])")  # not within a digest, or another number
    assert [bool(number.search(text)) for text in ("1237 rows", "about 1,237", "[1237]", ".01237", "3e1237c")] == [
        *(True, True, True, False, False)
    ]
    for name in ("private list, exact", "private tree, exact"):
        data = people(secret).assign(note="secret_f00d")
        clf = clone(PRIVATE[name]).set_params(schema=SCHEMA, release_counts=False).fit(data, data["risk"])
        texts = [repr(clf), str(model_of(clf)), repr(model_of(clf)), str(clf.privacy_), model_of(clf).to_json()]
        assert not any(number.search(text) or "secret_f00d" in text for text in texts)
        assert b"secret_f00d" not in pickle.dumps(clf)


def test_every_kind_of_frame_gives_the_same_model(estimator):
    data, expected = people(), fitted(estimator)
    for made in (pl.from_pandas(data), pa.Table.from_pandas(data, preserve_index=False)):
        result = seeded(estimator, schema=SCHEMA).fit(made, data["risk"].to_numpy())
        assert model_of(result) == model_of(expected)
        assert (result.predict(made) == expected.predict(data)).all()


def test_fitting_a_tally_is_fitting_its_rows(estimator):
    tally = hr.Tally.count(people(), "risk", SCHEMA)
    clf = seeded(estimator).fit_tally(tally)
    assert model_of(clf) == model_of(fitted(estimator))
    assert clf.feature_names_in_.tolist() == list(SCHEMA.names)
    assert clf.predict(people()).shape == (400,)
    with pytest.raises(TypeError, match="tally must be a Tally, got DataFrame"):
        clf.fit_tally(people())


def test_extra_columns_of_a_frame_are_ignored_and_their_order_is_free(estimator):
    data, plain = people(), fitted(estimator)
    extra = data.assign(name="x", id=range(len(data)))[["id", "risk", "dose", "age", "name", "sex", "smoker"]]
    clf = seeded(estimator, schema=SCHEMA).fit(extra, extra["risk"])
    assert model_of(clf) == model_of(plain)
    assert (clf.predict(extra) == plain.predict(data)).all()


def test_features_and_classes_are_those_of_the_schema(estimator):
    clf = fitted(estimator)
    assert clf.feature_names_in_.tolist() == ["smoker", "sex", "age", "dose"]
    assert clf.n_features_in_ == 4
    assert clf.classes_.tolist() == ["high", "low", "mid"]
    assert clf.privacy_ is model_of(clf).privacy


def test_the_prediction_is_the_most_probable_class_of_the_model(estimator):
    clf, data = fitted(estimator), people()
    shares = clf.predict_proba(data)
    assert shares.shape == (400, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    chosen = np.searchsorted(clf.classes_, clf.predict(data))
    assert (shares[np.arange(400), chosen] == shares.max(axis=1)).all()
    assert clf.score(data, data["risk"]) > 0.6


@pytest.mark.parametrize(
    ("labels", "classes"), [(lambda y: y, [False, True]), (lambda y: y.astype(int), [0, 1]), (list, [0, 1])]
)
def test_without_a_schema_all_columns_and_the_labels_are_booleans(estimator, labels, classes):
    X, y = conjunction(500)
    clf = seeded(estimator, schema=None).fit(X, labels(y))
    assert clf.classes_.tolist() == classes
    assert clf.predict(X).dtype == clf.classes_.dtype
    assert clf.score(X, y) > 0.9
    with pytest.raises(DomainError, match=r"column 'x1': not boolean.*Schema\.load"):
        clf.fit(X * [1, 2, 1, 1], labels(y))


def test_a_domain_taken_from_the_data_voids_the_guarantee_wherever_it_goes(estimator, tmp_path):
    data = people()
    clf = seeded(estimator, schema="from-data").fit(data.drop(columns="risk"), data["risk"])
    assert not clf.privacy_.is_private
    taken = model_of(clf).schema
    assert taken.no_guarantee == (FROM_ROWS,)
    taken.save(tmp_path / "schema.yaml")
    again = hr.Schema.load(tmp_path / "schema.yaml")
    tally = hr.Tally.count(data, data["risk"], again)
    for fit in (
        clone(estimator).set_params(schema=again).fit(data, data["risk"]),
        *(clone(estimator).set_params(schema=schema).fit_tally(tally) for schema in (None, again, "from-data")),
        clone(estimator).set_params(schema="from-data").fit([[0.0], [1.0]], [0, 1]).fit_tally(tally),
    ):
        assert not fit.privacy_.is_private
        assert fit.feature_names_in_.tolist() == list(SCHEMA.names)
        assert fit.n_features_in_ == 4
        assert fit.predict(data.drop(columns="risk")).shape == (400,)


def test_a_declared_schema_overrides_the_schema_from_the_data(estimator):
    tally = hr.Tally.count(people(), "risk", SCHEMA)
    clf = clone(estimator).set_params(schema="from-data").fit_tally(tally)
    assert clf.privacy_.is_private == ("random_state" in clf.get_params())
    assert clf.predict(people()).shape == (400,)


def test_before_it_is_fitted_an_estimator_predicts_nothing(estimator):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        estimator.predict(people())
    with pytest.raises(NotFittedError, match="not fitted yet"):
        estimator.predict_proba(people())


COMMON = [
    ({"schema": "guess"}, r"schema must be a Schema \(Schema\.load reads a file\), None or 'from-data', got 'guess'"),
    ({"schema": 7}, "schema must be a Schema"),
]
LISTS = [
    ({"max_rules": 0}, "max_rules must be a whole number >= 1, got 0"),
    ({"max_rules": 2.5}, "max_rules must be a whole number"),
    ({"max_rules": True}, "max_rules must be a whole number"),
    ({"max_literals": 0}, "max_literals must be a whole number >= 1"),
    ({"negations": "yes"}, "negations must be True or False"),
]
TREES = [
    ({"max_depth": -1}, "max_depth must be a whole number >= 0, got -1"),
    ({"max_depth": 65}, "max_depth must be a whole number <= 64, got 65"),
    ({"max_depth": 10**9}, "max_depth must be a whole number <= 64"),
    ({"max_depth": False}, "max_depth must be a whole number"),
]
NOISE = [
    ({"epsilon": None}, "epsilon, the privacy budget"),
    ({"epsilon": 0}, "epsilon must be a number > 0"),
    ({"epsilon": -1.0}, "epsilon must be a finite number"),
    ({"epsilon": float("nan")}, "epsilon must be a finite number"),
    ({"epsilon": float("inf")}, "epsilon must be a finite number"),
    ({"epsilon": "one"}, "epsilon must be a number > 0"),
    ({"epsilon": True}, "epsilon must be a finite number"),
    ({"epsilon": 1e-14}, "epsilon for one (release|draw) must be >"),
    ({"search": "optimal"}, "search must be one of auto, exact, greedy, got 'optimal'"),
    ({"stop_probability": 0}, "stop_probability must be ('auto' or )?between 0 and 1, got 0"),
    ({"stop_probability": 1.0}, "stop_probability must be ('auto' or )?between 0 and 1"),
    ({"stop_probability": float("nan")}, "stop_probability must be ('auto' or )?between 0 and 1"),
    ({"stop_probability": True}, "stop_probability must be ('auto' or )?between 0 and 1"),
    ({"stop_probability": "half"}, "stop_probability must be ('auto' or )?between 0 and 1, got 'half'"),
    ({"stop_probability": None}, "stop_probability must be ('auto' or )?between 0 and 1"),
    ({"release_counts": "no"}, r"release_counts must be True(, False or 'auto'| or False), got 'no'"),
    ({"objective": "accuracy"}, "objective must be one of errors, brier, mixed, absolute, got 'accuracy'"),
    ({"objective": None}, "objective must be one of errors, brier, mixed, absolute, got None"),
    ({"budget": 1.0}, "budget must be a Budget or None"),
    (
        {"random_state": "seed"},
        "random_state must be None, a whole number, .*RandomState or .*Generator, got 'seed'",
    ),
]


BAD = [
    (name, parameters, message)
    for name, estimator in ALL.items()
    for parameters, message in COMMON + LISTS + TREES + NOISE
    if set(parameters) <= set(estimator.get_params())
    if not (parameters == {"max_depth": None} and getattr(estimator, "search", None) == "exact")  # drawn
]


TALLY = hr.Tally.count(people(), "risk", SCHEMA)


@pytest.mark.parametrize(("name", "parameters", "message"), BAD)
def test_bad_parameters_are_refused_in_words_before_any_row_is_counted(name, parameters, message, monkeypatch):
    estimator = clone(ALL[name])
    budget = hr.Budget(10)
    more = {"budget": budget} if name in PRIVATE else {}
    clf = estimator.set_params(**{"schema": SCHEMA, **more, **parameters})
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    monkeypatch.setattr(hr.Tally, "total", lambda *_: pytest.fail("a tally was asked"))
    for fit in (lambda: clf.fit(people(), people()["risk"]), lambda: clf.fit_tally(TALLY)):
        with pytest.raises(ValueError, match=message):
            fit()
    assert budget.spent == 0
    assert vars(clf) == clf.get_params()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y must be a column of labels, got None"),
        (np.zeros((400, 2)), "y must be a single column"),
        ([0, 1], "same number of labels"),
    ],
)
def test_labels_of_the_wrong_shape_are_refused_before_any_row_is_counted(estimator, y, message):
    budget = hr.Budget(1)
    clf = estimator.set_params(schema=SCHEMA)
    if "budget" in clf.get_params():
        clf.set_params(budget=budget)
    with pytest.raises(ValueError, match=message):
        clf.fit(people(), y)
    assert budget.spent == 0


def test_the_name_of_a_column_is_not_labels(estimator):
    with pytest.raises(TypeError, match=r"fit\(X, X\['risk'\]\)"):
        estimator.set_params(schema=SCHEMA).fit(people(), "risk")


@pytest.mark.parametrize("schema", [SCHEMA, "from-data"], ids=["declared", "from the data"])
def test_a_failed_fit_leaves_the_estimator_as_it_was(estimator, schema):
    data = people()
    clf = seeded(estimator, schema=schema).fit(data.drop(columns="risk"), data["risk"])
    before, model = dict(vars(clf)), model_of(clf).to_json()
    bad = data.assign(smoker=data["smoker"].astype(int) + 1)
    fails = {
        "one class": lambda: clf.fit(data[["smoker"]], ["low"] * 400),
        "labels": lambda: clf.fit(data[["sex", "age"]], data["risk"][:7]),
        "bin": lambda: clf.fit(bad, data["risk"].mask(data["smoker"])),
        "tally": lambda: clf.fit_tally(data),
    }
    for name, fail in fails.items():
        with pytest.raises((ValueError, TypeError), match=r"."):
            fail()
        assert vars(clf) == before, name
    assert model_of(clf).to_json() == model


def test_a_number_without_cut_points_is_refused_before_any_row_is_counted(estimator):
    schema = hr.Schema({"age": hr.Integer(0, 120, ()), "smoker": hr.Boolean()}, SCHEMA.label)
    with pytest.raises(SchemaError, match=r"attribute 'age': key 'cuts': .*Schema\.learn"):
        estimator.set_params(schema=schema).fit(people(), people()["risk"])


def test_no_rows_are_a_table_too(estimator):
    clf = estimator.set_params(schema=SCHEMA)
    empty = people().iloc[:0]
    clf.fit(empty, empty["risk"])
    assert set(clf.predict(people())) <= set(SCHEMA.classes)


def test_estimators_work_in_pipelines_cross_validation_and_grid_search(estimator):
    X, y = conjunction()
    clf = seeded(estimator, schema=None)
    if "epsilon" in clf.get_params():
        clf.set_params(epsilon=5.0)
    assert cross_val_score(make_pipeline(FunctionTransformer(), clf), X, y, cv=3).min() > 0.9
    grid = {"max_depth": {"max_depth": [0, 2]}, "n_rows": {"epsilon": [0.001, 3]}}
    grid = grid.get(size_name(clf), {size_name(clf): [1, 3]})
    search = GridSearchCV(clf, grid, cv=3).fit(X, y)
    assert next(iter(search.best_params_.values())) in (2, 3)


# What the private ones promise besides.


@given(
    st.sampled_from(list(PRIVATE)),
    st.one_of(st.floats(1e-3, 1e3), st.fractions(Fraction(1, 1000), 1000)),
    st.one_of(st.none(), st.integers(0, 2**31)),
    st.integers(0, 60),
    st.integers(0, 4),
)
def test_what_is_charged_is_exactly_what_was_given(name, epsilon, seed, n, size):
    X, y = conjunction(n)
    budget = hr.Budget(exact(epsilon, "epsilon") + 1)
    clf = clone(PRIVATE[name]).set_params(epsilon=epsilon, budget=budget, random_state=seed)
    clf.set_params(**{size_name(clf): size if size_name(clf) == "max_depth" else size + 1}).fit(X, y)
    assert budget.spent == clf.privacy_.epsilon == exact(epsilon, "epsilon")
    assert sum(charge.epsilon for charge in clf.privacy_.charges) == exact(epsilon, "epsilon")
    assert [charge.purpose for charge in budget.charges] == [f"{type(clf).__name__}: one {KINDS[size_name(clf)][1]}"]


def test_a_shared_budget_counts_every_fit_and_refuses_the_one_too_many(private):
    X, y = conjunction(100)
    budget = hr.Budget(1)
    clf = private.set_params(epsilon=Fraction(1, 4), budget=budget)
    with pytest.warns(PreparationWarning):  # of exact scores
        cross_val_score(clf, X, y, cv=3)  # clones the estimator three times, and not the budget
    assert budget.spent == Fraction(3, 4)
    clf.fit(X, y)
    before = dict(vars(clf))
    with pytest.raises(BudgetExceededError, match="epsilon=0 left"):
        clf.fit(X, y)
    assert vars(clf) == before
    assert budget.spent == 1


def test_a_fit_that_its_budget_refuses_touches_no_row(private, monkeypatch):
    X, y = conjunction(100)
    monkeypatch.setattr(hr.Tally, "count", lambda *_: pytest.fail("rows were counted"))
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        private.set_params(epsilon=2.0, budget=hr.Budget(1)).fit(X, y)


def test_all_of_epsilon_is_charged_before_any_row_is_counted(private, monkeypatch):
    X, y = conjunction(100)
    budget = hr.Budget(2)

    def count(*table, count=hr.Tally.count):
        assert budget.spent == 1
        return count(*table)

    monkeypatch.setattr(hr.Tally, "count", count)
    private.set_params(budget=budget).fit(X, y)


def test_each_fit_without_a_shared_budget_is_its_own(private):
    X, y = conjunction(100)
    assert private.fit(X, y).fit(X, y).privacy_.epsilon == 1


def test_unseeded_fits_are_private_and_seeded_ones_say_that_they_are_not(private):
    X, y = conjunction(100)
    assert private.fit(X, y).privacy_.is_private
    assert private.privacy_.noise.code in ("opendp", "several")
    first_clf, second_clf = (clone(private).set_params(random_state=7, epsilon=0.05).fit(X, y) for _ in range(2))
    assert model_of(first_clf) == model_of(second_clf)
    assert first_clf.privacy_.guarantee == "none (seeded noise)"
    others = {str(model_of(clone(private).set_params(random_state=s, epsilon=0.05).fit(X, y))) for s in range(8)}
    assert len(others) > 1
    both = clone(private).set_params(random_state=7, schema="from-data").fit(X.astype(float), y)
    assert both.privacy_.guarantee == "none (schema inferred from the rows; seeded noise)"


def test_unseeded_fits_do_not_repeat(private):
    X, y = conjunction(60)
    tally = hr.Tally.count(X, y)
    first, draws = str(model_of(clone(private).set_params(epsilon=0.01).fit_tally(tally))), range(39)
    again = (str(model_of(clone(private).set_params(epsilon=0.01).fit_tally(tally))) for _ in draws)
    assert any(model != first for model in again)  # forty equal draws, none of them likelier than a half: under 1e-11


def test_a_value_outside_the_domain_is_not_quoted_and_the_charge_stays(private):
    data, budget = people(), hr.Budget(1)
    data["smoker"] = data["smoker"].astype(int)
    data.loc[17, "smoker"] = 424242
    with pytest.raises(DomainError, match="column 'smoker'") as error:
        private.set_params(schema=SCHEMA, budget=budget).fit(data, data["risk"])
    chain = [error.value, error.value.__cause__, error.value.__context__]
    assert not any("424242" in repr(link) for link in chain)
    assert budget.spent == 1


def test_a_column_that_is_absent_is_named_before_anything_is_charged(private):
    data, budget = people(), hr.Budget(1)
    with pytest.raises(DomainError, match="column 'dose'"):
        private.set_params(schema=SCHEMA, budget=budget).fit(data.drop(columns="dose"), data["risk"])
    assert budget.spent == 0


def test_what_the_cut_points_cost_is_on_the_card_of_every_model_with_them(private):
    data = people()
    declared = hr.Schema({"age": hr.Integer(0, 120)}, SCHEMA.label)
    learned = hr.Schema.learn(data, declared, epsilon=Fraction(1, 2), bins=3)
    card = private.set_params(schema=learned).fit(data, data["risk"]).privacy_
    assert card.epsilon == Fraction(3, 2)
    assert card.charges[0].purpose == "all cut points of age"
    assert card.charges[0].epsilon == Fraction(1, 2)


@pytest.mark.parametrize(
    ("numbers", "note"),
    [
        ({"age": hr.Integer(0, 120, (30, 60))}, None),
        ({"age": hr.Integer(0, 120)}, "cut points of age: the default grid of the declared bounds"),
        (
            {name: hr.Integer(0, 2) for name in ("age", "a b", "c", "d", "e")},
            'cut points of age, "a b", c and 2 more: the default grid of the declared bounds',
        ),
    ],
    ids=["declared", "one", "many"],
)
@pytest.mark.claim("follow from the bounds (`default_cuts`), at no charge")
def test_the_card_names_numbers_whose_cut_points_nobody_chose(private, numbers, note):
    data = people()[["age"]].assign(**dict.fromkeys(numbers, 1)) if len(numbers) > 1 else people()
    schema = hr.Schema({**numbers, "smoker": hr.Boolean()}, SCHEMA.label)
    clf = private.set_params(schema=schema).fit(data.assign(smoker=people()["smoker"]), people()["risk"])
    assert [fact.words for fact in clf.privacy_.notes if fact.code == "default_grid"] == [note] * (note is not None)
    assert clf.privacy_.epsilon == 1


def test_a_ragged_list_of_labels_is_refused_without_its_length(estimator):
    X, y = conjunction(1235)
    with pytest.raises(TypeError, match="got list") as error:
        estimator.set_params(schema=None).fit(X, [[True], *y[1:].tolist()])
    assert "1235" not in repr((error.value, error.value.__context__))


def test_a_fit_with_huge_noise_warns_before_the_charge(private):
    X, y = conjunction()
    budget = hr.Budget("1e-9")
    with (
        pytest.warns(hr.errors.NoiseWarning, match=r"epsilon = 1e-08 is so small .* 1,000,000 rows") as told,
        pytest.raises(BudgetExceededError, match="left"),
    ):
        private.set_params(epsilon="1e-8", budget=budget, schema="from-data").fit(X, y)
    assert told[0].filename == __file__
    private.set_params(epsilon="1e-6", budget=None).fit(X, y)  # a large register has as many rows


@pytest.mark.parametrize(
    ("learner", "named"),
    [
        (hr.PrivateTreeClassifier(1000), "epsilon = 1000"),
        (hr.PrivateScorecardClassifier(1, delta=0.5), "delta = 0.5"),
        (hr.PrivateAutoClassifier(1000, n_rows=100), "epsilon = 1000"),
    ],
)
def test_a_weak_guarantee_is_warned_of_once_before_the_charge(learner, named):
    X, y = conjunction()
    with (
        pytest.warns(hr.errors.WeakGuaranteeWarning, match=named) as warned,
        pytest.raises(BudgetExceededError, match="left"),
    ):
        learner.set_params(budget=hr.Budget("0.1")).fit(X, y)
    assert [(str(warning.category.__name__), warning.filename) for warning in warned] == [
        ("WeakGuaranteeWarning", __file__)
    ]


def test_a_fit_to_a_tally_warns_as_a_fit_to_rows():
    X, y = conjunction()
    tally = hr.Tally.count(X, y)
    with pytest.warns(hr.errors.SeededNoiseWarning) as warned:
        hr.PrivateTreeClassifier(1, max_depth=1, random_state=0).fit_tally(tally)
    assert warned[0].filename == __file__
    with pytest.warns(hr.errors.WeakGuaranteeWarning):
        hr.PrivateTreeClassifier(1000, max_depth=1).fit_tally(tally)


def test_no_weak_guarantee_is_warned_of_without_a_guarantee():
    X, y = conjunction()
    with warnings.catch_warnings():
        warnings.simplefilter("error", hr.errors.WeakGuaranteeWarning)
        hr.PrivateTreeClassifier(1000, max_depth=1, random_state=0).fit(X, y)
        hr.PrivateTreeClassifier(1000, max_depth=1, schema="from-data").fit(X, y)
        hr.PrivateTreeClassifier(10, max_depth=1).fit(X, y)


@pytest.mark.parametrize("name", ["private list, greedy", "private list, exact", "private tree, exact"])
def test_no_rule_is_about_values_that_the_rows_do_not_have(name):
    data = pd.DataFrame({"sex": ["F", "M"] * 20, "hue": ["r", "g", "b", "r"] * 10})
    for seed in range(10):
        clf = clone(PRIVATE[name]).set_params(epsilon=0.01, schema="from-data", random_state=seed)
        model = clf.fit(data, [0, 1] * 20)._model
        assert "outside" not in str(model)
        assert len(model.predict(pd.DataFrame({"sex": ["other"], "hue": ["new"]}))) == 1  # later values have a leaf


def test_one_rule_is_no_plural():
    X = np.array([[0], [1]] * 10)
    clf = hr.PrivateRuleListClassifier(1, max_rules=1, search="greedy", random_state=0).fit(X, [0, 1] * 10)
    single = hr.models.RuleList(clf.rule_list_.schema, clf.rule_list_.rules[-1:], clf.privacy_)
    assert repr(single).startswith("<RuleList of 1 rule;")
    assert repr(single.schema).startswith("<Schema 1 attribute,")
    oracle = hr.Oracle(pd.DataFrame({"a": [True, False]}), [True, False], hr.Budget(1))
    oracle.marginals(hr.Schema({"a": hr.Boolean(missing="bin")}))
    assert oracle.privacy.charges[0].purpose.startswith("marginals by bin of 1 attribute,")


WHOLE = hr.Schema({"a": hr.Integer(0, 99, (50,)), "b": hr.Integer(0, 9, (5,))}, hr.Label("y", (0, 1)))


REAL = hr.Schema({"a": hr.Real(-9, 9, (0,)), "b": hr.Real(-9, 9, (0,))}, WHOLE.label)


@pytest.mark.parametrize(
    ("steps", "schema"),
    [
        ([KBinsDiscretizer(2, encode="onehot-dense", strategy="uniform")], None),
        ([StandardScaler().set_output(transform="pandas")], REAL),
        ([StandardScaler(), FunctionTransformer()], REAL),
        ([SimpleImputer()], WHOLE),
        ([make_pipeline(FunctionTransformer(), SimpleImputer())], WHOLE),
    ],
)
def test_a_step_that_learns_from_rows_before_a_private_one_is_warned_of(steps, schema):
    """Such a step saw the rows, and the card was clean without a word."""
    rows = pd.DataFrame({"a": range(20), "b": [0, 9] * 10}).astype(float)
    with pytest.warns(PreparationWarning, match="scaler, imputer or"):
        make_pipeline(*steps, hr.PrivateTreeClassifier(1, schema=schema, max_depth=1)).fit(rows, [0, 1] * 10)


@pytest.mark.parametrize("kind", ["float64", "float32", "int8", "object"])
@pytest.mark.parametrize("steps", [[], ["passthrough"], [FunctionTransformer()]])
@pytest.mark.parametrize("make", [pd.DataFrame, np.array])
def test_rows_as_a_schema_has_them_are_not_warned_of(make, steps, kind):
    """Arrays of whole floats, and of fractions for fractions, were."""
    rows = np.array([[0, 1], [3, np.nan if kind == "float64" else 4]]).astype(kind)
    missing = [(name, replace(attribute, missing="bin")) for name, attribute in (*WHOLE.attributes, *REAL.attributes)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PreparationWarning)
        for two in (missing[:2], missing[2:]):
            model = hr.PrivateTreeClassifier(1, schema=hr.Schema(tuple(two), WHOLE.label), max_depth=1)
            X = make(rows) if make is np.array else make(rows, columns=["a", "b"])
            make_pipeline(*steps, model).fit(X, [0, 1])
            model.fit(X, [0, 1])
