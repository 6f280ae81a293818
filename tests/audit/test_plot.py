from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from hedgerow.audit import Membership, Overfit
from hedgerow.audit.inference.membership import FPR
from hedgerow.audit.plot import risk_curve

OVERFIT = Overfit(("no", "$yes$"), ("1. age <= 30", "2. otherwise"), ((1, 6), (9, 4)), ((2, 2), (8, 3)))
CURVES = Membership("Tree", "guess", (70, 70, 30, 30), np.array([FPR, FPR**0.5, FPR**0.9]), np.array([0.5, 0.6, 0.55]))


@pytest.fixture(autouse=True)
def agg():
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        yield
        plt.close("all")


def test_there_is_a_bar_for_each_leaf_and_class_in_train_and_in_test():
    axes = OVERFIT.plot()
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    assert widths == [[0.1, 0.9], [0.2, 0.8], [0.6, 0.4], [0.4, 0.6]]
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["no (tau = 0.100)", r"\$yes\$ (tau = 0.200)", "train", "test"]
    assert axes.get_xlabel() == "share of the rows of its class"
    assert "eyes only" in axes.get_title(loc="right").replace("\n", " ")


def test_the_plot_has_curve_band_and_diagonal_on_log_axes():
    axes = CURVES.plot()
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    lines = {line.get_label(): line for line in axes.get_lines()}
    np.testing.assert_allclose(lines["mean"].get_ydata(), CURVES.tpr)
    np.testing.assert_array_equal(lines["random guessing"].get_xdata(), lines["random guessing"].get_ydata())
    assert axes.collections[0].get_label() == "90 % of 3 splits"
    caption = axes.get_title(loc="left").replace("\n", " ")
    assert "on Tree. 3 random splits, each into 100 members" in caption
    assert "false positive rate" in axes.get_xlabel()
    assert "true positive rate" in axes.get_ylabel()


@pytest.mark.parametrize("result", [OVERFIT, CURVES])
def test_given_axes_are_drawn_on_and_no_figure_is_opened(result):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    axes = Figure().subplots()
    assert result.plot(axes) is axes
    axes.figure.canvas.draw()
    assert plt.get_fignums() == before


@pytest.mark.parametrize(("low", "bound"), [(0.0025, 0.05), (0.25, 1.0), (1e-5, 0.5), (0.0, 1e-3)])
def test_labels_of_risks_do_not_overlap_whatever_their_range(low, bound):
    narrow = Figure(figsize=(4.3, 4.2)).add_subplot()
    axes = risk_curve(np.linspace(low, bound / 2, 50), bound / 2, bound, "caption", narrow)
    axes.figure.canvas.draw()
    labels = [*axes.get_xticklabels(), *axes.get_xticklabels(minor=True)]
    left, right = axes.get_xlim()
    boxes = [
        label.get_window_extent() for label in labels if label.get_text() and left <= label.get_position()[0] <= right
    ]
    boxes.sort(key=lambda box: box.x0)
    assert len(boxes) >= 2
    assert all(box.x1 < following.x0 for box, following in pairwise(boxes))
