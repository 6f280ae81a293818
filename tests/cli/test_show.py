"""`hedgerow show`."""

import json

import duckdb
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.output import model_text
from hedgerow.models.dialects import DIALECTS
from tests.cli.table import FIT, a_scorecard, a_tree
from tests.models.large_models import tree


def test_pages_forms_and_plots_are_in_the_language_that_is_given(folder, run):
    a_scorecard(folder)
    for language in ("de", "fr"):
        code, _, err = run("show", "card.json", "--language", language, "-o", f"{language}.html")
        assert (code, f'<html lang="{language}">' in (folder / f"{language}.html").read_text("utf-8")) == (0, True), err
        pictures = ("--paper", f"{language}.pdf", "--plot", f"{language}.svg")
        assert run("show", "card.json", "--language", language, *pictures)[0] == 0
    for form in ("text", "json", "sql", "python"):
        code, out, err = run("show", "card.json", "--language", "de", "--format", form)
        assert (code, out, "--language requires" in err) == (2, "", True)
    assert "fr" in run("show", "card.json", "--language", "es", "--format", "html")[2]


def test_show_exports_every_form(folder, run):
    run(*FIT)
    sql = run("show", "model.json", "--format", "sql")[1]
    result = duckdb.sql(f"SELECT {sql} AS p FROM 'data.csv'").fetchall()
    assert [p for (p,) in result] == hr.models.RuleList.load("model.json").predict(pd.read_csv("data.csv")).tolist()
    for dialect in DIALECTS:
        written = run("show", "model.json", "--format", "sql", "--dialect", dialect)[1]
        assert written == hr.models.RuleList.load("model.json").to_sql(dialect) + "\n"
    typed = run("show", "model.json", "--format", "sql", "--types", "declared")[1]
    assert typed == hr.models.RuleList.load("model.json").to_sql(types="declared") + "\n"
    assert "--types requires --format sql" in run("show", "model.json", "--types", "declared")[2]
    assert "--dialect requires --format sql" in run("show", "model.json", "--dialect", "spark")[2]
    assert "mysql" in run("show", "model.json", "--format", "sql", "--dialect", "mysql")[2]
    assert "def predict(row)" in run("show", "model.json", "--format", "python")[1]
    assert "<table>" in run("show", "model.json", "--format", "html")[1]
    assert json.loads(run("show", "model.json", "--json")[1])["format"] == "hedgerow/rule-list"
    assert run("show", "model.json", "--plot", "rules.png", "-o", "rules.txt")[0] == 0
    assert (folder / "rules.png").read_bytes().startswith(b"\x89PNG")
    assert "if " in (folder / "rules.txt").read_text()
    assert "ends in .png" in run("show", "model.json", "--plot", "rules.docx")[2]


def test_a_tree_is_shown_exported_and_applied(folder, run):
    tree = a_tree(folder, old={"counts": (10, 90)}, young={"counts": (80, 20), "label": "no"})
    assert run("show", "tree.json")[1] == f"{tree.size}\n\n{tree}\n\n{tree.privacy}\n"
    expected = tree.predict(pd.read_csv("data.csv")).tolist()
    sql = run("show", "tree.json", "--format", "sql")[1]
    assert [p for (p,) in duckdb.sql(f"SELECT {sql} AS p FROM 'data.csv'").fetchall()] == expected
    assert "def predict(row)" in run("show", "tree.json", "--format", "python")[1]
    assert "<title>Tree for ill</title>" in run("show", "tree.json", "--format", "html")[1]
    assert json.loads(run("show", "tree.json", "--json")[1])["format"] == "hedgerow/tree"
    assert run("show", "tree.json", "--plot", "tree.png", "-o", "tree.txt")[0] == 0
    assert (folder / "tree.png").read_bytes().startswith(b"\x89PNG")
    assert run("predict", "tree.json", "data.csv", "-o", "p.csv")[0] == 0
    result = pd.read_csv("p.csv")
    assert list(result) == ["ill", "leaf"]
    assert result["ill"].tolist() == expected
    assert set(zip(result["ill"], result["leaf"], strict=True)) == {("yes", 1), ("no", 2)}


@pytest.mark.usefixtures("folder")
def test_a_large_tree_is_folded_unless_all_of_it_is_asked_for(run):
    large = tree(0, 200, "uncounted")
    large.save("large.json")
    assert run("show", "large.json")[1] == f"{large.size}\n\n{large}\n\n{large.privacy}\n"
    assert "leaves not shown" in str(large)
    assert run("show", "large.json", "--full")[1] == f"{large.size}\n\n{large.to_text()}\n\n{large.privacy}\n"
    code, _, err = run("show", "large.json", "--full", "--format", "sql")
    assert code == 2
    assert "--full requires --format text, got --format sql" in err


