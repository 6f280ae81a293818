import os
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from hedgerow import GreedyRuleListClassifier, Tally, datasets
from hedgerow.datasets import NAMES, SENSITIVE, Dataset
from hedgerow.errors import DatasetUnavailableError
from hedgerow.frames import Table
from hedgerow.schema import Boolean, count_candidates
from tests.shapes import SHAPES

DATA = os.environ.get("HEDGEROW_DATA")
CLASSES = {  # rows of each class; from the same README, and scikit-learn's description of breast_cancer
    "adult": {">50K": 11_687, "<=50K": 37_155},
    "adult_binary": {1: 11_687, 0: 37_155},
    "breast_cancer": {"benign": 357, "malignant": 212},
    "compas": {1: 3_251, 0: 3_963},
    "compas_binary": {1: 3_471, 0: 3_743},
    "ctg": {1: 1_655, 2: 295, 3: 176},
    "german": {1: 700, 2: 300},
    "german_binary": {1: 700, 0: 300},
}
FLOORS = {  # what a list of five rules of up to two literals reaches on its training rows, rounded down
    "adult": 0.80,
    "adult_binary": 0.76,
    "breast_cancer": 0.92,
    "compas": 0.65,
    "compas_binary": 0.65,
    "ctg": 0.85,
    "german": 0.70,
    "german_binary": 0.70,
}


def given_file(name):
    """Return the real file, or skip the test where it is not there."""
    if not DATA:
        pytest.skip(f"needs {name}.csv: HEDGEROW_DATA is not set")
    path = Path(DATA) / f"{name}.csv"
    if not path.is_file():
        pytest.skip(f"needs {name}.csv, which is not in HEDGEROW_DATA={DATA}")
    return path


