"""`hedgerow report`."""

import hashlib
import json
import zipfile
from datetime import date

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.report import _EXIT
from hedgerow.privacy import FileBudget
from hedgerow.report import Form, Releases, Report, Statement, appetite_template, empty_form, file_digests
from hedgerow.report.checks import STATUSES
from hedgerow.report.exports import acro_results, registry_yaml
from tests.cli.table import FIT as WITHOUT_COUNTS
from tests.cli.table import a_scorecard, a_tree
from tests.report.subjects import CARD, WAGE_ROWS, wage_tree

FIT = (*WITHOUT_COUNTS, "--release-counts", "--budget", "budget.json")


@pytest.fixture
def fitted(folder, run):
    run("budget", "new", "budget.json", "--epsilon", "9")
    assert run(*FIT)[0] == 0
    (folder / "form.yaml").write_text("title: <b>Falls</b>\nsensitive: [sex]\n")
    return folder


def test_a_form_is_written_to_be_filled_in(folder, run):
    code, out, err = run("report", "--new-form", "form.yaml")
    assert (code, out) == (0, "")
    assert "hedgerow report model.json --form form.yaml" in err
    assert (folder / "form.yaml").read_text("utf-8") == empty_form()
    assert "already exists" in run("report", "--new-form", "form.yaml")[2]
    assert run("report", "--new-form", "form.yaml", "--force")[0] == 0
    for more in (("model.json",), ("--threshold", "10"), ("--by", "sex"), ("--json",), ("-o", "r.html")):
        code, _, err = run("report", "--new-form", "other.yaml", *more)
        assert (code, "only with --force" in err, (folder / "other.yaml").exists()) == (2, True, False)


def test_sheets_and_forms_are_in_the_language_that_is_given(fitted, run):
    for language in ("de", "fr"):
        assert run("report", "model.json", "--language", language, "-o", f"{language}.html")[0] == 0
        assert f'<html lang="{language}">' in (fitted / f"{language}.html").read_text("utf-8")
        assert run("report", "--new-form", f"{language}.yaml", "--language", language)[0] == 0
        assert (fitted / f"{language}.yaml").read_text("utf-8") == empty_form(language)
        assert json.loads(run("report", "model.json", "--language", language, "--json")[1])["language"] == language
    for options, named in (
        (("model.json", "--json", "--language", "es"), "fr"),
        (("--new-appetite", "a.yaml", "--language", "de"), "--new-appetite"),
        (("model.json", "--registry", "r.yaml", "--language", "de"), "--registry"),
    ):
        code, out, err = run("report", *options)
        assert (code, out, named in err) == (2, "", True)


def test_a_public_sheet_alone(fitted, run):
    code, out, err = run("report", "model.json", "--form", "form.yaml", "--ledger", "budget.json", "-o", "report.html")
    assert (code, out) == (0, "")
    written, verdict = err.splitlines()
    assert written == "written to report.html"
    form, releases = Form.load(fitted / "form.yaml"), Releases.load(fitted / "budget.json")
    files = file_digests(model="model.json")
    expected = Report.of(hr.load_model("model.json"), form=form, releases=releases, files=files)
    assert (fitted / "report.html").read_text("utf-8") == expected.to_html()
    assert verdict == expected.public.verdict
    assert "&lt;b&gt;Falls" in expected.to_html()
    printed = json.loads(run("report", "model.json", "--form", "form.yaml", "--ledger", "budget.json", "--json")[1])
    assert printed == expected.public.to_dict()
    assert not list(fitted.glob("*PRIVATE*"))


def test_rows_go_to_a_sheet_of_their_own(fitted, run):
    data = pd.read_csv(fitted / "data.csv", dtype=str)
    test = data.assign(ill=data["ill"].to_numpy()[::-1])
    test.to_csv(fitted / "test.csv", index=False)
    given = ("--form", "form.yaml", "--data", "data.csv", "--test", "test.csv")
    code, _, err = run("report", "model.json", *given, "-o", "r.json")
    assert (code, err.splitlines()[:2]) == (0, ["written to r.json", "written to r.PRIVATE.json"])
    board = json.loads((fitted / "r.PRIVATE.json").read_text("utf-8"))
    train, held_out = ((rows.drop(columns="ill"), rows["ill"]) for rows in (data, test))
    form = Form.load(fitted / "form.yaml")
    report = Report.of(hr.load_model("model.json"), form=form, train=train, test=held_out, on=date.today())
    verdict, pointer = err.splitlines()[2:]
    assert verdict == report.public.verdict  # the sheet that decides
    assert "board's sheet" in pointer
    assert board["checks"] == [check.to_dict() for check in report.board.checks]
    assert [table["title"] for table in board["sections"][4]["tables"]] == [
        "By sex (training rows)",
        "By sex (held-out rows)",
    ]
    by = run("report", "model.json", *given, "--by", "age", "-o", "by.json")
    assert by[0] == 0
    data[::-1].to_csv(fitted / "same.csv", index=False)
    same = run("report", "model.json", "--data", "data.csv", "--test", "same.csv", "-o", "same.json")
    assert same[0] == 2
    assert "among the training rows" in same[2]
    assert "By age (held-out rows)" in (fitted / "by.PRIVATE.json").read_text("utf-8")


