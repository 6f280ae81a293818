"""Claim: one-hot columns "are recognised" (reconstruction.md), or refused: a column is what its name is read as.

``grade_0.0``, the first bin of a ``KBinsDiscretizer``, was once read as the category 0 of `grade`.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit import reconstruction, trees_of
from hedgerow.audit.readers.names import meaning, meanings
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Real, Schema
from tests.audit.readers.agreement import check, every_row

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "grade": RNG.integers(0, 4, 300),
        "hue": RNG.choice(["red", "blue", "green", "pink"], 300, p=[0.5, 0.3, 0.15, 0.05]),
        "smoker": RNG.integers(0, 2, 300),
        "age": RNG.integers(18, 90, 300),
        "bmi": RNG.normal(25, 4, 300).clip(12, 50).round(1),
    }
)
Y = ((FRAME["grade"] > 1) ^ FRAME["hue"].isin(["green", "pink"]) ^ (FRAME["age"] > 50) ^ (FRAME["bmi"] > 27)).astype(
    int
)
SCHEMA = Schema(
    {
        "grade": Categorical((0, 1, 2, 3)),
        "hue": Categorical(("red", "blue", "green", "pink")),
        "smoker": Boolean(),
        "age": Integer(0, 120, cuts=()),
        "bmi": Real(10, 60, cuts=()),
    }
)


@pytest.mark.claim("a column's name does not determine its meaning")
@pytest.mark.claim("It reads columns by their names")
def test_a_bins_number_is_no_value():
    bins = KBinsDiscretizer(2, strategy="uniform", encode="onehot-dense").set_output(transform="pandas")
    encoded = bins.fit_transform(FRAME[["grade"]])
    assert list(encoded) == ["grade_0.0", "grade_1.0"]
    tree = DecisionTreeClassifier(random_state=0).fit(encoded, Y)
    schema = Schema({"grade": SCHEMA["grade"]})
    for features in (None, list(encoded), [f"bins__{name}" for name in encoded]):
        with pytest.raises(SchemaError, match=r"grade .*KBinsDiscretizer\)"):
            reconstruction(tree, schema, features=features)


@pytest.mark.parametrize("name", ["grade_0.0", "grade_3.0", "grade=1.0", "age_2.0", "bmi_0.0"])
def test_no_name_of_a_bin_is_read(name):
    with pytest.raises(SchemaError, match=r"number of a bin|not declared"):
        meaning(name, SCHEMA)


def test_verbose_names_are_those_of_the_columns():
    encoder = ColumnTransformer([("hot", OneHotEncoder(sparse_output=False), ["hue"])]).set_output(transform="pandas")
    encoded = encoder.fit_transform(FRAME)
    assert "hot__hue_red" in set(encoded)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(encoded, Y)
    result = reconstruction(tree, SCHEMA, data=FRAME)
    assert result.supports == reconstruction(tree, SCHEMA).supports
    assert meaning("outer__hot__hue_red", SCHEMA) == Literal("hue", "=", ("red",))


@pytest.mark.parametrize("remainder", ["passthrough", StandardScaler()], ids=str)
def test_what_remains_can_have_been_scaled(remainder):
    # remainder__bmi was once read as bmi, whatever the remainder of the ColumnTransformer was.
    steps = ColumnTransformer([("hot", OneHotEncoder(sparse_output=False), ["hue"])], remainder=remainder)
    frame, schema = FRAME[["hue", "bmi"]], Schema({"hue": SCHEMA["hue"], "bmi": Real(-60, 60, cuts=())})
    encoded = steps.set_output(transform="pandas").fit_transform(frame)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(encoded, Y)
    with pytest.raises(SchemaError, match=r"bmi .*`features=`"):
        reconstruction(tree, schema)
    check(tree, lambda rows: tree.apply(steps.transform(rows)), frame, schema, features=steps)


def one_hot(values, **settings):
    encoder = OneHotEncoder(sparse_output=False, **settings).set_output(transform="pandas")
    return encoder.fit_transform(pd.DataFrame({"hue": pd.Series(values, dtype=object)}))


def test_a_column_called_as_an_attribute_and_as_a_value_is_refused():
    schema = Schema({"hue": Categorical(("red", "blue")), "hue_red": Boolean()})
    encoded = one_hot(["red", "blue", "blue"])[["hue_red"]]
    tree = DecisionTreeClassifier().fit(encoded, [1, 0, 0])
    with pytest.raises(SchemaError, match=r"hue_red or hue = red; .*`features=`"):
        reconstruction(tree, schema)
    with pytest.raises(SchemaError, match=r"hue_red or hue = red; .*`features=`"):
        reconstruction(make_pipeline(StandardScaler(), clone(tree)).fit(encoded, [1, 0, 0]), schema)
    for meant, condition in ((Literal("hue", "=", ("red",)), "hue = red"), ("hue_red", "hue_red")):
        assert reconstruction(tree, schema, features=[meant]).conditions[1] == condition
    with pytest.raises(SchemaError, match=r"scale__age or age; .*`features=`"):
        meanings(["scale__age"], Schema({"scale__age": Boolean(), "age": Integer(0, 9, cuts=())}))
    raw = pd.DataFrame({"hue": [0, 0, 1], "hue_1": [1, 0, 0]})
    plain = Schema({"hue": Categorical((0, 1)), "hue_1": Boolean()})
    tree = DecisionTreeClassifier().fit(raw, [1, 0, 0])
    assert reconstruction(tree, plain, data=raw).conditions[-1] == "hue_1"


def test_values_called_as_encoders_call_other_things_are_refused():
    hues = ["red"] * 9 + ["blue", "pink"]
    wide = Schema({"hue": Categorical(("red", "blue", "pink", "infrequent_sklearn"))})
    encoded = one_hot(hues, min_frequency=3)
    tree = DecisionTreeClassifier().fit(encoded[["hue_infrequent_sklearn"]], encoded["hue_red"])
    with pytest.raises(SchemaError, match="infrequent values of hue"):
        reconstruction(tree, wide)
    bins = KBinsDiscretizer(2, strategy="uniform", encode="onehot-dense").set_output(transform="pandas")
    binned = bins.fit_transform(FRAME[["grade"]])
    tree = DecisionTreeClassifier().fit(binned, Y)
    with pytest.raises(SchemaError, match=r"grade .*KBinsDiscretizer"):
        reconstruction(tree, Schema({"grade": Categorical(("0.0", "1.0", "2.0", "3.0"))}))


def test_columns_of_several_missing_values_are_refused():
    labels = [0, 1, 1, 0]
    tree = DecisionTreeClassifier().fit(one_hot(["red", np.nan, np.nan, "?"]), labels)
    asked = Schema({"hue": Categorical(("red", "blue"), missing="bin", missing_values=("?",))})
    with pytest.raises(SchemaError, match=r"hue_(\?|nan)': .*pass as `features=`"):
        reconstruction(tree, asked)
    with pytest.raises(SchemaError, match=r"'hue_nan': .*values of hue"):
        meaning("hue_nan", asked)
    both = one_hot(["red", np.nan, np.nan, None])
    assert {"hue_nan", "hue_None"} < set(both)
    tree = DecisionTreeClassifier().fit(both, labels)
    with pytest.raises(SchemaError, match="both mean hue is missing"):
        reconstruction(tree, Schema({"hue": Categorical(("red", "blue"), missing="bin")}))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("scale__age", "was computed from age by an unknown step"),
        ("remainder__age", "was computed from age by an unknown step"),
        ("scale__smoker", "was computed from smoker by an unknown step"),
        ("hot__hue_infrequent_sklearn", "means infrequent values of hue, which the name does not list"),
        ("hue_infrequent_sklearn", "means infrequent values of hue, which the name does not list"),
        ("hot__hue_white", "is a column of the model but not declared"),
        ("bins__age_1.0", "can be a value of age or the number of a bin (KBinsDiscretizer)"),
    ],
)
@pytest.mark.claim("a column's name does not determine its meaning")
@pytest.mark.claim("It reads columns by their names")
def test_what_a_name_does_not_tell_is_refused(name, why):
    with pytest.raises(SchemaError, match=f"{re.escape(why)}; pass as `features=`"):
        meaning(name, SCHEMA)


def test_a_verbose_name_of_two_meanings_is_refused():
    schema = Schema({"a__b": Categorical(("c", "x")), "b": Categorical(("c", "y"))})
    with pytest.raises(SchemaError, match="can mean a__b = c or b = c; pass as `features=`"):
        meaning("a__b_c", schema)
    assert meaning("a__b_x", schema) == Literal("a__b", "=", ("x",))


KBINS = {"quantile_method": "averaged_inverted_cdf"}
TRANSFORMERS = {
    "one-hot": OneHotEncoder(),
    "one-hot, infrequent": OneHotEncoder(min_frequency=0.2),
    "one-hot, most": OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist"),
    "one-hot, dropped": OneHotEncoder(drop="first", min_frequency=0.2),
    "ordinal": OrdinalEncoder(),
    "ordinal, infrequent": OrdinalEncoder(max_categories=2),
}
NUMBERS = {
    "standard": StandardScaler(),
    "min-max": MinMaxScaler((-3, 5)),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "bins": KBinsDiscretizer(4, encode="ordinal", strategy="kmeans"),
    "one-hot bins": KBinsDiscretizer(4, strategy="uniform"),
    "both": make_pipeline(StandardScaler(), "passthrough", MinMaxScaler()),
    "scaled bins": make_pipeline(KBinsDiscretizer(5, encode="ordinal", **KBINS), StandardScaler()),
}


def pipeline_of(words, numbers):
    steps = ColumnTransformer(
        [("a", words, ["grade", "hue"]), ("b", numbers, [3, 4])], remainder="passthrough", sparse_threshold=0
    )
    return make_pipeline(steps, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(FRAME, Y)


PIPELINES = list(zip([*TRANSFORMERS, "one-hot", "ordinal"], NUMBERS, strict=True))


@pytest.mark.parametrize(
    ("words", "numbers"),
    [pytest.param(*pair, marks=pytest.mark.slow if place % 2 else ()) for place, pair in enumerate(PIPELINES)],
)
def test_a_pipeline_is_read_as_it_sorts_rows(words, numbers):
    pipeline = pipeline_of(clone(TRANSFORMERS[words]), clone(NUMBERS[numbers]))
    leaves = pipeline[-1].apply(pipeline[:-1].transform(FRAME))
    check(pipeline, lambda _: leaves, FRAME, SCHEMA, bits=False)
    told = reconstruction(pipeline, SCHEMA)
    assert told.supports == reconstruction(pipeline, SCHEMA, data=FRAME).supports
    assert told.supports == reconstruction(pipeline[-1], SCHEMA, features=pipeline[:-1]).supports


@pytest.mark.parametrize("words", TRANSFORMERS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_worlds_are_the_rows_of_the_domain_that_a_pipeline_sends_there(words, numbers):
    schema = Schema(
        {"grade": SCHEMA["grade"], "hue": SCHEMA["hue"], "a": Integer(0, 9, cuts=()), "b": Integer(-4, 4, cuts=())}
    )
    rows = every_row(schema)
    table = pd.concat([rows.iloc[::7], rows.sample(200, weights=rows["grade"] + 1, random_state=0)])
    y = (table["hue"].isin(["red", "pink"]) ^ (table["a"] > 4) ^ (table["b"] < table["grade"])).astype(int)
    steps = ColumnTransformer(
        [("x", clone(TRANSFORMERS[words]), ["hue", "grade"]), ("y", clone(NUMBERS[numbers]), slice("a", "b"))]
    )
    pipeline = make_pipeline(steps, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(table, y)
    leaf = lambda frame: pipeline[-1].apply(steps.transform(frame))  # noqa: E731
    check(pipeline, leaf, table, schema, bits=False, domain=rows)


def test_a_discretiser_of_codes_has_the_worlds_of_its_bins():
    bins = KBinsDiscretizer(2, strategy="uniform", encode="onehot-dense").fit(FRAME[["grade"]])
    pipeline = make_pipeline(bins, DecisionTreeClassifier(random_state=0)).fit(FRAME[["grade"]], FRAME["grade"] > 1)
    result = reconstruction(pipeline, Schema({"grade": SCHEMA["grade"]}), data=FRAME)
    assert result.possible_rows == (2, 2)


def test_missing_values_go_where_the_pipeline_sends_them():
    schema = Schema({"hue": Categorical(("red", "blue"), missing="bin"), "age": Integer(0, 99, cuts=(), missing="bin")})
    hues = pd.Series(["red", "blue", None, "red"] * 20, dtype=object)
    table = pd.DataFrame({"hue": hues, "age": [3.0, 40.0, 60.0, np.nan] * 20})
    y = [0, 1, 0, 1] * 20
    for words in (OneHotEncoder(max_categories=2), OrdinalEncoder(), OrdinalEncoder(encoded_missing_value=-1)):
        steps = ColumnTransformer([("x", words, ["hue"]), ("y", StandardScaler(), ["age"])])
        for seed in range(4):
            pipeline = make_pipeline(steps, DecisionTreeClassifier(random_state=seed)).fit(table, y)
            leaf = lambda frame, p=pipeline: p[-1].apply(p[:-1].transform(frame))  # noqa: E731
            check(pipeline, leaf, table, schema, bits=False, domain=every_row(schema))


def test_a_value_that_the_encoder_has_not_seen_goes_where_the_encoder_says():
    wide = Schema({"hue": Categorical(("red", "blue", "green", "pink", "white", "black"))})
    y = FRAME["hue"].isin(["green", "pink"])
    for handle, worlds in (("error", {4, 2}), ("ignore", {4, 2}), ("infrequent_if_exist", {2, 4})):
        encoder = OneHotEncoder(min_frequency=0.2, handle_unknown=handle)
        pipeline = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(FRAME[["hue"]], y)
        result = reconstruction(pipeline, wide)
        rare = result.supports.index(int(y.sum()))
        assert set(result.possible_rows) == worlds
        assert result.possible_rows[rare] == (4 if handle == "infrequent_if_exist" else 2)
    pipeline = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(random_state=0)).fit(FRAME[["hue"]], y)
    with pytest.raises(SchemaError, match="attribute 'hue'"):
        reconstruction(pipeline, wide)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ((TargetEncoder(),), "TargetEncoder is not supported"),
        ((QuantileTransformer(n_quantiles=10),), "QuantileTransformer is not supported"),
        ((FunctionTransformer(np.negative),), "FunctionTransformer is not supported"),
        ((OneHotEncoder(),), "input of OneHotEncoder"),
        ((StandardScaler(), KBinsDiscretizer(3, **KBINS)), "is discretised after another step"),
        ((StandardScaler(), OneHotEncoder()), "input of OneHotEncoder"),
    ],
    ids=str,
)
def test_steps_that_cannot_be_read_are_refused(steps, problem):
    pipeline = make_pipeline(*steps, DecisionTreeClassifier(max_depth=2)).fit(FRAME[["age"]], Y)
    with pytest.raises((TypeError, SchemaError), match=problem):
        reconstruction(pipeline, SCHEMA)


def test_pipelines_and_features_say_one_thing():
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)).fit(FRAME[["age"]], Y)
    with pytest.raises(ValueError, match=r"`features=` .*Pipeline"):
        reconstruction(pipeline, SCHEMA, features=["age"])
    weighted = ColumnTransformer([("a", StandardScaler(), ["age"])], transformer_weights={"a": 2})
    with pytest.raises(TypeError, match="transformer_weights"):
        reconstruction(make_pipeline(weighted, DecisionTreeClassifier()).fit(FRAME, Y), SCHEMA)
    unnamed = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(FRAME[["age"]].to_numpy(), Y)
    with pytest.raises(ValueError, match="1 columns without names"):
        reconstruction(unnamed, SCHEMA)


def test_a_forest_behind_steps_is_read_tree_by_tree():
    steps = ColumnTransformer([("hot", OneHotEncoder(max_categories=3), ["hue"]), ("scale", StandardScaler(), ["age"])])
    forest = make_pipeline(steps, BaggingClassifier(max_features=2, n_estimators=4, random_state=0)).fit(FRAME, Y)
    drawn = forest[-1].estimators_samples_
    for (tree, features), rows in zip(trees_of(forest[-1], SCHEMA, forest[:-1]), drawn, strict=True):
        curator = reconstruction(tree, SCHEMA, features=features, data=FRAME.iloc[np.unique(rows)])
        assert reconstruction(tree, SCHEMA, features=features).supports == curator.supports


@pytest.mark.parametrize(
    ("attribute", "step", "problem"),
    [
        (
            Integer(18, 90, cuts=(), missing="bin", missing_values=(20,)),
            KBinsDiscretizer(3, **KBINS),
            "'age': is an input of KBinsDiscretizer",
        ),
        (
            Integer(18, 50, cuts=(), outside="bin"),
            KBinsDiscretizer(3, **KBINS),
            "'age': is an input of KBinsDiscretizer",
        ),
        (Integer(18, 50, cuts=(), outside="bin"), StandardScaler(), "'age': values outside the domain"),
        (
            Categorical(tuple(range(21, 91)), missing="bin", missing_values=(20,)),
            StandardScaler(),
            "'age': has numbers that mean missing",
        ),
        (Categorical((18, 19), outside="bin"), StandardScaler(), "the codes of values outside the domain are unknown"),
    ],
    ids=str,
)
def test_values_read_differently_by_schema_and_steps_are_refused(attribute, step, problem):
    pipeline = make_pipeline(step, DecisionTreeClassifier(max_depth=2)).fit(FRAME[["age"]], Y)
    with pytest.raises(SchemaError, match=problem):
        reconstruction(pipeline, Schema({"age": attribute}))
