"""Reports: two sheets that never mix, and their files."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.report import Form, Report
from hedgerow.report import report as module
from hedgerow.schema import Integer, Label, Schema
from tests.report.subjects import SCHEMA, a_table, a_tree, no_guarantee_reason, overfitted, without_privacy

ON = date(2026, 11, 23)


def test_a_private_model_without_rows_has_a_public_sheet_alone():
    report = Report.of(a_tree(), on=ON)
    assert report.board is None
    assert "public sheet only" in repr(report)
    with pytest.raises(ValueError, match="expected a report with a sheet for the board"):
        report.to_html(private=True)


@pytest.mark.parametrize("model", [without_privacy(), a_tree(no_guarantee_reason())])
def test_what_a_model_without_a_guarantee_stores_is_for_the_board(model):
    report = Report.of(model, on=ON)
    public, board = report.to_json(), report.to_json(private=True)
    for number in ("33", "52", "25"):  # rows of its leaves
        assert f'"{number}"' not in public
    assert [section.key for section in report.public.sections].count("model") == 1
    assert "Only on the sheet for the board" in report.public.section("model").answer
    assert "leaves" in [section.key for section in report.board.sections]
    assert json.loads(board)["private"] is True
    assert json.loads(public)["private"] is False


def test_the_public_sheet_does_not_depend_on_rows():
    X, y = a_table()
    plain = Report.of(a_tree(), on=ON).to_json()
    half = np.arange(90) % 2 == 0
    assert Report.of(a_tree(), train=(X, y), test=(X[half], y[half]), by=["age"], on=ON).to_json() == plain
    other = X.assign(age=5)
    assert Report.of(a_tree(), train=(other, y), on=ON).to_json() == plain
    free = Report.of(without_privacy(), on=ON).to_json()
    assert Report.of(without_privacy(), train=(X, y), on=ON).to_json() == free
    assert Report.of(without_privacy(counts=((9, 9), (8, 1), (0, 1))), on=ON).to_json() == free


def test_a_digest_and_a_schema_of_rows_are_for_the_board():
    """Guesses of the rows can be confirmed by the digest of what was computed of them."""
    frame = pd.DataFrame({"town": ["Ulm", "Bonn"] * 20})
    clf = hr.OptimalTreeClassifier(max_depth=1, schema="from-data").fit(frame, [0, 1] * 20)
    report = Report.of(clf, on=ON)
    board, public = report.to_json(private=True), report.to_json()
    for text in ("Ulm", clf.tree_.schema.digest, clf.tree_.to_dict()["digest"]):
        assert text in board
        assert text not in public
    assert "taken from the rows" in report.public.section("unprotected").answer
    assert a_tree().to_dict()["digest"] in Report.of(a_tree(), on=ON).to_json()


def test_an_overfitted_tree_of_another_library_comes_out_red():
    tree, schema = overfitted()
    report = Report.of(tree, schema=schema, on=ON)
    assert report.board.worst == "reject"
    values = {fact.name: fact.value for fact in report.board.section("leaves").facts}
    assert (values["leaves"], values["leaves of one row"]) == (86, 31)
    assert report.board.section("reconstruction").facts[2].name == "Dist_G"


def test_a_mean_of_uncertainty_does_not_make_a_tree_green():
    """Attributes that the tree never asks for leave most of the uncertainty; its leaves are red all the same."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 1000, 300), **{f"b{i}": rng.integers(0, 1000, 300) for i in range(3)}})
    y = rng.integers(0, 2, 300)
    grown = DecisionTreeClassifier(random_state=0).fit(X[["a"]], y)
    schema = Schema({name: Integer(0, 999, cuts=()) for name in X}, Label("y", (0, 1)))
    report = Report.of(grown, schema=schema, on=ON)
    uncertainty = report.board.section("reconstruction").facts[2].value
    assert uncertainty > 0.75
    assert report.board.worst == "reject"
    assert not [one for one in report.board.findings if one.section == "reconstruction" and one.bucket == "supports"]


