"""Points to double the odds: a released scorecard on the scale of credit scorecards."""

import math
from dataclasses import replace
from itertools import product
from typing import Any
from xml.etree import ElementTree

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from hedgerow.errors import ModelFormatError
from hedgerow.models import AttributePoints, PointScale, Scorecard
from hedgerow.schema import Boolean, Label, Number, Schema
from tests.models.scorecards import AGE, CARD, NONE, SCHEMA, THREE, TWO, WARD
from tests.models.strategies import Case, cases, point_scales, scorecards

CREDIT: dict[str, Any] = {"pdo": 20, "score": 600, "odds": 50, "favourable": "no"}


def in_credit(model: Scorecard, **change: Any) -> Scorecard:
    return model.scaled(**{**CREDIT, **change})


SCALED = in_credit(TWO)
ROWS = pd.DataFrame({"age": [20, 61], "ward": ["surgery", "day clinic"], "smoker": [False, True]})


def log_odds(model: Scorecard, rows: Any) -> list[float]:
    """Return the log-odds of the second class of each row, by the definition of the scale."""
    totals = model.totals(rows).tolist()
    if model.scale is None:
        return [model.unit * total for total in totals]
    scale, first = model.scale, model.schema.classes[0]
    favourable = [math.log(scale.odds) + math.log(2) * (total - scale.score) / scale.pdo for total in totals]
    return [-item if scale.favourable == first else item for item in favourable]


def test_the_target_score_has_the_target_odds_and_pdo_points_double_them() -> None:
    first, second = SCALED.probabilities_of(pd.Series([580, 600, 620, 640]).to_numpy()).T
    assert (first / second).tolist() == pytest.approx([25, 50, 100, 200], rel=1e-12)


def test_scaled_points_are_points_times_pdo_over_ln_2_rounded() -> None:
    factor = 0.1 * 20 / math.log(2)  # the unit of the card is 0.1 log-odds
    assert [points for (points,) in SCALED.parts[0].points] == [round(-factor * points) for (points,) in AGE.points]
    assert SCALED.base == (round(600 - 20 * math.log2(50) + 7 * factor),)
    assert (SCALED.error, SCALED.privacy) == (TWO.error, TWO.privacy)


@given(case=cases(scorecards()), data=st.data())
def test_scaling_changes_totals_by_half_a_point_per_attribute_and_base(case: Case, data: st.DataObject) -> None:
    model, rows = case.model, case.arrow()
    assume(model.has_one_total)
    scale = data.draw(point_scales(model.schema.classes))
    asked = {"pdo": scale.pdo, "score": scale.score, "odds": scale.odds, "favourable": scale.favourable}
    try:
        result = model.scaled(**asked)
    except ValueError:  # points become too large
        reject()
    assert result.scale is not None
    assert replace(result.scale, rounding=None) == replace(scale, rounding=None)
    rounding = result.scale.rounding
    assert rounding is not None
    earlier = 0 if model.scale is None else (model.scale.rounding or 0) * model.unit / scale.unit
    assert rounding <= earlier + (len(model) + 1) / 2 + 1e-5
    most = scale.unit * (rounding - earlier + 1e-5)
    for before, after in zip(log_odds(model, rows), log_odds(result, rows), strict=True):
        assert abs(after - before) <= most + 1e-9 * (1 + abs(before))
    for before, after in zip(model.parts, result.parts, strict=True):
        if before.errors is not None:
            item, other = (unit * np.array(part.errors) for unit, part in ((model.unit, before), (result.unit, after)))
            assert other == pytest.approx(item)
    again = result.scaled(**asked)
    assert again == result  # nothing more is lost
    assert Scorecard.from_json(result.to_json()) == result


