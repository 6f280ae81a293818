"""`hedgerow audit`."""

import json
from dataclasses import replace

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.models import Leaf, Tree
from tests.cli.table import FIT as WITHOUT_COUNTS
from tests.cli.table import SCHEMA, a_scorecard, a_tree
from tests.report.subjects import a_table, without_privacy

FIT = (*WITHOUT_COUNTS, "--release-counts")


def test_audit_reports_the_residual_entropy_of_a_model(folder, run):
    run(*FIT)
    model = hr.load_model("model.json")
    result = hr.audit.reconstruction(model)
    code, out, err = run("audit", "model.json")
    assert (code, out, err) == (0, f"{result}\n", "")
    code, out, _ = run("audit", "model.json", "--json", "--resolution", "dose=0.001")
    assert json.loads(out) == hr.audit.reconstruction(model, resolution={"dose": 0.001}).to_dict()
    code, out, err = run("audit", "model.json", "--independent-bits", "--plot", "a.svg", "-o", "a.txt")
    assert (code, out, err) == (0, "", "written to a.txt\nwritten to a.svg\n")
    assert (
        "any of 128 possible rows" in (folder / "a.txt").read_text()
    )  # age 2 cuts, sex 2 and missing, dose 1 and missing
    assert "share of rows" in (folder / "a.svg").read_text()


@pytest.mark.parametrize(
    ("given", "plot", "is_private"),
    [((), "a.png", False), ((), "a.PRIVATE.png", True), (("--data", "data.csv"), "a.png", True)],
)
def test_only_the_owner_reads_an_audit_of_rows(given, plot, is_private, folder, run):
    a_tree(folder, old={"counts": (5, 20)}, young={"counts": (30, 2)})
    assert run("audit", "tree.json", *given, "--plot", plot, "-o", "a.txt")[0] == 0
    assert (folder / plot).read_bytes().startswith(b"\x89PNG")
    assert bool((folder / plot).stat().st_mode & 0o077) != is_private
    assert bool((folder / "a.txt").stat().st_mode & 0o077) == (not given)


def test_audit_with_rows_is_the_curators_view(folder, run):
    run(*FIT)
    data = pd.read_csv(folder / "data.csv", dtype=str)
    result = hr.audit.reconstruction(hr.load_model("model.json"), data=data)
    code, out, _ = run("audit", "model.json", "--data", "data.csv", "--by", "sex", "--by", "ill")
    assert code == 0
    assert out.startswith(f"{result}\n\nsex  ")
    assert "for the curator's eyes only, not for release" in out
    assert out.count("\n\n") == str(result).count("\n\n") + 2
    groups = json.loads(run("audit", "model.json", "--data", "data.csv", "--by", "sex", "--json")[1])["groups"]
    assert groups == {"sex": result.by_group("sex")}


def test_audit_of_a_wider_table(folder, run):
    run(*FIT)
    wide = SCHEMA + "  town: {kind: categorical, values: [x, y, z, w]}\n"
    (folder / "wide.yaml").write_text(wide)
    more = json.loads(run("audit", "model.json", "--schema", "wide.yaml", "--json")[1])
    assert more["domain_worlds"] == 4 * json.loads(run("audit", "model.json", "--json")[1])["domain_worlds"]