def test_printed_lines_on_a_model_with_a_guarantee_do_not_depend_on_rows(folder, run):
    wage_tree(CARD).save("wages.json")
    X, y = WAGE_ROWS
    printed = []
    for place, wage in enumerate((X["wage"], X["wage"].clip(600, 20_000))):  # the bounds are extremes of the first only
        pd.DataFrame({"wage": wage, "left": y}).to_csv("rows.csv", index=False)
        code, out, err = run("report", "wages.json", "--data", "rows.csv", "-o", "wages.html", *["--force"][:place])
        board = next(folder.glob("wages.PRIVATE.html")).read_text("utf-8")
        assert ("the smallest and the largest given value" in board) is (place == 0)
        printed.append((code, out, err))
    assert printed[0] == printed[1]


def test_candidates_are_compared_on_one_page(fitted, run):
    a_tree(fitted, old={"counts": (5, 200)}, young={"label": "no", "counts": (300, 0)})
    both = ("model.json", "tree.json")
    code, _, err = run("report", *both, "--data", "data.csv", "-o", "both.html")
    written = ["written to both.html", "written to both.PRIVATE.html"]
    assert (code, err.splitlines()[:2]) == (0, written)
    result = json.loads(run("report", *both, "--json")[1])
    columns = result["sections"][0]["tables"][0]["columns"]
    assert (result["title"], [column["name"] for column in columns]) == ("model, tree compared", ["", "model", "tree"])
    assert "require a single model, got 2" in run("report", *both, "--crate", "crate.zip")[2]
    assert "tree.json is an input" in run("report", *both, "-o", "tree.json", "--force")[2]


@pytest.mark.usefixtures("fitted")
def test_the_printed_sheet_is_public(run):
    plain = run("report", "model.json", "--json")[1]
    assert run("report", "model.json", "--data", "data.csv", "--json")[1] == plain
    assert json.loads(plain)["sheet"] == "public"


def test_models_of_every_kind(folder, run):
    a_scorecard(folder)
    a_tree(folder, old={"counts": (5, 200)}, young={"label": "no", "counts": (300, 0)})
    for name in ("card", "tree"):
        code, _, err = run("report", f"{name}.json", "--data", "data.csv", "-o", f"{name}.html")
        assert (code, err.count("written to")) == (0, 2)
    text = (folder / "tree.PRIVATE.html").read_text("utf-8")
    assert '<p class="verdict fail">' in text
    assert "Do not release the model as it is." in err  # of the sheet that decides


def test_missing_or_conflicting_options_are_reported(fitted, run):
    assert "a model file is missing" in run("report")[2]
    assert "an output is missing" in run("report", "model.json")[2]
    assert "must end in .html or .json" in run("report", "model.json", "-o", "r.pdf")[2]
    assert "--dataset requires --ledger" in run("report", "model.json", "--dataset", "a", "--json")[2]
    assert "--head requires --ledger" in run("report", "model.json", "--head", "a", "--json")[2]
    for more in (("--by", "sex"), ("--encoding", "cp1252"), ("--decimal", ",")):
        assert "--data or --test" in run("report", "model.json", *more, "--json")[2]
    twice = ("--data", "data.csv", "--test", "./data.csv", "-o", "r.html")
    assert "--test is the same file as --data" in run("report", "model.json", *twice)[2]
    same = ("-o", "r.json", "--acro", "r.json")
    assert "r.json is the name of two outputs" in run("report", "model.json", *same)[2]
    assert not (fitted / "r.json").exists()
    (fitted / "r.PRIVATE.html").write_text("signed")
    assert "r.PRIVATE.html already exists" in run("report", "model.json", "-o", "r.html")[2]
    assert not (fitted / "r.html").exists()
    assert run("report", "model.json", "-o", "r.html", "--force")[0] == 0
    (fitted / "other.csv").write_text("age,sex,dose\n3,F,\n")
    assert "no such column" in run("report", "model.json", "--data", "other.csv", "--json")[2]
    assert "is an input of this command" in run("report", "model.json", "-o", "model.json", "--force")[2]


