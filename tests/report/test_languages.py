"""Sheets in each language: only text differs; keys, codes, values and digests do not."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import hedgerow as hr
from hedgerow.models.extra_contents import text_content
from hedgerow.privacy.charge import Charge
from hedgerow.report import (
    Comparison,
    Form,
    PastRelease,
    Releases,
    Report,
    Statement,
    acro_results,
    airlock_record,
    crate_zip,
    registry_yaml,
)
from hedgerow.schema import Integer, Label, Number, Schema
from hedgerow.text.language import LANGUAGES, in_language, language
from tests.report.subjects import SCHEMA, a_table, a_tree, no_guarantee_reason, overfitted, rows_of, without_privacy

ON = date(2026, 11, 29)
FORM = Form(
    title="Falls",
    purpose="to advise wards",
    population="adults",
    curator="a hospital",
    unit="a person",
    rows_per_unit=3,
    sensitive=("smoker",),
    author="A. Author",
    person="https://orcid.org/0000-0000-0000-0000",
    project="wards",
    workflow="https://example.org/workflow",
)
RECORD = Releases((PastRelease(Charge("counts", Fraction(1, 10)), "2026-11-23T01:02:03Z"),), Fraction(2), "ledger")
TEXTS = {
    *("language", "name", "title", "text", "question", "answer", "notes", "words", "how_to_measure", "verdict"),
    *("sentence", "threshold", "source", "differences"),
}
"""The keys of text in the JSON of a sheet, statement or record."""
HASHES = {"public_html_sha256", "public_json_sha256"}  # of the public sheet as it is written


def private_tree(language):
    rows = a_table()
    return Report.of(
        a_tree(),
        form=FORM,
        releases=RECORD,
        train=rows,
        test=rows_of(((3, 8), (9, 2), (5, 1))),
        on=ON,
        language=language,
    )


def stored_tree(language):
    return Report.of(without_privacy(), form=FORM, train=a_table(), by=["smoker"], on=ON, language=language)


def tree_of_others(language):
    model, schema = overfitted()
    return Report.of(model, schema=schema, on=ON, language=language)


def voided_tree(language):
    return Report.of(a_tree(no_guarantee_reason()), on=ON, language=language)


def a_forest(language):
    frame, labels = a_table()
    codes = frame.astype(int)
    forest = RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0).fit(codes, labels)
    schema = Schema({"age": Integer(0, 99, ()), "smoker": Integer(0, 1, ())}, Label("ill", ("no", "yes")))
    return Report.of(forest, schema=schema, train=(codes, labels), on=ON, language=language)


def fitted(learner, target, language):
    frame, _ = a_table()
    wide = pd.concat([frame] * 20, ignore_index=True)
    model = learner(epsilon=2, schema=Schema(dict(SCHEMA.attributes), target), random_state=0).fit(
        wide, target_of(wide, target)
    )
    return Report.of(model, form=FORM, train=(wide, target_of(wide, target)), on=ON, language=language)


def target_of(frame, target):
    if isinstance(target, Number):
        return frame["age"] / 2.0
    return pd.Series(np.where(frame["age"] > 60, *target.classes[::-1]), name="ill")


def a_scorecard(language):
    return fitted(hr.PrivateScorecardClassifier, Label("ill", ("no", "yes")), language)


def a_scorecard_of_a_number(language):
    return fitted(hr.PrivateScorecardRegressor, Number("stay", 0, 60), language)


def a_rule_list(language):
    return fitted(hr.PrivateRuleListClassifier, Label("ill", ("no", "yes")), language)


REPORTS = (
    private_tree,
    stored_tree,
    tree_of_others,
    voided_tree,
    a_forest,
    a_scorecard,
    a_scorecard_of_a_number,
    a_rule_list,
)


def without_text(data):
    """Return data without text for people: what must be equal in every language."""
    if isinstance(data, dict):
        shown = {key: without_text(value) for key, value in data.items() if key not in TEXTS}
        if {"columns", "rows"} <= data.keys():
            kinds = [column["type"] for column in data["columns"]]
            pairs = [[cell for cell, kind in zip(row, kinds, strict=True) if kind == "value"] for row in data["rows"]]
            shown["rows"] = [without_text(row) for row in pairs]
        return shown
    if isinstance(data, list):
        return [without_text(entry) for entry in data if not (isinstance(entry, dict) and entry.get("id") in HASHES)]
    return data


@pytest.fixture(scope="module", params=REPORTS, ids=lambda make: make.__name__)
def reports(request):
    made = {}
    for name in (*LANGUAGES, "again"):
        made[name] = request.param("en" if name == "again" else name)
        assert language() == "en"
    return made


def sheets_of(report):
    return [sheet for sheet in (report.public, report.board) if sheet is not None]


def test_only_text_differs_between_languages(reports):
    english = [without_text(sheet.to_dict()) for sheet in sheets_of(reports["en"])]
    for name in LANGUAGES:
        data = [sheet.to_dict() for sheet in sheets_of(reports[name])]
        assert {sheet["language"] for sheet in data} == {name}
        assert [without_text(sheet) for sheet in data] == english
        assert [json.dumps(sheet, allow_nan=False) for sheet in data]


def test_no_language_leaves_anything_behind_in_the_next(reports):
    for item, other in zip(sheets_of(reports["en"]), sheets_of(reports["again"]), strict=True):
        assert item.to_dict() == other.to_dict()
    assert reports["en"].to_html() == reports["again"].to_html()


def test_pages_do_not_depend_on_the_language_of_the_reader(reports):
    for name in LANGUAGES:
        pages = []
        for readers in LANGUAGES:
            with in_language(readers):
                sheets = sheets_of(reports[name])
                pages.append(
                    (
                        reports[name].to_html(),
                        [sheet.verdict for sheet in sheets],
                        [sheet.not_examined for sheet in sheets],
                    )
                )
        assert pages == [pages[0]] * len(LANGUAGES)
        assert f'<html lang="{name}">' in pages[0][0]


def test_statements_and_records_have_the_same_facts(reports):
    records, statements = [], []
    for name in LANGUAGES:
        report = reports[name]
        statement = Statement.of(report)
        assert statement.language == name
        assert f'<html lang="{name}">' in statement.to_html()
        assert statement.to_text()
        record = airlock_record(report)
        del record["sheets"]  # hashes of the text
        records.append(without_text(record))
        statements.append(without_text(statement.to_dict()))
    assert records == [records[0]] * len(LANGUAGES)
    assert statements == [statements[0]] * len(LANGUAGES)


def test_other_files_keep_their_codes(reports):
    results = [acro_results(reports[name], "model.json")["results"]["output_0"] for name in LANGUAGES]
    for key in ("key", "status", "value", "limit", "low", "high"):
        assert len({json.dumps(result["outcome"][key]) for result in results}) == 1
    assert len({result["status"] for result in results}) == 1


def test_a_crate_is_made_in_each_language():
    for name in LANGUAGES:
        assert crate_zip(private_tree(name))


def test_a_registry_record_is_in_english():
    form = dict.fromkeys(("title", "purpose", "population", "curator", "unit", "region", "author"), "x")
    report = Report.of(
        a_tree(), form=Form(**form, curator_type="Industry", publication_date="2026-12-01"), language="de"
    )
    with pytest.raises(ValueError, match=r"English .*de"):
        registry_yaml(report)


def test_an_unknown_language_names_those_there_are():
    with pytest.raises(ValueError, match=r"language .*en, de, fr.*'es'"):
        Report.of(a_tree(), language="es")


def test_reports_are_compared_in_one_language():
    with pytest.raises(ValueError, match="language"):
        Comparison.of({"one": private_tree("de"), "other": private_tree("fr")})
    both = {name: Comparison.of({"one": private_tree(name), "other": voided_tree(name)}) for name in LANGUAGES}
    assert {name: result.language for name, result in both.items()} == {name: name for name in LANGUAGES}
    shown = [without_text(result.public.to_dict()) for result in both.values()]
    assert shown == [shown[0]] * len(LANGUAGES)


def test_the_guarantee_of_an_export_is_recognised_in_every_language():
    comment = a_tree().to_sql().partition("; ")[2].partition(" */")[0]
    assert comment.startswith("guarantee: ")
    for name in LANGUAGES:
        with in_language(name):
            assert text_content(comment, "comment") is None
            assert comment in a_tree().to_sql()


def test_files_of_models_and_cards_do_not_depend_on_the_language():
    model = a_tree()
    files = []
    for name in LANGUAGES:
        with in_language(name):
            files.append(
                (
                    model.to_json(),
                    json.dumps(model.privacy.to_dict()),
                    model.to_sql(),
                    model.to_python(),
                    model.to_pmml(),
                )
            )
    assert files == [files[0]] * len(LANGUAGES)
