"""Sections on reconstruction, beside the audit that they print."""

from dataclasses import replace
from math import log2

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.audit.entropy import totals
from hedgerow.errors import DomainError
from hedgerow.models import Rule, RuleList
from hedgerow.report import Form, Subject
from hedgerow.report.disclosure import (
    MOST_RULES,
    groups,
    reconstructed,
    reconstruction_checks,
    reconstruction_section,
)
from hedgerow.schema import Boolean, Label, Literal, Schema
from tests.report.subjects import CARD, SCHEMA, a_table, a_tree, overfitted, without_privacy


def test_the_numbers_are_those_of_the_audit():
    model = without_privacy()
    subject = Subject(model)
    section = reconstruction_section(subject, reconstructed(subject))
    result, values = hr.audit.reconstruction(model), {fact.key: fact.value for fact in section.facts}
    assert values["dist_g"] == result.uncertainty
    assert values["bits_without_model"] == log2(100 * 2)
    assert values["least_share_left"] == min(result.ratios)
    assert section.facts[5].text == "2. age <= 60 and smoker (5.9 bits remain)"  # 61 ages; the old have 39 ages by 2
    assert section.words


def test_a_mean_that_is_high_supports_nothing():
    tree, schema = overfitted()
    subject = Subject(tree, schema=schema)
    result = reconstructed(subject)
    section = reconstruction_section(subject, result)
    assert "not support" in section.answer
    known = [check for check in reconstruction_checks(subject, result) if check.key == "known-rows"]
    assert all(check.status == "fail" for check in reconstruction_checks(subject, result))
    assert sum(check.value for check in known) == sum(
        n for n, possible in zip(result.supports, result.possible_rows, strict=True) if possible == 1
    )


@pytest.mark.parametrize("private", [False, True])
def test_rows_that_are_the_only_possible_ones_are_disclosed(private):
    schema = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))

    class Known:
        supports = (5, 7)

        def regions(self):
            return [[Literal("a", "true", ()), Literal("b", "true", ())], []]

    subject = Subject(Known(), schema=schema)
    (finding,) = reconstruction_checks(subject, reconstructed(subject))
    assert (finding.status, finding.value) == ("fail", 5)
    model = a_tree()
    if private:
        assert list(reconstruction_checks(Subject(model), reconstructed(Subject(model)))) == []


def test_the_most_exposed_group_is_named_with_rows_alone():
    X, _ = a_table()
    subject = Subject(a_tree(), Form(sensitive=("smoker",)))
    result = reconstructed(subject, X)
    (section,) = groups(result, ("smoker", "age"))
    by_column = {name: result.by_group(name) for name in ("smoker", "age")}
    worst = min((item for rows in by_column.values() for item in rows), key=lambda item: item["uncertainty"])
    assert f"= {worst['group']}. " in section.answer
    assert [row[0] for row in section.grids[0].rows] == [item["group"] for item in by_column["smoker"]]
    assert groups("not measured", ("smoker",)) == ()


POINTS = hr.models.Scorecard(
    SCHEMA,
    (0,),
    (
        hr.models.AttributePoints("smoker", ((0,), (3,))),
        hr.models.AttributePoints("age", ((0,), (1,), (1,)), rows=(40, 25, -1), rows_error=2.0),
    ),
    0.5,
    None,
    CARD,
)


def test_a_scorecard_is_measured_by_its_totals_and_its_rows_by_bin():
    X, _ = a_table()
    subject, result = Subject(POINTS), hr.audit.reconstruction(POINTS, data=X)
    section = reconstruction_section(subject, reconstructed(subject, X))
    values = {fact.key: fact.value for fact in section.facts}
    assert values["dist_g"] == result.uncertainty
    assert values["bits_left"] == result.entropy_bits / result.n_rows
    assert values["least_share_left"] == min(result.ratios)
    assert values["dist_g_by_bins"] == hr.audit.reconstruction(POINTS).uncertainty
    assert values["bits_left_by_total"] == hr.audit.totals(POINTS).residual_bits
    assert "total of each training row" in section.answer
    assert "number of rows in each bin" in section.answer
    assert [part in section.notes[0] for part in ("noisy", "curator's eyes")] == [True, True]
    (by_group,) = groups(reconstructed(subject, X), ("smoker",))
    assert "who knows the total of a row" in by_group.answer


def test_without_rows_a_scorecard_shows_only_released_numbers():
    subject = Subject(POINTS)
    section = reconstruction_section(subject, reconstructed(subject))
    assert {fact.key for fact in section.facts} == {
        "bits_without_total",
        "bits_left_by_total",
        "bits_left_by_bins",
        "dist_g_by_bins",
    }
    assert "training row" not in section.answer
    assert section.measure == ""
    points = replace(POINTS, parts=POINTS.parts[:1])
    section = reconstruction_section(Subject(points), reconstructed(Subject(points)))
    assert [fact.key for fact in section.facts] == ["bits_without_total", "bits_left_by_total"]
    assert "--data" in section.measure


def test_a_scorecard_with_too_many_totals_has_a_report(monkeypatch):
    X, _ = a_table()
    monkeypatch.setattr(totals, "MOST_TOTALS", 2)
    subject = Subject(POINTS)
    for data in (None, X):
        section = reconstruction_section(subject, reconstructed(subject, data))
        assert {fact.key for fact in section.facts} == {"bits_left_by_bins", "dist_g_by_bins"}
        assert section.answer.startswith("Not measured. ")
        assert "different totals" in section.answer
        assert section.measure == ""
    monkeypatch.undo()
    with pytest.raises(DomainError, match="smoker"):
        reconstructed(subject, X.drop(columns="smoker"))


def test_a_total_with_one_possible_row_is_counted_but_fails_no_check():
    schema = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))
    parts = (hr.models.AttributePoints("a", ((0,), (1,))), hr.models.AttributePoints("b", ((0,), (2,))))
    subject = Subject(hr.models.Scorecard(schema, (0,), parts, 0.5, None, without_privacy().privacy))
    result = reconstructed(subject, pd.DataFrame({"a": [True, False], "b": [True, True]}))
    values = {fact.key: fact.value for fact in reconstruction_section(subject, result).facts}
    assert values["known_rows"] == 2
    assert list(reconstruction_checks(subject, result)) == []


def test_what_is_not_stored_is_not_measured():
    tree, _ = overfitted()
    for subject in (Subject(tree), Subject(a_tree(counts=((0, 0), (0, 0), (-3, 0))))):
        result = reconstructed(subject)
        assert isinstance(result, str)
        section = reconstruction_section(subject, result)
        assert section.answer.startswith("Not measured. ")
        assert "--data" in section.measure


def test_long_lists_are_left_to_the_audit():
    subjects = [
        Subject(RuleList(SCHEMA, (*[Rule((Literal("smoker", "true", ()),), (9, 1))] * n, Rule((), (5, 5))), CARD))
        for n in (0, 1, MOST_RULES)
    ]
    assert [isinstance(reconstructed(subject), str) for subject in subjects] == [False, False, True]
    assert "hedgerow audit" in reconstruction_section(subjects[2], reconstructed(subjects[2])).answer
