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
from hedgerow.errors import ArgumentError
from hedgerow.models import Leaf, Split, Tree
from hedgerow.report import CATALOGUE, Form, Releases, Report
from hedgerow.report import report as module
from hedgerow.report.contents import page
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema
from tests.report.subjects import SCHEMA, a_table, a_tree, no_guarantee_reason, overfitted, without_privacy

ON = date(2026, 11, 23)


def test_a_private_model_without_rows_has_a_public_sheet_alone():
    report = Report.of(a_tree(), on=ON)
    assert report.board is None
    assert "public sheet only" in repr(report)
    with pytest.raises(ValueError, match="no board's sheet"):
        report.to_html(private=True)


@pytest.mark.parametrize("model", [without_privacy(), a_tree(no_guarantee_reason())])
def test_what_a_model_without_a_guarantee_stores_is_for_the_board(model):
    report = Report.of(model, on=ON)
    public, board = report.to_json(), report.to_json(private=True)
    for number in ("33", "52", "25"):  # rows of its leaves
        assert f'"{number}"' not in public
    assert [section.key for section in report.public.sections].count("model") == 1
    assert "on the board's sheet only" in report.public.section("model").answer
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


def test_an_overfitted_tree_of_another_library_fails():
    tree, schema = overfitted()
    report = Report.of(tree, schema=schema, on=ON)
    assert report.board.status == "fail"
    values = {fact.key: fact.value for fact in report.board.section("leaves").facts}
    assert (values["leaves"], values["single_leaves"]) == (86, 31)
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
    assert report.board.status == "fail"
    assert {item.key for item in report.board.by_status("pass") if item.section == "reconstruction"} <= {"known-rows"}


def test_a_pipeline_of_another_library_is_reported_on_whole():
    X, y = a_table()
    codes = X.astype(float)
    scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0)).fit(codes, y)
    report = Report.of(scaled, schema=SCHEMA, train=(codes, y), test=(codes, y), by=["age"], on=ON)
    leaves = {fact.key: fact.value for fact in report.board.section("leaves").facts}
    assert leaves["leaves"] == scaled[-1].get_n_leaves()
    assert report.board.section("accuracy").facts[0].value == scaled.score(codes, y)
    separated = report.board.section("membership").facts[0]
    assert separated.value == 0.5  # the same rows twice


@pytest.mark.parametrize("model", [without_privacy(), a_tree(no_guarantee_reason()), overfitted()[0]])
def test_without_a_guarantee_the_public_sheet_is_not_signed(model):
    record = Releases((), None)  # supports the release of a private model
    sheet = Report.of(model, releases=record, form=Form(purpose="x", curator="x", unit="x", tuning="x"), on=ON).public
    data = json.loads(json.dumps(sheet.to_dict()))
    assert (data["decides"], data["status"] in ("not_run", "fail")) == (False, True)
    assert data["verdict"].startswith("This sheet does not support a release")
    examined = {item["id"] for item in data["checks"] if item["status"] == "pass"}
    assert not examined & {key for key, kind in CATALOGUE.items() if kind.needs and "record" not in kind.needs}
    assert "decision" not in {item["id"] for item in data["sections"]}
    text = page(sheet)
    assert "All checks that were run passed" not in text
    assert 'class="sign"' not in text
    assert text.index("does not support a release") < text.index('class="whence"')
    assert json.loads(Report.of(a_tree(), releases=record, on=ON).to_json())["decides"] is True


@pytest.mark.parametrize("ending", ["html", "json"])
def test_all_leaves_are_in_a_file_beside_the_sheet_that_may_have_them(tmp_path, ending):
    tree, schema = overfitted()
    written = Report.of(tree, schema=schema, on=ON).save(tmp_path / f"report.{ending}")
    assert [path.name for path in written][2:] == ["report.PRIVATE.leaves.csv"]
    result = pd.read_csv(written[2])
    assert sorted(result["leaf"].str.partition(".")[0].astype(int)) == list(range(1, 87))
    assert result["rows"].tolist() == sorted(result["rows"])
    assert (result["prediction"] == (result["leaf"].str.partition(".")[0].astype(int) - 1) % 2).all()
    with pytest.raises(OSError, match="File exists"):
        Report.of(tree, schema=schema, on=ON).save(tmp_path / "report.html" if ending == "json" else written[0])


