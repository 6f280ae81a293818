"""Points by bin, and which bins are shown as one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models.points import AttributePoints, extreme_totals, one_row, point_bins, whole_points
from hedgerow.schema import Boolean, Categorical, Integer, Real
from hedgerow.schema.attributes import Attribute
from tests.models.strategies import attributes


def bins_of(attribute: Attribute, *points: int) -> list[tuple[str, str, int]]:
    """Return name, words and points of the bins that are shown."""
    part = AttributePoints("x", tuple((item,) for item in points))
    return [(item.name, item.words, item.points[0]) for item in point_bins(part, attribute)]


@pytest.mark.parametrize(
    ("attribute", "points", "expected"),
    [
        (
            Integer(17, 90, cuts=(30, 45, 60), missing="bin", outside="bin"),
            (1, 1, 2, 1, 1, 1),
            [
                ("[17, 45]", "17 to 45", 1),
                ("(45, 60]", "46 to 60", 2),
                ("(60, 90]", "61 to 90", 1),
                ("missing", "missing", 1),
                ("outside", "any other value", 1),
            ],
        ),
        (
            Integer(0, 9, cuts=(0, 1, 5), outside="clip"),
            (1, 2, 3, 4),
            [("[0, 0]", "0", 1), ("(0, 1]", "1", 2), ("(1, 5]", "2 to 5", 3), ("(5, 9]", "6 and more", 4)],
        ),
        (Integer(0, 9, cuts=(0, 8)), (1, 2, 3), [("[0, 0]", "0", 1), ("(0, 8]", "1 to 8", 2), ("(8, 9]", "9", 3)]),
        (Integer(0, 9, cuts=(5,), outside="clip"), (1, 1), [("[0, 9]", "0 to 9", 1)]),
        (
            Real(0, 9, cuts=(5, 6)),
            (1, 2, 3),
            [("[0, 5]", "up to 5", 1), ("(5, 6]", "over 5, up to 6", 2), ("(6, 9]", "over 6", 3)],
        ),
        (Real(0, 1.5, cuts=(0.25,)), (3, 3), [("[0, 1.5]", "0 to 1.5", 3)]),
        (Integer(0, 9, cuts=()), (2,), [("[0, 9]", "0 to 9", 2)]),
        (Categorical(("a", 7)), (1, 1), [("a", "a", 1), ("7", "7", 1)]),
        (Categorical(("missing",), missing="bin"), (1, 2), [("missing", "missing", 1), ("missing", "missing", 2)]),
        (Boolean(missing="bin"), (0, 4, 0), [("false", "no", 0), ("true", "yes", 4), ("missing", "missing", 0)]),
    ],
)
def test_neighbouring_intervals_with_the_same_points_are_one(
    attribute: Attribute, points: tuple, expected: list
) -> None:
    assert bins_of(attribute, *points) == expected


@given(attribute=attributes(), data=st.data())
def test_the_bins_that_are_shown_are_all_bins_once(attribute: Attribute, data: st.DataObject) -> None:
    points = data.draw(st.lists(st.integers(0, 1), min_size=attribute.n_bins, max_size=attribute.n_bins))
    part = AttributePoints("x", tuple((point,) for point in points))
    shown = point_bins(part, attribute)
    assert [place for point in shown for place in range(point.start, point.stop)] == list(range(attribute.n_bins))
    assert all(part.points[place] == point.points for point in shown for place in range(point.start, point.stop))
    assert len({point.name for point in shown}) == len(shown)


def test_points_are_pythons_whole_numbers() -> None:
    assert AttributePoints("x", np.array([[1], [-2]])) == AttributePoints("x", ((1,), (-2,)))  # type: ignore[arg-type]
    assert whole_points([np.int8(3), 4]) == (3, 4)


@pytest.mark.parametrize("values", [(), 3, "3", (0.5,), (True,), (None,), {1: 2}, [float("nan")]])
def test_points_that_are_not_whole_numbers_fail(values: object) -> None:
    with pytest.raises(ValueError, match=r"^points .*whole numbers"):
        whole_points(values)


def test_an_attribute_is_text_and_has_rows_of_points() -> None:
    with pytest.raises(TypeError, match=r"^attribute must be text, got 3"):
        AttributePoints(3, ((1,),))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^points .*got 'abc'"):
        AttributePoints("x", "abc")  # type: ignore[arg-type]


def test_extreme_totals_take_the_worst_bin_of_each_attribute() -> None:
    parts = AttributePoints("x", ((-3, 0), (5, 1))), AttributePoints("y", ((2, 2), (4, -9)))
    assert extreme_totals((10, 0), parts) == [(10 - 3 + 2, 10 + 5 + 4), (0 + 0 - 9, 0 + 1 + 2)]


def test_a_mapping_is_a_table_of_one_row_of_the_columns_that_are_used() -> None:
    table = one_row({"b": None, "a": 3, "c": object()}, ["a", "b", "d"])
    assert table.to_pydict() == {"a": [3], "b": [None]}
    assert one_row("anything else", ["a"]) == "anything else"


def test_rows_come_with_their_noise() -> None:
    part = AttributePoints("x", ((1,), (-2,), (0,)), rows=(300, -4, 12), rows_error=10)
    assert (part.rows, part.rows_error) == ((300, -4, 12), 10.0)
    assert [part.support([place]).cell for place in range(3)] == ["about 300", "at most 20", "at most 40"]
    assert part.support([0, 1]).cell == "about 300"
    assert AttributePoints("x", ((1,),), rows=(-3,), rows_error=0).support([0]).cell == "0"
    assert AttributePoints("x", ((1,),)).support([0]).rows is None


@pytest.mark.parametrize("rows", [(1,), (1, 2, 3), (1.5, 2), (True, 2), "12", (1, 2**54), None], ids=repr)
def test_rows_of_another_form_are_refused(rows: object) -> None:
    with pytest.raises(ValueError, match=r"^rows must have a whole number"):
        AttributePoints("x", ((1,), (-2,)), rows=rows, rows_error=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [None, -1.0, float("nan"), float("inf"), True, "1"], ids=repr)
def test_noise_of_rows_that_is_no_standard_deviation_is_refused(error: object) -> None:
    with pytest.raises(ValueError, match=r"^rows_error must be a number from 0"):
        AttributePoints("x", ((1,), (-2,)), rows=(1, 2), rows_error=error)  # type: ignore[arg-type]


def test_errors_have_the_shape_of_the_points() -> None:
    part = AttributePoints("x", ((1, 0), (-2, 3)), np.array([[0.5, 1], [0, 2]]), np.array([1]))  # type: ignore[arg-type]
    assert (part.errors, part.unsupported) == (((0.5, 1.0), (0.0, 2.0)), (1,))
    assert AttributePoints("x", ((1,),)) == AttributePoints("x", ((1,),), None, ())


@pytest.mark.parametrize(
    "errors",
    [
        (),
        ((0.5,),),
        ((0.5,), (0.5, 1.0)),
        (0.5, 1.0),
        3,
        "ab",
        *(((x,), (1.0,)) for x in (-1, np.nan, np.inf, 10**399, True, "")),
    ],
)
def test_errors_of_another_shape_or_below_0_are_refused(errors: object) -> None:
    with pytest.raises(ValueError, match=r"^errors must have a number from 0"):
        AttributePoints("x", ((1,), (-2,)), errors)  # type: ignore[arg-type]


@pytest.mark.parametrize("places", [(2,), (-1,), (1, 0), (0, 0), (0.0,), 1, "0", (True,)])
def test_unsupported_bins_are_rising_places_of_bins(places: object) -> None:
    with pytest.raises(ValueError, match=r"places of the 2 bins in rising order|must be a tuple of whole numbers"):
        AttributePoints("x", ((1,), (-2,)), unsupported=places)  # type: ignore[arg-type]