def test_a_pipeline_of_another_library_is_reported_on_whole():
    X, y = a_table()
    codes = X.astype(float)
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0)).fit(codes, y)
    report = Report.of(scaled, schema=SCHEMA, train=(codes, y), test=(codes, y), by=["age"], on=ON)
    leaves = {fact.name: fact.value for fact in report.board.section("leaves").facts}
    assert leaves["leaves"] == scaled[-1].get_n_leaves()
    assert report.board.section("accuracy").facts[0].value == scaled.score(codes, y)
    separated = report.board.section("membership").facts[0]
    assert separated.value == 0.5  # the same rows twice


def test_all_of_a_board_sheet_with_rows():
    X, y = a_table()
    form = Form(sensitive=("smoker",))
    report = Report.of(a_tree(), form=form, train=(X, y), test=(X, y), on=ON)
    keys = [section.key for section in report.board.sections]
    assert keys == [
        "identity", "guarantee", "model", "leaves", "accuracy", "membership", "reconstruction", "groups",
        "residual-risk", "decision",
    ]  # fmt: skip
    assert report.board.section("accuracy").grids[0].title == "By smoker, on training rows"
    assert {one.section for one in report.board.findings} <= set(keys)


def test_findings_name_sections_that_the_sheet_has():
    for model in (a_tree(), a_tree(no_guarantee_reason()), without_privacy()):
        sheet = Report.of(model, on=ON).public
        assert {one.section for one in sheet.findings} <= {section.key for section in sheet.sections}
        assert sheet.sections[-1].key == "decision"


def test_json_is_the_data_of_the_sheet():
    report = Report.of(a_tree(), on=ON)
    data = json.loads(report.to_json())
    assert data == report.public.to_dict()
    assert (data["format"], data["version"], data["sheet"], data["date"]) == (
        "hedgerow/report",
        1,
        "public",
        "2026-11-23",
    )
    assert data["worst"] == "look"
    assert data["findings"][0]["source"].startswith("Ponomareva")


def test_sheets_are_written_to_files_of_their_own(tmp_path):
    X, y = a_table()
    report = Report.of(a_tree(), train=(X, y), on=ON)
    written = report.save(tmp_path / "report.html")
    assert [path.name for path in written] == ["report.html", "report.PRIVATE.html"]
    assert written[0].read_text("utf-8") == report.to_html()
    assert written[1].read_text("utf-8") == report.to_html(private=True)
    written = report.save(tmp_path / "report.json")
    assert written[1].read_text("utf-8") == report.to_json(private=True)
    assert [path.name for path in Report.of(a_tree()).save(tmp_path / "alone.json")] == ["alone.json"]


def test_no_file_is_replaced_and_no_half_report_is_written(tmp_path):
    X, y = a_table()
    report = Report.of(a_tree(), train=(X, y), on=ON)
    (tmp_path / "report.PRIVATE.html").write_text("signed")
    with pytest.raises(OSError, match="File exists"):
        report.save(tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
    assert len(report.save(tmp_path / "report.html", force=True)) == 2
    for name, message in (("report.pdf", "ends in .html or .json"), ("report.PRIVATE.html", "says PRIVATE")):
        with pytest.raises(ValueError, match=message):
            report.save(tmp_path / name)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"releases": "budget.json"},
            r"expected a record of releases \(report.Releases\) or None as releases, got str",
        ),
        ({"on": "today"}, "expected a date or None as on, got str"),
        ({"by": "age"}, "expected a sequence of names of columns as by"),
        ({"membership": 3}, "expected a result of audit.membership"),
        ({"train": 3}, "train must be a pair"),
    ],
)
def test_other_arguments_are_refused(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Report.of(a_tree(), **given)


def test_the_date_is_that_of_the_day():
    assert abs((date.today() - Report.of(a_tree()).public.date).days) <= 1
    assert Report.of(a_tree()).public.software == module.SOFTWARE
    assert SCHEMA.digest in Report.of(a_tree()).to_json()
