"""Logistic regression on bins, against a plain minimiser of the penalised loss."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

import hedgerow as hr
from hedgerow.learn.scorecard.exact import PRIOR, STRENGTHS, Regression, log_loss
from tests.learn.patients import PATIENTS, patients
from tests.learn.tables import SCHEMA, people


def of(data, label, schema):
    return Regression(schema, *hr.Tally.count(data, label, schema).bins_and_counts())


@pytest.mark.parametrize(
    ("data", "label", "schema", "used"),
    [(patients(300), "ill", PATIENTS, [0, 2]), (people(300), "risk", SCHEMA, [1, 2])],
)
@pytest.mark.parametrize("strength", [0.1, 5.0])
def test_it_minimises_the_loss_with_the_penalty_of_the_prior(data, label, schema, used, strength):
    regression = of(data, label, schema)
    result, k = regression.fit(used, strength), len(schema.classes)
    width = 1 if k == 2 else k
    sizes = [schema.attributes[i][1].n_bins for i in used]
    items = np.column_stack([np.eye(n)[regression.bins[:, i]] for i, n in zip(used, sizes, strict=True)])
    rows = regression.counts.sum(axis=1)
    X = np.vstack([items, rows @ items / rows.sum()])
    counts = np.vstack([regression.counts, np.full(k, 1 / k)])
    precisions = [PRIOR.of(schema.attributes[i][1]) for i in used]

    def loss(flat):
        flat = flat.reshape(-1, width)
        odds = flat[0] + X @ flat[1:]
        fit = -(counts * log_softmax(odds if width > 1 else np.column_stack([0 * odds, odds]), axis=1)).sum()
        parts = np.split(flat[1:], np.cumsum(sizes)[:-1])
        penalty = sum(np.trace(part.T @ precision @ part) for part, precision in zip(parts, precisions, strict=True))
        return strength * fit + penalty / 2

    best = minimize(loss, np.zeros((1 + sum(sizes)) * width), options={"gtol": 1e-6})
    mine = np.vstack([result.base[None], *result.values.values()]).ravel()
    assert loss(mine) <= best.fun + 1e-2 * strength
    odds = X @ np.vstack([result.values[i] for i in used]) + result.base
    flat = best.x.reshape(-1, width)
    theirs = flat[0] + X @ flat[1:]
    off = odds - theirs
    assert np.abs(off - off.mean(axis=1, keepdims=True) * (width > 1)).max() < 0.1


def test_log_loss_is_that_of_the_rows_one_by_one():
    odds, counts = np.array([[0.5], [-2.0]]), np.array([[3, 1], [0, 4]])
    expected = 3 * np.log1p(np.exp(0.5)) + np.log1p(np.exp(-0.5)) + 4 * np.log1p(np.exp(2.0))
    assert log_loss(odds, counts) == pytest.approx(expected)
    assert log_loss(np.column_stack([np.zeros(2), odds]), counts) == pytest.approx(expected)


def test_attributes_are_chosen_by_what_they_add_and_not_by_what_they_have():
    """The copy of an attribute tells as much as it does, and nothing that is new."""
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 4000)) < 0.5
    y = rng.random(4000) < 1 / (1 + np.exp(-3.0 * a - 1.0 * b + 2.0))
    noise = rng.random((2, 4000)) < 0.5
    data = pd.DataFrame({"noise": noise[0], "a": a, "copy": a, "b": b, "other": noise[1], "y": y})
    schema = hr.Schema({name: hr.Boolean() for name in data.columns[:-1]}, hr.Label("y", (False, True)))
    regression = of(data, "y", schema)
    assert regression.choose(1) == [1]
    assert regression.choose(2) == [1, 3]
    assert regression.choose(9) == [0, 1, 2, 3, 4]


def test_cross_validation_penalises_pure_noise_most_and_no_noise_least():
    data = patients(300)
    labels = [np.random.default_rng(seed).integers(0, 2, 300) for seed in range(7)]
    nothing = [of(data.assign(ill=each), "ill", PATIENTS).validate(range(3)) for each in labels]
    assert np.median(nothing) == min(STRENGTHS)
    assert of(data.assign(ill=data["smoker"]), "ill", PATIENTS).validate(range(3)) == max(STRENGTHS)
