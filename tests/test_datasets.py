import lzma
import socket
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hedgerow import GreedyRuleListClassifier, Tally, datasets
from hedgerow.datasets import NAMES, SENSITIVE, Dataset
from hedgerow.schema import Boolean, count_candidates
from hedgerow.tables.frames import Table
from tests.shapes import SHAPES

PACKAGED = Path(datasets.__file__).parent
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


@pytest.fixture(scope="module")
def real():
    """Load a dataset once for all tests of this module; none of them changes it."""
    return cache(datasets.load)


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


def test_every_dataset_names_its_sensitive_columns():
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


def test_an_unknown_name_raises_an_error_with_sorted_known_names():
    assert list(NAMES) == sorted(SHAPES)
    with pytest.raises(ValueError, match=r"adult, .*german_binary, got 'titanic'"):
        datasets.load("titanic")
    with pytest.raises(ValueError, match="name must be one of"):
        Dataset("../adult", pd.DataFrame(), pd.Series(), datasets.load("breast_cancer").schema)


@pytest.mark.parametrize("name", NAMES)
def test_datasets_need_no_network_and_no_home(name, monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("opened a socket"))
    monkeypatch.setenv("HOME", "/nowhere")
    assert datasets.load(name).frame.shape == SHAPES[name]


def test_a_damaged_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "ctg.yaml").write_bytes((PACKAGED / "ctg.yaml").read_bytes())
    (tmp_path / "ctg.csv.xz").write_bytes(lzma.compress(b"LB,NSP\n120,1\n"))
    monkeypatch.setattr(datasets, "_FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"ctg\.csv\.xz: .*7081f3.*Install"):
        datasets.load("ctg")


def test_the_notice_names_every_file():
    files = {path.name.removesuffix(".csv.xz") for path in PACKAGED.glob("*.csv.xz")}
    assert files == set(NAMES) - {"breast_cancer"}
    notice = (PACKAGED / "NOTICE.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in notice for name in files)
