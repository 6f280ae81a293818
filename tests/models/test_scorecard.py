"""Totals, predictions, files and records of scorecards."""

import copy
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from scipy.special import expit, softmax

import hedgerow as hr
from hedgerow.errors import ArgumentTypeError, DomainError, ModelFormatError, SchemaError
from hedgerow.models import AttributePoints, Scorecard, load_model
from hedgerow.models.envelope import seal
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Label, Number, Schema
from tests.models.scorecards import AGE, NONE, SCHEMA, SMOKER, THREE, TWO, WARD
from tests.models.strategies import Case, added_up, cards, cases, scorecards

ROWS = pd.DataFrame(
    {
        "age": [20, 44, 46, 61, None],
        "ward": ["surgery", "day clinic", "day clinic", "ambulance", "surgery"],
        "smoker": [False, True, None, True, None],
        "dose": [0.2, 0.5, 0.6, 0.7, 1.0],
    }
)


def lead(model: Scorecard, total: int) -> Fraction:
    """Return by how many points a total speaks for the second of two classes, exactly."""
    if model.scale is None:
        return Fraction(total)
    points = total - Fraction(model.scale.even)
    return points if model.scale.favourable == model.schema.classes[1] else -points


# --- what a row is told --------------------------------------------------------------------------------------------


@given(case=cases(scorecards()))
def test_a_total_is_the_sum_of_the_points_of_a_rows_bins(case: Case) -> None:
    expected = [added_up(case.model, row) for row in case.rows]
    for table in (case.pandas(), case.polars(), case.arrow(), case.array()):
        result = case.model.totals(table)
        assert result.reshape(len(expected), -1).tolist() == expected
        assert result.ndim == (1 if len(case.model.schema.classes) == 2 else 2)


@given(case=cases(scorecards()))
def test_a_class_is_decided_by_whole_totals(case: Case) -> None:
    """Two classes: the second beyond the total of even odds. More: the largest total, the first of equals."""
    classes = case.model.schema.classes
    totals = [added_up(case.model, row) for row in case.rows]
    expected = [classes[int(lead(case.model, t[0]) > 0)] if len(t) == 1 else classes[t.index(max(t))] for t in totals]
    result = case.model.predict(case.arrow()).tolist()
    assert result == expected
    assert {type(value) for value in result} == {type(classes[0])}


@given(case=cases(scorecards()))
def test_probabilities_are_the_logistic_map_of_totals(case: Case) -> None:
    model, result = case.model, case.model.predict_proba(case.arrow())
    for row, shares in zip(case.rows, result.tolist(), strict=True):
        totals = added_up(model, row)
        odd = [0.0, model.unit * float(lead(model, totals[0]))] if len(totals) == 1 else []
        odds = odd or [model.unit * total for total in totals]
        weights = [math.exp(odd - max(odds)) for odd in odds]
        assert shares == pytest.approx([weight / sum(weights) for weight in weights], rel=1e-9, abs=1e-300)
    assert result.sum(axis=1) == pytest.approx(1.0)


def test_rows_of_the_example_are_added_up_by_hand() -> None:
    # -7-12+0-2, -7-3+6+7, -7-3+6+0, -7+11+1+7, -7+0+0+0
    assert TWO.totals(ROWS).tolist() == [-21, 3, -4, 12, -7]
    assert TWO.predict(ROWS).tolist() == ["no", "yes", "no", "yes", "no"]
    assert TWO.predict_proba(ROWS)[1].tolist() == pytest.approx([1 / (1 + math.exp(0.3)), 1 / (1 + math.exp(-0.3))])
    # base 1, 0, 1; a dose of 0.5 is still in the first bin
    assert THREE.totals(ROWS).tolist() == [[5, 0, 1], [3, 3, 1], [0, 2, 1], [-2, 5, 0], [0, 2, 1]]
    assert THREE.predict(ROWS).tolist() == ["home", "home", *["intensive care"] * 3]


def test_only_the_columns_that_have_points_are_needed() -> None:
    assert THREE.totals(ROWS[["smoker", "dose"]]).tolist() == THREE.totals(ROWS).tolist()
    with pytest.raises(DomainError, match=r"^column 'dose'"):
        THREE.predict(ROWS[["smoker"]])