STATED = """\
title: Falls
purpose: to show
population: patients
curator: a clinic
curator_type: Nonprofit
unit: one patient
region: nowhere
publication_date: "2026-11-23"
author: A. Uthor
person: https://orcid.org/0
project: P
workflow: https://example.org/w
"""


def test_twins_are_written_beside_the_sheets(fitted, run):
    (fitted / "form.yaml").write_text(STATED)
    twins = ("--acro", "results.json", "--crate", "crate.zip", "--registry", "record.yaml")
    code, _, err = run("report", "model.json", "--form", "form.yaml", *twins)
    assert (code, err) == (0, "written to results.json\nwritten to crate.zip\nwritten to record.yaml\n")
    report = Report.of(hr.load_model("model.json"), form=Form.load(fitted / "form.yaml"))
    assert json.loads((fitted / "results.json").read_text("utf-8")) == acro_results(report, "model.json")
    assert (fitted / "record.yaml").read_text("utf-8") == registry_yaml(report)
    assert zipfile.is_zipfile(fitted / "crate.zip")
    (fitted / "results.json").unlink()
    code, _, err = run("report", "model.json", "--data", "data.csv", "--acro", "results.json")
    assert (code, err) == (0, "written to results.PRIVATE.json\n")
    assert not (fitted / "results.json").exists()


def test_only_the_owner_reads_private_files(fitted, run):
    twins = ("--acro", "a.json", "--airlock", "r.json", "--statement", "s.html")
    assert run("report", "model.json", "--data", "data.csv", *twins, "-o", "report.html")[0] == 0
    private = {path.name for path in fitted.iterdir() if not path.stat().st_mode & 0o077}
    expected = {"a.PRIVATE.json", "r.PRIVATE.json", "s.PRIVATE.html", "report.PRIVATE.html"}
    assert {path.name for path in fitted.glob("*PRIVATE*")} == expected
    assert expected <= private
    assert not private & {"r.json", "s.html", "report.html"}


def test_a_twin_that_cannot_be_made_writes_nothing(fitted, run):
    twins = ("--acro", "results.json", "--registry", "record.yaml")
    code, _, err = run("report", "model.json", "--form", "form.yaml", *twins, "-o", "report.html")
    assert code == 2
    assert "needs title, purpose" in err
    assert not (fitted / "results.json").exists()
    assert not (fitted / "report.html").exists()
    (fitted / "away").mkdir()
    assert "in the directory of model.json" in run("report", "model.json", "--acro", "away/results.json")[2]


def test_what_errors_cost_is_said_by_class_or_in_a_file(folder, run):
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    (folder / "costs.yaml").write_text('"no": {"yes": 1}\n"yes": {"no": 5}\n')
    result = []
    for i, option in enumerate((("--costs", "costs.yaml"), ("--class-weight", "yes=5"), ())):
        assert run("report", "tree.json", "--test", "data.csv", "-o", f"{i}.json", *option)[0] == 0
        sections = json.loads((folder / f"{i}.PRIVATE.json").read_text("utf-8"))["sections"]
        facts = {
            fact["id"]: fact["value"]
            for section in sections
            if section["id"] == "accuracy"
            for fact in section["facts"]
        }
        result.append({name: value for name, value in facts.items() if "cost" in name})
    rows = pd.read_csv("data.csv")
    said = rows["age"].gt(60).map({True: "yes", False: "no"})
    cost = ((said == "yes") & (rows["ill"] == "no")).sum() + 5 * ((said == "no") & (rows["ill"] == "yes")).sum()
    assert result[0]["mean_cost_held_out"] == pytest.approx(cost / len(rows))
    assert result[0] == result[1]
    assert result[2] == {}
    assert (
        "got both" in run("report", "tree.json", "-o", "r.html", "--costs", "costs.yaml", "--class-weight", "yes=5")[2]
    )
    (folder / "bare.yaml").write_text("no: {yes: 1}\nyes: {no: 5}\n")
    assert "put them in quotes" in run("report", "tree.json", "-o", "r.html", "--costs", "bare.yaml")[2]
    assert "(no, yes)" in run("report", "tree.json", "-o", "r.html", "--class-weight", "maybe=5")[2]


