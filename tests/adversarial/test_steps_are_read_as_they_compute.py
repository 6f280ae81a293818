"""Claim: what a fitted step "makes of each value that the schema declares says what its columns are"
(reconstruction.md).

A pipeline that begins with "passthrough" once lost the order of its columns: worlds (70, 30) of a where they were of b.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit import joint_reconstruction, reconstruction, trees_of
from hedgerow.errors import SchemaError
from hedgerow.schema import Categorical, Integer, Real, Schema
from tests.audit.readers.agreement import check, every_row

SCHEMA = Schema({"a": Integer(0, 9, cuts=()), "b": Integer(0, 9, cuts=())})
FRAME = pd.DataFrame(np.random.default_rng(0).integers(0, 10, (200, 2)), columns=["b", "a"])
Y = (FRAME["b"] > 6).astype(int)
IDLE = make_pipeline("passthrough", None)


@pytest.mark.parametrize(
    "steps",
    [
        ("passthrough",),
        (None,),
        (IDLE,),
        ("passthrough", StandardScaler()),
        (IDLE, "passthrough", make_pipeline("passthrough", MinMaxScaler())),
        (FunctionTransformer(), MaxAbsScaler()),
        (),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_nested", [False, True])
def test_steps_that_do_nothing_leave_columns_in_their_order(steps, is_nested):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    pipeline = make_pipeline(*steps, make_pipeline(StandardScaler(), tree) if is_nested else tree).fit(FRAME, Y)

    def leaf(rows):
        inner = pipeline[-1][:-1] if is_nested else IDLE
        before = pipeline[:-1].transform(rows[["b", "a"]]) if steps else rows[["b", "a"]]
        return tree.apply(inner.transform(before))

    check(pipeline, leaf, FRAME, SCHEMA, bits=False, domain=every_row(SCHEMA))
    assert reconstruction(pipeline, SCHEMA).possible_rows == (70, 30)


def test_steps_that_do_nothing_say_nothing_of_columns():
    idle = IDLE.fit(FRAME)
    tree = DecisionTreeClassifier(max_depth=1).fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"transformer .*`features=`"):
        reconstruction(tree, SCHEMA, features=idle)


def test_a_forest_behind_steps_is_read_from_its_pipeline():
    pipeline = make_pipeline(MinMaxScaler((0, 9)), RandomForestClassifier(3, random_state=0)).fit(FRAME.to_numpy(), Y)
    schema = Schema({"b": SCHEMA["b"], "a": SCHEMA["a"]})
    with pytest.raises(TypeError, match=r"audit\.trees_of\(forest, schema, steps\)"):
        reconstruction(pipeline, schema)
    for (tree, features), drawn in zip(trees_of(pipeline, schema), pipeline[-1].estimators_samples_, strict=True):
        leaf = lambda rows, tree=tree: tree.apply(pipeline[0].transform(rows.to_numpy()))  # noqa: E731
        check(tree, leaf, FRAME.iloc[np.unique(drawn)], schema, features, bits=False, domain=every_row(schema))


@pytest.mark.parametrize("dtype", [None, np.float32, np.float64])
@pytest.mark.parametrize("encode", ["ordinal", "onehot", "onehot-dense"])
def test_bins_are_those_of_the_discretisers_own_type(dtype, encode):
    # The edge is 0.7; as float32, which is less, 0.7 lies below it.
    frame = pd.DataFrame({"v": np.arange(15) / 10})
    bins = KBinsDiscretizer(2, strategy="uniform", encode=encode, dtype=dtype)
    pipeline = make_pipeline(bins, DecisionTreeClassifier(max_depth=1, random_state=0)).fit(frame, frame["v"] > 0.65)
    result = reconstruction(pipeline, Schema({"v": Real(0, 2, cuts=())}), resolution={"v": 0.1}, data=frame)
    below = 8 if dtype is np.float32 else 7
    assert sorted(result.supports) == sorted([below, 15 - below])
    assert sorted(result.possible_rows) == sorted([below, 21 - below])


CODES = partial(OrdinalEncoder, categories=[list(range(20))])


@pytest.mark.parametrize(
    ("encoder", "attribute", "dtype"),
    [
        (CODES, Categorical(tuple(range(20))), np.float32),
        (CODES, Categorical(tuple(range(20))), np.float16),
        (partial(KBinsDiscretizer, 20, encode="ordinal", strategy="uniform"), Integer(0, 19, cuts=()), np.float32),
    ],
    ids=["ordinal", "ordinal, 16 bits", "bins"],
)
@pytest.mark.claim("evaluates the steps of a pipeline as the pipeline does")
def test_codes_of_fewer_digits_are_not_scaled_as_if_they_had_more(encoder, attribute, dtype):
    frame = pd.DataFrame({"a": np.arange(0, 20) // 2 * 2}).assign(a=lambda x: x["a"].where(x["a"] < 18, 19))
    schema = Schema({"a": attribute})
    tree = DecisionTreeClassifier(random_state=0)
    narrow = make_pipeline(encoder(dtype=dtype), StandardScaler(), tree).fit(frame, frame["a"] // 6 % 2)
    with pytest.raises(SchemaError, match=r"encoded .*dtype=np.float64"):
        reconstruction(narrow, schema)
    for steps in ([encoder(dtype=dtype)], [encoder(dtype=np.float64), StandardScaler()]):
        pipeline = make_pipeline(*steps, tree).fit(frame, frame["a"] // 6 % 2)
        leaf = lambda rows, p=pipeline: p[-1].apply(p[:-1].transform(rows))  # noqa: E731
        check(pipeline, leaf, frame, schema, bits=False, domain=every_row(schema))


@pytest.mark.parametrize(
    "attribute",
    [
        Integer(0, 50, cuts=(), missing="bin", missing_values=(-9, -99)),
        Real(0, 50, cuts=(), missing="bin", missing_values=("-9", "-99")),
    ],
    ids=str,
)
def test_numbers_that_mean_missing_are_not_scaled(attribute):
    # The tree parts -99 from -9 and all others; it was read as the one that parts missing values from others.
    frame = pd.DataFrame({"a": [-99] * 20 + [-9] * 20 + list(range(20))})
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1)).fit(frame, frame["a"] == -99)
    with pytest.raises(SchemaError, match=r"mean missing.*NaN"):
        reconstruction(pipeline, Schema({"a": attribute}))


@pytest.mark.parametrize("scaler", [MinMaxScaler(), MaxAbsScaler(), RobustScaler()], ids=str)
def test_scalers_that_were_fitted_on_float32_are_refused(scaler):
    pipeline = make_pipeline(scaler, DecisionTreeClassifier(max_depth=2)).fit(FRAME.astype(np.float32), Y)
    with pytest.raises(SchemaError, match=r"Scaler .*float64"):
        reconstruction(pipeline, SCHEMA)
    hues = pd.DataFrame({"hue": ["red", "blue", "pink"] * 9})  # 0 and 1 are told apart in any type
    encoder = OneHotEncoder(dtype=np.float32, sparse_output=False)
    pipeline = make_pipeline(encoder, scaler, DecisionTreeClassifier()).fit(hues, hues["hue"] == "red")
    schema = Schema({"hue": Categorical(("red", "blue", "pink"))})
    assert sorted(reconstruction(pipeline, schema, data=hues).possible_rows) == [1, 2]


@pytest.mark.parametrize("encode", ["ordinal", "onehot"])
@pytest.mark.parametrize(
    "attribute", [Integer(0, 9, cuts=(), missing="bin"), Categorical(tuple(range(10)), missing="bin")], ids=str
)
def test_bins_hold_no_missing_values(encode, attribute):
    bins = KBinsDiscretizer(3, strategy="uniform", encode=encode)
    pipeline = make_pipeline(bins, DecisionTreeClassifier(max_depth=2)).fit(FRAME, Y)
    with pytest.raises(SchemaError, match=r"KBinsDiscretizer, .*missing values"):
        reconstruction(pipeline, Schema({"a": SCHEMA["a"], "b": attribute}))


def test_rows_that_were_given_otherwise_have_their_own_cause():
    rows = FRAME.sample(frac=1, replace=True, random_state=0)
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(FRAME, Y)
    for arguments in ({"model": pipeline}, {"model": pipeline[-1], "features": pipeline[:-1]}):
        with pytest.raises(ValueError, match=r"steps .* other values.*float32"):
            reconstruction(schema=SCHEMA, data=rows, **arguments)
    with pytest.raises(ValueError, match=r"steps .* other values"):
        joint_reconstruction([pipeline], rows, SCHEMA)


@pytest.mark.parametrize("threshold", [0, 1], ids=["dense", "sparse"])
@pytest.mark.claim("evaluates the steps of a pipeline as the pipeline does")
def test_a_sparse_table_is_scaled_as_the_scaler_does(threshold):
    # The standard deviation is 49. 49m / 49 is m, half way between two float32; 49m · (1 / 49) is less.
    m = next(m for m in range(2**25 - 41, 2**25, 2) if 49 * m * (1 / 49) < m and float(np.float32(m)) > m)
    steps = ColumnTransformer(
        [("h", OneHotEncoder(), ["h"])],
        remainder="passthrough",
        sparse_threshold=threshold,
        verbose_feature_names_out=False,
    )
    frame = pd.DataFrame({"v": [49.0 * (m - 1), 49.0 * (m + 1)] * 6, "h": [*"aabbcc"] * 2})
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    pipeline = make_pipeline(steps, StandardScaler(with_mean=False), tree).fit(frame, frame["v"] > 49 * m)
    schema = Schema({"v": Integer(0, 2**31, cuts=()), "h": Categorical(("a", "b", "c"))})
    rows = pd.DataFrame({"v": 49.0 * m + np.arange(-3, 4), "h": "a"})
    right = int(pipeline.predict(rows).sum())
    assert right == (3 if threshold else 4)
    assert reconstruction(pipeline, schema, data=rows).supports == (7 - right, right)


def test_no_code_of_a_step_is_run():
    hues = FRAME.assign(hue=np.where(FRAME["a"] > 4, "red", "blue"))
    parts = [
        ("h", OneHotEncoder(), ["hue"]),
        ("n", StandardScaler(), ["a"]),
        ("b", KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), ["b"]),
    ]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    pipeline = make_pipeline(ColumnTransformer(parts), MaxAbsScaler(), tree).fit(hues, Y)
    schema = Schema({"a": SCHEMA["a"], "b": SCHEMA["b"], "hue": Categorical(("red", "blue"))})
    expected, ran = reconstruction(pipeline, schema).possible_rows, []
    for step in (*pipeline[:-1], *(part for _, part, _ in pipeline[0].transformers_)):
        for name in ("transform", "__call__", "get_feature_names_out", "inverse_transform"):
            setattr(step, name, lambda *_, **__: ran.append(1))
    assert reconstruction(pipeline, schema).possible_rows == expected
    assert not ran