def test_the_stated_rounding_is_the_most_by_which_a_total_moves() -> None:
    assert SCALED.scale is not None
    assert SCALED.scale.rounding is not None
    bins = list(product(*(range(len(part.points)) for part in TWO.parts)))
    before, after = ([total(card, row) for row in bins] for card in (TWO, SCALED))
    exact = [SCALED.scale.even - 20 * 0.1 / math.log(2) * points for points in before]
    moved = [abs(item - other) for item, other in zip(after, exact, strict=True)]
    assert SCALED.scale.rounding == pytest.approx(max(moved), abs=2e-6)
    again = SCALED.scaled(pdo=2, score=60, odds=50, favourable="no").scale
    assert again is not None
    assert again.rounding is not None
    assert again.rounding > SCALED.scale.rounding / 10  # the first rounding stays


def total(card: Scorecard, bins: tuple[int, ...]) -> int:
    return card.base[0] + sum(part.points[place][0] for part, place in zip(card.parts, bins, strict=True))


def test_high_totals_speak_for_the_favourable_class() -> None:
    other = in_credit(TWO, favourable="yes")
    assert SCALED.predict(ROWS).tolist() == other.predict(ROWS).tolist() == TWO.predict(ROWS).tolist() == ["no", "yes"]
    assert SCALED.totals(ROWS)[0] > SCALED.totals(ROWS)[1]
    assert other.totals(ROWS)[0] < other.totals(ROWS)[1]
    assert SCALED.predict_proba(ROWS) == pytest.approx(TWO.predict_proba(ROWS), abs=0.02)


def test_a_total_of_even_odds_is_decided_as_on_the_card_before() -> None:
    """Of equal probabilities the first class is predicted, whatever the points speak for."""
    schema, rows = Schema({"a": Boolean()}, Label("y", ("bad", "good"))), pd.DataFrame({"a": [False, True]})
    card = Scorecard(schema, (0,), (AttributePoints("a", ((0,), (1,))),), math.log(2), None, NONE)
    for favourable in schema.classes:
        result = card.scaled(pdo=1, score=10, odds=1, favourable=favourable)
        assert result.totals(rows).tolist() == [10, 11 if favourable == "good" else 9]
        assert result.predict(rows).tolist() == ["bad", "good"]


def test_reasons_are_for_the_class_that_points_speak_for() -> None:
    assert SCALED.reasons(ROWS).tolist() == TWO.reasons(ROWS, favourable="no").tolist()
    assert SCALED.reasons(ROWS, favourable="yes").tolist() == TWO.reasons(ROWS).tolist()
    assert 'baselineScore="35"' in SCALED.to_pmml()  # the best bin of age: round(12 * 2.885)


def test_the_scale_is_in_words_in_text_html_and_the_form() -> None:
    means = "A total of 600 means odds of 50 to 1 for ill = no; 20 more points double the odds."
    said = "Totals range from 438 to 548; rounding changes a total by at most 0.7 points, and the odds by at most 2.5 %"
    assert f"\n\n{means}\n{said}.\n\n" in str(SCALED)
    assert means in SCALED.to_html()
    assert said in SCALED.to_html()
    assert said in " ".join(text.get_text() for text in SCALED.form().texts)
    decided = "yes is predicted for totals below 488, otherwise no."
    assert decided in SCALED.to_html()
    assert "P(ill = yes) = 1 / (1 + exp(0.0346574 * (total - 487.122876)))." in SCALED.to_html()
    assert "Points for ill = no" in SCALED.to_html()


def test_the_table_has_round_totals_around_even_odds() -> None:
    assert [risk["total"] for risk in SCALED.risks()] == [438, 440, *range(450, 541, 10), 548]
    wide = in_credit(Scorecard(SCHEMA, (0,), (AGE,), 10.0, None, NONE), favourable="yes")
    assert [risk["total"] for risk in wide.risks()] == [-2975, 350, 400, 450, 500, 550, 600, 3661]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pdo": 0}, r"^pdo must be a number above 0, at most 10,000, got 0\.$"),
        ({"pdo": -20}, r"^pdo must be a number above 0"),
        ({"pdo": 1e-300}, r"^pdo must be at least log\(2\) / 1,000,000, got 1e-300\.$"),
        ({"pdo": 10_001}, r"^pdo must be a number above 0"),
        ({"pdo": math.nan}, r"^pdo must be a number above 0"),
        ({"odds": 0}, r"^odds must be a number above 0, at most 1,000,000,000, got 0\.$"),
        ({"odds": "50"}, r"^odds must be a number"),
        ({"score": math.inf}, r"^score must be a number of at most 100,000 in absolute value, got inf\.$"),
        ({"score": True}, r"^score must be a number"),
        ({"score": 10**400}, r"^score must be a number"),
        ({"favourable": "maybe"}, r"^favourable must be one of no, yes, got 'maybe'\.$"),
        ({"favourable": True}, r"^favourable must be one of no, yes, got True\.$"),
    ],
)
def test_a_scale_out_of_range_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_credit(TWO, **change)