def test_a_model_of_a_number_is_reported_on_in_its_units(folder, run):
    schema = hr.Schema(dict(hr.Schema.load("schema.yaml").attributes), hr.schema.Number("days", 0, 32))
    schema.save("days.yaml")
    rows = pd.read_csv("data.csv").drop(columns="ill")
    rows.assign(days=rows["age"] / 4).to_csv("days.csv", index=False)
    assert run("fit", "days.csv", "--schema", "days.yaml", "--epsilon", "5", "--model", "tree", "-o", "t.json")[0] == 0
    assert run("report", "t.json", "--test", "days.csv", "--by", "sex", "-o", "r.html")[0] == 0
    assert "How large are the errors of the model" in (folder / "r.PRIVATE.html").read_text("utf-8")
    code, _, err = run("report", "t.json", "--test", "days.csv", "-o", "s.html", "--class-weight", "yes=5")
    assert (code, "classes" in err) == (2, True)


def test_a_record_that_was_cut_off_is_found_by_the_hash_that_was_kept(fitted, run):
    budget = FileBudget.create(fitted / "b.json", 9)
    whole = []
    for purpose in ("one", "two"):
        budget.charge(1, purpose=purpose)
        whole.append((fitted / "b.json").read_text())
    call = ("report", "model.json", "--ledger", "b.json", "--json", "--head")
    assert run(*call, budget.head)[0] == 0
    kept = budget.head
    (fitted / "b.json").write_text(whole[0])
    assert run(*call[:-1])[0] == 0  # nothing shows but by the hash
    code, out, err = run(*call, kept)
    assert (code, out, f"hash {kept[:8]}" in err) == (2, "", True)


@pytest.mark.parametrize("ending", ["html", "txt", "json"])
def test_statements_are_written_as_sheets_are(fitted, run, ending):
    given = ("report", "model.json", "--statement", f"s.{ending}", "--form", "form.yaml")
    assert run(*given)[2] == f"written to s.{ending}\n"
    public = (fitted / f"s.{ending}").read_bytes()
    assert not list(fitted.glob("*PRIVATE*"))
    code, out, err = run(*given, "--data", "data.csv", "--force")
    assert (code, out, err) == (0, "", f"written to s.{ending}\nwritten to s.PRIVATE.{ending}\n")
    assert (fitted / f"s.{ending}").read_bytes() == public
    report = Report.of(hr.load_model("model.json"), form=Form.load("form.yaml"), files=file_digests(model="model.json"))
    assert public == Statement.of(report).content(f"s.{ending}")


def test_a_statement_has_an_ending_and_no_mark_of_its_own(fitted, run):
    for name in ("s.docx", "s.PRIVATE.html"):
        code, _, err = run("report", "model.json", "--statement", name, "-o", "report.html")
        assert (code, "the name of a" in err, (fitted / "report.html").exists()) == (2, True, False)


FILLED_IN = "".join(f"{name}: stated\n" for name in ("purpose", "curator", "unit", "tuning")) + "rows_per_unit: 1\n"


def test_a_check_prints_the_record_and_exits_with_the_decision(folder, run):
    run("budget", "new", "budget.json", "--epsilon", "9")
    assert run(*WITHOUT_COUNTS, "--budget", "budget.json")[0] == 0
    (folder / "form.yaml").write_text(FILLED_IN)
    given = ("report", "model.json", "--form", "form.yaml")
    code, out, err = run(*given, "--ledger", "budget.json", "--check")
    assert run(*given, "--ledger", "budget.json", "--airlock", "record.json", "--json")[0] == 0
    assert out == (folder / "record.json").read_text("utf-8")
    status = json.loads(out)["status"]
    assert (code, "No check failed" in err or "passed" in err) == ({"pass": 0, "review": 3}[status], True)
    code, out, _ = run(*given, "--check")
    assert (code, json.loads(out)["status"]) == (3, "not_run")
    a_tree(folder, old={"counts": (5, 200)}, young={"label": "no", "counts": (300, 0)})
    code, out, err = run("report", "tree.json", "--check")
    assert (code, json.loads(out)["sheet"], "failed" in err) == (4, "public", True)
    assert run("report", "model.json", "--check", "--by", "sex")[0] == 2
    assert "--json" in run("report", "model.json", "--check", "--json")[2]
    assert "require a single model" in run("report", "model.json", "tree.json", "--check")[2]


BAD_ROWS = {"domain": "age,sex,dose,ill\n40,F,,perhaps\n", "header": "x\n1\n", "empty": "age,sex,dose,ill\n"}