def test_a_value_that_the_schema_does_not_allow_is_not_quoted() -> None:
    with pytest.raises(DomainError, match=r"^column 'age': .*declared domain") as caught:
        TWO.predict(ROWS.assign(age=[20, 44, 46, 61, 1313]))
    assert "1313" not in str(caught.value)


def test_without_attributes_every_row_has_the_base() -> None:
    empty = Scorecard(SCHEMA, (3,), (), 1.0, None, NONE)
    assert len(empty) == 0
    assert empty.totals(ROWS).tolist() == [3] * 5
    assert empty.explain({}) == {
        "points": [],
        "base": 3,
        "total": 3,
        "prediction": "yes",
        "probabilities": {"no": pytest.approx(1 / (1 + math.exp(3))), "yes": pytest.approx(1 / (1 + math.exp(-3)))},
    }
    assert empty.predict(ROWS[:0]).shape == (0,)


def test_given_totals_have_classes_and_probabilities() -> None:
    for model in (TWO, THREE):
        totals = model.totals(ROWS)
        assert model.predictions_of(totals).tolist() == model.predict(ROWS).tolist()
        assert model.probabilities_of(totals).tolist() == model.predict_proba(ROWS).tolist()


# --- what is accepted ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"base": (1, 2)}, ValueError, r"base must have 1 number for 2 classes, got 2\."),
        ({"base": ()}, ValueError, r"points must be a tuple of whole numbers .* got \(\)\."),
        ({"base": (0.5,)}, ValueError, r"points must be a tuple of whole numbers .* got \(0\.5\)\."),
        ({"base": (True,)}, ValueError, r"points must be a tuple of whole numbers .* got \(True\)\."),
        ({"base": (10**6 + 1,)}, ValueError, r"points must be at most 1,000,000 in absolute value, got 1000001\."),
        ({"parts": ("age",)}, TypeError, r"expected AttributePoints as parts, got str\."),
        (
            {"parts": (AttributePoints("height", ((1,),)),)},
            SchemaError,
            r"attribute 'height': has points in a scorecard but is not declared",
        ),
        ({"parts": (AGE, WARD, AGE)}, SchemaError, r"attribute 'age': has points more than once\."),
        (
            {"parts": (AttributePoints("ward", ((1,), (2,))),)},
            SchemaError,
            r"attribute 'ward': expected points for 3 bins, got 2\.",
        ),
        (
            {"parts": (AttributePoints("ward", ((1,), (2,), (3, 4))),)},
            SchemaError,
            r"attribute 'ward': expected 1 number per bin for 2 classes, got 1 and 2\.",
        ),
        ({"unit": 0}, ValueError, r"unit must be a number above 0, at most 1,000,000, got 0\."),
        ({"unit": math.nan}, ValueError, r"unit must be a number above 0, at most 1,000,000, got nan\."),
        ({"unit": 10**400}, ValueError, r"unit must be a number above 0, .* got a whole number of 1329 bits\."),
        ({"unit": True}, ValueError, r"unit must be a number above 0, at most 1,000,000, got True\."),
        ({"error": -0.1}, ValueError, r"error must be a number of at least 0, at most 1,000,000, got -0\.1\."),
        ({"error": math.inf}, ValueError, r"error must be a number of at least 0, at most 1,000,000, got inf\."),
        ({"schema": Schema({"a": Boolean()})}, SchemaError, "The schema declares no label"),
    ],
)
def test_points_must_fit_the_schema_and_be_whole(change: dict, error: type[Exception], message: str) -> None:
    fields = {"schema": SCHEMA, "base": (0,), "parts": (AGE,), "unit": 1, "error": None, "privacy": NONE}
    with pytest.raises(error, match=f"^{message}"):
        Scorecard(**(fields | change))


CHARGED = PrivacyCard((Charge("points", Fraction(1)),), noise="OpenDP", software="hedgerow")
UNKNOWN = PrivacyCard((), noise="unknown", software="unknown", no_guarantee="read from PMML")