@pytest.fixture(scope="module")
def real():
    """Load a real dataset once for all tests of this module; none of them changes it."""
    loaded = {}

    def load(name):
        if name not in loaded:
            if name != "breast_cancer":
                given_file(name)
            loaded[name] = datasets.load(name)
        return loaded[name]

    return load


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Leave no source but an empty cache folder and a download that fails like one without a network."""

    def offline(**_):
        raise URLError("Name or service not known")

    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    monkeypatch.setenv("HEDGEROW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "fetch_openml", offline)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def openml_adult():
    """Return adult as scikit-learn reads it off OpenML: official test rows first, categories, NaN, label `class`."""
    frame = pd.read_csv(given_file("adult"), na_values=["?"], keep_default_na=False).rename(columns={"income": "class"})
    text = frame.select_dtypes(exclude="number").columns
    return pd.concat([frame[32_561:], frame[:32_561]], ignore_index=True).astype(dict.fromkeys(text, "category"))


def place(source, folder):
    folder.mkdir(exist_ok=True)
    (folder / source.name).write_bytes(source.read_bytes())


# What the datasets are


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_base_rates_are_the_documented_ones(name, real):
    data = real(name)
    assert data.frame.shape == SHAPES[name]
    assert data.labels.name == data.schema.label.name
    assert data.labels.name not in data.frame
    assert data.labels.value_counts().to_dict() == CLASSES[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_fits_the_schema(name, real):
    data = real(name)
    tally = Tally.count(data.frame, data.labels, data.schema)
    assert dict(zip(data.schema.classes, tally.total().tolist(), strict=True)) == CLASSES[name]


@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_all_values_so_that_nothing_is_clipped(name, real):
    data = real(name)
    for attribute, kind in data.schema.attributes:
        if hasattr(kind, "low"):
            values = data.frame[attribute].dropna()
            assert kind.low <= values.min() <= values.max() <= kind.high, attribute


@pytest.mark.parametrize("name", NAMES)
def test_no_attribute_is_vacuous(name, real):
    data = real(name)
    for attribute, bins in data.schema.encode(Table.of(data.frame)).items():
        assert len(np.unique(bins)) > 1, attribute
        assert data.schema[attribute].literals(attribute, negations=False), attribute


@pytest.mark.parametrize("name", NAMES)
def test_every_interval_between_cuts_has_rows(name, real):
    data = real(name)
    for attribute, bins in data.schema.encode(Table.of(data.frame)).items():
        kind = data.schema[attribute]
        if getattr(kind, "cuts", ()):
            assert set(range(len(kind.known_bins))) <= set(bins.tolist()), attribute


@pytest.mark.parametrize("name", NAMES)
def test_candidates_of_two_literals_stay_few_and_predict(name, real):
    data = real(name)
    assert count_candidates(data.schema, 2) < 60_000
    model = GreedyRuleListClassifier(schema=data.schema, max_literals=2).fit(data.frame, data.labels)
    assert model.score(data.frame, data.labels) >= FLOORS[name]


def test_a_question_mark_is_a_missing_bin_of_adult(real):
    data = real("adult")
    for attribute, missing in {"workclass": 2_799, "occupation": 2_809, "native-country": 857}.items():
        assert (data.frame[attribute] == "?").sum() == missing
        bins = data.schema[attribute].encode(Table.of(data.frame).column(attribute, 0))
        assert (bins == data.schema[attribute].bins.index("missing")).sum() == missing


def test_empty_fields_of_compas_are_missing_and_words_are_not(real):
    frame = real("compas").frame
    assert frame.isna().sum()[lambda count: count > 0].to_dict() == {
        "c_charge_desc": 29,
        "days_b_screening_arrest": 307,
    }


def test_german_codes_stay_text(real):
    assert set(real("german").frame["status"]) == {"A11", "A12", "A13", "A14"}


def test_columns_that_give_the_answer_away_are_not_attributes_of_compas(real):
    data = real("compas")
    answers = {"is_recid", "decile_score", "score_text"}
    assert answers <= set(data.frame)
    assert not answers & set(data.schema)


def test_the_label_of_compas_binary_is_is_recid(real):
    assert (real("compas_binary").labels == real("compas").frame["is_recid"]).all()
    assert (real("compas_binary").labels != real("compas").labels).sum() == 220


@pytest.mark.parametrize("name", ["adult_binary", "compas_binary", "german_binary"])
def test_binary_datasets_are_boolean_throughout(name, real):
    data = real(name)
    assert data.schema.names == tuple(data.frame)
    assert all(kind == Boolean() for _, kind in data.schema.attributes)
    assert data.schema.classes == (0, 1)


# Sensitive columns


def test_every_dataset_says_which_columns_are_sensitive():
    assert set(SENSITIVE) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_without_sensitive_drops_those_columns_and_attributes_only(name, real):
    data = real(name)
    assert set(SENSITIVE[name]) <= set(data.frame)
    safe = data.without_sensitive()
    assert tuple(safe.frame) == tuple(column for column in data.frame if column not in SENSITIVE[name])
    assert safe.schema.names == tuple(column for column in data.schema if column not in SENSITIVE[name])
    assert safe.schema.label == data.schema.label
    assert safe.labels.equals(data.labels)
    assert safe.without_sensitive().schema == safe.schema
    Tally.count(safe.frame, safe.labels, safe.schema)


@pytest.mark.parametrize(
    ("name", "starts"), [("adult_binary", ("gender_", "age_")), ("compas_binary", ("Age", "Gender", "Race"))]
)
def test_sensitive_indicators_are_those_of_the_named_groups(name, starts, real):
    assert [column for column in real(name).frame if column.startswith(starts)] == [
        column for column in real(name).frame if column in SENSITIVE[name]
    ]


# Where they come from


def test_unknown_names_are_refused_with_the_known_ones_sorted():
    assert list(NAMES) == sorted(SHAPES)
    with pytest.raises(ValueError, match=r"one of adult, adult_binary, .*, german_binary, got 'titanic'"):
        datasets.load("titanic")
    with pytest.raises(ValueError, match="name must be one of"):
        Dataset("../adult", pd.DataFrame(), pd.Series(), datasets.load("breast_cancer").schema)


@pytest.mark.usefixtures("cache")
def test_breast_cancer_needs_no_file_and_no_network():
    assert datasets.load("breast_cancer").frame.shape == (569, 30)


def test_the_given_folder_comes_before_the_cache(cache, monkeypatch):
    source = given_file("german")
    cache.mkdir()
    (cache / "german.csv").write_text("spoilt")
    monkeypatch.setenv("HEDGEROW_DATA", str(source.parent))
    assert datasets.load("german").frame.shape == SHAPES["german"]


def test_the_cache_is_used_where_the_given_folder_lacks_the_file(cache, tmp_path, monkeypatch):
    place(given_file("german"), cache)
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    assert datasets.load("german").frame.shape == SHAPES["german"]


def test_the_cache_is_by_default_where_the_system_keeps_caches(cache, tmp_path, monkeypatch):  # noqa: ARG001
    source = given_file("german")
    monkeypatch.delenv("HEDGEROW_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "xdg").mkdir()
    place(source, tmp_path / "xdg" / "hedgerow")
    assert datasets.load("german").frame.shape == SHAPES["german"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "xdg").rename(tmp_path / ".cache")
    assert datasets.load("german").frame.shape == SHAPES["german"]


@pytest.mark.parametrize("where", ["HEDGEROW_DATA", "HEDGEROW_CACHE"])
def test_a_file_with_other_bytes_is_refused(where, cache, monkeypatch):  # noqa: ARG001
    folder = Path(os.environ["HEDGEROW_CACHE"])
    folder.mkdir()
    (folder / "ctg.csv").write_text("LB,NSP\n120,1\n")
    monkeypatch.setenv(where, str(folder))
    with pytest.raises(DatasetUnavailableError, match=r"expected SHA-256 7081f3.*, found .*ctg\.csv") as error:
        datasets.load("ctg")
    assert error.value.name == "ctg"


def test_adult_is_made_of_openml_s_copy_once_and_then_read_from_the_cache(cache, monkeypatch, openml_adult):
    asked = []

    def fetch(**arguments):
        asked.append(arguments["data_id"])
        return SimpleNamespace(frame=openml_adult)

    monkeypatch.setattr(datasets, "fetch_openml", fetch)
    first, again = datasets.load("adult"), datasets.load("adult")
    assert asked == [1590]
    assert [path.name for path in cache.iterdir()] == ["adult.csv"]
    assert (cache / "adult.csv").read_bytes() == given_file("adult").read_bytes()
    assert first.frame.equals(again.frame)


def test_numbers_that_openml_s_reader_makes_real_come_out_whole(cache, monkeypatch, openml_adult):
    frame = openml_adult.astype(dict.fromkeys(openml_adult.select_dtypes("number").columns, "float64"))
    monkeypatch.setattr(datasets, "fetch_openml", lambda **_: SimpleNamespace(frame=frame))
    assert datasets.load("adult").frame["age"].dtype == "int64"
    assert (cache / "adult.csv").is_file()


def test_a_changed_copy_on_openml_is_refused_and_not_cached(cache, monkeypatch, openml_adult):
    changed = openml_adult.copy()
    changed.loc[7, "age"] += 1
    monkeypatch.setattr(datasets, "fetch_openml", lambda **_: SimpleNamespace(frame=changed))
    with pytest.raises(DatasetUnavailableError, match=r"expected SHA-256 6f8f2b.*OpenML.*Set HEDGEROW_DATA"):
        datasets.load("adult")
    assert not cache.exists()


def test_a_copy_of_another_form_on_openml_is_refused(cache, monkeypatch):
    frame = pd.DataFrame({"age": [np.nan, 1.0], "class": ["a", "b"]})
    monkeypatch.setattr(datasets, "fetch_openml", lambda **_: SimpleNamespace(frame=frame))
    with pytest.raises(DatasetUnavailableError, match=r"OpenML could not be read .*Set HEDGEROW_DATA"):
        datasets.load("adult")
    assert not cache.exists()


def test_without_a_network_the_error_says_what_to_set(cache):
    with pytest.raises(DatasetUnavailableError, match=r"Set HEDGEROW_DATA to a folder with adult\.csv") as error:
        datasets.load("adult")
    assert error.value.__suppress_context__
    assert not cache.exists()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"adult", "breast_cancer"}))
def test_what_openml_does_not_have_is_not_downloaded(name, monkeypatch):
    monkeypatch.setattr(datasets, "fetch_openml", lambda **_: pytest.fail("asked OpenML"))
    with pytest.raises(DatasetUnavailableError, match=rf"no identical copy.*Set HEDGEROW_DATA.*{name}\.csv"):
        datasets.load(name)


def test_a_cache_that_cannot_be_written_says_what_to_set(cache, monkeypatch, openml_adult):
    cache.write_text("a file where the folder should be")
    monkeypatch.setattr(datasets, "fetch_openml", lambda **_: SimpleNamespace(frame=openml_adult))
    with pytest.raises(DatasetUnavailableError, match="Set HEDGEROW_CACHE"):
        datasets.load("adult")
