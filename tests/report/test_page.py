"""The page of a sheet: whole by itself, marked, and text from files stays text."""

from __future__ import annotations

import re
from datetime import date
from html.parser import HTMLParser

import pandas as pd
import pytest

from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.report import Form, PastRelease, Releases, Report
from hedgerow.report.contents import page
from hedgerow.schema import Boolean, Label, Literal, Schema
from hedgerow.text.markup import POLICY
from tests.report.subjects import a_table, a_tree, without_privacy

HOSTILE = "\"'><script>alert(1)</script><img src=//evil/x onerror=alert(1)>{{7*7}}\u202e</style><!--"
ON = date(2026, 11, 23)
TITLES = (("Failed", "fail"), ("Needs review", "review"), ("Not run", "not_run"), ("Passed", "pass"))
MARK = "PRIVATE: for the board only. It contains exact results computed from the rows. Do not release it."


class Tags(HTMLParser):
    """The tags of a page with their attributes, ids and text outside of its style."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.inside, self.open = [], [], "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data


def hostile():
    """Return a report whose every text from outside is hostile."""
    schema = Schema({HOSTILE: Boolean()}, Label("y", (HOSTILE, "no")))
    card = PrivacyCard(
        (Charge(HOSTILE, 1, mechanism=HOSTILE, unit=Unit(HOSTILE, 2)),),
        noise=HOSTILE,
        software=HOSTILE,
        notes=(HOSTILE,),
    )
    tree = Tree(schema, Split(Literal(HOSTILE, "true", ()), Leaf((30, 1)), Leaf((1, 30))), card)
    text = dict.fromkeys(("title", "purpose", "population", "curator", "unit", "limits", "residual_risk"), HOSTILE)
    form = Form(**text, sensitive=(HOSTILE,))
    releases = Releases(
        (PastRelease(Charge(HOSTILE, 1, unit=Unit(HOSTILE, 2)), HOSTILE, HOSTILE),), None, "ledger", HOSTILE
    )
    rows = pd.DataFrame([[0], [1]] * 10, columns=[HOSTILE]), pd.Series([HOSTILE, "no"] * 10)
    return Report.of(tree, form=form, releases=releases, train=rows, test=rows, on=ON)


@pytest.mark.parametrize("private", [False, True])
def test_text_from_files_stays_text(private):
    result = Tags(hostile().to_html(private=private))
    assert not {"script", "img", "iframe", "form", "object", "base"} & set(result.tags)
    assert result.tags.count("style") == 1
    assert {name for name, _ in result.attributes if name.startswith("on")} == set()
    assert "<script>alert(1)</script>" in result.text
    assert "\u202e" not in result.text
    assert result.open == []


@pytest.mark.parametrize("private", [False, True])
def test_no_request_leaves_the_page(private):
    X, y = a_table()
    text = Report.of(a_tree(), train=(X, y), test=(X, y), on=ON).to_html(private=private)
    assert not re.search(r"url\(|@import|src=|https?://|//", re.sub(r"<!doctype html>", "", text))
    result = Tags(text)
    assert {value for name, value in result.attributes if name == "href" and not value.startswith("#")} == {"data:,"}
    assert ("content", POLICY) in result.attributes
    assert POLICY.startswith("default-src 'none'")


@pytest.mark.parametrize("private", [False, True])
def test_every_link_leads_to_a_place_of_the_page(private):
    X, y = a_table()
    result = Tags(Report.of(a_tree(), train=(X, y), test=(X, y), on=ON).to_html(private=private))
    ids = [value for name, value in result.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for name, value in result.attributes if name == "href" and value != "data:,"} <= set(ids)


def test_sections_of_the_boards_sheet_are_marked_private():
    X, y = a_table()
    report = Report.of(a_tree(), train=(X, y), on=ON)
    private, public = report.to_html(private=True), report.to_html()
    sections = re.findall(r"<section.*?</section>", private, flags=re.DOTALL)
    assert len(sections) == len(report.board.sections) + 1
    assert all(MARK in section for section in sections)
    assert MARK not in public
    assert "PRIVATE" not in re.sub(r"<style>.*?</style>", "", public, flags=re.DOTALL)


def test_an_answer_comes_before_any_number_and_lines_to_sign_are_empty():
    text = page(Report.of(without_privacy(), on=ON).board)
    for section in re.findall(r"<section>.*?</section>", text, flags=re.DOTALL):
        assert section.index('class="answer"') < min(
            (section.index(tag) for tag in ("<dl", "<table") if tag in section), default=len(section)
        )
    assert text.count("<dd></dd>") == 4


def test_checks_are_listed_by_status_with_their_sources():
    text = page(Report.of(without_privacy(), on=ON).board)
    assert '<p class="verdict fail">' in text
    counts = [
        f"{title}: {len(Report.of(without_privacy(), on=ON).board.by_status(status))}" for title, status in TITLES
    ]
    assert re.findall(r"<h3>([\w ]+: \d+)", text) == counts
    assert "Source: class disclosure" in text


def test_a_status_that_no_check_has_states_no_advice():
    result = Report.of(a_tree(), on=ON)
    assert not result.public.by_status("fail")
    assert "Do not release" not in result.to_html()
    assert "Do not release" in page(Report.of(without_privacy(), on=ON).board)


def test_a_check_of_too_few_rows_is_not_called_unexamined():
    X, y = a_table()
    text = Report.of(a_tree(), train=(X, y), test=(X, y), on=ON).to_html(private=True)
    assert "<b>Not conclusive.</b> An attacker who knows" in text
    assert "<b>Not run.</b> Groups compared with a constant prediction: not run" in text


def test_numbers_are_aligned_but_for_the_column_that_names_a_row():
    text = page(Report.of(without_privacy(), on=ON).board)
    assert '<th scope="col">if</th><th scope="col">then</th><th scope="col" class="number">probability</th>' in text


def test_long_words_may_be_broken_and_others_may_not():
    schema = Schema({"a" * 25: Boolean(), "b" * 24: Boolean()}, Label("y", ("no", "yes")))
    result = Tags(Report.of(Tree(schema, Leaf((30, 20)), a_tree().privacy), on=ON).to_html())
    assert [value for name, value in result.attributes if name == "class"].count("long") == 1


def test_all_that_is_in_the_data_is_on_the_page():
    X, y = a_table()
    report = Report.of(a_tree(), train=(X, y), by=["smoker"], on=ON)
    for sheet in (report.public, report.board):
        text = " ".join(Tags(page(sheet)).text.split())
        for section in sheet.sections:
            given = [section.question, section.answer, section.measure, *section.notes, *section.words]
            given += [part for fact in section.facts for part in (fact.name, fact.text)]
            given += [cell for grid in section.shown for row in grid.first for cell in row if isinstance(cell, str)]
            for part in given:
                assert " ".join(part.split()) in text
