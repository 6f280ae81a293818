"""Markup: whatever is not markup is escaped."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.text.markup import Html, element, joined, table, text


class Read(HTMLParser):
    """The elements, attributes and text of a page, as a browser's parser finds them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.values, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.values += [value for _, value in attrs]

    def handle_data(self, data):
        self.text += data


@given(st.text(alphabet="<>&'\"/=a` \x1b\u202e"))
def test_text_stays_text_in_content_and_in_attributes(hostile):
    result = Read()
    result.feed(element("p", hostile, title=hostile))
    result.close()
    assert result.tags == ["p"]
    escaped = hostile.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e")
    assert result.text == escaped
    assert result.values == [escaped]


def test_markup_is_not_escaped_twice():
    inner = element("b", "<")
    assert element("p", inner) == "<p><b>&lt;</b></p>"
    assert text(inner) == "<b>&lt;</b>"
    assert joined(inner, Html("x")) == "<b>&lt;</b>\nx"


def test_what_is_made_of_markup_is_text_again():
    assert element("p", f"{Html('<b>')}") == "<p>&lt;b&gt;</p>"


def test_names_of_attributes_are_hyphenated_and_empty_elements_have_no_end():
    assert element("meta", http_equiv="a", class_="b") == '<meta http-equiv="a" class="b">'


def test_the_entries_of_a_table_are_escaped_and_only_some_rows_shown():
    result = Read()
    result.feed(table(("<i>", "b"), [("<b>", "<script>")] * 203, caption="<u>"))
    assert set(result.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert result.tags.count("tr") == 1 + 200
    assert result.text.startswith("<u><i>b<b><script>")
    assert result.text.endswith("… and 3 more.")
    assert "thead" not in table((), [("a", "b")])
    assert "more" not in table((), [("a", "b")] * 200)
