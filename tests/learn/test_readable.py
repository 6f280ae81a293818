"""How fitted estimators are read: every method is that of the released model."""

import numpy as np
import pytest
import sklearn
from matplotlib.axes import Axes
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import has_fit_parameter

import hedgerow as hr
from hedgerow.errors import ArgumentTypeError, MissingPackageError
from hedgerow.schema import Boolean, Label, Schema
from tests.learn.tables import SCHEMA, people

LEAVES = {
    "private list": hr.PrivateRuleListClassifier(1.0, schema=SCHEMA, search="greedy", random_state=0),
    "private tree": hr.PrivateTreeClassifier(1.0, schema=SCHEMA, max_depth=2, objective="mixed", random_state=0),
    "greedy list": hr.GreedyRuleListClassifier(schema=SCHEMA, max_rules=2),
    "optimal tree": hr.OptimalTreeClassifier(schema=SCHEMA, max_depth=1),
}
POINTS = {
    "private scorecard": hr.PrivateScorecardClassifier(1.0, schema=SCHEMA, random_state=0),
    "scorecard": hr.ScorecardClassifier(schema=SCHEMA, max_attributes=2, points=5),
}
ROWS = people(60)


SELDOM = {"private list", "optimal tree", "scorecard"}  # beside another with the same methods
NAMES = [pytest.param(name, marks=pytest.mark.slow if name in SELDOM else ()) for name in LEAVES | POINTS]


@pytest.fixture(params=NAMES, scope="module")
def fitted(request):
    data = people(60)
    return clone((LEAVES | POINTS)[request.param]).fit(data, data["risk"])


def model_of(clf):
    return next(getattr(clf, name) for name in ("rule_list_", "tree_", "scorecard_") if hasattr(clf, name))


def test_pictures_and_exports_are_those_of_the_model(fitted, tmp_path):
    model = model_of(fitted)
    assert fitted.to_sql() == model.to_sql()
    assert fitted.to_sql("postgres") == model.to_sql("postgres") != model.to_sql()
    assert fitted.to_html() == model.to_html()
    assert fitted.to_page() == model.to_page()
    fitted.save(tmp_path / "model.json")
    assert hr.models.load_model(tmp_path / "model.json").to_dict() == model.to_dict()
    axes = fitted.plot()
    assert isinstance(axes, Axes)
    assert fitted.plot(axes) is axes


def test_rules_and_leaves_are_those_of_the_model(fitted):
    model = model_of(fitted)
    if isinstance(model, hr.models.Scorecard):
        assert fitted.get_points() == model.get_points()
        assert not hasattr(fitted, "get_rules")
        assert not hasattr(fitted, "apply")
        return
    rules, leaves = fitted.get_rules(), fitted.apply(ROWS)
    assert rules == model.get_rules()
    assert leaves.tolist() == model.apply(ROWS).tolist()
    assert [rules[leaf]["prediction"] for leaf in leaves] == fitted.predict(ROWS).tolist()


def test_decisions_are_those_of_the_model(fitted):
    weights = {"low": 100}
    result = fitted.decide(ROWS, class_weight=weights)
    assert result.tolist() == model_of(fitted).decide(ROWS, class_weight=weights).tolist()
    assert result.dtype == fitted.classes_.dtype
    assert (result == "low").sum() > (fitted.predict(ROWS) == "low").sum()


@pytest.mark.parametrize("name", LEAVES | POINTS)
def test_nothing_is_read_before_a_fit(name):
    clf = clone((LEAVES | POINTS)[name])
    calls = {"plot": (), "to_sql": (), "to_html": (), "to_page": ()}
    calls |= {"get_rules": (), "apply": (ROWS,)} if name in LEAVES else {"get_points": ()}
    for method, arguments in calls.items():
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(clf, method)(*arguments)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clf.decide(ROWS, class_weight={"low": 2})


def test_without_matplotlib_a_plot_names_the_package(monkeypatch):
    clf = clone(LEAVES["greedy list"]).fit(ROWS, ROWS["risk"])
    monkeypatch.setattr("hedgerow.models.plot.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[plots\]'"):
        clf.plot()


def test_rows_of_a_domain_from_the_data_are_checked_as_for_predict():
    X = np.array([[0.0, 1.0], [1.0, 0.0]] * 10)
    clf = hr.GreedyRuleListClassifier(schema="from-data").fit(X, X[:, 0])
    assert clf.apply(X).tolist() == clf.rule_list_.apply(X).tolist()
    for read in (clf.apply, lambda rows: clf.decide(rows, class_weight={0.0: 2})):
        with pytest.raises(ValueError, match="3 features"):
            read(np.zeros((2, 3)))


