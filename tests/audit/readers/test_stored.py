"""Estimators of scikit-learn that store rows, statistics or values: all that their pickles would hold."""

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit import stored_contents
from hedgerow.schema import Boolean, Categorical, Label, Schema

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(37, 3)))
Y = (X[:, 0] > 0.6).astype(int)


class Holder:
    """A class of nobody's, that keeps what it is given."""

    def __init__(self, **held: object) -> None:
        self.__dict__.update(held)


def kinds(model: object, schema: Schema | None = None) -> dict[str, set[str]]:
    result: dict[str, set[str]] = {}
    for content in stored_contents(model, schema):
        result.setdefault(content.kind, set()).add(content.place)
    return result


@pytest.mark.parametrize(
    ("model", "places"),
    [
        (KNeighborsClassifier(), {"_fit_X", "_y", "_tree"}),
        (SVC(), {"support_vectors_"}),
        (GaussianProcessClassifier(), {"base_estimator_.X_train_"}),
        (LocalOutlierFactor(), {"_fit_X"}),
        (DBSCAN(eps=1), {"components_"}),
        (Nystroem(n_components=20), {"components_"}),
        (make_pipeline(KNNImputer(), DecisionTreeClassifier(max_depth=2)), {"steps[0][1]._fit_X"}),
        (GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=2), {"best_estimator_._fit_X"}),
    ],
)
def test_rows_that_an_estimator_stores_are_found(model, places):
    assert places <= kinds(model.fit(X, Y)).get("rows", set())


def test_transformer_columns_and_booleans_are_not_reported_as_values():
    frame = pd.DataFrame({"smoker": [True, False] * 10, "sex": ["f", "m"] * 10, "town": ["a", "b"] * 10})
    encoded = make_column_transformer((OneHotEncoder(), ["smoker", "sex"]), (OneHotEncoder(), ["town"]))
    model = make_pipeline(encoded, DecisionTreeClassifier(max_depth=1)).fit(frame, [0, 1] * 10)
    schema = Schema({"smoker": Boolean(), "sex": Categorical(("f", "m"))}, Label("ill", (0, 1)))
    assert kinds(model, schema) == {"values": {"steps[0][1].transformers_[1][1].categories_[0]"}}  # the towns


def test_the_number_of_rows_is_exact():
    result = {content.place: content.amount for content in stored_contents(KNeighborsClassifier().fit(X, Y))}
    assert result["_fit_X"] == result["_tree"] == 37
    held = stored_contents(Holder(x_=pd.DataFrame(X), a=[{"b": X.copy()}], n_features_in_=3))
    assert [(content.kind, content.place, content.amount) for content in held] == [
        ("rows", "x_", 37),
        ("rows", "a[0][…]", 37),
    ]


def test_a_place_names_no_key_of_a_mapping():
    held = Holder(means_by_name={"Mrs Smith": [97.0, 41.0], "Mr Jones": 3})
    assert [str(content) for content in stored_contents(held)] == ["2 statistics of rows (means_by_name[…])"]


@pytest.mark.parametrize(
    ("model", "kind", "places"),
    [
        (MinMaxScaler(), "extremes", {"data_min_", "data_max_"}),
        (KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), "extremes", {"bin_edges_[0]"}),
        (StandardScaler(), "statistics", {"mean_", "var_"}),
        (SimpleImputer(), "statistics", {"statistics_"}),
    ],
)
def test_extremes_and_statistics_are_distinguished(model, kind, places):
    result = kinds(model.fit(X))
    assert places <= result[kind]
    assert "rows" not in result


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=3),
        RandomForestClassifier(3, random_state=0),
        LogisticRegression(),
        Holder(supports=(40, 60), rules_=[{"index_col": 1, "cutoff": 2.5}]),  # parts of rule lists
        Holder(names=[], seed=np.random.RandomState(0), text="x", flag=True),
    ],
)
def test_a_model_that_stores_no_rows_has_no_contents(model):
    assert stored_contents(model.fit(X, Y) if hasattr(model, "fit") else model) == ()


