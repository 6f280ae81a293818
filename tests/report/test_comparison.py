"""Comparisons: what single reports say, side by side, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest

from hedgerow.privacy.charge import Charge
from hedgerow.report import Comparison, Form, Releases, Report
from hedgerow.report.contents import text_of
from hedgerow.report.releases import PastRelease
from hedgerow.schema import Label, Schema
from tests.report.subjects import CARD, a_table, a_tree, without_privacy

ON = date(2026, 11, 25)


def test_each_cell_is_what_the_report_on_that_model_says():
    reports = {
        "one": Report.of(a_tree(), train=a_table(), on=ON),
        "other": Report.of(without_privacy(), train=a_table()),
    }
    result = Comparison.of(reports)
    for sheet, kind in ((result.public, "public"), (result.board, "board")):
        for section in sheet.sections:
            (grid,) = section.grids
            if section.key == "length":
                continue
            for line, *cells in (map(text_of, row) for row in grid.rows):
                for name, cell in zip(reports, cells, strict=True):
                    sections = {item.key: item for item in getattr(reports[name], kind).sections}
                    own = sections.get(section.key)
                    said = (
                        {} if own is None else {fact.name: fact.text for fact in own.facts} | {"in short": own.answer}
                    )
                    assert cell == said.get(line, "")
    sizes = {
        line.value: [cell.value for cell in cells] for line, *cells in result.board.section("length").grids[0].rows
    }
    assert sizes["leaves"] == [3, 3]
    assert sizes["longest_path"] == [2, 2]


def test_findings_say_which_model_they_are_about():
    result = Comparison.of({"one": Report.of(a_tree(), on=ON), "other": Report.of(without_privacy(), on=ON)})
    assert result.board is None  # that of the private model has none
    assert {check.sentence.split(":")[0] for check in result.public.checks} == {"one", "other", "one, other"}
    assert result.public.status == "not_run"
    assert not result.public.decides
    assert "one, other compared" in result.to_html()


def test_of_models_with_and_without_a_guarantee_one_sheet_decides():
    """Each sheet said that the other one decides; exact functions of the private model's rows stay informative."""
    of = {"one": Report.of(a_tree(), train=a_table(), on=ON), "other": Report.of(without_privacy(), train=a_table())}
    result = Comparison.of(of)
    assert (result.public.decides, result.board.decides) == (False, True)
    assert "Decide by the public sheet" not in result.board.verdict
    informative = {
        check.informative for check in result.board.checks if check.key == "accuracy" and check.model == "one"
    }
    assert informative == {True}


def test_no_finding_of_a_report_is_left_out():
    """A record whose total needs a reason, and a form that says nothing, are reasons of the comparison, too."""
    card = replace(CARD, charges=(Charge("draw", Fraction(3, 5)), Charge("counts", Fraction(2, 5))))
    releases = Releases(tuple(map(PastRelease, [*card.charges, Charge("list", Fraction(1))])), None)
    form = Form(rows_per_unit=1)
    reports = {
        name: Report.of(a_tree(card), form=form, releases=releases, train=a_table(), on=ON) for name in ("a", "b")
    }
    result = Comparison.of(reports)
    for sheet, kind in ((result.public, "public"), (result.board, "board")):
        ours = {name: {item.sentence for item in getattr(report, kind).checks} for name, report in reports.items()}
        said = {item.sentence for item in sheet.checks}
        assert said == {f"a, b: {sentence}" for sentence in ours["a"] & ours["b"]}
        assert sheet.status == max(
            (getattr(item, kind).status for item in reports.values()), key=("pass", "review").index
        )
    assert result.public.status == "review"
    assert any("All releases on record together have epsilon = 2" in item.sentence for item in result.public.checks)
    assert any("The form does not state" in item.sentence for item in result.public.checks)
    page = result.to_html()
    assert "The form does not state" in page
    assert 'href="#statements"' not in page  # a question that is not on the page


def test_the_public_sheet_depends_on_no_row():
    def public(counts, train=None):
        item = Report.of(without_privacy(counts), train=train, on=ON)
        return Comparison.of({"a": Report.of(a_tree(), train=train, on=ON), "b": item}).to_json()

    X, y = a_table()
    assert public(((9, 9), (8, 1), (0, 1))) == public(((3, 30), (40, 12), (25, 0)), (X, y))
    assert "leaves" not in {
        line
        for line, *cells in json.loads(public(((1, 0), (0, 1), (1, 1))))["sections"][1]["tables"][0]["rows"]
        if cells[1]
    }


def test_uncomparable_columns_raise():
    item, other = Report.of(a_tree()), Report.of(a_tree())
    with pytest.raises(ValueError, match="2 to 6 models, got 1"):
        Comparison.of({"a": item})
    with pytest.raises(TypeError, match="names to reports, got list"):
        Comparison.of([item, other])
    with pytest.raises(ValueError, match="1 to 40 characters"):
        Comparison.of({"a": item, "b" * 41: other})
    elsewhere = a_tree()
    schema = Schema(dict(elsewhere.schema.attributes), Label("dead", ("no", "yes")))
    with pytest.raises(ValueError, match="same column"):
        Comparison.of({"a": item, "b": Report.of(type(elsewhere)(schema, elsewhere.root, elsewhere.privacy))})
