from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit.counting.bin_values import bin_weights
from hedgerow.audit.entropy.domain import Domain
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Real, Schema
from hedgerow.tables.frames import Table
from tests.models.strategies import attributes


@given(st.data())
def test_weights_of_whole_numbers_are_how_many_encode_to_each_bin(data):
    attribute = data.draw(attributes().filter(lambda a: getattr(a, "whole", False)))
    values = np.arange(attribute.low, attribute.high + 1)
    values = values.astype("datetime64[D]").astype("datetime64[s]") if isinstance(attribute, Date) else values
    frame = pd.DataFrame({"a": values})
    bins = attribute.encode(Table.of(frame).column("a", 0))
    known = len(attribute.known_bins)
    (weights,) = bin_weights(Schema({"a": attribute}))
    assert weights[:known] == tuple(np.bincount(bins, minlength=known)[:known])
    assert weights[known:] == (1,) * (len(attribute.bins) - known)


@given(attributes().filter(lambda a: not getattr(a, "whole", False)))
def test_other_bins_count_once(attribute):
    assert bin_weights(Schema({"a": attribute})) == ((1,) * len(attribute.bins),)


@given(st.lists(st.integers(-30, 30), min_size=3, max_size=5, unique=True), st.integers(1, 7))
def test_steps_of_a_resolution_equal_enumeration(tenths, step):
    low, *cuts, high = sorted(tenths)
    attribute = Real(low / 10, high / 10, cuts=tuple(cut / 10 for cut in cuts), missing="bin")
    values = [value for k in range(121) if (value := Fraction(low) + k * Fraction(step, 2)) <= high]
    bins = [sum(value > cut for cut in cuts) for value in values]
    expected = (*(bins.count(i) for i in range(len(cuts) + 1)), 1)
    assert bin_weights(Schema({"a": attribute}), resolution={"a": step / 20}) == (expected,)


def test_numbers_that_mean_missing_are_not_values():
    schema = Schema({"a": Integer(0, 99, cuts=(50,), missing="bin", missing_values=(99, "7", "08", "?"))})
    assert bin_weights(schema) == ((50, 48, 1),)


def test_domain_of_all_kinds():
    kinds = {"a": Boolean(missing="bin"), "b": Categorical(("u", "v"), outside="bin"), "c": Real(0, 1, cuts=(0.5,))}
    schema = Schema({**kinds, "d": Integer(0, 9, cuts=(), outside="clip")})
    assert Domain.of(schema).possible_rows == 3 * 3 * 2 * 10
    assert Domain.of(schema, resolution={"c": 0.01}).possible_rows == 3 * 3 * 101 * 10


def test_steps_of_numpy_are_numbers_too():
    schema = Schema({"r": Real(0, 1, cuts=())})
    assert bin_weights(schema, resolution={"r": np.float64(0.1)}) == ((11,),)


def test_bad_resolutions_are_refused():
    schema = Schema({"a": Boolean(), "r": Real(0, 1, cuts=())})
    with pytest.raises(SchemaError, match="attribute 'a'"):
        bin_weights(schema, resolution={"a": 1})
    with pytest.raises(SchemaError, match="attribute 'q'"):
        bin_weights(schema, resolution={"q": 1})
    with pytest.raises(SchemaError, match="got 0"):
        bin_weights(schema, resolution={"r": 0})
    with pytest.raises(SchemaError, match=r"2\.22e-16"):
        bin_weights(schema, resolution={"r": 1e-17})
    with pytest.raises(TypeError, match=r"resolution.* got list"):
        bin_weights(schema, resolution=[0.1])  # type: ignore[arg-type]
