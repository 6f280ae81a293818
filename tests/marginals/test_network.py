"""The default network on tables of every kind: no warning reaches a user, and it learns."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hedgerow.marginals.expril import network


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.random(n), "w": rng.choice(["u", "v"], n), "b": rng.random(n) < 0.5})
    return frame, ((frame["x"] > 0.5) ^ (frame["w"] == "u")).to_numpy().astype(int)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_words_numbers_and_booleans_are_learned_from(kind):
    frame, y = table(400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned = network(kind(frame), 0).fit(kind(frame[:300]), y[:300])
        assert (learned.predict(kind(frame[300:])) == y[300:]).mean() > 0.85


def test_arrays_with_gaps_are_learned_from():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = (X[:, 0] > 0.5).astype(int)
    X[rng.random((300, 2)) < 0.05] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert network(X, 0).fit(X, y).score(X, y) > 0.85


@pytest.mark.parametrize("n", [10, 150, 3000])
def test_it_ends_without_a_warning_whatever_the_number_of_rows(n):
    frame, y = table(n)
    y[:2] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network(frame, 0, (4,)).fit(frame, y)
