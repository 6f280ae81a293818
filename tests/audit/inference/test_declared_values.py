"""Bounds and cut points that come from the rows, held against rows sorted by hand and against chance."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.audit.inference.declared_values import TakenValues, taken_values
from hedgerow.schema import Integer, Label, Number, Real, Schema


def wages(n=2000, seed=0):
    """Return wages of which one is far above all others."""
    rng = np.random.default_rng(seed)
    return np.append(rng.lognormal(7.7, 0.4, n - 1).astype(int) + 401, 31847)


def taken(attribute, values, threshold=10):
    schema = Schema({"wage": attribute}, Label("left", ("no", "yes")))
    labels = pd.Series(["no", "yes"] * (len(values) // 2) + ["no"] * (len(values) % 2), name="left")
    return taken_values(schema, pd.DataFrame({"wage": values}), labels, threshold)


def sorted_quantiles(values, parts):
    """Return the values between parts of equal size, by definition."""
    ordered = sorted(values)
    return tuple(int(ordered[len(ordered) * i // parts]) for i in range(1, parts))


def test_bounds_and_cut_points_of_the_rows_are_reported():
    values = wages()
    low = int(min(values))
    cuts = sorted_quantiles(values, 10)
    assert taken(Integer(low, 31847, cuts=cuts), values) == (TakenValues("wage", low, 31847, 10),)
    assert taken(Integer(0, 31847, cuts=(2000,)), values) == (TakenValues("wage", None, 31847),)
    assert taken(Integer(0, 40_000, cuts=cuts), values) == (TakenValues("wage", quantiles=10),)


def test_quartiles_that_were_rounded_are_still_quartiles():
    values = np.round(np.random.default_rng(1).normal(25, 4, 5_000), 3)
    cuts = tuple(float(cut) for cut in np.round(np.quantile(values, [0.25, 0.5, 0.75]), 2))
    assert taken(Real(0, 70, cuts=cuts), values) == (TakenValues("wage", quantiles=4),)
    assert taken(Real(0, 70, cuts=(22.0, 25.0, 28.0)), values) == ()


def test_public_numbers_that_equal_the_extremes_by_nature_are_not_reported():
    ages = np.random.default_rng(2).integers(0, 100, 3_000)
    assert taken(Integer(int(ages.min()), int(ages.max())), ages) == ()
    percent = np.linspace(0, 100, 1_001)
    assert taken(Real(0, 100, cuts=tuple(range(10, 100, 10))), percent) == ()
    days = np.arange(366)
    assert taken(Integer(0, 365), days) == ()
    capped = np.append(np.arange(1, 480), np.full(30, 487))  # 30 people have the largest value
    assert taken(Integer(0, 487), capped) == ()
    assert taken(Integer(0, 27), np.append(np.arange(20).repeat(30), 27)) == ()


def test_other_rows_and_default_grids_are_not_reported():
    values, others = wages(), wages(seed=1)[:-1]
    cuts = sorted_quantiles(values, 10)
    assert taken(Integer(300, 31847, cuts=cuts), others) == ()
    assert taken(Integer(0, 40_000), values) == ()


def test_the_bounds_of_a_predicted_number_are_compared():
    values = wages().astype(float)
    schema = Schema({"old": Integer(0, 9)}, Number("wage", 0, 31847))
    frame = pd.DataFrame({"old": np.arange(len(values)) % 10})
    (own,) = taken_values(schema, frame, pd.Series(values, name="wage"), 10)
    assert own == TakenValues("wage", None, 31847)


def test_public_cut_points_are_rarely_quantiles_by_chance():
    """Cut points drawn around the quantiles of the population are public; 1 in 1,000 tables may have a false alarm."""
    rng, alarms = np.random.default_rng(3), 0
    for _ in range(400):
        values = rng.lognormal(7.7, 0.4, 1_000).astype(int) + 401
        cuts = sorted({int(cut) for cut in np.exp(rng.normal(7.7, 0.4, 3)) + 401})
        alarms += bool(taken(Integer(0, 100_000, cuts=tuple(cuts)), values))
    assert alarms <= 1


@pytest.mark.parametrize("name", ["adult", "compas", "ctg", "german", "breast_cancer"])
def test_no_bundled_schema_is_reported(name):
    data = hr.datasets.load(name)
    assert taken_values(data.schema, data.frame, data.labels, 10) == ()
