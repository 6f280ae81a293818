"""Bins of a public source, and the columns that are left out."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import DomainError
from hedgerow.marginals.logistic import source_bins
from hedgerow.oracle.binning import choose_bins
from hedgerow.privacy.facts import Fact

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=90), "b": RNG.random(90) < 0.5})


def scale(asked):
    """Return a function that records for how many attributes the noise is asked for."""
    return lambda sizes: asked.append(len(sizes)) or 1.0


def test_without_constant_columns_all_learners_use_the_same_bins():
    asked = []
    bins, left_out = source_bins(4, FRAME, scale(asked))
    assert (bins, left_out, asked) == (choose_bins(FRAME, 4), (), [])


@pytest.mark.parametrize("value", [1.0, True, "x", None])
def test_a_constant_column_of_a_frame_gets_no_bins(value):
    asked = []
    bins, left_out = source_bins("auto", FRAME.assign(c=pd.Series([value] * 90)), scale(asked))
    assert bins.names == ("a", "b")
    assert (left_out, {*asked}) == ((Fact("columns_left_out", columns=("c",)),), {2})


def test_a_constant_column_of_an_array_keeps_its_place():
    X = np.column_stack([FRAME["a"], np.full(90, 7.0), FRAME["a"] ** 2, np.full(90, np.nan)])
    asked = []
    bins, left_out = source_bins(3, X, scale(asked))
    assert (left_out, asked) == ((Fact("columns_left_out", columns=("x1", "x3")),), [])
    source_bins("auto", X, scale(asked))
    assert {*asked} == {4}
    assert [attribute.n_known for _, attribute in bins.attributes] == [3, 1, 3, 1]
    assert bins["x2"] == choose_bins(X[:, [2]], 3)["x0"]
    assert all(attribute.missing == "bin" for _, attribute in bins.attributes)


def test_nothing_is_left_out_of_a_schema():
    given = choose_bins(FRAME, 2)
    assert source_bins(given, FRAME.assign(c=1), scale([])) == (given, ())


def test_a_source_without_any_difference_is_refused():
    with pytest.raises(DomainError, match="every column of the source is constant"):
        source_bins("auto", FRAME[:1], scale([]))
    with pytest.raises(ValueError, match="bins must be 'auto'"):
        source_bins(hr, FRAME, scale([]))
