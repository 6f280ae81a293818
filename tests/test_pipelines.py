"""Fitted transformers read as values compute what the transformers compute themselves, to the last bit."""

from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
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
    TargetEncoder,
)

from hedgerow.pipelines import CategoryEncoding, Imputation, SideBySide, Unread, flat_steps, read_steps, split_pipeline

KINDS = (StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler, SimpleImputer)
KINDS += (OneHotEncoder, OrdinalEncoder, KBinsDiscretizer)
RNG = np.random.default_rng(7)
NUMBERS = RNG.normal(size=(200, 3)) * [1, 100, 0.01] + [0, 7, 1]
WORDS = pd.DataFrame(
    {
        "hue": pd.Series(
            RNG.choice(["red", "green", "blue", "pink", None], 200, p=[0.4, 0.3, 0.1, 0.1, 0.1]), dtype=object
        ),
        "code": RNG.choice([3.0, 1.0, 2.0, np.nan], 200, p=[0.5, 0.2, 0.2, 0.1]),
        "both": pd.Series(RNG.choice(["a", "b", np.nan], 200), dtype=object).replace("nan", np.nan),
    }
)


def read_one(step, **options):
    (result,) = read_steps([step], KINDS, **options)
    return result


UNCENTRED = [
    StandardScaler(with_mean=False),
    RobustScaler(with_centering=False),
    MaxAbsScaler(),
    MaxAbsScaler(clip=True) if "clip" in MaxAbsScaler().get_params() else MaxAbsScaler(copy=False),
]
SCALERS = [
    StandardScaler(),
    StandardScaler(with_std=False),
    RobustScaler(),
    RobustScaler(with_scaling=False),
    MinMaxScaler((-3, 5)),
    MinMaxScaler((0, 2), clip=True),
    *UNCENTRED,
]


@pytest.mark.parametrize(
    ("scaler", "is_sparse"), [*((item, False) for item in SCALERS), *((item, True) for item in UNCENTRED)], ids=str
)
def test_scalers_compute_the_same_as_scikit_learn(scaler, is_sparse):
    scaler.fit(NUMBERS)
    new = np.vstack([NUMBERS, 2 * NUMBERS, np.full((1, 3), np.nan)])
    step = read_one(scaler, is_sparse=is_sparse)
    expected = scaler.transform(sparse.csr_array(new)).toarray() if is_sparse else scaler.transform(new.copy())
    for place in range(3):
        assert np.array_equal(step.column(place, new[:, place]), expected[:, place], equal_nan=True)
    assert not step.is_narrow
    assert read_one(type(scaler)().fit(NUMBERS.astype(np.float32))).is_narrow == (type(scaler) is not StandardScaler)


def keys(values):
    return ["missing" if value is None or value != value else value for value in values]


ENCODERS = [
    OneHotEncoder(),
    OneHotEncoder(drop="first"),
    OneHotEncoder(drop="if_binary"),
    OneHotEncoder(min_frequency=0.15),
    OneHotEncoder(min_frequency=0.25, drop="first"),
    OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist"),
    OneHotEncoder(max_categories=1, handle_unknown="infrequent_if_exist"),
    OneHotEncoder(max_categories=3, drop="first", handle_unknown="ignore"),
    OrdinalEncoder(),
    OrdinalEncoder(max_categories=2, encoded_missing_value=-5),
    OrdinalEncoder(min_frequency=0.25, dtype=np.float32),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
]


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
@pytest.mark.parametrize("chosen", [["hue", "code"], ["both"]], ids=str)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_encoders_have_the_codes_that_they_compute_themselves(encoder, chosen):
    table = WORDS[chosen]
    encoder.fit(table)
    step = read_one(encoder)
    assert (type(step), step.name) == (CategoryEncoding, type(encoder).__name__)
    columns = []
    for name, own in zip(chosen, step.columns, strict=True):
        codes = dict(zip(keys(own.categories), own.codes, strict=True))
        assert len(codes) == len(own.codes)
        columns.append(own.outputs([codes[key] for key in keys(table[name])]))
    expected = encoder.transform(table)
    expected = expected.toarray() if sparse.issparse(expected) else expected
    assert np.array_equal(np.hstack(columns), expected, equal_nan=True)
    assert [own.other is None for own in step.columns] == [encoder.handle_unknown == "error"] * len(chosen)


@pytest.mark.parametrize("encoder", [item for item in ENCODERS if item.handle_unknown != "error"], ids=str)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_a_value_in_no_category_has_the_code_that_the_encoder_gives_it(encoder):
    table = WORDS[["hue"]]
    (own,) = read_one(encoder.fit(table)).columns
    expected = encoder.transform(pd.DataFrame({"hue": ["violet"]}))
    expected = expected.toarray() if sparse.issparse(expected) else expected
    assert own.outputs([own.other]).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [None, np.float32, np.float64])
@pytest.mark.parametrize("strategy", ["uniform", "kmeans"])
def test_bins_are_numbered_as_the_discretiser_numbers_them(dtype, strategy):
    bins = KBinsDiscretizer([2, 5, 3], encode="ordinal", strategy=strategy, dtype=dtype, random_state=0).fit(NUMBERS)
    step = read_one(bins)
    new = np.vstack([NUMBERS, 3 * NUMBERS, *(np.resize(edges, (1, 3)) for edges in bins.bin_edges_)])
    expected = bins.transform(new)
    assert np.column_stack([step.column(place, new[:, place]) for place in range(3)]).tolist() == expected.tolist()
    assert step.is_single == (dtype is np.float32)


