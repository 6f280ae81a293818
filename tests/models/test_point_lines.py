"""Lines of printed scorecards, and losses of points that the noise alone can make."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models import AttributePoints, Scorecard
from hedgerow.models.point_lines import PointLine, PointTable, point_lines
from hedgerow.models.points import certain_losses, point_bins
from hedgerow.schema import Boolean, Categorical, Integer, Label, Schema
from hedgerow.schema.attributes import Attribute
from tests.models.scorecards import NOISY, NONE, TWO
from tests.models.strategies import Case, cases, scorecards

AGE = Integer(17, 90, cuts=(30, 45, 60), missing="bin")
JOBS = Categorical(("a", "b", "c", "d"), missing="bin", outside="bin")


def lines_of(attribute: Attribute, points: list[int], errors: list[float] | None, *without: int) -> list[PointLine]:
    rows = None if errors is None else tuple((error,) for error in errors)
    part = AttributePoints("x", tuple((point,) for point in points), rows, without)
    return list(point_lines(part, point_bins(part, attribute)))


def test_intervals_with_equal_points_have_their_largest_error() -> None:
    young, old, missing = lines_of(AGE, [1, 1, 3, 3, 0], [0.5, 0.1, 0.2, 9.0, 0.0], 3)
    assert [item.labels for item in (young, old, missing)] == [["17 to 45"], ["46 to 90"], ["missing"]]
    assert [item.errors for item in (young, old, missing)] == [(0.5,), (0.2,), (0.0,)]
    assert [item.intervals for item in (young, old, missing)] == [["±1"], ["±1"], ["±0"]]
    assert [item.is_supported for item in (young, old, missing)] == [True] * 3


def test_missing_and_other_values_have_lines_separate_from_categories() -> None:
    result = lines_of(JOBS, [2, 0, 2, 2, 2, 0], [0.5, 0.1, 0.9, 7.0, 0.3, 0.1], 3, 5)
    assert [item.labels for item in result] == [["a", "c", "d*"], ["b"], ["missing"], ["outside"]]
    assert [item.words for item in result] == ["a, c, d*", "b", "missing", "any other value"]
    assert [item.errors for item in result] == [(0.9,), (0.1,), (0.3,), (0.1,)]
    assert [item.intervals for item in result] == [["±2"], ["±1"], ["±1"], ["too few rows"]]
    assert result[0].label(5) == "a and 2 more"


def test_without_known_errors_there_are_no_intervals() -> None:
    result = lines_of(JOBS, [2, 0, 2, 2, 2, 0], None, 1)
    assert [item.intervals for item in result] == [[""], ["too few rows"], [""], [""]]
    assert [item.margins for item in result] == [None] * 4


def test_names_cannot_break_a_line_or_pass_for_two_names() -> None:
    values = ("a, b", 'x"\ny', "\u202ec")
    result = lines_of(Categorical(values), [1, 1, 1], None)
    (line,) = result
    assert line.words == '"a, b", x"\\ny, \\u202ec'
    assert line.words.isprintable()


def test_records_have_the_ends_of_intervals() -> None:
    records = pd.DataFrame(NOISY.get_points())
    assert list(records) == ["attribute", "bin", "points", "low", "high", "rows"]
    assert records["rows"].iloc[:4].tolist() == [210, 970, 430, -5]
    assert records[["points", "low", "high"]].iloc[:3].to_numpy().tolist() == [
        [-12, -16, -8],
        [-3, -4, -2],
        [11, 9, 13],
    ]
    assert records[["low", "high"]].iloc[3].isna().all()
    assert list(TWO.get_points()[0]) == ["attribute", "bin", "points"]
    titles = NOISY.listings()[0].columns
    assert titles == ("attribute", "bin", "points", "95 % (noise only)", "rows")
    assert NOISY.listings()[0].rows[0] == ("age", "17 to 30", -12, "±4", "about 210")


def test_the_size_counts_printed_lines() -> None:
    schema = Schema({"x": Categorical(("a", "b", "c"))}, Label("y", (0, 1)))
    card = Scorecard(schema, (0,), (AttributePoints("x", ((1,), (2,), (1,))),), 1, None, NONE)
    assert card.size.bins == 2


@given(case=cases(scorecards()))
def test_every_bin_is_in_one_line_with_its_points(case: Case) -> None:
    model = case.model
    assert isinstance(model, Scorecard)
    for part in model.parts:
        attribute, seen = model.schema[part.attribute], list[int]()
        for line in point_lines(part, point_bins(part, attribute)):
            places = [place for bin_ in line.bins for place in range(bin_.start, bin_.stop)]
            assert {part.points[place] for place in places} == {line.points}
            assert line.is_supported == any(place not in part.unsupported for place in places)
            seen += places
        assert sorted(seen) == list(range(attribute.n_bins))


# --- folded attributes ------------------------------------------------------------------------------------------------

QUIET, LOUD, CLEAR = ([0, 9], [9.0, 9.0]), ([0, 30], [9.0, 20.0]), ([0, 6], [9.0, 2.0])


def table_of(*attributes: tuple[list[int], list[float] | None]) -> PointTable:
    return PointTable(tuple(tuple(lines_of(Boolean(), *own)) for own in attributes))


def folded(table: PointTable, *most: int) -> list[int]:
    """Return the indices of the displayed attributes."""
    return [table.lines.index(lines) for lines in table.folded(*most).shown]


def test_points_may_be_noise_if_every_interval_includes_0() -> None:
    assert [all(line.may_be_noise for line in lines) for lines in table_of(QUIET, LOUD, CLEAR).lines] == [
        True,
        True,
        False,
    ]
    assert not any(line.may_be_noise for line in lines_of(Boolean(), [0, 9], None))
    assert [line.may_be_noise for line in lines_of(Boolean(), [5, 9], [1.0, 1.0], 1)] == [False, True]


def test_attributes_that_may_be_noise_are_folded_if_the_card_is_long() -> None:
    table = table_of(QUIET, CLEAR, LOUD, ([0, 7], [9.0, 2.0]))
    assert folded(table, 8) == [0, 1, 2, 3]
    assert folded(table, 8, 3) == folded(table, 7) == [1, 3]
    assert folded(table, 3) == folded(table, 7, 1) == [3]
    (remark,) = table.folded(7).remarks
    assert remark.startswith("2 of 4 attributes are folded, since all of their intervals include 0;")
    assert "smallest ranges" in table.folded(3).remarks[0]
    assert table.folded(8).remarks == []


def test_the_widest_attribute_is_shown_if_all_may_be_noise() -> None:
    assert folded(table_of(QUIET, LOUD, QUIET), 5) == [1]
    assert folded(table_of(([0, 9], None), ([0, -30], None), ([4, 9], None)), 4) == [0, 1]
    assert folded(PointTable(()), 5) == []


def test_only_the_folded_text_omits_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    full = str(NOISY)
    monkeypatch.setattr("hedgerow.models.scorecard.MOST_LINES", 9)
    lines = str(NOISY).splitlines()
    assert "ward" in NOISY.to_text() == full
    assert [line.split()[0] for line in lines[:6]] == ["attribute", "age", "31", "61", "missing", "smoker"]
    assert lines[8].split() == ["1", "more", "(folded)"]
    assert "1 of 3 attributes are folded" in lines[-1]


# --- losses within the noise -----------------------------------------------------------------------------------------


def loss(points: list[int], errors: list[float] | None, *without: int, highest: bool = True) -> set[int]:
    rows = None if errors is None else tuple((error,) for error in errors)
    part = AttributePoints("x", tuple((point,) for point in points), rows, without)
    return certain_losses(part, highest_is_best=highest)


def test_a_loss_counts_if_it_is_larger_than_the_noise_of_both_points() -> None:
    assert loss([10, 6, 0], None) == {6, 0}
    assert loss([10, 6, 0], [1.5, 1.5, 1.5]) == {0}  # 1.96 * 1.5 * sqrt(2) = 4.2
    assert loss([10, 6, 0], [1.4, 1.4, 1.4]) == {6, 0}  # 3.9
    assert loss([10, 6, 0], [9.0, 0.0, 0.0]) == set()
    assert loss([10, 6, 0], [1.5, 1.5, 1.5], highest=False) == {10, 6}


def test_bins_with_too_few_rows_are_no_reason_and_no_baseline() -> None:
    assert loss([10, 6, 0], [0.1, 0.1, 0.1], 2) == {6}
    assert loss([10, 6, 0], [0.1, 0.1, 0.1], 0) == {0}
    assert loss([10, 6, 0], [0.1, 0.1, 0.1], 0, 1, 2) == set()
    assert loss([10, 6, 6], [0.1, 9.0, 0.1], 1) == {6}  # known as well as the bin that has rows


def test_reasons_within_the_noise_are_not_named() -> None:
    schema = Schema({name: Boolean() for name in "abcdef"}, Label("y", (0, 1)))
    loud = {"a": 30, "b": 20, "c": 10, "d": 8, "e": 6, "f": 4}
    parts = tuple(
        AttributePoints(name, ((0,), (points,)), ((20.0,), (20.0,)) if name in "ac" else ((0.1,), (0.1,)))
        for name, points in loud.items()
    )
    card = Scorecard(schema, (0,), parts, 1, None, NONE)
    rows = pd.DataFrame({name: [False, True] for name in schema})
    assert card.reasons(rows).tolist() == [["b", "d", None, None], [None] * 4]
    document = card.to_pmml()
    assert document.count('partialScore="0" reasonCode="(within the noise, 1)"') == 1  # of a
    assert document.count('partialScore="0" reasonCode="(within the noise, 3)"') == 1  # of c
    assert document.count("(within the noise") == 2


def test_bins_with_too_few_rows_are_no_reason_with_borrowed_points() -> None:
    schema = Schema({"job": Categorical(("a", "b", "c")), "x": Boolean(missing="bin")}, Label("y", (0, 1)))
    parts = (
        AttributePoints("job", ((5,), (-5,), (-5,)), ((0.1,),) * 3, (2,)),
        AttributePoints("x", ((-4,), (-9,), (0,)), ((0.1,),) * 3, (2,)),
    )
    card = Scorecard(schema, (0,), parts, 1, None, NONE)
    rows = pd.DataFrame({"job": ["b", "c", "c"], "x": [True, True, None]})
    assert card.reasons(rows).tolist() == [["job", "x", None, None], ["x", None, None, None], [None] * 4]
    document = card.to_pmml()
    assert document.count('partialScore="-5" reasonCode="(too few rows, 1)"') == 1
    assert document.count('partialScore="0" reasonCode="(too few rows, 2)"') == 1
    assert 'reasonCode="x" baselineScore="-4"' in document  # the best of the bins that have rows


@pytest.mark.parametrize("highest", [True, False])
@given(data=st.data())
def test_every_loss_that_counts_is_one_without_noise(data: st.DataObject, highest: bool) -> None:
    points = data.draw(st.lists(st.integers(-20, 20), min_size=2, max_size=6))
    errors = data.draw(st.lists(st.floats(0, 20), min_size=len(points), max_size=len(points)))
    assert loss(points, errors, highest=highest) <= loss(points, None, highest=highest)
    assert loss(points, list(np.zeros(len(points))), highest=highest) == loss(points, None, highest=highest)
