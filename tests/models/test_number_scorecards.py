"""Scorecards of a number: what totals are, on every engine, in Python, in files, words and pictures."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from matplotlib.axes import Axes

import hedgerow as hr
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.models import AttributePoints, Scorecard
from hedgerow.models.dialects import DIALECTS
from hedgerow.schema import Boolean, Date, Number, Schema
from tests.models.hostile import HOSTILE, HOSTILE_VALUE
from tests.models.markup import Markup
from tests.models.scorecards import AGE, ATTRIBUTES, CARD, NONE, SMOKER, WARD
from tests.models.sql_engines import SqlEngine, generated
from tests.models.strategies import Case, added_up, cases, number_scorecards

DAYS = Schema(ATTRIBUTES, Number("days", 2, 32))
STAY = Scorecard(DAYS, (7,), (AGE, WARD, SMOKER), 1.5, 0.75, CARD)
ROWS = pa.table(
    {
        "age": [20.0, 44.0, 61.0, None],
        "ward": ["surgery", "day clinic", "ambulance", ""],
        "smoker": ["0", "TRUE", "1", "false"],
    }
)


def expected(card: Scorecard, total: int) -> float:
    """The lowest value and so much for each point, in the bounds: as float64 has it, where that is within."""
    number = card.schema.target.as_number
    assert number is not None
    exact = Fraction(number.low) + Fraction(card.unit) * total
    if exact < Fraction(number.low):
        return number.low
    return number.high if exact > Fraction(number.high) * 2 + 1 else min(number.low + card.unit * total, number.high)


@given(case=cases(number_scorecards()))
def test_a_row_is_predicted_by_its_points_one_by_one(case: Case) -> None:
    result = case.model.predict(case.arrow()).tolist()
    assert result == [expected(case.model, added_up(case.model, row)[0]) for row in case.rows]
    assert list(case.model.outcomes) == sorted(case.model.outcomes)
    assert set(result) <= set(case.model.outcomes)


@pytest.mark.hypothesis
def test_an_engine_gives_the_numbers_and_totals_that_predict_does(engine: SqlEngine) -> None:
    @generated(engine, {"case": cases(number_scorecards())})
    def check(case: Case) -> None:
        table, model = case.arrow(), case.model
        assert engine.select(model, table) == model.predict(table).tolist()
        query = f"SELECT {model.to_sql(engine.dialect, output='total')} AS p FROM t"
        assert [result for (result,) in engine.run(query, table)] == model.totals(table).tolist()


def test_a_value_without_a_bin_has_no_number(engine: SqlEngine) -> None:
    assert engine.select(STAY, ROWS) == [2.0, 27.5, 32.0, None]  # the ward is blank, and has no bin for it


def functions_of(model: Scorecard) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(model.to_python(), namespace)
    return namespace


@given(case=cases(number_scorecards()))
def test_the_functions_give_the_numbers_and_totals_that_predict_does(case: Case) -> None:
    result, table = functions_of(case.model), case.arrow()
    assert [result["predict"](row) for row in case.typed_rows] == case.model.predict(table).tolist()
    assert [result["total"](row) for row in case.typed_rows] == case.model.totals(table).tolist()


@given(card=number_scorecards())
def test_a_file_holds_the_same_scorecard(card: Scorecard) -> None:
    assert Scorecard.from_json(card.to_json()) == card


def hostile_card() -> Scorecard:
    schema = Schema({HOSTILE: Boolean(), "select": Boolean()}, Number(HOSTILE_VALUE.strip() + "<script>", 0, 10))
    parts = (AttributePoints(HOSTILE, ((2,), (-1,))), AttributePoints("select", ((0,), (-2,))))
    return Scorecard(schema, (3,), parts, 0.5, 0.1, hr.privacy.PrivacyCard.none("*/ drop table t; /*"))


def test_hostile_names_are_quoted(engine: SqlEngine) -> None:
    table = pa.table({HOSTILE: [True, False], "select": [True, False]})
    assert engine.select(hostile_card(), table) == hostile_card().predict(table).tolist() == [0.0, 2.5]


def test_hostile_names_are_escaped_in_pages_and_do_not_run() -> None:
    assert "<script>" not in hostile_card().to_page().lower()
    rows = {HOSTILE: True, "select": False}
    assert functions_of(hostile_card())["predict"](rows) == hostile_card().explain(rows)["prediction"] == 1.0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_can_parse_the_expression(dialect: Any) -> None:
    import sqlglot

    result = sqlglot.parse_one(f"SELECT {STAY.to_sql(dialect)} AS p FROM t", read=dialect)
    assert {column.name for column in result.find_all(sqlglot.exp.Column)} == {"age", "ward", "smoker"}


def test_the_text_states_the_value_of_a_point() -> None:
    lines = str(STAY).splitlines()[-20:]
    assert lines[:7] == [
        "base                        7",
        "",
        "days = 2 + 1.5 * total, at least 2 and at most 32.",
        "",
        "total  days  95 % (noise only)",
        "    0     2           2 to 3.5",
        "    2     5         3.5 to 6.5",
    ]
    assert lines[-5:-3] == ["   20    32         30.5 to 32", "   21    32         30.5 to 32"]


def test_a_row_is_explained_by_its_points() -> None:
    result = STAY.explain({"age": 44, "ward": "day clinic", "smoker": True})
    assert [(item["attribute"], item["points"]) for item in result["points"]] == [
        ("smoker", 7),
        ("ward", 6),
        ("age", -3),
    ]
    assert (result["base"], result["total"], result["prediction"]) == (7, 17, 27.5)
    assert "probabilities" not in result
    decisions = STAY.decisions(ROWS.slice(0, 3))
    assert decisions.classes == [2.0, 27.5, 32.0]
    assert decisions.reasons["total"].tolist() == [-7, 17, 26]
    assert list(decisions.explained()) == ["explanation"]


def test_totals_are_listed_with_their_numbers_and_the_interval_by_noise() -> None:
    assert STAY.risks()[1] == {"total": 2, "prediction": 5.0, "low": 3.5, "high": 6.5}  # ± 1.96 · .75
    points, meaning = STAY.listings()
    assert points.columns == ("attribute", "bin", "points")
    assert meaning.columns == ("total", "prediction", "low", "high")
    texts = Markup(STAY.to_html()).texts
    assert texts[0] == "Points for days"
    assert "days = 2 + 1.5 * total, at least 2 and at most 32." in texts


def test_a_number_has_no_probabilities_and_no_decisions() -> None:
    for ask in (STAY.predict_proba, STAY.decide):
        with pytest.raises(SchemaError, match="classes"):
            ask(ROWS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unit": 0}, "unit must be a number above 0, at most 30, got 0"),
        ({"unit": float("nan")}, "unit must be a number above 0"),
        ({"unit": 31}, "unit must be a number above 0, at most 30, got 31"),
        ({"unit": 2e-5}, "unit must be at least a 1,000,000th of the number's range"),
        ({"unit": True}, "unit must be a number"),
        ({"error": -1}, "error must be a number of at least 0"),
        ({"base": (1, 2)}, "base must have 1 number for a number, got 2"),
    ],
)
def test_invalid_scorecards_of_a_number_fail(change: dict, message: str) -> None:
    fields = {"schema": DAYS, "base": (0,), "parts": (AGE,), "unit": 1.0, "error": None, "privacy": NONE}
    with pytest.raises(ArgumentError, match=message):
        Scorecard(**(fields | change))


def test_the_most_totals_are_a_million_and_all_beyond_is_the_bound() -> None:
    """0.1 and 0.3 are no float64: the last total within the bounds is found in whole numbers, then in float64."""
    schema = Schema({"a": Boolean()}, Number("x", 0.1, 0.3))
    card = Scorecard(schema, (0,), (AttributePoints("a", ((-(10**6),), (10**6,))),), 2.1e-7, None, NONE)
    assert card.predict(np.array([[0], [1]])).tolist() == [0.1, 0.3]
    assert len(card.outcomes) < 10**6
    assert max(np.diff(card.outcomes)) < 2.2e-7


@pytest.fixture
def agg() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        plt.close("all")
        yield
        plt.close("all")


@pytest.mark.usefixtures("agg")
def test_the_plot_has_steps_for_ordered_bins_and_bars_for_others() -> None:
    axes: Axes = STAY.plot()
    (curve,) = [patch for patch in axes.patches if isinstance(patch, mpl.patches.StepPatch)]
    values, edges, _ = curve.get_data()
    assert values.tolist() == [-12, -3, 11]  # 31 to 45 and 46 to 60 have the same points; missing is not in order
    assert edges.tolist() == [-0.5, 0.5, 1.5, 2.5]
    bars = [bar.get_width() for container in axes.containers for bar in container]
    assert bars == [0, -2, 7, 0, 0, 6, 1]  # the missing age, then smoker and ward
    assert axes.get_xlabel() == "points for days"
    assert STAY.form().texts[0].get_text() == "Points for days"


def test_a_serial_day_that_is_nan_is_missing_in_sql(engine: SqlEngine) -> None:
    date = Date("1969-11-15", "1970-01-01", cuts=("1969-12-31",), missing="bin", format="excel")
    schema = Schema({"day": date}, Number("number", 0, 2000))
    card = Scorecard(
        schema, (1,), (AttributePoints("day", ((0,), (0,), (-1,))),), unit=2000.0, error=None, privacy=STAY.privacy
    )
    table = pa.table({"day": pa.array([float("nan"), 25538.0], pa.float64())})
    assert engine.select(card, table) == card.predict(table).tolist() == [0.0, 2000.0]