@pytest.mark.parametrize(
    "which", [["c", "a"], [2, 0], [-1, 0], slice("b", "c"), slice(1, None), [True, False, True], pd.Index(["c"])]
)
def test_columns_are_selected_in_every_way(which):
    table = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
    steps = ColumnTransformer([("x", StandardScaler(), which), ("gone", "drop", "b")]).fit(table)
    step = read_one(steps)
    assert type(step) is SideBySide
    ((places, inner),) = step.parts
    assert table.columns[list(places)].tolist() == steps.transformers_[0][1].feature_names_in_.tolist()
    assert len(inner) == 1
    if isinstance(which, list) and isinstance(which[0], str):
        with pytest.raises(ValueError, match="column 'c'"):
            read_steps([steps], KINDS, ())
        (again,) = read_steps([steps], KINDS, ("c", "b", "a"))
        assert again.parts[0][0] == (0, 2)


def test_later_steps_select_by_the_names_that_they_were_fitted_on():
    table = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
    first = make_column_transformer((StandardScaler(), ["c"]), ("passthrough", ["a"]), verbose_feature_names_out=False)
    second = make_column_transformer((MinMaxScaler(), ["a"]))
    steps = make_pipeline(first, second).set_output(transform="pandas").fit(table)
    _, result = read_steps([steps], KINDS, ("a", "b", "c"))
    assert [places for places, _ in result.parts] == [(1,)]


def test_other_steps_are_named_and_not_read():
    words = CountVectorizer()  # it is not fitted, and nobody looks
    assert read_steps([words], KINDS) == (Unread("CountVectorizer"),)
    assert read_steps([StandardScaler().fit(NUMBERS)], [MinMaxScaler]) == (Unread("StandardScaler"),)
    assert read_steps([TargetEncoder()], [TargetEncoder]) == (Unread("TargetEncoder"),)
    assert read_steps([FunctionTransformer(np.abs)], KINDS) == (Unread("FunctionTransformer", has_function=True),)
    assert read_steps([make_pipeline("passthrough", None), FunctionTransformer()], KINDS) == ()


def test_replacements_are_plain_values():
    table = pd.DataFrame({"n": [1, 2, 3], "w": ["a", "a", "b"]}).astype(object)
    imputer = SimpleImputer(strategy="most_frequent").fit(table)
    assert read_one(imputer) == Imputation((1, "a"))


def test_nested_pipelines_are_flattened():
    scaler, other = StandardScaler(), MinMaxScaler()
    nested = make_pipeline(make_pipeline(None, scaler), "passthrough", make_pipeline(other, "model"))
    assert split_pipeline(nested, lambda model: hasattr(model, "steps")) == ([scaler, other], "model")
    assert split_pipeline(nested, lambda model: model is None) == ([], nested)
    assert flat_steps(nested[:-1]) == [scaler]
    endless = make_pipeline(scaler)
    endless.steps = [("again", endless)]
    with pytest.raises(ValueError, match="nested more than 20 levels deep"):
        split_pipeline(endless, lambda model: hasattr(model, "steps"))
    with pytest.raises(ValueError, match="nested more than 20 levels deep"):
        flat_steps(endless)


def test_a_column_selected_by_a_scalar_and_weights_are_refused():
    table = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
    steps = make_column_transformer((StandardScaler(), ["a"])).fit(table)
    steps.transformers_ = [("x", StandardScaler().fit(NUMBERS[:, :1]), "a")]
    with pytest.raises(ValueError, match="select it by a list"):
        read_one(steps)
    steps.transformer_weights = {"x": 2}
    with pytest.raises(TypeError, match="with transformer_weights"):
        read_one(steps)


def plain(value):
    """Return whether a value is of Python's own types, or a frozen description of such, down to its last part."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(plain, value))
    if is_dataclass(value):
        own = type(value).__module__ == "hedgerow.pipelines"
        return own and all(plain(getattr(value, field.name)) for field in fields(value))
    return type(value) in (str, int, float, bool, type(None))


def test_a_pipeline_is_read_into_plain_values_only():
    frame = WORDS.assign(**dict(zip("xyz", NUMBERS.T, strict=True)))
    numbers = make_pipeline(SimpleImputer(), StandardScaler(), KBinsDiscretizer(3, strategy="uniform"))
    words = [(f"w{i}", clone(encoder), ["hue", "code"]) for i, encoder in enumerate(ENCODERS)]
    steps = ColumnTransformer([("numbers", numbers, ["x", "y"]), *words, ("scaled", MinMaxScaler(), ["z"])]).fit(frame)
    result = read_steps([steps, FunctionTransformer(np.abs)], KINDS, tuple(frame.columns))
    assert len(result[0].parts) == 2 + len(ENCODERS)
    assert plain(result)
    assert not plain((np.float64(1),))


class Word(str):
    """Text with code of its own."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("categories_", [np.array([Word("a"), "b"], dtype=object)]),
        ("categories_", [np.array([[1.0]])]),
        ("categories_", [[1.0]]),
        ("categories_", [np.array([])]),
        ("drop_idx_", np.array([5], dtype=object)),
        ("drop_idx_", np.array(["0"], dtype=object)),
        ("handle_unknown", Word("error")),
    ],
    ids=str,
)
def test_an_encoder_with_parameters_of_other_types_is_refused(attribute, value):
    encoder = OneHotEncoder(drop="first").fit(WORDS[["hue"]])
    setattr(encoder, attribute, value)
    with pytest.raises(ValueError, match=r"text|NumPy|one category|dropped category|number"):
        read_one(encoder)