@pytest.mark.parametrize(
    ("card", "error", "is_unknown"),
    [(CHARGED, None, True), (UNKNOWN, None, True), (CHARGED, 0.1, False), (NONE, None, False)],
)
@pytest.mark.parametrize("model", [TWO, THREE], ids=["two classes", "three classes"])
def test_a_scorecard_states_unknown_noise_on_its_points(
    model: Scorecard, card: PrivacyCard, error: float | None, is_unknown: bool
) -> None:
    """Without a standard error, a private scorecard must not look like a scorecard without noise."""
    model = replace(model, error=error, privacy=card)
    for text in (str(model), model.to_html()):
        assert ("the noise on the points is unknown" in text) is is_unknown


def test_three_classes_have_three_numbers() -> None:
    with pytest.raises(ValueError, match=r"^base .*3 numbers .*got 1\.$"):
        Scorecard(THREE.schema, (1,), (), 1, None, NONE)
    with pytest.raises(SchemaError, match=r"3 numbers per bin .*got "):
        Scorecard(THREE.schema, (1, 1, 1), (SMOKER,), 1, None, NONE)


def test_a_scorecard_is_a_value_of_pythons_numbers() -> None:
    points: Any = np.array(TWO.parts[0].points)
    twin = Scorecard(SCHEMA, np.array([-7]), [AttributePoints("age", points), WARD, SMOKER], 0.1, 0.25, TWO.privacy)  # type: ignore[arg-type]
    assert twin == TWO
    assert hash(twin) == hash(TWO)
    assert {type(item) for row in twin.parts[0].points for item in row} == {int}
    assert type(Scorecard(SCHEMA, (0,), (), 1, 0, NONE).error) is float
    assert pickle.loads(pickle.dumps(TWO)) == copy.deepcopy(TWO) == TWO
    assert len(TWO) == 3
    assert (TWO.has_points, TWO.leaves, TWO.paths, TWO.has_counts) == (True, (), (), False)
    assert hr.models.Scorecard is Scorecard
    assert hr.models.AttributePoints is AttributePoints


# --- files ---------------------------------------------------------------------------------------------------------


@given(model=scorecards(privacy=cards()))
def test_json_brings_back_an_equal_model(model: Scorecard) -> None:
    again = Scorecard.from_json(model.to_json())
    assert again == model
    assert again.to_json() == model.to_json()


@pytest.mark.parametrize("model", [TWO, THREE])
def test_a_file_brings_back_an_equal_model(model: Scorecard, tmp_path: Path) -> None:
    model.save(tmp_path / "card.json")
    assert load_model(tmp_path / "card.json") == model == Scorecard.load(tmp_path / "card.json")


def test_the_file_names_the_bins_that_points_are_of() -> None:
    data = json.loads(TWO.to_json())
    assert list(data) == [
        *("format", "version", "schema", "schema_digest", "base", "parts", "unit", "error", "privacy", "digest")
    ]
    assert data["format"] == "hedgerow/scorecard"
    assert data["parts"][1] == {
        "attribute": "ward",
        "bins": ["surgery", "day clinic", "outside"],
        "points": [[0], [6], [1]],
    }
    assert (data["base"], data["unit"], data["error"]) == ([-7], 0.1, 0.25)


def test_errors_and_unsupported_bins_are_in_the_file() -> None:
    ward = replace(WARD, errors=((0.5,), (1.25,), (3.0,)), unsupported=(2,))
    model = replace(TWO, parts=(AGE, ward, SMOKER))
    data = json.loads(model.to_json())
    assert (TWO.to_dict()["version"], data["version"]) == (2, 2)
    assert data["parts"][1]["errors"] == [[0.5], [1.25], [3.0]]
    assert data["parts"][1]["unsupported"] == [2]
    assert "errors" not in data["parts"][0]
    assert Scorecard.from_dict(data) == model
    for version in (1, 3):
        with pytest.raises(ModelFormatError, match=f"expected version 2 of .*, got {version}"):
            Scorecard.from_dict(
                seal({key: value for key, value in data.items() if key != "digest"} | {"version": version})
            )


