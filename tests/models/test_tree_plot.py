from collections.abc import Iterator
from itertools import combinations

import matplotlib as mpl
import pytest
from hypothesis import given
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from hedgerow.models import Leaf, Split, Tree
from hedgerow.models.leaf_groups import groups_of
from hedgerow.models.tree_plot import DrawnLeaf, DrawnNode, tree_diagram
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Integer, Label, Literal, Number, Schema
from tests.models.large_models import CARDS, OF_NUMBERS, SCHEMA, tree
from tests.models.strategies import trees

CLASSES = ["no", "yes"]
LONG = "household_income_before_tax_and_deductions_of_the_year_before_the_last"
LITERALS = (
    Literal("age", "<=", (30,)),
    Literal(LONG, "between", (25000, 250000)),
    Literal("a name of several words that goes on for longer than a box is wide", "true"),
    Literal("W" * 60, "false"),
)
SMALL = Split(LITERALS[0], DrawnLeaf(0, "90.0 % of 100", (0.9, 0.1)), DrawnLeaf(1, "", ()))


@pytest.fixture(autouse=True)
def agg() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        yield
        plt.close("all")


def full(depth: int, level: int = 0) -> DrawnNode:
    if level == depth:
        return DrawnLeaf(level % 2, "100.0 % of 1234567", (0.25, 0.75))
    return Split(LITERALS[level % len(LITERALS)], full(depth, level + 1), full(depth, level + 1))


def chain(depth: int) -> DrawnNode:
    root: DrawnNode = DrawnLeaf(0, "", ())
    for level in range(depth):
        leaf = DrawnLeaf(1, "50.0 % of 9", (0.5, 0.5))
        root = Split(LITERALS[level % 4], *((leaf, root) if level % 2 else (root, leaf)))
    return root


def boxes(axes: Axes) -> list[FancyBboxPatch]:
    return [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]


def texts(axes: Axes) -> list[str]:
    return [text.get_text().replace("\u00a0", " ") for text in axes.texts]


SHAPES = [DrawnLeaf(1, "75.0 % of 4", (0.25, 0.75)), SMALL, full(2), full(4), chain(3), chain(7)]


LONG = ["a class with a rather long name", "another_one_without_any_spaces_in_it"]


@pytest.mark.parametrize(
    ("root", "classes"), [(SMALL, CLASSES), (full(4), CLASSES), *((shape, LONG) for shape in SHAPES)]
)
def test_boxes_are_apart_text_is_in_its_box_and_all_of_it_on_the_picture(root: DrawnNode, classes: list[str]) -> None:
    axes = tree_diagram(root, classes, "epsilon-differential privacy with epsilon = 1; no counts were released", None)
    axes.figure.canvas.draw()
    drawn = [box.get_window_extent() for box in boxes(axes)]
    assert not any(shape.overlaps(other) for shape, other in combinations(drawn, 2))
    for text in axes.texts:
        extent = text.get_window_extent()
        if text.get_text() not in ("yes", "no") or text.get_weight() == "bold":
            assert any(
                box.x0 <= extent.x0 and extent.x1 <= box.x1 and box.y0 <= extent.y0 and extent.y1 <= box.y1
                for box in drawn
            )
        else:  # beside a line
            assert not any(box.overlaps(extent) for box in drawn)
    legend = axes.get_legend().get_window_extent()
    assert not any(box.overlaps(legend) for box in drawn)
    page, tight = axes.figure.bbox, axes.figure.get_tightbbox().transformed(axes.figure.dpi_scale_trans)
    assert tight.x0 >= page.x0 and tight.y0 >= page.y0 and tight.x1 <= page.x1 and tight.y1 <= page.y1  # noqa: PT018


def test_text_is_as_large_as_print_even_in_a_tree_of_sixteen_leaves() -> None:
    axes = tree_diagram(full(4), CLASSES, "caption", None)
    assert {text.get_fontsize() for text in axes.texts} == {8}
    assert axes.figure.get_size_inches()[0] < 18


def test_there_is_a_box_a_node_and_a_line_a_branch_and_a_piece_a_share() -> None:
    axes = tree_diagram(full(2), CLASSES, "caption", None)
    assert len(boxes(axes)) == 7
    assert len(axes.lines) == 6
    assert sum(isinstance(patch, Rectangle) for patch in axes.patches) == 4 * 2
    assert [texts(axes).count(word) for word in ("yes", "no")] == [3, 3 + 4]  # four leaves say "no"


def test_the_branch_where_the_literal_holds_is_on_the_left() -> None:
    axes = tree_diagram(SMALL, ["A", "B"], "caption", None)
    where = dict(zip(texts(axes), (text.get_position()[0] for text in axes.texts), strict=True))
    assert where["A"] < where["yes"] < where["age <= 30"] < where["no"] < where["B"]


def test_leaves_have_the_colour_of_their_class_and_the_legend_names_it() -> None:
    axes = tree_diagram(SMALL, CLASSES, "caption", None)
    patches = axes.get_legend().get_patches()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == CLASSES
    assert [box.get_edgecolor() for box in boxes(axes)[1:]] == [patch.get_facecolor() for patch in patches]
    assert boxes(axes)[0].get_facecolor() == to_rgba("white")