def test_categories_are_reported_unless_the_schema_lists_them():
    words = np.array([["a"], ["b"], ["c d"]] * 5, dtype=object)
    encoder = OneHotEncoder().fit(words)
    schema = Schema({"ward": Categorical(("a", "b"))}, Label("ill", (0, 1)))
    assert [(content.kind, content.amount) for content in stored_contents(encoder)] == [("values", 3)]
    assert [(content.kind, content.amount) for content in stored_contents(encoder, schema)] == [("values", 1)]
    whole = Schema({"ward": Categorical(("a", "b", "c d"))}, Label("ill", (0, 1)))
    assert stored_contents(encoder, whole) == ()


class Listed(list):
    """A list with attributes."""


def _with_rows(found):
    found.rows = X
    return found


@pytest.mark.parametrize(
    "held",
    [
        "97,yes\n41,no",
        [{"age": 97, "ill": "yes"}, {"age": 41, "ill": None}],
        X.tolist(),
        X.astype(object),
        _with_rows(Listed()),
        _with_rows(np.zeros(0).view(type("Own", (np.ndarray,), {}))),
        _with_rows(type("Own", (str,), {})("a")),
        functools.partial(np.add, X),
        X.sum,
    ],
)
def test_rows_in_attributes_of_any_kind_are_found(held):
    assert set(kinds(Holder(n_features_in_=3, held=held))) == {"rows"}


@pytest.mark.parametrize("held", [X.tobytes(), lambda rows=X: rows, _with_rows(lambda: 0)])
def test_bytes_and_functions_that_may_hold_rows_are_reported(held):
    assert set(kinds(Holder(held=held))) == {"unread"}


def test_keys_that_are_no_names_are_found():
    assert set(kinds(Holder(held={97.5: None, 41.2: None}))) == {"statistics"}
    assert set(kinds(Holder(held={(97.5, "yes"): None}))) == {"values"}


def test_parameters_and_results_of_a_search_are_no_rows():
    search = GridSearchCV(DecisionTreeClassifier(criterion="gini"), [{"max_depth": [1, 2]}], cv=2).fit(X, Y)
    assert set(kinds(search)) == {"statistics"}


def test_no_code_of_metaclasses_and_subclasses_is_run():
    def run(*_):
        raise AssertionError

    kind = type("Kind", (type,), {"__getattribute__": run, "__hash__": run, "__module__": property(run)})
    array = type("Array", (np.ndarray,), {"__getattribute__": run})
    text = type("Text", (str,), dict.fromkeys(("__str__", "translate", "__iter__", "__getitem__", "__eq__"), run))
    text.__hash__ = str.__hash__
    frame = type("Frame", (pd.DataFrame,), {"shape": property(run), "__module__": "pandas.core.frame"})
    fake = type("KDTree", (), {"data": property(run)})
    mapping = type("Mapping", (dict,), {"__len__": run, "__iter__": run})
    held = [kind("Own", (), {})(), X.view(array), [text("a"), text("b")], frame(X), fake(), mapping(a=X)]
    result = {content.place: content.kind for content in stored_contents(Holder(held=held, n_features_in_=3))}
    assert result == {
        "held[1]": "rows",
        "held[2]": "values",
        "held[5][…]": "rows",
        "objects whose content cannot be read": "unread",
    }


def test_objects_that_cannot_be_looked_into_are_reported():
    held = X

    def closure() -> object:
        return held

    assert [content.kind for content in stored_contents(Holder(f=closure))] == ["unread"]
    assert [content.kind for content in stored_contents(Holder(f=iter([1, 2])))] == ["unread"]


def test_no_code_of_the_object_is_run_and_cycles_end():
    class Hostile:
        def __getattribute__(self, name: str) -> object:
            raise AssertionError(f"ran code for {name}")

    content = Hostile()
    ring: list[object] = [content]
    ring.append(ring)
    deep: object = []
    for _ in range(100):
        deep = [deep]
    assert {content.kind for content in stored_contents(Holder(a=ring, b=deep))} == {"unread"}


def test_an_isolation_forest_holds_statistics_and_no_rows():
    result = kinds(IsolationForest(n_estimators=3, random_state=0).fit(X))
    assert "rows" not in result
