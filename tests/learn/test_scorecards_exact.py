"""Scorecards by logistic regression, without privacy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import hedgerow as hr
from hedgerow.tables.frames import Table
from tests.learn.patients import HARD, LABEL, PATIENTS, patients
from tests.learn.tables import SCHEMA, people


def fit(data, schema=PATIENTS, **parameters):
    return hr.ScorecardClassifier(schema=schema, **parameters).fit(data, data["ill"])


def test_probabilities_are_those_of_logistic_regression_by_bin():
    data, new = patients(20_000), patients(4000, seed=1)
    bins = PATIENTS.encode(Table.of(data)), PATIENTS.encode(Table.of(new))
    X, Z = (pd.get_dummies(pd.DataFrame(bin_).astype("category")).astype(float) for bin_ in bins)
    best = LogisticRegression(C=1e3).fit(X, data["ill"]).predict_proba(Z[X.columns])[:, 1]
    clf = fit(data)
    assert np.abs(clf.predict_proba(new)[:, 1] - best).mean() < 0.01
    assert clf.scorecard_.error is None
    assert not clf.privacy_.is_private


def test_it_is_ahead_of_private_ones_and_these_approach_it():
    data, new = patients(3000), patients(4000, seed=1)
    clf = fit(data)
    losses = [
        np.mean([log_loss(new["ill"], item.predict_proba(new)[:, 1]) for item in some])
        for some in (
            [clf],
            [hr.PrivateScorecardClassifier(50.0, schema=PATIENTS).fit(data, data["ill"]) for _ in range(3)],
            [hr.PrivateScorecardClassifier(0.1, schema=PATIENTS).fit(data, data["ill"]) for _ in range(5)],
        )
    ]
    assert losses[0] < losses[1] + 0.01 < losses[2]


@pytest.mark.parametrize("most", [1, 2, 3, 9])
def test_the_attributes_that_tell_most_are_used(most):
    clf = fit(patients(), max_attributes=most)
    names = ["age", "smoker", "dose"][:most]
    assert {part.attribute for part in clf.scorecard_.parts} <= set(names)
    assert len(clf.scorecard_) >= min(most, 2)


@pytest.mark.parametrize("points", [1, 3, 20, 1000])
def test_points_are_at_most_what_is_asked_and_rank_nearly_alike(points):
    data, new = patients(5000), patients(4000, seed=1)
    clf = fit(data, points=points)
    assert max(abs(item) for part in clf.scorecard_.parts for (item,) in part.points) <= points
    assert roc_auc_score(new["ill"], clf.predict_proba(new)[:, 1]) > (0.85 if points > 1 else 0.8)


@pytest.mark.parametrize("points", [2, 20, 1000])
@pytest.mark.parametrize("sign", [1, -1])
def test_points_that_may_only_rise_or_fall_do(points, sign):
    monotone = dict(zip(("age", "dose"), ("increasing", "decreasing")[::sign], strict=True))
    for seed in range(5):
        clf = fit(patients(300, seed), points=points, monotone=monotone, C=1.0)
        result = {part.attribute: np.array(part.points)[:, 0] for part in clf.scorecard_.parts}
        assert (np.diff(result.get("age", np.zeros(6))[:5]) * sign >= 0).all()
        assert (np.diff(result.get("dose", np.zeros(5))[:4]) * sign <= 0).all()


SMALLER = [pytest.param(one, marks=pytest.mark.slow) for one in ({"C": 0.001, "points": 1}, {"max_attributes": 1})]


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("parameters", [{}, {"C": 1000}, *SMALLER])
def test_tables_that_tell_little_or_all_make_scorecards_too(case, parameters):
    data = HARD[case](patients(500))
    clf = fit(data, **parameters)
    np.testing.assert_allclose(clf.predict_proba(patients(50)).sum(axis=1), 1)
    assert hr.models.Scorecard.from_json(clf.scorecard_.to_json()) == clf.scorecard_
    if case in ("one class", "the other class"):
        assert set(clf.predict(patients())) == set(data["ill"])


def test_a_class_of_three_that_is_absent_is_predicted_nowhere():
    data = people(2000)
    data = data[data["risk"] != "mid"]
    clf = hr.ScorecardClassifier(schema=SCHEMA).fit(data, data["risk"])
    assert set(clf.predict(data)) == {"high", "low"}
    assert clf.predict_proba(data)[:, 2].max() < 0.1


def test_rows_in_another_order_make_the_same_scorecard():
    data = patients(500)
    shuffled = data.sample(frac=1, random_state=np.random.RandomState(0))
    item, other = fit(data), fit(shuffled)
    assert item.scorecard_ == other.scorecard_
    assert item.C_ == other.C_


@pytest.mark.parametrize("strength", ["none", 0, 1e-9, 1001, 10**400, float("nan"), True, None, np.array([1.0, 2.0])])
def test_a_bad_strength_is_refused(strength):
    with pytest.raises(ValueError, match=r"^C .*0\.001 to 1000"):
        fit(patients(50), C=strength)
    assert fit(patients(50), C=np.float32(2)).C_ == 2


def test_too_many_bins_are_refused():
    many = {f"a{i}": hr.Integer(0, 1000, cuts=tuple(range(1000))) for i in range(4)}
    clf = hr.ScorecardClassifier(schema=hr.Schema(many, LABEL))
    with pytest.raises(ValueError, match=r"at most 4,000 points, .* got 4,004"):
        clf.check_public()
