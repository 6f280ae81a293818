"""Bars of points by bin."""

from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hedgerow.models.plot import Group, colour, points_bars
from tests.models.scorecards import THREE, TWO

GROUPS: list[Group] = [("a", [("low", (1,)), ("high", (3,))]), ("$b_$", [("no", (0,)), ("yes", (-5,))])]


@pytest.fixture(autouse=True)
def agg() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        plt.close("all")  # of tests before this one
        yield
        plt.close("all")


def widths(axes: Axes) -> list[list[float]]:
    return [[bar.get_width() for bar in container] for container in axes.containers]


def test_the_attribute_whose_points_differ_most_comes_first() -> None:
    axes = points_bars(GROUPS, ["n", "y"], "caption")
    assert widths(axes) == [[0, -5, 1, 3]]
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"\$b_\$  no", "yes", "a  low", "high"]
    assert axes.get_xlabel() == "points: below 0 for n, above 0 for y"
    assert axes.get_title(loc="left") == "caption"
    bottom, top = axes.get_ylim()
    assert top < bottom


def test_colours_are_those_of_the_class_that_points_speak_for() -> None:
    axes = points_bars(GROUPS, ["n", "y"], "caption")
    found = [mpl.colors.to_hex(bar.get_facecolor()).upper() for bar in axes.containers[0]]
    assert found[1:] == [colour(0), colour(1), colour(1)]


def test_attributes_that_are_left_out_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.models.plot.MOST_ATTRIBUTES", 1)
    axes = points_bars(GROUPS, ["n", "y"], "caption")
    assert widths(axes) == [[0, -5]]
    assert axes.get_title(loc="left") == "the 1 of 2 attributes whose points differ most; caption"


def test_three_classes_have_three_bars_a_bin_and_a_legend() -> None:
    axes = THREE.plot()
    assert [len(one) for one in widths(axes)] == [5, 5, 5]
    assert widths(axes)[1][:2] == [0, 2]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["home", "intensive care", "ward"]
    axes.figure.canvas.draw()
    page, tight = axes.figure.bbox, axes.figure.get_tightbbox().transformed(axes.figure.dpi_scale_trans)
    assert tight.x0 >= page.x0
    assert tight.x1 <= page.x1


def test_a_scorecard_is_drawn_with_its_guarantee_on_the_axes_given() -> None:
    axes = Figure().subplots()
    assert TWO.plot(axes) is axes
    assert axes.get_title(loc="left") == "epsilon-differential privacy with epsilon = 1"
    assert sorted(widths(axes)[0]) == sorted(record["points"] for record in TWO.get_points())


def test_without_attributes_there_are_no_bars() -> None:
    assert widths(points_bars([], ["n", "y"], "caption")) in ([], [[]])


def test_too_many_bars_are_refused() -> None:
    group: Group = ("x", [(str(i), (i,)) for i in range(501)])
    with pytest.raises(
        ValueError, match=r"^expected at most 500 bars to draw, got 501; print the model, or export it\.$"
    ):
        points_bars([group], ["n", "y"], "caption")


def test_long_names_leave_room_for_bars_and_are_on_the_page() -> None:
    bins = [(f"{'between this and that ' * 9}{i}", (i,)) for i in range(4)]
    axes = points_bars([("household income before tax " * 9, bins)], ["no " * 20, "yes " * 20], "caption " * 60)
    axes.figure.canvas.draw()
    page, tight = axes.figure.bbox, axes.figure.get_tightbbox().transformed(axes.figure.dpi_scale_trans)
    assert page.x0 <= tight.x0
    assert tight.x1 <= page.x1
    assert axes.get_window_extent().width > 0.3 * page.width
