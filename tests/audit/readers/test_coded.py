import math

import numpy as np
import pytest
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from hedgerow.audit.readers.encoders import EncodedFeature, ScaledFeature
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Integer, Literal, Real, Schema

RED, BLUE, MISSING = Literal("hue", "=", ("red",)), Literal("hue", "=", ("blue",)), Literal("hue", "missing")


def changes(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(rng.normal(0, 10), 3, (50, 1))
    steps = [StandardScaler().fit(X), MinMaxScaler((-1, 2)).fit(rng.normal(0, 1, (9, 1)))]
    return tuple(lambda x, step=step: step.transform(x[:, None])[:, 0] for step in steps), rng


@pytest.mark.parametrize("seed", range(20))
def test_the_last_value_is_found_to_the_last_digit(seed):
    steps, rng = changes(seed)
    column, schema = ScaledFeature("a", steps), Schema({"a": Real(-100, 100, cuts=())})
    number = float(steps[1](steps[0](rng.normal(0, 20, 1)))[0])
    last = column.last_at_most(number, schema)

    def after(x):
        return float(steps[1](steps[0](np.array([x])))[0])

    assert after(last) <= number < after(math.nextafter(last, math.inf))
    whole = column.last_at_most(number, Schema({"a": Integer(-100, 100, cuts=())}))
    numbers = np.arange(-100, 101)
    assert whole == max(numbers[steps[1](steps[0](numbers.astype(float))) <= number], default=-101)


def test_numbers_that_part_nothing_are_outside_the_bounds():
    column = ScaledFeature("a", (lambda x: 2 * x,))
    for attribute, below in (
        (Integer(0, 9, cuts=()), -1),
        (Real(0, 9, cuts=()), -5e-324),
        (Real(1, 9, cuts=()), math.nextafter(1, 0)),
    ):
        schema = Schema({"a": attribute})
        assert column.last_at_most(-5, schema) == below
        assert column.last_at_most(99, schema) == 9
        assert column.last_at_most(math.inf, schema) == math.inf
    with pytest.raises(SchemaError, match="attribute 'a'"):
        column.last_at_most(1, Schema({"a": Boolean()}))


def test_bins_lie_where_their_numbers_do():
    column = EncodedFeature("hue", ((RED, 2.0), (BLUE, 0.0), (MISSING, math.nan)))
    assert column.at_most(1, holds=True, missing_holds=False) == ((BLUE, True),)
    assert column.at_most(1, holds=False, missing_holds=False) == ((BLUE, False),)
    assert column.at_most(1, holds=True, missing_holds=True) == ((RED, False),)
    assert column.at_most(1, holds=False, missing_holds=True) == ((RED, True),)
    with pytest.raises(SchemaError, match="missing"):
        column.at_most(1, holds=True)
    with pytest.raises(SchemaError, match="with 5"):
        column.at_most(5, holds=True, missing_holds=True)