def test_bars_have_the_length_of_their_shares() -> None:
    axes = tree_diagram(SMALL, CLASSES, "caption", None)
    item, other = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert item.get_width() == pytest.approx(9 * other.get_width())
    assert other.get_x() == pytest.approx(item.get_x() + item.get_width())


@pytest.mark.parametrize("size", [(3, 2), (12, 9)])
def test_given_axes_are_drawn_on_and_text_shrinks_to_fit_but_does_not_grow(size: tuple[int, int]) -> None:
    import matplotlib.pyplot as plt

    axes = Figure(figsize=size).subplots()
    assert tree_diagram(full(2), CLASSES, "caption", axes) is axes
    assert plt.get_fignums() == []
    axes.figure.canvas.draw()
    window = axes.get_window_extent()
    assert all(window.x0 <= e.x0 and e.x1 <= window.x1 for e in (t.get_window_extent() for t in axes.texts))
    (size_of_text,) = {text.get_fontsize() for text in axes.texts}
    assert size_of_text < 8 if size[0] == 3 else size_of_text == 8


def test_names_with_dollar_signs_and_line_breaks_are_drawn_as_they_are() -> None:
    # "$x^$" read as mathematics is a syntax error when the figure is drawn
    root = Split(Literal("pay\n$x^$", "true"), DrawnLeaf(0, "", ()), DrawnLeaf(1, "", ()))
    axes = tree_diagram(root, ["$un^$ure", "a\nb"], "none ($^$)", None)
    axes.figure.canvas.draw()
    assert {r"pay\n$x^$", "$un^$ure", "a b"} <= set(texts(axes))


def test_lines_do_not_end_between_a_sign_and_a_value() -> None:
    axes = tree_diagram(Split(LITERALS[1], full(3), full(3)), CLASSES, "caption", None)
    assert not any(text.endswith(("<=", ">", "=")) for text in texts(axes))


def test_a_very_large_tree_is_drawn_small_enough_to_be_written() -> None:
    axes = tree_diagram(full(6), CLASSES, "caption", None)
    assert max(axes.figure.get_size_inches()) <= 61


@given(model=trees())
def test_any_tree_can_be_drawn(model: Tree) -> None:
    import matplotlib.pyplot as plt

    axes = model.plot()
    assert len(boxes(axes)) == len(model) + model.n_splits
    plt.close(axes.figure)


@pytest.mark.parametrize("kind", ["noisy", "uncounted"])
@pytest.mark.parametrize("schema", [SCHEMA, OF_NUMBERS], ids=["classes", "number"])
def test_a_tree_of_any_size_fits_a_page_and_states_folded_leaves(kind: str, schema: Schema) -> None:
    model = tree(1, 400, kind, schema=schema)
    axes = model.plot()
    assert max(axes.figure.get_size_inches()) < 14
    assert min(text.get_fontsize() for text in axes.texts) == pytest.approx(8)
    leaves = [box for box in boxes(axes) if box.get_facecolor() != to_rgba("white")]
    assert len(leaves) <= 12
    groups = groups_of(model._outline(11))
    assert [box.get_linestyle() for box in leaves].count("--") == sum(group.size > 1 for group in groups)
    assert "of 400 leaves are folded; to_text() and" in axes.get_title().replace("\n", " ")


def test_a_share_is_drawn_only_if_it_is_shown() -> None:
    model = Tree(SCHEMA, Split(Literal("x0", "true"), Leaf((900, 90, 9)), Leaf((2, -2, 0))), CARDS["noisy"])
    axes = model.plot()
    assert "at most 30 rows, possibly none" in " ".join(texts(axes))
    assert sum(isinstance(patch, Rectangle) for patch in axes.patches) == 3  # of the first leaf


def test_means_are_drawn_with_the_digits_of_the_text() -> None:
    schema = Schema({"smoker": Boolean()}, Number("hours", 1, 99))
    root = Split(Literal("smoker", "true"), Leaf(mean=24.2479), Leaf(mean=31.7412))
    drawn = Tree(schema, root, PrivacyCard.none("example", software="hedgerow"))
    axes, legend = drawn.plot(), ["24.2", "31.7"]
    assert [text for text in texts(axes) if text[0].isdigit()] == legend
    assert [text.get_text() for text in axes.get_legend().get_texts()] == legend
    assert str(drawn).splitlines() == ["if smoker: 24.2", "else: 31.7"]


def test_the_caption_states_missing_counts() -> None:
    schema = Schema({"age": Integer(0, 90, cuts=(30,)), "smoker": Boolean()}, Label("y", ("well", "ill")))
    card = PrivacyCard.none("example", software="hedgerow")
    drawn = Tree(schema, Split(LITERALS[0], Leaf(label="well"), Leaf(label="ill")), card).plot()
    assert "no counts" in drawn.get_title()
    assert texts(drawn) == ["age <= 30", "yes", "no", "well", "ill"]
    counted = Tree(schema, Split(LITERALS[0], Leaf((1, 3)), Leaf(label="ill")), card).plot()
    assert counted.get_title() == "none (example)"
    assert texts(counted)[3:] == ["well", "75.0 % of 4", "ill"]
