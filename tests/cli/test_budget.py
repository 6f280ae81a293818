"""`hedgerow budget`, and budgets that other commands charge."""

import json

from tests.cli.table import FIT, GOOD, SSRL


def test_a_budget_file_is_charged_with_delta(folder, run):
    run("budget", "new", "b.json", "--epsilon", "9", "--delta", "1e-6")
    words = (*FIT, *SSRL, "--mechanism", "global-gaussian", "--research", "--budget", "b.json")
    assert run(*words, "--delta", "1e-9")[0] == 0
    (charge,) = json.loads((folder / "b.json").read_text())["charges"]
    assert (charge["epsilon"], charge["delta"]) == (5, 1e-9)
    assert "delta=1e-06 was requested" in run(*words, "--delta", "1e-6", "--force")[2]


def test_a_budget_file_counts_runs_and_refuses_when_it_is_spent(folder, run):
    assert run("budget", "new", "b.json", "--epsilon", "1")[0] == 0
    fit = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "0.75", "--budget", "b.json")
    assert run(*fit, "-o", "one.json")[0] == 0
    code, _, err = run(*fit, "-o", "two.json")
    assert code == 2
    assert "epsilon=0.25 left" in err
    assert not (folder / "two.json").exists()
    assert "0.75 of 1 spent" in run("budget", "show", "b.json")[1]
    assert "exists already" in run("budget", "new", "b.json", "--epsilon", "9")[2]


def test_a_charge_that_a_bad_row_wasted_is_told(folder, run):
    (folder / "bad.csv").write_text(GOOD + "41,SECRET,0.5,no\n")
    run("budget", "new", "b.json", "--epsilon", "1")
    words = ("fit", "bad.csv", "--schema", "schema.yaml", "--epsilon", "0.25", "--budget", "b.json")
    assert "The epsilon of 0.25 stays charged" in run(*words)[2]
    assert "0.25 of 1 spent" in run("budget", "show", "b.json")[1]
