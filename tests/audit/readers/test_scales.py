import numpy as np
import pandas as pd
from sklearn.preprocessing import KBinsDiscretizer

from hedgerow.audit.readers.encoders import made_by
from hedgerow.schema import Integer, Literal, Schema

SCHEMA = Schema({"age": Integer(0, 99, cuts=())})
FRAME = pd.DataFrame({"age": range(10)})


def test_bins_are_the_discretisers_intervals():
    bins = KBinsDiscretizer(3, strategy="uniform").fit(FRAME[["age"]])
    features = made_by(bins, SCHEMA)
    assert [x.operator for x in features if isinstance(x, Literal)] == ["<=", "between", ">"]
    ages = np.arange(10)
    inside = bins.transform(pd.DataFrame({"age": ages})).toarray()
    for column, literal in zip(inside.T, features, strict=True):
        low, high = {"<=": (-1, *literal.operands), ">": (*literal.operands, 99)}.get(
            literal.operator, literal.operands
        )
        assert column.tolist() == [float(low < age <= high) for age in ages]
