"""Scorecards as a figure to fill in by hand."""

from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hedgerow.models import AttributePoints, Scorecard
from hedgerow.schema import Boolean, Categorical, Label, Schema
from tests.models.scorecards import CARD, NOISY, NONE, THREE, TWO, sheet


@pytest.fixture(autouse=True)
def agg() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        plt.close("all")  # of tests before this one
        yield
        plt.close("all")


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts if text.get_text()]


def boxes(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def test_the_form_has_points_boxes_and_risks() -> None:
    axes = TWO.form()
    result = texts(axes)
    assert result[:4] == ["Points for ill = yes", "case", "date", "filled in by"]
    assert result[5:7] == ["points", "your points"]
    assert result[7:13] == ["age", "17 to 30", "-12", "31 to 60", "-3", "61 to 90"]
    assert len(boxes(axes)) == 3 + 2  # one an attribute, the base and the total
    assert result[result.index("base") + 1] == "-7"
    assert [risk.shown for risk in sheet(TWO).risks] == result[result.index("P(ill = yes)") + 1 :][
        : len(sheet(TWO).risks)
    ]
    assert {"95 % (noise only), from", "to"} <= set(result)
    predicted = ["yes" if risk.total > 0 else "no" for risk in sheet(TWO).risks]
    assert result[result.index("predicted") + 1 :][: len(predicted)] == predicted
    assert f"Model file: digest {TWO.to_dict()['digest'][:12]}…" in result
    assert result[-1] == "Guarantee: epsilon-differential privacy with epsilon = 1."


def test_three_classes_have_three_boxes_and_no_risks() -> None:
    axes = THREE.form()
    assert len(boxes(axes)) == 3 * (2 + 2)
    result = texts(axes)
    assert (result[0], result[5:8]) == ("Points for goes to", ["home", "intensive\ncare", "ward"])


LONG = Schema(
    {f"{'household income before tax ' * 4}{i}": Categorical((f"{'between this ' * 9}{i}", "$x^$")) for i in range(9)},
    Label("an outcome of a rather long name " * 3, ("no", "yes " + "indeed " * 20 + ".")),
)
WIDE = Scorecard(LONG, (-(10**6),), tuple(AttributePoints(n, ((10**6,), (-1,))) for n in LONG), 1e-6, 0.3, CARD)
SMALL = Scorecard(Schema({"x": Boolean()}, Label("y", (0, 1))), (1,), (), 1, None, NONE)


def a_long_card(n_attributes: int, n_categories: int, *, has_rows: bool = False) -> Scorecard:
    names = tuple(f"country of birth {i}" for i in range(n_categories))
    schema = Schema({f"attribute {i}": Categorical(names) for i in range(n_attributes)}, Label("y", ("no", "yes")))
    points = tuple((place % 3,) for place in range(n_categories))
    errors = tuple((place % 2 + 0.5,) for place in range(n_categories))
    rows = (tuple(37 * place for place in range(n_categories)), 20.0) if has_rows else (None, None)
    parts = tuple(AttributePoints(name, points, errors, (1, 2), *rows) for name in schema)
    return Scorecard(schema, (-9,), parts, 0.1, 0.3, CARD)


@pytest.mark.parametrize(("n_attributes", "n_categories"), [(3, 60), (20, 3), (8, 12)])
def test_a_long_card_is_on_one_page_with_all_its_categories(n_attributes: int, n_categories: int) -> None:
    axes = a_long_card(n_attributes, n_categories).form()
    width, height = axes.figure.get_size_inches()
    assert width <= 8.0
    assert height <= 10.7  # inches: A4 and US letter
    words = " ".join(texts(axes))
    assert all(f"country of birth {i}" in words for i in range(n_categories))
    assert words.count("±") == 3 * n_attributes - (n_attributes if n_categories == 3 else 0) * 2
    assert min(text.get_fontsize() for text in axes.texts) >= 6


def test_many_attributes_with_rows_are_in_two_columns_on_one_page() -> None:
    card = credit_card()
    axes = card.form()
    width, height = axes.figure.get_size_inches()
    assert width <= 8.0
    assert height <= 10.7
    assert min(text.get_fontsize() for text in axes.texts) >= 6
    names = {text.get_text(): text.get_position()[0] for text in axes.texts}
    assert names["attribute 0"] < 4 < names["attribute 19"]
    assert sum(text.startswith("about ") for text in texts(axes)) == 20 * 4
    assert len(boxes(axes)) == 20 + 2


def credit_card() -> Scorecard:
    """Return a scorecard of the size of a credit scorecard: 20 attributes of four bins."""
    schema = Schema({f"attribute {i}": Categorical(tuple("wxyz")) for i in range(20)}, Label("y", ("no", "yes")))
    points, errors = ((-12,), (-3,), (10,), (21,)), ((0.5,), (1.5,), (6.0,), (9.0,))
    parts = tuple(AttributePoints(name, points, errors, (), (250, 300, 90, 410), 12.0) for name in schema)
    return Scorecard(schema, (-9,), parts, 0.02, 0.3, CARD)


def card_of_six_classes() -> Scorecard:
    """Return a scorecard with points of four characters for six classes, and long names of attributes."""
    attributes = {f"name of attribute number {i}": Boolean() for i in range(3)}
    points = (-751, -49, 415, -747, 924, 666), (499, -357, -743, 818, 186, 623)
    parts = tuple(AttributePoints(name, points) for name in attributes)
    schema = Schema(attributes, Label("y", tuple("abcdef")))
    return Scorecard(schema, (106, -23, 301, 8, -900, 512), parts, 0.01, None, NONE)


@pytest.mark.parametrize(
    "model",
    [
        card_of_six_classes(),
        credit_card(),
        a_long_card(3, 20, has_rows=True),
        TWO,
        THREE,
        WIDE,
        SMALL,
        NOISY,
        a_long_card(3, 60),
        a_long_card(20, 3),
    ],
)
def test_everything_is_on_the_page_and_no_text_covers_another(model: Scorecard) -> None:
    axes = model.form()
    axes.figure.canvas.draw()
    page = axes.figure.bbox
    extents = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert all(page.x0 <= e.x0 and e.x1 <= page.x1 and page.y0 <= e.y0 and e.y1 <= page.y1 for e in extents)
    lowest = min(e.y0 for e in extents)
    assert lowest - page.y0 < 0.8 * axes.figure.dpi  # and nothing is left blank at the end
    for number, extent in enumerate(extents):
        for other in extents[number + 1 :]:
            across = min(extent.x1, other.x1) - max(extent.x0, other.x0)
            along = min(extent.y1, other.y1) - max(extent.y0, other.y0)
            assert across <= 1 or along <= 1


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("days_b_screening_arrest", ["days_b_screening_", "arrest"]),
        ("mean systolic blood-pressure", ["mean systolic blood-", "pressure"]),
        ("a" * 25, ["a" * 20, "aaaaa"]),
        ("worst_radius", ["worst_radius"]),
    ],
)
def test_long_names_are_broken_between_words_and_after_underscores(name: str, lines: list[str]) -> None:
    schema = Schema({name: Categorical(("a", "b", "c"))}, Label("y", (0, 1)))
    card = Scorecard(schema, (0,), (AttributePoints(name, ((1,), (2,), (3,))),), 1, None, NONE)
    assert [text for text in texts(card.form()) if text in lines] == lines


def test_given_axes_are_drawn_on() -> None:
    axes = Figure().subplots()
    assert TWO.form(axes) is axes
    assert len(boxes(axes)) == 5


@pytest.mark.parametrize(("n_bins", "n_classes"), [(151, 2), (2, 7)])
def test_what_nobody_fills_in_by_hand_is_refused(n_bins: int, n_classes: int) -> None:
    schema = Schema({"x": Categorical(tuple(range(n_bins)))}, Label("y", tuple(range(n_classes))))
    n_columns = 1 if n_classes == 2 else n_classes
    points = tuple((place,) * n_columns for place in range(n_bins))
    model = Scorecard(schema, points[0], (AttributePoints("x", points),), 1, None, NONE)
    with pytest.raises(ValueError, match=rf"{n_bins} bins and {n_classes} classes"):
        model.form()
