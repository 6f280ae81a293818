from collections.abc import Iterator
from io import BytesIO

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.models.plot import class_bars, drawable, leaf_bars, plain
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema
from tests.models.large_models import OF_NUMBERS, rule_list
from tests.models.large_models import SCHEMA as LISTED

LEAVES = ["1. age <= 30 → no", "2. otherwise → yes"]
COUNTS = np.array([[90, -3, 4], [40, 60, -1]])
CLASSES = ["no", "yes", "$un$ure_"]


@pytest.fixture(autouse=True)
def agg() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        plt.close("all")  # of tests before this one
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


def overlap(axes: Axes) -> bool:
    """Return whether the legend covers a bar."""
    axes.figure.canvas.draw()
    legend = axes.get_legend().get_window_extent()
    return any(legend.overlaps(bar.get_window_extent()) for bar in axes.patches if bar.get_width())


def inside(axes: Axes) -> bool:
    """Return whether all text is on the picture, whole."""
    page, tight = axes.figure.bbox, axes.figure.get_tightbbox().transformed(axes.figure.dpi_scale_trans)
    return tight.x0 >= page.x0 and tight.y0 >= page.y0 and tight.x1 <= page.x1 and tight.y1 <= page.y1


def test_a_leaf_without_counts_has_no_bar() -> None:
    axes = leaf_bars(LEAVES, np.array([[np.nan] * 3, [40, 60, -1]]), CLASSES, "caption", None)
    assert bars(axes) == [[(0, 0), (0, 40)], [(0, 0), (40, 60)], [(0, 0), (100, 0)]]


def test_without_counts_bars_show_only_the_colour_of_the_class() -> None:
    axes = class_bars(LEAVES, [2, 0], CLASSES, "caption", None)
    assert [bar.get_width() for bar in axes.patches] == [1, 1]
    patches = axes.get_legend().get_patches()
    assert [bar.get_facecolor() for bar in axes.patches] == [patches[2].get_facecolor(), patches[0].get_facecolor()]
    assert not axes.xaxis.get_visible()
    assert axes.get_ylim() == (1.5, -0.5)


@pytest.mark.parametrize("n_leaves", [1, 9])
@pytest.mark.parametrize("classes", [["no", "yes"], [f"a class with a rather long name, number {k}" for k in range(7)]])
def test_nothing_is_clipped_or_covered(n_leaves: int, classes: list[str]) -> None:
    leaves = [f"{i}. household_income_before_tax <= 250000 and not smoker → no" for i in range(n_leaves)]
    pictures = [
        leaf_bars(leaves, np.ones((n_leaves, len(classes))), classes, "caption " * 20, None),
        class_bars(leaves, [0] * n_leaves, classes, "caption " * 20, None),
    ]
    for axes in pictures:
        assert not overlap(axes)
        assert inside(axes)


def test_given_axes_have_space_for_the_legend_of_class_bars() -> None:
    axes = Figure(figsize=(9, 3)).subplots()
    assert class_bars(LEAVES, [0, 1], CLASSES, "caption", axes) is axes
    assert not overlap(axes)


ODD = "ward \N{HOSPITAL} \u6f22\u5b57 €"
SCHEMA = Schema({ODD: Integer(0, 99, (30, 60)), "smoker": Boolean()}, Label(f"{ODD}!", ("no", ODD)))
YOUNG = Literal(ODD, "<=", (30,))
NONE = PrivacyCard.none(ODD, software="hedgerow")
MODELS = [
    RuleList(SCHEMA, (Rule((YOUNG,), (9, 1)), Rule((), (2, 8))), NONE),
    RuleList(SCHEMA, (Rule((YOUNG,), label="no"), Rule((), label=ODD)), NONE),
    Tree(SCHEMA, Split(YOUNG, Leaf((9, 1)), Leaf((2, 8))), NONE),
    Scorecard(SCHEMA, (1,), (AttributePoints(ODD, ((0,), (1,), (2,))),), 0.1, None, NONE),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_name_that_no_font_can_draw_is_drawn_without_a_warning(model: RuleList | Tree | Scorecard) -> None:
    """matplotlib warned with a path of our source; warnings are errors here."""
    for plot in (model.plot, *([model.form] if isinstance(model, Scorecard) else [])):
        figure = plot().get_figure(root=True)
        assert figure is not None
        figure.savefig(BytesIO(), format="png")


def test_what_the_fonts_have_stays_and_the_rest_is_a_box() -> None:
    assert drawable(f"{ODD}\n→ α ≤ é\u00a0") == "ward \u25a1 \u25a1\u25a1 €\n→ α ≤ é\u00a0"
    assert plain("$1 \N{HOSPITAL}") == r"\$1 " + "\u25a1"


@pytest.mark.parametrize("kind", ["noisy", "uncounted"])
@pytest.mark.parametrize("of_number", [False, True])
def test_a_rule_list_has_at_most_twenty_bars_and_states_folded_rules(kind: str, of_number: bool) -> None:
    model = rule_list(1, 400, kind, schema=OF_NUMBERS if of_number else LISTED)
    axes = model.plot()
    names = [label.get_text().replace("\n", " ").replace("\u00a0", " ") for label in axes.get_yticklabels()]
    assert len(names) <= 20
    assert names[-1].startswith("400. otherwise → ")
    assert "–399. any of these rules → " in names[-2]
    assert "of 400 rules are folded; to_text() and" in axes.get_title(loc="right").replace("\n", " ")
    axes.figure.canvas.draw()
    assert inside(axes)
