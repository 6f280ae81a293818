"""Bars of points by bin."""

from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from hedgerow.models import AttributePoints, Scorecard
from hedgerow.models.plot import colour, points_plot
from hedgerow.models.point_lines import PointLine, point_lines
from hedgerow.models.points import point_bins
from hedgerow.schema import Categorical, Integer, Label, Schema
from tests.models.scorecards import NOISY, NONE, THREE, TWO


def lines(name: str, points: dict[str, int]) -> tuple[PointLine, ...]:
    """Return the lines of an attribute of categories."""
    part = AttributePoints(name, tuple((point,) for point in points.values()))
    return point_lines(part, point_bins(part, Categorical(tuple(points))))


GROUPS = [lines("a", {"low": 1, "high": 3}), lines("$b_$", {"no": 0, "yes": -5})]


@pytest.fixture(autouse=True)
def agg() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        plt.close("all")  # of tests before this one
        yield
        plt.close("all")


def widths(axes: Axes) -> list[list[float]]:
    bars = [item for item in axes.containers if isinstance(item, BarContainer)]
    return [[bar.get_width() for bar in container] for container in bars]


def steps(axes: Axes) -> list[StepPatch]:
    return [patch for patch in axes.patches if isinstance(patch, StepPatch)]


def test_the_attribute_whose_points_differ_most_comes_first() -> None:
    axes = points_plot(GROUPS, ["points"], "the points", "caption")
    assert widths(axes) == [[0, -5], [1, 3]]
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"\$b_\$: no", "yes", "a: low", "high"]
    assert axes.get_xlabel() == "the points"
    assert axes.get_title(loc="left") == "caption"
    bottom, top = axes.get_ylim()
    assert top < bottom


def test_bars_have_the_colour_of_the_class_that_points_favour() -> None:
    axes = points_plot(GROUPS, ["points"], "the points", "caption")
    result = [mpl.colors.to_hex(bar.get_facecolor()).upper() for container in axes.containers for bar in container]
    assert result[1:] == [colour(0), colour(1), colour(1)]


def test_a_plot_folds_attributes_and_its_caption_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.models.plot._MOST_ATTRIBUTES", 1)
    axes = NOISY.plot()
    assert axes.get_yticklabels()[0].get_text() == "age: 17 to 30"
    assert len(axes.get_yticklabels()) == 4
    assert "2 of 3 attributes are folded" in axes.get_title(loc="left")


def test_the_height_of_a_plot_is_limited_for_any_number_of_classes() -> None:
    for n_classes in (2, 3, 7):
        n = 1 if n_classes == 2 else n_classes
        schema = Schema({f"x{i}": Integer(1, 20) for i in range(12)}, Label("y", tuple(range(n_classes))))
        parts = tuple(AttributePoints(name, ((1,) * n, (2,) * n) * 10) for name in schema)
        card = Scorecard(schema, (0,) * n, parts, 1, None, NONE)
        assert 10 < card.plot().figure.get_size_inches()[1] < 15


def test_three_classes_have_three_bars_a_bin_and_a_legend() -> None:
    axes = THREE.plot()
    assert sum(patch.get_data().values.tolist() == [0, 2] for patch in steps(axes)) == 1  # of the dose, in order
    assert [len(width) for width in widths(axes) if width] == [3, 3, 3]
    assert [0, 3, 0] in widths(axes)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["home", "intensive care", "ward"]
    axes.figure.canvas.draw()
    page, tight = axes.figure.bbox, axes.figure.get_tightbbox().transformed(axes.figure.dpi_scale_trans)
    assert tight.x0 >= page.x0
    assert tight.x1 <= page.x1


def test_a_scorecard_is_drawn_with_its_guarantee_on_the_axes_given() -> None:
    axes = Figure().subplots()
    assert TWO.plot(axes) is axes
    assert axes.get_title(loc="left") == TWO.privacy.headline
    bars = sorted(width for container in widths(axes) for width in container)
    assert bars == sorted([0, 0, 1, 6, -2, 0, 7])  # of age, the missing ones alone: its intervals are steps
    (curve,) = steps(axes)
    assert curve.get_data().values.tolist() == [-12, -3, 11]


def test_intervals_are_bands_along_an_order_and_error_bars_elsewhere() -> None:
    axes = NOISY.plot()
    bands = {
        (patch.get_x(), patch.get_width()) for patch in axes.patches if patch.get_alpha() and patch.get_height() == 1
    }
    assert bands == {(-16, 8), (-4, 2), (9, 4)}
    starts = [bar.lines[0].get_xdata()[0] for bar in axes.containers if isinstance(bar, ErrorbarContainer)]
    assert sorted(starts) == [-2, 0, 0, 1, 6, 7]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert "missing (too few rows)" in labels
    assert axes.get_xlabel() == "points: < 0 favours no, > 0 favours yes; intervals: 95 % (noise only)"
    assert TWO.plot().get_xlabel() == "points: < 0 favours no, > 0 favours yes"


def test_points_of_a_scaled_card_speak_for_the_favourable_class() -> None:
    axes = TWO.scaled(pdo=20, score=600, odds=50, favourable="no").plot()
    assert axes.get_xlabel() == "points: < 0 favours yes, > 0 favours no"


def test_without_attributes_there_are_no_bars() -> None:
    assert widths(points_plot([], ["points"], "", "caption")) in ([], [[]])


def test_too_many_bars_are_refused() -> None:
    group = lines("x", {str(i): i for i in range(501)})
    with pytest.raises(ValueError, match=r"500 bars .*got 501"):
        points_plot([group], ["points"], "", "caption")


def test_long_names_leave_room_for_bars_and_are_on_the_page() -> None:
    group = lines("household income before tax " * 9, {f"{'between this and that ' * 9}{i}": i for i in range(4)})
    axes = points_plot([group], ["x"], "points " * 40, "caption " * 60)
    axes.figure.canvas.draw()
    page, tight = axes.figure.bbox, axes.figure.get_tightbbox().transformed(axes.figure.dpi_scale_trans)
    assert page.x0 <= tight.x0
    assert tight.x1 <= page.x1
    assert axes.get_window_extent().width > 0.3 * page.width
