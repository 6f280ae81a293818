from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hedgerow.models.plot import leaf_bars

LEAVES = ["1. age <= 30 → no", "2. otherwise → yes"]
COUNTS = np.array([[90, -3, 4], [40, 60, -1]])
CLASSES = ["no", "yes", "$un$ure_"]


@pytest.fixture(autouse=True)
def agg() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        yield
        plt.close("all")


def bars(axes: Axes) -> list[list[tuple[float, float]]]:
    """Return where each bar starts and how long it is, by class and leaf."""
    return [[(bar.get_x(), bar.get_width()) for bar in container.patches] for container in axes.containers]


def test_there_is_one_bar_a_rule_and_class_and_negative_counts_are_zero() -> None:
    axes = leaf_bars(LEAVES, COUNTS, CLASSES, "caption", None)
    assert bars(axes) == [[(0, 90), (0, 40)], [(90, 0), (40, 60)], [(90, 4), (100, 0)]]


def test_given_axes_are_drawn_on_and_no_figure_is_opened() -> None:
    import matplotlib.pyplot as plt

    axes = Figure().subplots()
    assert leaf_bars(LEAVES, COUNTS, CLASSES, "caption", axes) is axes
    assert len(axes.containers) == 3
    assert plt.get_fignums() == []


def test_closing_the_figure_leaves_none_open() -> None:
    import matplotlib.pyplot as plt

    axes = leaf_bars(LEAVES, COUNTS, CLASSES, "caption", None)
    assert len(plt.get_fignums()) == 1
    plt.close(axes.figure)
    assert plt.get_fignums() == []


def test_the_first_rule_is_on_top_and_everything_is_named() -> None:
    axes = leaf_bars(LEAVES, COUNTS, ["no", "yes", "unsure"], "none (example)", None)
    bottom, top = axes.get_ylim()
    assert top < bottom
    assert [label.get_text() for label in axes.get_yticklabels()] == LEAVES
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["no", "yes", "unsure"]
    assert axes.get_title(loc="right") == "none (example)"
    assert axes.get_xlabel() == "released rows"


def test_names_with_dollar_signs_are_drawn_as_they_are() -> None:
    # "$x^$" read as mathematics is a syntax error when the figure is drawn
    axes = leaf_bars(["pay $x^$ → $1$", "otherwise"], COUNTS, CLASSES, "none ($^$)", None)
    axes.figure.canvas.draw()
    texts = [*axes.get_yticklabels(), *axes.get_legend().get_texts(), axes.title]
    assert all(text.get_text().replace(r"\$", "").count("$") == 0 for text in texts)


@pytest.mark.skipif(mpl.__version_info__ < (3, 10), reason="before it, matplotlib left such labels out of any legend")
def test_classes_that_start_with_an_underscore_are_in_the_legend() -> None:
    axes = leaf_bars(LEAVES, COUNTS, ["_a", "_b", "c"], "caption", None)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["_a", "_b", "c"]


def test_long_rules_are_wrapped_and_leave_room_for_the_bars() -> None:
    long = " and ".join(f"household_income_before_tax_{i} <= 250000" for i in range(6))
    axes = leaf_bars([long, "x" * 500], COUNTS, CLASSES, "caption", None)
    axes.figure.canvas.draw()
    assert max(len(line) for label in axes.get_yticklabels() for line in label.get_text().split("\n")) <= 60


def test_there_are_colours_for_any_number_of_classes() -> None:
    axes = leaf_bars(["otherwise"], np.ones((1, 12), dtype=int), list("abcdefghijkl"), "caption", None)
    assert bars(axes)[-1] == [(11, 1)]
    axes.figure.canvas.draw()
