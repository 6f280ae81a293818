"""A report names what a model's file holds apart from the model: for the board with numbers."""

import json
from datetime import date

import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

from hedgerow.models.extra_contents import NOUNS
from hedgerow.models.readers.pmml import model_of_pmml
from hedgerow.report import Report, acro_results, card_checks, checks
from hedgerow.report.contents import STATUSES
from hedgerow.schema import Integer, Label, Schema
from tests.models.pmml_files import AGE, FILE, INTERVAL, SCHEMA, STATS, VERIFICATION


def the_file() -> str:
    text = FILE.replace("</TreeModel>", f"{VERIFICATION}</TreeModel>").replace("<Header/>", "<Header/><!-- by hand -->")
    text = text.replace('<Node score="no"><True/>', f'{STATS}<Node score="no"><True/>')
    return text.replace(f"{AGE}/>", f"{AGE}>{INTERVAL.format(19, 97)}</DataField>")


def the_report(text: str = "") -> Report:
    return Report.of(model_of_pmml(text or the_file(), SCHEMA), on=date(2026, 12, 1))


def test_rows_in_the_file_are_a_finding_against_release():
    report = the_report()
    board = {check.key: check for check in report.board.checks}
    assert board["file-rows"].status == "fail"
    assert board["file-rows"].value == 2
    assert board["file-rows"].sentence.startswith("The file contains 2 rows of data (PMML/TreeModel/ModelVerification/")
    assert {
        key: check.status for key, check in board.items() if key.startswith("file-") and check.status != "pass"
    } == {
        "file-rows": "fail",
        "file-extremes": "fail",
        "file-statistics": "review",
        "file-bounds": "review",
        "file-text": "review",
    }
    public = {check.key: check for check in report.public.checks}
    assert {check.status for key, check in public.items() if key.startswith("file-")} == {"not_run"}
    assert (report.deciding, report.board.status) == (report.board, "fail")


def test_the_public_sheet_hides_the_contents_of_a_file():
    """It named the line of rows behind the tree, and thus how many lines the tree has."""
    files = the_file(), the_file().replace("<Node", "\n<Node"), the_file().replace(VERIFICATION, "")
    public = {the_report(text).to_json() for text in files}
    assert len(public) == 1


def test_no_sheet_quotes_a_value_of_the_rows():
    report = the_report()
    assert "97" not in json.dumps([check.sentence for sheet in (report.public, report.board) for check in sheet.checks])
    assert "97" not in report.to_json()


def test_the_findings_are_among_the_twins():
    outcome = acro_results(the_report(), "model.pmml")["results"]["output_0"]
    assert outcome["status"] == "fail"
    assert "file-rows" in outcome["outcome"]["key"].values()


def test_a_pipeline_that_stores_least_and_largest_values_is_rejected():
    rows, labels = pd.DataFrame({"age": range(20, 80)}), [0] * 30 + [1] * 30
    schema = Schema({"age": Integer(0, 120)}, Label("ill", (0, 1)))
    model = make_pipeline(MinMaxScaler(), DecisionTreeClassifier(max_depth=1)).fit(rows, labels)
    result = {check.key: check for check in Report.of(model, schema=schema).board.checks}
    assert result["file-extremes"].status == "fail"
    assert "estimator" in result["file-extremes"].sentence


def test_rows_that_an_estimator_stores_in_several_places_count_once():
    class Kept(DecisionTreeClassifier):
        pass

    rows, labels = pd.DataFrame({"age": range(20, 80)}), [0] * 30 + [1] * 30
    model = Kept(max_depth=1).fit(rows, labels)
    model.neighbours_ = KNeighborsClassifier().fit(rows, labels)
    report = Report.of(model, schema=Schema({"age": Integer(0, 120)}, Label("ill", (0, 1))))
    (result,) = [check for check in report.board.checks if check.key == "file-rows"]
    assert result.value == 60
    assert not any("60" in check.sentence for check in report.public.checks)


@pytest.mark.parametrize("kind", NOUNS)
def test_every_kind_has_a_rule_and_a_bucket(kind):
    assert checks.RULES[f"file-{kind}"][0] == "model"
    assert card_checks._STORED[kind][0] in STATUSES