def test_a_scorecard_is_shown_exported_and_drawn(folder, run):
    card = a_scorecard(folder)
    assert run("show", "card.json")[1] == f"{model_text(card)}\n"
    expected = card.predict(pd.read_csv("data.csv")).tolist()
    sql = run("show", "card.json", "--format", "sql")[1]
    assert [p for (p,) in duckdb.sql(f"SELECT {sql} AS p FROM 'data.csv'").fetchall()] == expected
    assert "def total(row)" in run("show", "card.json", "--format", "python")[1]
    assert "<h3>Points for ill = yes</h3>" in run("show", "card.json", "--format", "html")[1]
    assert json.loads(run("show", "card.json", "--json")[1])["format"] == "hedgerow/scorecard"
    assert run("show", "card.json", "--plot", "bars.png", "--paper", "form.png", "-o", "card.txt")[0] == 0
    for name in ("bars.png", "form.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    assert "ends in .png" in run("show", "card.json", "--paper", "form.docx")[2]
    assert "already exists" in run("show", "card.json", "--paper", "form.png")[2]


def test_a_scorecard_is_shown_and_exported_on_the_scale_of_credit(folder, run):
    scale = ("--pdo", "20", "--score", "600", "--odds", "50", "--favourable")
    scaled = a_scorecard(folder).scaled(pdo=20, score=600, odds=50, favourable="no")
    assert str(scaled) in run("show", "card.json", *scale, "no")[1]
    assert run("show", "card.json", *scale, "no", "-o", "scaled.json")[0] == 0
    assert hr.models.Scorecard.load("scaled.json") == scaled
    expected = a_scorecard(folder).scaled(pdo=20, score=600, odds=50, favourable="yes")
    assert run("show", "card.json", *scale, "yes", "--format", "sql")[1] == expected.to_sql() + "\n"
    assert run("show", "card.json", *scale, "maybe")[2].endswith("one of no, yes, got 'maybe'.\n")
    together = "--pdo, --score, --odds and --favourable (no, yes), got only --pdo"
    assert together in run("show", "card.json", *scale[:2])[2]
    assert "got only --favourable" in run("show", "card.json", "--favourable", "no")[2]
    assert "pdo must be a number above 0" in run("show", "card.json", "--pdo", "0", *scale[2:], "no")[2]
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    problem = "only scorecards can be scaled to points that double the odds, got a tree."
    assert problem in run("show", "tree.json", *scale, "no")[2]


def test_only_a_scorecard_is_a_form_to_fill_in(folder, run):
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    code, out, err = run("show", "tree.json", "--paper", "form.png")
    assert (code, out) == (2, "")
    assert err.endswith("only scorecards have a form to fill in by hand, got a tree; plot it instead.\n")
    assert not (folder / "form.png").exists()


def test_outputs_do_not_overwrite_each_other(folder, run):
    a_scorecard(folder)
    code, out, err = run("show", "card.json", "--plot", "a.png", "--paper", f"{folder}/a.png", "--force")
    assert (code, out) == (2, "")
    assert "a.png is the name of two outputs" in err
    assert not (folder / "a.png").exists()


def test_the_form_of_a_file_is_that_of_its_name(folder, run):
    model = a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    starts = {"a.html": "<!doctype html>", "a.json": "{", "a.py": "def ", "a.sql": "CASE", "a.txt": "if ", "a": "if "}
    for name, start in starts.items():
        assert run("show", "tree.json", "-o", name)[0] == 0
        assert start in (folder / name).read_text()[:200]
    assert (folder / "a.sql").read_text() == model.to_sql() + "\n"
    assert run("show", "tree.json", "-o", "b.html", "--format", "text")[0] == 0
    assert (folder / "b.html").read_text().startswith("tree with ")
    for name in ("c.pdf", "c.PNG", "c.svg"):
        code, out, err = run("show", "tree.json", "-o", name)
        assert (code, out, (folder / name).exists()) == (2, "", False)
        assert f"use --plot {name} in place of -o" in err


def test_two_formats_are_refused(folder, run):
    a_tree(folder, old={"label": "yes"}, young={"label": "no"})
    assert "--json and --format sql" in run("show", "tree.json", "--json", "--format", "sql")[2]
    assert run("show", "tree.json", "--json", "--format", "json")[0] == 0


def test_pmml_is_that_of_the_model(folder, run):
    card = a_scorecard(folder)
    assert run("show", "card.json", "--format", "pmml")[1] == card.to_pmml()
    assert run("show", "card.json", "-o", "card.pmml")[0] == 0
    assert (folder / "card.pmml").read_text() == card.to_pmml()
