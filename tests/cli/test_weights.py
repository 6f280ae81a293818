"""A table whose rows have weights, on the command line."""

import pytest

import hedgerow as hr
from tests.cli.table import FIT

CHARGED = (*FIT[:6], "--budget", "budget.json")


@pytest.fixture
def weighted(folder, run):
    """The folder's table and schema with a column of weights, and a budget."""
    head, *rows = (folder / "data.csv").read_text().splitlines()
    lines = [f"{head},w", *(f"{row},{1 + place % 3}" for place, row in enumerate(rows))]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    schema = folder / "schema.yaml"
    schema.write_text("weight: {name: w, high: 4}\n" + schema.read_text())
    run("budget", "new", "budget.json", "--epsilon", "5")
    return folder


@pytest.mark.parametrize("engine", [(), ("--engine", "duckdb")])
def test_a_weighted_table_is_fitted_shown_and_reported(weighted, run, engine):
    assert "w     weight       0 to 4 in 100 steps" in run("schema", "show", "schema.yaml")[1]
    assert "weight" in run("schema", "check", "schema.yaml", "data.csv", *engine)[1]
    code, out, _ = run(*CHARGED, "--max-rules", "2", "--search", "exact", *engine)
    assert code == 0
    assert "rows are weighted by w, at most 4" in out
    assert hr.load_model(weighted / "model.json").schema.weight == hr.Weight("w", 4)
    assert run("predict", "model.json", "data.csv")[0] == 0
    assert run("report", "model.json", "--data", "data.csv", "-o", "sheet.html")[0] == 0
    assert any("training rows, each counted once" in page.read_text() for page in weighted.glob("sheet*.html"))


@pytest.mark.parametrize(
    ("change", "words", "problem"),
    [
        (lambda text: text.replace(",2\n", ",\n", 1), (), "column 'w': some weights are missing"),
        (lambda text: text.replace(",w\n", ",v\n", 1), (), "column 'w'"),
        (lambda text: text, ("--model", "scorecard"), "is the weight of rows"),
    ],
)
def test_what_cannot_be_weighed_is_refused_before_the_charge(weighted, run, change, words, problem):
    data = weighted / "data.csv"
    data.write_text(change(data.read_text()))
    code, out, err = run(*CHARGED, *words)
    assert (code, out) == (2, "")
    assert problem in err
    assert hr.privacy.FileBudget("budget.json").spent == 0