def test_released_counts_are_public_and_counts_of_rows_private(tmp_path):
    names = [f"b{i}" for i in range(4)]
    root = Leaf((20, -3))
    for name in names[::-1]:
        root = Split(Literal(name, "true"), root, root)
    model = Tree(Schema({name: Boolean() for name in names}, Label("=y", ("=1+1", "no"))), root, a_tree().privacy)
    rows = pd.DataFrame(np.zeros((30, 4), dtype=bool), columns=names), pd.Series(["no"] * 30, name="=y")
    public, _, released, exact = Report.of(model, train=rows, on=ON).save(tmp_path / "report.html")
    assert [path.name for path in (released, exact)] == ["report.leaves.csv", "report.PRIVATE.leaves.csv"]
    assert released.read_text().count(",'=1+1,17,20,-3,") == 16  # no formula
    assert pd.read_csv(exact)["rows"].tolist() == [0] * 15 + [30]
    Report.of(model, on=ON).save(public, force=True)
    assert pd.read_csv(released)["rows"].tolist() == [17] * 16


def test_leaves_without_rows_are_counted():
    X, y = a_table()
    young = X.age < 60
    for model in (a_tree(), without_privacy(counts=((0, 0), (40, 12), (25, 0)))):
        report = Report.of(model, train=(X[young], y[young]), on=ON)
        values = {fact.key: fact.value for fact in report.board.section("leaves").facts}
        assert (values["leaves"], values["empty_leaves"], values["small_leaves"]) == (3, 1, 1)


def test_all_of_a_board_sheet_with_rows():
    X, y = a_table()
    form = Form(sensitive=("smoker",))
    report = Report.of(a_tree(), form=form, train=(X, y), test=(X, y), on=ON)
    keys = [section.key for section in report.board.sections]
    assert keys == [
        "identity", "guarantee", "model", "leaves", "accuracy", "membership", "attacks", "reconstruction",
        "groups", "statements", "decision",
    ]  # fmt: skip
    assert report.board.section("accuracy").grids[0].title == "By smoker (training rows)"
    assert {check.section for check in report.board.checks if check.informative} <= set(keys)


def test_findings_name_sections_that_the_sheet_has():
    for model in (a_tree(), a_tree(no_guarantee_reason()), without_privacy()):
        sheet = Report.of(model, on=ON).public
        assert {check.section for check in sheet.checks if check.threshold} <= {
            section.key for section in sheet.sections
        }
        assert (sheet.sections[-1].key == "decision") == model.privacy.is_private


def test_json_is_the_data_of_the_sheet():
    report = Report.of(a_tree(), on=ON)
    data = json.loads(report.to_json())
    assert data == report.public.to_dict()
    assert (data["format"], data["version"], data["sheet"], data["date"]) == (
        "hedgerow/report",
        3,
        "public",
        "2026-11-23",
    )
    assert data["status"] == "not_run"  # no record of releases
    assert data["checks"][0]["source"].startswith("Ponomareva")


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
    for name, message in (
        ("report.pdf", "must end in .html or .json"),
        ("report.PRIVATE.html", "must not contain PRIVATE"),
    ):
        with pytest.raises(ValueError, match=message):
            report.save(tmp_path / name)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"releases": "budget.json"},
            r"releases must be .* got str",
        ),
        ({"on": "today"}, "on must be a date or None, got str"),
        ({"by": "age"}, "by must be a sequence"),
        ({"attacks": 3}, "results of hedgerow.audit"),
        ({"train": 3}, "train must be a pair"),
        ({"train": tuple(part[:0] for part in a_table())}, "train is a table without rows"),
        ({"test": tuple(part[:0] for part in a_table())}, "test is a table without rows"),
    ],
)
def test_other_arguments_are_refused(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Report.of(a_tree(), **given)


def test_the_date_is_that_of_the_day():
    assert abs((date.today() - Report.of(a_tree()).public.date).days) <= 1
    assert Report.of(a_tree()).public.software == module.SOFTWARE.words
    assert SCHEMA.digest in Report.of(a_tree()).to_json()


def test_groups_of_other_rows_are_not_reported():
    """The counts of the model are not those of the rows, so that nothing is known of the groups of its own rows."""
    board = Report.of(without_privacy(), train=a_table(), by=["smoker"]).board
    assert [check.status for check in board.checks if check.key == "counts"] == ["fail"]
    assert "groups" not in {section.key for section in board.sections}


def test_training_rows_are_no_held_out_rows():
    """They have the same leaves and the same accuracy: an overfitted model passed both comparisons."""
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 2)), rng.integers(2, size=300)
    model = DecisionTreeClassifier(max_depth=2).fit(X[:200], y[:200])
    train, order = (X[:200], y[:200]), rng.permutation(200)
    for test in (train, (X[order], y[order]), (X[100:200], y[100:200])):
        with pytest.raises(ArgumentError, match="held-out rows"):
            Report.of(model, train=train, test=test)
    Report.of(model, train=train, test=(X[100:201], y[100:201]))
    coarse, labels = np.round(X), np.ones(300, dtype=int)  # four different rows: new ones have been seen before
    labels[:2] = 0
    model.fit(coarse, labels)
    Report.of(model, train=(coarse[:200], labels[:200]), test=(coarse[200:], labels[200:]))
