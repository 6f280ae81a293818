"""What both estimators of scorecards refuse alike."""

import numpy as np
import pytest

import hedgerow as hr
from tests.learn.patients import LABEL, PATIENTS, patients

KINDS = {"private": hr.PrivateScorecardClassifier(1.0), "not private": hr.ScorecardClassifier()}
WIDE = hr.Schema({"zip": hr.Categorical(tuple(f"z{i}" for i in range(2001))), "smoker": hr.Boolean()}, LABEL)
THREE = hr.Schema(dict(PATIENTS.attributes), hr.Label("ill", (0, 1, 2)))
BAD = [
    ({"max_attributes": 0}, "max_attributes must be a whole number >= 1, got 0"),
    ({"max_attributes": 1.5}, "max_attributes must be a whole number >= 1"),
    ({"max_attributes": True}, "max_attributes must be a whole number >= 1"),
    ({"points": 0}, "points must be a whole number >= 1, got 0"),
    ({"points": None}, "points must be a whole number >= 1, got None"),
    ({"points": 1001}, r"points must be a whole number <= 1000, got 1001\."),
    ({"points": 10**400}, "points must be a whole number <= 1000, got a whole number of 1329 bits"),
    ({"monotone": ["age"]}, r"monotone must be a mapping of attribute names to directions, got list"),
    ({"monotone": "age"}, r"monotone must be a mapping of attribute names to directions, got str"),
    ({"monotone": {"age": "up"}}, "monotone must map names to .* got 'up'"),
    ({"monotone": {"age": ["secret"]}}, "monotone must map names to .*, got <list>"),
    ({"monotone": {"age": 1}}, "monotone must map names to .* got 1"),
    ({"monotone": {"age": np.array(["increasing"])}}, "monotone must map names to .*, got <ndarray>"),
    ({"monotone": {"size": "increasing"}}, r"attribute 'size': is in monotone but not in the schema\."),
    ({"monotone": {3: "increasing"}}, "attribute 3: is in monotone"),
    (
        {"monotone": {"smoker": "increasing"}},
        "attribute 'smoker': cannot be monotone, because its bins have no order",
    ),
    ({"monotone": {"age": "increasing"}, "schema": THREE}, "monotone needs a label with two classes, got 3"),
    ({"schema": WIDE}, r"attribute 'zip': has 2,001 bins, and scorecards support at most 2,000"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_parameters_are_refused_in_words_before_a_table_is_counted(kind, parameters, message):
    data = patients(100).assign(zip="z0")
    clf = type(KINDS[kind])(**KINDS[kind].get_params() | {"schema": PATIENTS} | parameters)
    tally = hr.Tally(clf.schema, np.zeros((0, len(clf.schema)), dtype=int), np.zeros((0, len(clf.schema.classes))))
    for fit in (lambda: clf.fit(data, data["ill"]), lambda: clf.fit_tally(tally), clf.check_public):
        with pytest.raises((ValueError, TypeError), match=message) as error:
            fit()
        assert len(str(error.value).splitlines()) == 1
    assert vars(clf) == clf.get_params()
