"""Scorecards as HTML: a form to fill in by hand."""

from html.parser import HTMLParser

from hedgerow.models import AttributePoints, Scorecard
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Categorical, Label, Schema
from tests.models.markup import SHAPES, Markup
from tests.models.scorecards import THREE, TWO, sheet


class Cells(HTMLParser):
    """The cells of each line of a table, with how many columns and lines each takes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines: list[list[tuple[int, bool]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        given = dict(attrs)
        if tag == "tr":
            self.lines.append([])
        elif tag in ("td", "th"):
            self.lines[-1].append((int(given.get("rowspan", 1)), "border:2px" in given.get("style", "")))


def test_the_form_has_points_boxes_the_total_and_risks() -> None:
    texts = Markup(TWO.to_html()).texts
    assert texts[:9] == [
        "Points for ill = yes",
        "attribute",
        "bin",
        "points",
        "your points",
        "age",
        "17 to 30",
        "-12",
        "31 to 60",
    ]
    assert texts[texts.index("base") : texts.index("P(ill = yes)") + 2] == [
        *("base", "-7", "total", "total", "P(ill = yes)", "95 % (noise only)")
    ]
    assert "no" in texts[texts.index("smoker") :]  # false, as a person says it
    assert "yes is predicted for totals above 0, otherwise no." in texts
    assert texts[-1] == str(TWO.privacy)


def test_every_attribute_and_the_total_have_an_empty_box_for_each_number() -> None:
    for model, columns in ((TWO, 1), (THREE, 3)):
        lines = Cells(model.to_html()).lines
        boxes = [[size for size, is_box in line if is_box] for line in lines]
        wanted = [[len(bins)] * columns for bins in sheet(model).bins]
        assert [result for result in boxes if result] == [*wanted, [1] * columns, [1] * columns]


def test_the_lines_of_the_form_have_the_same_width() -> None:
    for model in (TWO, THREE):
        lines = Cells(model.to_html().partition("</table>")[0]).lines
        taken, widths = list[int](), []
        for line in lines:
            widths.append(len(line) + len(taken))
            taken = [left - 1 for left in [*taken, *(size for size, _ in line)] if left > 1]
        assert set(widths) == {len(lines[0])}
        assert taken == []


def test_names_values_classes_and_the_card_are_escaped() -> None:
    hostile = "<script>alert('1')</script>&\n\x1b[2J"
    schema = Schema({f"a{hostile}": Categorical((f"v{hostile}.", "b"))}, Label(f"y{hostile}", (f"c{hostile}.", "d")))
    part = AttributePoints(f"a{hostile}", ((1,), (2,)))
    model = Scorecard(schema, (0,), (part,), 1, 0.1, PrivacyCard.none(hostile, software=hostile))
    markup = Markup(model.to_html())
    assert markup.tags == {"h3", "table", "thead", "tbody", "tr", "th", "td", "p", "pre"}
    assert sum("<script>" in text for text in markup.texts) >= 5
    assert "\x1b" not in model.to_html()
    notebook = Markup(model._repr_html_())
    assert notebook.tags <= markup.tags - {"pre"} | {"div", "details", "summary", "caption"} | SHAPES
    assert "\x1b" not in model._repr_html_()