def test_audit_reports_missing_and_invalid_options(folder, run):
    run(*FIT)
    code, out, err = run("audit", "model.json", "--by", "sex")
    assert (code, out) == (2, "")
    assert "--by requires --data" in err
    assert (
        "expected --resolution COLUMN=STEP, such as bmi=0.1, got 'dose'"
        in run("audit", "model.json", "--resolution", "dose")[2]
    )
    twice = run("audit", "model.json", "--resolution", "dose=0.1", "--resolution", "dose=0.2")
    assert "--resolution is given twice for 'dose'" in twice[2]
    for more in (
        ("--memory", "3GB"),
        ("--engine", "duckdb"),
        ("--master", "x"),
        ("--encoding", "x"),
        ("--decimal", ","),
    ):
        code, out, err = run("audit", "model.json", *more)
        assert (code, out, "without --data" in err) == (2, "", True)
    assert "a.png" in run("audit", "model.json", "--plot", "a.png", "-o", "./a.png")[2]
    assert not (folder / "a.png").exists()
    assert "real attributes" in run("audit", "model.json", "--resolution", "age=2")[2]
    assert "expected a name that ends in .png" in run("audit", "model.json", "--plot", "a.gif")[2]
    run(
        "fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "5", "--model", "tree", "--no-counts", "-o", "t.json"
    )
    drawn = Tree(hr.load_model("model.json").schema, Leaf(label="yes"), hr.load_model("model.json").privacy)
    drawn.save("drawn.json")
    assert "add --data FILE" in run("audit", "drawn.json")[2]
    assert run("audit", "drawn.json", "--data", "data.csv")[0] == 0
    code, _, error = run("audit", "drawn.json", "--data", "data.csv", "--counts", "bins")
    assert code == 2
    assert "--counts is for scorecards" in error
    (folder / "other.csv").write_text("age,sex\n3,F\n")
    assert run("audit", "drawn.json", "--data", "other.csv")[0] == 0  # it uses no column


def test_audit_of_a_scorecard_uses_rows_by_bin_or_totals(folder, run):
    card = a_scorecard(folder)
    _, out, _ = run("audit", "--help")
    assert "[default: totals with --data, otherwise bins]" in " ".join(out.replace("│", " ").split())
    code, out, err = run("audit", "card.json")
    assert (code, out) == (2, "")
    assert "excludes no table (Dist_G is 1 for a reader who does not use the learner); add --data FILE" in err
    data = pd.read_csv(folder / "data.csv", dtype=str)
    result = hr.audit.reconstruction(card, data=data)
    code, out, _ = run("audit", "card.json", "--data", "data.csv", "--by", "sex")
    assert (code, out.startswith(f"{result}\n\nsex  ")) == (0, True)
    for arguments, problem in {
        ("--counts", "both"): "--counts both requires --data FILE",
        ("--counts", "totals"): "--counts totals requires --data FILE",
        ("--counts", "bins", "--data", "data.csv", "--by", "smoker"): "--by requires results by row",
    }.items():
        code, _, error = run("audit", "card.json", *arguments)
        assert code == 2
        assert problem in error
    code, out, _ = run("audit", "card.json", "--data", "data.csv", "--counts", "bins")
    assert (code, out) == (0, f"{hr.audit.reconstruction(card, data=data, counts='bins')}\n")
    parts = (replace(card.parts[0], rows=(5, 3, 2), rows_error=0.0), card.parts[1])
    stored = replace(card, parts=parts)
    stored.save(folder / "counted.json")
    assert run("audit", "counted.json") == (0, f"{hr.audit.reconstruction(stored)}\n", "")


def test_audit_of_a_model_of_a_number_reads_rows_by_its_schema(folder, run):
    schema = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Number("cost", 0, 32, 4))
    rows = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "b": [0, 1] * 10, "cost": [1.5, 1.5, 30, 40] * 5})
    rows.to_csv(folder / "numbers.csv", index=False)
    hr.OptimalTreeRegressor(schema=schema, max_depth=1).fit(rows[["a", "b"]], rows["cost"]).tree_.save(
        folder / "number.json"
    )
    model = hr.load_model(folder / "number.json")
    code, out, err = run("audit", "number.json")
    assert (code, out, err) == (0, f"{hr.audit.reconstruction(model)}\n", "")
    code, out, _ = run("audit", "number.json", "--data", "numbers.csv", "--by", "b", "--json", "--plot", "a.svg")
    assert code == 0
    assert json.loads(out)["entropy_bits"] == hr.audit.reconstruction(model, data=rows).entropy_bits
    assert len(json.loads(out)["groups"]["b"]) == 2


@pytest.mark.usefixtures("folder")
def test_rows_that_the_model_was_not_learned_from_are_told(run):
    without_privacy(((30, 0), (10, 10), (20, 20))).save("model.json")
    frame, _ = a_table()
    for rows, said in ((frame, False), (frame[:80], True)):
        rows.to_csv("rows.csv", index=False)
        code, out, _ = run("audit", "model.json", "--data", "rows.csv", "--json")
        told = "The rows do not match the counts that the model stores."
        assert (code, told in json.loads(out)["summary"]) == (0, said)
