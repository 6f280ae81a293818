"""Templates: values stay text in HTML, markup stays markup, and what is missing is an error."""

import pytest
from jinja2 import UndefinedError

from hedgerow.text.markup import element, templates

HOSTILE = "<script>alert('1')</script>&\x1b\u202e\n"


@pytest.fixture
def made(tmp_path):
    (tmp_path / "one.html").write_text('{% extends "page.html" %}{% block body %}<p>{{ given }}</p>{% endblock %}')
    (tmp_path / "one.txt").write_text("{{ given }}")
    return templates(tmp_path)


def test_values_are_escaped_and_control_characters_shown(made):
    page = made.get_template("one.html").render(given=HOSTILE)
    assert "<p>&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;\\x1b\\u202e\n</p>" in page


def test_elements_are_not_escaped_again(made):
    assert "<p><b>&lt;</b></p>" in made.get_template("one.html").render(given=element("b", "<"))


def test_a_sentence_stays_as_it_is(made):
    assert made.get_template("one.txt").render(given=HOSTILE) == HOSTILE


def test_a_missing_value_is_an_error(made):
    with pytest.raises(UndefinedError, match="'given' is undefined"):
        made.get_template("one.html").render()