def test_the_digest_of_a_scorecard_stays() -> None:
    assert TWO.to_dict()["digest"] == "8b9471760a89f16589d50a5994150b14e85c04bd413288e1f88ea4667a0cb946"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda data: data.update(base=[True]), r"must be a tuple of whole numbers.*got \[True\]\.$"),
        (lambda data: data.update(base=[1.0]), r"must be a tuple of whole numbers.*got \[1\.0\]\.$"),
        (lambda data: data.update(base=[10**399]), "points must be at most 1,000,000 in absolute value"),
        (lambda data: data.update(unit=-1.0), "unit must be a number above 0"),
        (lambda data: data.update(error="0"), "error must be a number of at least 0, at most 1,000,000, got '0'"),
        (lambda data: data.update(more=1), "its parts are inconsistent"),
        (lambda data: data.pop("unit"), "KeyError: 'unit'"),
        (lambda data: data["parts"].append(data["parts"][0]), "has points more than once"),
        (lambda data: data["parts"][0].update(attribute=3), "attribute must be text, got 3"),
        (lambda data: data["parts"][0].update(attribute="heigth"), "has points in a scorecard but is not declared"),
        (lambda data: data["parts"][0].update(points="12345"), "points must be a tuple .* got '12345'"),
        (lambda data: data["parts"][0]["points"].pop(), "expected points for 5 bins, got 4"),
        (lambda data: data["parts"][0].update(errors=[[0.5]]), "errors must have a number from 0"),
        (lambda data: data["parts"][0].update(errors=None), "its parts are inconsistent"),
        (lambda data: data["parts"][0].update(unsupported=[5]), "unsupported must have places of the 5 bins"),
        (lambda data: data["parts"][0].update(unsupported=[]), "its parts are inconsistent"),
        (lambda data: data["parts"][0]["bins"].reverse(), "its parts are inconsistent"),
        (lambda data: data["schema"]["label"].update(classes=["a", "b", "c"]), "base must have 3 numbers"),
    ],
)
def test_a_consistent_digest_does_not_excuse_nonsense(change: Callable[[dict[str, Any]], Any], match: str) -> None:
    data = json.loads(TWO.to_json())
    change(data)
    with pytest.raises(ModelFormatError, match=f"^not a valid scorecard: .*{match}"):
        Scorecard.from_dict(seal({key: value for key, value in data.items() if key != "digest"}))


def test_totals_that_an_engine_cannot_add_up_are_refused() -> None:
    attributes = {f"a{i}": Boolean() for i in range(1000)}
    schema = Schema(attributes, Label("y", (0, 1)))
    parts = tuple(AttributePoints(name, ((0,), (10**6,))) for name in attributes)
    assert Scorecard(schema, (0,), parts, 1, None, NONE).totals(np.ones((1, 1000))).tolist() == [10**9]
    with pytest.raises(ValueError, match=r"^totals .*1,000,000,000"):
        Scorecard(schema, (1,), parts, 1, None, NONE)


def test_more_points_than_anybody_can_read_are_refused() -> None:
    schema = Schema({"x": Boolean()}, Label("y", (0, 1)))
    part = AttributePoints("x", ((1,),) * 300_000)
    with pytest.raises(ValueError, match=r"at most 262,144 numbers of points, got 300,000\.$"):
        Scorecard(schema, (1,), (part,), 1, None, NONE)


# --- for readers ---------------------------------------------------------------------------------------------------


def test_there_is_one_record_a_bin_and_equal_neighbours_are_one_interval() -> None:
    assert TWO.get_points()[:4] == [
        {"attribute": "age", "bin": "[17, 30]", "points": -12},
        {"attribute": "age", "bin": "(30, 60]", "points": -3},
        {"attribute": "age", "bin": "(60, 90]", "points": 11},
        {"attribute": "age", "bin": "missing", "points": 0},
    ]
    assert list(pd.DataFrame(THREE.get_points())) == [
        *("attribute", "bin", "points(home)", "points(intensive care)", "points(ward)")
    ]


@pytest.mark.parametrize("row", [ROWS.iloc[[1]], pa.table(ROWS.iloc[[1]]), ROWS.iloc[1].to_dict()])
def test_a_row_is_explained_by_its_bins_the_largest_first(row: Any) -> None:
    assert TWO.explain(row) == {
        "points": [
            {"attribute": "smoker", "bin": "true", "points": 7},
            {"attribute": "ward", "bin": "day clinic", "points": 6},
            {"attribute": "age", "bin": "(30, 60]", "points": -3},
        ],
        "base": -7,
        "total": 3,
        "prediction": "yes",
        "probabilities": dict(zip(("no", "yes"), TWO.predict_proba(ROWS)[1].tolist(), strict=True)),
    }


