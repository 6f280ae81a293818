"""``results.json``, read as SACRO's viewer and ACRO read it."""

import json
from datetime import date

import pandas as pd
import pytest

from hedgerow.report import CATALOGUE, Form, Report
from hedgerow.report.exports import acro_results
from tests.report.subjects import a_table, a_tree, without_privacy

KEYS = {  # of acro/record.py, Records.finalise_json
    "uid", "status", "type", "properties", "files", "outcome", "command", "summary", "timestamp", "comments",
    "exception",
}  # fmt: skip


def viewed(data):
    """Check what SACRO's viewer asserts of a file (sacro/models.py), and return the only result."""
    data = json.loads(json.dumps(data, allow_nan=False))
    assert tuple(map(int, data["version"].split("."))) >= (0, 4, 0)
    (entry,) = data["results"].values()
    assert len(entry["files"]) == 1
    assert "name" in entry["files"][0]
    assert entry["files"][0]["sdc"]["cells"] == {}
    assert set(entry) == KEYS
    return entry


def test_each_bucket_is_a_status():
    stated = Form(purpose="x", curator="x", unit="x", tuning="x")
    statuses = {
        viewed(acro_results(Report.of(model, form=stated, on=date(2026, 11, 23)), "model.json"))["status"]
        for model in (a_tree(), without_privacy())
    }
    assert statuses == {"review", "fail"}


def test_the_outcome_is_a_frame_of_the_findings_of_both_sheets():
    X, y = a_table()
    report = Report.of(a_tree(), train=(X, y))
    entry = viewed(acro_results(report, "model.json"))
    frame = pd.DataFrame.from_dict(entry["outcome"])  # as acro's load_outcome does
    assert {check.key for check in report.public.checks} < set(frame["key"])
    assert set(frame["key"]) == {key for key, kind in CATALOGUE.items() if kind.sheets}  # others compare models
    leaves = frame[frame["key"] == "small-leaves"]
    assert leaves["informative"].tolist() == [False, True]  # by the released counts, and by the rows
    exact = [check.sentence for check in report.board.checks if check.key == "small-leaves" and check.informative]
    assert leaves[leaves["informative"]]["sentence"].tolist() == exact
    assert entry["files"][0]["name"] == "model.json"


@pytest.mark.parametrize("model", [a_tree(), without_privacy()])
def test_the_summary_has_the_gravest_checks(model):
    report = Report.of(model)
    entry = viewed(acro_results(report, "m.json"))
    sheet = report.deciding
    grave = [item.sentence.rstrip(".") for item in sheet.by_status(sheet.status)]
    assert grave
    assert all(sentence in entry["summary"] for sentence in grave)