def test_only_two_classes_have_points_that_double_the_odds() -> None:
    with pytest.raises(ValueError, match="need two classes, got 3 classes"):
        in_credit(THREE)
    number = Scorecard(Schema(SCHEMA.attributes, Number("days", 0, 32)), (3,), (WARD,), 1.0, None, NONE)
    with pytest.raises(ValueError, match=r"two classes, got .*number"):
        in_credit(number)
    with pytest.raises(ValueError, match="need two classes"):
        Scorecard(number.schema, (3,), (WARD,), math.log(2) / 20, None, NONE, PointScale(20, 600, 50, "no"))


def test_points_that_become_too_large_are_refused() -> None:
    steep = Scorecard(SCHEMA, (0,), (WARD,), 1000.0, None, NONE)
    with pytest.raises(ValueError, match=r"got 8,656,170; use a smaller pdo\.$"):
        steep.scaled(pdo=1000, score=600, odds=50, favourable="yes")


def test_a_unit_that_contradicts_the_scale_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^unit must be ln 2 / pdo, 0\.0346"):
        Scorecard(SCHEMA, (500,), (WARD,), 0.1, None, CARD, SCALED.scale)


def test_files_without_a_scale_have_no_key_for_it_and_unknown_keys_fail() -> None:
    assert "scale" not in TWO.to_dict()
    data = SCALED.to_dict()
    assert data["scale"] == {"pdo": 20.0, "score": 600.0, "odds": 50.0, "favourable": "no", "rounding": 0.695926}
    data["scale"]["odds"] = 60.0
    with pytest.raises(ModelFormatError, match="changed after it was written"):
        Scorecard.from_dict(data)


def test_sql_and_python_compare_the_score_with_the_total_of_even_odds() -> None:
    assert ") < 488\n  WHEN TRUE THEN 'yes'" in SCALED.to_sql()
    assert "return 'yes' if total(row) < 488 else 'no'" in SCALED.to_python()
    other = TWO.scaled(pdo=20, score=600, odds=1 / 50, favourable="yes")
    assert ") > 712\n  WHEN TRUE THEN 'yes'" in other.to_sql()
    assert "return 'yes' if total(row) > 712 else 'no'" in other.to_python()


def test_exports_add_up_the_rescaled_points() -> None:
    expected = SCALED.totals(ROWS).tolist()
    functions: dict[str, Any] = {}
    exec(SCALED.to_python(), functions)
    assert [functions["total"](row) for row in ROWS.to_dict("records")] == expected
    for types in ("any", "declared"):
        query = f"SELECT {SCALED.to_sql(types=types, output='total')}, {SCALED.to_sql(types=types)} FROM ROWS"
        result = duckdb.query_df(ROWS, "ROWS", query).fetchall()
        assert result == list(zip(expected, SCALED.predict(ROWS).tolist(), strict=True))
    card = ElementTree.fromstring(SCALED.to_pmml()).find("{*}Scorecard")
    assert card is not None
    assert card.get("initialScore") == str(SCALED.base[0])
    parts = [part.findall("{*}Attribute") for part in card.findall("{*}Characteristics/{*}Characteristic")]
    points = [[float(item.get("partialScore", "")) for item in part] for part in parts]
    ends = [float(SCALED.base[0]) + sum(map(end, points)) for end in (min, max)]
    assert ends == [438, 548]
