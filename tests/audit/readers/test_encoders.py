import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder

from hedgerow.audit.readers.columns import Columns
from hedgerow.audit.readers.encoders import transformer_features
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Schema

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
    assert transformer_features(steps, SCHEMA) == ("smoker", "age")


def test_a_transformer_determines_the_number_of_columns():
    encoder = OneHotEncoder().fit(FRAME[["hue", "smoker"]])
    assert len(Columns.of_bits(SCHEMA, encoder).features) == 4
    assert len(Columns.of(SCHEMA, encoder, None, 4).features) == 4


def test_categories_that_the_schema_does_not_declare_are_refused():
    encoder = OneHotEncoder().fit(pd.DataFrame({"hue": ["red", "violet"]}))
    with pytest.raises(DomainError, match="hue"):
        transformer_features(encoder, Schema({"hue": Categorical(("red", "blue"))}))


def test_infrequent_categories_have_one_column():
    schema = Schema({"hue": Categorical(("red", "green", "blue"))})
    encoder = OneHotEncoder(max_categories=2).fit(pd.DataFrame({"hue": ["red", "red", "green", "blue"]}))
    codes = [[code for _, code in column.numbers] for column in transformer_features(encoder, schema)]
    assert codes == [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]


def test_values_that_are_numbers_are_scaled_and_text_is_refused():
    (result,) = transformer_features(MinMaxScaler((2, 6)).fit(FRAME[["smoker"]]), Schema({"smoker": Boolean()}))
    assert [number for _, number in result.numbers] == [2.0, 6.0]
    with pytest.raises(SchemaError, match=r"hue.* text"):
        transformer_features(MinMaxScaler().fit([[0], [1]]), Schema({"hue": Categorical(("0", "red"))}))


def test_bins_are_the_discretisers_intervals():
    bins = KBinsDiscretizer(3, strategy="uniform").fit(FRAME[["age"]])
    features = transformer_features(bins, Schema({"age": Integer(0, 99, cuts=())}))
    assert [x.operator for x in features if isinstance(x, Literal)] == ["<=", "between", ">"]
    ages = np.arange(10)
    inside = bins.transform(pd.DataFrame({"age": ages})).toarray()
    for column, literal in zip(inside.T, features, strict=True):
        low, high = {"<=": (-1, *literal.operands), ">": (*literal.operands, 99)}.get(
            literal.operator, literal.operands
        )
        assert column.tolist() == [float(low < age <= high) for age in ages]