@pytest.mark.parametrize("content", [None, *BAD_ROWS.values()], ids=["none", *BAD_ROWS])
def test_a_check_of_a_model_with_a_guarantee_does_not_depend_on_rows(content, fitted, run):
    given = ("report", "model.json", "--ledger", "budget.json", "--check")
    expected = run(*given)
    (fitted / "rows.csv").write_text((fitted / "data.csv").read_text() if content is None else content)
    code, out, err = run(*given, "--data", "rows.csv", "-o", "report.html")
    assert (code, out) == expected[:2]
    assert ("warning: there is no board's sheet" in err) == (content is not None)
    assert (fitted / "report.PRIVATE.html").exists() == (content is None)
    assert run("report", "model.json", "--data", "rows.csv", "--json")[0] == (0 if content is None else 2)


def test_a_check_does_not_depend_on_held_out_rows(fitted, run):
    pd.read_csv(fitted / "data.csv", dtype=str).iloc[::-1].to_csv(fitted / "copy.csv", index=False)
    given = ("report", "model.json", "--check")
    assert run(*given, "--data", "data.csv", "--test", "copy.csv")[:2] == run(*given)[:2]


def test_every_status_of_a_sheet_has_an_exit_status_that_is_not_an_error():
    assert set(_EXIT) == set(STATUSES)
    assert {status for status, code in _EXIT.items() if code == 0} == {"pass", "not_applicable"}
    assert not {1, 2} & set(_EXIT.values())


def test_records_for_an_airlock_are_beside_one_another(fitted, run):
    given = ("report", "model.json", "--form", "form.yaml", "--ledger", "budget.json", "--airlock", "record.json")
    assert run(*given) == (0, "", "written to record.json\n")
    record = json.loads((fitted / "record.json").read_text("utf-8"))
    digest = hashlib.sha256((fitted / "model.json").read_bytes()).hexdigest()
    assert (record["object"]["name"], record["object"]["sha256"]) == ("model.json", digest)
    assert record["ledger"]["head"] == FileBudget(fitted / "budget.json").head
    code, _, err = run(*given, "--data", "data.csv", "-o", "report.html", "--force")
    assert code == 0
    assert "written to record.PRIVATE.json" in err
    public, board = (json.loads((fitted / f"record{end}.json").read_text("utf-8")) for end in ("", ".PRIVATE"))
    page = hashlib.sha256((fitted / "report.html").read_bytes()).hexdigest()
    assert page in {sheet["sha256"] for sheet in public["sheets"]}
    rows = hashlib.sha256((fitted / "data.csv").read_bytes()).hexdigest()
    assert [item["sha256"] for item in board["inputs"] if item["role"] == "training_rows"] == [rows]
    assert rows not in json.dumps(public)
    for name in ("record.PRIVATE.json", "record.txt"):
        assert "does not contain PRIVATE" in run(*given[:-1], name)[2]
    assert "got 2" in run("report", "model.json", "model.json", *given[2:])[2]


def test_a_risk_appetite_is_written_and_read(fitted, run):
    code, out, err = run("report", "--new-appetite", "appetite.yaml")
    assert (code, out) == (0, "")
    assert "hedgerow report model.json --appetite appetite.yaml" in err
    assert (fitted / "appetite.yaml").read_text("utf-8") == appetite_template()
    assert (
        run("report", "model.json", "--appetite", "appetite.yaml", "--json")[1]
        == run("report", "model.json", "--json")[1]
    )
    (fitted / "appetite.yaml").write_text("fewest_rows: 20\n")
    by_file = run("report", "model.json", "--appetite", "appetite.yaml", "--json")[1]
    assert json.loads(by_file)["appetite"]["differences"] == [{"name": "fewest_rows", "default": 10, "value": 20}]
    assert by_file == run("report", "model.json", "--threshold", "20", "--json")[1]
    run("report", "model.json", "--appetite", "appetite.yaml", "--acro", "results.json", "-o", "report.html")
    entry = json.loads((fitted / "results.json").read_text("utf-8"))["results"]["output_0"]
    for text in ("\n".join(entry["comments"]), (fitted / "report.html").read_text("utf-8")):
        assert "smallest number of rows of a leaf: 20 (default 10)" in text
    both = run("report", "model.json", "--appetite", "appetite.yaml", "--threshold", "20", "--json")
    assert (both[0], "leave --threshold out" in both[2]) == (2, True)
    (fitted / "appetite.yaml").write_text("fewest_rows: many\n")
    refused = run("report", "model.json", "--appetite", "appetite.yaml", "--json")
    assert (refused[0], refused[2].count("\n")) == (2, 1)
    assert "only with --force" in run("report", "--new-appetite", "a.yaml", "--new-form", "f.yaml")[2]
