import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from hedgerow.audit.readers.columns import Columns
from hedgerow.audit.readers.encoders import made_by
from hedgerow.schema import Boolean, Categorical, Integer, Schema

SCHEMA = Schema({"hue": Categorical(("red", "blue")), "smoker": Boolean(), "age": Integer(0, 99, cuts=())})
FRAME = pd.DataFrame({"hue": ["red", "blue"] * 5, "smoker": [0, 1] * 5, "age": range(10)})


@pytest.mark.parametrize(
    "chosen",
    [
        ["smoker", "age"],
        [1, 2],
        [-2, -1],
        slice(1, None),
        slice("smoker", "age"),
        [False, True, True],
        np.array([1, 2]),
    ],
    ids=str,
)
def test_columns_are_chosen_in_every_way(chosen):
    steps = ColumnTransformer([("same", "passthrough", chosen), ("none", "drop", "hue")]).fit(FRAME)
    assert made_by(steps, SCHEMA) == ("smoker", "age")


def test_a_transformer_says_how_many_columns_there_are():
    encoder = OneHotEncoder().fit(FRAME[["hue", "smoker"]])
    assert len(Columns.of_bits(SCHEMA, encoder).features) == 4
    assert len(Columns.of(SCHEMA, encoder, None, 4).features) == 4
