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


def test_a_bad_row_wastes_no_charge(folder, run):
    (folder / "bad.csv").write_text(GOOD + "41,SECRET,0.5,no\n")
    run("budget", "new", "b.json", "--epsilon", "1")
    words = ("fit", "bad.csv", "--schema", "schema.yaml", "--epsilon", "0.25", "--budget", "b.json")
    code, _, err = run(*words)
    assert code == 2
    assert "column 'sex': some values are outside the declared domain" in err
    assert "stays charged" not in err
    assert "0 of 1 spent" in run("budget", "show", "b.json")[1]


def test_a_budget_that_adds_up_rho_takes_more_draws(folder, run):
    assert "rho: 0 of 0.1 spent" in run("budget", "new", "r.json", "--rho", "0.1")[1]
    words = ("budget", "new", "z.json", "--epsilon", "1", "--delta", "1e-6", "--accounting", "zcdp")
    assert "of 1 at delta 1e-06 in zero-concentrated accounting" in run(*words)[1]
    assert "expected a cap" in run("budget", "new", "b.json")[2]
    fit = ("fit", "data.csv", "--schema", "schema.yaml", "--epsilon", "0.5", "--search", "exact", "--budget", "r.json")
    assert [run(*fit, "-o", f"{number}.json")[0] for number in range(4)] == [0, 0, 0, 2]
    assert "rho: 0.09391" in run("budget", "show", "r.json")[1]  # three times 1/32, and what rounding may cost
    assert not (folder / "3.json").exists()