@given(case=cases(scorecards()))
def test_explanations_add_up(case: Case) -> None:
    table, classes = case.arrow(), case.model.schema.classes
    result = case.model.explain(table[:1])
    if len(classes) == 2:
        assert result["base"] + sum(item["points"] for item in result["points"]) == result["total"]
    else:
        for name in classes:
            assert (
                result["base"][name] + sum(item[f"points({name})"] for item in result["points"])
                == result["total"][name]
            )
    total = case.model.totals(table).tolist()[0]
    assert result["total"] == (total if len(classes) == 2 else dict(zip(classes, total, strict=True)))
    assert result["prediction"] == case.model.predict(table).tolist()[0]


def test_one_row_is_explained_and_no_value_is_quoted() -> None:
    for rows in (ROWS, ROWS[:0]):
        with pytest.raises(ValueError, match=r"^explain takes exactly one row, got "):
            TWO.explain(rows)
    row = ROWS.iloc[1].to_dict()
    with pytest.raises(DomainError, match=r"^column 'smoker'"):
        TWO.explain({name: row[name] for name in ("age", "ward")})
    with pytest.raises(ArgumentTypeError, match=r"^a row .*single value"):
        TWO.explain(row | {"age": object()})
    with pytest.raises(DomainError, match=r"^column 'age': ") as caught:
        TWO.explain(row | {"age": 1313})
    assert "1313" not in str(caught.value)


def test_risks_are_records_with_the_interval_of_the_noise() -> None:
    # the smallest total: -7 - 12 + 0 - 2; the largest: -7 + 11 + 6 + 7
    records = TWO.risks()
    assert [record["total"] for record in records] == [-21, -20, -15, -10, -5, 0, 5, 10, 15, 17]
    for record in records:
        odds = 0.1 * record["total"]
        for key, shift in (("probability", 0), ("low", -1.959964 * 0.25), ("high", 1.959964 * 0.25)):
            assert record[key] == pytest.approx(1 / (1 + math.exp(-odds - shift)), rel=1e-6)
    with pytest.raises(ValueError, match="3 classes; use predict_proba"):
        THREE.risks()


def test_the_repr_is_short_and_states_the_guarantee() -> None:
    guarantee = "epsilon-differential privacy with epsilon = 1"
    assert repr(TWO) == f"<Scorecard of 3 attributes; guarantee: {guarantee}>"


# --- what has no leaves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: hr.audit.joint_reconstruction([model], ROWS),
        lambda model: hr.audit.unlinked_reconstruction([model]),
        lambda model: hr.audit.overfit(model, (ROWS, [0] * 5), (ROWS, [0] * 5)),
        lambda model: hr.audit.ProbabilisticDataset.of(model),
    ],
)
def test_audits_of_leaves_reject_scorecards(ask: Callable[[Scorecard], Any]) -> None:
    message = r"^expected a model with leaves, got a scorecard, which adds up points and has no leaves"
    with pytest.raises(TypeError, match=message):
        ask(TWO)


def test_an_audit_of_overfitting_takes_the_predictions() -> None:
    result = hr.audit.overfit(TWO.predict, (ROWS, [0, 1, 0, 1, 0]), (ROWS, [0, 1, 0, 1, 1]))
    assert result.leaves == ("leaf no", "leaf yes")


@given(case=cases(scorecards()))
def test_the_decision_function_is_the_log_odds_and_decides_as_predict_does(case: Case) -> None:
    model, table = case.model, case.arrow()
    result, shares = model.decision_function(table), model.predict_proba(table)
    classes = np.array(model.schema.classes, dtype=object)
    if len(classes) == 2:
        assert result.shape == (len(table),)
        assert classes[(result > 0).astype(int)].tolist() == model.predict(table).tolist()
        assert expit(result) == pytest.approx(shares[:, 1])
    else:
        assert result.shape == shares.shape
        assert classes[result.argmax(axis=1)].tolist() == model.predict(table).tolist()
        assert softmax(result, axis=1) == pytest.approx(shares)


def test_a_number_has_no_decision_function() -> None:
    number = Scorecard(Schema(SCHEMA.attributes, Number("days", 0, 32)), (3,), (WARD,), 1.0, None, NONE)
    with pytest.raises(SchemaError, match="number"):
        number.decision_function(pd.DataFrame({"ward": ["surgery"]}))
