"""`hedgerow evaluate`: what it prints, writes, charges and refuses."""

import json

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.evaluation import Evaluation
from tests.cli.table import a_tree

pytestmark = pytest.mark.usefixtures("folder")
EVALUATE = ("evaluate", "tree.json", "data.csv", "--epsilon", "1/2")


@pytest.fixture(autouse=True)
def tree(folder):
    return a_tree(folder, old={"label": "yes"}, young={"label": "no"})


def test_an_evaluation_is_charged_written_and_printed(folder, run, tree):
    run("budget", "new", "b.json", "--epsilon", "1")
    code, out, err = run(*EVALUATE, "--by", "sex", "--budget", "b.json")
    assert code == 0
    result = Evaluation.load(folder / "evaluation.json")
    assert out.strip() == f"{result}\n\n{result.privacy}"
    assert "written to evaluation.json" in err
    assert result.model == tree.to_dict()["digest"]
    assert result.groups == ("F", "M", "missing")
    assert 560 < result.matrix.trace() < 640
    entries = json.loads((folder / "b.json").read_text())["entries"]
    assert [entry["kind"] for entry in entries] == ["opened", "charged", "released"]
    assert entries[-1]["model"] == result.to_dict()["digest"]
    code, _, err = run(*EVALUATE, "--epsilon", "2", "--budget", "b.json", "-o", "more.json")
    assert (code, (folder / "more.json").exists()) == (2, False)
    assert "epsilon=0.5 left" in err


def test_a_weak_guarantee_gives_a_single_warning(run):
    code, _, err = run(*EVALUATE, "--epsilon", "20")
    assert (code, err.count("epsilon = 20 protects little")) == (0, 1)


def test_rows_in_a_database_and_a_declared_list(folder, run):
    pd.read_csv("data.csv").to_parquet("data.parquet")
    code, out, _ = run("evaluate", "tree.json", "data.parquet", "--epsilon", "1", "--by", "ill2=a", "--json")
    assert code == 2
    code, out, _ = run("evaluate", "tree.json", "data.parquet", "--epsilon", "1", "--by", "sex", "--json")
    assert code == 0
    data = json.loads(out)
    assert Evaluation.load(folder / "evaluation.json").to_dict() == {k: v for k, v in data.items() if k != "estimates"}
    assert data["estimates"][0]["name"] == "accuracy"


def test_persons_are_protected_by_an_option(folder, run):
    lines = (folder / "data.csv").read_text().splitlines()
    told = [f"{line},{'patient_id' if not place else place // 4}" for place, line in enumerate(lines)]
    (folder / "data.csv").write_text("\n".join(told))
    code, _, error = run(*EVALUATE)
    assert code == 0
    assert error.startswith("warning: the name of column patient_id suggests")
    assert "evaluate.py" not in error
    code, _, error = run(*EVALUATE, "--unit", "patient_id", "--max-rows", "1", "--force")
    assert (code, "warning" in error) == (0, False)
    result = Evaluation.load(folder / "evaluation.json")
    assert result.privacy.unit == hr.Unit("patient_id", 1)
    assert result.matrix.sum() < 250


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--by", "height"), "--by must be an attribute of the schema (age, sex, dose)"),
        (("--by", "sex=F,M"), "by='sex'"),
        (("--by", "height=low,high"), "column 'height'"),
        (("--seed", "1"), "add --research to confirm"),
        (("--epsilon", "0"), "--epsilon must be a number > 0, got 0."),
        (("--budget", "none.json"), "hedgerow budget new none.json"),
        (("-o", "tree.json", "--force"), "tree.json is an input of this command"),
        (("--unit", "who"), "--unit requires --max-rows"),
    ],
)
def test_bad_input_is_an_error_of_one_line(folder, run, words, problem):
    code, out, err = run(*EVALUATE, *words)
    assert (code, out) == (2, "")
    assert problem in err.strip().splitlines()[-1]
    assert not (folder / "evaluation.json").exists()


def test_a_missing_epsilon_or_an_invalid_row_charges_nothing(folder, run):
    assert "--epsilon is missing" in run("evaluate", "tree.json", "data.csv")[2]
    run("budget", "new", "b.json", "--epsilon", "1")
    with (folder / "data.csv").open("a") as file:
        file.write("40,F,0.5,secret\n")
    code, _, err = run(*EVALUATE, "--budget", "b.json")
    assert code == 2
    assert "some labels are none of the classes" in err
    assert "secret" not in err
    assert "0 of 1 spent" in run("budget", "show", "b.json")[1]


def test_an_evaluation_is_on_the_public_sheet_of_a_report(folder, run):
    assert run(*EVALUATE)[0] == 0
    code, _, _ = run("report", "tree.json", "--evaluation", "evaluation.json", "-o", "report.json")
    assert code == 0
    sheet = json.loads((folder / "report.json").read_text())
    assert "evaluation" in [section["id"] for section in sheet["sections"]]


def test_costs_are_those_of_the_model_or_of_an_option(folder, run):
    code, out, _ = run(*EVALUATE, "--class-weight", "yes=5")
    assert (code, "mean cost" in out) == (0, True)
    assert Evaluation.load(folder / "evaluation.json").costs == ((0.0, 1.0), (5.0, 0.0))
    (folder / "costs.yaml").write_text("'no': {'yes': 2}\n'yes': {'no': 7}\n")
    assert run(*EVALUATE, "--costs", "costs.yaml", "--force")[0] == 0
    assert Evaluation.load(folder / "evaluation.json").costs == ((0.0, 2.0), (7.0, 0.0))
    assert run(*EVALUATE, "--force")[0] == 0
    assert Evaluation.load(folder / "evaluation.json").costs is None


def test_a_reliability_diagram_is_drawn_or_refused_before_the_charge(folder, run):
    pytest.importorskip("matplotlib")
    run("budget", "new", "b.json", "--epsilon", "1")
    code, _, err = run(*EVALUATE, "--plot", "chart.png", "--budget", "b.json")
    assert (code, "--plot requires a model with probabilities" in err) == (2, True)
    assert "0 of 1 spent" in run("budget", "show", "b.json")[1]
    a_tree(folder, old={"counts": (10, 90)}, young={"counts": (80, 20)})
    code, out, err = run(*EVALUATE, "--plot", "chart.png", "--budget", "b.json")
    assert (code, (folder / "chart.png").exists()) == (0, True)
    assert "AUROC" in out