def test_a_notebook_shows_the_model_above_scikit_learns_diagram(fitted):
    diagram, model = estimator_html_repr(clone(fitted)), fitted._model._repr_html_()
    page = fitted._repr_html_()
    assert page.startswith(model)
    assert len(page) > 0.9 * len(diagram) + len(model)
    shown = fitted._repr_mimebundle_()
    assert shown["text/plain"] == repr(fitted)
    assert shown["text/html"].startswith(model)
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert "text/html" not in fitted._repr_mimebundle_()


def test_a_picture_is_drawn_once_where_a_notebook_shows_it(monkeypatch):
    drawn = []
    monkeypatch.setattr("hedgerow.models.model.svg_of", lambda _, title: drawn.append(title) or "")
    clf = clone(LEAVES["greedy list"]).fit(ROWS, ROWS["risk"])
    assert "_repr_html_" in dir(clf)
    assert drawn == []
    clf._repr_mimebundle_()
    assert len(drawn) == 1


def test_before_a_fit_and_in_a_pipeline_the_diagram_is_scikit_learns():
    clf = clone(LEAVES["greedy list"])
    for shown in (clf._repr_html_(), clf._repr_mimebundle_()["text/html"]):
        assert "sk-" in shown
        assert "guarantee" not in shown
    pipeline = make_pipeline(FunctionTransformer(), clf).fit(ROWS, ROWS["risk"])
    assert "GreedyRuleListClassifier" in pipeline._repr_html_()
    assert "guarantee" not in pipeline._repr_html_()


def test_hostile_names_are_escaped_below_the_diagram():
    evil = "<script>alert(1)</script>"
    schema = Schema({evil: Boolean()}, Label("y", (evil + "no", "yes")))
    X = np.array([[False], [True]] * 10)
    clf = hr.GreedyRuleListClassifier(schema=schema).fit(X, np.where(X[:, 0], "yes", evil + "no"))
    assert "alert(1)" in clf._repr_html_()
    assert evil not in clf._repr_html_()


@pytest.mark.parametrize("name", LEAVES | POINTS)
def test_sample_weights_are_refused_before_any_charge(name):
    clf, budget = clone((LEAVES | POINTS)[name]), hr.Budget(1)
    if "budget" in clf.get_params():
        clf.set_params(budget=budget)
    instead = "set class_weight or costs" if "costs" in clf.get_params() else "pass class_weight to `decide`"
    with pytest.raises(ArgumentTypeError, match=f"largest weight .* must be public.*{instead}"):
        clf.fit(ROWS, ROWS["risk"], sample_weight=np.ones(60))
    with pytest.raises(ArgumentTypeError, match="got 'weights'"):
        clf.fit(ROWS, ROWS["risk"], weights=np.ones(60))
    assert budget.spent == 0
    assert not has_fit_parameter(clf, "sample_weight")
    assert (
        clone(clf)
        .set_params(**({"budget": None} if "budget" in clf.get_params() else {}))
        .fit(ROWS, ROWS["risk"], sample_weight=None)
    )


WEIGHTED = Schema({"x": Boolean()}, Label("y", ("ill", "well")))
BY_WEIGHT = {"schema": WEIGHTED, "class_weight": {"ill": 10}}
OF_SHARES = {
    "exact tree": hr.PrivateTreeClassifier(8, release_counts=True, random_state=0, **BY_WEIGHT),
    "greedy tree": hr.PrivateTreeClassifier(8, search="greedy", random_state=0, **BY_WEIGHT),
    "exact list": hr.PrivateRuleListClassifier(8, search="exact", release_counts=True, random_state=0, **BY_WEIGHT),
    "greedy list": hr.PrivateRuleListClassifier(8, search="greedy", random_state=0, **BY_WEIGHT),
    "optimal tree": hr.OptimalTreeClassifier(**BY_WEIGHT),
    "optimal list": hr.OptimalRuleListClassifier(**BY_WEIGHT),
}


@pytest.mark.parametrize("name", OF_SHARES)
def test_probabilities_are_shares_of_counts_if_classes_have_weights(name):
    x = np.arange(4000)[:, np.newaxis] % 5 == 0
    ill = np.where(x[:, 0], np.arange(4000) % 25 == 0, np.arange(4000) % 50 == 1)  # 20 % of x, 2.5 % of the others
    learner = clone(OF_SHARES[name]).fit(x, np.where(ill, "ill", "well"))
    assert learner.predict(x[:2]).tolist() == ["ill", "well"]
    shares = {record["prediction"]: record for record in learner.get_rules()}
    assert learner.predict_proba(x[:2])[:, 0] == pytest.approx([0.2, 0.025], abs=0.01)
    assert shares["ill"]["probability"] == pytest.approx(0.2, abs=0.01)
    assert learner.decide(x[:2], class_weight={"ill": 3}).tolist() == ["well", "well"]
    evaluation = hr.evaluate(learner, x, np.where(ill, "ill", "well"), epsilon=1000)
    (calibration,) = (each.value for each in evaluation.estimates if "observed minus predicted" in each.name)
    assert abs(calibration) < 0.01
