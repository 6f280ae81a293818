"""The page of a model: whole in itself, escaped, and readable on a screen of any width."""

import re
from dataclasses import replace
from functools import cache

import matplotlib as mpl
import pytest

from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema
from tests.models.large_models import counted
from tests.models.markup import SHAPES, Read
from tests.models.scorecards import THREE, TWO

NONE = PrivacyCard.none("example", software="hedgerow")
SCHEMA = Schema({"age": Integer(17, 90, cuts=(30,)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
YOUNG = Literal("age", "<=", (30,))
LIST = RuleList(SCHEMA, (Rule((YOUNG,), (90, 10)), Rule((), (40, 60))), NONE)
TREE = Tree(SCHEMA, Split(YOUNG, Leaf((90, 10)), Leaf((40, 60))), NONE)
MODELS = {"rule list": LIST, "tree": TREE, "scorecard": TWO, "scorecard of three classes": THREE}
OWN = {"html", "head", "meta", "link", "title", "style", "body", "header", "h1", "h2", "h3", "p", "section", "div"}
OWN |= {"table", "caption", "thead", "tbody", "tr", "th", "td", "b", "main", "footer", "dl", "dt", "dd"}


@cache
def page_of(name: str) -> str:
    return MODELS[name].to_page()


@pytest.mark.parametrize("name", MODELS)
def test_a_page_has_the_picture_the_parts_the_card_and_the_digest(name: str) -> None:
    model = MODELS[name]
    result = Read(page_of(name))
    assert {"svg", "path", "table", "footer"} <= result.tags <= OWN | SHAPES
    label = model.schema.label
    assert label is not None
    assert result.texts.count(f"{model.kind.capitalize()} for {label.name}") == 2  # title and heading
    text = "".join(result.texts)
    assert model.privacy.headline in text
    assert model.to_dict()["digest"] in text
    parts = [item.attribute for item in model.parts] if isinstance(model, Scorecard) else model.conditions
    assert all(part in text for part in parts)


@pytest.mark.parametrize("name", MODELS)
def test_a_page_asks_for_nothing_and_runs_nothing(name: str) -> None:
    page = page_of(name)
    result = Read(page)
    assert not re.search(r"https?:|@import|<script|javascript:|\son\w+=|url\((?!#)", page)
    assert any(key == "content" and value.startswith("default-src 'none'") for key, value in result.given)
    links = [value for key, value in result.given if key in ("href", "src", "xlink:href")]
    assert {link[0] for link in links} == {"#", "d"}
    assert [link for link in links if not link.startswith("#")] == ["data:,"]


def test_hostile_names_values_and_cards_are_text() -> None:
    evil = "</title></style><script>alert('1')</script>--><img src=x onerror=alert(1)>&\x1b"
    card = PrivacyCard.none(evil, software=evil)
    schema = Schema({evil: Categorical((f"{evil}.", "b"), missing="bin")}, Label(f"{evil}y", (f"{evil}c", "d")))
    literal = Literal(evil, "=", (f"{evil}.",))
    rules = (Rule((literal,), (1, 7)), Rule((), (3, 1)))
    tree = Tree(schema, Split(literal, Leaf((3, 4)), Leaf(label="d")), card)
    points = Scorecard(schema, (1,), (AttributePoints(evil, ((1,), (2,), (3,))),), 0.5, 0.1, card)
    noisy = replace(counted("1/5"), software=evil, notes=(evil,))
    counts = ((900, 9), *[(1, 0), (0, 1)] * 2)
    leaves = [Leaf(count) for count in counts]
    few = Split(literal, Split(literal, leaves[1], leaves[2]), Split(literal, leaves[3], leaves[4]))
    folded = Tree(schema, Split(literal, leaves[0], few), noisy)
    folded_list = RuleList(schema, (*(Rule((literal,), count) for count in counts), Rule((), (900, 9))), noisy)
    assert all("are folded" in str(count) for count in (folded, folded_list))
    assert "\x1b" not in f"{folded}{folded_list}"
    for model in (RuleList(schema, rules, card), tree, points, folded, folded_list):
        for page in (model.to_page(), model._repr_html_()):
            result = Read(page)
            assert result.tags <= OWN | SHAPES | {"details", "summary"}
            assert not {key for key, _ in result.given} & {"src", "onerror"}
            assert "\x1b" not in page
            assert "alert('1')" in "".join(result.texts)


def test_a_model_that_is_too_large_to_draw_has_a_page_without_a_picture(monkeypatch) -> None:
    monkeypatch.setattr("hedgerow.models.plot.MOST_DRAWN", 1)
    result = Read(LIST.to_page())
    assert "svg" not in result.tags
    assert "at most 1 leaves or rules and" in "".join(result.texts)
    assert "age <= 30" in result.texts


@pytest.mark.slow
def test_a_browser_shows_it_without_an_error_and_no_wider_than_the_screen(tmp_path, browser) -> None:
    for number, model in enumerate(MODELS.values()):
        path = tmp_path / f"{number}.html"
        path.write_text(model.to_page(), encoding="utf-8")
        browser.get(path.as_uri())
        for width in (1200, 400):
            sizes = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)
            assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        svg = browser.find_element("css selector", "svg")
        assert svg.size["height"] > 50
        assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("name", MODELS)
def test_a_notebook_shows_the_picture_first_and_folds_words_and_card(name) -> None:
    html = MODELS[name]._repr_html_()
    result, order = Read(html), re.findall("<(svg|details|table)[ >]", html)
    assert order[:3] == ["svg", "details", "table"]
    assert order.count("details") == 2
    assert not {"script", "style", "pre"} & result.tags
    assert ("open", "open") not in result.given
    assert {"Model as text", "Privacy card"} <= {*result.texts}


def test_a_notebook_draws_no_large_model(monkeypatch) -> None:
    monkeypatch.setattr("hedgerow.models.model._MOST_DRAWN", 100)
    monkeypatch.setattr(RuleList, "plot", lambda *_: pytest.fail("drawn"))
    result = Read(LIST._repr_html_())
    assert "age <= 30" in result.texts
    assert ("open", "open") in result.given


def test_a_picture_takes_no_name_for_tex() -> None:
    with mpl.rc_context({"text.usetex": True}):
        assert "<svg" in LIST._repr_html_()


def test_a_notebook_shows_a_large_model_by_its_name_and_card_alone(monkeypatch) -> None:
    for limit in ("_MOST_SHOWN", "_MOST_DRAWN"):
        monkeypatch.setattr(f"hedgerow.models.model.{limit}", 100)
    result = Read(LIST._repr_html_())
    assert "svg" not in result.tags
    assert ("open", "open") in result.given
    note = "<RuleList of 2 rules; guarantee: none (example)> is too large to display here; write"
    assert any(text.startswith(note) for text in result.texts)
    assert "age <= 30" not in result.texts
